package nativejson

import (
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// A column that a condition gives one value is that value for the reference where a projection
// reads it. There is none where all columns that are read of a datasource are chosen, in its order,
// and none where groups are output as they are.

// fixed returns the columns that the condition gives one value.
func (s *stage) fixed() map[int]*expr.Literal {
	return given(s.filter, maps.Clone(s.values))
}

// given adds the columns that a condition gives one value.
func given(cond expr.Expr, out map[int]*expr.Literal) map[int]*expr.Literal {
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
func (s *stage) withFixed(cols []expr.Expr, values map[int]*expr.Literal, read []expr.Expr) []expr.Expr {
	if values == nil || (s.join != nil || s.source.get("type") != "join") && s.isAllRead(read) {
		return cols
	}
	out := make([]expr.Expr, len(cols))
	for i, e := range cols {
		out[i] = s.computedFrom(values, plain(e))
	}
	return out
}

// isAllRead reports whether what is chosen of a datasource is all that is read of it, in its order.
// Of all columns of a table it is not.
func (s *stage) isAllRead(chosen []expr.Expr) bool {
	if s.named && s.source.get("type") == "inline" {
		return false // the elements of a constant array are chosen of it
	}
	read := slices.Clone(chosen)
	if s.filter != nil {
		read = append(read, s.filter)
	}
	if s.join != nil {
		read = append(read, s.join.terms...)
	}
	used := s.read(read)
	if s.intervals != nil && s.rowNames != nil && !slices.ContainsFunc(used, func(c column) bool { return c.name == plan.TimeColumn }) {
		return false // the time is read, and not chosen
	}
	if s.join != nil && (s.join.onlyJoined || s.join.ofTables && len(used) == len(s.in)) {
		return false
	}
	if len(used) != len(chosen) || s.rowNames != nil && len(used) == len(s.rowNames) {
		return false
	}
	for i, e := range chosen {
		if c, ok := e.(*expr.Column); !ok || s.in[c.Index].name != used[i].name {
			return false
		}
	}
	return true
}

// keysAndArgs are the keys and arguments of an aggregation in the order in which they are chosen,
// each once.
func (s *stage) keysAndArgs(x *plan.Aggregate) []expr.Expr {
	var out []expr.Expr
	add := func(i int) {
		if !slices.ContainsFunc(out, func(e expr.Expr) bool { return expr.Equal(e, s.cols[i]) }) {
			out = append(out, s.cols[i])
		}
	}
	for _, k := range x.Keys {
		add(k)
	}
	for _, a := range x.Aggs {
		args := a.Args
		if name := a.Agg.Name; (name == "LATEST" || name == "EARLIEST") && len(args) > 1 {
			args = args[:1] // the time is not written
		}
		for _, i := range args {
			add(i)
		}
		if a.Filter >= 0 {
			add(a.Filter)
		}
		if len(a.Agg.Params) > 0 {
			out = append(out, always) // constants are chosen, too
		}
	}
	return out
}

// constantOutputs are the keys and aggregates that conditions give one value, where a projection is
// above the groups.
func (s *stage) constantOutputs() map[int]*expr.Literal {
	g := s.group
	if g.node.Sets != nil || s.showsAll() && s.inPlace() {
		return nil
	}
	out := given(g.having, maps.Clone(g.fixed))
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

// inPlace reports whether the columns of the groups are output in their order.
func (s *stage) inPlace() bool {
	for i, e := range s.cols {
		if c, ok := e.(*expr.Column); !ok || c.Index != i {
			return false
		}
	}
	return true
}

// chosen returns the columns of a query without groups, with their constants.
func (s *stage) chosen() []expr.Expr {
	return s.withFixed(s.cols, s.fixed(), s.cols)
}

// computedFrom is e over columns some of which have a value; a constant if all have.
func (s *stage) computedFrom(values map[int]*expr.Literal, e expr.Expr) expr.Expr {
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
	folded, err := expr.Fold(over, &s.w.options.Expr)
	if err != nil {
		return e
	}
	if l, ok := folded.(*expr.Literal); ok {
		return &expr.Literal{Value: l.Value, T: e.Type()}
	}
	return folded
}

// constantKeys returns the keys of the groups that are constants and need not be grouped by: they
// are computed behind the groups where anything else is, or where they are not output.
func (s *stage) constantKeys() []int {
	var out []int
	if s.group.node.Sets != nil {
		return nil
	}
	computes := !s.showsAll() || !s.inPlace()
	for i, d := range s.group.dims {
		if _, ok := d.(*expr.Literal); ok && (computes || !s.shows(i)) {
			out = append(out, i)
		}
	}
	return out
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
