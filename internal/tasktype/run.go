package tasktype

import (
	"context"
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// WithEngineCause returns a context that is canceled with ctx, with a cause that the reports of the
// engine recognize.
func WithEngineCause(ctx context.Context) (context.Context, func()) {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		if Interrupted(ctx) {
			cancel(msq.ErrShutdown)
		} else {
			cancel(msq.ErrUserRequest)
		}
	})
	return run, func() { unhook(); cancel(nil) }
}

// Interrupted reports whether a task stops because the process stops. Such a task has not
// completed: it resumes after the restart.
func Interrupted(ctx context.Context) bool {
	var stop *task.Shutdown
	return ctx.Err() != nil && !errors.As(context.Cause(ctx), &stop)
}

// RunOf returns the number of the task run that ctx belongs to; 0: there is none.
func RunOf(ctx context.Context) int64 {
	if f := metastore.FenceOf(ctx); f.Task != "" {
		return f.Epoch
	}
	return 0
}

// ClearTask deletes the state that the runs of a completed task have stored for each other.
func ClearTask(ctx context.Context, store *metastore.Store, deep deepstore.Store, id string) error {
	return msq.Clear(ctx, deep, id, func(part string) (bool, error) {
		_, found, err := store.TaskPublished(ctx, id, part)
		return found, err
	})
}

// AwaitLoad waits until queries see a number of the change stream and can read the segments
// published with it. It calls f with the number of segments that can be read so far.
type AwaitLoad func(ctx context.Context, number int64, segments []*timeline.Segment, f func(ready int)) error

// NewLoads returns the msq.Loads that waits until published segments can be queried.
func NewLoads(await AwaitLoad) msq.Loads { return loads(await) }

type loads AwaitLoad

// Await implements msq.Loads.
func (l loads) Await(ctx context.Context, p msq.Published, f func(msq.LoadCounts)) error {
	return l(ctx, p.Number, p.Segments, func(ready int) {
		if f != nil {
			f(msq.LoadCounts{Used: len(p.Segments), Precached: ready, Pending: len(p.Segments) - ready})
		}
	})
}

// CatchUp waits until queries see everything published before the call. A task that holds its locks
// then reads all the data that it replaces.
func CatchUp(ctx context.Context, store *metastore.Store, published *timeline.Published) error {
	number, err := store.Number(ctx)
	if err != nil {
		return fmt.Errorf("asking for the newest change: %w", err)
	}
	_, err = published.Wait(ctx, number)
	return err
}
