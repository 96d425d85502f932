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

// Env is the environment of the tasks of a process, whatever their type. A process has one Env,
// which does not change after tasks have started.
type Env struct {
	Broker    *broker.Broker
	Metastore *metastore.Store
	Published *timeline.Published
	Deep      deepstore.Store
	// Files stores reports and logs.
	Files *Files
	// Loads waits until segments are loaded.
	Loads AwaitLoad
	// Access defines what input sources may read, Exports where INSERT INTO EXTERN may write.
	Access  *ingest.Access
	Exports *export.Destinations
	// Durable allows intermediate results in deep storage.
	Durable bool
	// Join finds workers for parts of a task; nil: there are none.
	Join Join
	// Open opens segments of datasources that tasks read.
	Open OpenSegment
	// Rows returns the row source of a part that another process describes (msq.PartJob.Rows).
	Rows func(ctx context.Context, text json.RawMessage, env *exec.Env) (msq.RowSource, error)
	// FaultPoint is msq.Deps.FaultPoint.
	FaultPoint func(step string) error
	// TempDir is the directory of intermediate data. Memory limits the memory of tasks, Disk the bytes
	// that they write to TempDir.
	TempDir      string
	Memory, Disk *budget.Budget
	// Threads is the number of cores that a task may use; 0: all.
	Threads int
	// Host is the host:port of the worker.
	Host string
	// Meter counts what tasks read and publish; may be nil.
	Meter *obs.Meter
	Clock clock.Clock
	Log   *slog.Logger
}

// Join is msq.Deps.Join.
type Join = func(ctx context.Context, job msq.PartJob, frame func(id string, number int) ([]byte, error)) msq.Session

// Deps returns the dependencies of a job of this process, for the task run in ctx. meta grants
// locks and publishes segments; the tables are the tables of env. Callers that run a statement add
// Segments, Exports and Join.
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

// Follow returns a runner for parts of a job that another process controls, and a function that
// frees its resources after it is closed.
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
