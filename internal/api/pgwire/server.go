package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
)

// Engine plans and executes statements.
type Engine interface {
	query.Engine
	// Describe returns the columns and parameters of a statement without executing it.
	Describe(ctx context.Context, req *query.Request) (*query.Description, error)
	// PinState pins a state. Tables lists the tables that can be read in it.
	PinState(ctx context.Context) (query.Pin, error)
	Tables(ctx context.Context, of query.Pin) ([]query.Table, error)
	// Shown returns the columns of a datasource that are visible to an access with rules; nil: every
	// query of the datasource would be rejected.
	Shown(ctx context.Context, of query.Pin, dataSource string, access *auth.Access) ([]result.Column, error)
}

// Options are the settings of the server.
type Options struct {
	// MaxConnections limits the number of sessions and the number of connections that have not logged
	// in yet. MaxMessageBytes limits the size of a message.
	MaxConnections  int
	MaxMessageBytes int64
	// Audit records rejected logins; may be nil.
	Audit *audit.Log
	// Pacer limits the queries per second of users; nil: no limit.
	Pacer *auth.Pacer
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to queries; 0: none.
	DefaultTimeout, MaxTimeout int64
	// IdleTimeout ends sessions that send nothing for this long; 0: no limit.
	IdleTimeout time.Duration
	// Version is the version of Henge.
	Version string
	// Dialect is the API name of requests.
	Dialect string
	// TLS is the configuration for clients that request encryption; nil: encryption is not available.
	TLS *tls.Config
	// Authenticator authenticates clients; nil: Trust.
	Authenticator Authenticator
	// Writer writes rows that clients insert; nil: clients can't insert rows. Memory is the budget of
	// rows that wait for COMMIT; nil: they are not counted.
	Writer Writer
	Memory *budget.Budget
	Clock  clock.Clock
}

// Server serves clients on listeners.
type Server struct {
	engine  Engine
	running *query.Running
	o       Options
	log     *slog.Logger
	started time.Time

	mu struct {
		sync.Mutex
		sessions  map[uint32]*session
		next      uint32
		strangers int // connections that have not logged in
		closed    bool
	}
	// catalog is the last snapshot that shows all.
	catalog struct {
		sync.Mutex
		of       query.Pin
		snapshot *pgcatalog.Snapshot
	}
}

// New returns a server that serves engine.
func New(engine Engine, running *query.Running, o Options, log *slog.Logger) *Server {
	if o.Authenticator == nil {
		o.Authenticator = Trust{}
	}
	o.TLS = forWire(o.TLS)
	s := &Server{engine: engine, running: running, o: o, log: log, started: o.Clock.Now()}
	s.mu.sessions = map[uint32]*session{}
	return s
}

// Serve serves the clients of a listener until ctx is done. With encrypted, every connection must
// begin with TLS or request it.
func (s *Server) Serve(ctx context.Context, l net.Listener, encrypted bool) error {
	var conns sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // it ends Accept
	defer stop()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				s.closeAll()
				conns.Wait()
				return nil
			}
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				continue
			}
			s.log.ErrorContext(ctx, "failed to accept a PostgreSQL connection", "error", err)
			timer := s.o.Clock.NewTimer(100 * time.Millisecond) // too many files are open
			select {
			case <-timer.C():
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		}
		conns.Go(func() { s.handle(ctx, conn, encrypted) })
	}
}

// handle runs one connection.
func (s *Server) handle(ctx context.Context, conn net.Conn, encrypted bool) {
	defer conn.Close() //nolint:errcheck // it ends in any case
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &session{server: s, conn: newWire(conn), ctx: ctx}
	if s.o.Memory != nil {
		c.writeMemory = budget.NewAccount(s.o.Memory)
	}
	defer c.end()
	err := exec.Protect(func() error { return c.serve(encrypted) })
	if err != nil && ctx.Err() == nil {
		s.log.DebugContext(ctx, "PostgreSQL connection ended", "peer", conn.RemoteAddr().String(), "error", err)
	}
}

// enter registers a session and gives it a number and a secret.
func (s *Server) enter(c *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return failure("57P03", "the database system is shutting down")
	}
	if len(s.mu.sessions) >= s.o.MaxConnections {
		return failure("53300", "sorry, too many clients already")
	}
	for {
		s.mu.next = (s.mu.next + 1) & 0x7fffffff
		if s.mu.next != 0 && s.mu.sessions[s.mu.next] == nil {
			break
		}
	}
	c.pid = s.mu.next
	random := make([]byte, 4)
	_, _ = rand.Read(random) // never fails
	c.secret = secret.NewText(string(random))
	s.mu.sessions[c.pid] = c
	return nil
}

// arrive lets a connection begin. Those that have not logged in are bounded like sessions, so that
// nobody holds any number of them without a password. gone is called when it has begun or ended.
func (s *Server) arrive() (gone func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.strangers >= s.o.MaxConnections {
		return nil, false
	}
	s.mu.strangers++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.strangers--
	}, true
}

func (s *Server) leave(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.sessions[c.pid] == c {
		delete(s.mu.sessions, c.pid)
	}
}

// closeAll ends all sessions.
func (s *Server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closed = true
	for _, c := range s.mu.sessions {
		c.interrupt(failure("57P01", "terminating connection due to administrator command"))
		_ = c.conn.Close() // it ends in any case
	}
}

// cancel ends the query of a session, if the secret is its.
func (s *Server) cancel(pid uint32, key []byte) bool {
	s.mu.Lock()
	c := s.mu.sessions[pid]
	s.mu.Unlock()
	if c == nil || key != nil && subtle.ConstantTimeCompare([]byte(c.secret.Reveal()), key) != 1 {
		return false
	}
	c.interrupt(failure("57014", "canceling statement due to user request"))
	return true
}

// Count returns the number of sessions.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.sessions)
}

// activities lists the sessions of a user, or all to whom may see the state of the cluster.
func (s *Server) activities(of *session) []pgcatalog.Activity {
	ofAll := of.access.May(of.ctx, auth.Reads(auth.State, string(auth.State)))
	s.mu.Lock()
	var all []*session
	for _, c := range s.mu.sessions {
		if c.user == of.user || ofAll {
			all = append(all, c)
		}
	}
	s.mu.Unlock()
	var out []pgcatalog.Activity
	for _, c := range all {
		out = append(out, c.activity())
	}
	return out
}

func uint32Of(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
