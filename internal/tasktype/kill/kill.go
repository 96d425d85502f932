// Package kill implements the task that permanently deletes unused segments: first their rows, then
// their files.
//
// The central type is Kill, the kind of these tasks for the task queue. Users submit them, and so
// do the endpoints that delete an interval. Used segments are never deleted. Rows are deleted
// before files, so a crash can leave files without a row, which the next kill task deletes, but
// never a row without its file. The metastore counts references, so a file that another segment
// shares is kept. Package duty/clean also deletes files that a crash left, with the same
// DeleteFiles.
package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
)

const (
	// defaultBatch is how many segments one transaction deletes unless the task says otherwise.
	defaultBatch = 100
)

// Store is the part of the metastore that the task uses.
type Store interface {
	TryLock(ctx context.Context, r metastore.LockRequest) (lock tasklock.Lock, granted bool, err error)
	ReleaseLocks(ctx context.Context, fence metastore.Fence, taskID string, interval *chrono.Interval) error
	MarkUnused(ctx context.Context, fence metastore.Fence, dataSource string, s metastore.Selection, entry *metastore.AuditEntry) (metastore.Marked, error)
	UnusedSegments(ctx context.Context, dataSource string, filter metastore.UnusedFilter) ([]metastore.SegmentRow, error)
	DeleteUnused(ctx context.Context, fence metastore.Fence, dataSource string, ids []string) (deleted []string, err error)
	clean.FileStore
}

// Reports stores the report of a completed task.
type Reports interface {
	PutReport(ctx context.Context, id string, report io.Reader) error
}

// Kill runs kill tasks.
type Kill struct {
	store   Store
	bytes   clean.Bytes
	reports Reports
	meter   *obs.Meter
	log     *slog.Logger
}

// New returns the task kind.
func New(store Store, bytes clean.Bytes, reports Reports, meter *obs.Meter, log *slog.Logger) *Kill {
	return &Kill{store: store, bytes: bytes, reports: reports, meter: meter, log: log}
}

// count tells the meter how much was deleted where; nil: nobody wants to know.
func (k *Kill) count(where, dataSource string, n int64) {
	if n > 0 {
		k.meter.Count(obs.Occurrence{Service: "overlord", Metric: "segment/killed/" + where + "/count", Dims: []string{"dataSource", dataSource}}, float64(n))
	}
}

// payload is a task as it was submitted.
type payload struct {
	Interval     *chrono.Interval `json:"interval"`
	Versions     []string         `json:"versions"`
	BatchSize    *int             `json:"batchSize"`
	Limit        *int             `json:"limit"`
	UnusedBefore *string          `json:"maxUsedStatusLastUpdatedTime"`
	MarkUnused   bool             `json:"markAsUnused"`
	Context      map[string]any   `json:"context"`

	unusedBefore int64
	concurrent   bool // other tasks may append meanwhile
}

func parse(t *task.Task) (*payload, error) {
	p := &payload{}
	if err := json.Unmarshal(t.Payload, p); err != nil {
		if f := fault.Find(err); f != nil {
			return nil, f
		}
		return nil, fault.InvalidInput("Kill task [%s] is not readable: %v", t.ID, err).WithCause(err)
	}
	switch {
	case p.Interval == nil:
		return nil, fault.InvalidInput("Kill task [%s] has no interval", t.ID)
	case p.Interval.IsEmpty():
		return nil, fault.InvalidInput("Interval [%s] of kill task [%s] is empty", p.Interval, t.ID)
	case p.BatchSize != nil && *p.BatchSize <= 0:
		return nil, fault.InvalidInput("batchSize[%d] must be a positive integer.", *p.BatchSize)
	case p.Limit != nil && *p.Limit <= 0:
		return nil, fault.InvalidInput("limit[%d] must be a positive integer.", *p.Limit)
	case p.MarkUnused && p.Versions != nil:
		return nil, fault.InvalidInput("markAsUnused can't be combined with versions")
	}
	var err error
	if p.concurrent, err = querycontext.ConcurrentLocks.Read(p.Context); err != nil {
		return nil, err
	}
	if p.UnusedBefore != nil {
		at, err := chrono.ParseInstant(*p.UnusedBefore)
		if err != nil {
			return nil, err
		}
		p.unusedBefore = at
	}
	return p, nil
}

// Complete implements task.Completer. It requires a datasource and an interval.
func (k *Kill) Complete(fields map[string]json.RawMessage) error {
	if raw, ok := fields["dataSource"]; !ok || string(raw) == "null" {
		return fault.InvalidInput("Kill task has no [dataSource]")
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fault.Malformed("Kill task is not readable: %v", err)
	}
	p, err := parse(&task.Task{Payload: text})
	if err != nil {
		return err
	}
	fields["interval"], err = json.Marshal(p.Interval)
	return err
}

// Validate implements task.Validator.
func (k *Kill) Validate(t *task.Task) error {
	_, err := parse(t)
	return err
}

// lock takes the lock on the whole interval; false while another task holds it.
func (k *Kill) lock(ctx context.Context, t *task.Task, p *payload) (bool, error) {
	kind := tasklock.Exclusive
	if p.concurrent {
		kind = tasklock.Replace
	}
	_, granted, err := k.store.TryLock(ctx, metastore.LockRequest{Request: tasklock.Request{
		Owner: tasklock.Owner{TaskID: t.ID, GroupID: t.GroupID, Priority: t.Priority}, DataSource: t.DataSource, Interval: *p.Interval, Type: kind,
	}})
	return granted, err
}

// Prepare implements task.Kind.
func (k *Kill) Prepare(ctx context.Context, t *task.Task) (bool, error) {
	p, err := parse(t)
	if err != nil {
		return false, err
	}
	return k.lock(ctx, t, p)
}

// Release implements task.Kind.
func (k *Kill) Release(ctx context.Context, t *task.Task) error {
	return k.store.ReleaseLocks(ctx, metastore.Fence{}, t.ID, nil)
}

// Run implements task.Kind.
func (k *Kill) Run(ctx context.Context, t *task.Task) error {
	p, err := parse(t)
	if err != nil {
		return err
	}
	if p.MarkUnused {
		if _, err := k.store.MarkUnused(ctx, metastore.Fence{}, t.DataSource, metastore.Selection{Interval: p.Interval}, nil); err != nil {
			return fmt.Errorf("marking the segments of the interval unused: %w", err)
		}
	}
	killed, batches, err := k.batches(ctx, t, p)
	if err != nil {
		return err
	}
	k.log.InfoContext(ctx, "unused segments deleted", "task", t.ID, "datasource", t.DataSource, "segments", killed)
	return k.report(ctx, t.ID, killed, batches)
}

// batches deletes until nothing is left or the limit is reached.
func (k *Kill) batches(ctx context.Context, t *task.Task, p *payload) (killed, batches int, err error) {
	size := defaultBatch
	if p.BatchSize != nil {
		size = *p.BatchSize
	}
	for ctx.Err() == nil {
		n := size
		if p.Limit != nil {
			n = min(n, *p.Limit-killed)
		}
		if n == 0 {
			break
		}
		// A task of higher priority may have taken the lock since.
		switch granted, err := k.lock(ctx, t, p); {
		case err != nil:
			return killed, batches, fmt.Errorf("keeping the lock on the interval: %w", err)
		case !granted:
			return killed, batches, fault.Conflict("Kill task [%s] lost its lock on interval [%s] to another task", t.ID, p.Interval)
		}
		rows, err := k.store.UnusedSegments(ctx, t.DataSource, metastore.UnusedFilter{
			Interval: p.Interval, Versions: p.Versions, UnusedBefore: p.unusedBefore, Limit: n,
		})
		if err != nil {
			return killed, batches, fmt.Errorf("reading unused segments: %w", err)
		}
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i] = row.ID.String()
		}
		var deleted []string
		if len(ids) > 0 {
			if deleted, err = k.store.DeleteUnused(ctx, metastore.Fence{}, t.DataSource, ids); err != nil {
				return killed, batches, fmt.Errorf("deleting unused segments: %w", err)
			}
		}
		k.count("metadataStore", t.DataSource, int64(len(deleted)))
		files, err := clean.DeleteFiles(ctx, k.store, k.bytes, k.log)
		k.count("deepStorage", t.DataSource, files)
		if err != nil {
			return killed, batches, err
		}
		if len(deleted) == 0 {
			break
		}
		killed, batches = killed+len(deleted), batches+1
	}
	return killed, batches, context.Cause(ctx)
}

func (k *Kill) report(ctx context.Context, id string, killed, batches int) error {
	type counts struct {
		Segments int `json:"numSegmentsKilled"`
		Batches  int `json:"numBatchesProcessed"`
	}
	type entry struct {
		Type    string `json:"type"`
		TaskID  string `json:"taskId"`
		Payload counts `json:"payload"`
	}
	const kind = "killUnusedSegments"
	text, err := json.Marshal(map[string]entry{kind: {kind, id, counts{killed, batches}}})
	if err != nil {
		return err
	}
	return k.reports.PutReport(ctx, id, bytes.NewReader(text))
}
