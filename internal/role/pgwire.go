package role

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/hengedb/henge/internal/api/pgwire"
	api "github.com/hengedb/henge/internal/api/push"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/query"
)

// pgwireRole is the name under which the addresses of the PostgreSQL wire are listed.
const pgwireRole = "pgwire"

// wirePort is a port of the PostgreSQL wire.
type wirePort struct {
	net.Listener
	// secure says that it takes encrypted connections only.
	secure bool
}

// openPGWire answers clients of PostgreSQL, if a port is set.
func (s *services) openPGWire(ctx context.Context) error {
	const plain, encrypted = "service.pgwire.plaintextPort", "service.pgwire.tlsPort"
	set := s.n.settings
	if !s.n.has(cluster.Broker) || set.Int(plain) < 0 && set.Int(encrypted) < 0 {
		return nil
	}
	if set.Int(encrypted) >= 0 && s.n.tls.server == nil {
		return fault.InvalidInput("Setting [%s] needs [service.enableTlsPort] and a certificate in [service.server.https.keyStorePath]",
			encrypted)
	}
	o := pgwire.Options{
		MaxConnections:  int(set.Int("service.pgwire.maxConnections")),
		MaxMessageBytes: set.Bytes("service.pgwire.maxMessageBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		IdleTimeout: set.Duration("service.pgwire.idleTimeout"), Version: s.n.o.Version, Clock: s.n.o.Clock,
		Writer: wireWriter{s}, Memory: s.n.memory,
	}
	o.Audit = s.n.audit
	if s.n.tls.server != nil {
		o.TLS = s.n.tls.server.Config()
	}
	if s.n.security != nil {
		o.Authenticator, o.Pacer = pgwire.NewSecured(s.n.security), s.n.security.Pacer
	}
	server := pgwire.New(s.broker, s.n.running, o, s.n.o.Log)
	// A process that answers HTTPS only has no port at which passwords could be read on the way.
	if err := s.servePGWire(ctx, server, plain, !set.Bool("service.enablePlaintextPort")); err != nil {
		return err
	}
	return s.servePGWire(ctx, server, encrypted, true)
}

// servePGWire opens a port of the wire, if its setting wants it.
func (s *services) servePGWire(ctx context.Context, server *pgwire.Server, setting string, secure bool) error {
	port := s.n.settings.Int(setting)
	if port < 0 {
		return nil
	}
	l, err := listen("PostgreSQL wire", s.n.bind(), setting, port)
	if err != nil {
		return err
	}
	s.n.pgwire = append(s.n.pgwire, wirePort{l.net, secure})
	s.n.onClose(func() error { _ = l.net.Close(); return nil }) // it is closed when it has served
	s.n.roles.Go(func() error { return server.Serve(ctx, l.net, secure) })
	return nil
}

// wireWriter takes rows from the PostgreSQL wire. It implements pgwire.Writer.
type wireWriter struct{ s *services }

// Schema implements pgwire.Writer.
func (w wireWriter) Schema(ctx context.Context, dataSource string) (pgwire.WriteSchema, error) {
	out := pgwire.WriteSchema{Time: wireTime, Format: wireTimeFormat} // as the first rows make it
	found, err := w.s.supervisors.Find(ctx, api.SupervisorOf(dataSource))
	if err != nil || found == nil {
		return out, err
	}
	text, err := json.Marshal(found.Spec)
	if err != nil {
		return out, fmt.Errorf("writing the specification of supervisor [%s]: %w", found.ID(), err)
	}
	read, err := spec.ParseStream(spec.Push, text)
	if err != nil {
		return out, err
	}
	time := &read.Schema.Time
	return pgwire.WriteSchema{Time: time.Column, Format: strings.ToLower(time.Format.String()), Optional: time.Missing != nil,
		Aggregates: len(read.Schema.Metrics) > 0}, nil
}

// MaxBytes implements pgwire.Writer.
func (w wireWriter) MaxBytes() int64 {
	return w.s.n.settings.Bytes("service.ingest.push.maxRequestBytes", 0)
}

// The time of rows of a datasource that no rows were sent to yet.
const (
	wireTime       = "__time"
	wireTimeFormat = "auto"
)

// Write implements pgwire.Writer: it is a request to the endpoint of rows that are sent over HTTP,
// in this process or in the one that leads the log. Its key makes it count once when it is sent
// twice.
func (w wireWriter) Write(ctx context.Context, dataSource string, lines []byte) error {
	key := query.NewID()
	path := api.Path + url.PathEscape(dataSource) + "?timeColumn=" + wireTime + "&timeFormat=" + wireTimeFormat
	request := func(base string) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(lines))
		if err != nil {
			return nil, err
		}
		r.SetPathValue("datasource", dataSource)
		r.Header.Set("Content-Type", "application/x-ndjson")
		r.Header.Set("Idempotency-Key", key)
		return r, nil
	}
	d := &sentDoor{s: w.s, own: w.s.sentAPI()}
	if w.s.sent.locations == nil {
		r, err := request("")
		if err != nil {
			return err
		}
		return d.own.Receive(unread{http.Header{}}, r)
	}
	return d.send(ctx, dataSource, key, request)
}

// unread takes an answer that nobody reads: what counts is that there was no error.
type unread struct{ header http.Header }

// Header implements http.ResponseWriter.
func (u unread) Header() http.Header { return u.header }

// Write implements http.ResponseWriter.
func (unread) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (unread) WriteHeader(int) {}
