package sqltask

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/tasktype"
)

// What a REPLACE hides it must have read, if it reads its own datasource at all: its locks come
// first (Prepare), then the state that it reads is pinned (CatchUp), and what concurrent appends
// have added between the two is said to have been read (absorb).

// Prepare implements task.Kind. A REPLACE is ready when it holds the locks on everything that it
// replaces; until then it holds none. Other statements are ready immediately: an INSERT locks the
// time chunks of its rows when they are known. The time chunks to replace were determined when the
// statement was submitted.
func (c *Controller) Prepare(ctx context.Context, t *task.Task) (bool, error) {
	body, err := payloadOf(t)
	if err != nil {
		return false, err
	}
	d := &body.Spec.Destination
	if len(d.ReplaceTimeChunks) == 0 {
		return true, nil
	}
	options, err := msq.ParseOptions(body.SQLQueryContext)
	if err != nil {
		return false, err
	}
	intervals := make([]chrono.Interval, len(d.ReplaceTimeChunks))
	for i, text := range d.ReplaceTimeChunks {
		if intervals[i], err = chrono.ParseInterval(text); err != nil {
			return false, err
		}
	}
	for _, iv := range chrono.Condense(intervals) {
		_, granted, err := c.o.Metastore.TryLock(ctx, metastore.LockRequest{Request: tasklock.Request{
			Owner: tasklock.Owner{TaskID: t.ID, GroupID: t.GroupID, Priority: t.Priority}, DataSource: d.DataSource, Interval: iv,
			Type: options.Lock(true),
		}})
		if err != nil {
			return false, err
		}
		if !granted { // two that hold a part each would wait for each other
			return false, c.meta.Release(ctx, t.ID)
		}
	}
	return true, nil
}

// await waits until queries see what the statement of a task has to: a REPLACE all that is
// published now, others what there was when they were submitted.
func (c *Controller) await(ctx context.Context, body *payload) error {
	if len(body.Spec.Destination.ReplaceTimeChunks) > 0 {
		return tasktype.CatchUp(ctx, c.o.Metastore, c.o.Published)
	}
	soon, cancel := context.WithTimeout(ctx, seenWithin)
	defer cancel()
	if _, err := c.o.Published.Wait(soon, body.Timeline); err == nil || ctx.Err() != nil {
		return err
	}
	return tasktype.CatchUp(ctx, c.o.Metastore, c.o.Published)
}

// seenWithin is how long a task waits for what the Broker had seen that took its statement. A
// metastore that was put back to an earlier moment may never come to that number again: then what
// it has now counts.
const seenWithin = 5 * time.Second

// absorb says which segments of its own datasource a REPLACE reads. Those among them that were
// appended after its locks were granted would otherwise be published again beside their rows.
func (c *Controller) absorb(ctx context.Context, t *task.Task, p *broker.Prepared, node plan.Node) error {
	if p.Target == nil || p.Target.Overwrite == nil {
		return nil
	}
	var ids []string
	for id := range c.o.Broker.Reads(p, node, p.Target.DataSource) {
		ids = append(ids, id.String())
	}
	return c.o.Metastore.Absorb(ctx, t.ID, ids)
}
