package role

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/hengedb/henge/internal/api/pgwire"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
)

// pgwireRole is the name under which the address of the PostgreSQL wire is listed.
const pgwireRole = "pgwire"

// openPGWire answers clients of PostgreSQL, if a port is set.
func (s *services) openPGWire(ctx context.Context) error {
	set := s.n.settings
	port := set.Int("service.pgwire.plaintextPort")
	if port < 0 || !s.n.has(cluster.Broker) {
		return nil
	}
	if auth.Configured(set) {
		return fault.Unsupported("service.pgwire.plaintextPort is set, and so is security: the PostgreSQL wire has no login yet")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(s.n.bind(), strconv.FormatInt(port, 10)))
	if err != nil {
		return fmt.Errorf("listening for clients of PostgreSQL on port [%d]: %w", port, err)
	}
	s.n.pgwire = l
	s.n.onClose(func() error { _ = l.Close(); return nil }) // it is closed when it has served
	server := pgwire.New(s.broker, s.n.running, pgwire.Options{
		MaxConnections:  int(set.Int("service.pgwire.maxConnections")),
		MaxMessageBytes: set.Bytes("service.pgwire.maxMessageBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		IdleTimeout: set.Duration("service.pgwire.idleTimeout"), Version: s.n.o.Version, Clock: s.n.o.Clock,
	}, s.n.o.Log)
	s.n.roles.Go(func() error { return server.Serve(ctx, l, false) })
	return nil
}
