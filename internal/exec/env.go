package exec

import (
	"context"
	"sync/atomic"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// Env contains the resources that the operators of one query share.
type Env struct {
	// Expr is the context of expressions.
	Expr *expr.Context
	// Budget is the memory budget of the query. Nil: no limit.
	Budget *budget.Budget
	// Spill creates files for data that does not fit in memory. Nil: nothing is spilled, and such
	// queries fail.
	Spill *budget.SpillDir
	// Threads is the number of goroutines of a pipeline; 0: one per core.
	Threads int
	// Share is the query's share of the cores of the process, from Scheduler.Join; nil: goroutines
	// compute without limits.
	Share *scheduler.Share
	// GlobalDicts are shared by all queries of the process; nil: each query numbers the texts of its
	// keys itself.
	GlobalDicts *keys.GlobalDicts
	// Observations are shared by all queries of the process; nil: sketches do not cache observations.
	Observations *agg.Observations
	// BatchRows is the size of batches; 0: vector.BatchRows. It can be any number.
	BatchRows int
	// MaxWindowRows is the maximum number of rows of a partition of a window, above which the query
	// fails with a window.RowsError; 0: no limit but memory.
	MaxWindowRows int
	// MaxSubqueryRows is the maximum number of rows of the right side of a join, above which the query
	// fails; 0: no limit.
	MaxSubqueryRows int64
	// MaxSubqueryBytes limits the size of their values in bytes.
	MaxSubqueryBytes int64

	// Segments caches the groups of single segments; nil: no cache.
	Segments *SegmentCache

	// Times, if not nil, measures the time per segment.
	Times *SegmentTimes

	// GroupSpill, if not nil, counts the bytes of groups that did not fit in memory.
	GroupSpill *atomic.Int64

	// Progress, if not nil, counts the progress of the scans.
	Progress *progress.Progress

	// Profile, if not nil, collects counters of each operator.
	Profile *Profile

	// Anew, if not nil, is called when the operators fail before they have returned rows. It reports
	// whether they can be rebuilt because their data has moved, and may wait for that.
	Anew func(ctx context.Context, err error) bool

	Tables Tables
	// Cluster replaces Tables if other servers have segments too; nil: this process reads all
	// segments.
	Cluster   Cluster
	System    SystemTables
	Externals Externals
	// Note, if not nil, receives warnings about external data that is read nevertheless, from any
	// goroutine.
	Note func(text string)

	// sharing keeps what is computed once and read in several places.
	sharing *sharing
	// profile counts what the operator being built does, if Profile is set.
	profile *nodeProfile
	// many says how many groups are many.
	many manyGroups
}

// Tables supplies the segments of datasources in the state of the timeline that the query has
// pinned.
type Tables interface {
	// Leaves returns the visible segments of a scan, acquired; the operator releases each. columns are
	// the columns to be read, which include names of paths (segment.PathName).
	Leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]Leaf, error)
}

// Leaf is a segment with the interval in which it is visible.
type Leaf struct {
	Reader segment.Reader
	// ID is the id of a published segment, which never changes; "": the segment may change.
	ID string
	// Visible is the interval of visible rows: newer segments may hide a part of an older one.
	Visible chrono.Interval
}

// SystemTables supplies the rows of tables that the process computes.
type SystemTables interface {
	// Rows returns all rows of the table, with exactly the columns of the node's Out.
	Rows(ctx context.Context, table *plan.System) (*vector.Batch, error)
}

// Externals opens external rows.
type Externals interface {
	Open(ctx context.Context, ext *plan.External, note func(text string)) (Operator, error)
}

// textShare is the part of the memory that the strings which a function makes for a batch may have,
// leastText what they may have in any case.
const (
	textShare = 16
	leastText = 16 << 20
)

// withDefaults returns a copy in which nothing is left open, for operators that end when ctx does.
func (e *Env) withDefaults(ctx context.Context) *Env {
	c := *e
	if c.Budget == nil {
		c.Budget = budget.Root(1 << 62)
	}
	var functions expr.Context
	if c.Expr != nil {
		functions = *c.Expr
	}
	if functions.TextRoom == 0 { // each thread makes some, and there are those of the batch before
		functions.TextRoom = max(c.Budget.Free()/textShare, leastText)
	}
	functions = functions.WithStop(ctx)
	c.Expr = &functions
	if c.Threads <= 0 {
		c.Threads = budget.Cores()
	}
	c.many.complete()
	if c.BatchRows <= 0 {
		c.BatchRows = vector.BatchRows
	}
	return &c
}
