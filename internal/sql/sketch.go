package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// sketchColumns returns how many arguments of a call of a sketch aggregate are columns; the others
// are constants. A sketch of keys has any number of columns, and its last argument is a constant if
// it is a number.
func sketchColumns(fn *agg.Function, args []syntax.Expr) int {
	if !fn.Keyed {
		return fn.MaxArgs
	}
	if last := len(args) - 1; last > 0 {
		if _, ok := args[last].(*syntax.Number); ok {
			return last
		}
	}
	return min(len(args), fn.MaxArgs)
}

// checkSketchCall refuses what the sketch aggregates do not take: DISTINCT, and constants that are
// to be computed.
func (x exprs) checkSketchCall(e *syntax.Call, params []syntax.Expr) error {
	if e.Distinct && x.b.settings.approximateDistinct {
		return fault.InvalidSQL(e.At, "Aggregation [%s] with DISTINCT is not supported when useApproximateCountDistinct is enabled. "+
			"Run with disabling it.", e.Name)
	}
	for _, p := range params {
		if !isLiteral(p) {
			if _, err := x.bind(p); err != nil {
				return err
			}
			return fault.InvalidSQL(p.Span(), "Argument to function '%s' must be a literal", e.Name)
		}
	}
	return nil
}

// isLiteral reports whether e is written as a constant: a literal, with a sign or a cast, or a
// parameter.
func isLiteral(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Number, *syntax.String, *syntax.Bool, *syntax.Null, *syntax.Param:
		return true
	case *syntax.Unary:
		return e.Op != syntax.Not && isLiteral(e.X)
	case *syntax.Cast:
		return isLiteral(e.X)
	}
	return false
}

// sketchOf returns an argument of a function of sketches: an aggregate that counts by a sketch
// stands for the sketch there.
func sketchOf(arg syntax.Expr) syntax.Expr {
	call, ok := arg.(*syntax.Call)
	if !ok {
		return arg
	}
	fn := agg.Lookup(call.Name)
	if fn == nil || fn.SketchName == "" {
		return arg
	}
	sketch := *call
	sketch.Name = fn.SketchName
	return &sketch
}

// typeSketch casts the arguments of a sketch aggregate: keys as they are, or as text in a tuple
// sketch; numbers where it wants numbers.
func typeSketch(fn *agg.Function, call *aggregateCall, e *syntax.Call) error {
	double := expr.Of(expr.Double)
	for i, a := range call.args {
		if t := a.Type(); fn.TakesTexts && i == 0 && t.Base != expr.Null && !t.IsCharacter() {
			return aggregateType(call, e, "COLUMN")
		}
		if !fn.SeesCasts {
			a = uncast(a)
		}
		call.args[i] = a
		t := a.Type()
		var err error
		switch {
		case fn.Keyed && t.ComplexName() == "json" && i == 0: // its text, if it is one value
			call.args[i], err = expr.NewJSONValue(a, stringLiteral("$"), expr.Of(expr.Varchar), e.At)
		case t.Base == expr.Other && i == 0: // the aggregate knows its own sketches
			continue
		case fn.Keyed && i == 0:
			if !t.IsCharacter() {
				call.args[i], err = expr.NewCast(a, expr.Of(expr.Varchar), e.At)
			}
		case fn.Keyed && expr.IsConstant(a): // quirk Q001: no number of the row, so that no row counts, as in Druid
			call.args[i] = &expr.Literal{T: double}
		case fn.Keyed, fn.TakesNumbers:
			call.args[i], err = numberOrNull(a, double, fn.Keyed, e.At)
		case t.Base == expr.Array:
			return aggregateType(call, e, "COLUMN")
		case t.Base == expr.Null:
			call.args[i], err = expr.NewCast(a, expr.Of(expr.Varchar), e.At)
		case fn.TakesTexts && !t.IsCharacter():
			call.args[i], err = expr.NewCast(a, expr.Of(expr.Varchar), e.At)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// uncast takes off a cast of a column of numbers to text, or of whole numbers to others: what is
// counted is the number, as in Druid, so that sketches of both merge. See quirk Q008.
func uncast(a expr.Expr) expr.Expr {
	c, ok := a.(*expr.Cast)
	if !ok {
		return a
	}
	column, ok := c.X.(*expr.Column)
	if ok && (c.T.IsCharacter() && column.T.IsNumeric() || c.T.IsFractional() && column.T.IsInteger()) {
		return column
	}
	return a
}

// numberOrNull makes a number of an argument: text is read as one, or is 0 if zero; what has none
// is NULL.
func numberOrNull(a expr.Expr, double expr.Type, zero bool, at fault.Span) (expr.Expr, error) {
	t := a.Type()
	if zero && (t.Multi || t.IsCharacter()) {
		return &expr.Literal{Value: 0.0, T: double.NotNull()}, nil
	}
	var out expr.Expr = &expr.Literal{T: double}
	switch {
	case !t.Multi && t.IsCharacter():
		out = &expr.Cast{X: a, T: double} // of JSON_VALUE it is the text that is read: true is 1 there
	case t.IsNumeric(), t.IsTime(), t.Base == expr.Boolean:
		var err error
		if t.Base == expr.Boolean || t.IsTime() {
			if a, err = expr.NewCast(a, expr.Of(expr.BigInt), at); err != nil {
				return nil, err
			}
		}
		if out, err = expr.NewCast(a, double, at); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// finishSketches wraps a query's plan so that sketches which are outputs themselves are shown as
// the number that they estimate: with the context's sqlFinalizeOuterSketches all of them, else
// tuple sketches unless the context says finalize=false. HLL sketches that are shown themselves are
// so as what Druid reads from the answers of its data servers. See quirk Q008.
func (b *binder) finishSketches(n plan.Node) (plan.Node, error) {
	finish, _ := catalog.Lookup("$FINISH_SKETCH")
	columns := n.Columns()
	if !slices.ContainsFunc(columns, func(c plan.Column) bool { return c.Type.Base == expr.Other }) {
		return n, nil
	}
	p := &plan.Project{Input: n}
	changed := false
	for i, c := range columns {
		var x expr.Expr = &expr.Column{Index: i, Name: c.Name, T: c.Type}
		var f *expr.Function
		if c.Type.Base == expr.Other {
			switch fn, tables := aggregateBehind(n, i); {
			case fn == nil:
			case b.finishes(fn):
				f = finish
			case fn.ReadBy != "" && tables && b.form.readsSketches():
				f, _ = catalog.Lookup(fn.ReadBy)
			}
		}
		if f != nil {
			var err error
			if x, err = expr.NewCall(f, []expr.Expr{x}, fault.Span{}); err != nil {
				return nil, err
			}
			changed = true
		}
		p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, c.Name)
	}
	if !changed {
		return n, nil
	}
	return p, nil
}

func (b *binder) finishes(fn *agg.Function) bool {
	switch fn.Finishes {
	case agg.FinishesIfAsked:
		return b.settings.finalizeSketches
	case agg.FinishesUnlessAsked:
		return !isFalse(querycontext.Finalize.In(b.settings.merged))
	}
	return false
}

// aggregateBehind returns the aggregate, of groups or of a window, that column i of n passes on,
// nil if it is none, and whether that is of groups and over rows of tables.
func aggregateBehind(n plan.Node, i int) (fn *agg.Function, tables bool) {
	for {
		switch x := n.(type) {
		case *plan.Project:
			c, ok := x.Exprs[i].(*expr.Column)
			if !ok {
				return nil, false
			}
			n, i = x.Input, c.Index
		case *plan.Filter:
			n = x.Input
		case *plan.Limit:
			n = x.Input
		case *plan.Sort:
			n = x.Input
		case *plan.Window:
			if k := i - plan.Width(x.Input); k >= 0 {
				return agg.Lookup(x.Calls[k].Agg.Name), false
			}
			n = x.Input
		case *plan.Aggregate:
			if k := i - len(x.Keys); k >= 0 && k < len(x.Aggs) {
				return agg.Lookup(x.Aggs[k].Agg.Name), !plan.OverGroups(x.Input)
			}
			return nil, false
		default:
			return nil, false
		}
	}
}

// keepSketch makes the aggregate that column i of n passes on, if it is a sketch or made of one,
// give the sketch itself, which rollup stores. It returns the type of the column.
func keepSketch(n plan.Node, i int, t expr.Type) expr.Type {
	switch x := n.(type) {
	case *plan.Project:
		c, ok := x.Exprs[i].(*expr.Column)
		if !ok {
			return t
		}
		if kept := keepSketch(x.Input, c.Index, c.T); kept != c.T {
			column := *c
			column.T = kept
			x.Exprs[i] = &column
			return kept
		}
	case *plan.Filter:
		return keepSketch(x.Input, i, t)
	case *plan.Limit:
		return keepSketch(x.Input, i, t)
	case *plan.Sort:
		return keepSketch(x.Input, i, t)
	case *plan.Aggregate:
		k := i - len(x.Keys)
		if k < 0 || k >= len(x.Aggs) {
			return t
		}
		call := &x.Aggs[k]
		spec, state, ok := call.Agg.Kept()
		if !ok {
			return t
		}
		call.Agg = spec
		if kept := expr.FromRuntime(state, false); kept.OrNull(true) != t.OrNull(true) {
			call.Type = kept
		}
		return call.Type
	}
	return t
}
