package native

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// unnest reads the unnesting of a multi-value key as nothing, for native grouping does it by
// itself, and any other as a datasource.
func (s *stage) unnest(x *plan.Unnest) (*stage, error) {
	list := x.Lists[0]
	e := s.cols[list.Column]
	if x.Outer && e.Type().Multi && s.onlyRows() {
		s.cols = append(append([]expr.Expr(nil), s.cols...), e)
		return s, nil
	}
	if !s.onlyRows() {
		var err error
		if s, err = s.nest(); err != nil {
			return nil, err
		}
		e = s.cols[list.Column]
	}
	if l, ok := e.(*expr.Literal); ok {
		return s.withRows(l, list.Elem)
	}
	s = s.unprunedText()
	e = s.cols[list.Column]
	var reads *relation
	if s.w.options.Text {
		var err error
		if reads, err = s.unnested(e); err != nil {
			return nil, err
		}
		s = s.underAlias()
		e = s.cols[list.Column]
	}
	// An array made of a multi-value string is the string itself here.
	typ := e.Type()
	if c, ok := e.(*expr.Call); ok && c.Fn.ListsValues {
		e, typ = stripCasts(c.Args[0]), expr.Of(expr.Varchar)
	}
	name := unusedPrefix("j", s.in) + "0.unnest"
	if s.w.options.Text {
		name = unusedName("UNNEST", s.in)
	}
	virtual := obj("type", "expression", "name", name, "expression", s.w.native(e), "outputType", runtimeName(typ))
	in := append(append([]column(nil), s.in...), column{name, list.Elem})
	out := s.w.newStage(obj("type", "unnest", "base", s.source, "virtualColumn", virtual, "unnestFilter", nil), in)
	out.cols = append(append([]expr.Expr(nil), s.cols...), &expr.Column{Index: len(in) - 1, Name: name, T: list.Elem})
	out.filter, out.intervals, out.elements, out.reads = s.filter, s.intervals, name, reads
	out.alias = list.Name
	return out, nil
}

// underAlias is s, if it is the rows of an unnest, with the name that the statement gives its
// elements: those above know them by it, in the text form.
func (s *stage) underAlias() *stage {
	last := len(s.in) - 1
	if s.alias == "" || s.source.get("type") != "unnest" {
		return s
	}
	out := *s
	out.in = slices.Clone(s.in)
	out.in[last].name = unusedName(s.alias, s.in[:last])
	named := func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && c.Index == last {
			return &expr.Column{Index: last, Name: out.in[last].name, T: c.T}
		}
		return e
	}
	out.cols = make([]expr.Expr, len(s.cols))
	for i, e := range s.cols {
		out.cols[i] = expr.Rewrite(e, named)
	}
	if s.filter != nil {
		out.filter = expr.Rewrite(s.filter, named)
	}
	return &out
}

// withRows joins s with the elements of a constant array, which are rows of their own.
func (s *stage) withRows(array *expr.Literal, elem expr.Type) (*stage, error) {
	list, _ := array.Value.([]any)
	rows := make([][]any, len(list))
	for i, v := range list {
		rows[i] = []any{shownConstant(v)}
	}
	const name = "EXPR$0"
	source := emptySource([]column{{name, elem}})
	for i := range source {
		if source[i].name == "rows" {
			source[i].value = rows
		}
	}
	if len(s.in) == 0 {
		out := s.w.newStage(source, []column{{name, elem}})
		out.cols = append(slices.Clone(s.cols), out.cols...)
		out.named = true
		return out, nil
	}
	s = s.unprunedText()
	right := s.w.newStage(source, []column{{name, elem}})
	j := &join{kind: plan.Inner, left: s.source, right: right, width: len(s.in), prefix: unusedPrefix("j", s.in) + "0."}
	element := column{j.prefix + name, elem}
	var reads *relation
	if s.w.options.Text {
		element.name = unusedName(name, s.in)
		if err := j.readSides(s, right); err != nil {
			return nil, err
		}
		reads = j.reads()
	}
	out := s.w.newStage(j.datasource(s.w, source), append(slices.Clone(s.in), element))
	out.cols = append(slices.Clone(s.cols), &expr.Column{Index: len(s.in), Name: element.name, T: elem})
	out.filter, out.intervals, out.reads, out.join = s.filter, s.intervals, reads, j
	return out, nil
}

// whereElements takes what a condition says of the elements of an unnest into it, and returns the
// rest.
func (r *rows) whereElements(cond expr.Expr) expr.Expr {
	var own, rest []expr.Expr
	for _, t := range plan.Split(cond) {
		if read := r.read([]expr.Expr{t}); len(read) == 1 && read[0].name == r.elements {
			own = append(own, t)
		} else {
			rest = append(rest, t)
		}
	}
	if len(own) == 0 {
		return cond
	}
	for i := range r.source {
		if r.source[i].name == "unnestFilter" {
			r.source[i].value = r.filterSpec(r.w.condition(plan.Conjunction(own)), nil)
		}
	}
	r.elements = ""
	if r.reads != nil {
		r.reads.last = strings.Replace(r.reads.last, noElementFilter, "", 1)
	}
	if len(rest) == 0 {
		return nil
	}
	return plan.Conjunction(rest)
}
