package native

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// joinLists joins a table with the lists that its rows must have a value of, where Druid takes a
// list for a relation: one with NULL in it, or with as many values as the context parameter
// inSubQueryThreshold says. It returns the other conditions. See quirk Q015.
func (s *stage) joinLists(cond expr.Expr) (expr.Expr, error) {
	if cond == nil || s.w.stepwise || !slices.ContainsFunc(plan.Split(cond), s.w.isJoined) {
		return cond, nil
	}
	if s.w.options.Text {
		s.filter = cond
		*s = *s.unpruned()
		cond, s.filter = s.filter, nil
	}
	var rest []expr.Expr
	for _, t := range plan.Split(cond) {
		if !s.w.isJoined(t) {
			rest = append(rest, t)
			continue
		}
		in, _ := t.(*expr.In)
		if err := s.joinList(in); err != nil {
			return nil, err
		}
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return plan.Conjunction(rest), nil
}

// isJoined reports whether a condition is a list that is joined.
func (w *writer) isJoined(t expr.Expr) bool {
	in, ok := t.(*expr.In)
	return ok && len(in.Values) > 0 && (in.HasNull || len(in.Values) >= w.listThreshold()) && !isMulti(in.X)
}

// listThreshold is how many values make a list a relation; without the parameter no number does.
func (w *writer) listThreshold() int {
	if n, err := querycontext.InSubQuery.Or(w.options.Context, math.MaxInt); err == nil {
		return n
	}
	return int(^uint(0) >> 1)
}

func (s *stage) joinList(in *expr.In) error {
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
	j := &join{kind: plan.Inner, left: s.source, prefix: prefix, terms: []expr.Expr{test("=", in.X, value)}}
	if s.w.options.Text {
		value.Name = unusedName(name, s.in)
		if err := j.readSides(s, s.w.newStage(list, []column{{name, typ}})); err != nil {
			return err
		}
		s.reads = j.reads()
	}
	s.source = j.datasource(s.w, list)
	s.in = append(slices.Clone(s.in), column{value.Name, typ})
	s.isTable = false
	return nil
}
