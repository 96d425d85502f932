package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/fragments"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
)

// servers read the segments of a Store for a Broker, over HTTP. Each segment is held by two of
// them. It implements broker.Servers.
type servers struct {
	all    []*dispatch.Server
	client *http.Client
}

// startServers starts o.Servers of them for the time of a test.
func startServers(t testing.TB, s *Store, o Options) *servers {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	out := &servers{client: &http.Client{Transport: transport}}
	count := o.Servers
	o.Servers, o.relay = 0, out.client
	for i := range count {
		mux := edge.NewMux(&edge.Errors{Host: "localhost", Log: s.log})
		gate, log := query.NewGate(query.Limits{}, "historical", nil), slog.New(slog.DiscardHandler)
		fragments.New(newBroker(t, s, o), heldBy{s}, nil, gate, nil, clock.System(), log, 0).Routes(mux)
		var handler http.Handler = mux
		if o.Broken && i == 0 {
			handler = breaking(mux)
		}
		name := fmt.Sprintf("server%d", i)
		if o.Asked != nil {
			handler = telling(handler, name, o.Asked)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		out.all = append(out.all, &dispatch.Server{Name: name, URL: server.URL})
	}
	return out
}

// telling passes requests on to h and tells of them.
func telling(h http.Handler, name string, asked func(string, *dispatch.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the asker is gone
		}
		if req, err := dispatch.ReadRequest(bytes.NewReader(body), 0); err == nil {
			asked(name, req)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

// breaking cuts off the answers of h: the first at once, others behind ever more bytes.
func breaking(h http.Handler) http.Handler {
	var requests atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1) - 1
		h.ServeHTTP(&cutter{ResponseWriter: w, left: int(n * n * 7 % 3000)}, r)
		panic(http.ErrAbortHandler)
	})
}

// cutter lets some bytes through.
type cutter struct {
	http.ResponseWriter
	left int
}

// Write writes what is let through, then ends the connection.
func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left]) // it breaks anyway
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// hurried is a clock on which a long time passes between any two looks: what was forgiven is tried
// again, and all is late.
type hurried struct {
	clock.Clock
	looks atomic.Int64
}

// Now returns an ever later time.
func (h *hurried) Now() time.Time {
	return h.Clock.Now().Add(time.Duration(h.looks.Add(1)) * time.Minute)
}

// Live implements broker.Servers.
func (s *servers) Live() []*dispatch.Server { return s.all }

// Holders implements broker.Servers.
func (s *servers) Holders(id string) []*dispatch.Server {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash does not fail
	first := int(h.Sum32() % uint32(len(s.all)))
	return []*dispatch.Server{s.all[first], s.all[(first+1)%len(s.all)]}
}

// heldBy gives a server the segments of a Store.
type heldBy struct{ store *Store }

// Acquire implements fragments.Segments.
func (h heldBy) Acquire(_ context.Context, id string, _ json.RawMessage) (segment.Reader, error) {
	return h.store.acquireByID(id)
}

// Held implements fragments.Segments.
func (h heldBy) Held(_ context.Context, id, _ string) (segment.Reader, error) {
	return h.store.acquireByID(id)
}
