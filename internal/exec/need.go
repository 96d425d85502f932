package exec

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// columnSet collects which columns of a node are looked at.
type columnSet []bool

func newColumnSet(n plan.Node) columnSet { return make(columnSet, len(n.Columns())) }

// add adds columns; -1 stands for none.
func (s columnSet) add(columns ...int) columnSet {
	for _, c := range columns {
		if c >= 0 {
			s[c] = true
		}
	}
	return s
}

// addExpr adds the columns of an expression, which may be nil.
func (s columnSet) addExpr(e expr.Expr) columnSet {
	if e != nil {
		expr.Walk(e, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Column); ok {
				s[c.Index] = true
			}
			return true
		})
	}
	return s
}

// addSort adds the columns to order by.
func (s columnSet) addSort(keys []plan.SortKey) columnSet {
	for _, k := range keys {
		s[k.Column] = true
	}
	return s
}

// and returns need with those of more added; a nil need stays nil, which is all columns.
func and(need []bool, more columnSet) []bool {
	if need == nil {
		return nil
	}
	out := slices.Clone(need)
	for i, m := range more {
		out[i] = out[i] || m
	}
	return out
}

// unnestNeeds returns the input columns that an unnesting looks at when need of its columns are,
// nil: all.
func unnestNeeds(n *plan.Unnest, need []bool) []bool {
	if need == nil {
		return nil
	}
	s := newColumnSet(n.Input)
	copy(s, need)
	for _, l := range n.Lists {
		s.add(l.Column)
	}
	return s
}

// aggregateNeeds returns the input columns that an aggregation looks at.
func aggregateNeeds(n *plan.Aggregate) []bool {
	s := newColumnSet(n.Input).add(n.Keys...).addSort(n.Order)
	for _, c := range n.Aggs {
		s.add(c.Filter).add(c.Args...)
	}
	return s
}

// joinNeeds returns which of left's, right's and the condition's columns a join looks at, when of
// its output need is.
func joinNeeds(n *plan.Join, need []bool) (left, right, pairs []bool) {
	l, r := newColumnSet(n.Left), newColumnSet(n.Right)
	both := make(columnSet, len(l)+len(r)).addExpr(n.On)
	for i := range both {
		// Joins that give left columns only have a shorter need.
		both[i] = both[i] || need == nil || i < len(need) && need[i]
	}
	copy(l, both)
	copy(r, both[len(l):])
	for _, k := range n.Keys {
		l.add(k.Left)
		r.add(k.Right)
	}
	return l, r, both
}
