package nativejson

import (
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// A column that a condition gives one value is that value for the reference, where a constant is cheaper to have: beside what is computed, in an order,
// and among many columns.

// manyColumns is how many columns there are for each constant where constants are cheaper.
const manyColumns = 4

// fixed returns the columns that the condition gives one value.
func (s *stage) fixed() map[int]*expr.Literal {
	out := maps.Clone(s.values)
	if s.filter == nil {
		return out
	}
	for _, t := range plan.Split(s.filter) {
		c, ok := t.(*expr.Call)
		if !ok {
			continue
		}
		column, isColumn := c.Args[0].(*expr.Column)
		if !isColumn || column.T.Multi {
			continue
		}
		value := &expr.Literal{T: column.T}
		switch {
		case c.Fn.Name == "IS NULL":
		case c.Fn.Name == "=" && len(c.Args) == 2:
			l, ok := c.Args[1].(*expr.Literal)
			if !ok || l.Value == nil {
				continue
			}
			value.Value = l.Value
		default:
			continue
		}
		if out == nil {
			out = map[int]*expr.Literal{}
		}
		out[column.Index] = value
	}
	return out
}

// withFixed returns what is computed and read of the datasource, with the constants that the condition makes of its columns.
func (s *stage) withFixed(cols []expr.Expr, values map[int]*expr.Literal) []expr.Expr {
	if values == nil {
		return cols
	}
	out := make([]expr.Expr, len(cols))
	constants, computed := 0, len(s.keys) > 0 || s.source.get("type") == "join"
	for i, e := range cols {
		out[i] = s.computedFrom(values, e)
		if !isColumn(e) {
			computed = true
		} else if !isColumn(out[i]) {
			constants++
		}
	}
	if !computed && len(cols) < manyColumns*constants {
		return cols
	}
	return out
}

// chosen returns the columns of a query without groups, with their constants. Of one or two columns of a join those are read that its rows are chosen by.
func (s *stage) chosen() []expr.Expr {
	if s.join != nil && s.join.crossed {
		return s.cols
	}
	if s.join != nil && !s.join.changed && len(s.cols) <= 2 {
		return s.withFixed(s.cols, s.values)
	}
	return s.withFixed(s.cols, s.fixed())
}

// computedFrom is e over columns some of which have a value; a constant if all have.
func (s *stage) computedFrom(values map[int]*expr.Literal, e expr.Expr) expr.Expr {
	read, open := false, false
	over := expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		if !ok {
			return e
		}
		if v := values[c.Index]; v != nil {
			read = true
			return v
		}
		open = true
		return e
	})
	if !read || open {
		return e
	}
	folded, err := expr.Fold(over, &s.w.options.Expr)
	if l, ok := folded.(*expr.Literal); err == nil && ok {
		return &expr.Literal{Value: l.Value, T: e.Type()}
	}
	return e
}

// constantKeys returns the keys of the groups that are constants and need not be grouped by: they are computed behind the groups where anything else is, or
// where they are not output.
func (s *stage) constantKeys() []int {
	var out []int
	if s.group.node.Sets != nil || s.group.having != nil {
		return nil
	}
	computes := slices.ContainsFunc(s.cols, func(e expr.Expr) bool { return !isColumn(e) })
	for i, d := range s.group.dims {
		if _, ok := d.(*expr.Literal); ok && (computes || !s.shows(i)) {
			out = append(out, i)
		}
	}
	return out
}

// withKeys is e, over the groups, with the constants that keys are.
func (g *group) withKeys(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && c.Index < len(g.dims) {
			if l, ok := g.dims[c.Index].(*expr.Literal); ok {
				return l
			}
		}
		return e
	})
}
