package nativejson

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// joinLists joins a table with the lists that its rows must have a value of, where the reference takes a list for a relation: one with NULL in it, or with as
// many values as the context parameter inSubQueryThreshold says. It returns the other conditions.
func (s *stage) joinLists(cond expr.Expr) expr.Expr {
	if cond == nil || s.w.asItIs {
		return cond
	}
	var rest []expr.Expr
	for _, t := range plan.Split(cond) {
		in, ok := t.(*expr.In)
		if !ok || len(in.Values) == 0 || !in.HasNull && len(in.Values) < s.w.listThreshold() || isMulti(in.X) {
			rest = append(rest, t)
			continue
		}
		s.joinList(in)
	}
	if len(rest) == 0 {
		return nil
	}
	return plan.Conjunction(rest)
}

// listThreshold is how many values make a list a relation; without the parameter no number does.
func (w *writer) listThreshold() int {
	if n, err := strconv.Atoi(fmt.Sprint(w.option("inSubQueryThreshold"))); err == nil {
		return n
	}
	return int(^uint(0) >> 1)
}

func (s *stage) joinList(in *expr.In) {
	const name = "ROW_VALUE"
	typ := in.X.Type()
	rows := make([][]any, 0, len(in.Values)+1)
	for _, v := range in.Values {
		rows = append(rows, []any{shownConstant(v)})
	}
	if in.HasNull {
		rows = append(rows, []any{nil})
	}
	list := obj("type", "inline", "columnNames", []string{name}, "columnTypes", []string{runtimeName(typ)}, "rows", rows)
	prefix := unusedPrefix("j", s.in) + "0."
	value := &expr.Column{Index: len(s.in), Name: prefix + name, T: typ}
	s.in = append(slices.Clone(s.in), column{value.Name, typ})
	s.source = obj("type", "join", "left", s.source, "right", list, "rightPrefix", prefix, "condition", s.w.native(test("=", in.X, value)), "joinType", "INNER")
	s.isTable = false
}
