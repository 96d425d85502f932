package plan

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Node is a relational operator: a function from the rows of its inputs to rows. The concrete nodes
// are in this file; no other type implements it. Nodes are immutable: rules build new ones. Columns
// are identified by position; names are for the outermost output and for people.
//
// Scalar expressions occur in Project, Filter, Join and Scan only. Aggregates, sorts, windows and
// unnests name columns of their input; the binder adds a Project below them that computes these
// columns.
type Node interface {
	// Columns returns the output columns. Callers must not change the slice.
	Columns() []Column
	// Inputs returns the input nodes, leftmost first.
	Inputs() []Node
	node()
}

// TimeColumn is the name of the primary time column of a datasource.
const TimeColumn = "__time"

// OuterColumn is the name of columns in the plan of a subquery that contain the values of a column
// of the outer query.
const OuterColumn = "$outer"

// OrderColumn is the name of columns that are only sort keys.
const OrderColumn = "$order"

// Column is an output column of a node.
type Column struct {
	Name string
	Type expr.Type
}

// Scan reads a datasource: the visible segments of the pinned timeline that overlap Intervals.
type Scan struct {
	DataSource string
	Out        []Column // the columns read, by name
	// Intervals bound __time; nil: all of time. They are implied by Filter's terms on __time that were
	// moved here.
	Intervals []chrono.Interval
	// Filter, over Out, keeps rows for which it is true; nil keeps all.
	Filter expr.Expr
	// Guarded is true if Filter hides rows from the user: a condition whose evaluation could fail on a
	// hidden row then stays above the scan. Only Optimize reads it; it is not sent to other processes.
	Guarded bool
	// Limit stops the scan after that many rows, -1: no limit. Time is the requested order of rows by
	// time: -1 descending, 1 ascending, 0 any.
	Limit int64
	Time  int
	// Bounds says that of segments whose rows all count nothing is wanted but the number of rows and
	// the least and the greatest time. Package exec sets it when it asks for the segments.
	Bounds bool
}

// OnlyBounds returns the scan with Bounds.
func (n *Scan) OnlyBounds() *Scan {
	out := *n
	out.Bounds = true
	return &out
}

// Inline is a constant relation: VALUES, or one row without columns for SELECT without FROM.
type Inline struct {
	Out  []Column
	Rows *vector.Batch
}

// External reads external rows through EXTERN or one of its shorthands.
type External struct {
	Source json.RawMessage
	Format json.RawMessage
	Out    []Column
	// Declared are all columns that the statement declares for the data, if Out is a subset of them;
	// nil: Out.
	Declared []Column
}

// Signature returns the columns that the statement declares for the data.
func (n *External) Signature() []Column {
	if n.Declared != nil {
		return n.Declared
	}
	return n.Out
}

// System reads a table that the process computes: INFORMATION_SCHEMA.* and sys.*. The catalog gives
// its rows.
type System struct {
	Schema, Table string
	Out           []Column
}

// Filter keeps the rows for which Cond is true.
type Filter struct {
	Input Node
	Cond  expr.Expr
}

// Project computes one output column per expression.
type Project struct {
	Input Node
	Exprs []expr.Expr
	Names []string
}

// Aggregate groups by the columns Keys of Input and computes Aggs per group. Output: the keys, then
// the aggregates, then, if Sets is not nil and Grouping is set, the BIGINT grouping id (bit i,
// counted from the right, is set when Keys[len-1-i] is not in the set). Without keys there is
// exactly one group, also over no rows.
type Aggregate struct {
	Input Node
	Keys  []int
	// Sets are the grouping sets, each a list of indexes into Keys; nil: one set of all keys. Keys not
	// in a set are NULL.
	Sets     [][]int
	Grouping bool
	Aggs     []AggCall
	// Order is the order of the rows of a group, over Input, for aggregates that depend on it; nil:
	// any.
	Order []SortKey
}

// AggCall is one aggregate of an Aggregate or Window.
type AggCall struct {
	Agg agg.Spec
	// Args are columns of the input.
	Args []int
	// Filter is a BOOLEAN column of the input whose true rows count, -1: all rows.
	Filter   int
	Distinct bool
	Name     string
	Type     expr.Type
}

// SortKey orders by one column.
type SortKey struct {
	Column     int
	Desc       bool
	NullsFirst bool
}

// Sort orders rows, then skips Offset and keeps at most Limit (-1: all). The order of equal rows is
// not defined.
type Sort struct {
	Input  Node
	Keys   []SortKey
	Offset int64
	Limit  int64
}

// Limit skips Offset rows and keeps at most Count (-1: all).
type Limit struct {
	Input  Node
	Offset int64
	Count  int64
}

// JoinKind determines which rows without a partner are kept.
type JoinKind uint8

// The kinds of join. Semi and Anti give left columns only. AntiNull is NOT IN: no left row survives
// once the right side holds a NULL key, nor one whose own key is NULL unless the right side is
// empty. Single is a scalar subquery: left outer, and more than one partner is an error.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
	AntiNull
	Single
)

// EquiKey is an equality between a column of the left and a column of the right input, of the same
// physical type.
type EquiKey struct {
	Left, Right int
	// NullSafe makes it IS NOT DISTINCT FROM.
	NullSafe bool
}

// Join pairs rows for which all keys are equal and On, over the columns of left then right, is true
// (nil: always).
type Join struct {
	Kind        JoinKind
	Left, Right Node
	Keys        []EquiKey
	On          expr.Expr
	// At is the position of the subquery of a Single join in the statement.
	At fault.Span
}

// SetKind is the operation of a SetOp.
type SetKind uint8

// The set operations beside UNION ALL. UNION DISTINCT is an Aggregate over Union.
const (
	Intersect SetKind = iota
	Except
)

// Union concatenates its inputs, whose columns have equal physical types, in order.
type Union struct {
	Ins []Node
	Out []Column
}

// SetOp is INTERSECT or EXCEPT, of distinct rows or, with All, of rows with their multiplicity.
type SetOp struct {
	Kind        SetKind
	All         bool
	Left, Right Node
}

// Unnest returns one row per element of the list columns Lists, which are unnested in parallel,
// with the elements as last columns (and, with Ordinality, their 1-based position). Missing
// elements of shorter lists are NULL. Rows without elements are dropped, or kept with NULL if Outer
// is set.
type Unnest struct {
	Input      Node
	Lists      []UnnestList
	Outer      bool
	Ordinality bool
}

// UnnestList is a list column of the input of an Unnest, and the name of the column of its
// elements.
type UnnestList struct {
	Column int
	Name   string
	Elem   expr.Type
}

// UnnestOf unnests one column of in under the name of the column and keeps rows without elements.
// It is the input of grouping by multi-value strings.
func UnnestOf(in Node, column int) *Unnest {
	c := ColumnAt(in, column)
	return &Unnest{Input: in, Lists: []UnnestList{{Column: column, Name: c.Name, Elem: c.Type.Elem()}}, Outer: true}
}

// Window appends one column per call, computed over the partition and frame of each row.
type Window struct {
	Input     Node
	Partition []int
	Order     []SortKey
	Calls     []WindowCall
}

// WindowCall is a window function or an aggregate over a frame.
type WindowCall struct {
	// Fn is ROW_NUMBER, RANK, ... or "" when Agg is used.
	Fn string
	AggCall
	IgnoreNulls bool
	Frame       Frame
}

// Frame is the frame of a window call. Bounds are offsets in rows (or range units): negative is
// preceding.
type Frame struct {
	Range                bool
	Groups               bool
	FromUnbounded        bool
	ToUnbounded          bool
	FromOffset, ToOffset int64
	// FromColumn and ToColumn, if not -1, are columns with the offset per row; with Values, which only
	// a Range has, they contain the value of the order column at which the frame begins or ends.
	FromColumn, ToColumn int
	Values               bool
	Exclude              FrameExclusion
}

// HasOffsets reports whether a bound is an offset from the current row.
func (f *Frame) HasOffsets() bool {
	return f.FromColumn >= 0 || f.ToColumn >= 0 || !f.FromUnbounded && f.FromOffset != 0 || !f.ToUnbounded && f.ToOffset != 0
}

// FrameExclusion excludes rows near the current row from a frame.
type FrameExclusion uint8

// What a frame excludes: nothing, the row itself, the row and its peers, or its peers alone.
const (
	ExcludeNothing FrameExclusion = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// String returns the words of EXCLUDE.
func (x FrameExclusion) String() string {
	return [...]string{"no others", "current row", "group", "ties"}[x]
}

// Shared is a relation that several operators of the plan read and that is computed once. Nodes
// with the same ID have equal inputs.
type Shared struct {
	ID    int
	Input Node
}

// Buckets returns the starts of the time buckets in which a datasource may have rows: the buckets
// between its first and its last row, within the intervals of the scan below Input. Input is not
// run.
type Buckets struct {
	Input       Node
	Granularity chrono.Granularity
	Name        string
}

// Scan returns the scan below Input, or nil if its condition is never true.
func (n *Buckets) Scan() *Scan {
	var out *Scan
	Walk(n.Input, func(n Node) bool {
		if s, ok := n.(*Scan); ok {
			out = s
		}
		return out == nil
	})
	return out
}

// Write is the root of an INSERT or REPLACE.
type Write struct {
	Input       Node
	DataSource  string
	Replace     bool
	ReplaceAll  bool
	Intervals   []chrono.Interval // OVERWRITE WHERE; nil with ReplaceAll or INSERT
	PartitionBy chrono.Granularity
	// Cluster are the columns of Input in CLUSTERED BY, ascending.
	Cluster []int
	// Hidden is the number of columns at the end of Input that are only used by Cluster and not
	// stored.
	Hidden int
	// Rollup: the statement groups rows and stores aggregates in their intermediate form
	// (finalizeAggregations=false).
	Rollup bool
}

// Export is the root of an INSERT INTO EXTERN: the rows of its input are written to external files.
type Export struct {
	Input Node
	// Destination is a JSON object: {"type":"local","exportPath":".."}.
	Destination json.RawMessage
	// Format is the name of the file format in the statement.
	Format string
}

// Columns returns the columns read.
func (n *Scan) Columns() []Column { return n.Out }

// Columns returns the columns of the rows.
func (n *Inline) Columns() []Column { return n.Out }

// Columns returns the declared columns.
func (n *External) Columns() []Column { return n.Out }

// Columns returns the table's columns.
func (n *System) Columns() []Column { return n.Out }

// Columns returns the input's columns.
func (n *Filter) Columns() []Column { return n.Input.Columns() }

// Columns returns a column per expression.
func (n *Project) Columns() []Column {
	out := make([]Column, len(n.Exprs))
	for i, e := range n.Exprs {
		out[i] = Column{Name: n.Names[i], Type: e.Type()}
	}
	return out
}

// groupingColumn is the grouping id.
var groupingColumn = Column{Name: "$grouping", Type: expr.Of(expr.BigInt).NotNull()}

// Columns returns keys, aggregates and the grouping id.
func (n *Aggregate) Columns() []Column {
	out := make([]Column, 0, len(n.Keys)+len(n.Aggs)+1)
	for _, k := range n.Keys {
		out = append(out, n.key(k))
	}
	for _, a := range n.Aggs {
		out = append(out, Column{Name: a.Name, Type: a.Type})
	}
	if n.Grouping {
		out = append(out, groupingColumn)
	}
	return out
}

// key returns column k of the input as the column of a key.
func (n *Aggregate) key(k int) Column {
	c := ColumnAt(n.Input, k)
	c.Type = c.Type.OrNull(n.Sets != nil)
	return c
}

// Columns returns the input's columns.
func (n *Sort) Columns() []Column { return n.Input.Columns() }

// Columns returns the input's columns.
func (n *Limit) Columns() []Column { return n.Input.Columns() }

// LeftOnly reports whether the result is a subset of the left rows, without columns of the right.
func (n *Join) LeftOnly() bool { return n.Kind == Semi || n.Kind == Anti || n.Kind == AntiNull }

// Columns returns left then right columns (left only for Semi, Anti and AntiNull), nullable where a
// partner may be missing.
func (n *Join) Columns() []Column {
	left := n.Left.Columns()
	if n.LeftOnly() {
		return left
	}
	right := n.Right.Columns()
	out := make([]Column, 0, len(left)+len(right))
	leftNull, rightNull := n.mayLackPartner()
	for _, c := range left {
		c.Type = c.Type.OrNull(leftNull)
		out = append(out, c)
	}
	for _, c := range right {
		c.Type = c.Type.OrNull(rightNull)
		out = append(out, c)
	}
	return out
}

// mayLackPartner reports whether the columns of the left and those of the right are NULL in some
// rows for want of a partner.
func (n *Join) mayLackPartner() (left, right bool) {
	return n.Kind == Right || n.Kind == Full, n.Kind == Left || n.Kind == Full || n.Kind == Single
}

// Columns returns the common columns.
func (n *Union) Columns() []Column { return n.Out }

// Columns returns the left input's columns.
func (n *SetOp) Columns() []Column { return n.Left.Columns() }

// Columns returns the input's columns and the elements.
func (n *Unnest) Columns() []Column {
	in := n.Input.Columns()
	out := append(make([]Column, 0, len(in)+len(n.Lists)+1), in...)
	for _, l := range n.Lists {
		out = append(out, Column{Name: l.Name, Type: l.Elem})
	}
	if n.Ordinality {
		out = append(out, Column{Name: "ORDINALITY", Type: expr.Of(expr.BigInt)})
	}
	return out
}

// Columns returns the input's columns and one per call.
func (n *Window) Columns() []Column {
	in := n.Input.Columns()
	out := append(make([]Column, 0, len(in)+len(n.Calls)), in...)
	for _, c := range n.Calls {
		out = append(out, Column{Name: c.Name, Type: c.Type})
	}
	return out
}

// Columns returns the start of the bucket.
func (n *Buckets) Columns() []Column {
	return []Column{{Name: n.Name, Type: expr.Of(expr.Timestamp).NotNull()}}
}

// Columns returns the input's columns.
func (n *Shared) Columns() []Column { return n.Input.Columns() }

// Columns returns the columns that are written.
func (n *Write) Columns() []Column {
	in := n.Input.Columns()
	return in[:len(in)-n.Hidden]
}

// Columns returns the columns that are written.
func (n *Export) Columns() []Column { return n.Input.Columns() }

// Inputs returns none.
func (n *Scan) Inputs() []Node { return nil }

// Inputs returns none.
func (n *Inline) Inputs() []Node { return nil }

// Inputs returns none.
func (n *External) Inputs() []Node { return nil }

// Inputs returns none.
func (n *System) Inputs() []Node { return nil }

// Inputs returns the input.
func (n *Filter) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the input.
func (n *Project) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the input.
func (n *Aggregate) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the input.
func (n *Sort) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the input.
func (n *Limit) Inputs() []Node { return []Node{n.Input} }

// Inputs returns left and right.
func (n *Join) Inputs() []Node { return []Node{n.Left, n.Right} }

// Inputs returns the branches.
func (n *Union) Inputs() []Node { return n.Ins }

// Inputs returns left and right.
func (n *SetOp) Inputs() []Node { return []Node{n.Left, n.Right} }

// Inputs returns the input.
func (n *Unnest) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the input.
func (n *Window) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the input.
func (n *Buckets) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the input.
func (n *Shared) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the query whose rows are written.
func (n *Write) Inputs() []Node { return []Node{n.Input} }

// Inputs returns the query whose rows are written.
func (n *Export) Inputs() []Node { return []Node{n.Input} }

func (*Scan) node()      {}
func (*Inline) node()    {}
func (*External) node()  {}
func (*System) node()    {}
func (*Filter) node()    {}
func (*Project) node()   {}
func (*Aggregate) node() {}
func (*Sort) node()      {}
func (*Limit) node()     {}
func (*Join) node()      {}
func (*Union) node()     {}
func (*SetOp) node()     {}
func (*Unnest) node()    {}
func (*Window) node()    {}
func (*Buckets) node()   {}
func (*Shared) node()    {}
func (*Write) node()     {}
func (*Export) node()    {}
