package exec

import (
	"context"
	"sync/atomic"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// Env is what the operators of one query share.
type Env struct {
	// Expr is what expressions take from the query.
	Expr *expr.Context
	// Budget is the query's memory. Nil: a budget without limit.
	Budget *budget.Budget
	// Spill makes files for what does not fit. Nil: nothing is spilled; what does not fit is refused.
	Spill *budget.SpillDir
	// Threads is how many goroutines a pipeline uses; 0: one per core.
	Threads int
	// Share is the query's part of the process's cores, from Scheduler.Join; nil: every goroutine
	// computes when it can.
	Share *Share
	// Lexicons are shared by all queries of the process; nil: each query numbers the texts of its keys
	// itself.
	Lexicons *Lexicons
	// Observations are shared by all queries of the process; nil: sketches remember nothing.
	Observations *agg.Observations
	// BatchRows is the size of batches; 0: vector.BatchRows. It divides or is a multiple of nothing in
	// particular.
	BatchRows int
	// MaxWindowRows is the most rows that a partition of a window may have, more are an ErrWindowRows;
	// 0: as many as fit in memory.
	MaxWindowRows int
	// MaxSubqueryRows is the most rows that a join may keep of its right side, more are refused; 0: as
	// many as there are.
	MaxSubqueryRows int64
	// MaxSubqueryBytes is the same in bytes of their values.
	MaxSubqueryBytes int64

	// Segments keeps what aggregations make of single segments; nil: nothing is kept.
	Segments *SegmentCache

	// Times measures the segments; nil: nobody wants to know.
	Times *SegmentTimes

	// GroupSpill, if not nil, counts the bytes of groups that did not fit in memory.
	GroupSpill *atomic.Int64

	// Profile, if not nil, is told what each operator does.
	Profile *Profile

	// Anew, if not nil, is asked when the operators have failed before there were any rows: whether
	// they may be made anew, since what they read is found elsewhere now. It may wait for that.
	Anew func(ctx context.Context, err error) bool

	Tables Tables
	// Cluster takes the place of Tables where other servers hold segments too; nil: this process reads
	// all of them.
	Cluster   Cluster
	System    SystemTables
	Externals Externals
	// Note is told what a user should know of external data that is read all the same, by any
	// goroutine; nil: nobody asks.
	Note func(text string)

	// sharing keeps what is computed once and read in several places.
	sharing *sharing
	// profile counts what the operator being built does, if Profile is set.
	profile *nodeProfile
	// anyOrder says that whoever takes the rows does not care for their order.
	anyOrder bool
	// many says how many groups are many.
	many manyGroups
	// reads is how the scan that is being built is read; nil: as nothing above knows of.
	reads *reading
	// need says which output columns of the node being built are looked at; nil: all. What is not may
	// come as nulls.
	need []bool
}

// needing returns e for a node of which only some columns are looked at, nil: all.
func (e *Env) needing(need []bool) *Env {
	if e.need == nil && need == nil {
		return e
	}
	c := *e
	c.need = need
	return &c
}

// reading returns e for a scan that is read in some way.
func (e *Env) reading(r *reading) *Env {
	c := *e
	c.reads = r
	return &c
}

// unordered returns e for operators whose rows may come in any order.
func (e *Env) unordered() *Env {
	if e.anyOrder {
		return e
	}
	c := *e
	c.anyOrder = true
	return &c
}

// inOrder returns e for operators that look at neighbours: groups come in the order of their keys.
func (e *Env) inOrder() *Env {
	if !e.anyOrder {
		return e
	}
	c := *e
	c.anyOrder = false
	return &c
}

// Tables hands out the segments of datasources, of the one state of the timeline that the query has
// pinned.
type Tables interface {
	// Leaves returns the visible segments of a scan, acquired; the operator releases each. These
	// columns of them are going to be read, some by names of paths (segment.PathName).
	Leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]Leaf, error)
}

// Leaf is a segment with the part of time in which it is visible.
type Leaf struct {
	Reader segment.Reader
	// ID is that of a segment that is published, and so never changes; "": it may.
	ID string
	// Visible bounds the rows that count: newer segments may hide a part of an older one.
	Visible chrono.Interval
}

// SystemTables gives the rows of tables that the process computes.
type SystemTables interface {
	// Rows returns all rows of the table, with exactly the columns of the node's Out.
	Rows(ctx context.Context, table *plan.System) (*vector.Batch, error)
}

// Externals opens rows from outside.
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
