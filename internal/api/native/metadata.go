package native

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// analysis is one element of the answer of a segmentMetadata query: of a segment, or of several merged.
type analysis struct {
	ID               string         `json:"id"`
	Intervals        []string       `json:"intervals"`
	Columns          columnMap      `json:"columns"`
	Size             int64          `json:"size"`
	NumRows          int64          `json:"numRows"`
	Aggregators      map[string]any `json:"aggregators"`
	Projections      any            `json:"projections"`
	TimestampSpec    any            `json:"timestampSpec"`
	QueryGranularity any            `json:"queryGranularity"`
	Rollup           *bool          `json:"rollup"`

	intervals []chrono.Interval
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
		text, err := edge.MarshalJSON(m.columns[name])
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

// segmentMetadata describes the segments of a query's tables. Without intervals those of the last week of data count, as old clients
// expect.
func (x *execution) segmentMetadata(ctx context.Context, q *lang.SegmentMetadata) error {
	var merged *analysis
	out := x.out
	out.buf = append(out.buf, '[')
	first := true
	write := func(a *analysis) error {
		text, err := edge.MarshalJSON(a)
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
	asked := q.Analyses()
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		within, err := x.recent(ctx, q, name)
		if err != nil {
			return err
		}
		err = x.session.Segments(ctx, name, within, func(s Segment) error {
			a := analyze(q, asked, s)
			switch {
			case !q.Merge:
				return write(a)
			case merged == nil:
				merged = a
			default:
				merged.merge(a, q.AggregatorMerge())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if merged != nil {
		if err := write(merged); err != nil {
			return err
		}
	}
	out.buf = append(out.buf, ']')
	return nil
}

// defaultHistory is how far before the end of the data a segmentMetadata query without intervals looks.
const defaultHistory = 7 * 24 * 60 * 60 * 1000

// recent returns the intervals of q, or those of the last week of the datasource.
func (x *execution) recent(ctx context.Context, q *lang.SegmentMetadata, name string) ([]chrono.Interval, error) {
	if q.Intervals != nil {
		return q.When(), nil
	}
	end, any := int64(0), false
	err := x.session.Segments(ctx, name, q.When(), func(s Segment) error {
		if !any || s.Interval.End > end {
			end, any = s.Interval.End, true
		}
		return nil
	})
	return []chrono.Interval{{Start: end - defaultHistory, End: end}}, err
}

func analyze(q *lang.SegmentMetadata, asked []string, s Segment) *analysis {
	a := &analysis{ID: s.ID, NumRows: int64(s.Info.Rows)}
	wants := func(what string) bool { return slices.Contains(asked, what) }
	if wants("size") {
		a.Size = s.Size
	}
	if wants("interval") {
		a.intervals = []chrono.Interval{s.Interval}
		a.Intervals = []string{s.Interval.String()}
	}
	if wants("rollup") {
		rollup := s.Info.Rollup
		a.Rollup = &rollup
	}
	if wants("querygranularity") && s.Info.QueryGranularity != "" {
		a.QueryGranularity = s.Info.QueryGranularity
	}
	if wants("aggregators") {
		a.Aggregators = aggregatorsOf(s.Info)
	}
	for i := range s.Info.Columns {
		if c := &s.Info.Columns[i]; q.ToInclude.Has(c.Name) {
			a.Columns.set(c.Name, describe(c, wants))
		}
	}
	return a
}

func describe(c *segment.ColumnInfo, wants func(string) bool) *columnAnalysis {
	t := c.Type
	if c.Multi {
		t = vector.String
	}
	out := &columnAnalysis{TypeSignature: t.String(), Type: t.String(), HasMultipleValues: c.Multi, HasNulls: c.Nulls > 0}
	switch t.Kind {
	case vector.KindComplex:
		out.Type = t.ComplexName()
		out.HasNulls = true // as the reference says of all of them
	case vector.KindList:
		out.Type = "ARRAY"
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
func (a *analysis) merge(b *analysis, how lang.AggregatorMerge) {
	a.ID = "merged"
	a.Aggregators = mergeAggregators(how, a.Aggregators, b.Aggregators)
	if a.Intervals != nil {
		a.intervals = chrono.Condense(append(a.intervals, b.intervals...))
		a.Intervals = a.Intervals[:0]
		for _, iv := range a.intervals {
			a.Intervals = append(a.Intervals, iv.String())
		}
	}
	a.Size += b.Size
	a.NumRows += b.NumRows
	if a.Rollup != nil && b.Rollup != nil && *a.Rollup != *b.Rollup {
		a.Rollup = nil
	}
	if a.QueryGranularity != b.QueryGranularity {
		a.QueryGranularity = nil
	}
	for _, name := range b.Columns.names {
		if mine, ok := a.Columns.columns[name]; ok {
			a.Columns.set(name, mine.merge(b.Columns.columns[name]))
		} else {
			a.Columns.set(name, b.Columns.columns[name])
		}
	}
}

func (c *columnAnalysis) merge(d *columnAnalysis) *columnAnalysis {
	if c.ErrorMessage != nil {
		return c
	}
	if c.TypeSignature != d.TypeSignature {
		text := fmt.Sprintf("error:cannot_merge_diff_types: [%s] and [%s]", c.Type, d.Type)
		return &columnAnalysis{TypeSignature: "STRING", Type: "STRING", Size: -1, ErrorMessage: &text}
	}
	out := *c
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

// better returns the lesser or greater of two texts; a bound that one side does not know is not known.
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

// dataSourceMetadata gives the time of the latest row.
func (x *execution) dataSourceMetadata(ctx context.Context, q *lang.DataSourceMetadata) error {
	out := x.out
	latest, any := int64(0), false
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		err := x.session.Segments(ctx, name, []chrono.Interval{chrono.Eternity}, func(s Segment) error {
			if t := min(s.Info.MaxTime, s.Visible.End-1); s.Info.HasTimes && (!any || t > latest) {
				latest, any = t, true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	out.buf = append(out.buf, '[')
	if any {
		out.buf = appendTime(append(out.buf, `{"timestamp":`...), latest)
		out.buf = append(appendTime(append(out.buf, `,"result":{"maxIngestedEventTime":`...), latest), "}}"...)
	}
	out.buf = append(out.buf, ']')
	return nil
}
