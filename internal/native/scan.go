package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// scan translates a scan: the columns asked for, or all.
func (t *translator) scan(q *Scan) (*Plan, error) {
	node, s, err := t.input(&q.Common)
	if err != nil {
		return nil, err
	}
	names := q.Columns
	if len(names) == 0 {
		for _, c := range s.columns {
			names = append(names, c.Name)
		}
		for _, v := range q.VirtualColumns {
			if v.VirtualColumn != nil && !slices.Contains(names, v.output()) {
				names = append(names, v.output())
			}
		}
	}
	out := &Plan{Unknown: map[string]bool{}}
	p := &plan.Project{Input: node}
	for _, name := range names {
		x, err := s.column(name)
		if err != nil {
			return nil, err
		}
		_, virtual := s.virtual[name]
		if !virtual && !slices.ContainsFunc(s.columns, func(c plan.Column) bool { return c.Name == name }) {
			out.Unknown[name] = true
		}
		if name != plan.TimeColumn {
			x = plain(x)
		}
		p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, name)
	}
	width := len(p.Exprs)
	order := q.OrderBy
	if len(order) == 0 && q.Order != "" && q.Order != "none" {
		order = []ScanOrder{{ColumnName: plan.TimeColumn, Order: q.Order}}
	}
	var keys []plan.SortKey
	for _, o := range order {
		i := slices.Index(p.Names, o.ColumnName)
		if i < 0 {
			x, err := s.column(o.ColumnName)
			if err != nil {
				return nil, err
			}
			i = len(p.Exprs)
			p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, o.ColumnName)
		}
		desc := o.Order == "descending"
		keys = append(keys, plan.SortKey{Column: i, Desc: desc, NullsFirst: !desc})
	}
	limit := int64(-1)
	if q.Limit != nil {
		limit = int64(*q.Limit)
	}
	out.Node = p
	switch {
	case len(keys) > 0:
		out.Node = narrow(&plan.Sort{Input: p, Keys: keys, Offset: int64(q.Offset), Limit: limit}, width)
	case limit >= 0 || q.Offset > 0:
		out.Node = &plan.Limit{Input: p, Offset: int64(q.Offset), Count: limit}
	}
	return out, nil
}

// defaultSearchLimit is how many values a search gives when it does not say.
const defaultSearchLimit = 1000

// ResultLimit is how many values a search gives per bucket of time.
func (q *Search) ResultLimit() int64 {
	if q.Limit <= 0 {
		return defaultSearchLimit
	}
	return int64(q.Limit)
}

// search translates a search: for each dimension, the values found with the number of their rows.
func (t *translator) search(q *Search) (plan.Node, error) {
	dims := q.SearchDimensions
	if len(dims) == 0 {
		n, err := t.source(q.DataSource.DataSource)
		if err != nil {
			return nil, err
		}
		for _, c := range n.Columns() {
			if c.Type.IsCharacter() {
				dims = append(dims, DimensionOf{&ColumnDimension{Dimension: c.Name}})
			}
		}
	}
	g := q.Granularity.orAll()
	columns := []plan.Column{{Name: plan.TimeColumn, Type: timeType}, {Name: "dimension", Type: textType}, {Name: "value", Type: textType}, {Name: "count", Type: longType}}
	u := &plan.Union{Out: columns}
	for _, d := range dims {
		count := &Grouping{Aggregations: []AggregatorOf{{&SimpleAggregator{Type: "count", Name: "$count"}}}}
		n, err := t.group(grouped{common: &q.Common, granularity: g, dimensions: []DimensionOf{d}, Grouping: count, once: true})
		if err != nil {
			return nil, err
		}
		in := n.Columns()
		value, err := cast(&expr.Column{Index: 1, Name: in[1].Name, T: in[1].Type}, textType)
		if err != nil {
			return nil, err
		}
		found, err := searched(value, q.Query.SearchQuery)
		if err != nil {
			return nil, err
		}
		u.Ins = append(u.Ins, &plan.Project{Input: &plan.Filter{Input: n, Cond: found}, Names: []string{plan.TimeColumn, "dimension", "value", "count"},
			Exprs: []expr.Expr{
				&expr.Column{Index: 0, Name: in[0].Name, T: in[0].Type}, textLiteral(d.output()), value,
				&expr.Column{Index: 2, Name: in[2].Name, T: in[2].Type},
			}})
	}
	var n plan.Node
	switch len(u.Ins) {
	case 0:
		return emptyRelation(columns), nil
	case 1:
		n = u.Ins[0]
	default:
		n = u
	}
	ordering := OrderingOf("lexicographic")
	if q.Sort != nil && q.Sort.Type != "" {
		ordering = OrderingOf(lower(q.Sort.Type))
	}
	n, key, err := orderKey(n, 2, ordering, false)
	if err != nil {
		return nil, err
	}
	limit := int64(-1)
	if g.IsAll() {
		limit = q.ResultLimit()
	}
	return narrow(&plan.Sort{Input: n, Keys: []plan.SortKey{{Column: 0}, key, {Column: 2}, {Column: 1}}, Limit: limit}, len(columns)), nil
}
