package sql

import (
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// pivot binds x PIVOT (aggregates FOR axes IN (values)): it groups by the columns that neither the
// aggregates nor the axes name, and has one column per value and aggregate, over the rows whose
// axes have that value.
func (blk *block) pivot(x *syntax.Pivot) (source, error) {
	s, err := blk.table(x.X)
	if err != nil {
		return source{}, err
	}
	used := map[string]bool{}
	note := func(n syntax.Node) bool {
		if name, ok := n.(*syntax.Name); ok {
			used[name.Parts[len(name.Parts)-1].Name] = true
		}
		return true
	}
	for _, a := range x.Axes {
		note(a)
	}
	for i := range x.Aggregates {
		syntax.Walk(x.Aggregates[i].X, note)
	}
	sel := &syntax.Select{Pos: x.Pos, GroupBy: &syntax.GroupBy{Pos: x.Pos}}
	stars, err := s.scope.star(&syntax.Star{})
	if err != nil {
		return source{}, err
	}
	for _, c := range stars {
		if used[c.name] {
			continue
		}
		name := &syntax.Name{Pos: x.Pos, Parts: []syntax.Ident{{Pos: x.Pos, Name: c.name, Quoted: true}}}
		sel.Items = append(sel.Items, syntax.SelectItem{Pos: x.Pos, X: name})
		sel.GroupBy.Items = append(sel.GroupBy.Items, &syntax.GroupExpr{Pos: x.Pos, X: name})
	}
	if len(sel.GroupBy.Items) == 0 {
		sel.GroupBy.Items = []syntax.GroupItem{&syntax.GroupTuple{Pos: x.Pos}}
	}
	for _, v := range x.Values {
		if len(v.Items) != len(x.Axes) {
			return source{}, fault.InvalidSQL(v.At, "Value count in PIVOT (%d) must match number of FOR columns (%d)", len(v.Items), len(x.Axes))
		}
		for _, a := range x.Aggregates {
			item, err := pivotItem(x, &v, &a)
			if err != nil {
				return source{}, err
			}
			sel.Items = append(sel.Items, item)
		}
	}
	inner := newBlock(blk.b, blk.in)
	inner.node, inner.scope = s.node, s.scope
	rel, err := inner.selectRest(sel, nil, -1, 0)
	if err != nil {
		return source{}, err
	}
	return sourceOf(rel, x.At), nil
}

// pivotItem returns "aggregate FILTER (WHERE axis = value) AS name". A value without a name is
// called as it is written, a text with its quotes.
func pivotItem(x *syntax.Pivot, v *syntax.PivotValue, a *syntax.SelectItem) (syntax.SelectItem, error) {
	call, ok := a.X.(*syntax.Call)
	if !ok || !isAggregate(call.Name) {
		return syntax.SelectItem{}, fault.InvalidSQL(a.At, "Measure expression in PIVOT must use aggregate function")
	}
	var terms []syntax.Expr
	var name strings.Builder
	name.WriteString(v.Alias.Name)
	for i, axis := range x.Axes {
		terms = append(terms, &syntax.Binary{Pos: v.Pos, Op: syntax.Equal, Left: axis, Right: v.Items[i]})
		if v.Alias.Name == "" {
			if i > 0 {
				name.WriteString("_")
			}
			name.WriteString(syntax.Print(v.Items[i]))
		}
	}
	if a.Alias.Name != "" {
		name.WriteString("_" + a.Alias.Name)
	}
	if call.Filter != nil {
		terms = append(terms, call.Filter)
	}
	filtered := *call
	filtered.Filter = terms[0]
	if len(terms) > 1 {
		filtered.Filter = &syntax.Chain{Pos: v.Pos, Op: syntax.And, Args: terms}
	}
	return syntax.SelectItem{Pos: a.Pos, X: &filtered, Alias: syntax.Ident{Pos: v.Pos, Name: name.String(), Quoted: true}}, nil
}

// unpivot binds x UNPIVOT (measures FOR axes IN (columns)): one row per row of x and element of the
// list.
func (blk *block) unpivot(x *syntax.Unpivot) (source, error) {
	s, err := blk.table(x.X)
	if err != nil {
		return source{}, err
	}
	inner := newBlock(blk.b, blk.in)
	inner.scope = s.scope
	bind := inner.exprs("UNPIVOT")
	used := map[string]bool{}
	arms := len(x.Columns)
	measures := make([][]expr.Expr, len(x.Measures)) // by measure, then arm
	labels := make([][]expr.Expr, len(x.Axes))
	for _, c := range x.Columns {
		if len(c.Columns) != len(x.Measures) {
			return source{}, fault.InvalidSQL(c.At, "In UNPIVOT, cardinality of column list ([%d]) must match that of measures ([%d])",
				len(c.Columns), len(x.Measures))
		}
		if len(c.Values) > 0 && len(c.Values) != len(x.Axes) {
			return source{}, fault.InvalidSQL(c.At, "Value count in UNPIVOT (%d) must match number of FOR columns (%d)", len(c.Values), len(x.Axes))
		}
		var label strings.Builder
		for i, n := range c.Columns {
			e, err := bind.bind(n)
			if err != nil {
				return source{}, err
			}
			name := n.Parts[len(n.Parts)-1].Name
			used[name] = true
			if i > 0 {
				label.WriteString("_")
			}
			label.WriteString(name)
			measures[i] = append(measures[i], e)
		}
		for i := range x.Axes {
			var e expr.Expr = &expr.Literal{Value: label.String(), T: expr.Of(expr.Varchar).NotNull()}
			if len(c.Values) > 0 {
				if e, err = bind.bind(c.Values[i]); err != nil {
					return source{}, err
				}
			}
			labels[i] = append(labels[i], e)
		}
	}
	// Each row meets the numbers of the arms; a CASE picks what its arm says.
	rows := make([][]expr.Expr, arms)
	for i := range rows {
		rows[i] = []expr.Expr{longLiteral(int64(i))}
	}
	j := &plan.Join{Kind: plan.Inner, Left: s.node, Right: inline([]plan.Column{{Name: "$arm", Type: notNullLong}}, rows)}
	arm := columnOf(j, plan.Width(s.node))
	pick := func(values []expr.Expr) (expr.Expr, error) {
		whens := make([]expr.When, 0, arms)
		for i, v := range values {
			cond, err := expr.NewCompare("=", arm, longLiteral(int64(i)), x.At)
			if err != nil {
				return nil, err
			}
			whens = append(whens, expr.When{Cond: cond, Then: v})
		}
		return expr.NewCase(whens, nil, x.At)
	}
	p := &plan.Project{Input: j}
	stars, err := s.scope.star(&syntax.Star{})
	if err != nil {
		return source{}, err
	}
	for _, c := range stars {
		if !used[c.name] {
			p.Exprs, p.Names = append(p.Exprs, c.x), append(p.Names, c.name)
		}
	}
	for i, values := range labels {
		e, err := pick(values)
		if err != nil {
			return source{}, err
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, x.Axes[i].Name)
	}
	first := len(p.Exprs)
	for i, values := range measures {
		e, err := pick(values)
		if err != nil {
			return source{}, err
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, x.Measures[i].Name)
	}
	var n plan.Node = p
	if !x.IncludeNulls {
		var known []expr.Expr
		for i := range measures {
			e, err := expr.NewCall(catalog.MustLookup("IS NOT NULL"), []expr.Expr{columnOf(p, first+i)}, x.At)
			if err != nil {
				return source{}, err
			}
			known = append(known, e)
		}
		some, err := expr.NewOr(known, x.At)
		if err != nil {
			return source{}, err
		}
		n = &plan.Filter{Input: p, Cond: some}
	}
	r := relationOf("", n.Columns(), 0)
	r.at = x.At
	return source{node: n, scope: &scope{relations: []relation{r}}}, nil
}
