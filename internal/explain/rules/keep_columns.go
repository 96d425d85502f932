package rules

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// keepColumns is prune_columns, but that constant rows keep their columns, and unions that are only
// counted the last of them. What only the filter of a side of a join reads goes.
var keepColumns = plan.NewRule("prune_columns", func(n plan.Node, _ expr.Context) plan.Node {
	k := columnKeeper{sides: map[plan.Node]int{}}
	return (&plan.Pruner{Instead: k.prune}).Whole(n)
})

// columnKeeper prunes what keepColumns prunes in a way of its own. sides are the nodes that are a
// side of a join above, by how often.
type columnKeeper struct{ sides map[plan.Node]int }

func (k columnKeeper) prune(p *plan.Pruner, n plan.Node, need []bool) (plan.Node, []int, bool) {
	if k.sides[n] == 0 {
		return k.plainly(p, n, need)
	}
	k.sides[n]--
	out, to, ok := k.plainly(p, n, need)
	if !ok {
		out, to = p.Default(n, need)
	}
	out, to = narrowed(out, to, need)
	return out, to, true
}

// plainly is prune for what is no side of a join.
func (k columnKeeper) plainly(p *plan.Pruner, n plan.Node, need []bool) (plan.Node, []int, bool) {
	switch x := n.(type) {
	case *plan.Inline:
		to := make([]int, len(need))
		for i := range to {
			to[i] = i
		}
		return n, to, true
	case *plan.Union:
		if slices.Contains(need, true) {
			return nil, nil, false
		}
		need = slices.Clone(need)
		need[len(need)-1] = true
		out, to := p.Default(x, need)
		return out, to, true
	case *plan.Join:
		outer := x.Kind == plan.Left || x.Kind == plan.Right || x.Kind == plan.Full
		if (x.Kind == plan.Inner || outer) && !joinsSubquery(x) {
			k.sides[x.Left]++
			k.sides[x.Right]++
		}
	}
	return nil, nil, false
}

// narrowed leaves of a side of a join that is filtered only what the join reads. to is where the
// columns of the side went.
func narrowed(in plan.Node, to []int, need []bool) (plan.Node, []int) {
	_, filtered := in.(*plan.Filter)
	if scan, ok := in.(*plan.Scan); ok {
		filtered = scan.Filter != nil
	}
	if !filtered {
		return in, to
	}
	var keep []int
	kept := slices.Repeat([]int{-1}, len(need))
	for i, needed := range need {
		if needed {
			kept[i] = len(keep)
			keep = append(keep, to[i])
		}
	}
	if len(keep) == plan.Width(in) {
		return in, to
	}
	return plan.Select(in, keep), kept
}

// joinsSubquery reports whether a join finds the values of a correlated subquery.
func joinsSubquery(x *plan.Join) bool {
	cols := x.Right.Columns()
	return slices.ContainsFunc(x.Keys, func(k plan.EquiKey) bool { return cols[k.Right].Name == plan.OuterColumn })
}
