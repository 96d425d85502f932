package push

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// Limits of what a Poll returns.
const (
	pollEntries = 1000
	pollBytes   = 4 << 20
)

// Source is a log as a stream of one partition. It implements stream.Source.
type Source struct {
	Log       *Log
	Partition stream.Partition
}

// Partitions returns the partition of this machine.
func (s *Source) Partitions(context.Context) ([]stream.Partition, error) {
	return []stream.Partition{s.Partition}, nil
}

// Earliest returns the position of the first stored entry.
func (s *Source) Earliest(_ context.Context, partitions []stream.Partition) (stream.Positions, error) {
	earliest, _ := s.Log.Bounds()
	return s.at(partitions, earliest)
}

// Latest returns the position after all entries.
func (s *Source) Latest(_ context.Context, partitions []stream.Partition) (stream.Positions, error) {
	_, latest := s.Log.Bounds()
	return s.at(partitions, latest)
}

func (s *Source) at(partitions []stream.Partition, position int64) (stream.Positions, error) {
	out := stream.Positions{}
	for _, p := range partitions {
		if p != s.Partition {
			return nil, fault.NotFound("Partition [%s] is the log of another worker", p)
		}
		out[p] = textOf(position)
	}
	return out, nil
}

// Compare orders positions, which are numbers.
func (s *Source) Compare(a, b stream.Position) int { return cmp.Compare(numberOf(a), numberOf(b)) }

// Distance is the number of entries between positions.
func (s *Source) Distance(from, to stream.Position) int64 { return numberOf(to) - numberOf(from) }

// Open returns a reader.
func (s *Source) Open(context.Context) (stream.Reader, error) {
	return &reader{source: s, log: s.Log, name: rand.Text(), closed: make(chan struct{})}, nil
}

// Close does nothing, because the log belongs to its owner.
func (s *Source) Close() error { return nil }

func textOf(position int64) stream.Position {
	return stream.Position(strconv.FormatInt(position, 10))
}

// numberOf returns the number of a position; what is none is before all.
func numberOf(p stream.Position) int64 {
	n, err := strconv.ParseInt(string(p), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// reader reads a log. Entries that it has given are in live segments when it is asked for the next
// ones: then those who wait for that are told.
type reader struct {
	source   *Source
	log      *Log
	name     string // as the log knows it
	assigned bool
	at       int64
	file     *cursor // that at is in, when it is not in the tail
	fileNext int64   // the position of the entry that it gives next
	once     sync.Once
	closed   chan struct{}
	opening  sync.Mutex // guards file against Close
}

// Assign implements stream.Reader.
func (r *reader) Assign(_ context.Context, positions stream.Positions) error {
	position, ok := positions[r.source.Partition]
	if len(positions) > 1 || len(positions) == 1 && !ok {
		return fault.NotFound("A log has the partition [%s] alone", r.source.Partition)
	}
	n := numberOf(position)
	if r.assigned == ok && (!ok || r.at == n) {
		return nil
	}
	r.assigned, r.at = ok, n
	r.forgetFile()
	if !ok {
		return nil
	}
	if earliest, latest := r.log.Bounds(); n < earliest || n > latest {
		r.assigned = false
		return &stream.OffsetError{Partition: r.source.Partition, Wanted: position, Earliest: textOf(earliest), Latest: textOf(latest)}
	}
	return nil
}

// Poll implements stream.Reader.
func (r *reader) Poll(ctx context.Context, wait time.Duration) ([]stream.Batch, error) {
	if r.assigned {
		r.log.Read(r.name, r.at)
	}
	timer := r.log.o.Clock.NewTimer(wait)
	defer timer.Stop()
	for {
		entries, changed, err := r.take()
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return []stream.Batch{r.batch(entries)}, nil
		}
		select {
		case <-changed:
		case <-timer.C():
			return nil, nil
		case <-r.closed:
			return nil, errClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var errClosed = errors.New("the reader is closed")

func (r *reader) batch(entries []*Entry) stream.Batch {
	out := stream.Batch{Partition: r.source.Partition, Records: make([]stream.Record, len(entries))}
	for i, e := range entries {
		out.Records[i] = stream.Record{Position: textOf(e.Position), Offset: e.Position, Time: e.Time, Value: e.Body}
	}
	r.at = entries[len(entries)-1].Position + 1
	out.Next = textOf(r.at)
	return out
}

// take returns the next entries, or what is closed when there may be some.
func (r *reader) take() (entries []*Entry, changed <-chan struct{}, err error) {
	l := r.log
	l.mu.Lock()
	changed = l.mu.changed
	if !r.assigned || r.at >= l.mu.next {
		failed := l.mu.failed
		l.mu.Unlock()
		return nil, changed, failed
	}
	if len(l.mu.tail) > 0 && l.mu.tail[0].Position <= r.at {
		entries = limited(l.mu.tail[r.at-l.mu.tail[0].Position:])
		l.mu.Unlock()
		r.forgetFile()
		return entries, changed, nil
	}
	// The tail, when there is one, ends at next, and so does what the files have.
	at, found := slices.BinarySearchFunc(l.mu.files, r.at, func(f logFile, p int64) int { return cmp.Compare(f.first, p) })
	if !found {
		at--
	}
	f, end := l.mu.files[at], l.mu.next
	if at+1 < len(l.mu.files) {
		end = l.mu.files[at+1].first
	}
	l.mu.Unlock()
	r.opening.Lock()
	defer r.opening.Unlock()
	select {
	case <-r.closed:
		return nil, nil, errClosed
	default:
	}
	entries, err = r.fromFile(&f, end)
	return entries, changed, err
}

// limited returns the first entries, those of one Poll.
func limited(entries []*Entry) []*Entry {
	size := int64(0)
	for i, e := range entries {
		if size += e.size(); i > 0 && (i == pollEntries || size > pollBytes) {
			return entries[:i]
		}
	}
	return slices.Clip(entries)
}

// fromFile reads entries of a file, which has those before end.
func (r *reader) fromFile(f *logFile, end int64) ([]*Entry, error) {
	if r.file == nil || r.file.path != f.path || r.fileNext > r.at {
		r.closeFile()
		c, err := openCursor(f)
		if err != nil {
			return nil, err
		}
		r.file, r.fileNext = c, f.first
	}
	var out []*Entry
	size := int64(0)
	for r.fileNext < end && len(out) < pollEntries && size < pollBytes {
		e, err := r.file.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) || err == nil && e.Position != r.fileNext {
			return nil, damaged(f.path, r.file.at)
		}
		if err != nil {
			return nil, err
		}
		r.fileNext++
		if e.Position >= r.at {
			out, size = append(out, e), size+e.size()
		}
	}
	return out, nil
}

func (r *reader) forgetFile() {
	r.opening.Lock()
	defer r.opening.Unlock()
	r.closeFile()
}

func (r *reader) closeFile() {
	if r.file != nil {
		r.file.close()
		r.file = nil
	}
}

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.once.Do(func() { close(r.closed) })
	r.log.Forget(r.name)
	r.forgetFile()
	return nil
}
