package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// source translates a datasource to a node with named columns.
func (t *translator) source(d DataSource) (plan.Node, error) {
	switch d := d.(type) {
	case nil:
		return nil, invalid("dataSource can't be null")
	case *TableSource:
		n, err := t.catalog.Table(t.ctx, d.Name)
		if err == nil && n == nil {
			n = emptyRelation(nil)
		}
		return n, err
	case *QuerySource:
		if d.Query.Query == nil {
			return nil, invalid("Datasource of type [query] has no query")
		}
		if err := d.Query.check(); err != nil {
			return nil, err
		}
		return t.query(d.Query.Query)
	case *UnionSource:
		return t.union(d)
	case *JoinSource:
		return t.join(d)
	case *InlineSource:
		return inline(d)
	case *UnnestSource:
		return t.unnest(d)
	case *FilteredSource:
		base, err := t.source(d.Base.DataSource)
		if err != nil || d.Filter.Filter == nil {
			return base, err
		}
		return t.filtered(base, d.Filter.Filter)
	case *LookupSource:
		columns, err := t.catalog.Lookup(d.Lookup)
		if err != nil {
			return nil, err
		}
		return &plan.System{Schema: "lookup", Table: d.Lookup, Out: columns}, nil
	}
	return nil, fault.Unsupported("Datasource is of a type that is not supported")
}

func (t *translator) filtered(node plan.Node, f Filter) (plan.Node, error) {
	s, err := t.newScope(node.Columns(), nil)
	if err != nil {
		return nil, err
	}
	c, err := s.filterOfRecords(f)
	if err != nil {
		return nil, err
	}
	return &plan.Filter{Input: node, Cond: c}, nil
}

// union concatenates sources over the columns of all of them; a source without a column has NULL
// there.
func (t *translator) union(d *UnionSource) (plan.Node, error) {
	if len(d.DataSources) == 0 {
		return nil, invalid("'dataSources' must be non-null and non-empty for 'union'")
	}
	var ins []plan.Node
	var out []plan.Column
	at := map[string]int{}
	for _, s := range d.DataSources {
		n, err := t.source(s.DataSource)
		if err != nil {
			return nil, err
		}
		ins = append(ins, n)
		for _, c := range n.Columns() {
			i, seen := at[c.Name]
			if !seen {
				at[c.Name] = len(out)
				out = append(out, c)
				continue
			}
			if widest, ok := expr.LeastRestrictive(out[i].Type, c.Type); ok {
				out[i].Type = widest
			} else {
				out[i].Type = textType
			}
		}
	}
	if len(ins) == 1 {
		return ins[0], nil
	}
	for i, n := range ins {
		s, err := t.newScope(n.Columns(), nil)
		if err != nil {
			return nil, err
		}
		p := &plan.Project{Input: n}
		for _, c := range out {
			x, err := s.column(c.Name)
			if err != nil {
				return nil, err
			}
			switch from := x.Type(); {
			case isNullConstant(x), from.Base == expr.Other && from.Runtime() != c.Type.Runtime(), c.Type.Base == expr.Other && from.Runtime() != c.Type.Runtime():
				x = &expr.Literal{T: c.Type} // nested data and sketches have no common type with others
			case from.Runtime() != c.Type.Runtime():
				if x, err = expr.NewCast(x, c.Type, fault.Span{}); err != nil {
					return nil, err
				}
			}
			p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, c.Name)
		}
		ins[i] = p
	}
	for i := range out {
		out[i].Type = out[i].Type.OrNull(true)
	}
	return &plan.Union{Ins: ins, Out: out}, nil
}

var joinKinds = map[JoinType]plan.JoinKind{"INNER": plan.Inner, "LEFT": plan.Left, "RIGHT": plan.Right, "FULL": plan.Full}

func (t *translator) join(d *JoinSource) (plan.Node, error) {
	kind, ok := joinKinds[d.JoinType]
	if !ok {
		return nil, invalid("joinType [%s] is unknown. Known are [INNER, LEFT, RIGHT, FULL]", d.JoinType)
	}
	left, err := t.source(d.Left.DataSource)
	if err != nil {
		return nil, err
	}
	if d.LeftFilter.Filter != nil {
		if left, err = t.filtered(left, d.LeftFilter.Filter); err != nil {
			return nil, err
		}
	}
	right, err := t.source(d.Right.DataSource)
	if err != nil {
		return nil, err
	}
	if d.RightPrefix == "" {
		return nil, invalid("rightPrefix of a join can't be empty")
	}
	named := &plan.Project{Input: right}
	for i, c := range right.Columns() {
		if c.Name == plan.TimeColumn && hidesTime(d.Right.DataSource) {
			continue
		}
		named.Exprs = append(named.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type})
		named.Names = append(named.Names, d.RightPrefix+c.Name)
	}
	join := &plan.Join{Kind: kind, Left: left, Right: named}
	s, err := t.newScope(join.Columns(), nil)
	if err != nil {
		return nil, err
	}
	on, err := s.expression(d.Condition)
	if err != nil {
		return nil, err
	}
	if join.On, err = condition(on); err != nil {
		return nil, err
	}
	return join, nil
}

func (t *translator) unnest(d *UnnestSource) (plan.Node, error) {
	base, err := t.source(d.Base.DataSource)
	if err != nil {
		return nil, err
	}
	if d.VirtualColumn.VirtualColumn == nil {
		return nil, invalid("Datasource of type [unnest] has no virtualColumn")
	}
	s, err := t.newScope(base.Columns(), []VirtualColumnOf{d.VirtualColumn})
	if err != nil {
		return nil, err
	}
	name := d.VirtualColumn.output()
	x, err := s.unnested(d.VirtualColumn.VirtualColumn)
	if err != nil {
		return nil, err
	}
	p := &plan.Project{Input: base}
	for i, c := range base.Columns() {
		p.Exprs, p.Names = append(p.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(p.Names, c.Name)
	}
	width := len(p.Exprs)
	if typ := x.Type(); typ.Base == expr.Array || typ.Multi {
		p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, name)
		un := &plan.Unnest{Input: p, Lists: []plan.UnnestList{{Column: width, Name: name, Elem: typ.Elem()}}, Outer: typ.Multi}
		keep := make([]int, 0, width+1)
		for i := range width {
			keep = append(keep, i)
		}
		base = plan.Select(un, append(keep, width+1))
	} else {
		p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, name)
		base = p
	}
	if d.UnnestFilter.Filter != nil {
		return t.filtered(base, d.UnnestFilter.Filter)
	}
	return base, nil
}

// unnested is the list that a virtual column has. The type that an expression is to have is that of
// the values in the list.
func (s *scope) unnested(v VirtualColumn) (expr.Expr, error) {
	if e, ok := v.(*ExpressionColumn); ok && e.OutputType != "" {
		untyped := *e
		untyped.OutputType = ""
		if x, err := s.virtualColumn(&untyped); err != nil || x.Type().Base == expr.Array {
			return x, err
		}
	}
	return s.virtualColumn(v)
}
