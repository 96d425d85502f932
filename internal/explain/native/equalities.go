package native

import (
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// A column that a condition gives one value is that value for Druid where a projection reads it.
// There is none where all columns that are read of a datasource are chosen, in its order, and none
// where groups are output as they are. See quirk Q015.

// equalities returns the columns that the condition gives one value.
func (r *rows) equalities() map[int]*expr.Literal {
	return addEqualities(r.filter, maps.Clone(r.values))
}

// addEqualities adds the columns that a condition gives one value.
func addEqualities(cond expr.Expr, out map[int]*expr.Literal) map[int]*expr.Literal {
	if cond == nil {
		return out
	}
	for _, t := range plan.Split(cond) {
		c, ok := t.(*expr.Call)
		if !ok {
			continue
		}
		column, isColumn := c.Args[0].(*expr.Column)
		if !isColumn {
			continue
		}
		value := &expr.Literal{T: column.T}
		if column.T.Multi {
			value.T = column.T.Elem()
		}
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

// withFixed returns what is computed and read of the datasource, with the constants that the
// condition makes of its columns. read are the columns in the order in which they are chosen.
func (r *rows) withFixed(cols []expr.Expr, values map[int]*expr.Literal, read []expr.Expr) []expr.Expr {
	if values == nil || (r.join != nil || r.source.get("type") != "join") && r.isAllRead(read) {
		return cols
	}
	out := make([]expr.Expr, len(cols))
	for i, e := range cols {
		out[i] = r.computedFrom(values, plain(e))
	}
	return out
}

// isAllRead reports whether what is chosen of a datasource is all that is read of it, in its order.
// Of all columns of a table it is not.
func (r *rows) isAllRead(chosen []expr.Expr) bool {
	if r.named && r.source.get("type") == "inline" {
		return false // the elements of a constant array are chosen of it
	}
	read := slices.Clone(chosen)
	if r.filter != nil {
		read = append(read, r.filter)
	}
	if r.join != nil {
		read = append(read, r.join.terms...)
	}
	used := r.read(read)
	if r.intervals != nil && r.rowNames != nil && !slices.ContainsFunc(used, func(c column) bool { return c.name == plan.TimeColumn }) {
		return false // the time is read, and not chosen
	}
	if r.join != nil && (r.join.onlyJoined || r.join.ofTables && len(used) == len(r.in)) {
		return false
	}
	if len(used) != len(chosen) || r.rowNames != nil && len(used) == len(r.rowNames) {
		return false
	}
	for i, e := range chosen {
		if c, ok := e.(*expr.Column); !ok || r.in[c.Index].name != used[i].name {
			return false
		}
	}
	return true
}

// chosen returns the columns of a query without groups, with their constants.
func (s *stage) chosen() []expr.Expr {
	return s.withFixed(s.cols, s.equalities(), s.cols)
}

// computedFrom is e over columns some of which have a value; a constant if all have.
func (r *rows) computedFrom(values map[int]*expr.Literal, e expr.Expr) expr.Expr {
	read := false
	over := expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && values[c.Index] != nil {
			read = true
			return values[c.Index]
		}
		return e
	})
	if !read {
		return e
	}
	folded, err := expr.Fold(over, &r.w.options.Expr)
	if err != nil {
		return e
	}
	if l, ok := folded.(*expr.Literal); ok {
		return &expr.Literal{Value: l.Value, T: e.Type()}
	}
	return folded
}

// withConstants is e with constants in place of columns.
func withConstants(e expr.Expr, values map[int]*expr.Literal) expr.Expr {
	if len(values) == 0 {
		return e
	}
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && values[c.Index] != nil {
			return values[c.Index]
		}
		return e
	})
}
