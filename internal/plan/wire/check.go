package wire

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// check refuses a plan that was read and names columns that are not there. Below a node that fails
// nothing is asked of its columns.
func check(c *coder, n plan.Node) {
	for _, in := range n.Inputs() {
		if check(c, in); c.err != nil {
			return
		}
	}
	inside := func(width int, columns ...int) {
		for _, i := range columns {
			if i < 0 || i >= width {
				c.fail("A plan can't be read: it names column [%d] of [%d]", i, width)
			}
		}
	}
	over := func(width int, e expr.Expr) {
		if e != nil {
			inside(width, expr.Columns(e)...)
		}
	}
	order := func(width int, keys []plan.SortKey) {
		for _, k := range keys {
			inside(width, k.Column)
		}
	}
	calls := func(width int, calls ...*plan.AggCall) {
		for _, a := range calls {
			inside(width, a.Args...)
			if a.Filter != -1 {
				inside(width, a.Filter)
			}
		}
	}
	width := 0
	if ins := n.Inputs(); len(ins) > 0 {
		width = len(ins[0].Columns())
	}
	switch x := n.(type) {
	case *plan.Scan:
		over(len(x.Out), x.Filter)
	case *plan.Inline:
		checkRows(c, x)
	case *plan.Filter:
		over(width, x.Cond)
	case *plan.Project:
		if len(x.Names) != len(x.Exprs) {
			c.fail("A plan can't be read: a projection has [%d] names for [%d] columns", len(x.Names), len(x.Exprs))
		}
		for _, e := range x.Exprs {
			over(width, e)
		}
	case *plan.Aggregate:
		inside(width, x.Keys...)
		for _, set := range x.Sets {
			inside(len(x.Keys), set...)
		}
		for i := range x.Aggs {
			calls(width, &x.Aggs[i])
		}
		order(width, x.Order)
	case *plan.Sort:
		order(width, x.Keys)
	case *plan.Join:
		right := len(x.Right.Columns())
		for _, k := range x.Keys {
			inside(width, k.Left)
			inside(right, k.Right)
		}
		if x.Kind > plan.Single {
			c.fail("A plan of a newer release can't be read: join [%d] is unknown", x.Kind)
		}
		over(width+right, x.On)
	case *plan.Union:
		for _, in := range x.Ins {
			if len(in.Columns()) != len(x.Out) {
				c.fail("A plan can't be read: a union has branches of different width")
			}
		}
	case *plan.SetOp:
		if x.Kind > plan.Except || len(x.Right.Columns()) != width {
			c.fail("A plan can't be read: a set operation does not fit its inputs")
		}
	case *plan.Unnest:
		for _, l := range x.Lists {
			inside(width, l.Column)
		}
	case *plan.Window:
		inside(width, x.Partition...)
		order(width, x.Order)
		for i := range x.Calls {
			call := &x.Calls[i]
			calls(width, &call.AggCall)
			for _, column := range []int{call.Frame.FromColumn, call.Frame.ToColumn} {
				if column != -1 {
					inside(width, column)
				}
			}
			checkFrame(c, &call.Frame)
		}
	default: // the others name no columns
	}
}

// checkFrame refuses frames that no plan has.
func checkFrame(c *coder, f *plan.Frame) {
	if f.Exclude > plan.ExcludeTies {
		c.fail("A plan of a newer release can't be read: frame exclusion [%d] is unknown", f.Exclude)
	}
	if f.Values && !f.Range {
		c.fail("A frame of values must be a range")
	}
}

// checkRows holds constant rows to their declared types.
func checkRows(c *coder, n *plan.Inline) {
	if len(n.Out) != len(n.Rows.Cols) {
		c.fail("A plan can't be read: constant rows have [%d] columns instead of [%d]", len(n.Rows.Cols), len(n.Out))
		return
	}
	for i, column := range n.Out {
		if n.Rows.Cols[i].Type != column.Type.Runtime() {
			c.fail("A plan can't be read: column [%d] of constant rows is of type [%s]", i, n.Rows.Cols[i].Type)
		}
	}
}
