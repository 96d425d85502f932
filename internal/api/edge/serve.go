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

// Exchange is a request with its response, for logs and metrics.
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
	// Broken is true if the response was aborted.
	Broken bool
}

// Handler returns the handler of a port for the routes of m: it maps product names, compresses
// bodies for clients that request it, and returns an error for requests without a route. seen, if
// not nil, is called with every exchange after its end.
func (m *Mux) Handler(aliases []string, c clock.Clock, seen func(context.Context, Exchange)) http.Handler {
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.AllowCompressedRequests(true),
		gzhttp.ContentTypeFilter(compressible))
	if err != nil {
		panic("edge: " + err.Error()) // the options are constants
	}
	inner := compress(m.withoutRoute())
	return MapNames(aliases, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := c.Now()
		out := &wire{ResponseWriter: w}
		ctx := r.Context()
		var span *obs.Span
		if paceOf(ctx) == nil { // not a part of another port's routes
			ctx, span = m.trace(obs.Extract(ctx, r.Header), r)
		}
		ctx = context.WithValue(ctx, wireKey{}, out)
		if paceOf(ctx) == nil { // likewise
			out.pace = newPace(ctx, w, m.Limits.idle(r.URL.Path))
			if r.ProtoMajor > 1 {
				out.pace.conn = nil // other answers are on their way on it
			}
			ctx = context.WithValue(ctx, paceKey{}, out.pace)
		}
		if m.Limits != nil {
			ctx = context.WithValue(ctx, limitsKey{}, m.Limits)
		}
		if r.Header.Get("Content-Encoding") != "" && r.Body != nil { // before it is unpacked
			packed := &packedBody{ReadCloser: r.Body}
			r.Body, ctx = packed, context.WithValue(ctx, packedKey{}, packed)
		}
		r = r.WithContext(ctx)
		defer func() {
			answered(span, r, out)
			if seen == nil {
				return
			}
			seen(r.Context(), Exchange{
				Method: r.Method, Path: r.URL.Path, Route: r.Pattern, Status: out.status, Bytes: out.bytes, Took: c.Now().Sub(began), Broken: out.broken,
			})
		}()
		if err := m.Limits.checkHeaders(r); err != nil {
			m.Errors.Write(out, r, err)
		} else if m.Gate == nil {
			inner.ServeHTTP(out, r)
		} else if entered, ok := m.Gate.enter(out, r); ok {
			m.Gate.serve(out, entered, inner, c)
		}
		if out.pace != nil {
			out.pace.done()
		}
	}))
}

// withoutRoute answers unknown paths and methods in place of the mux, and marks the answers of
// handlers that panic as broken. A slash at the end of a path means nothing where no route has one.
func (m *Mux) withoutRoute() http.Handler {
	mux := m.ServeMux
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
		m.refuse(w, r, probe.Code, probe.Header().Get("Allow"))
	})
}

// Nothing responds as if the path of a request were unknown, although a route has it.
func (m *Mux) Nothing(w http.ResponseWriter, r *http.Request) {
	m.refuse(w, r, http.StatusNotFound, "")
}

// refuse answers a request of an unknown path or method.
func (m *Mux) refuse(w http.ResponseWriter, r *http.Request, status int, allowed string) {
	if hasWords(r, status) {
		WriteJSON(w, status, m.Errors.Body(m.words(r, status, allowed)))
		return
	}
	w.WriteHeader(status)
}

// compressible reports whether bodies of a media type are compressed. Arrow streams are not: gzip
// would cost more than all else, and many clients ask for it without wanting it. Messages of gRPC
// have a compression of their own.
func compressible(media string) bool {
	return !strings.HasPrefix(media, "application/vnd.apache.arrow.stream") && !strings.HasPrefix(media, "application/grpc") &&
		gzhttp.DefaultContentTypeFilter(media)
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
