package nativejson

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// showConstants makes rows of a statement that reads nothing: constants are a row under the names of the output, and what can't be computed
// beforehand is computed over one row with a zero.
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
		if t := e.Type().Base; !ok || t == expr.Array || t == expr.Other || i >= len(names) || slices.Contains(names[:i], names[i]) {
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
	if s.group != nil || s.operator != "" || s.source.get("type") != "inline" || len(s.cols) != len(s.in) || len(names) != len(s.in) || len(s.in) == 0 {
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
