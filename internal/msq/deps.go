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
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// Deps are the dependencies of a job.
type Deps struct {
	Clock clock.Clock
	// Tables supplies the segments of existing datasources in the state of the timeline that the job
	// has pinned.
	Tables exec.Tables
	// Segments supplies them one by one, so that the workers of a stage, local or remote, read their
	// own share; nil: all segments are read through Tables.
	Segments Segments
	// System supplies the rows of tables that the process computes; nil: such tables are rejected.
	System exec.SystemTables
	// Expr is the context of expressions: time zone, current time.
	Expr *expr.Context
	// Access defines the resources that input sources may use.
	Access *ingest.Access
	// Exports defines the locations to which INSERT INTO EXTERN may write; nil: none.
	Exports *export.Destinations
	// Metastore grants locks, allocates ids and publishes. It is needed only for writing.
	Metastore Metastore
	// Durable allows intermediate data in deep storage.
	Durable bool
	// Store is deep storage, for segment files and rows of results.
	Store deepstore.Store
	// Join finds other processes that run parts of a job; nil: there are none. frame serves the
	// outputs of this process to them, until Close.
	Join func(ctx context.Context, job PartJob, frame func(id string, number int) ([]byte, error)) Session
	// MaxPeers is PartJob.MaxPeers.
	MaxPeers int
	// Run is the number of the run of the task; 0: runs are not counted.
	Run int64
	// Current returns an error if another run of the task has started; nil: there cannot be one.
	Current func(ctx context.Context) error
	// FaultPoint, if not nil, is called when a stage is complete ("stage-0") and when the segments are
	// built ("segments"); an error ends the job.
	FaultPoint func(step string) error
	// Loads reports when segments can be queried. It is needed only for writing; nil: immediately.
	Loads Loads
	// TempDir is a folder for the intermediate data of jobs; each job creates its own folder in it and
	// removes it at its end.
	TempDir string
	// Memory is the memory budget of a job, Disk the budget of its files in TempDir; nil: no limit.
	Memory, Disk *budget.Budget
	// Threads is the number of cores that the job may use; 0: all.
	Threads int
	// Host is host:port for reports.
	Host string
	// SortBytes is the memory in which a worker sorts before it writes a run; 0: 128 MiB.
	SortBytes int64
	// KeepBytes is the size of sorted rows of a stage that may stay in memory instead of being written
	// to disk; 0: an eighth of the limit of Memory, negative: none.
	KeepBytes int64
	// BroadcastBytes is the maximum total size of the broadcast sides of the joins of one stage; 0: no
	// limit.
	BroadcastBytes int64
}

// AllocateRequest requests the ids of all segments of an append.
type AllocateRequest struct {
	Owner      tasklock.Owner
	DataSource string
	// Intervals are the buckets of the rows of each segment, in the order of time; Granularity is that
	// of PARTITIONED BY.
	Intervals   []chrono.Interval
	Granularity chrono.Granularity
	// Sequence identifies the request: a repeated request returns the same ids.
	Sequence string
	Type     tasklock.Type
}

// Allocated is the identity of a segment of an append.
type Allocated struct {
	ID    timeline.SegmentID
	Shard timeline.ShardSpec
}

// Publication is one change of the published timeline: all of it becomes visible, or nothing.
type Publication struct {
	Task, Group string
	// Part identifies the job among those of the task.
	Part       string
	DataSource string
	Type       tasklock.Type
	// Segments are the new segments, including tombstones.
	Segments []*timeline.Segment
	// Drop are intervals whose used segments become unused: intervals of a REPLACE without rows that
	// do not need a tombstone.
	Drop []chrono.Interval
}

// Published is the result of a publication.
type Published struct {
	// Number is the number of the change stream; queries that pin it or a higher one see the
	// publication.
	Number int64
	// Segments are the published segments, including upgraded ones; nil: those of the publication.
	Segments []*timeline.Segment
}

// Metastore is the interface of a job to the metadata store: locks, ids and the publishing
// transaction. Implementations are safe for use by many goroutines.
type Metastore interface {
	// Lock waits until the lock is granted. It is idempotent for a group and interval. If a task of
	// higher priority has revoked the lock, the error matches ErrPreempted.
	Lock(ctx context.Context, r tasklock.Request) (tasklock.Lock, error)
	// Allocate returns the ids of new segments and their shard specs. If they are fewer than the
	// intervals, existing data does not permit a segment of the next interval.
	Allocate(ctx context.Context, r AllocateRequest) ([]Allocated, error)
	// Used returns the used segments that overlap the intervals.
	Used(ctx context.Context, dataSource string, intervals []chrono.Interval) ([]*timeline.Segment, error)
	// Publish makes the change in one transaction that also checks the locks; ErrPreempted if a lock
	// was revoked.
	Publish(ctx context.Context, p Publication) (Published, error)
	// Earlier returns the result of a part that an interrupted run of the task has published; false:
	// there is none.
	Earlier(ctx context.Context, task, part string) (Published, bool, error)
	// Release releases the locks of a task and deletes its allocated, unpublished ids.
	Release(ctx context.Context, task string) error
}

// Loads reports the loading of published segments.
type Loads interface {
	// Await returns when queries see all published segments and can read them. It reports progress to
	// f, which may be nil.
	Await(ctx context.Context, p Published, f func(LoadCounts)) error
}

// LoadCounts are the numbers of segments of a job by state.
type LoadCounts struct {
	Used, Precached, OnDemand, Pending, Unknown int
}
