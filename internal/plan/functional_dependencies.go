package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// functionalDependencies removes from a grouping the keys that the keys before them determine,
// constants among them, and computes them from the groups. At least one key stays: a grouping
// without keys has a group even over no rows. The order of the groups stays as it is.
func (o *optimizer) functionalDependencies(n Node) Node {
	n = MapInputs(n, o.functionalDependencies)
	a, ok := n.(*Aggregate)
	if !ok || a.Sets != nil || len(a.Keys) < 2 {
		return n
	}
	p, ok := a.Input.(*Project)
	if !ok {
		return n
	}
	keep, to := keptKeys(a, p)
	if len(keep) == len(a.Keys) {
		return n
	}
	o.fired()
	c := *a
	c.Keys = moveAll(keep, a.Keys)
	out, columns := &Project{Input: &c}, c.Columns()
	for i, column := range a.Columns() {
		var e expr.Expr
		switch {
		case i >= len(a.Keys):
			e = columnRefOf(columns, i-len(a.Keys)+len(keep))
		case to[i] >= 0:
			e = columnRefOf(columns, to[i])
		default:
			e = replaceColumns(p.Exprs[a.Keys[i]], func(x *expr.Column) expr.Expr {
				return columnRefOf(columns, slices.IndexFunc(c.Keys, func(k int) bool { return isColumn(p.Exprs[k], x.Index) }))
			})
		}
		out.Exprs, out.Names = append(out.Exprs, e), append(out.Names, column.Name)
	}
	return out
}

// keptKeys returns which keys must stay, and by key its place among them, -1: it is determined by
// others.
func keptKeys(a *Aggregate, p *Project) (keep, to []int) {
	to = make([]int, len(a.Keys))
	for i, k := range a.Keys {
		to[i] = -1
		e := p.Exprs[k]
		before := func(column int) bool {
			return slices.ContainsFunc(keep, func(j int) bool { return isColumn(p.Exprs[a.Keys[j]], column) })
		}
		last := i == len(a.Keys)-1 && len(keep) == 0
		if !last && !IsVolatile(e) && ReadsOnly(e, before) {
			continue
		}
		to[i] = len(keep)
		keep = append(keep, i)
	}
	return keep, to
}

// isColumn reports whether e is column c and nothing else.
func isColumn(e expr.Expr, c int) bool {
	x, ok := e.(*expr.Column)
	return ok && x.Index == c
}
