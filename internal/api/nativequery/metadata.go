package nativequery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/jsontext"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// analysis is one element of the answer of a segmentMetadata query: of a segment, or of several
// merged.
type analysis struct {
	ID               string         `json:"id"`
	Intervals        []string       `json:"intervals"`
	Columns          columnMap      `json:"columns"`
	Size             int64          `json:"size"`
	NumRows          int64          `json:"numRows"`
	Aggregators      map[string]any `json:"aggregators"`
	TimestampSpec    *timestampSpec `json:"timestampSpec"`
	QueryGranularity *string        `json:"-"`
	Granularity      any            `json:"queryGranularity"`
	Rollup           *bool          `json:"rollup"`

	at        int // the place of its first segment
	intervals []chrono.Interval
	said      []saidAt         // of aggregators
	times     *chrono.Interval // from the first to behind the last row; nil: nobody asked
}

// columnAnalysis describes a column. Null stands for what is not known or was not asked for.
type columnAnalysis struct {
	TypeSignature     string  `json:"typeSignature"`
	Type              string  `json:"type"`
	HasMultipleValues bool    `json:"hasMultipleValues"`
	HasNulls          bool    `json:"hasNulls"`
	Size              int64   `json:"size"`
	Cardinality       *int    `json:"cardinality"`
	MinValue          any     `json:"minValue"`
	MaxValue          any     `json:"maxValue"`
	ErrorMessage      *string `json:"errorMessage"`

	first int64   // where it was first seen: the place of the segment, then of the column
	other *typeAt // nil: all segments have the same type
}

// columnMap keeps the order of columns.
type columnMap struct {
	names   []string
	columns map[string]*columnAnalysis
}

// MarshalJSON writes an object in the order of the columns.
func (m columnMap) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, name := range m.names {
		if i > 0 {
			out = append(out, ',')
		}
		text, err := jsontext.Marshal(m.columns[name])
		if err != nil {
			return nil, err
		}
		out = append(append(appendQuoted(out, name), ':'), text...)
	}
	return append(out, '}'), nil
}

func (m *columnMap) set(name string, c *columnAnalysis) {
	if m.columns == nil {
		m.columns = map[string]*columnAnalysis{}
	}
	if _, ok := m.columns[name]; !ok {
		m.names = append(m.names, name)
	}
	m.columns[name] = c
}

// segmentMetadata describes the segments of a query's tables. Without intervals those of the last
// week of data count, as old clients expect.
func (x *execution) segmentMetadata(ctx context.Context, q *lang.SegmentMetadata) error {
	out := x.out
	out.buf = append(out.buf, '[')
	first := true
	write := func(a *analysis) error {
		text, err := jsontext.Marshal(a)
		if err != nil {
			return fmt.Errorf("encoding the analysis of a segment: %w", err)
		}
		if !first {
			out.buf = append(out.buf, ',')
		}
		first = false
		out.buf = append(out.buf, text...)
		return out.flushed()
	}
	var segments []query.Listed
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		segments = append(segments, x.session.List(name, x.recent(q, name))...)
	}
	if !q.Merge {
		slices.SortFunc(segments, func(a, b query.Listed) int { return strings.Compare(a.ID, b.ID) })
	}
	for i := range segments {
		segments[i].At = i
	}
	if q.Merge && len(segments) > 1 && segments[1].Interval.End > segments[0].Interval.End {
		// quirk Q014: Druid puts the later of the first two before the other, for its columns, and after
		// that takes them as they come.
		segments[0].At, segments[1].At = 1, 0
	}
	if err := x.analyses(ctx, q, segments, func(a *analysis) error {
		shown, err := a.finish(q.AggregatorMerge())
		if err != nil {
			return err
		}
		return write(shown)
	}); err != nil {
		return err
	}
	out.buf = append(out.buf, ']')
	return nil
}

// defaultHistory is how far before the end of the data a segmentMetadata query without intervals
// looks, unless Options say otherwise.
const defaultHistory = 7 * 24 * 60 * 60 * 1000

// recent returns the intervals of q, or the last part of the datasource's time.
func (x *execution) recent(q *lang.SegmentMetadata, name string) []chrono.Interval {
	if q.Intervals != nil && !q.UsingDefaultInterval {
		return q.When()
	}
	end := int64(0)
	for i, l := range x.session.List(name, q.When()) {
		if i == 0 || l.Interval.End > end {
			end = l.Interval.End
		}
	}
	last := chrono.Interval{Start: end - x.history, End: end}
	out := []chrono.Interval{}
	for _, iv := range q.When() {
		if part, ok := iv.Intersect(last); ok {
			out = append(out, part)
		}
	}
	return out
}

func analyze(r *analysesRequest, l *query.Listed, info *segment.Info) *analysis {
	a := &analysis{at: l.At, ID: l.ID, NumRows: int64(info.Rows)}
	wants := func(what string) bool { return slices.Contains(r.Asked, what) }
	if wants("size") {
		a.Size = l.Size
	}
	if wants("interval") {
		a.intervals = []chrono.Interval{l.Interval}
	}
	if wants("rollup") {
		rollup := info.Rollup
		a.Rollup = &rollup
	}
	if wants("querygranularity") && info.QueryGranularity != "" {
		granularity := info.QueryGranularity
		a.QueryGranularity = &granularity
	}
	if wants("timestampspec") {
		a.TimestampSpec = timestampSpecOf(info)
	}
	if wants("times") {
		times := timesOf(info)
		a.times = &times
	}
	if wants("aggregators") {
		a.said = saidOf(l.At, info)
	}
	for i := range info.Columns {
		if c := &info.Columns[i]; r.Include.Has(c.Name) {
			d := describe(c, wants)
			d.first = int64(l.At)<<columnBits | int64(i)
			a.Columns.set(c.Name, d)
		}
	}
	return a
}

// timestampSpec says where rows had their times.
type timestampSpec struct {
	Column  string `json:"column"`
	Format  string `json:"format"`
	Missing any    `json:"missingValue"`
}

// timestampSpecOf returns that of a segment: statements and compaction read the time from where it
// is stored.
func timestampSpecOf(info *segment.Info) *timestampSpec {
	kept, err := segment.ParseKept(info.Metadata)
	spec := &timestampSpec{}
	if err != nil || kept.TimestampSpec == nil || json.Unmarshal(kept.TimestampSpec, spec) != nil {
		return &timestampSpec{Column: plan.TimeColumn, Format: "millis"}
	}
	return spec
}

// columnBits is how many bits of the place of a column are for those of one segment.
const columnBits = 24

func describe(c *segment.ColumnInfo, wants func(string) bool) *columnAnalysis {
	t := c.Type
	if c.Multi {
		t = vector.String
	}
	out := &columnAnalysis{TypeSignature: t.String(), Type: t.String(), HasMultipleValues: c.Multi, HasNulls: c.Nulls > 0}
	switch t.Kind {
	case vector.KindComplex:
		out.Type = t.ComplexName()
		out.HasNulls = true // quirk Q014: as Druid says of all of them
	case vector.KindList:
		out.Type = "ARRAY"
		out.HasNulls = false // quirk Q014: as Druid says of all of them
	case vector.KindString:
		zero := 0
		out.Cardinality = &zero
		if wants("cardinality") && c.Distinct >= 0 {
			n := c.Distinct
			if c.Nulls > 0 {
				n++ // NULL is one of the values of a dictionary
			}
			out.Cardinality = &n
		}
		if wants("minmax") {
			if c.MinExact && c.Nulls == 0 {
				out.MinValue = c.Min
			}
			if c.MaxExact {
				out.MaxValue = c.Max
			}
		}
	}
	if c.Name == plan.TimeColumn {
		out.HasNulls = false
	}
	if wants("size") {
		out.Size = c.Size
	}
	return out
}

// merge adds what b says to a.
func (a *analysis) merge(b *analysis) {
	a.ID = "merged"
	a.at = min(a.at, b.at)
	if a.intervals != nil {
		a.intervals = chrono.Condense(append(a.intervals, b.intervals...))
	}
	a.said = mergeSaid(a.said, b.said)
	a.Size += b.Size
	a.NumRows += b.NumRows
	if a.Rollup != nil && (b.Rollup == nil || *a.Rollup != *b.Rollup) {
		a.Rollup = nil // several say different things
	}
	if a.QueryGranularity != nil && (b.QueryGranularity == nil || *a.QueryGranularity != *b.QueryGranularity) {
		a.QueryGranularity = nil
	}
	if a.TimestampSpec != nil && (b.TimestampSpec == nil || *a.TimestampSpec != *b.TimestampSpec) {
		a.TimestampSpec = nil
	}
	for _, name := range b.Columns.names {
		if mine, ok := a.Columns.columns[name]; ok {
			a.Columns.set(name, mine.merge(b.Columns.columns[name]))
		} else {
			a.Columns.set(name, b.Columns.columns[name])
		}
	}
}

// finish makes the members that are shown of what was merged: columns come in the order in which
// segments first have them.
func (a *analysis) finish(how lang.AggregatorMerge) (*analysis, error) {
	var err error
	if a.Aggregators, err = foldSaid(how, a.said); err != nil {
		return nil, err
	}
	if a.ID == "merged" && len(a.Aggregators) == 0 {
		a.Aggregators = nil
	}
	if a.QueryGranularity != nil {
		a.Granularity = granularityOf(*a.QueryGranularity)
	}
	for _, iv := range a.intervals {
		a.Intervals = append(a.Intervals, iv.String())
	}
	slices.SortFunc(a.Columns.names, func(x, y string) int { return cmp.Compare(a.Columns.columns[x].first, a.Columns.columns[y].first) })
	for _, name := range a.Columns.names {
		if c := a.Columns.columns[name]; c.other != nil {
			text := fmt.Sprintf("error:cannot_merge_diff_types: [%s] and [%s]", c.Type, c.other.Type)
			a.Columns.columns[name] = &columnAnalysis{TypeSignature: "STRING", Type: "STRING", Size: -1, ErrorMessage: &text}
		}
	}
	return a, nil
}

// granularityOf shows a granularity as Druid does: none, all and periods without a name as objects.
// See quirk Q014.
func granularityOf(name string) any {
	g, err := chrono.ParseGranularity(name)
	switch {
	case err != nil:
		return name
	case g.IsNone():
		return map[string]string{"type": "none"}
	case g.IsAll():
		return map[string]string{"type": "all"}
	}
	if name, ok := g.Name(); ok {
		return name
	}
	p, _ := g.Period()
	return map[string]any{"type": "period", "period": p.String(), "timeZone": "UTC", "origin": nil}
}

// typeAt is the first type of a column that is not that of its first segment.
type typeAt struct {
	At        int64  `json:"at"`
	Signature string `json:"signature"`
	Type      string `json:"type"`
}

// merge returns what both say, whichever comes first.
func (c *columnAnalysis) merge(d *columnAnalysis) *columnAnalysis {
	if d.first < c.first {
		c, d = d, c
	}
	out := *c
	for _, t := range []*typeAt{{d.first, d.TypeSignature, d.Type}, d.other} {
		if t != nil && t.Signature != c.TypeSignature && (out.other == nil || t.At < out.other.At) {
			out.other = t
		}
	}
	if out.other != nil {
		return &out // the rest is not shown
	}
	out.HasMultipleValues = c.HasMultipleValues || d.HasMultipleValues
	out.HasNulls = c.HasNulls || d.HasNulls
	out.Size += d.Size
	if c.Cardinality != nil && d.Cardinality != nil {
		n := max(*c.Cardinality, *d.Cardinality)
		out.Cardinality = &n
	}
	out.MinValue = better(c.MinValue, d.MinValue, -1)
	out.MaxValue = better(c.MaxValue, d.MaxValue, 1)
	return &out
}

// better returns the lesser or greater of two texts; a bound that one side does not know is not
// known.
func better(a, b any, sign int) any {
	x, ok := a.(string)
	y, also := b.(string)
	switch {
	case !ok && sign > 0:
		return b
	case !also && sign > 0:
		return a
	case !ok || !also:
		return nil
	case strings.Compare(x, y)*sign >= 0:
		return a
	}
	return b
}

// dataSourceMetadata gives the time of the latest row of the segments that are in the intervals,
// also in part.
func (x *execution) dataSourceMetadata(ctx context.Context, q *lang.DataSourceMetadata) error {
	out := x.out
	latest, any := int64(0), false
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		overlaps := func(visible chrono.Interval) bool { return slices.ContainsFunc(q.When(), visible.Overlaps) }
		err := x.times(ctx, name, []chrono.Interval{chrono.Eternity}, overlaps, func(visible, rows chrono.Interval) {
			if t := min(rows.End, visible.End) - 1; !any || t > latest {
				latest, any = t, true
			}
		})
		if err != nil {
			return err
		}
	}
	out.buf = append(out.buf, '[')
	if any {
		out.buf = x.appendMoment(append(out.buf, `{"timestamp":`...), x.shownAt(latest))
		out.buf = append(x.appendMoment(append(out.buf, `,"result":{"maxIngestedEventTime":`...), latest), "}}"...)
	}
	out.buf = append(out.buf, ']')
	return nil
}
