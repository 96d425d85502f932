package role

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/flight"
	"github.com/hengedb/henge/internal/cluster"
)

// flightKeySetting holds what seals the tickets of Flight SQL, so that all processes of a cluster
// open them.
const flightKeySetting = "flight.key"

// flightEnable is the setting that says whether clients of Flight SQL are answered.
const flightEnable = "service.sql.flight.enable"

// openFlight prepares the answers to clients of Flight SQL.
func (s *services) openFlight(ctx context.Context) error {
	set := s.n.settings
	if !set.Bool(flightEnable) {
		return nil
	}
	key, err := s.n.sharedKey(ctx, flightKeySetting)
	if err != nil {
		return err
	}
	o := flight.Options{
		Key:             key,
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0), MaxRowsBytes: set.Bytes("service.ingest.push.maxRequestBytes", 0),
		DefaultTimeout: set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		Security: s.n.security, Ingest: &s.pushes, Memory: s.n.memory, Idle: set.Duration("service.server.http.maxIdleTime"),
		Version: s.n.o.Version, Clock: s.n.o.Clock,
	}
	if !s.n.peers.alone {
		o.Cancel = s.cancelElsewhere
	}
	s.flight, err = flight.New(s.broker, s.n.running, o, s.n.o.Log)
	return err
}

// flightRoutes adds the calls of Flight SQL.
func (s *services) flightRoutes(mux *edge.Mux) {
	if s.flight == nil {
		return
	}
	inner := edge.NewMux(mux.Errors)
	s.sentRoutes(inner)
	h := inner.Handler(nil, s.n.o.Clock, nil)
	s.pushes.to.Store(&h)
	s.flight.Routes(mux)
}

// pushes is the endpoint of pushes, once there is a port whose routes it is one of.
type pushes struct{ to atomic.Pointer[http.Handler] }

// ServeHTTP implements http.Handler.
func (p *pushes) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*p.to.Load()).ServeHTTP(w, r) }

// cancelElsewhere has the other Brokers cancel a query, for who sends the header.
func (s *services) cancelElsewhere(ctx context.Context, header http.Header, id string) int {
	var ended atomic.Int64
	var asked sync.WaitGroup
	for _, m := range s.n.peers.members.Members(cluster.Broker) {
		if m.Holder == s.n.peers.membership.Holder {
			continue
		}
		asked.Go(func() {
			to := m.URL() + "/service/v2/sql/" + url.PathEscape(id)
			req, err := http.NewRequestWithContext(ctx, http.MethodDelete, to, bytes.NewReader(nil))
			if err != nil {
				return
			}
			for _, name := range credentials {
				if values := header.Values(name); len(values) > 0 {
					req.Header[name] = values
				}
			}
			resp, err := s.n.peers.passing.Do(req)
			if err != nil {
				return // it runs nothing any more
			}
			_, _ = io.Copy(io.Discard, resp.Body) // only its status counts
			_ = resp.Body.Close()                 // it was only read
			if resp.StatusCode < http.StatusBadRequest {
				ended.Add(1)
			}
		})
	}
	asked.Wait()
	return int(ended.Load())
}
