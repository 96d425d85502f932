package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// lateValues are what a subquery computes of aggregates over all of its rows. They are computed
// after the join with the outer rows: an outer row without a partner has the NULLs there that the
// aggregates are over no rows, or is given the 0 that counts are, so that nothing has to be made up
// for it before.
type lateValues struct {
	of    *plan.Aggregate
	exprs []expr.Expr // over its columns, and outer ones
	names []string
}

// lateValuesOf takes a subquery apart; nil if it is no such one.
func lateValuesOf(n plan.Node) *lateValues {
	switch x := n.(type) {
	case *plan.Project:
		late := lateValuesOf(x.Input)
		if late == nil {
			return nil
		}
		exprs := make([]expr.Expr, len(x.Exprs))
		for i, e := range x.Exprs {
			if usesOuter(e) || plan.IsOvergrown(e, late.exprs) {
				return nil
			}
			exprs[i] = expr.Rewrite(e, func(e expr.Expr) expr.Expr {
				if c, ok := e.(*expr.Column); ok {
					return late.exprs[c.Index]
				}
				return e
			})
		}
		return &lateValues{late.of, exprs, x.Names}
	case *plan.Aggregate:
		if len(x.Keys) > 0 || x.Sets != nil {
			return nil
		}
		late := &lateValues{of: x}
		for i, c := range x.Columns() {
			late.exprs, late.names = append(late.exprs, columnOf(x, i)), append(late.names, c.Name)
		}
		return late
	}
	return nil
}

// over computes the values over a join whose right columns begin with the aggregates.
func (l *lateValues) over(j *plan.Join) (plan.Node, error) {
	width := plan.Width(j.Left)
	aggregates := make([]expr.Expr, len(l.of.Aggs))
	plain := len(l.exprs) == len(aggregates)
	for i, a := range l.of.Aggs {
		aggregates[i] = columnOf(j, width+i)
		if !emptyIsZero(a) {
			continue
		}
		plain = false
		var err error
		if aggregates[i], err = zeroForNull(aggregates[i]); err != nil {
			return nil, err
		}
	}
	for i, e := range l.exprs {
		c, ok := e.(*expr.Column)
		plain = plain && ok && c.Index == i
	}
	if plain {
		return j, nil
	}
	p := plan.Select(j, firstN(width))
	for i, e := range l.exprs {
		p.Exprs = append(p.Exprs, expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok {
				return aggregates[c.Index]
			}
			return e
		}))
		p.Names = append(p.Names, l.names[i])
	}
	return p, nil
}
