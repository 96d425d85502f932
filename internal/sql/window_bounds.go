package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// bounds returns the bounds of a frame clause. A single bound is that and the current row; a
// following one, unlike in the standard, is the upper, as in Druid. See quirk Q010.
func bounds(f *syntax.Frame) (start, end syntax.FrameBound) {
	start, end = f.Start, f.End
	if !f.Between {
		end = syntax.FrameBound{Kind: syntax.CurrentRow}
		if start.Kind == syntax.OffsetFollowing || start.Kind == syntax.UnboundedFollowing {
			start, end = end, start
		}
	}
	return start, end
}

// checkFrame refuses a frame clause that has no meaning for a window with the given order.
func checkFrame(f *syntax.Frame, order []windowOrder) error {
	start, end := bounds(f)
	offsets := start.Offset != nil || end.Offset != nil
	switch {
	case start.Kind == syntax.UnboundedFollowing:
		return fault.InvalidSQL(f.At, "UNBOUNDED FOLLOWING cannot be specified for the lower frame boundary")
	case end.Kind == syntax.UnboundedPreceding:
		return fault.InvalidSQL(f.At, "UNBOUNDED PRECEDING cannot be specified for the upper frame boundary")
	case start.Kind == syntax.CurrentRow && end.Kind == syntax.OffsetPreceding:
		return fault.InvalidSQL(f.At, "Upper frame boundary cannot be PRECEDING when lower boundary is CURRENT ROW")
	case start.Kind == syntax.OffsetFollowing && end.Kind == syntax.CurrentRow:
		return fault.InvalidSQL(f.At, "Upper frame boundary cannot be CURRENT ROW when lower boundary is FOLLOWING")
	case start.Kind == syntax.OffsetFollowing && end.Kind == syntax.OffsetPreceding:
		return fault.InvalidSQL(f.At, "Upper frame boundary cannot be PRECEDING when lower boundary is FOLLOWING")
	}
	switch {
	case offsets && f.Unit == syntax.FrameRange && len(order) > 1:
		return fault.InvalidSQL(f.At, "RANGE clause cannot be used with compound ORDER BY clause. "+rangeHint)
	case offsets && f.Unit == syntax.FrameRange && len(order) == 0:
		return fault.InvalidSQL(f.At, "Window specification must contain an ORDER BY clause")
	case offsets && f.Unit == syntax.FrameRange && !measurable(order[0].x.Type()):
		return fault.InvalidSQL(f.At, "Data type of ORDER BY prohibits use of RANGE clause. "+rangeHint)
	}
	return nil
}

// rangeHint is what Druid says of all frames of RANGE with an offset; here it holds where values
// have no distance. See quirk Q010.
const rangeHint = "Order By with RANGE clause currently supports only UNBOUNDED or CURRENT ROW. Use ROWS clause instead."

// measurable reports whether values of type t have a distance.
func measurable(t expr.Type) bool { return t.IsNumeric() || t.IsTime() || t.IsInterval() }

// frameOffset is how far a bound of a frame lies from the row. The zero value is the row itself, or
// no bound.
type frameOffset struct {
	preceding bool
	constant  int64
	x         expr.Expr // nil: the constant
	// measured offsets have no whole number that could be added to a value: months, and numbers with
	// fractions.
	measured bool
	bound    *syntax.FrameBound
}

// frameOffset binds how far a bound of w lies from the row: a number of rows or groups, or what can
// be added to the value that orders a RANGE.
func (x exprs) frameOffset(b *syntax.FrameBound, w *windowCall) (frameOffset, error) {
	out := frameOffset{preceding: b.Kind == syntax.OffsetPreceding, bound: b}
	if b.Offset == nil {
		return out, nil
	}
	e, err := x.bind(b.Offset)
	if err != nil {
		return out, err
	}
	if e, err = expr.Fold(e, &x.b.env); err != nil {
		return out, err
	}
	t := e.Type()
	switch {
	case w.frame.Range && !distanceOf(w.order[0].x.Type(), t):
		return out, fault.InvalidSQL(b.Offset.Span(), "Data type mismatch between ORDER BY and RANGE clause")
	case w.frame.Range:
		out.measured = t.IsFractional() || t.Base == expr.IntervalMonth
	case !t.IsNumeric():
		return out, notRows(b)
	}
	out.x = e
	l, ok := e.(*expr.Literal)
	if !ok {
		return out, nil
	}
	switch v := l.Value.(type) {
	case int64:
		if v < 0 {
			return out, notRows(b)
		}
		if !out.measured {
			out.constant, out.x = v, nil
		}
	case float64:
		if v < 0 || !out.measured {
			return out, notRows(b)
		}
	default:
		return out, notRows(b)
	}
	return out, nil
}

func notRows(b *syntax.FrameBound) error {
	return fault.InvalidSQL(b.Offset.Span(), "ROWS value must be a non-negative integral constant")
}

// distanceOf reports whether values of type offset are distances between values of type t.
func distanceOf(t, offset expr.Type) bool {
	if t.IsNumeric() {
		return offset.IsNumeric()
	}
	return offset.IsInterval()
}

// placed returns what a plan has of a bound of w: a signed constant, or an expression: the signed
// offset, or where the frame goes by values the value at which it begins or ends.
func (x exprs) placed(o frameOffset, w *windowCall) (int64, expr.Expr, error) {
	switch {
	case o.x == nil && o.preceding:
		return -o.constant, nil, nil
	case o.x == nil:
		return o.constant, nil, nil
	case w.frame.Values:
		op := "+"
		if o.preceding != w.order[0].item.Desc {
			op = "-"
		}
		at, err := x.callOf(op, []expr.Expr{w.order[0].x, o.x}, o.bound.At)
		return 0, at, err
	}
	e := o.x
	var err error
	if !e.Type().IsInterval() {
		e, err = expr.NewCast(e, expr.Of(expr.BigInt), o.bound.At)
	}
	if err == nil && o.preceding {
		e, err = x.callOf("-", []expr.Expr{e}, o.bound.At)
	}
	return 0, e, err
}
