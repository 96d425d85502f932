package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// bounds returns the bounds of a frame clause. A single bound is that and the current row; a following one, unlike in the standard, is
// the upper, as in the reference.
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
	case offsets && f.Unit == syntax.FrameRange && len(order) == 0,
		f.Unit == syntax.FrameGroups && len(order) == 0:
		return fault.InvalidSQL(f.At, "Window specification must contain an ORDER BY clause")
	case offsets && f.Unit == syntax.FrameRange && !measurable(order[0].x.Type()):
		return fault.InvalidSQL(f.At, "Data type of ORDER BY prohibits use of RANGE clause. "+rangeHint)
	}
	return nil
}

// rangeHint is what the reference says of all frames of RANGE with an offset; here it holds where values have no distance.
const rangeHint = "Order By with RANGE clause currently supports only UNBOUNDED or CURRENT ROW. Use ROWS clause instead."

// measurable reports whether values of type t have a distance.
func measurable(t expr.Type) bool { return t.IsNumeric() || t.IsTime() || t.IsInterval() }
