package msq

import (
	"context"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/timeline"
)

// Deps is what a job needs of its surroundings.
type Deps struct {
	Clock clock.Clock
	// Tables hands out the segments of existing datasources, of the one state of the timeline that the
	// job has pinned.
	Tables exec.Tables
	// Segments gives them one by one, so that workers of a stage read their own, here and in other
	// processes; nil: all are read through Tables.
	Segments Segments
	// System gives the rows of tables that the process computes; nil: such tables are refused.
	System exec.SystemTables
	// Expr is what expressions take from the statement: time zone, current time.
	Expr *expr.Context
	// Access says what input sources may touch.
	Access *ingest.Access
	// Exports says where INSERT INTO EXTERN may write; nil: nowhere.
	Exports *export.Places
	// Metastore decides over locks and ids and publishes. Needed for writing only.
	Metastore Metastore
	// Durable allows intermediate data in deep storage.
	Durable bool
	// Store is deep storage: it keeps segment files and the rows of results.
	Store deepstore.Store
	// Join finds other processes that do parts of a job; nil: there are none. frame serves what this
	// process has to them, until Close.
	Join func(ctx context.Context, job PartJob, frame func(id string, number int) ([]byte, error)) Help
	// Helpers is PartJob.Helpers.
	Helpers int
	// Run is the number of the task's run; 0: it is not counted.
	Run int64
	// Current fails if another run of the task has begun; nil: there is none.
	Current func(ctx context.Context) error
	// FaultPoint is called when a stage is done ("stage-0") and when the segments are built
	// ("segments"); an error ends the job. Nil: nothing is.
	FaultPoint func(step string) error
	// Loads tells when segments can be queried. Needed for writing only; nil: at once.
	Loads Loads
	// TempDir is a folder for the intermediate data of jobs; each makes a folder of its own in it and
	// removes that at its end.
	TempDir string
	// Memory bounds what a job holds, Disk what it writes to TempDir; nil: no limit.
	Memory, Disk *budget.Budget
	// Threads is the number of cores that the job may use; 0: all.
	Threads int
	// Host is host:port for reports.
	Host string
	// SortBytes is the memory in which a worker sorts before it writes a run; 0: 128 MiB.
	SortBytes int64
	// KeepBytes is how much of a stage's sorted rows may stay in memory instead of going to disk; 0:
	// an eighth of the limit of Memory, negative: none.
	KeepBytes int64
	// BroadcastBytes is the most that the broadcast sides of the joins of one stage may take; 0: no
	// limit.
	BroadcastBytes int64
}

// LockType is the kind of a task lock.
type LockType string

// The kinds of locks that statements take (spec/ingestion.md, section 9).
const (
	Exclusive LockType = "EXCLUSIVE"
	Shared    LockType = "SHARED"
	Append    LockType = "APPEND"
	Replace   LockType = "REPLACE"
)

// LockRequest asks for a lock on a time range.
type LockRequest struct {
	// Task is the holder, Group the tasks that share locks: the controller's id.
	Task, Group string
	DataSource  string
	Interval    chrono.Interval
	Type        LockType
	Priority    int
}

// Lock is a granted lock. Its version is above every version of the datasource that overlaps it.
type Lock struct {
	Interval chrono.Interval
	Version  string
}

// AllocateRequest asks for the ids of all segments of an append.
type AllocateRequest struct {
	Task, Group string
	DataSource  string
	// Intervals are the buckets of the rows of each segment, in the order of time; Granularity is what
	// PARTITIONED BY says.
	Intervals   []chrono.Interval
	Granularity chrono.Granularity
	// Sequence names the request: the same one gives the same ids again.
	Sequence string
	Type     LockType
	Priority int
}

// Allocated is the identity of a segment of an append.
type Allocated struct {
	ID    timeline.SegmentID
	Shard timeline.ShardSpec
}

// Publication is one change of the published timeline: all of it becomes visible, or nothing.
type Publication struct {
	Task, Group string
	// Part names the job among those of the task.
	Part       string
	DataSource string
	Type       LockType
	// Segments are new, tombstones included.
	Segments []*timeline.Segment
	// Drop are intervals whose used segments become unused: of a REPLACE without rows for which no
	// tombstone is needed.
	Drop []chrono.Interval
}

// Published says what a publication did.
type Published struct {
	// Number is the number of the change stream from which on everything is visible.
	Number int64
	// Segments are those published, also those that were published with them; nil: those of the
	// publication.
	Segments []*timeline.Segment
}

// Metastore is what a job asks of the metadata: locks, ids and the publishing transaction.
// Implementations are safe for use by many goroutines.
type Metastore interface {
	// Lock waits until the lock is granted. It is idempotent for a group and interval. A lock that a
	// higher priority took away fails with an error that errors.Is ErrPreempted.
	Lock(ctx context.Context, r LockRequest) (Lock, error)
	// Allocate returns the ids of new segments and their shard specs. If they are fewer than the
	// intervals, then the existing data does not take a segment of the interval that comes next.
	Allocate(ctx context.Context, r AllocateRequest) ([]Allocated, error)
	// Used returns the used segments that overlap the intervals.
	Used(ctx context.Context, dataSource string, intervals []chrono.Interval) ([]*timeline.Segment, error)
	// Publish makes the change in one transaction that also checks the locks; ErrPreempted if one is
	// gone.
	Publish(ctx context.Context, p Publication) (Published, error)
	// Earlier returns what a run of the task that was cut off has published as a part; false: nothing.
	Earlier(ctx context.Context, task, part string) (Published, bool, error)
	// Release ends the locks of a task and forgets ids that were allocated and not published.
	Release(ctx context.Context, task string) error
}

// Loads tells how far published segments have come.
type Loads interface {
	// Await returns when a query sees everything that was published and can read it. It reports
	// progress to f, which may be nil.
	Await(ctx context.Context, p Published, f func(LoadCounts)) error
}

// LoadCounts says how many of a job's segments are in which state (spec/ingestion.md, section 5).
type LoadCounts struct {
	Used, Precached, OnDemand, Pending, Unknown int
}
