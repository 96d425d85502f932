package keystore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

const (
	// handshakeTimeout bounds a handshake: a client that is silent holds nothing for longer.
	handshakeTimeout = 10 * time.Second
	// quiet is how long after a failed handshake of a peer its further ones are not logged.
	quiet = time.Minute
	// quietPeers bounds of how many peers that is known.
	quietPeers = 4096
	// drainTimeout is how long a client that spoke no TLS may take to read why it is refused.
	drainTimeout = time.Second
)

// HandshakeError is the failure of a handshake with a server. Nothing was sent to it.
type HandshakeError struct {
	Address string
	Cause   error
}

// Error says what the user can mend.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("TLS handshake with [%s]: %s", e.Address, Why(e.Cause))
}

// Unwrap returns the error of the handshake.
func (e *HandshakeError) Unwrap() error { return e.Cause }

// Why says why a handshake failed.
func Why(err error) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate is not for host [%s]", e.Host)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate is not signed by a trusted authority"
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		switch e.Reason {
		case x509.Expired:
			return "the certificate has expired or is not valid yet"
		case x509.IncompatibleUsage:
			return "the certificate is not for this use"
		}
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return "the other side refused: " + strings.TrimPrefix(e.Error(), "tls: ")
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		if strings.HasPrefix(string(e.RecordHeader[:]), "HTTP/") {
			return "the port answers plain HTTP, not TLS"
		}
		return "the other side does not speak TLS"
	}
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return "it took too long"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return "the other side closed the connection"
	}
	return strings.TrimPrefix(err.Error(), "tls: ")
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// Listener accepts connections whose handshake is done, so that one slow client keeps nobody from
// being accepted. A failed handshake is logged once per peer and minute.
type Listener struct {
	net.Listener
	server *Server
	clock  clock.Clock
	log    *slog.Logger
	ready  chan accepted
	done   chan struct{}
	work   sync.WaitGroup
	once   sync.Once
	failed atomic.Int64

	mu struct {
		sync.Mutex
		pending map[net.Conn]bool
		logged  map[string]time.Time
	}
}

type accepted struct {
	conn net.Conn
	err  error
}

// Listen answers TLS on a port. The caller closes the listener, which waits for its goroutines.
func (s *Server) Listen(inner net.Listener, c clock.Clock, log *slog.Logger) *Listener {
	l := &Listener{Listener: inner, server: s, clock: c, log: log, ready: make(chan accepted), done: make(chan struct{})}
	l.mu.pending, l.mu.logged = map[net.Conn]bool{}, map[string]time.Time{}
	l.work.Go(l.accept)
	return l
}

// Failed returns how many handshakes have failed.
func (l *Listener) Failed() int64 { return l.failed.Load() }

// Accept returns the next connection whose handshake is done, a *tls.Conn.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listening and the handshakes under way.
func (l *Listener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		err = l.Listener.Close()
		close(l.done)
		l.mu.Lock()
		for c := range l.mu.pending {
			_ = c.Close() // its handshake ends
		}
		l.mu.Unlock()
	})
	l.work.Wait()
	return err
}

// accept takes connections until the listener is closed.
func (l *Listener) accept() {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			select {
			case l.ready <- accepted{err: err}: // net/http knows which pass
				if !isTemporary(err) {
					return
				}
				continue
			case <-l.done:
				return
			}
		}
		if !l.note(conn) {
			_ = conn.Close() // nobody will take it
			return
		}
		l.work.Go(func() { l.handshake(conn) })
	}
}

// isTemporary reports whether accepting may work again, as net/http asks it.
func isTemporary(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Temporary() //nolint:staticcheck // net/http goes by it, too
}

// note keeps a connection to be closed with the listener.
func (l *Listener) note(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		return false
	default:
		l.mu.pending[conn] = true
		return true
	}
}

func (l *Listener) forget(conn net.Conn) {
	l.mu.Lock()
	delete(l.mu.pending, conn)
	l.mu.Unlock()
}

func (l *Listener) handshake(conn net.Conn) {
	defer l.forget(conn)
	secured := tls.Server(conn, l.server.Config())
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	err := secured.HandshakeContext(ctx)
	cancel()
	if err != nil {
		l.refuse(conn, err)
		return
	}
	select {
	case l.ready <- accepted{conn: secured}:
	case <-l.done:
		_ = conn.Close() // nobody takes it
	}
}

// refuse logs a failed handshake, and tells a client that speaks HTTP that the port wants HTTPS.
func (l *Listener) refuse(conn net.Conn, err error) {
	defer func() { _ = conn.Close() }() // nobody reads what it says
	select {
	case <-l.done:
		return
	default:
	}
	if errors.Is(err, io.EOF) {
		return // a look whether the port is open, as balancers have it
	}
	l.failed.Add(1)
	why := Why(err)
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && e.Conn != nil && looksLikeHTTP(e.RecordHeader) {
		why = "the client spoke plain HTTP"
		tellPlain(conn)
	}
	peer := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(peer); err == nil {
		peer = host
	}
	if l.mayLog(peer) {
		l.log.Warn("TLS handshake failed; further failures of this peer are not logged for "+
			"a minute", "peer", peer, "port", port(conn.LocalAddr()), "reason",
			why)
	}
}

func port(a net.Addr) int {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// mayLog reports whether nothing was logged of a peer for a while.
func (l *Listener) mayLog(peer string) bool {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.mu.logged[peer]; ok && now.Sub(last) < quiet {
		return false
	}
	if len(l.mu.logged) >= quietPeers {
		for p, last := range l.mu.logged {
			if now.Sub(last) >= quiet {
				delete(l.mu.logged, p)
			}
		}
		if len(l.mu.logged) >= quietPeers {
			return false
		}
	}
	l.mu.logged[peer] = now
	return true
}

// looksLikeHTTP reports whether bytes are the first of a request.
func looksLikeHTTP(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "CONNE", "TRACE":
		return true
	}
	return false
}

// tellPlain answers a client that spoke plain HTTP, and lets it read that.
func tellPlain(conn net.Conn) {
	const body = `{"error":"This port answers HTTPS only","errorMessage":"This port answers HTTPS only: use https://"}` + "\n"
	_ = conn.SetDeadline(clock.Deadline(drainTimeout)) // it may be closed
	_, err := io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		// A connection that is closed with unread bytes is reset: the client would not see the answer.
		_ = tcp.CloseWrite()
		_, _ = io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
	}
}
