package streaming

import (
	"context"
	"errors"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/stream/chat"
)

const (
	// maxOpenChunks bounds the time chunks that have rows in memory: late rows open many.
	maxOpenChunks = 100
	// lockTurn is how long a task waits for a lock before it looks whether it is to end.
	lockTurn = time.Second
	// waitForRoom is how long a task waits for memory or disk before it tries again.
	waitForRoom = 250 * time.Millisecond
)

// tend does what is due after some rows: it writes them to disk, and asks for a checkpoint.
func (r *run) tend(ctx context.Context) error {
	t := &r.job.tuning
	var rows, bytes int64
	for _, c := range r.open {
		rows, bytes = rows+c.fresh, bytes+c.bytes
	}
	now := r.clock.Now()
	switch {
	case rows == 0:
		r.lastPersist = now
	case rows >= t.maxRowsInMemory, bytes >= r.maxBytes, now.Sub(r.lastPersist) >= t.persistPeriod:
		r.lastPersist = now
		if err := r.persist(ctx, r.oldest(0)); err != nil {
			return err
		}
	default:
		if old := r.oldest(maxOpenChunks); len(old) > 0 {
			if err := r.persist(ctx, old); err != nil {
				return err
			}
		}
	}
	r.stats.measure(r, now)
	if s, closed := r.ctl.latest(); !closed && r.full(s) {
		r.lastCut = now
		return r.cutHere(ctx, s)
	}
	return nil
}

// cutHere asks the supervisor for a checkpoint, which all replicas get. Without a supervisor the
// task decides by itself.
func (r *run) cutHere(ctx context.Context, s *sequence) error {
	r.ctl.pauseSelf()
	if r.o.Overlord == nil {
		return r.ctl.cutHere(ctx)
	}
	r.log.InfoContext(ctx, "requesting a checkpoint", "sequence", s.name)
	r.asking = true
	r.askCheckpoint(ctx)
	return nil
}

// persist begins to write the rows of chunks that are in memory to disk. Reading goes on
// meanwhile; if the last time is not over yet, it waits for that.
func (r *run) persist(ctx context.Context, chunks []*chunk) error {
	if len(chunks) == 0 {
		return nil
	}
	began := r.clock.Now()
	select {
	case r.persisting <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if waited := r.clock.Now().Sub(began); waited >= time.Millisecond {
		r.meter.Time(r.measured("ingest/persists/backPressure"), waited)
	}
	for _, c := range chunks {
		c.fresh, c.bytes = 0, 0
	}
	r.wait.Go(func() {
		defer func() { <-r.persisting }()
		for _, c := range chunks {
			if err := r.persistOne(ctx, c); err != nil {
				r.fail(err)
				return
			}
		}
	})
	return nil
}

// persistOne writes the rows of a segment to disk. While there is no room for them it waits.
func (r *run) persistOne(ctx context.Context, c *chunk) error {
	began := r.clock.Now()
	err := r.untilRoom(ctx, func() error {
		c.disk.Lock()
		defer c.disk.Unlock()
		if c.closed {
			return nil
		}
		return c.seg.Persist(ctx)
	})
	if err != nil {
		r.meter.Count(r.measured("ingest/persists/failed"), 1)
		return err
	}
	r.meter.Count(r.measured("ingest/persists/count"), 1)
	r.meter.Time(r.measured("ingest/persists/time"), r.clock.Now().Sub(began))
	return nil
}

// untilRoom does something that writes to disk. While the disk is full, or memory is scarce, it
// tries again: nothing that was read is given up for that.
func (r *run) untilRoom(ctx context.Context, write func() error) error {
	var done func()
	defer func() {
		if done != nil {
			done()
		}
	}()
	for {
		err := write()
		if !noRoom(err) && !refused(err) {
			return err
		}
		if done == nil {
			class := "DiskFull"
			if refused(err) {
				class = "MemoryLimit"
			}
			done = r.ctl.during(class, messageOf(err), false)
			r.log.WarnContext(ctx, "no room to write rows; retrying", "error", err)
		}
		if err := r.clock.Sleep(ctx, waitForRoom); err != nil {
			return context.Cause(ctx)
		}
	}
}

// noRoom reports whether err says that the disk is full.
func noRoom(err error) bool {
	e, ok := errors.AsType[*budget.Exceeded](err)
	return ok && e.Disk || durable.IsFull(err)
}

// relieve waits until there may be memory again, after all rows that this task has there were
// written to disk.
func (r *run) relieve(ctx context.Context) error {
	done := r.ctl.during("MemoryLimit", "Memory is scarce; rows are written to disk and reading is slower", false)
	defer done()
	some := r.oldest(0)
	if err := r.persist(ctx, some); err != nil {
		return err
	}
	select { // until that is done
	case r.persisting <- struct{}{}:
		<-r.persisting
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if how, _ := r.ctl.stopped(); how == stopForget {
		return errStopped
	}
	if len(some) == 0 { // others have it
		if err := r.clock.Sleep(ctx, waitForRoom); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// measured names a metric of the task.
func (r *run) measured(metric string) obs.Occurrence {
	return obs.Occurrence{
		Service: "worker", Metric: metric,
		Dims: []string{"dataSource", r.task.DataSource, "supervisorId", r.job.supervisor, "taskType", r.task.Type},
		More: []string{"taskId", r.task.ID, "groupId", r.task.GroupID},
	}
}

var _ chat.Task = (*run)(nil)
