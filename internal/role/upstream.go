package role

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
)

// upstreamPeriod is how often a connection is looked at whose answer the client does not read.
const upstreamPeriod = time.Second

// watchUpstream returns ctx for a request that is passed on. While its client does not read,
// nothing is read from the process that answers either, and that it broke the answer off, because
// the query was cancelled or is too late, would not be noticed: the answer to the client is broken
// off then too.
func (n *Node) watchUpstream(ctx context.Context) context.Context {
	var upstream atomic.Pointer[syscall.Conn]
	go func() {
		ticker := n.o.Clock.NewTicker(upstreamPeriod)
		defer ticker.Stop()
		for waited := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
			}
			waits := edge.Waits(ctx)
			if c := upstream.Load(); waits && waited && c != nil && broken(*c) {
				edge.Cut(ctx)
				return
			}
			waited = waits
		}
	}()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		conn := got.Conn
		if secured, ok := conn.(*tls.Conn); ok {
			conn = secured.NetConn()
		}
		if c, ok := conn.(syscall.Conn); ok {
			upstream.Store(&c)
		}
	}})
}

// broken reports whether the other side has reset a connection of which nothing is read.
func broken(c syscall.Conn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true // it is closed
	}
	failed := false
	err = raw.Control(func(fd uintptr) {
		code, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		failed = err != nil || code != 0
	})
	return failed || err != nil
}
