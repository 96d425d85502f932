package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// anyLeft is the condition that a row has a value that d keeps; NULL is one.
func (s *scope) anyLeft(d *ListFilteredDimension) (expr.Expr, error) {
	x, err := s.dimension(d.Delegate.Dimension)
	if err != nil {
		return nil, err
	}
	left, err := s.dimension(d)
	if err != nil {
		return nil, err
	}
	none, err := call("IS NULL", x)
	if err != nil {
		return nil, err
	}
	if left.Type().Multi {
		if left, err = call("MV_LENGTH", left); err == nil {
			left, err = compare(">", left, longLiteral(0))
		}
	} else {
		left, err = call("IS NOT NULL", left)
	}
	if err != nil {
		return nil, err
	}
	return expr.NewOr([]expr.Expr{none, left}, fault.Span{})
}

// topN sorts each bucket's groups. Under granularity all the limit is part of the plan; otherwise
// the reader counts per bucket.
func (t *translator) topN(q *TopN) (plan.Node, error) {
	g := q.Granularity.orAll()
	groups := grouped{common: &q.Common, granularity: g, dimensions: []DimensionOf{q.Dimension}, Grouping: &q.Grouping, keeps: keepsSketches(&q.Common)}
	nulls := true // rows of which no value is left are in no group
	switch d := q.Dimension.Dimension.(type) {
	case *ListFilteredDimension:
		if nulls = !d.keepsNull(); !nulls {
			groups.rows = func(s *scope) (expr.Expr, error) { return s.anyLeft(d) }
		}
	case *RegexFilteredDimension, *PrefixFilteredDimension:
	default:
		nulls = false
	}
	n, err := t.group(groups)
	if err != nil {
		return nil, err
	}
	if nulls {
		known, err := call("IS NOT NULL", &expr.Column{Index: 1, Name: n.Columns()[1].Name, T: n.Columns()[1].Type})
		if err != nil {
			return nil, err
		}
		n = &plan.Filter{Input: n, Cond: known}
	}
	keys := []plan.SortKey{{Column: 0}}
	inverted := false
	metric := q.Metric.TopNMetric
	for {
		m, ok := metric.(*InvertedMetric)
		if !ok {
			break
		}
		inverted, metric = !inverted, m.Metric.TopNMetric
	}
	width := len(n.Columns())
	if n, err = ranked(n, &q.Grouping, 2, !keepsSketches(&q.Common)); err != nil {
		return nil, err
	}
	switch m := metric.(type) {
	case *NumericMetric:
		i := slices.IndexFunc(n.Columns(), func(c plan.Column) bool { return c.Name == rankColumn(m.Metric) })
		if i < 0 {
			i = slices.IndexFunc(n.Columns(), func(c plan.Column) bool { return c.Name == m.Metric })
		}
		if i < 0 {
			return nil, invalid("Must have an AggregatorFactory or PostAggregator for metric[%s]", m.Metric)
		}
		keys = append(keys, plan.SortKey{Column: i, Desc: !inverted, NullsFirst: inverted && q.isTimed(m.Metric)})
	case *DimensionMetric:
		ordering := m.Ordering
		if ordering == "" {
			ordering = "lexicographic"
		}
		if m.PreviousStop != nil {
			op := ">"
			if inverted {
				op = "<"
			}
			x := expr.Expr(&expr.Column{Index: 1, Name: n.Columns()[1].Name, T: n.Columns()[1].Type})
			c, err := boundTerm(op, x, *m.PreviousStop, ordering)
			if err != nil {
				return nil, err
			}
			n = &plan.Filter{Input: n, Cond: c}
		}
		var key plan.SortKey
		if n, key, err = orderKey(n, 1, ordering, inverted); err != nil {
			return nil, err
		}
		key.NullsFirst = true // in both directions
		keys = append(append(keys, key), ties(1, ordering, inverted)...)
	default:
		return nil, invalid("must specify a metric")
	}
	keys = append(keys, plan.SortKey{Column: 1, NullsFirst: true})
	limit := int64(-1)
	if g.IsAll() {
		limit = int64(q.Threshold)
	}
	n = &plan.Sort{Input: n, Keys: keys, Limit: limit}
	return narrow(n, width), nil
}

// isTimed reports whether a metric is a first or last: NULL with a time is the least of these,
// while other NULLs stand behind all values.
func (q *TopN) isTimed(metric string) bool {
	for _, a := range q.Aggregations {
		of := a.Aggregator
		for f, ok := of.(*FilteredAggregator); ok; f, ok = of.(*FilteredAggregator) {
			of = f.Aggregator.Aggregator
		}
		if s, ok := of.(*SimpleAggregator); ok && a.output() == metric {
			return simpleAggregators[s.Type].byTime
		}
	}
	return false
}
