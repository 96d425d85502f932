package sql

import (
	"math"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// windowCall is a window call in the expressions of a block, over the block's scope until the block
// is built.
type windowCall struct {
	// fn is a function of windowFunctions, or empty for call, an aggregate over the frame.
	fn          string
	call        aggregateCall
	ignoreNulls bool
	partition   []expr.Expr
	order       []windowOrder
	frame       plan.Frame
	from, to    expr.Expr // bounds that are not constant
}

type windowOrder struct {
	x    expr.Expr
	item *syntax.OrderItem
}

// windowFunction describes a function that only exists over a window.
type windowFunction struct {
	min, max int
	// result is its type; an invalid Base means that of the first argument.
	result expr.Type
	// framed functions look at the frame, the others at the whole partition; ranks need an order.
	framed, ranks bool
	// buckets says that the argument is how many parts there are, for which a frame means nothing.
	buckets bool
	// least is the least second argument.
	least int64
}

var (
	notNullLong   = expr.Of(expr.BigInt).NotNull()
	notNullDouble = expr.Of(expr.Double).NotNull()
)

var windowFunctions = map[string]*windowFunction{
	"ROW_NUMBER":   {result: notNullLong},
	"RANK":         {result: notNullLong, ranks: true},
	"DENSE_RANK":   {result: notNullLong, ranks: true},
	"PERCENT_RANK": {result: notNullDouble, ranks: true},
	"CUME_DIST":    {result: notNullDouble, ranks: true},
	"NTILE":        {min: 1, max: 1, result: notNullLong, buckets: true},
	"LAG":          {min: 1, max: 3, least: -math.MaxInt32}, // LAG by less than nothing is LEAD
	"LEAD":         {min: 1, max: 3, least: -math.MaxInt32},
	"FIRST_VALUE":  {min: 1, max: 1, framed: true},
	"LAST_VALUE":   {min: 1, max: 1, framed: true},
	"NTH_VALUE":    {min: 2, max: 2, framed: true, least: 1},
}

// windowCall binds f(..) OVER (..) and returns its placeholder.
func (x exprs) windowCall(e *syntax.Call) (expr.Expr, error) {
	switch {
	case x.inAggregate || x.inWindow:
		return nil, fault.InvalidSQL(x.around, "Aggregate expressions cannot be nested")
	case !x.windows:
		return nil, fault.InvalidSQL(e.At, "Windowed aggregate expression is illegal in %s clause", x.clause)
	}
	inner := x
	inner.inWindow, inner.around = true, e.At
	w := windowCall{ignoreNulls: e.Nulls == syntax.IgnoreNulls}
	fn := windowFunctions[e.Name]
	var err error
	switch {
	case fn != nil:
		w.fn = e.Name
		err = inner.windowFunction(e, fn, &w)
	case isAggregate(e.Name):
		w.call, err = inner.bindAggregate(e)
	case e.Name == "GROUPING":
		err = x.windowedGrouping(e, &w)
	default:
		return nil, fault.InvalidSQL(e.At, "OVER must be applied to aggregate function")
	}
	if err != nil {
		return nil, err
	}
	if err := inner.window(e, fn, &w); err != nil {
		return nil, err
	}
	if len(x.calls) >= maxPlaceholders {
		return nil, fault.InvalidSQL(e.At, "A query can't have more than [%d] window calls", maxPlaceholders)
	}
	x.block.calls = append(x.block.calls, w)
	return &expr.Column{Index: windowBase + len(x.block.calls) - 1, Name: e.Name, T: w.call.typ}, nil
}

// windowedGrouping binds GROUPING(..) OVER (..): it is that of the row itself, whatever the window.
func (x exprs) windowedGrouping(e *syntax.Call, w *windowCall) error {
	value, err := x.grouping(e)
	if err != nil {
		return err
	}
	w.fn = "LAG"
	w.call = aggregateCall{spec: agg.Spec{Name: w.fn, Params: []any{int64(0)}}, args: []expr.Expr{value}, typ: value.Type(), at: e.At}
	return nil
}

func (x exprs) windowFunction(e *syntax.Call, fn *windowFunction, w *windowCall) error {
	if len(e.Args) < fn.min || len(e.Args) > fn.max {
		return aggregateArity(e, fn.min)
	}
	if e.Filter != nil {
		return fault.InvalidSQL(e.At, "FILTER must not be applied to window function [%s]", e.Name)
	}
	if e.Distinct {
		return fault.InvalidSQL(e.At, "DISTINCT must not be applied to window function [%s]", e.Name)
	}
	w.call = aggregateCall{spec: agg.Spec{Name: e.Name}, typ: fn.result, at: e.At}
	if len(e.Args) == 0 {
		return nil
	}
	if fn.buckets {
		n, err := x.wholeParam(e, 0, 1)
		w.call.spec.Params = []any{n}
		return err
	}
	value, err := x.bind(e.Args[0])
	if err != nil {
		return err
	}
	w.call.args = []expr.Expr{value}
	w.call.typ = value.Type().OrNull(true)
	if len(e.Args) > 1 {
		n, err := x.wholeParam(e, 1, fn.least)
		if err != nil {
			return err
		}
		if n < 0 {
			w.fn, w.call.spec.Name, n = opposite[e.Name], opposite[e.Name], -n
		}
		w.call.spec.Params = []any{n}
	}
	if len(e.Args) > 2 {
		other, err := x.bind(e.Args[2])
		if err != nil {
			return err
		}
		t, ok := expr.LeastRestrictive(w.call.typ, other.Type())
		if !ok {
			return fault.InvalidSQL(e.At, "Parameters must be of the same type")
		}
		if value, err = expr.NewCast(value, t, e.Args[0].Span()); err != nil {
			return err
		}
		if other, err = expr.NewCast(other, t, e.Args[2].Span()); err != nil {
			return err
		}
		// With a default the offset is an argument too: arguments go by position.
		w.call.args = []expr.Expr{value, longLiteral(w.call.spec.Params[0].(int64)), other}
		w.call.spec.Params = nil
		w.call.typ = t.OrNull(true)
	}
	return nil
}

// opposite names the function that looks in the other direction.
var opposite = map[string]string{"LAG": "LEAD", "LEAD": "LAG"}

// wholeParam returns an argument that must be a whole literal of at least least.
func (x exprs) wholeParam(e *syntax.Call, i int, least int64) (int64, error) {
	v, err := x.constantParam(e, i, e.Args[i], expr.Null)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok || n < least {
		return 0, fault.InvalidSQL(e.Args[i].Span(), "Argument [%d] of function [%s] must be a whole number of at least [%d]", i+1, e.Name, least)
	}
	return n, nil
}

// window binds what stands behind OVER.
func (x exprs) window(e *syntax.Call, fn *windowFunction, w *windowCall) error {
	over, err := x.resolveWindow(e.Over, 0)
	if err != nil {
		return err
	}
	if w.partition, err = x.list(over.PartitionBy); err != nil {
		return err
	}
	for i := range over.OrderBy {
		item := &over.OrderBy[i]
		o, err := x.bind(item.X)
		if err != nil {
			return err
		}
		if err := sortable(o.Type(), item.X); err != nil {
			return err
		}
		w.order = append(w.order, windowOrder{o, item})
	}
	if fn != nil && fn.ranks && len(w.order) == 0 {
		return fault.InvalidSQL(e.Over.At, "RANK or DENSE_RANK functions require ORDER BY clause in window specification")
	}
	if over.Frame != nil && fn != nil && !fn.framed && !fn.buckets {
		return fault.InvalidSQL(over.Frame.At, "ROW/RANGE not allowed with RANK, DENSE_RANK or ROW_NUMBER functions")
	}
	return x.frame(over, fn, w)
}

// resolveWindow merges a window with the named one it is based on.
func (x exprs) resolveWindow(w *syntax.Window, depth int) (*syntax.Window, error) {
	if w.Base.Name == "" {
		return w, nil
	}
	def := x.block.windows[w.Base.Name]
	if def == nil || depth > len(x.block.windows) {
		return nil, fault.InvalidSQL(w.Base.At, "Window '%s' not found", w.Base.Name)
	}
	base, err := x.resolveWindow(def.Window, depth+1)
	if err != nil {
		return nil, err
	}
	if w.Bare {
		return base, nil
	}
	out := *w
	if len(base.PartitionBy) > 0 {
		if len(w.PartitionBy) > 0 {
			return nil, fault.InvalidSQL(w.At, "PARTITION BY not allowed with existing window reference")
		}
		out.PartitionBy = base.PartitionBy
	}
	if len(base.OrderBy) > 0 {
		if len(w.OrderBy) > 0 {
			return nil, fault.InvalidSQL(w.At, "ORDER BY not allowed in both base and referenced windows")
		}
		out.OrderBy = base.OrderBy
	}
	if base.Frame != nil {
		if w.Frame != nil {
			return nil, fault.InvalidSQL(w.At, "Referenced window cannot have framing declarations")
		}
		out.Frame = base.Frame
	}
	return &out, nil
}

// frame gives w its frame: that of the clause, or else all rows up to the current one and its
// peers. Without an order all rows of the partition are peers, and ROWS counts them as they come.
func (x exprs) frame(over *syntax.Window, fn *windowFunction, w *windowCall) error {
	w.frame = plan.Frame{Range: true, FromUnbounded: true, ToUnbounded: true, FromColumn: -1, ToColumn: -1}
	if fn != nil && !fn.framed {
		return nil
	}
	w.frame.ToUnbounded = len(w.order) == 0
	if over.Frame == nil {
		return nil
	}
	if err := checkFrame(over.Frame, w.order); err != nil {
		return err
	}
	return x.frameClause(over.Frame, w)
}

// frameClause gives w the frame of a clause.
func (x exprs) frameClause(f *syntax.Frame, w *windowCall) error {
	w.frame.Exclude = [...]plan.FrameExclusion{syntax.ExcludeDefault: plan.ExcludeNothing, syntax.ExcludeNoOthers: plan.ExcludeNothing,
		syntax.ExcludeCurrentRow: plan.ExcludeCurrentRow, syntax.ExcludeGroup: plan.ExcludeGroup, syntax.ExcludeTies: plan.ExcludeTies}[f.Exclude]
	start, end := bounds(f)
	w.frame.Range, w.frame.Groups = f.Unit == syntax.FrameRange, f.Unit == syntax.FrameGroups
	w.frame.FromUnbounded = start.Kind == syntax.UnboundedPreceding
	w.frame.ToUnbounded = end.Kind == syntax.UnboundedFollowing
	from, err := x.frameOffset(&start, w)
	if err != nil {
		return err
	}
	to, err := x.frameOffset(&end, w)
	if err != nil {
		return err
	}
	w.frame.Values = from.measured || to.measured
	if w.frame.FromOffset, w.from, err = x.placed(from, w); err != nil {
		return err
	}
	w.frame.ToOffset, w.to, err = x.placed(to, w)
	return err
}
