package role

import (
	"context"
	"net"

	"github.com/hengedb/henge/internal/api/pgwire"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
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
	}
	if s.n.tls.server != nil {
		o.TLS = s.n.tls.server.Config()
	}
	if s.n.security != nil {
		o.Authenticator = pgwire.NewSecured(s.n.security)
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
