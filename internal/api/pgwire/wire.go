package pgwire

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// wire is a connection that can be watched while nobody reads: a client that goes away ends its
// query.
type wire struct {
	net.Conn
	mu    sync.Mutex
	ahead []byte // read by watch, for the next Read
	gone  error  // why watch could not read
}

func newWire(c net.Conn) *wire { return &wire{Conn: c} }

// Read returns first the bytes that watch has read.
func (w *wire) Read(p []byte) (int, error) {
	w.mu.Lock()
	if len(w.ahead) > 0 {
		n := copy(p, w.ahead)
		w.ahead = nil
		w.mu.Unlock()
		return n, nil
	}
	if w.gone != nil {
		defer w.mu.Unlock()
		return 0, w.gone
	}
	w.mu.Unlock()
	return w.Conn.Read(p)
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// watch calls gone when the client goes away, until stop is called. Nobody may read meanwhile.
func (w *wire) watch(gone func()) (stop func()) {
	w.mu.Lock()
	idle := len(w.ahead) > 0 || w.gone != nil
	w.mu.Unlock()
	if idle { // it has sent the next request already
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var b [1]byte
		n, err := w.Conn.Read(b[:])
		w.mu.Lock()
		defer w.mu.Unlock()
		if n > 0 {
			w.ahead = b[:n]
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			w.gone = err
			gone()
		}
	}()
	return func() {
		_ = w.Conn.SetReadDeadline(past) // a connection that can't is closed
		<-done
		_ = w.Conn.SetReadDeadline(time.Time{}) // likewise
	}
}

// hurry bounds the writes of a query that has ended.
func (w *wire) hurry() { _ = w.Conn.SetWriteDeadline(clock.Deadline(farewell)) }

// calm takes hurry back.
func (w *wire) calm() { _ = w.Conn.SetWriteDeadline(time.Time{}) }

// atEnd calls f when ctx ends, until stop is called. stop waits for a call that has begun, so that
// what the caller does next is not undone, and says whether f was called.
func atEnd(ctx context.Context, f func()) (stop func() bool) {
	done := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return func() bool {
		if unhook() {
			return false
		}
		<-done
		return true
	}
}
