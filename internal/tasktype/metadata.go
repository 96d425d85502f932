package tasktype

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// lockTimeout is how long a task waits for a lock before it asks again (Druid's taskLockTimeout).
// It asks until it is ended. See quirk Q017.
const lockTimeout = 5 * time.Minute

// Metadata adapts the metastore to the interfaces of package msq.
type Metadata struct {
	store *metastore.Store
	meter *obs.Meter
}

// NewMetadata adapts the metastore to package msq, for a task with one job.
func NewMetadata(store *metastore.Store, meter *obs.Meter) *Metadata {
	return &Metadata{store, meter}
}

// NewKeeping adapts the metastore to package msq, for tasks with several jobs: the end of a job
// does not release locks. The kind of the task releases them.
func NewKeeping(store *metastore.Store, meter *obs.Meter) msq.Metastore {
	return &keeping{Metadata{store, meter}}
}

type keeping struct{ Metadata }

// Release does nothing.
func (*keeping) Release(context.Context, string) error { return nil }

// Lock waits until a lock is granted.
func (m *Metadata) Lock(ctx context.Context, r tasklock.Request) (tasklock.Lock, error) {
	for {
		lock, granted, err := m.store.AcquireLock(ctx, metastore.LockRequest{Request: r}, lockTimeout)
		if err != nil {
			return tasklock.Lock{}, preempted(err)
		}
		if granted {
			return lock, nil
		}
		if ctx.Err() != nil {
			return tasklock.Lock{}, context.Cause(ctx)
		}
	}
}

// preempted marks the loss of a lock in msq's words.
func preempted(err error) error {
	if errors.Is(err, metastore.ErrLockRevoked) {
		return fmt.Errorf("%w: %w", msq.ErrPreempted, err)
	}
	return err
}

// allocateAtOnce bounds the ids that one transaction promises: others wait for it meanwhile.
const allocateAtOnce = 256

// Allocate allocates the ids of segments.
func (m *Metadata) Allocate(ctx context.Context, r msq.AllocateRequest) ([]msq.Allocated, error) {
	request := metastore.AllocateRequest{
		Owner: r.Owner, DataSource: r.DataSource, QueryGranularity: chrono.None, SegmentGranularity: r.Granularity, SequenceName: r.Sequence,
		LockType: r.Type,
	}
	timestamps := make([]int64, len(r.Intervals))
	for i, iv := range r.Intervals {
		timestamps[i] = iv.Start
	}
	out := make([]msq.Allocated, 0, len(timestamps))
	for atOnce := allocateAtOnce; len(out) < len(timestamps); {
		some := timestamps[len(out):]
		some = some[:min(len(some), atOnce)]
		pending, err := m.store.AllocateSegments(ctx, request, some)
		switch {
		case errors.Is(err, metastore.ErrCannotAllocate) && len(some) > 1:
			atOnce = 1 // to find out which it is
			continue
		case errors.Is(err, metastore.ErrCannotAllocate):
			return out, nil
		case err != nil:
			return nil, preempted(err)
		}
		for _, p := range pending {
			out = append(out, msq.Allocated{ID: p.ID, Shard: p.Shard})
			request.PreviousID = p.ID.String()
		}
		if len(pending) == len(some) {
			continue
		}
		// Another task holds the next interval: wait for it with a lock of our own, then ask again.
		if _, err := m.Lock(ctx, tasklock.Request{Owner: r.Owner, DataSource: r.DataSource, Interval: r.Intervals[len(out)], Type: r.Type}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Used returns the used segments that overlap the intervals.
func (m *Metadata) Used(ctx context.Context, dataSource string, intervals []chrono.Interval) ([]*timeline.Segment, error) {
	rows, err := m.store.UsedSegments(ctx, dataSource, intervals...)
	if err != nil {
		return nil, err
	}
	out := make([]*timeline.Segment, len(rows))
	for i := range rows {
		out[i] = rows[i].Segment
	}
	return out, nil
}

// Publish changes the published timeline.
func (m *Metadata) Publish(ctx context.Context, p msq.Publication) (msq.Published, error) {
	action := metastore.PublishInsert
	switch p.Type {
	case tasklock.Append:
		action = metastore.PublishAppend
	case tasklock.Replace:
		action = metastore.PublishReplace
	}
	done, err := m.store.Publish(ctx, metastore.Publication{
		TaskID: p.Task, Part: p.Part, DataSource: p.DataSource, Action: action, Segments: p.Segments, MarkUnused: p.Drop,
	})
	if err != nil {
		return msq.Published{}, preempted(err)
	}
	m.measure(p)
	return msq.Published{Number: done.Number, Segments: done.Segments}, nil
}

// measure counts what a task has published.
func (m *Metadata) measure(p msq.Publication) {
	rows, bytes := 0.0, 0.0
	for _, s := range p.Segments {
		if !s.IsTombstone() {
			rows, bytes = rows+float64(max(0, s.Rows)), bytes+float64(s.Size)
		}
	}
	count := func(metric string, n float64) {
		m.meter.Count(obs.Occurrence{Service: "overlord", Metric: metric, Dims: []string{"dataSource", p.DataSource}}, n)
	}
	count("ingest/rows/output", rows)
	count("segment/added/bytes", bytes)
	count("segment/txn/success", 1)
}

// Earlier returns what an earlier run of a task published.
func (m *Metadata) Earlier(ctx context.Context, task, part string) (msq.Published, bool, error) {
	p, found, err := m.store.TaskPublished(ctx, task, part)
	return msq.Published{Number: p.Number, Segments: p.Segments}, found, err
}

// Release releases the locks of a task.
func (m *Metadata) Release(ctx context.Context, task string) error {
	return m.store.ReleaseLocks(ctx, metastore.Fence{}, task, nil)
}
