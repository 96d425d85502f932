package shared

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/stream"
)

// reader implements stream.Reader: of partitions that are shared it takes what the feed has, others
// it reads by itself.
type reader struct {
	own    stream.Reader
	feed   *feed
	news   signal // of the feed, or Close
	closed atomic.Bool

	// Of the goroutine that polls: where it is, whom it follows, and the partitions that own has.
	at        stream.Positions
	following map[stream.Partition]*window
	alone     stream.Positions
}

var errClosed = errors.New("the reader of a stream is closed")

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.closed.Store(true)
	f := r.feed
	f.mu.Lock()
	for p := range maps.Clone(f.mu.wanted) {
		if _, mine := f.mu.wanted[p][r]; mine {
			f.leaveLocked(r, p)
		}
	}
	f.mu.Unlock()
	err := r.own.Close()
	r.news.raise()
	return err
}

// Assign implements stream.Reader.
func (r *reader) Assign(ctx context.Context, positions stream.Positions) error {
	f := r.feed
	f.mu.Lock()
	for p, at := range r.at {
		if positions[p] != at {
			f.leaveLocked(r, p)
			delete(r.following, p)
		}
	}
	if !r.closed.Load() {
		for p, at := range positions {
			f.wantLocked(r, p, at)
		}
	}
	r.at = maps.Clone(positions)
	r.arrangeLocked()
	f.mu.Unlock()
	return r.assignOwn(ctx)
}

// arrangeLocked says for each partition whether the reader follows, by where it is.
func (r *reader) arrangeLocked() {
	for p, at := range r.at {
		before := r.following[p]
		next := r.feed.partLocked(p, at)
		if before == next && (next == nil || next.followers[r]) {
			continue
		}
		if next == nil {
			delete(r.following, p)
			continue
		}
		if len(next.followers) == 0 {
			r.feed.news.raise()
		}
		r.following[p] = next
		next.followers[r] = true
	}
}

// assignOwn assigns what the reader reads by itself, if that has changed.
func (r *reader) assignOwn(ctx context.Context) error {
	alone := stream.Positions{}
	for p, at := range r.at {
		if r.following[p] == nil {
			alone[p] = at
		}
	}
	if r.alone != nil && maps.Equal(alone, r.alone) {
		return nil
	}
	if err := r.own.Assign(ctx, alone); err != nil {
		r.alone = nil
		return err
	}
	r.alone = alone
	return nil
}

// Poll implements stream.Reader.
func (r *reader) Poll(ctx context.Context, wait time.Duration) ([]stream.Batch, error) {
	now := r.feed.s.clock.Now
	for end := now().Add(wait); ; {
		news := r.news.next()
		if r.closed.Load() {
			return nil, errClosed
		}
		out, trouble := r.follow()
		if err := r.assignOwn(ctx); err != nil {
			return nil, err
		}
		if len(r.alone) > 0 {
			left := time.Duration(0)
			if len(out) == 0 {
				left = max(0, end.Sub(now()))
			}
			own, err := pollUntil(ctx, news, func(ctx context.Context) ([]stream.Batch, error) { return r.own.Poll(ctx, left) })
			if err != nil && len(out) == 0 {
				return nil, err // else it comes again
			}
			r.note(own)
			out = append(out, own...)
		} else if len(out) == 0 {
			timer := r.feed.s.clock.NewTimer(max(0, end.Sub(now())))
			select {
			case <-news.Done():
			case <-timer.C():
			case <-ctx.Done():
			}
			timer.Stop()
		}
		switch {
		case len(out) > 0:
			return out, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !now().Before(end):
			return nil, trouble
		}
	}
}

// follow takes what the feed has, and goes on by itself, or with the feed, where it has to. trouble
// is what keeps the feed from reading.
func (r *reader) follow() (out []stream.Batch, trouble error) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, w := range r.following {
		if f.mu.parts[p] != w || !w.followers[r] {
			delete(r.following, p)
			continue
		}
		trouble = f.mu.trouble
		batches := w.take(r.at[p], f.compare)
		if len(batches) == 0 {
			continue
		}
		r.at[p] = batches[len(batches)-1].Next
		f.mu.wanted[p][r] = r.at[p]
		out = append(out, batches...)
	}
	if len(out) > 0 {
		f.news.raise()
	}
	r.arrangeLocked()
	return out, trouble
}

// note moves the positions of what the reader has read by itself.
func (r *reader) note(batches []stream.Batch) {
	if len(batches) == 0 {
		return
	}
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range batches {
		r.at[b.Partition], r.alone[b.Partition] = b.Next, b.Next
		if all := f.mu.wanted[b.Partition]; all != nil {
			all[r] = b.Next
		}
	}
	r.alone = maps.Clone(r.alone)
}
