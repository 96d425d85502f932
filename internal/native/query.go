package native

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// Query is a decoded query. The concrete queries are in this file.
type Query interface {
	// Parts returns the members that all queries have.
	Parts() *Common
	// check refuses what decodes and makes no sense.
	check() error
}

type queryOf struct{ Query }

// UnmarshalJSON implements json.Unmarshaler.
func (q *queryOf) UnmarshalJSON(text []byte) error { return readText(text, q) }

func (q *queryOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	q.Query, err = decodeTyped(d, m, "queryType", "Query", queryTypes)
	return err
}

var queryTypes = map[string]func() Query{
	"timeseries":         func() Query { return new(Timeseries) },
	"topN":               func() Query { return new(TopN) },
	"groupBy":            func() Query { return new(GroupBy) },
	"scan":               func() Query { return new(Scan) },
	"search":             func() Query { return new(Search) },
	"timeBoundary":       func() Query { return new(TimeBoundary) },
	"segmentMetadata":    func() Query { return new(SegmentMetadata) },
	"dataSourceMetadata": func() Query { return new(DataSourceMetadata) },
}

// TypeOf returns the queryType of a query.
func TypeOf(q Query) string {
	for name, empty := range queryTypes {
		if reflect.TypeOf(empty()) == reflect.TypeOf(q) {
			return name
		}
	}
	return ""
}

// Common contains the members that all queries have.
type Common struct {
	DataSource     DataSourceOf      `json:"dataSource"`
	Intervals      *When             `json:"intervals"`
	Filter         FilterOf          `json:"filter"`
	VirtualColumns []VirtualColumnOf `json:"virtualColumns"`
	Granularity    GranularitySet    `json:"granularity"`
	Descending     Flag              `json:"descending"`
	Context        map[string]Value  `json:"context"`
}

// Parts returns the members that all queries have.
func (c *Common) Parts() *Common { return c }

// ContextValues returns the query context as JSON values.
func (c *Common) ContextValues() map[string]any {
	out := make(map[string]any, len(c.Context))
	for k, v := range c.Context {
		out[k] = v.V
	}
	return out
}

// flag reads a Boolean of the context.
func (c *Common) flag(p *querycontext.Param[bool], fallback bool) bool {
	v, err := p.Of(c.Context[p.Key()].V, fallback)
	if err != nil { // refused where the query came in, or without effect on it
		return fallback
	}
	return v
}

// When returns the intervals of the query, sorted and merged, or all of time if there are none.
func (c *Common) When() []chrono.Interval {
	if c.Intervals == nil {
		return []chrono.Interval{chrono.Eternity}
	}
	return chrono.Condense(slices.Clone(c.Intervals.Intervals))
}

func (c *Common) checkSource() (err error) {
	if c.DataSource.DataSource == nil {
		return invalid("dataSource can't be null")
	}
	for _, v := range c.VirtualColumns {
		if v.VirtualColumn == nil {
			return invalid("virtualColumns can't hold null")
		}
		switch name := v.output(); name {
		case "":
			return invalid("A virtual column must have a name")
		case plan.TimeColumn:
			return invalid("virtualColumn name[%s] not allowed", name)
		}
		if x, ok := v.VirtualColumn.(*ExpressionColumn); ok { // also one that nothing asks for
			if err := checkExpression(x.Expression); err != nil {
				return err
			}
		}
	}
	walkSources(c.DataSource.DataSource, func(d DataSource) {
		if u, ok := d.(*UnionSource); ok && len(u.DataSources) == 0 {
			err = invalid("'dataSources' must be non-null and non-empty for 'union'")
		}
	})
	return err
}

func (c *Common) checkGranularity() error {
	if !c.Granularity.Given {
		return invalid("Must specify a granularity")
	}
	return nil
}

func (c *Common) checkIntervals() error {
	if c.Intervals == nil {
		return invalid("intervals can't be null: give a list such as [\"2015-09-12/2015-09-13\"]")
	}
	return nil
}

// GranularitySet is a granularity that may be absent.
type GranularitySet struct {
	chrono.Granularity
	Given bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *GranularitySet) UnmarshalJSON(text []byte) error {
	if isNull(text) {
		return nil
	}
	g.Given = true
	if err := g.Granularity.UnmarshalJSON(text); err != nil {
		return invalid("%s", err)
	}
	return nil
}

// orAll returns the granularity, all if none was given.
func (g GranularitySet) orAll() chrono.Granularity {
	if !g.Given {
		return chrono.All
	}
	return g.Granularity
}

// Intervals are time ranges: a list, a single string, or an object with a list.
type Intervals []chrono.Interval

// UnmarshalJSON implements json.Unmarshaler.
func (iv *Intervals) UnmarshalJSON(text []byte) error { return readText(text, iv) }

func (iv *Intervals) read(d *document, m member) error {
	if d.opens(m, '{') {
		if kind, ok, err := d.find(m, "type"); err != nil {
			return err
		} else if ok && !d.isNull(kind) && string(d.raw(kind)) != `"intervals"` {
			return invalid("intervals can't be of type %s: want [intervals]", d.raw(kind))
		}
		inner, ok, err := d.find(m, "intervals")
		switch {
		case err != nil:
			return err
		case ok && d.opens(inner, '{'):
			return invalid("intervals of intervals must be a list")
		case !ok || d.isNull(inner):
			return invalid("intervals without [intervals]")
		}
		m = inner
	}
	switch {
	case d.isNull(m):
		return nil
	case d.opens(m, '"'):
		var one string
		if err := d.fill(m, &one); err != nil {
			return err
		}
		parsed, err := chrono.ParseIntervals(one)
		if err != nil {
			return invalid("%s", err)
		}
		*iv = parsed
		return nil
	case !d.opens(m, '['):
		return invalid("intervals must be a list of texts such as 2015-09-12/2015-09-13")
	}
	*iv = Intervals{}
	return d.members(m, func(_ string, m member) error {
		if d.isNull(m) {
			return nil
		}
		var text string
		if err := d.fill(m, &text); err != nil {
			return invalid("intervals must be a list of texts such as 2015-09-12/2015-09-13")
		}
		one, err := chrono.ParseInterval(text)
		if err != nil {
			return invalid("%s", err)
		}
		*iv = append(*iv, one)
		return nil
	})
}

// Grouping contains the members of the queries that aggregate.
type Grouping struct {
	Aggregations     []AggregatorOf     `json:"aggregations"`
	PostAggregations []PostAggregatorOf `json:"postAggregations"`
}

// check refuses outputs without a name and two of one name.
func (g *Grouping) check(dimensions ...DimensionOf) error {
	seen := map[string]bool{}
	add := func(name string) error {
		if seen[name] {
			return invalid("[%s] already defined", name)
		}
		seen[name] = true
		return nil
	}
	for _, d := range dimensions {
		if d.Dimension == nil {
			return invalid("dimensions can't hold null")
		}
		if err := add(d.output()); err != nil {
			return err
		}
	}
	for _, a := range g.Aggregations {
		if a.Aggregator == nil {
			return invalid("aggregations can't hold null")
		}
		if g, ok := a.Aggregator.(*GroupingAggregator); ok && len(g.Groupings) == 0 {
			return invalid("Aggregator [%s] of type [grouping] must have [groupings]", g.Name)
		} else if ok && repeats(g.Groupings) {
			return invalid("Aggregator [%s] of type [grouping] has a dimension more than once", g.Name)
		}
		if err := add(a.output()); err != nil {
			return err
		}
	}
	for _, p := range g.PostAggregations {
		if p.PostAggregator == nil {
			return invalid("postAggregations can't hold null")
		}
		if err := checkFields(p.PostAggregator, seen); err != nil {
			return err
		}
		if err := add(p.output()); err != nil {
			return err
		}
	}
	return nil
}

// repeats reports whether a name is in a list twice.
func repeats(names []string) bool {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return true
		}
	}
	return false
}

// Timeseries aggregates per time bucket.
type Timeseries struct {
	Common
	Grouping
	Limit Whole `json:"limit"`

	// allNull says that all aggregates are NULL.
	allNull bool
}

func (q *Timeseries) check() error {
	if err := q.checkSource(); err != nil {
		return err
	}
	if err := q.checkIntervals(); err != nil {
		return err
	}
	if err := q.checkGranularity(); err != nil {
		return err
	}
	if q.Limit < 0 {
		return invalid("limit must be greater than 0, but is [%d]", q.Limit)
	}
	if name, _ := q.Context[querycontext.TimeResult.Key()].V.(string); name != "" && q.has(name) {
		return invalid("[%s] already defined", name)
	}
	return q.Grouping.check()
}

// TopN aggregates per value of one dimension and keeps the best Threshold values of each time
// bucket.
type TopN struct {
	Common
	Grouping
	Dimension DimensionOf  `json:"dimension"`
	Metric    TopNMetricOf `json:"metric"`
	Threshold Whole        `json:"threshold"`
}

func (q *TopN) check() error {
	if err := q.checkSource(); err != nil {
		return err
	}
	if err := q.checkIntervals(); err != nil {
		return err
	}
	if err := q.checkGranularity(); err != nil {
		return err
	}
	switch {
	case q.Dimension.Dimension == nil:
		return invalid("dimensionSpec can't be null")
	case q.Metric.TopNMetric == nil:
		return invalid("must specify a metric")
	case q.Threshold == 0:
		return invalid("Threshold cannot be equal to 0.")
	case q.Threshold < 0:
		return invalid("Threshold can't be negative, but is [%d]", q.Threshold)
	}
	if err := q.Grouping.check(q.Dimension); err != nil {
		return err
	}
	if name := q.Metric.output(); name != "" && !q.has(name) {
		return invalid("Must have an AggregatorFactory or PostAggregator for metric[%s]", name)
	}
	return nil
}

// has reports whether an aggregator or post-aggregator has the name.
func (g *Grouping) has(name string) bool {
	for _, a := range g.Aggregations {
		if a.output() == name {
			return true
		}
	}
	for _, p := range g.PostAggregations {
		if p.output() == name {
			return true
		}
	}
	return false
}

// GroupBy aggregates per combination of the values of dimensions.
type GroupBy struct {
	Common
	Grouping
	Dimensions    []DimensionOf `json:"dimensions"`
	Having        HavingOf      `json:"having"`
	LimitSpec     *LimitSpec    `json:"limitSpec"`
	SubtotalsSpec [][]string    `json:"subtotalsSpec"`

	// regrouped says that the rows are those of another groupBy: they have the sketches, too, behind
	// what is shown (rawColumn), to be merged.
	regrouped bool
}

// keepsSketches reports whether sketches are given as they are.
func (q *GroupBy) keepsSketches() bool { return q.regrouped || keepsSketches(&q.Common) }

func (q *GroupBy) check() error {
	if err := q.checkSource(); err != nil {
		return err
	}
	if err := q.checkIntervals(); err != nil {
		return err
	}
	if err := q.checkGranularity(); err != nil {
		return err
	}
	if err := q.Grouping.check(q.Dimensions...); err != nil {
		return err
	}
	if q.has(plan.TimeColumn) || slices.ContainsFunc(q.Dimensions, func(d DimensionOf) bool { return d.output() == plan.TimeColumn }) {
		return invalid("'__time' cannot be used as an output name for dimensions, aggregators, or post-aggregators.")
	}
	if q.has("") || slices.ContainsFunc(q.Dimensions, func(d DimensionOf) bool { return d.output() == "" }) {
		return invalid("Column name must be provided and non-empty")
	}
	if l := q.LimitSpec; l != nil {
		for _, o := range l.Columns {
			if !q.has(o.Dimension) && !slices.ContainsFunc(q.Dimensions, func(d DimensionOf) bool { return d.output() == o.Dimension }) {
				return invalid("Unknown column in order clause[%s]", o.Dimension)
			}
		}
	}
	for _, set := range q.SubtotalsSpec {
		if set == nil {
			return invalid("subtotalsSpec can't hold null")
		}
		for _, name := range set {
			if !slices.ContainsFunc(q.Dimensions, func(d DimensionOf) bool { return d.output() == name }) {
				return invalid("Subtotal spec names [%s], which is not a dimension of the query", name)
			}
		}
	}
	return nil
}

// Scan returns rows.
type Scan struct {
	Common
	Columns      []string    `json:"columns"`
	Limit        *Whole      `json:"limit"`
	Offset       Whole       `json:"offset"`
	Order        Word        `json:"order"`
	OrderBy      []ScanOrder `json:"orderBy"`
	BatchSize    Whole       `json:"batchSize"`
	ResultFormat Word        `json:"resultFormat"`
	// Legacy returns the time as a string in the first column, which is named LegacyTime.
	Legacy Flag `json:"legacy"`
}

// ScanOrder sorts by one column.
type ScanOrder struct {
	ColumnName string `json:"columnName"`
	Order      string `json:"order"`
}

func (q *Scan) check() error {
	if err := q.checkSource(); err != nil {
		return err
	}
	if err := q.checkIntervals(); err != nil {
		return err
	}
	switch q.ResultFormat {
	case "", "list", "compactedList":
	default:
		return invalid("resultFormat [%s] is unknown. Known are [list, compactedList]", q.ResultFormat)
	}
	q.Order = Word(lower(string(q.Order)))
	for _, o := range append([]ScanOrder{{Order: string(q.Order)}}, q.OrderBy...) {
		switch o.Order {
		case "", "none", "ascending", "descending":
		default:
			return invalid("order [%s] is unknown. Known are [none, ascending, descending]", o.Order)
		}
	}
	for _, o := range q.OrderBy {
		if o.Order == "" {
			return invalid("orderBy of column [%s] needs [order]", o.ColumnName)
		}
	}
	if len(q.OrderBy) > 0 && q.Order != "" && q.Order != "none" {
		if len(q.OrderBy) != 1 || q.OrderBy[0].ColumnName != plan.TimeColumn || q.OrderBy[0].Order != string(q.Order) {
			return invalid("Cannot provide 'order' incompatible with 'orderBy'")
		}
	}
	for _, o := range q.order() {
		if len(q.Columns) > 0 && !slices.Contains(q.Columns, o.ColumnName) {
			return invalid("Column [%s] from 'orderBy' must also appear in 'columns'.", o.ColumnName)
		}
	}
	switch {
	case q.Limit != nil && *q.Limit < 0:
		return invalid("limit must be greater than 0, but is [%d]", *q.Limit)
	case q.Offset < 0:
		return invalid("offset must be greater than or equal to 0, but is [%d]", q.Offset)
	case q.BatchSize < 0:
		return invalid("batchSize must be greater than 0, but is [%d]", q.BatchSize)
	}
	return nil
}

// Search finds the values of dimensions that a search query matches.
type Search struct {
	Common
	Limit            Whole         `json:"limit"`
	SearchDimensions []DimensionOf `json:"searchDimensions"`
	Query            SearchQueryOf `json:"query"`
	Sort             *SearchSort   `json:"sort"`
}

// SearchSort is the order of the values found.
type SearchSort struct {
	Type string `json:"type"`
}

func (q *Search) check() error {
	if err := q.checkSource(); err != nil {
		return err
	}
	if err := q.checkIntervals(); err != nil {
		return err
	}
	if q.Query.SearchQuery == nil {
		q.Query.SearchQuery = &AllSearch{}
	}
	if q.Limit < 0 {
		return invalid("limit can't be negative, but is [%d]", q.Limit)
	}
	if q.Sort != nil && q.Sort.Type != "" {
		if _, err := orderingOf(q.Sort.Type); err != nil {
			return err
		}
	}
	for _, d := range q.SearchDimensions {
		if d.Dimension == nil {
			return invalid("searchDimensions can't hold null")
		}
	}
	return nil
}

// TimeBoundary returns the minimum and the maximum time, or only one of them if Bound is minTime or
// maxTime.
type TimeBoundary struct {
	Common
	Bound string `json:"bound"`
}

// Earliest and Latest report whether only that bound is requested. The bound is case-insensitive.
// Any word other than these two requests both.
func (q *TimeBoundary) Earliest() bool { return strings.EqualFold(q.Bound, "minTime") }

// Latest is the counterpart of Earliest.
func (q *TimeBoundary) Latest() bool { return strings.EqualFold(q.Bound, "maxTime") }

func (q *TimeBoundary) check() error { return q.checkSource() }

// SegmentMetadata describes segments.
type SegmentMetadata struct {
	Common
	ToInclude              *ColumnSet `json:"toInclude"`
	Merge                  Flag       `json:"merge"`
	AnalysisTypes          *[]string  `json:"analysisTypes"`
	LenientAggregatorMerge Flag       `json:"lenientAggregatorMerge"`
	// UsingDefaultInterval requests the last week of data, regardless of the intervals.
	UsingDefaultInterval Flag `json:"usingDefaultInterval"`
	// AggregatorMergeStrategy is the method that merges the aggregators of several segments into one
	// list. AggregatorMerge parses it.
	AggregatorMergeStrategy string `json:"aggregatorMergeStrategy"`
}

// AggregatorMerge is the method that merges the aggregators of several segments into one list.
type AggregatorMerge string

// The merge methods: no aggregators if any differ or are unknown; only the aggregators that do not
// differ; the aggregators of the first or of the last segment that knows them.
const (
	MergeStrict   AggregatorMerge = "strict"
	MergeLenient  AggregatorMerge = "lenient"
	MergeEarliest AggregatorMerge = "earliest"
	MergeLatest   AggregatorMerge = "latest"
)

// AggregatorMerge returns the method with which q merges aggregators.
func (q *SegmentMetadata) AggregatorMerge() AggregatorMerge {
	switch {
	case q.AggregatorMergeStrategy != "":
		return AggregatorMerge(lower(q.AggregatorMergeStrategy))
	case bool(q.LenientAggregatorMerge):
		return MergeLenient
	}
	return MergeStrict
}

// ColumnSet names columns: all, none or a list.
type ColumnSet struct {
	Type    string   `json:"type"`
	Columns []string `json:"columns"`
}

// Has reports whether a column is in the set. A nil set contains all columns.
func (s *ColumnSet) Has(name string) bool {
	switch {
	case s == nil || s.Type == "all":
		return true
	case s.Type == "list":
		return slices.Contains(s.Columns, name)
	}
	return false
}

var analysisTypes = []string{"cardinality", "size", "interval", "aggregators", "minmax", "timestampspec", "querygranularity", "rollup", "projections"}

// Analyses returns the requested analyses; the default is cardinality, interval and minmax.
func (q *SegmentMetadata) Analyses() []string {
	if q.AnalysisTypes == nil {
		return []string{"cardinality", "interval", "minmax"}
	}
	return *q.AnalysisTypes
}

func (q *SegmentMetadata) check() error {
	if err := q.checkSource(); err != nil {
		return err
	}
	switch q.DataSource.DataSource.(type) {
	case *TableSource, *UnionSource:
	default:
		return invalid("Invalid dataSource type of a segmentMetadata query: only tables and unions of them can be described")
	}
	if q.ToInclude != nil && q.ToInclude.Type == "list" && q.ToInclude.Columns == nil {
		return invalid("toInclude of type [list] needs [columns]")
	}
	if q.ToInclude != nil && !slices.Contains([]string{"all", "none", "list"}, q.ToInclude.Type) {
		return invalid("toInclude of type [%s] is unknown. Known are [all, none, list]", q.ToInclude.Type)
	}
	if m := q.AggregatorMerge(); !slices.Contains([]AggregatorMerge{MergeStrict, MergeLenient, MergeEarliest, MergeLatest}, m) {
		return invalid("aggregatorMergeStrategy [%s] is unknown. Known are [strict, lenient, earliest, latest]", q.AggregatorMergeStrategy)
	} else if q.AggregatorMergeStrategy != "" && q.LenientAggregatorMerge {
		return invalid("Both lenientAggregatorMerge [true] and aggregatorMergeStrategy [%s] are set. Only aggregatorMergeStrategy is needed",
			q.AggregatorMergeStrategy)
	}
	if q.AnalysisTypes != nil {
		for i, a := range *q.AnalysisTypes {
			a = lower(a)
			if !slices.Contains(analysisTypes, a) {
				return invalid("analysisType [%s] is unknown. Known are %v", a, analysisTypes)
			}
			(*q.AnalysisTypes)[i] = a
		}
	}
	return nil
}

// DataSourceMetadata returns the time of the latest row.
type DataSourceMetadata struct{ Common }

func (q *DataSourceMetadata) check() error { return q.checkSource() }

// OfSegment returns q over the part of a table's time that a segment covers, without the operations
// that apply to all rows together: the limit, having and subtotals of groups. Their
// post-aggregators are NULL.
func OfSegment(q Query, table string, visible chrono.Interval) Query {
	copied := reflect.New(reflect.TypeOf(q).Elem())
	copied.Elem().Set(reflect.ValueOf(q).Elem())
	out, _ := reflect.TypeAssert[Query](copied)
	c, whole := out.Parts(), start(q.Parts())
	if UnitedTables(c.DataSource.DataSource) != nil {
		c.DataSource = DataSourceOf{&TableSource{Name: table}}
	}
	within := Intervals{}
	for _, iv := range q.Parts().When() {
		if part, ok := iv.Intersect(visible); ok && !part.IsEmpty() {
			within = append(within, part)
		}
	}
	if len(within) == 0 {
		within = Intervals{visible}
	}
	c.Intervals = &When{Intervals: within}
	switch q := out.(type) {
	case *GroupBy:
		q.LimitSpec, q.Having, q.SubtotalsSpec = nil, HavingOf{}, nil
		q.PostAggregations = slices.Clone(q.PostAggregations)
		for i, p := range q.PostAggregations {
			q.PostAggregations[i].PostAggregator = &ExpressionPost{Name: p.output(), Expression: "null"}
		}
		if fudge, _ := c.Context[fudgeTimestamp].V.(string); fudge == "" { // groups of all times have the time that those of all segments have
			c.Context = maps.Clone(c.Context)
			c.Context[fudgeTimestamp] = Value{strconv.FormatInt(whole, 10)}
		}
	case *SegmentMetadata:
		q.UsingDefaultInterval = false
	}
	return out
}
