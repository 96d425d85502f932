package native

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// defaultSearchLimit is how many values a search gives when it does not say. Buckets of time are
// cut to limits of that size or more only.
const defaultSearchLimit = 1000

// CutsBuckets reports whether the limit applies to the combined hits of all chunks of a bucket.
func (q *Search) CutsBuckets() bool { return q.ResultLimit() >= defaultSearchLimit }

// ResultLimit returns the maximum number of values that a search returns per time bucket.
func (q *Search) ResultLimit() int64 {
	if q.Limit <= 0 {
		return defaultSearchLimit
	}
	return int64(q.Limit)
}

// search translates a search: for each dimension, the values found with the number of their rows.
//
// It looks into each time chunk for itself, first into texts, dimension by dimension and value by
// value in their order, then into numbers and what is computed, by the time at which they come up,
// and stops there when it has found as many as the limit: what comes later in the chunk is not
// counted. The hits of all chunks are counted together, sorted as wanted and limited once more. So
// searches stay cheap over columns with many values, and their counts are lower bounds when there
// are more hits than the limit.
func (t *translator) search(q *Search) (plan.Node, error) {
	dims, err := t.searched(q)
	if err != nil {
		return nil, err
	}
	g := q.Granularity.orAll()
	chunks := t.chunks(&q.Common)
	hits := []plan.Column{
		{Name: "$chunk", Type: longType}, {Name: "$number", Type: longType},
		{Name: "dimension", Type: textType}, {Name: "value", Type: textType}, {Name: "count", Type: longType}, {Name: "$first", Type: longType},
	}
	var ins []plan.Node
	for number, d := range dims {
		n, err := t.hits(q, d, chunks, int64(number))
		if err != nil {
			return nil, err
		}
		ins = append(ins, n)
	}
	columns := []plan.Column{{Name: plan.TimeColumn, Type: timeType}, hits[2], hits[3], hits[4]}
	if len(ins) == 0 {
		return emptyRelation(columns), nil
	}
	n := ins[0]
	if len(ins) > 1 {
		n = &plan.Union{Ins: ins, Out: hits}
	}
	if n, err = limitEach(n, []plan.SortKey{{Column: 0}, {Column: 5, NullsFirst: true}, {Column: 1}, {Column: 3, NullsFirst: true}}, 0, q.ResultLimit()); err != nil {
		return nil, err
	}
	bucket := expr.Expr(&expr.Literal{Value: start(&q.Common), T: timeType.NotNull()})
	switch {
	case g.IsAll():
	case chunks == nil: // one chunk, of all of time
		bucket = &expr.Literal{Value: g.Floor(chrono.Eternity.Start), T: timeType.NotNull()}
	default:
		if bucket, err = floor(g, asTime(reference(n, 0))); err != nil {
			return nil, err
		}
	}
	p := &plan.Project{Input: n, Exprs: []expr.Expr{bucket, reference(n, 2), reference(n, 3), reference(n, 4)}}
	for _, c := range columns {
		p.Names = append(p.Names, c.Name)
	}
	sum, err := newCall("SUM", []expr.Type{longType}, nil)
	if err != nil {
		return nil, err
	}
	sum.Args, sum.Name = []int{3}, "count"
	n = &plan.Aggregate{Input: p, Keys: []int{0, 1, 2}, Aggs: []plan.AggCall{sum}}

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
	keys := []plan.SortKey{{Column: 0}, key, {Column: 2, NullsFirst: true}, {Column: 1}}
	return narrow(&plan.Sort{Input: n, Keys: keys, Limit: limit}, len(columns)), nil
}

// searched are the dimensions that a search looks into: those that it names, or all of texts,
// numbers and nested data save the time and metrics.
func (t *translator) searched(q *Search) ([]searchedDimension, error) {
	n, err := t.source(q.DataSource.DataSource)
	if err != nil {
		return nil, err
	}
	list := q.SearchDimensions
	if len(list) == 0 {
		metrics := t.metrics(q.DataSource.DataSource)
		for _, c := range n.Columns() {
			if !slices.Contains(metrics, c.Name) && (c.Type.IsCharacter() || c.Type.IsNumeric() || c.Type.ComplexName() == "json") {
				list = append(list, DimensionOf{&ColumnDimension{Dimension: c.Name}})
			}
		}
	}
	tables := ReadsTables(q.DataSource.DataSource)
	out := make([]searchedDimension, 0, len(list))
	for _, d := range list {
		name := columnOf(d.Dimension)
		isVirtual := slices.ContainsFunc(q.VirtualColumns, func(v VirtualColumnOf) bool { return v.VirtualColumn != nil && v.output() == name })
		i := slices.IndexFunc(n.Columns(), func(c plan.Column) bool { return c.Name == name })
		switch {
		case isVirtual:
			out = append(out, searchedDimension{DimensionOf: d, byRow: true})
		case i < 0 && tables: // there is nothing to find
		case i < 0:
			out = append(out, searchedDimension{DimensionOf: d, byRow: true})
		case plan.ColumnAt(n, i).Type.IsCharacter(): // an index of values knows nothing of filters and types
			out = append(out, searchedDimension{DimensionOf: DimensionOf{unfiltered(d.Dimension)}})
		default:
			out = append(out, searchedDimension{DimensionOf: d, byRow: true, withoutNull: plan.ColumnAt(n, i).Type.Base == expr.Other})
		}
	}
	return out, nil
}

// searchedDimension is a dimension that is looked into.
type searchedDimension struct {
	DimensionOf
	// byRow says that its values are found in the order of rows, withoutNull that NULL is none of
	// them.
	byRow, withoutNull bool
}

// columnOf is the name of the column that a dimension is made of.
func columnOf(d Dimension) string {
	switch d := d.(type) {
	case *ColumnDimension:
		return d.Dimension
	case *LookupDimension:
		return d.Dimension
	case *ListFilteredDimension:
		return columnOf(d.Delegate.Dimension)
	case *RegexFilteredDimension:
		return columnOf(d.Delegate.Dimension)
	case *PrefixFilteredDimension:
		return columnOf(d.Delegate.Dimension)
	}
	return ""
}

// unfiltered is d with all its values, as texts.
func unfiltered(d Dimension) Dimension {
	switch d := d.(type) {
	case *ColumnDimension:
		text := *d
		text.OutputType = ""
		return &text
	case *ListFilteredDimension:
		return unfiltered(d.Delegate.Dimension)
	case *RegexFilteredDimension:
		return unfiltered(d.Delegate.Dimension)
	case *PrefixFilteredDimension:
		return unfiltered(d.Delegate.Dimension)
	}
	return d
}

// chunks are the starts of the time chunks that a query reads, ascending; nil where it reads others
// than tables.
func (t *translator) chunks(q *Common) []int64 {
	if !ReadsTables(q.DataSource.DataSource) {
		return nil
	}
	var out []int64
	for _, name := range ScannedTables(q.DataSource.DataSource) {
		for _, c := range t.catalog.Chunks(name, q.When()) {
			out = append(out, c.Start)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hits are the values of one dimension that the query finds, per chunk, with the number of the
// dimension and the time of their first row, NULL for an index of values.
func (t *translator) hits(q *Search, d searchedDimension, chunks []int64, number int64) (plan.Node, error) {
	count := &Grouping{Aggregations: []AggregatorOf{{&SimpleAggregator{Type: "count", Name: "$count"}}}}
	if d.byRow {
		count.Aggregations = append(count.Aggregations, AggregatorOf{&SimpleAggregator{Type: "longMin", Name: "$first", FieldName: plan.TimeColumn}})
	}
	n, err := t.group(grouped{common: &q.Common, granularity: chrono.All, chunks: chunks, dimensions: []DimensionOf{d.DimensionOf}, Grouping: count, once: !d.byRow})
	if err != nil {
		return nil, err
	}
	first := expr.Expr(&expr.Literal{T: longType})
	if d.byRow {
		first = reference(n, 3)
	}
	value, err := cast(reference(n, 1), textType)
	if err != nil {
		return nil, err
	}
	found, err := searched(value, q.Query.SearchQuery)
	if err != nil {
		return nil, err
	}
	if d.withoutNull {
		known, err := call("IS NOT NULL", value)
		if err != nil {
			return nil, err
		}
		if found, err = all([]expr.Expr{known, found}); err != nil {
			return nil, err
		}
	}
	chunk, err := cast(reference(n, 0), longType)
	if err != nil {
		return nil, err
	}
	return &plan.Project{Input: &plan.Filter{Input: n, Cond: found}, Names: []string{"$chunk", "$number", "dimension", "value", "count", "$first"},
		Exprs: []expr.Expr{chunk, longLiteral(number), textLiteral(d.output()), value, reference(n, 2), first}}, nil
}

// reference is column i of a node.
func reference(n plan.Node, i int) expr.Expr {
	c := plan.ColumnAt(n, i)
	return &expr.Column{Index: i, Name: c.Name, T: c.Type}
}
