package edge

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/obs"
)

// Exchange is a request with its answer, for logs and metrics.
type Exchange struct {
	Method string
	// Path is the canonical path, without the query string.
	Path string
	// Route is the pattern that matched; "" if there is none.
	Route  string
	Status int
	// Bytes is the size of the body on the wire.
	Bytes int64
	Took  time.Duration
	// Broken says that the answer broke off.
	Broken bool
}

// Handler makes what a port serves of the routes of m: product names are mapped, bodies compressed
// for clients that ask for it, and requests without a route get an empty answer. seen, if not nil,
// is told of every exchange after its end.
func (m *Mux) Handler(aliases []string, c clock.Clock, seen func(context.Context, Exchange)) http.Handler {
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.AllowCompressedRequests(true))
	if err != nil {
		panic("edge: " + err.Error()) // the options are constants
	}
	inner := compress(withoutRoute(m.ServeMux))
	return MapNames(aliases, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := c.Now()
		out := &wire{ResponseWriter: w}
		ctx := context.WithValue(obs.Extract(r.Context(), r.Header), wireKey{}, out)
		if paceOf(ctx) == nil { // not a part of another port's routes
			out.pace = newPace(ctx, w, m.Limits.idle(r.URL.Path))
			ctx = context.WithValue(ctx, paceKey{}, out.pace)
		}
		if m.Limits != nil {
			ctx = context.WithValue(ctx, limitsKey{}, m.Limits)
		}
		r = r.WithContext(ctx)
		defer func() {
			if seen == nil {
				return
			}
			seen(r.Context(), Exchange{
				Method: r.Method, Path: r.URL.Path, Route: r.Pattern, Status: out.status, Bytes: out.bytes, Took: c.Now().Sub(began), Broken: out.broken,
			})
		}()
		if m.Gate == nil {
			inner.ServeHTTP(out, r)
		} else if entered, ok := m.Gate.enter(out, r); ok {
			inner.ServeHTTP(out, entered)
		}
		if out.pace != nil {
			out.pace.done()
		}
	}))
}

// withoutRoute answers 404 and 405 the way the interface does, with an empty body, and marks the
// answers of handlers that panic as broken. A slash at the end of a path means nothing where no
// route has one.
func withoutRoute(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if path := strings.TrimRight(r.URL.Path, "/"); pattern == "" && path != "" && path != r.URL.Path {
			r.URL.Path, r.URL.RawPath = path, strings.TrimRight(r.URL.RawPath, "/")
			h, pattern = mux.Handler(r)
		}
		if pattern != "" {
			defer breakOff(r)
			mux.ServeHTTP(w, r)
			return
		}
		probe := httptest.NewRecorder()
		h.ServeHTTP(probe, r)
		for _, name := range []string{"Allow", "Location"} {
			if value := probe.Header().Get(name); value != "" {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(probe.Code)
	})
}

type wireKey struct{}

// breakOff keeps the compressor from ending its stream properly behind an answer that is not whole.
func breakOff(r *http.Request) {
	if p := recover(); p != nil {
		if out, ok := r.Context().Value(wireKey{}).(*wire); ok {
			out.broken = true
		}
		panic(p)
	}
}
