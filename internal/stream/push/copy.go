package push

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

func (a *appending) size() int64 {
	if a.entry != nil {
		return a.entry.size()
	}
	size := int64(0)
	for _, e := range a.given {
		size += e.size()
	}
	return size
}

// Accept appends entries from the leader of the log in an epoch to this copy, and returns when they
// are on disk. Existing entries are skipped. An ended epoch is rejected.
func (l *Log) Accept(ctx context.Context, epoch int64, entries []*Entry) error {
	return l.pass(ctx, &appending{given: entries, epoch: epoch, done: make(chan struct{})})
}

// Hold runs do between two writes; no write happens meanwhile.
func (l *Log) Hold(ctx context.Context, do func(h *Held)) error {
	done := make(chan struct{})
	hold := func() {
		defer close(done)
		do(&Held{l})
	}
	select {
	case l.holds <- hold:
		<-done
		return nil
	case <-l.stop:
		return l.ended()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Held is a log during Hold.
type Held struct{ l *Log }

// CopyTo replicates later entries to another disk: an entry is acknowledged and readable only after
// copy has returned. If copy fails, the log rejects further entries. nil: entries are not
// replicated.
func (h *Held) CopyTo(copy func(entries []*Entry) error) { h.l.writing.copy = copy }

// Epoch sets the epoch after a change of the assignment: entries of an earlier epoch are rejected.
func (h *Held) Epoch(epoch int64) { h.l.writing.epoch = max(h.l.writing.epoch, epoch) }

// End makes the log reject further entries.
func (h *Held) End(why error) { h.l.fail(why) }

// Next returns the position after the last entry.
func (h *Held) Next() int64 {
	_, next := h.l.Bounds()
	return next
}

// Failed returns the reason why the log rejects entries, or nil.
func (l *Log) Failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.failed
}

// Head returns the start of the first file, and the snapshot of the entries before it: a copy
// starts with both.
func (l *Log) Head() (first int64, snapshot []byte, err error) {
	l.mu.Lock()
	f := l.mu.files[0]
	l.mu.Unlock()
	c, err := openCursor(&f)
	if err != nil {
		return 0, nil, err
	}
	defer c.close()
	return f.first, c.memory.snapshot(0), nil
}

// beatEvery is how often somebody who reads is told that nothing has come.
const beatEvery = 500 * time.Millisecond

// kindBeat is the payload of a frame that says that nothing has come.
const kindBeat = 3

// Stream passes the entries from a position on to send until ctx is done, the log is closed, or
// send fails. Periodic empty calls of send are heartbeats. An error of type stream.OffsetError is
// returned before any entry.
func (l *Log) Stream(ctx context.Context, partition stream.Partition, from int64, send func(entries []*Entry) error) error {
	r := &reader{source: &Source{Log: l, Partition: partition}, log: l, closed: make(chan struct{})}
	defer func() { _ = r.Close() }() // it was only read
	if err := r.Assign(ctx, stream.Positions{partition: textOf(from)}); err != nil {
		return err
	}
	ticker := l.o.Clock.NewTicker(beatEvery)
	defer ticker.Stop()
	if err := send(nil); err != nil {
		return err
	}
	for {
		entries, changed, err := r.take()
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			if err := send(entries); err != nil {
				return err
			}
			r.at = entries[len(entries)-1].Position + 1
			continue
		}
		if l.isClosed() {
			return l.ended()
		}
		select {
		case <-changed:
		case <-ticker.C():
			if err := send(nil); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.closed
}

// Entries returns entries from a position on, as many as fit in one response; the result is empty
// if there are no further entries.
func (l *Log) Entries(ctx context.Context, from int64) ([]*Entry, error) {
	const own = stream.Partition("0")
	r := &reader{source: &Source{Log: l, Partition: own}, log: l, closed: make(chan struct{})}
	defer func() { _ = r.Close() }() // it was only read
	if err := r.Assign(ctx, stream.Positions{own: textOf(from)}); err != nil {
		return nil, err
	}
	entries, _, err := r.take()
	return slices.Clone(entries), err
}

// AppendEntries appends entries as frames; an empty list becomes a special frame.
func AppendEntries(dst []byte, entries []*Entry) []byte {
	if len(entries) == 0 {
		return appendFrame(dst, func(dst []byte) []byte { return append(dst, kindBeat) })
	}
	for _, e := range entries {
		dst = appendFrame(dst, func(dst []byte) []byte { return appendEntry(dst, e) })
	}
	return dst
}

// ReadEntries returns the entries of the available frames, at least one frame. The special empty
// frame has no entries.
func ReadEntries(in *bufio.Reader) ([]*Entry, error) {
	var out []*Entry
	size := int64(0)
	for {
		payload, err := readFrame(in)
		if errors.Is(err, io.EOF) && len(out) > 0 {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(payload) == 1 && payload[0] == kindBeat {
			return out, nil
		}
		e, err := readEntry(payload)
		if err != nil {
			return nil, err
		}
		out, size = append(out, e), size+e.size()
		if in.Buffered() < frameHead || len(out) >= pollEntries || size >= pollBytes {
			return out, nil
		}
	}
}

// Begin creates the log of a datasource as a copy of another one: it starts at a position, with the
// snapshot there. An existing log with the same name is deleted.
func (s *Store) Begin(name string, first int64, snapshot []byte) (*Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.Unavailable("This worker is stopping")
	}
	if err := s.removeLocked(name); err != nil {
		return nil, err
	}
	return s.openLocked(name, func(o *Options) { o.First, o.Snapshot = first, snapshot })
}

// Remove deletes the log of a datasource.
func (s *Store) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removeLocked(name)
}

func (s *Store) removeLocked(name string) error {
	l := s.logs[name]
	if l == nil {
		return nil
	}
	delete(s.logs, name)
	err := l.Close()
	l.o.Disk.Release(l.Bytes())
	return errors.Join(err, os.RemoveAll(l.o.Dir))
}
