package native

import (
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// grouped are the groups that a query makes of its rows.
type grouped struct {
	node *plan.Aggregate
	// dims are the keys, args the columns of the Aggregate's input, over the stage's datasource.
	dims, args []expr.Expr
	having     expr.Expr
	// equalities are the keys that a condition gives one value.
	equalities map[int]*expr.Literal
	// unordered says that nobody asks for the order of the keys.
	unordered bool
}

// shows reports whether a column of the groups is output, by cols, or a condition on them reads it.
func (g *grouped) shows(cols []expr.Expr, column int) bool {
	found := false
	for _, e := range append(slices.Clone(cols), g.having) {
		if e != nil {
			expr.Rewrite(e, func(e expr.Expr) expr.Expr {
				if c, ok := e.(*expr.Column); ok && c.Index == column {
					found = true
				}
				return e
			})
		}
	}
	return found
}

// inOrder reports whether an order wanted is the one that groups come in: that of the dimensions.
func (g *grouped) inOrder(o *ordered) bool {
	if o.limit >= 0 || o.offset > 0 || g.node.Sets != nil || len(o.keys) > len(g.dims) {
		return false
	}
	if g.having != nil && g.showsAll(o.cols) {
		return false
	}
	for i, k := range o.keys {
		if c, ok := o.cols[k.Column].(*expr.Column); k.Desc || !ok || c.Index != i {
			return false
		}
	}
	return true
}

// showsAll reports whether all dimensions and aggregates are output, and nothing else.
func (g *grouped) showsAll(cols []expr.Expr) bool {
	for _, e := range cols {
		if !isColumn(e) {
			return false
		}
	}
	return len(cols) == len(g.dims)+len(g.node.Aggs)
}

// constantOutputs are the keys and aggregates that conditions give one value, where a projection is
// above the groups.
func (g *grouped) constantOutputs(o *ordered) map[int]*expr.Literal {
	if g.node.Sets != nil || g.showsAll(o.cols) && o.inPlace() {
		return nil
	}
	out := addEqualities(g.having, maps.Clone(g.equalities))
	if out == nil {
		out = map[int]*expr.Literal{}
	}
	for i, d := range g.dims {
		if l, ok := d.(*expr.Literal); ok {
			out[i] = l
		}
	}
	return out
}

// constantKeys returns the keys of the groups that are constants and need not be grouped by: they
// are computed behind the groups where anything else is, or where they are not output.
func (g *grouped) constantKeys(o *ordered) []int {
	var out []int
	if g.node.Sets != nil {
		return nil
	}
	computes := !g.showsAll(o.cols) || !o.inPlace()
	for i, d := range g.dims {
		if _, ok := d.(*expr.Literal); ok && (computes || !g.shows(o.cols, i)) {
			out = append(out, i)
		}
	}
	return out
}

// withKeys is e, over the groups, with the constants that keys are.
func (g *grouped) withKeys(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && c.Index < len(g.dims) {
			if l, ok := g.dims[c.Index].(*expr.Literal); ok {
				return l
			}
		}
		return e
	})
}

// countsInSets reports whether groups are those of which distinct values are counted, by nothing
// else.
func (g *grouped) countsInSets() bool {
	aggs, sets := g.node.Aggs, g.node.Sets
	return len(sets) > 0 && len(sets[0]) == 1 && len(aggs) > 0 && aggs[len(aggs)-1].Name == setNumber
}

// readBy says which columns of the groups the condition on them and the groups that x
// makes of their output, cols, read.
func (g *grouped) readBy(x *plan.Aggregate, cols []expr.Expr) []bool {
	used := make([]bool, len(g.node.Columns()))
	read := func(e expr.Expr) {
		for _, c := range columnsOfExpr(e) {
			used[c] = true
		}
	}
	if g.having != nil {
		read(g.having)
	}
	for _, k := range x.Keys {
		read(cols[k])
	}
	for _, a := range x.Aggs {
		for _, i := range a.Args {
			read(cols[i])
		}
		if a.Filter >= 0 {
			read(cols[a.Filter])
		}
	}
	return used
}
