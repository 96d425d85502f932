package edge

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

const (
	// paceBytes is how much of an answer must get away within the idle time.
	paceBytes = 64 << 10
	// lastWords is how long an answer may still take once the work that it is of has ended.
	lastWords = 2 * time.Second
)

// pace breaks off answers that clients do not read. Each write gets a deadline, the idle time from
// now. When the work behind the answer ends early (Tie), what is left of the answer gets lastWords,
// from then or from its first byte: whoever asks is told why the work ended, however late its
// goroutine sees that it has.
//
// All methods are safe for use by many goroutines, and a nil pace bounds nothing.
type pace struct {
	control *http.ResponseController
	conn    net.Conn      // nil: not known
	idle    time.Duration // 0: any time
	waits   atomic.Bool   // a write has not returned

	mu struct {
		sync.Mutex
		last  time.Time     // when all must have been sent; zero: that is open
		begun bool          // something was written
		left  time.Duration // how long all may take from the first byte on; 0: that is open
		over  bool          // the handler has returned: net/http has taken back what control stands for
	}
}

type (
	paceKey struct{}
	connKey struct{}
)

// ConnContext gives responses access to their connection. It is for http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

func newPace(ctx context.Context, w http.ResponseWriter, idle time.Duration) *pace {
	p := &pace{control: http.NewResponseController(w), idle: idle}
	p.conn, _ = ctx.Value(connKey{}).(net.Conn)
	if secured, ok := p.conn.(*tls.Conn); ok {
		p.conn = secured.NetConn()
	}
	p.step()
	return p
}

func paceOf(ctx context.Context) *pace {
	p, _ := ctx.Value(paceKey{}).(*pace)
	return p
}

// step gives what is sent next the idle time from now.
func (p *pace) step() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.over {
		return
	}
	by := p.mu.last
	if p.idle > 0 {
		if next := clock.Deadline(p.idle); by.IsZero() || next.Before(by) {
			by = next
		}
	}
	_ = p.control.SetWriteDeadline(by) // a recorder of a test has none
}

// end gives what is left of the answer some time.
func (p *pace) end(within time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.over {
		return
	}
	if !p.mu.begun && within > 0 {
		p.mu.left = within
		return
	}
	p.linger(false) // net/http closes the connection at the first write that fails
	p.mu.last = clock.Deadline(within)
	_ = p.control.SetWriteDeadline(p.mu.last) // likewise
}

// begin notes that the answer is written from now on.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.begun = true; p.mu.left > 0 && p.mu.last.IsZero() {
		p.linger(false)
		p.mu.last = clock.Deadline(p.mu.left)
	}
}

// write sends b in pieces, each with a deadline.
func (p *pace) write(w io.Writer, b []byte) (int, error) {
	if p == nil {
		return w.Write(b)
	}
	p.begin()
	p.waits.Store(true)
	defer p.waits.Store(false)
	sent := 0
	for {
		p.step()
		n, err := w.Write(b[sent:min(len(b), sent+paceBytes)])
		sent += n
		if err != nil {
			return sent, err
		}
		if sent == len(b) {
			return sent, nil
		}
	}
}

// linger says whether the system delivers what it still holds of the answer when the connection is
// closed. Otherwise the other side is told at once.
func (p *pace) linger(yes bool) {
	c, ok := p.conn.(*net.TCPConn)
	if !ok {
		return
	}
	seconds := 0
	if yes {
		seconds = -1 // as the system does it
	}
	_ = c.SetLinger(seconds) // the connection may be closed
}

// done is called when the handler has returned, for what net/http still sends.
func (p *pace) done() {
	p.mu.Lock()
	ended := !p.mu.last.IsZero()
	p.mu.Unlock()
	if ended {
		p.linger(true)
	}
	p.step()
	p.mu.Lock()
	p.mu.over = true
	p.mu.Unlock()
}

// flush sends what is buffered.
func (p *pace) flush(f http.Flusher) {
	if p == nil {
		f.Flush()
		return
	}
	p.begin()
	p.waits.Store(true)
	defer p.waits.Store(false)
	p.step()
	f.Flush()
}

// Tie aborts a response soon after ctx, the context of its work, is done: a write that waits for
// the client then returns. release ends that.
func Tie(ctx context.Context) (release func()) {
	p := paceOf(ctx)
	if p == nil {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() { p.end(lastWords) })
	return func() { stop() }
}

// Waits reports whether a response currently waits for its client.
func Waits(ctx context.Context) bool {
	p := paceOf(ctx)
	return p != nil && p.waits.Load()
}

// Cut aborts a response that waits for its client.
func Cut(ctx context.Context) { paceOf(ctx).end(0) }
