package streaming

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// The steps of publishing a sequence, in order, as Env.FaultPoint sees them.
const (
	stepMerged    = "stream-1-merged"    // a segment of the sequence is a file
	stepPushed    = "stream-2-pushed"    // the files are in deep storage
	stepAsked     = "stream-3-asked"     // segments and offsets are published next
	stepAnswered  = "stream-4-answered"  // they are
	stepCommitted = "stream-5-committed" // the task knows of it
	stepLoaded    = "stream-6-loaded"    // Historicals have the segments, or were waited for long enough
)

// PublishSteps returns the names of the steps, in order.
func PublishSteps() []string {
	return []string{stepMerged, stepPushed, stepAsked, stepAnswered, stepCommitted, stepLoaded}
}

// waitForTurn is how often a task looks whether the sequence before its own is published.
const waitForTurn = 50 * time.Millisecond

// errAhead means that a sequence can't be published yet, errBehind that it can never be published.
var (
	errAhead  = errors.New("ahead of what is published")
	errBehind = errors.New("behind what is published")
)

// hand gives a sequence that was read to the publisher.
func (r *run) hand(ctx context.Context, s *sequence) error {
	r.open = slices.DeleteFunc(r.open, func(c *chunk) bool { return slices.Contains(s.chunks, c) })
	r.lastCut = r.clock.Now()
	r.log.InfoContext(ctx, "sequence read", "sequence", s.name, "segments", len(s.chunks), "ends", s.ends.Plain())
	select {
	case r.closing <- s:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// publishAll publishes sequences in their order until there are no more, while others are read.
// Each is handed off by itself.
func (r *run) publishAll(ctx context.Context) error {
	for {
		select {
		case s, more := <-r.closing:
			if !more {
				return nil
			}
			if err := r.publish(ctx, s); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// publish makes the rows of a sequence segments that queries find.
func (r *run) publish(ctx context.Context, s *sequence) error {
	var pushed []*timeline.Segment
	began := r.clock.Now()
	for _, c := range s.chunks {
		seg, err := r.push(ctx, c)
		if err != nil {
			r.drop(ctx, pushed)
			return err
		}
		pushed = append(pushed, seg)
	}
	if len(s.chunks) > 0 {
		r.meter.Time(r.measured("ingest/merge/time"), r.clock.Now().Sub(began))
	}
	if err := r.passes(stepPushed); err != nil {
		return err
	}
	done, err := r.commit(ctx, s, pushed)
	if err != nil {
		return err
	}
	r.ctl.published(s)
	r.stats.published(pushed)
	r.measurePublished(done, pushed)
	r.log.InfoContext(ctx, "sequence published", "sequence", s.name, "segments", len(pushed), "number", done.Number)
	if err := r.passes(stepCommitted); err != nil {
		return err
	}
	r.wait.Go(func() {
		if err := r.handOff(ctx, s, done); err != nil {
			r.fail(err)
		}
	})
	return nil
}

// measurePublished counts what became visible by this task.
func (r *run) measurePublished(done metastore.Published, segments []*timeline.Segment) {
	if done.Already { // a replica has counted it
		return
	}
	rows, bytes := 0.0, 0.0
	for _, s := range segments {
		rows, bytes = rows+float64(s.Rows), bytes+float64(s.Size)
	}
	r.meter.Count(r.measured("ingest/rows/output"), rows)
	r.meter.Count(r.measured("segment/added/bytes"), bytes)
	r.meter.Count(r.measured("segment/txn/success"), 1)
}

// passes is a fault point.
func (r *run) passes(name string) error {
	if r.o.FaultPoint == nil {
		return nil
	}
	return r.o.FaultPoint(name)
}

// push makes one file of a segment and stores it.
func (r *run) push(ctx context.Context, c *chunk) (*timeline.Segment, error) {
	dir, err := os.MkdirTemp(r.o.TempDir, "stream-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for segment [%s]: %w", c.id, err)
	}
	defer os.RemoveAll(dir) // what is left is removed at the next start
	path := filepath.Join(dir, "segment")
	var info *segment.Info
	err = r.untilRoom(ctx, func() error {
		c.disk.Lock()
		defer c.disk.Unlock()
		info, err = c.seg.Finish(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.passes(stepMerged); err != nil {
		return nil, err
	}
	var out *timeline.Segment
	err = r.untilThere(ctx, "DeepStorage", func() error {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("opening segment [%s]: %w", c.id, err)
		}
		defer file.Close() // it was only read
		out, err = msq.PushSegment(ctx, r.o.Deep, c.id, c.shard, file, info, func(string) {})
		return err
	})
	return out, err
}

// untilThere does something that needs the metadata store or deep storage, until it does not fail
// for want of these or ctx is done.
func (r *run) untilThere(ctx context.Context, class string, do func() error) error {
	rest := firstRest
	var done func()
	defer func() {
		if done != nil {
			done()
		}
	}()
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !away(err) && !noRoom(err) {
			return err
		}
		if done == nil {
			done = r.ctl.during(class, messageOf(err), false)
			r.log.WarnContext(ctx, "publishing is delayed", "for", class, "error", err)
		}
		if err := r.clock.Sleep(ctx, rest); err != nil {
			return context.Cause(ctx)
		}
		rest = min(2*rest, longestRest)
	}
}

// away reports whether err says that something can't be reached at the moment.
func away(err error) bool {
	f := fault.Find(err)
	return f != nil && f.Category == fault.CategoryServiceUnavailable && !errors.Is(err, metastore.ErrDeposed)
}

// drop deletes files that were stored and are not going to be published.
func (r *run) drop(ctx context.Context, segments []*timeline.Segment) {
	for _, s := range segments {
		key, err := r.o.Deep.Key(s.LoadSpec())
		if err == nil {
			err = r.o.Deep.Delete(context.WithoutCancel(ctx), key)
		}
		if err != nil {
			r.log.WarnContext(ctx, "failed to delete an unpublished file", "segment", s.ID.String(), "error", err)
		}
	}
}

// commit publishes segments and the offsets of their sequence in one transaction.
//
// Who finds the same ids published has been preceded by a replica, or by itself when an answer got
// lost: that is a success, too. What nobody can tell (the metadata store went away) is asked again
// until it is known.
func (r *run) commit(ctx context.Context, s *sequence, segments []*timeline.Segment) (metastore.Published, error) {
	p := metastore.Publication{
		TaskID: r.task.ID, Part: s.name, DataSource: r.task.DataSource, Action: metastore.PublishInsert, Segments: segments,
		Offsets: &metastore.OffsetSwap{ID: r.job.supervisor, Next: func(stored json.RawMessage) (json.RawMessage, error) {
			return r.next(s, stored)
		}},
	}
	if r.job.lock == tasklock.Append {
		p.Action = metastore.PublishAppend
	}
	var out metastore.Published
	err := r.untilThere(ctx, "Publish", func() error {
		for {
			if err := r.awaitTurn(ctx, s); err != nil {
				return err
			}
			err := r.o.Segments.Publish(segmentsOf(s.chunks), func() (number int64, err error) {
				if err := r.passes(stepAsked); err != nil {
					return 0, err
				}
				if out, err = r.o.Metastore.Publish(ctx, p); err == nil {
					err = r.passes(stepAnswered)
				}
				return out.Number, err
			})
			if !errors.Is(err, errAhead) {
				return err
			}
		}
	})
	switch {
	case errors.Is(err, errBehind) && len(segments) == 0 && r.covered(ctx, s):
		return out, nil // a replica was before this one
	case errors.Is(err, errBehind), errors.Is(err, metastore.ErrReplaced), errors.Is(err, metastore.ErrLockRevoked),
		errors.Is(err, metastore.ErrNotLocked):
		r.drop(ctx, segments)
		return out, fault.Conflict("Failed to publish segments because of [%s].", messageOf(err)).WithCause(err)
	case err == nil && out.Already:
		r.dropUnused(ctx, segments)
	}
	return out, err
}

// awaitTurn waits until the sequences before are published.
func (r *run) awaitTurn(ctx context.Context, s *sequence) error {
	var done func()
	defer func() {
		if done != nil {
			done()
		}
	}()
	for {
		stored, _, err := r.o.Metastore.Offsets(ctx, r.job.supervisor)
		if err != nil {
			return err
		}
		_, err = r.next(s, stored.Payload)
		if !errors.Is(err, errAhead) {
			return nil // or it is found out by publishing
		}
		if done == nil {
			done = r.ctl.during("AheadOfCommitted", messageOf(err), false)
		}
		if err := r.clock.Sleep(ctx, waitForTurn); err != nil {
			return context.Cause(ctx)
		}
	}
}

// next returns the offsets to be stored with a sequence in place of those that are, if the
// sequence begins where these end. Where nothing is stored of a partition, only who begins at no
// other's end is the first.
func (r *run) next(s *sequence, stored json.RawMessage) (json.RawMessage, error) {
	have, err := stream.ParseStored(stored)
	if err != nil {
		return nil, err
	}
	at := r.job.stored(have, s.starts)
	ahead, behind := false, false
	for p, start := range s.starts {
		if there, ok := at[p]; ok {
			n := r.source.Compare(start, there)
			ahead, behind = ahead || n > 0, behind || n < 0
		} else if slices.Contains(r.job.io.Follows, p) {
			ahead = true
		}
	}
	start := stream.Stored{Type: r.job.io.Stream.Type, Sequences: stream.Sequences{
		Kind: stream.Start, Stream: r.job.streamName(), Positions: s.starts,
	}}
	switch {
	case behind:
		return nil, fault.Conflict("Stored metadata state[%s] has already been updated by other tasks and has diverged from the expected start "+
			"metadata state[%s]. This task will be replaced by the supervisor with a new task using updated start offsets.",
			shown(have), shown(start)).WithCause(errBehind)
	case ahead:
		return nil, fault.Conflict("The new start metadata state[%s] is ahead of the last committed end state[%s]. Try resetting the supervisor.",
			shown(start), shown(have)).WithCause(errAhead)
	}
	return json.Marshal(have.Plus(r.job.io.Stream.Type, r.job.streamName(), s.ends))
}

// shown is a state in a message.
func shown(s stream.Stored) string {
	text, err := json.Marshal(s)
	if err != nil {
		return string(s.Positions.Plain())
	}
	return string(text)
}

// covered reports whether what is stored is at the ends of a sequence, or behind them.
func (r *run) covered(ctx context.Context, s *sequence) bool {
	stored, _, err := r.o.Metastore.Offsets(ctx, r.job.supervisor)
	if err != nil {
		return false
	}
	have, err := stream.ParseStored(stored.Payload)
	return err == nil && covers(r.job.stored(have, s.ends), s.ends, r.source.Compare)
}

// dropUnused deletes the files of segments that were published before with files of their own.
func (r *run) dropUnused(ctx context.Context, segments []*timeline.Segment) {
	ids := make([]string, len(segments))
	for i, s := range segments {
		ids[i] = s.ID.String()
	}
	rows, err := r.o.Metastore.Segments(ctx, ids...)
	if err != nil {
		return // they are garbage without a reference
	}
	r.drop(ctx, slices.DeleteFunc(slices.Clone(segments), func(s *timeline.Segment) bool {
		i := slices.IndexFunc(rows, func(o metastore.SegmentRow) bool { return o.ID == s.ID })
		return i < 0 || string(rows[i].LoadSpec()) == string(s.LoadSpec())
	}))
}

// handOff waits until Historicals have the segments of a sequence, or for as long as the task is
// to wait at most, and serves them no longer.
func (r *run) handOff(ctx context.Context, s *sequence, p metastore.Published) error {
	began := r.clock.Now()
	err := r.awaitLoad(ctx, p)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	took := r.clock.Now().Sub(began)
	r.stats.handedOff(err == nil, took)
	if err != nil {
		r.meter.Count(r.measured("ingest/handoff/failed"), float64(len(s.chunks)))
		r.log.WarnContext(ctx, "segments were not loaded in time", "sequence", s.name, "after", took, "error", err)
	} else {
		r.meter.Count(r.measured("ingest/handoff/count"), float64(len(s.chunks)))
		r.meter.Time(r.measured("ingest/handoff/time"), took)
	}
	if err := r.passes(stepLoaded); err != nil {
		return err
	}
	for _, c := range s.chunks {
		r.close(c)
	}
	r.ctl.forget(s)
	if err == nil && r.job.tuning.releaseLocks {
		r.releaseLocks(ctx, s)
	}
	return nil
}

// awaitLoad waits until Historicals have what was published, at most for handoffConditionTimeout.
func (r *run) awaitLoad(ctx context.Context, p metastore.Published) error {
	if len(p.Segments) == 0 {
		return nil
	}
	if limit := r.job.tuning.handoffTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	rest := firstRest
	for {
		err := r.o.Loads(ctx, p.Number, p.Segments, func(int) {})
		if err == nil || ctx.Err() != nil {
			return err
		}
		r.log.WarnContext(ctx, "failed to check whether segments are loaded; retrying", "error", err)
		if err := r.clock.Sleep(ctx, rest); err != nil {
			return err
		}
		rest = min(2*rest, longestRest)
	}
}

// close serves a segment no longer.
func (r *run) close(c *chunk) {
	c.disk.Lock()
	defer c.disk.Unlock()
	if !c.closed {
		c.closed = true
		c.seg.Close()
	}
}

func segmentsOf(chunks []*chunk) []Segment {
	out := make([]Segment, len(chunks))
	for i, c := range chunks {
		out[i] = c.seg
	}
	return out
}
