package kafka

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// reader implements stream.Reader.
//
// Each assigned partition has a cursor. A cursor is busy from when it is part of a fetch until Poll
// has taken what came: a partition has at most one answer under way, or one that waits. Cursors
// that are assigned no longer are dropped; an answer for one is thrown away.
type reader struct {
	source *Source
	client *kgo.Client

	ctx    context.Context // of its goroutines
	cancel context.CancelFunc
	done   sync.WaitGroup
	// came wakes Poll, stale the goroutine that looks who leads what.
	came, stale chan struct{}

	mu struct {
		sync.Mutex
		cursors  map[stream.Partition]*cursor
		topics   map[string]*topic
		fetchers map[int32]*fetcher
		ready    []*delivery
		buffered int // bytes of ready
		// paused are partitions that are neither fetched nor returned.
		paused map[stream.Partition]bool
		failed error
		closed bool
	}
}

// cursor is where a partition is read. Its fields are guarded by the reader's mutex, but for the
// first two, which do not change.
type cursor struct {
	partition stream.Partition
	topicPartition
	next    int64 // what is fetched next
	given   int64 // what Poll returned ends before it
	node    int32 // who is asked; -1: not known
	leader  leader
	busy    bool
	dropped bool
	// notBefore is when it may be fetched after fails failures, the last of which was trouble; it
	// began to fail at since.
	notBefore, since time.Time
	fails            int
	trouble          error
	// lost says that the stream does not have its position; reported that Poll said so.
	lost     *stream.OffsetError
	reported bool
	// gap is an end that an empty answer was below; if the next one is, too, nothing is there.
	gap int64
}

// delivery is what came of one partition and was not taken yet.
type delivery struct {
	cursor  *cursor
	records []*kgo.Record
	next    int64
	bytes   int
}

// Open implements stream.Source.
func (s *Source) Open(context.Context) (stream.Reader, error) {
	client, err := s.cluster.client()
	if err != nil {
		return nil, err
	}
	r := &reader{source: s, client: client, came: make(chan struct{}, 1), stale: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.mu.cursors, r.mu.fetchers = map[stream.Partition]*cursor{}, map[int32]*fetcher{}
	r.done.Go(r.follow)
	return r, nil
}

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.mu.Lock()
	r.mu.closed = true
	r.mu.Unlock()
	r.cancel()
	r.done.Wait()
	r.client.Close()
	wake(r.came)
	return nil
}

// wake wakes who waits at a channel of one partition.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Assign implements stream.Reader.
func (r *reader) Assign(_ context.Context, positions stream.Positions) error {
	fresh := map[stream.Partition]*cursor{}
	for p, at := range positions {
		where, err := r.source.topicPartition(p)
		if err != nil {
			return err
		}
		offset, err := strconv.ParseInt(string(at), 10, 64)
		if err != nil || offset < 0 {
			return fault.InvalidInput("Position [%s] of partition [%s] is not an offset", at, p)
		}
		fresh[p] = &cursor{partition: p, topicPartition: where, next: offset, given: offset, node: -1}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, c := range r.mu.cursors {
		if f := fresh[p]; f != nil && f.given == c.given {
			fresh[p] = c // it goes on, with what came for it
			continue
		}
		c.dropped = true
	}
	r.mu.cursors = fresh
	r.mu.ready = slices.DeleteFunc(r.mu.ready, func(d *delivery) bool {
		if d.cursor.dropped {
			r.mu.buffered -= d.bytes
		}
		return d.cursor.dropped
	})
	if !r.assignLocked() {
		wake(r.stale)
	}
	r.wakeLocked()
	return nil
}

// Pause has partitions wait, in place of those that waited before: they are not fetched, and what
// has come of them stays.
func (r *reader) Pause(partitions map[stream.Partition]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(partitions) == 0 && len(r.mu.paused) == 0 {
		return
	}
	r.mu.paused = maps.Clone(partitions)
	r.wakeLocked()
	wake(r.came)
}

// Poll implements stream.Reader. What keeps a partition from being read is an error once nothing
// else has come; reading goes on all the same, and the next Poll may return records.
func (r *reader) Poll(ctx context.Context, wait time.Duration) ([]stream.Batch, error) {
	return stream.Await(ctx, r.source.clock, wait, r.came, r.take)
}

var errClosed = errors.New("the reader of a stream is closed")

// take returns what is there; over says that nobody waits any longer.
func (r *reader) take(over bool) ([]stream.Batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return nil, errClosed
	}
	for _, c := range r.mu.cursors {
		if c.lost != nil && (over || !c.reported) {
			c.reported = true
			return nil, c.lost
		}
	}
	var out []stream.Batch
	room := r.source.pollRecords
	if room == 0 {
		room = int(^uint(0) >> 1)
	}
	left := r.mu.ready[:0]
	for _, d := range r.mu.ready {
		if room == 0 || r.mu.paused[d.cursor.partition] {
			left = append(left, d)
			continue
		}
		n := min(room, len(d.records))
		records := d.records[:n]
		d.records, room = d.records[n:], room-n
		next := d.next
		if len(d.records) > 0 {
			next = records[n-1].Offset + 1
			left = append(left, d)
		} else {
			r.mu.buffered -= d.bytes
			d.cursor.busy = false
		}
		d.cursor.given = next
		out = append(out, stream.Batch{Partition: d.cursor.partition, Records: converted(records), Next: position(next)})
	}
	clear(r.mu.ready[len(left):])
	r.mu.ready = left
	if len(out) == 0 {
		if over {
			return nil, r.troubleLocked()
		}
		return nil, nil
	}
	if slices.ContainsFunc(left, func(d *delivery) bool { return !r.mu.paused[d.cursor.partition] }) {
		wake(r.came)
	}
	r.wakeLocked()
	return out, nil
}

// troubleLocked returns what keeps reading from going on for longer than a change of leaders takes.
func (r *reader) troubleLocked() error {
	var oldest *cursor
	for _, c := range r.mu.cursors {
		if c.trouble != nil && (oldest == nil || c.since.Before(oldest.since)) {
			oldest = c
		}
	}
	if oldest == nil || r.source.clock.Now().Sub(oldest.since) < patience {
		return nil
	}
	return oldest.trouble
}

// failedLocked notes that a cursor can't be read now.
func (r *reader) failedLocked(c *cursor, err error) {
	now := r.source.clock.Now()
	if c.trouble == nil {
		c.since = now
	}
	c.trouble = err
	c.notBefore = now.Add(pause(c.fails))
	c.fails++
	c.busy = false
}

func (c *cursor) healthy() {
	c.trouble, c.fails, c.lost, c.reported = nil, 0, nil, false
}

// converted returns records as the stream's. Their positions are parts of one text.
func converted(records []*kgo.Record) []stream.Record {
	out := make([]stream.Record, len(records))
	var digits strings.Builder
	digits.Grow(12 * len(records))
	var number [20]byte
	ends := make([]int, len(records))
	for i, k := range records {
		digits.Write(strconv.AppendInt(number[:0], k.Offset, 10))
		ends[i] = digits.Len()
	}
	all, from := digits.String(), 0
	for i, k := range records {
		out[i] = stream.Record{
			Position: stream.Position(all[from:ends[i]]), Topic: k.Topic, Number: k.Partition, Offset: k.Offset,
			Time: k.Timestamp.UnixMilli(), Key: k.Key, Value: k.Value,
		}
		from = ends[i]
		if len(k.Headers) > 0 {
			out[i].Headers = make([]stream.Header, len(k.Headers))
			for h, header := range k.Headers {
				out[i].Headers[h] = stream.Header{Name: header.Key, Value: header.Value}
			}
		}
	}
	return out
}
