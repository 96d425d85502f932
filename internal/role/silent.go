package role

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

const (
	// leaveSilent is how long a request waits for a process that is silent when no other could
	// answer, and for one that falls silent in the middle of its answer.
	leaveSilent = findLeader
	// repeatedBytes bounds the bodies that are kept so that they can be sent once more.
	repeatedBytes = 1 << 20
)

// errSilent marks the fault of a process that takes requests and is silent: the request may have
// reached it.
var errSilent = errors.New("silent")

// awake returns the targets, those last that are known to be silent. While there are others, those
// are not asked at all.
func (f *forward) awake() []string {
	targets := f.targets()
	silent := func(target string) bool { return f.n.peers.pulse.Silent(target) }
	if slices.ContainsFunc(targets, func(t string) bool { return !silent(t) }) {
		targets = slices.DeleteFunc(targets, silent)
	}
	return targets
}

// send passes a request on to a target. When the target turns out to be silent it is left: at once
// if another could answer, else after a while.
func (f *forward) send(r *http.Request, target string) (*http.Response, error) {
	ctx, leave := context.WithCancelCause(r.Context())
	silent, done := f.n.peers.pulse.Watch(target)
	answered := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-silent:
			if f.left(ctx, target, answered) {
				leave(isSilent(target))
			}
		case <-answered:
		case <-ctx.Done():
		}
	})
	resp, err := f.n.peers.passing.Transport.RoundTrip(r.WithContext(ctx))
	close(answered)
	watching.Wait()
	done()
	if err != nil {
		if r.Context().Err() == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		leave(nil)
		return nil, err
	}
	resp.Body = f.follow(ctx, target, resp.Body, leave)
	return resp, nil
}

func isSilent(target string) error {
	return fault.Unavailable("The process at [%s], which the request was passed on to, is silent. The request may have reached it.", target).
		WithCause(errSilent)
}

// left waits until a silent process is to be left; false: it has answered, or nobody waits any
// more.
func (f *forward) left(ctx context.Context, target string, answered <-chan struct{}) bool {
	ticker := f.n.o.Clock.NewTicker(lookAgain)
	defer ticker.Stop()
	for waited := time.Duration(0); ; waited += lookAgain {
		other := slices.ContainsFunc(f.targets(), func(t string) bool { return t != target && !f.n.peers.pulse.Silent(t) })
		if other || waited >= leaveSilent {
			return f.n.peers.pulse.Silent(target)
		}
		select {
		case <-ticker.C():
		case <-answered:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// followed is the body of an answer, which breaks off when the process that gives it falls silent.
type followed struct {
	io.ReadCloser
	clock    clock.Clock
	leave    context.CancelCauseFunc
	reads    atomic.Int64 // since when one waits, in nanoseconds of the clock; 0: none does
	closed   chan struct{}
	close    sync.Once
	watching sync.WaitGroup
}

// follow watches the rest of an answer. Nobody else can go on with it, so the process has as much
// time as one that nobody can replace. Leave ends the request.
func (f *forward) follow(ctx context.Context, target string, body io.ReadCloser, leave context.CancelCauseFunc) io.ReadCloser {
	b := &followed{ReadCloser: body, clock: f.n.o.Clock, leave: leave, closed: make(chan struct{})}
	b.watching.Go(func() {
		for {
			silent, done := f.n.peers.pulse.Watch(target)
			select {
			case <-silent:
			case <-b.closed:
				done()
				return
			}
			left := b.left(func() time.Duration { return f.n.peers.pulse.SilentFor(target) })
			done()
			if left {
				f.n.o.Log.WarnContext(ctx, "process stopped responding in the middle of a response; aborting the response", "process", target)
				leave(isSilent(target))
				return
			}
		}
	})
	return b
}

// left waits until a process that is silent is to be left; false: it is not silent any more, or
// the answer has ended.
func (b *followed) left(silent func() time.Duration) bool {
	ticker := b.clock.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
		case <-b.closed:
			return false
		}
		since := silent()
		if since == 0 {
			return false
		}
		reads := b.reads.Load()
		if since >= leaveSilent && reads != 0 && b.clock.Now().UnixNano()-reads >= int64(leaveSilent) {
			return true
		}
	}
}

// Read implements io.Reader.
func (b *followed) Read(p []byte) (int, error) {
	b.reads.Store(b.clock.Now().UnixNano())
	defer b.reads.Store(0)
	return b.ReadCloser.Read(p)
}

// Close ends the request.
func (b *followed) Close() error {
	err := b.ReadCloser.Close()
	b.close.Do(func() { close(b.closed) })
	b.watching.Wait()
	b.leave(nil)
	return err
}

// passed is the body of a request that is passed on.
type passed struct {
	again bool // it can be sent once more, and the request does the same then
	kept  []byte
	body  io.ReadCloser // nil: there is none, or it is kept
}

// next returns the body for an attempt. Where it is not kept, only an attempt that read nothing of
// it may be followed by another.
func (p *passed) next() io.ReadCloser {
	switch {
	case p.kept != nil:
		return io.NopCloser(bytes.NewReader(p.kept))
	case p.body == nil:
		return nil
	}
	return io.NopCloser(p.body)
}

// repeatable keeps the body of a request that only asks: it may be sent to another process when one
// that may have got it is silent. Others are not sent twice.
func (f *forward) repeatable(r *http.Request) (*passed, error) {
	p := &passed{body: r.Body}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		p.again = r.Body == nil || r.Body == http.NoBody
		return p, nil
	case r.Method != http.MethodPost || !asks(r.URL.Path) || r.Body == nil || r.ContentLength <= 0 || r.ContentLength > repeatedBytes:
		return p, nil
	}
	kept := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, kept); err != nil {
		return nil, err
	}
	return &passed{again: true, kept: kept}, nil
}

// asks reports whether requests of a path are queries, which change nothing.
func asks(path string) bool {
	path = strings.TrimSuffix(path, "/")
	for _, of := range []string{"/v2", "/v2/sql", "/v2/candidates"} {
		if strings.HasSuffix(path, of) {
			return true
		}
	}
	return false
}
