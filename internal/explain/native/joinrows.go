package native

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Constant rows that are joined: their values have types of their own, short texts and small
// numbers, and are compared as what the other side has.

// withComparedRows has constant rows on one side of a join have each value that is compared with
// the other side once more, in a column of its own: that is what is compared, and the others are
// what is read.
func withComparedRows(x *plan.Join) plan.Node {
	left, right := constantRowsOf(x.Left), constantRowsOf(x.Right)
	if x.On == nil || (left == nil) == (right == nil) {
		return x
	}
	width, total := len(x.Left.Columns()), len(x.Left.Columns())+len(x.Right.Columns())
	rows, from, to := right, width, total
	if left != nil {
		rows, from, to = left, 0, width
	}
	j := &join{width: width}
	wide := &plan.Inline{Out: slices.Clone(rows.Out), Rows: &vector.Batch{N: rows.Rows.N, Sel: rows.Rows.Sel, Cols: slices.Clone(rows.Rows.Cols)}}
	compared := func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		if !ok || c.Index < from || c.Index >= to || c.T.Base == expr.Null || c.T.Nullable {
			return e
		}
		of := rows.Out[c.Index-from]
		of.Name = unusedName(of.Name, columnsOf(wide.Out))
		wide.Out, wide.Rows.Cols = append(wide.Out, of), append(wide.Rows.Cols, rows.Rows.Cols[c.Index-from])
		return &expr.Column{Index: -len(wide.Out), Name: of.Name, T: c.T} // its place is known when all are
	}
	terms := slices.Clone(plan.Split(x.On))
	for i, t := range terms {
		c, ok := t.(*expr.Call)
		if ok && c.Fn.Name == "=" && len(c.Args) == 2 && (j.isOnLeft(c.Args[0]) && j.isOnRight(c.Args[1]) || j.isOnRight(c.Args[0]) && j.isOnLeft(c.Args[1])) {
			terms[i] = test("=", compared(c.Args[0]), compared(c.Args[1]))
		}
	}
	added := len(wide.Out) - len(rows.Out)
	if added == 0 {
		return x
	}
	place := func(i int) int {
		switch {
		case i < 0:
			return from - i - 1
		case left != nil && i >= width:
			return i + added
		}
		return i
	}
	out := *x
	out.On = expr.Rewrite(plan.Conjunction(terms), func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return &expr.Column{Index: place(c.Index), Name: c.Name, T: c.T}
		}
		return e
	})
	if left != nil {
		out.Left = wide
	} else {
		out.Right = wide
	}
	keep := make([]int, len(x.Columns()))
	for i := range keep {
		keep[i] = place(i)
	}
	return plan.Select(&out, keep)
}

// withRowsRead has constant rows on the right side of a join, to which only a condition behind the
// join compares the left one, be read by a query.
func withRowsRead(f *plan.Filter) plan.Node {
	x, ok := f.Input.(*plan.Join)
	if !ok || x.Kind != plan.Inner || x.On != nil || len(x.Keys) > 0 || constantRowsOf(x.Right) == nil {
		return f
	}
	j := &join{width: len(x.Left.Columns())}
	if !slices.ContainsFunc(plan.Split(f.Cond), func(t expr.Expr) bool { return j.equality(t) != nil }) {
		return f
	}
	read := &plan.Limit{Input: x.Right, Count: -1}
	return plan.WithInputs(f, []plan.Node{plan.WithInputs(x, []plan.Node{x.Left, read})})
}

// withoutUnreadColumns leaves columns out of constant rows on the right side of a join by one
// column, where neither the join nor n, which chooses or groups its rows, reads them, and the rows
// are not in their order.
func withoutUnreadColumns(n plan.Node) plan.Node {
	used := readDirectly(n)
	if used == nil {
		return n
	}
	p, ok := n.Inputs()[0].(*plan.Project)
	if !ok || slices.ContainsFunc(p.Exprs, func(e expr.Expr) bool { return !isColumn(e) }) {
		return n
	}
	x, ok := p.Input.(*plan.Join)
	if !ok || x.Kind != plan.Inner && x.Kind != plan.Left || x.On == nil || len(x.Keys) > 0 {
		return n
	}
	on, ok := x.On.(*expr.Call)
	rows, ofRows := x.Right.(*plan.Inline)
	offset := len(x.Left.Columns())
	if !ok || !ofRows || len(rows.Out) < 2 || strings.HasPrefix(rows.Out[0].Name, "EXPR$") || slices.ContainsFunc(on.Args, func(e expr.Expr) bool { return !isColumn(e) }) {
		return n
	}
	read := map[int]bool{}
	for _, c := range columnsOfExpr(on) {
		read[c] = true
	}
	for i, e := range p.Exprs {
		if used[i] {
			read[e.(*expr.Column).Index] = true
		}
	}
	inOrder := inSomeOrder(rows)
	kept := &plan.Inline{Rows: &vector.Batch{N: rows.Rows.N, Sel: rows.Rows.Sel}}
	to := make([]int, len(x.Columns()))
	for i, next := 0, 0; i < len(to); i++ {
		inRows := i >= offset && i < offset+len(rows.Out)
		if inRows && !read[i] && !inOrder[i-offset] {
			to[i] = -1
			continue
		}
		if inRows {
			kept.Out, kept.Rows.Cols = append(kept.Out, rows.Out[i-offset]), append(kept.Rows.Cols, rows.Rows.Cols[i-offset])
		}
		to[i] = next
		next++
	}
	if len(kept.Out) == len(rows.Out) {
		return n
	}
	moved := func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		switch {
		case !ok:
			return e
		case to[c.Index] < 0:
			return &expr.Literal{T: c.T} // nothing reads it
		}
		return &expr.Column{Index: to[c.Index], Name: c.Name, T: c.T}
	}
	out := *x
	out.On, out.Right = expr.Rewrite(x.On, moved), kept
	chosen := &plan.Project{Input: &out, Names: p.Names}
	for _, e := range p.Exprs {
		chosen.Exprs = append(chosen.Exprs, moved(e))
	}
	return plan.WithInputs(n, []plan.Node{chosen})
}

// inSomeOrder says which columns of constant rows these are in the order of: by one, and by those
// behind it where it and others before them are the same.
func inSomeOrder(x *plan.Inline) []bool {
	rows, n := x.Rows.Compact(), x.Rows.Rows()
	ordered := func(columns []int) bool {
		for r := 1; r < n; r++ {
			for _, c := range columns {
				a, b := valueAt(rows.Cols[c], r-1), valueAt(rows.Cols[c], r)
				if a == nil || b == nil {
					return false
				}
				if by := compareValues(cell(a), cell(b)); by > 0 {
					return false
				} else if by < 0 {
					break
				}
			}
		}
		return true
	}
	out := make([]bool, len(rows.Cols))
	for first := range rows.Cols {
		var columns []int
		for c := first; c < len(rows.Cols) && (c == first || len(columns) > 0); c++ {
			if with := append(slices.Clone(columns), c); ordered(with) {
				columns = with
				out[c] = true
			}
		}
	}
	return out
}

// readDirectly says which columns of its input a projection or an aggregation reads; nil: n is
// neither.
func readDirectly(n plan.Node) map[int]bool {
	out := map[int]bool{}
	switch x := n.(type) {
	case *plan.Project:
		for _, e := range x.Exprs {
			for _, c := range columnsOfExpr(e) {
				out[c] = true
			}
		}
	case *plan.Aggregate:
		for _, k := range x.Keys {
			out[k] = true
		}
		for _, k := range x.Order {
			out[k.Column] = true
		}
		for _, a := range x.Aggs {
			for _, i := range a.Args {
				out[i] = true
			}
			if a.Filter >= 0 {
				out[a.Filter] = true
			}
		}
	default:
		return nil
	}
	return out
}

// constantRowsOf are the constant rows that n is, under the names that it gives them; nil: it is
// something else.
func constantRowsOf(n plan.Node) *plan.Inline {
	switch x := n.(type) {
	case *plan.Inline:
		return x
	case *plan.Project:
		if isIdentity(x) {
			return constantRowsOf(x.Input)
		}
	}
	return nil
}

// groupsNeededSide reports whether groups by keys are by columns of that side of a FULL JOIN alone
// whose rows a condition needs: Druid leaves the join as it is. See quirk Q015.
func (r *rows) groupsNeededSide(keys []expr.Expr) bool {
	j := r.join
	if j == nil || j.full == nil || len(keys) == 0 {
		return false
	}
	return !slices.ContainsFunc(keys, func(k expr.Expr) bool {
		c, ok := k.(*expr.Column)
		return !ok || (c.Index < j.width) != (j.kind == plan.Left)
	})
}
