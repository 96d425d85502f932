package kinesis

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// reader implements stream.Reader. Each assigned shard has a cursor with a goroutine, which ends
// with its context; what comes for a cursor that was dropped is thrown away.
type reader struct {
	source *Source
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	came   chan struct{}

	mu struct {
		sync.Mutex
		cursors  map[stream.Partition]*cursor
		ready    []*delivery
		buffered int
		room     chan struct{} // closed when there may be room again
		closed   bool
	}
}

// cursor is where a shard is read.
type cursor struct {
	partition stream.Partition
	ctx       context.Context
	cancel    context.CancelFunc
	next      stream.Position // of its goroutine alone

	// The others are guarded by the reader's mutex.
	given   stream.Position // what Poll returned ends there
	dropped bool
	trouble error
	since   time.Time
	lost    *stream.OffsetError
}

type delivery struct {
	cursor *cursor
	batch  stream.Batch
	bytes  int
}

var errClosed = errors.New("the reader of a stream is closed")

// Open implements stream.Source.
func (s *Source) Open(context.Context) (stream.Reader, error) {
	r := &reader{source: s, came: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.mu.cursors, r.mu.room = map[stream.Partition]*cursor{}, make(chan struct{})
	return r, nil
}

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.mu.Lock()
	r.mu.closed = true
	r.mu.Unlock()
	r.cancel()
	r.done.Wait()
	r.wake()
	return nil
}

func (r *reader) wake() {
	select {
	case r.came <- struct{}{}:
	default:
	}
}

// Assign implements stream.Reader.
func (r *reader) Assign(_ context.Context, positions stream.Positions) error {
	for p, at := range positions {
		if rank(at) == 1 && number(at).Sign() <= 0 || rank(at) != 1 && at != EOS {
			return fault.InvalidInput("Position [%s] of shard [%s] is not a sequence number", at, p)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return errClosed
	}
	for p, c := range r.mu.cursors {
		if at, ok := positions[p]; !ok || at != c.given {
			c.dropped = true
			c.cancel()
			delete(r.mu.cursors, p)
		}
	}
	r.mu.ready = slices.DeleteFunc(r.mu.ready, func(d *delivery) bool {
		if d.cursor.dropped {
			r.mu.buffered -= d.bytes
		}
		return d.cursor.dropped
	})
	r.makeRoomLocked()
	for p, at := range positions {
		if r.mu.cursors[p] != nil {
			continue
		}
		c := &cursor{partition: p, next: at, given: at}
		c.ctx, c.cancel = context.WithCancel(r.ctx)
		r.mu.cursors[p] = c
		if at != EOS {
			r.done.Go(func() { r.read(c) })
		}
	}
	return nil
}

func (r *reader) makeRoomLocked() {
	if r.mu.buffered < bufferedBytes {
		close(r.mu.room)
		r.mu.room = make(chan struct{})
	}
}

// Poll implements stream.Reader.
func (r *reader) Poll(ctx context.Context, wait time.Duration) ([]stream.Batch, error) {
	return stream.Await(ctx, r.source.clock, wait, r.came, r.take)
}

func (r *reader) take(over bool) ([]stream.Batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return nil, errClosed
	}
	if len(r.mu.ready) > 0 {
		out := make([]stream.Batch, len(r.mu.ready))
		for i, d := range r.mu.ready {
			out[i] = d.batch
			d.cursor.given = d.batch.Next
		}
		r.mu.ready, r.mu.buffered = nil, 0
		r.makeRoomLocked()
		return out, nil
	}
	var oldest *cursor
	for _, c := range r.mu.cursors {
		if c.lost != nil {
			return nil, c.lost
		}
		if c.trouble != nil && (oldest == nil || c.since.Before(oldest.since)) {
			oldest = c
		}
	}
	if over && oldest != nil && r.source.clock.Now().Sub(oldest.since) >= patience {
		return nil, oldest.trouble
	}
	return nil, nil
}

// read reads a shard until it ends, or its cursor is dropped.
func (r *reader) read(c *cursor) {
	s := r.source
	failed := 0
	again := func(err error) bool {
		if c.ctx.Err() != nil {
			return false
		}
		failed++
		r.fail(c, trouble("Shard ["+string(c.partition)+"] of stream ["+s.name+"] can't be read", err))
		return s.clock.Sleep(c.ctx, min(mostPause, leastPause<<min(failed, 8))) == nil
	}
	for {
		lost, err := s.lost(c.ctx, c.partition, c.next)
		if lost != nil {
			r.lose(c, lost)
			return
		}
		if err == nil {
			break
		}
		if !again(err) {
			return
		}
	}
	var iterator *string
	for {
		if !r.room(c) {
			return
		}
		var err error
		if iterator == nil {
			if iterator, err = s.after(c.ctx, c.partition, c.next); err != nil {
				if !again(err) {
					return
				}
				continue
			}
		}
		most := int32(askedRecords)
		resp, err := s.api.GetRecords(c.ctx, &kinesis.GetRecordsInput{ShardIterator: iterator, Limit: &most})
		if err != nil {
			if isExpired(err) || isInvalid(err) {
				iterator = nil
			}
			if !isExpired(err) && !again(err) {
				return
			}
			if c.ctx.Err() != nil {
				return
			}
			continue
		}
		failed = 0
		iterator = resp.NextShardIterator
		got := r.deliver(c, resp.Records, iterator == nil)
		if iterator == nil {
			return
		}
		pause := s.delay
		if !got {
			pause = max(pause, leastPause)
		}
		if s.clock.Sleep(c.ctx, pause) != nil {
			return
		}
	}
}

// room waits until the reader may hold more.
func (r *reader) room(c *cursor) bool {
	for {
		r.mu.Lock()
		full, room := r.mu.buffered >= bufferedBytes, r.mu.room
		r.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-room:
		case <-c.ctx.Done():
			return false
		}
	}
}

func (r *reader) fail(c *cursor, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.trouble == nil {
		c.since = r.source.clock.Now()
	}
	c.trouble = err
}

func (r *reader) lose(c *cursor, lost *stream.OffsetError) {
	r.mu.Lock()
	c.lost = lost
	r.mu.Unlock()
	r.wake()
}

// deliver leaves records for Poll; ended says that there are no more. It reports whether there were
// any.
func (r *reader) deliver(c *cursor, records []types.Record, ended bool) bool {
	at := number(c.next)
	d := &delivery{cursor: c, batch: stream.Batch{Partition: c.partition}}
	for i := range records {
		k := &records[i]
		if number(stream.Position(*k.SequenceNumber)).Cmp(at) <= 0 {
			continue // it is not above the position where a shard had to be read from further back
		}
		record := stream.Record{Position: shifted(*k.SequenceNumber, -1), Topic: r.source.name, Value: k.Data}
		if record.Value == nil {
			record.Value = []byte{}
		}
		if k.ApproximateArrivalTimestamp != nil {
			record.Time = k.ApproximateArrivalTimestamp.UnixMilli()
		}
		if k.PartitionKey != nil {
			record.Key = []byte(*k.PartitionKey)
		}
		d.batch.Records = append(d.batch.Records, record)
		d.bytes += len(record.Value) + recordBytes
		d.batch.Next = stream.Position(*k.SequenceNumber)
	}
	if ended {
		d.batch.Next = EOS
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.trouble = nil
	if d.batch.Next == "" || c.dropped {
		return len(records) > 0
	}
	c.next = d.batch.Next
	r.mu.ready = append(r.mu.ready, d)
	r.mu.buffered += d.bytes
	r.wake()
	return len(records) > 0
}

// lost returns what is wrong with a position within a shard whose records are not all there.
func (s *Source) lost(ctx context.Context, p stream.Partition, at stream.Position) (*stream.OffsetError, error) {
	partitions := []stream.Partition{p}
	shards, err := s.only(ctx, partitions)
	if err != nil {
		return nil, err
	}
	shard := shards[p]
	if shard == nil {
		return &stream.OffsetError{Partition: p, Wanted: at, Earliest: EOS, Latest: EOS}, nil
	}
	first := begin(shard)
	if s.Compare(at, first) <= 0 {
		return nil, nil
	}
	earliest, err := s.Earliest(ctx, partitions)
	if err != nil || s.Compare(at, earliest[p]) >= 0 {
		return nil, err
	}
	latest, err := s.Latest(ctx, partitions)
	if err != nil {
		return nil, err
	}
	return &stream.OffsetError{Partition: p, Wanted: at, Earliest: earliest[p], Latest: latest[p]}, nil
}
