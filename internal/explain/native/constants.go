package native

import (
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// showConstants makes rows of a statement that reads nothing: constants are a row under the names
// of the output, and what can't be computed beforehand is computed over one row with a zero.
func (s *stage) showConstants(names []string) {
	s.nameRows(names)
	if len(s.in) > 0 || s.group != nil || s.operator != "" || s.filter != nil || s.source.get("type") != "inline" || len(s.cols) == 0 {
		return
	}
	if rows, ok := s.source.get("rows").([][]any); !ok || len(rows) != 1 {
		return
	}
	row, types := make([]any, len(s.cols)), make([]any, len(s.cols))
	typed := false
	for i, e := range s.cols {
		l, ok := e.(*expr.Literal)
		if t := e.Type().Base; !ok || t == expr.Array || t == expr.Other || i >= len(names) || slices.Contains(names[:i], names[i]) || s.w.isRetyped(i, l) {
			s.source = obj("type", "inline", "columnNames", []string{"ZERO"}, "columnTypes", []string{"LONG"}, "rows", [][]any{{0}})
			return
		}
		row[i] = shownConstant(l.Value)
		if l.T.Base != expr.Null {
			types[i], typed = runtimeName(l.T), true
		}
	}
	out := make([]column, len(s.cols))
	for i, e := range s.cols {
		out[i] = column{names[i], e.Type()}
		s.cols[i] = &expr.Column{Index: i, Name: names[i], T: e.Type()}
	}
	s.in = out
	s.source = obj("type", "inline", "columnNames", names[:len(out)])
	if typed {
		s.source.set("columnTypes", types)
	}
	s.source.set("rows", [][]any{row})
}

// nameRows gives constant rows that are output as they are the names of the output.
func (s *stage) nameRows(names []string) {
	if s.named || s.group != nil || s.operator != "" || s.source.get("type") != "inline" || len(s.cols) != len(s.in) || len(names) != len(s.in) || len(s.in) == 0 {
		return
	}
	for i, e := range s.cols {
		if c, ok := e.(*expr.Column); !ok || c.Index != i || slices.Contains(names[:i], names[i]) {
			return
		}
	}
	shown := make(object, len(s.source))
	for i, m := range s.source {
		if m.name == "columnNames" {
			m.value = names
		}
		shown[i] = m
	}
	s.source = shown
	byIndex := func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return &expr.Column{Index: c.Index, Name: names[c.Index], T: c.T}
		}
		return e
	}
	for i := range s.in {
		s.in[i].name = names[i]
		s.cols[i] = byIndex(s.cols[i])
	}
	if s.filter != nil {
		s.filter = expr.Rewrite(s.filter, byIndex)
	}
}

// shownConstant is a constant as a cell of a row.
func shownConstant(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return number(v)
	case float32:
		return number(float64(v))
	}
	return v
}

func emptySource(columns []column) object {
	names, types := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], types[i] = c.name, runtimeName(c.typ)
	}
	return obj("type", "inline", "columnNames", names, "columnTypes", types, "rows", [][]any{})
}

// showEmpty makes rows of a statement whose condition is never true: none, or the one that
// aggregates of no rows are. Where several columns are read Druid finds that out too late: the
// query stays, over no rows. See quirk Q015.
func (s *stage) showEmpty(names []string) {
	rows, isInline := s.source.get("rows").([][]any)
	none := isInline && len(rows) == 0
	if s.operator != "" || s.contradicted == nil && !(none && s.group != nil) {
		return
	}
	outer := func() []column {
		out := make([]column, len(s.cols))
		for i, e := range s.cols {
			out[i] = column{typ: e.Type()}
			if c, ok := e.(*expr.Column); ok {
				out[i].name = c.Name
			}
			if s.pick == nil && i < len(names) {
				out[i].name = names[i]
			}
		}
		return out
	}
	if s.group == nil {
		if len(s.contradicted) > 1 || s.limit >= 0 || s.offset > 0 || s.sorted {
			used := s.read(append(slices.Clone(s.cols), columnsExprs(s.in, s.contradicted)...))
			if len(s.contradicted) <= 1 {
				used = s.read(s.cols)
			}
			if len(s.keys) > 0 {
				s.keys, s.limit, s.offset = nil, -1, 0
			}
			s.become(emptySource(used))
			return
		}
		in := outer()
		s.rowsOf(emptySource(in), in)
		return
	}
	g := s.group
	if g.having != nil || g.node.Sets != nil {
		return
	}
	var args []expr.Expr
	for _, a := range g.node.Aggs {
		for _, i := range a.Args {
			args = append(args, g.args[i])
		}
		if a.Filter >= 0 {
			args = append(args, g.args[a.Filter])
		}
	}
	used := s.read(slices.Concat(g.dims, args, columnsExprs(s.in, s.contradicted)))
	switch {
	case len(s.contradicted) > 1 || len(g.dims) == 0 && (len(used) > 1 || slices.ContainsFunc(g.node.Aggs, needsGroup)) || (s.limit >= 0 || s.offset > 0) && len(s.keys) > 0:
		s.become(emptySource(used))
	case len(g.dims) > 0:
		in := outer()
		if elsewhere := s.read(slices.Concat(g.dims, args)); len(elsewhere) < len(used) && !slices.ContainsFunc(g.dims, func(e expr.Expr) bool { return !isColumn(e) }) {
			for i, e := range s.cols { // quirk Q015: columns that are only in the condition make Druid lose the names of aggregates
				if c, ok := e.(*expr.Column); ok && c.Index >= len(g.dims) {
					in[i].name, s.named = "$f"+strconv.Itoa(c.Index), true
				}
			}
		}
		if len(g.node.Aggs) > 0 {
			s.limit, s.offset = -1, 0
		}
		s.rowsOf(emptySource(in), in)
	default:
		s.noGroup(outer())
	}
}

// needsGroup reports whether Druid computes an aggregate of no rows, too. See quirk Q015.
func needsGroup(a plan.AggCall) bool {
	return a.Filter >= 0 || !functionOf(&a).FollowsFromNothing()
}

// noGroup is the row of aggregates without keys over no rows.
func (s *stage) noGroup(outer []column) {
	g := s.group
	row, in := make([]any, len(g.node.Aggs)), make([]column, len(g.node.Aggs))
	for i, a := range g.node.Aggs {
		if functionOf(&a).EmptyIsZero {
			row[i] = 0
		}
		in[i] = column{"$f" + strconv.Itoa(i), a.Type}
	}
	plainly := len(s.cols) == len(in)
	for i, e := range s.cols {
		c, ok := e.(*expr.Column)
		plainly = plainly && ok && c.Index == i
	}
	if plainly {
		in = outer
	}
	cols := s.cols
	s.limit = s.w.limit
	source := emptySource(in)
	for i := range source {
		if source[i].name == "rows" {
			source[i].value = [][]any{row}
		}
	}
	s.rowsOf(source, in)
	if !plainly {
		s.cols = nil
		for _, e := range cols {
			s.cols = append(s.cols, expr.Rewrite(e, func(e expr.Expr) expr.Expr {
				if c, ok := e.(*expr.Column); ok {
					return &expr.Column{Index: c.Index, Name: in[c.Index].name, T: c.T}
				}
				return e
			}))
		}
	}
}

// rowsOf gives the stage a datasource whose columns are output as they are.
func (s *stage) rowsOf(source object, in []column) {
	s.become(source)
	s.in, s.group, s.keys, s.cols = in, nil, nil, allOf(in)
}

// allOf are the columns of a datasource as expressions.
func allOf(in []column) []expr.Expr {
	var out []expr.Expr
	for i, c := range in {
		out = append(out, &expr.Column{Index: i, Name: c.name, T: c.typ})
	}
	return out
}

// columnsExprs are some columns of a datasource as expressions.
func columnsExprs(in, some []column) []expr.Expr {
	var out []expr.Expr
	for i, c := range in {
		if slices.Contains(some, c) {
			out = append(out, &expr.Column{Index: i, Name: c.name, T: c.typ})
		}
	}
	return out
}
