package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
)

const (
	// farewell is how long interrupted queries have to answer that they were.
	farewell = time.Second
	// readHeader is how long a client may take to send the head of a request.
	readHeader = 10 * time.Second
)

// listener is one role's port.
type listener struct {
	role   string
	net    net.Listener
	server *http.Server
	// secure answers HTTPS; nil: plain HTTP.
	secure *keystore.Server
	// wrapped is the listener of HTTPS while it serves.
	wrapped atomic.Pointer[keystore.Listener]

	connections connections

	clock clock.Clock
	log   *slog.Logger
}

// connections knows the connections of a port, and on which a request is under way.
type connections struct {
	sync.Mutex
	busy map[net.Conn]bool
}

// note follows a connection's states.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.Lock()
	defer c.Unlock()
	switch state {
	case http.StateNew, http.StateActive, http.StateIdle:
		c.busy[conn] = state == http.StateActive
	default:
		delete(c.busy, conn)
	}
}

func (c *connections) count() (open, busy int) {
	c.Lock()
	defer c.Unlock()
	for _, b := range c.busy {
		if open++; b {
			busy++
		}
	}
	return open, busy
}

// listen opens a port of a role; setting is the name of the one that says which.
func listen(role, bind, setting string, port int64) (*listener, error) {
	var l net.Listener
	var err error
	if bind == loopback {
		l, err = listenLoopback(port)
	} else {
		l, err = net.Listen("tcp", net.JoinHostPort(bind, strconv.FormatInt(port, 10)))
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fault.Conflict("Port [%d] of the %s is in use by another program. Stop it, or choose another port with %s (0 takes a free one).", port, role, setting)
	case errors.Is(err, syscall.EACCES):
		return nil, fault.InvalidInput("Port [%d] of the %s needs more privileges than this process has; choose one above 1023 with %s", port, role, setting)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fault.InvalidInput("Host [%s] (service.host) is not an address of this machine, so the %s can't listen on it "+
			"(service.bindOnHost). Name an address of this machine, or leave service.bindOnHost out to listen on all", bind, role)
	case err != nil:
		if _, unknown := errors.AsType[*net.DNSError](err); unknown {
			return nil, fault.InvalidInput("Host [%s] (service.host) has no address, so the %s can't listen on it (service.bindOnHost)", bind, role)
		}
		return nil, fault.Runtime("Port [%d] of the %s can't be listened on (%s)", port, role, setting).WithCause(err)
	}
	out := &listener{role: role, net: l, server: &http.Server{ReadHeaderTimeout: readHeader, ConnContext: edge.ConnContext}, connections: connections{busy: map[net.Conn]bool{}}}
	out.server.ConnState = out.connections.note
	out.server.Protocols = new(http.Protocols) // clients of gRPC speak HTTP/2, also without TLS
	out.server.Protocols.SetHTTP1(true)
	out.server.Protocols.SetHTTP2(true)
	out.server.Protocols.SetUnencryptedHTTP2(true)
	return out, nil
}

// port returns the port that is really listened on.
func (l *listener) port() int { return l.net.Addr().(*net.TCPAddr).Port }

// prepare says how requests are answered. It comes before serve and stop, which may run at the same
// time.
func (l *listener) prepare(handler http.Handler, clk clock.Clock, log *slog.Logger) {
	l.clock, l.log = clk, log
	l.server.Handler, l.server.ErrorLog = handler, slog.NewLogLogger(log.Handler(), slog.LevelDebug)
}

// serve answers requests until stop is called.
func (l *listener) serve() error {
	inner := l.net
	if l.secure != nil {
		secured := l.secure.Listen(l.net, l.clock, l.log)
		l.wrapped.Store(secured)
		inner = secured
	}
	if err := l.server.Serve(inner); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the %s: %w", l.role, err)
	}
	return nil
}

// stop takes no more requests and lets those under way end while graceful lasts. Queries that are
// interrupted then get the time to say so; what is left is cut off.
func (l *listener) stop(ctx, graceful context.Context) {
	defer l.net.Close() // the server closes it only if it serves
	if l.server.Shutdown(graceful) == nil {
		return
	}
	last, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	if l.server.Shutdown(last) != nil {
		_ = l.server.Close() // what is left is cut off
	}
}
