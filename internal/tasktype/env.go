package tasktype

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/timeline"
)

// Env is what the tasks of a process work with, whatever their type. One is made for a process, and
// is not changed once tasks run.
type Env struct {
	Broker    *broker.Broker
	Metastore *metastore.Store
	Published *timeline.Published
	Deep      deepstore.Store
	// Files keeps reports and logs.
	Files *Files
	// Loads waits until segments are loaded.
	Loads AwaitLoad
	// Access says what input sources may touch, Exports where INSERT INTO EXTERN may write.
	Access  *ingest.Access
	Exports *export.Places
	// Durable allows intermediate data in deep storage.
	Durable bool
	// Join finds workers that do parts of a task; nil: there are none.
	Join Join
	// Open opens segments of datasources that tasks read.
	Open OpenSegment
	// Rows returns what reads the rows of a part that another process describes (msq.PartJob.Rows).
	Rows func(ctx context.Context, text json.RawMessage, env *exec.Env) (msq.RowSource, error)
	// FaultPoint is msq.Deps.FaultPoint.
	FaultPoint func(step string) error
	// TempDir is for intermediate data. Memory bounds what tasks hold, Disk what they write there.
	TempDir      string
	Memory, Disk *budget.Budget
	// Threads is the number of cores that a task may use; 0: all.
	Threads int
	// Host is host:port of the worker.
	Host string
	// Meter is told what tasks read and publish; nil: nobody is.
	Meter *obs.Meter
	Clock clock.Clock
	Log   *slog.Logger
}

// Join is msq.Deps.Join.
type Join = func(ctx context.Context, job msq.PartJob, frame func(id string, number int) ([]byte, error)) msq.Help

// Deps returns what a job of this process needs, that of a run of a task. meta decides over locks
// and publishes; the tables are those of env. Who runs a statement adds Segments, Exports and Join.
func (e *Env) Deps(ctx context.Context, meta msq.Metastore, env *exec.Env) msq.Deps {
	deps := e.partDeps(env)
	deps.Tables, deps.System, deps.Metastore, deps.Loads = env.Tables, env.System, meta, NewLoads(e.Loads)
	deps.FaultPoint, deps.Run, deps.Current = e.FaultPoint, RunOf(ctx), e.Metastore.CheckFence
	return deps
}

// partDeps returns what a part of a job needs.
func (e *Env) partDeps(env *exec.Env) msq.Deps {
	return msq.Deps{
		Clock: e.Clock, Expr: env.Expr, Access: e.Access, Durable: e.Durable, Store: e.Deep, TempDir: e.TempDir,
		Memory: env.Budget, Disk: e.Disk, Threads: e.Threads, Host: e.Host,
	}
}

// Follow returns what does parts of a job that another process controls, and what frees it when
// that is closed.
func (e *Env) Follow(ctx context.Context, job msq.PartJob, read msq.ReadFrame) (*msq.Follower, func(), error) {
	zone := chrono.UTC
	if job.Zone != "" {
		var err error
		if zone, err = chrono.LoadZone(job.Zone); err != nil {
			return nil, nil, err
		}
	}
	env, done := e.Broker.FragmentEnv(zone, job.Now, "part of task "+job.ID)
	var rows msq.RowSource
	if job.Rows != nil {
		var err error
		if rows, err = e.Rows(ctx, job.Rows, env); err != nil {
			done()
			return nil, nil, err
		}
	}
	deps := e.partDeps(env)
	deps.Segments = NewSlices(nil, e.Open)
	f, err := msq.Follow(job.ID, job.Options, rows, deps, read)
	if err != nil {
		done()
		return nil, nil, err
	}
	return f, done, nil
}
