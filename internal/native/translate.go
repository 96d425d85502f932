package native

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/vector"
)

// Catalog resolves datasources.
type Catalog interface {
	// Table returns the plan that reads a datasource as the user sees it, time first, or nil if the
	// datasource does not exist.
	Table(ctx context.Context, name string) (plan.Node, error)
	// Metrics returns the names of the columns of a datasource that ingestion aggregated.
	Metrics(name string) []string
	// Lookup returns the columns of a lookup, k and v. The fault says why the lookup can't be used.
	Lookup(name string) ([]plan.Column, error)
	// Chunks returns the intervals of the visible segments of a datasource within the intervals.
	Chunks(name string, intervals []chrono.Interval) []chrono.Interval
}

// Plan is a translated query. Column 0 of the plans of timeseries, topN, groupBy and search is the
// time of the bucket. The dimensions, aggregators and post-aggregators follow under their names; a
// search returns dimension, value and count. The plan of a timeBoundary contains the minimum and
// the maximum time, NULL if there are no rows. The plan of a scan contains the requested columns.
type Plan struct {
	Node plan.Node
	// Unknown names the columns of a scan whose type is not known, for example columns that do not
	// exist.
	Unknown map[string]bool
	// Declared contains the declared native types of virtual columns of a scan whose values have
	// another type.
	Declared map[string]string
	// Shown is the number of requested columns of a scan; the time of the row may follow them. Time is
	// the index of the time column, -1: there is none. All rows of a table that is read in time order
	// have it.
	Shown, Time int
}

// Translate returns the plan of a query that reads rows. Faults say what in the query is invalid or
// not supported.
func Translate(ctx context.Context, q Query, catalog Catalog) (*Plan, error) {
	t := &translator{ctx: ctx, catalog: catalog, oneValue: !q.Parts().flag(querycontext.MultiValueGroup, true)}
	if s, ok := q.(*Scan); ok {
		return t.scan(s, true)
	}
	node, err := t.query(q)
	if err != nil {
		return nil, err
	}
	return &Plan{Node: node}, nil
}

type translator struct {
	ctx     context.Context
	catalog Catalog
	// references counts the uses of virtual columns.
	references int
	// ingesting says that columns are those of records, not of segments.
	ingesting bool
	// records is what is known of the fields of records; nil: nothing.
	records *ofRecords
	// oneValue says that a row is in one group of a groupBy: it must not have several values of a
	// multi-value string.
	oneValue bool
}

// query translates a query to a node with named columns.
func (t *translator) query(q Query) (plan.Node, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	switch q := q.(type) {
	case *Timeseries:
		return t.timeseries(q)
	case *TopN:
		return t.topN(q)
	case *GroupBy:
		return t.groupBy(q)
	case *Scan:
		p, err := t.scan(q, false)
		if err != nil {
			return nil, err
		}
		node := narrow(p.Node, p.Shown)
		if q.Offset > 0 {
			node = &plan.Limit{Input: node, Offset: int64(q.Offset), Count: -1}
		}
		return node, nil
	case *Search:
		return t.search(q)
	case *TimeBoundary:
		return t.timeBoundary(q)
	}
	return nil, fault.Unsupported("A query about segments can't be the datasource of another")
}

// input translates what a query reads: the rows of its datasource that are in its intervals and
// pass its filter. The scope is over their columns and knows the query's virtual columns. groups
// says that q is a groupBy.
func (t *translator) input(q *Common, groups bool) (plan.Node, *scope, error) {
	source := q.DataSource.DataSource
	if groups {
		source = regrouped(source)
	}
	when := q.When()
	if q.Granularity.orAll().IsAll() && keepsRight(source) && !timeless(source, groups) {
		source, when = during(source, when), []chrono.Interval{chrono.Eternity}
	}
	node, err := t.source(source)
	if err != nil {
		return nil, nil, err
	}
	if timeless(q.DataSource.DataSource, groups) {
		node = withoutTime(node)
	}
	s, err := t.newScope(node.Columns(), q.VirtualColumns)
	if err != nil {
		return nil, nil, err
	}
	s.source = q.DataSource.DataSource
	var terms []expr.Expr
	if within, err := s.within(plan.TimeColumn, when); err != nil {
		return nil, nil, err
	} else if within != nil {
		terms = append(terms, within)
	}
	if q.Filter.Filter != nil {
		c, err := s.filter(q.Filter.Filter)
		if err != nil {
			return nil, nil, err
		}
		terms = append(terms, c)
	}
	cond, err := all(terms)
	if err != nil {
		return nil, nil, err
	}
	if cond != nil {
		node = &plan.Filter{Input: node, Cond: cond}
	}
	return node, s, nil
}

// keepsRight reports whether rows of d may have no time as they are those of the right side of a
// join for which the left one has none.
func keepsRight(d DataSource) bool {
	switch d := d.(type) {
	case *JoinSource:
		return d.JoinType == "RIGHT" || d.JoinType == "FULL" || keepsRight(d.Left.DataSource)
	case *UnnestSource:
		return keepsRight(d.Base.DataSource)
	case *FilteredSource:
		return keepsRight(d.Base.DataSource)
	}
	return false
}

// during is d with the rows of its leftmost source in the intervals only.
func during(d DataSource, when Intervals) DataSource {
	switch d := d.(type) {
	case *JoinSource:
		out := *d
		out.Left.DataSource = during(d.Left.DataSource, when)
		return &out
	case *UnnestSource:
		out := *d
		out.Base.DataSource = during(d.Base.DataSource, when)
		return &out
	case *FilteredSource:
		out := *d
		out.Base.DataSource = during(d.Base.DataSource, when)
		return &out
	}
	return &FilteredSource{Base: DataSourceOf{d}, Filter: FilterOf{&IntervalFilter{Dimension: plan.TimeColumn, Intervals: when}}}
}

// regrouped is the source of a groupBy: groups whose sketches, means, firsts and lasts it can
// merge, if they are those of a groupBy whose context does not say that it gives finished ones.
func regrouped(source DataSource) DataSource {
	if d, ok := source.(*QuerySource); ok {
		if inner, ok := d.Query.Query.(*GroupBy); ok && (inner.Context[querycontext.Finalize.Key()].V == nil || keepsSketches(&inner.Common)) {
			kept := *inner
			kept.regrouped = true
			return &QuerySource{Query: queryOf{&kept}}
		}
	}
	return source
}

// timeless reports whether the rows that a query reads have no time of their own: those of
// constants without such a column, of lookups, and of groups that are of all times, unless they are
// grouped once more.
func timeless(source DataSource, groups bool) bool {
	switch d := leftmost(source).(type) {
	case *InlineSource:
		return !slices.Contains(d.ColumnNames, plan.TimeColumn)
	case *LookupSource:
		return true
	case *QuerySource:
		switch inner := d.Query.Query.(type) {
		case *GroupBy:
			_, direct := source.(*QuerySource)
			return inner.Granularity.IsAll() && !(direct && groups)
		case *Scan:
			return len(inner.Columns) > 0 && !slices.Contains(inner.Columns, plan.TimeColumn)
		}
	}
	return false
}

// withoutTime gives rows the time 0, in the first column.
func withoutTime(n plan.Node) plan.Node {
	out := &plan.Project{Input: n, Exprs: []expr.Expr{&expr.Literal{Value: int64(0), T: timeType.NotNull()}}, Names: []string{plan.TimeColumn}}
	for i, c := range n.Columns() {
		if c.Name != plan.TimeColumn {
			out.Exprs, out.Names = append(out.Exprs, reference(n, i)), append(out.Names, c.Name)
		}
	}
	return out
}

// all joins terms by AND; nil for none.
func all(terms []expr.Expr) (expr.Expr, error) {
	switch len(terms) {
	case 0:
		return nil, nil
	case 1:
		return terms[0], nil
	}
	return expr.NewAnd(terms, fault.Span{})
}

// within makes the condition that a column of times lies in one of the intervals: nil if it always
// does or there is no such column.
func (s *scope) within(column string, intervals []chrono.Interval) (expr.Expr, error) {
	if len(intervals) == 1 && intervals[0] == chrono.Eternity {
		return nil, nil
	}
	x, err := s.column(column)
	if err != nil || isNullConstant(x) {
		return nil, err
	}
	if x.Type().Base != expr.Timestamp {
		if x, err = ownNumber(x); err != nil {
			return nil, err
		}
	}
	if len(intervals) == 0 {
		return boolLiteral(false), nil
	}
	var ors []expr.Expr
	for _, iv := range intervals {
		from, err := compare(">=", x, longLiteral(iv.Start))
		if err != nil {
			return nil, err
		}
		to, err := compare("<", x, longLiteral(iv.End))
		if err != nil {
			return nil, err
		}
		both, err := expr.NewAnd([]expr.Expr{from, to}, fault.Span{})
		if err != nil {
			return nil, err
		}
		ors = append(ors, both)
	}
	if len(ors) == 1 {
		return ors[0], nil
	}
	return expr.NewOr(ors, fault.Span{})
}

// emptyRelation has columns and no rows.
func emptyRelation(columns []plan.Column) plan.Node {
	b := &vector.Batch{}
	for _, c := range columns {
		b.Cols = append(b.Cols, vector.New(c.Type.Runtime(), 0))
	}
	return &plan.Inline{Out: columns, Rows: b}
}

// timeBoundary computes both ends.
func (t *translator) timeBoundary(q *TimeBoundary) (plan.Node, error) {
	node, s, err := t.input(&q.Common, false)
	if err != nil {
		return nil, err
	}
	return t.ends(node, s)
}

func (t *translator) ends(node plan.Node, s *scope) (plan.Node, error) {
	x, err := s.column(plan.TimeColumn)
	if err != nil {
		return nil, err
	}
	if x, err = cast(x, longType); err != nil {
		return nil, err
	}
	node = &plan.Project{Input: node, Exprs: []expr.Expr{x}, Names: []string{plan.TimeColumn}}
	out := &plan.Aggregate{Input: node}
	for _, name := range []string{"MIN", "MAX"} {
		a, err := newCall(name, []expr.Type{longType}, nil)
		if err != nil {
			return nil, err
		}
		a.Args, a.Name = []int{0}, name
		out.Aggs = append(out.Aggs, a)
	}
	return out, nil
}
