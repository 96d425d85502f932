package streaming

import (
	"context"
	"errors"
	"sort"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
)

const (
	// maxRecords bounds the records that become rows at once: between two such batches a task can
	// be paused, and rows are seen.
	maxRecords = 8192
	// maxPoll is how long a task waits for records before it looks whether it is to pause.
	maxPoll = 50 * time.Millisecond
	// askAgain is how often a paused task asks for the checkpoint that it waits for.
	askAgain = 5 * time.Second
	// firstRest and longestRest bound how long a task waits before it tries again what failed.
	firstRest   = 100 * time.Millisecond
	longestRest = 5 * time.Second
)

// errStopped is why a task ends that is to forget what it read.
var errStopped = errors.New("stopped")

// read reads until all sequences were read up to their ends, and gives them to the publisher.
func (r *run) read(ctx context.Context) error {
	reader, err := r.source.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // it was only read
	r.ctl.enter(chat.Reading)
	assigned := -1
	var pending []stream.Batch
	for {
		how, err := r.ctl.gate(ctx, func() { r.askCheckpoint(ctx) })
		if err != nil {
			return err
		}
		r.asking = false
		switch how {
		case stopForget:
			return errStopped
		case stopPublish:
			if err := r.ctl.finish(ctx); err != nil {
				return err
			}
		}
		ready, over := r.ctl.ready()
		for _, s := range ready {
			if err := r.hand(ctx, s); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		if len(pending) == 0 {
			if assigned, err = r.assign(ctx, reader, assigned); err != nil {
				return err
			}
			if pending, err = r.poll(ctx, reader); err != nil {
				return err
			}
		}
		if len(pending) > 0 {
			if pending, err = r.step(ctx, pending); err != nil {
				return err
			}
		}
		if err := r.tend(ctx); err != nil {
			return err
		}
	}
}

// assign says what is read, when that changes: partitions that were read to their end are left
// out.
func (r *run) assign(ctx context.Context, reader stream.Reader, before int) (int, error) {
	if _, closed := r.ctl.latest(); before >= 0 && !closed {
		return before, nil
	}
	at := r.ctl.positions()
	if len(at) == before {
		return before, nil
	}
	rest := firstRest
	for {
		err := reader.Assign(ctx, at)
		if err == nil {
			r.reached()
			return len(at), nil
		}
		if err := r.unreachable(ctx, err, &rest); err != nil {
			return before, err
		}
	}
}

// poll reads records, or none when the stream can't be reached at the moment.
func (r *run) poll(ctx context.Context, reader stream.Reader) ([]stream.Batch, error) {
	batches, err := reader.Poll(ctx, min(maxPoll, time.Duration(r.job.io.PollMillis)*time.Millisecond))
	if err == nil {
		r.rest = firstRest
		r.reached()
		return batches, nil
	}
	return nil, r.unreachable(ctx, err, &r.rest)
}

// reached ends the problem that unreachable has noted.
func (r *run) reached() {
	if r.stuck != nil {
		r.stuck()
		r.stuck = nil
	}
}

// unreachable waits after the stream could not be read, and returns why the task can't go on. A
// position that the stream does not have is waited for: a user decides what is read instead,
// unless the supervisor is to do so by itself, which then makes new tasks.
func (r *run) unreachable(ctx context.Context, err error, rest *time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	class, message := stream.ClassOf(err)
	if class == "" {
		class, message = "StreamUnreachable", messageOf(err)
	}
	gone, isGone := errors.AsType[*stream.OffsetError](err)
	f := fault.Find(err)
	switch {
	case isGone && r.job.tuning.resetAutomatically:
		return missing(gone).WithCause(err)
	case isGone:
		message = missing(gone).Message
	case f != nil && f.Category == fault.CategoryInvalidInput:
		return err
	}
	return r.rests(ctx, rest, func() func() { return r.ctl.during(class, message, true) }, err)
}

// rests notes what the task waits for, and waits: in short turns, since it may be paused or ended
// meanwhile.
func (r *run) rests(ctx context.Context, rest *time.Duration, during func() func(), err error) error {
	r.reached()
	r.stuck = during()
	r.log.WarnContext(ctx, "reading failed; retrying", "error", err)
	wait := *rest
	*rest = min(2**rest, longestRest)
	for wait > 0 {
		turn := min(wait, maxPoll)
		if err := r.clock.Sleep(ctx, turn); err != nil {
			return context.Cause(ctx)
		}
		wait -= turn
		if r.ctl.wanted() {
			break
		}
	}
	return nil
}

func missing(e *stream.OffsetError) *fault.Error {
	return fault.InvalidInput("Previous sequenceNumber [%s] is no longer available for partition [%s], which has [%s] to [%s]. "+
		"You can clear the previous sequenceNumber and start reading from a valid message by using the supervisor's reset API.",
		e.Wanted, e.Partition, e.Earliest, e.Latest)
}

// step takes the next records of the first of the batches that were polled, and returns what is
// left.
func (r *run) step(ctx context.Context, pending []stream.Batch) ([]stream.Batch, error) {
	b := &pending[0]
	if len(b.Records) == 0 {
		r.ctl.advance(b.Partition, b.Next)
		return pending[1:], nil
	}
	s, end := r.ctl.sequenceOf(b.Partition, b.Records[0].Position)
	if s == nil { // the task ends before them
		r.ctl.advance(b.Partition, b.Next)
		return pending[1:], nil
	}
	n := min(len(b.Records), r.batchRecords, r.room(s))
	if end != stream.Unbounded {
		n = sort.Search(n, func(i int) bool { return r.source.Compare(b.Records[i].Position, end) >= 0 })
	}
	n, err := r.take(ctx, s, b.Partition, b.Records[:n])
	if err != nil {
		return nil, err
	}
	if n == 0 { // they are asked for again
		return pending, nil
	}
	if n == len(b.Records) {
		r.ctl.advance(b.Partition, b.Next)
		return pending[1:], nil
	}
	r.ctl.advance(b.Partition, b.Records[n].Position)
	b.Records = b.Records[n:]
	return pending, nil
}

// take makes rows of records, and returns how many of these it took: fewer where memory is scarce.
func (r *run) take(ctx context.Context, s *sequence, p stream.Partition, records []stream.Record) (int, error) {
	r.moveBounds()
	for {
		made, err := r.maker.Make(ctx, records)
		if refused(err) {
			if err := r.relieve(ctx); err != nil {
				return 0, err
			}
			records = records[:(len(records)+1)/2]
			r.batchRecords = len(records)
			continue
		}
		if intake.Passes(err) {
			return 0, r.rests(ctx, &r.rest, func() func() { return r.ctl.during("RecordsWait", messageOf(err), false) }, err)
		}
		if err != nil {
			return 0, err
		}
		r.batchRecords = min(2*r.batchRecords, maxRecords)
		r.stats.add(p, made)
		if made.Rows != nil && made.Rows.Rows() > 0 {
			err = r.add(ctx, s, made)
		}
		return len(records), err
	}
}

// moveBounds moves the times of rows that are taken on, when the task reads for longer than it was
// made for.
func (r *run) moveBounds() {
	io := &r.job.io
	every := int64(io.RefreshMinutes) * time.Minute.Milliseconds()
	if every == 0 || io.MinTime == nil && io.MaxTime == nil {
		return
	}
	by := max(0, clock.Millis(r.clock)-r.task.Created) / every * every
	if by == r.moved {
		return
	}
	r.moved = by
	move := func(at *int64) *int64 {
		if at == nil {
			return nil
		}
		next := *at + by
		return &next
	}
	r.maker.Bound(move(io.MinTime), move(io.MaxTime))
}

// askCheckpoint asks for new ends of the newest sequence, if the task is paused for that.
func (r *run) askCheckpoint(ctx context.Context) {
	if !r.asking {
		return
	}
	s, _ := r.ctl.latest()
	if err := r.o.Overlord.Checkpoint(ctx, r.job.supervisor, r.job.io.Group, s.starts); err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "failed to request a checkpoint; retrying", "error", err)
	}
}
