package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
)

// network is the way between the processes of a Cluster. It is used by all of them at once.
type network struct {
	mu struct {
		sync.Mutex
		at    map[string]*Process // by host:port
		cut   map[link]bool
		conns map[net.Conn]link
		still map[*Process]chan struct{} // processes that are paused; closed when they go on
	}
}

// link is between two processes, in both directions.
type link [2]*Process

// between returns the link of two processes, whichever is named first.
func between(a, b *Process) link {
	if a.number > b.number {
		a, b = b, a
	}
	return link{a, b}
}

func newNetwork() *network {
	n := &network{}
	n.mu.at, n.mu.cut, n.mu.conns = map[string]*Process{}, map[link]bool{}, map[net.Conn]link{}
	n.mu.still = map[*Process]chan struct{}{}
	return n
}

// dial returns how a process reaches others.
func (n *network) dial(from *Process) func(ctx context.Context, kind, address string) (net.Conn, error) {
	return func(ctx context.Context, kind, address string) (net.Conn, error) {
		if n.isCut(from, address) {
			return nil, &net.OpError{Op: "dial", Net: kind, Err: errors.New("the network is partitioned")}
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, kind, address)
		if err != nil {
			return nil, err
		}
		return n.hold(from, address, conn), nil
	}
}

func (n *network) isCut(from *Process, address string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	to := n.mu.at[address]
	return to != nil && n.mu.cut[between(from, to)]
}

// hold knows a connection until it is closed.
func (n *network) hold(from *Process, address string, conn net.Conn) net.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	to := n.mu.at[address]
	if to == nil {
		return conn
	}
	held := &heldConn{Conn: conn, n: n, to: to, closed: make(chan struct{})}
	n.mu.conns[held] = between(from, to)
	if n.mu.cut[between(from, to)] {
		_ = conn.Close() // it was cut meanwhile
	}
	return held
}

// heldConn is a connection that breaks when its link is cut.
type heldConn struct {
	net.Conn
	n      *network
	to     *Process
	once   sync.Once
	closed chan struct{}
}

// Read gives nothing of what a process sends that is paused until it goes on.
func (c *heldConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for {
		c.n.mu.Lock()
		still := c.n.mu.still[c.to]
		c.n.mu.Unlock()
		if still == nil {
			return n, err
		}
		select {
		case <-still:
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
}

// SyscallConn implements syscall.Conn, as the connection does.
func (c *heldConn) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(syscall.Conn).SyscallConn()
}

// Close ends the connection.
func (c *heldConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.n.mu.Lock()
	delete(c.n.mu.conns, c)
	c.n.mu.Unlock()
	return c.Conn.Close()
}

// Cut breaks the connections between two processes, and lets no other be made.
func (c *Cluster) Cut(a, b *Process) {
	n := c.network
	n.mu.Lock()
	defer n.mu.Unlock()
	l := between(a, b)
	n.mu.cut[l] = true
	for conn, of := range n.mu.conns {
		if of == l {
			_ = conn.(*heldConn).Conn.Close() // that it breaks is what is wanted
		}
	}
}

// Pause lets a process take connections and requests of others, which hear nothing of it until
// Resume, as when it is stopped by a signal. It goes on with what it does itself: its metastore is
// to be taken from it too.
func (c *Cluster) Pause(p *Process) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	c.network.mu.still[p] = make(chan struct{})
}

// Resume lets a process answer that was paused.
func (c *Cluster) Resume(p *Process) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if still := c.network.mu.still[p]; still != nil {
		close(still)
		delete(c.network.mu.still, p)
	}
}

// Heal lets all processes reach each other and the metastore, and makes no disk slow any more.
func (c *Cluster) Heal() {
	c.network.mu.Lock()
	clear(c.network.mu.cut)
	c.network.mu.Unlock()
	for _, p := range c.Nodes {
		p.slow.Store(0)
		if p.link != nil {
			p.link.Mend()
		}
	}
}

// CutStore takes the metastore from a process. The cluster's processes must have links of their own
// (ClusterOptions.Links).
func (c *Cluster) CutStore(p *Process) { p.link.Cut() }

// Slow makes each access of a process to deep storage take so much longer.
func (c *Cluster) Slow(p *Process, by time.Duration) { p.slow.Store(int64(by)) }

// slowStore is a deep storage that takes its time, and whose files are not on this machine.
type slowStore struct {
	deepstore.Store
	by *atomic.Int64
}

func (s slowStore) wait(ctx context.Context) error {
	return clock.System().Sleep(ctx, time.Duration(s.by.Load()))
}

// Open implements deepstore.Store.
func (s slowStore) Open(ctx context.Context, key string) (deepstore.Object, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	o, err := s.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return slowObject{o, ctx, s}, nil
}

// Stat implements deepstore.Store.
func (s slowStore) Stat(ctx context.Context, key string) (deepstore.Info, error) {
	if err := s.wait(ctx); err != nil {
		return deepstore.Info{}, err
	}
	return s.Store.Stat(ctx, key)
}

type slowObject struct {
	deepstore.Object
	ctx context.Context
	of  slowStore
}

// ReadAt implements io.ReaderAt.
func (o slowObject) ReadAt(p []byte, at int64) (int, error) {
	if err := o.of.wait(o.ctx); err != nil {
		return 0, err
	}
	return o.Object.ReadAt(p, at)
}
