package streaming

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// chunk is the segment of a sequence in one time chunk.
type chunk struct {
	id    timeline.SegmentID
	shard timeline.ShardSpec
	seg   Segment
	// disk is held while the segment's rows are written; closed says, under it, that it is no
	// more.
	disk   sync.Mutex
	closed bool

	// Of the goroutine that reads: rows and bytes that were not persisted, the rows in all, and
	// when the chunk last got some.
	fresh, bytes, rows int64
	used               int64
}

// add appends rows to the segments of their time chunks.
func (r *run) add(ctx context.Context, s *sequence, made *intake.Made) error {
	b := made.Rows.Compact()
	if len(made.Columns) == 0 || made.Columns[0].Name != segment.TimeColumn {
		return fault.Defensive("The first column of rows of a stream is not the time")
	}
	var targets []*chunk
	rows := map[*chunk][]uint32{}
	var last *chunk
	now := clock.Millis(r.clock)
	for i := range b.N {
		at := b.Cols[0].LongAt(i)
		r.stats.gap = max(r.stats.gap, now-at)
		if last == nil || at < last.id.Interval.Start || at >= last.id.Interval.End {
			var err error
			if last, err = r.chunkOf(ctx, s, at); err != nil {
				return err
			}
			if _, known := rows[last]; !known {
				targets = append(targets, last)
			}
		}
		rows[last] = append(rows[last], uint32(i))
		r.stats.latest = max(r.stats.latest, at)
	}
	for _, c := range targets {
		some := b
		if len(targets) > 1 {
			some = &vector.Batch{N: b.N, Cols: b.Cols, Sel: rows[c]}
		}
		if err := r.appendTo(ctx, c, some, made.Columns); err != nil {
			return err
		}
	}
	return nil
}

// chunkOf returns the segment of a sequence that a time belongs to.
func (r *run) chunkOf(ctx context.Context, s *sequence, at int64) (*chunk, error) {
	for _, c := range s.chunks {
		if at >= c.id.Interval.Start && at < c.id.Interval.End {
			return c, nil
		}
	}
	r.locks.enter(at)
	p, err := r.allocate(ctx, s, at)
	if err != nil {
		return nil, err
	}
	r.locks.use(at, p.ID.Interval)
	seg, err := r.o.Segments.Open(SegmentOptions{
		ID: p.ID, Shard: p.Shard, TaskID: r.task.ID, Priority: r.job.io.ServerPriority, Write: r.maker.Shape(),
	})
	if err != nil {
		return nil, err
	}
	c := &chunk{id: p.ID, shard: p.Shard, seg: seg}
	s.chunks = append(s.chunks, c)
	r.open = append(r.open, c)
	r.log.InfoContext(ctx, "segment opened", "segment", p.ID.String(), "sequence", s.name)
	return c, nil
}

// allocate promises the id of a segment. While another group has locked the chunk, the task waits.
func (r *run) allocate(ctx context.Context, s *sequence, at int64) (metastore.PendingSegment, error) {
	request := metastore.AllocateRequest{
		Owner: r.owner(), DataSource: r.task.DataSource, QueryGranularity: chrono.None, SegmentGranularity: r.job.granularity,
		SequenceName: s.name, SkipLineage: true, LockType: r.job.lock, Allocator: r.job.io.Sequence,
	}
	done := r.ctl.during("AllocateSegment", "The metadata store does not answer; a segment is to be allocated", false)
	defer func() { done() }()
	for waits := false; ; waits = true {
		pending, err := r.o.Metastore.AllocateSegments(ctx, request, []int64{at})
		switch {
		case errors.Is(err, metastore.ErrCannotAllocate):
			return metastore.PendingSegment{}, fault.Conflict("Could not allocate segment for row with timestamp[%s]: %s",
				chrono.FormatMillis(at, chrono.UTC), messageOf(err)).WithCause(err)
		case err != nil:
			return metastore.PendingSegment{}, err
		case len(pending) == 1:
			return pending[0], nil
		}
		chunk := r.job.granularity.Bucket(at)
		if !waits {
			done()
			locked := fault.Conflict("Interval [%s] of datasource [%s] is locked by another task", chunk, r.task.DataSource)
			done = r.ctl.during("LockConflict", locked.Message, false)
			r.log.WarnContext(ctx, "time chunk is locked by another task; waiting", "interval", chunk.String())
		}
		if _, _, err := r.o.Metastore.AcquireLock(ctx, metastore.LockRequest{Request: tasklock.Request{
			Owner: r.owner(), DataSource: r.task.DataSource, Interval: chunk, Type: r.job.lock,
		}}, lockTurn); err != nil {
			return metastore.PendingSegment{}, err
		}
		if how, _ := r.ctl.stopped(); how == stopForget {
			return metastore.PendingSegment{}, errStopped
		}
	}
}

func (r *run) owner() tasklock.Owner {
	return tasklock.Owner{TaskID: r.task.ID, GroupID: r.task.GroupID, Priority: r.task.Priority}
}

func messageOf(err error) string {
	if f := fault.Find(err); f != nil {
		return f.Message
	}
	return fault.Words(err)
}

// appendTo appends rows to a segment. When memory is scarce it writes what is in memory to disk,
// and goes on with fewer rows at once.
func (r *run) appendTo(ctx context.Context, c *chunk, rows *vector.Batch, columns []segment.ColumnSpec) error {
	err := c.seg.Append(ctx, rows, columns)
	if refused(err) {
		if err := r.relieve(ctx); err != nil {
			return err
		}
		if n := rows.Rows(); n > 1 {
			if err := r.appendTo(ctx, c, rows.Slice(0, n/2), columns); err != nil {
				return err
			}
			return r.appendTo(ctx, c, rows.Slice(n/2, n), columns)
		}
		return r.appendTo(ctx, c, rows, columns)
	}
	if err != nil {
		return err
	}
	r.turn++
	n := int64(rows.Rows())
	c.used, c.fresh, c.bytes, c.rows = r.turn, c.fresh+n, c.seg.Bytes(), c.seg.Rows()
	return nil
}

// refused reports whether err says that memory was not to be had.
func refused(err error) bool {
	e, ok := errors.AsType[*budget.Exceeded](err)
	return ok && !e.Disk || errors.Is(err, live.ErrMemory)
}

// room is how many records may be taken before a limit of the sequence asks for a checkpoint.
func (r *run) room(s *sequence) int {
	t := &r.job.tuning
	left, total := int64(math.MaxInt32), int64(0)
	for _, c := range s.chunks {
		left, total = min(left, t.maxRowsPerSegment-c.rows), total+c.rows
	}
	return int(max(1, min(left, t.maxRowsPerSegment, t.maxTotalRows-total)))
}

// full reports whether the sequence is to be closed.
func (r *run) full(s *sequence) bool {
	t := &r.job.tuning
	var total int64
	for _, c := range s.chunks {
		if total += c.rows; c.rows >= t.maxRowsPerSegment || total >= t.maxTotalRows {
			return true
		}
	}
	return r.clock.Now().Sub(r.lastCut) >= t.handoffPeriod && total > 0
}

// oldest returns the open chunks with rows in memory beyond limit, the least recently used first.
func (r *run) oldest(limit int) []*chunk {
	var some []*chunk
	for _, c := range r.open {
		if c.fresh > 0 {
			some = append(some, c)
		}
	}
	if len(some) <= limit {
		return nil
	}
	slices.SortFunc(some, func(a, b *chunk) int { return cmp.Compare(a.used, b.used) })
	return some[:len(some)-limit]
}
