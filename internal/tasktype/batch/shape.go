package batch

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
	"github.com/hengedb/henge/internal/vector"
)

// column is a column of segments that are compacted together.
type column struct {
	name string
	typ  expr.Type
	// metric is the aggregator whose states it holds; "": a dimension, or not the same everywhere.
	metric  string
	indexed bool
}

// columnsOf returns the columns of segments, those of the newest first, without time.
func columnsOf(sources []source) []column {
	var out []column
	at := map[string]int{}
	for _, s := range sources {
		for i := range s.info.Columns {
			c := &s.info.Columns[i]
			if c.Name == plan.TimeColumn {
				continue
			}
			typ := expr.FromRuntime(c.Type, false)
			if c.Multi {
				typ = expr.MultiString
			}
			k, seen := at[c.Name]
			if !seen {
				at[c.Name] = len(out)
				out = append(out, column{c.Name, typ, c.Metric, c.Indexed})
				continue
			}
			if out[k].metric != c.Metric || c.Metric != "" && out[k].typ.Runtime() != c.Type {
				out[k].metric = ""
			}
			out[k].typ = broker.Widen(out[k].typ, typ)
		}
	}
	return out
}

// shape is what a job of compaction writes.
type shape struct {
	write  *plan.Write
	target *msq.Target
	order  []string
	// dimensions and metrics are shown in the state of the segments.
	dimensions []spec.Dimension
	metrics    []json.RawMessage
	query      chrono.Granularity
	rollup     bool
}

// shapeOf decides on the columns of a job: those that the task asks for, else those of the
// segments.
func shapeOf(ctx context.Context, dataSource string, c *spec.Compaction, g *group) (*shape, error) {
	columns := columnsOf(g.sources)
	s := &shape{target: &msq.Target{}, rollup: true, query: chrono.All}
	for _, src := range g.sources {
		s.rollup = s.rollup && src.info.Rollup
		s.query = finer(s.query, src.info.QueryGranularity)
	}
	if c.Rollup != nil {
		s.rollup = *c.Rollup
	}
	if c.QueryGranularity != nil {
		s.query = *c.QueryGranularity
	}
	in := &native.Ingestion{Granularity: s.query}
	var err error
	if in.Filter, err = rowplan.FilterOf(c.Filter); err != nil {
		return nil, err
	}
	scan := scanOf(dataSource, g.read, columns)
	if in.Transforms, err = rowplan.TransformsOf(c.Transforms); err != nil {
		return nil, err
	}
	if len(in.Transforms) > 0 {
		if columns, err = transformed(ctx, in, scan, columns); err != nil {
			return nil, err
		}
	}
	kept, added, err := s.chooseMetrics(ctx, c, columns)
	if err != nil {
		return nil, err
	}
	asked := s.chooseDimensions(c, columns, kept)
	in.Spatial = spec.SpatialOf(s.dimensions)
	metrics := make([]string, 1, len(columns)+1) // of __time
	for _, d := range s.dimensions {
		in.Dimensions = append(in.Dimensions, plan.Column{Name: d.Name, Type: storedType(d, columns)})
		handling := msq.AsArray // values that the segments have in order
		if asked {
			handling = rowplan.HandlingOf(d)
		}
		s.target.MultiValue = append(s.target.MultiValue, handling)
		s.target.NoIndex = append(s.target.NoIndex, !d.Bitmap)
		metrics = append(metrics, "")
	}
	s.target.MultiValue, s.target.NoIndex = slices.Insert(s.target.MultiValue, 0, msq.AsArray), slices.Insert(s.target.NoIndex, 0, false)
	if added != nil {
		in.Metrics, in.Rollup = added, true
	} else {
		for _, m := range kept {
			in.Dimensions = append(in.Dimensions, plan.Column{Name: m.name, Type: m.typ})
			metrics = append(metrics, m.metric)
		}
		s.target.Metrics = metrics
	}
	for range len(metrics) + len(added) - len(s.target.NoIndex) {
		s.target.MultiValue, s.target.NoIndex = append(s.target.MultiValue, msq.AsArray), append(s.target.NoIndex, false)
	}
	s.target.QueryGranularity = s.query.String()
	node, err := in.Translate(ctx, scan)
	if err != nil {
		return nil, err
	}
	s.write = &plan.Write{Input: node, Rollup: s.rollup}
	s.order = orderOf(g, s.dimensions, in.Dimensions)
	return s, nil
}

// transformed returns the columns of segments with what transforms make of them. Those that they
// add are dimensions where the task names them.
func transformed(ctx context.Context, in *native.Ingestion, scan *plan.Scan, columns []column) ([]column, error) {
	rows, err := in.Rows(ctx, scan)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(columns)
	for _, v := range in.Transforms {
		name := v.Name()
		if name == plan.TimeColumn {
			continue
		}
		i := slices.IndexFunc(rows.Columns(), func(c plan.Column) bool { return c.Name == name })
		made := column{name: name, typ: plan.ColumnAt(rows, i).Type, indexed: true}
		if old := find(out, name); old != nil {
			*old = made
		} else {
			out = append(out, made)
		}
	}
	return out, nil
}

// scanOf reads the columns of segments.
func scanOf(dataSource string, read chrono.Interval, columns []column) *plan.Scan {
	n := &plan.Scan{DataSource: dataSource, Intervals: []chrono.Interval{read}, Limit: -1,
		Out: []plan.Column{{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp).NotNull()}}}
	for _, c := range columns {
		n.Out = append(n.Out, plan.Column{Name: c.name, Type: c.typ})
	}
	return n
}

// finer returns the finer of a granularity and one that is named; a name that is not known counts
// as none.
func finer(g chrono.Granularity, name string) chrono.Granularity {
	other, err := chrono.ParseGranularity(name)
	switch {
	case err != nil || other.IsNone() || g.IsNone():
		return chrono.None
	case other.IsAll() || !g.IsAll() && g.Bucket(0).Millis() <= other.Bucket(0).Millis():
		return g
	}
	return other
}

// chooseMetrics returns the metric columns that are kept as they are, or, where the task wants
// others, aggregators for all that it wants.
func (s *shape) chooseMetrics(ctx context.Context, c *spec.Compaction, columns []column) (kept []column, added []native.AggregatorOf, err error) {
	if c.KeepMetrics {
		for _, col := range columns {
			if col.metric == "" {
				continue
			}
			if s.rollup && !rowplan.Folds(col.metric, col.typ.Runtime()) {
				s.rollup = s.rollup && c.Rollup != nil && *c.Rollup
				if s.rollup {
					return nil, nil, fault.Unsupported("Metric [%s] can't be rolled up further; compact without rollup", col.name)
				}
			}
			kept = append(kept, col)
			text, err := json.Marshal(msq.MetricJSON(col.metric, col.name, col.typ.Runtime()))
			if err != nil {
				return nil, nil, err
			}
			s.metrics = append(s.metrics, text)
		}
		return kept, nil, nil
	}
	wanted, err := rowplan.AggregatorsOf(c.Metrics)
	if err != nil {
		return nil, nil, err
	}
	for i, m := range c.Metrics {
		s.metrics = append(s.metrics, m.Wire)
		col := find(columns, m.Name)
		same, err := sameMetric(ctx, col, wanted[i], columns)
		if err != nil {
			return nil, nil, err
		}
		if same {
			kept = append(kept, *col)
			text, err := json.Marshal(msq.MetricJSON(col.metric, col.name, col.typ.Runtime()))
			if err != nil {
				return nil, nil, err
			}
			if err := wanted[i].UnmarshalJSON(text); err != nil {
				return nil, nil, err
			}
		}
	}
	if len(kept) == len(wanted) {
		return kept, nil, nil
	}
	if !s.rollup {
		return nil, nil, fault.InvalidInput("[metricsSpec] of a compact task adds metrics, which needs [rollup] in its [granularitySpec]")
	}
	return nil, wanted, nil
}

func find(columns []column, name string) *column {
	if i := slices.IndexFunc(columns, func(c column) bool { return c.name == name }); i >= 0 {
		return &columns[i]
	}
	return nil
}

// sameMetric reports whether a column holds the states of an aggregator already, so that they are
// to be combined and not aggregated again.
func sameMetric(ctx context.Context, col *column, a native.AggregatorOf, columns []column) (bool, error) {
	if col == nil || col.metric == "" || !rowplan.Folds(col.metric, col.typ.Runtime()) {
		return false, nil
	}
	node, err := (&native.Ingestion{Metrics: []native.AggregatorOf{a}, Rollup: true}).Translate(ctx, scanOf("", chrono.Eternity, columns))
	if err != nil {
		return false, err
	}
	if n, ok := node.(*plan.Aggregate); ok && len(n.Aggs) == 1 {
		return n.Aggs[0].Agg.Metric() == col.metric && n.Aggs[0].Type.Runtime() == col.typ.Runtime(), nil
	}
	return false, nil
}

// chooseDimensions lists the dimensions: those that the task names, in which case it asked for
// them, else those of the segments.
func (s *shape) chooseDimensions(c *spec.Compaction, columns []column, kept []column) (asked bool) {
	if c.Dimensions != nil && len(c.Dimensions.Explicit) > 0 {
		s.dimensions = c.Dimensions.Explicit
		return true
	}
	taken := map[string]bool{}
	for _, m := range c.Metrics {
		taken[m.Name] = true
	}
	if c.Dimensions != nil {
		for _, name := range c.Dimensions.Exclusions {
			taken[name] = true
		}
	}
	for _, m := range kept {
		taken[m.name] = true
	}
	for _, col := range columns {
		if taken[col.name] || col.metric != "" && !c.KeepMetrics {
			continue
		}
		s.dimensions = append(s.dimensions, dimensionOf(col))
	}
	return false
}

// dimensionOf describes a column of segments as a dimension. Its values keep the order that they
// have.
func dimensionOf(c column) spec.Dimension {
	d := spec.Dimension{Name: c.name, MultiValue: "SORTED_ARRAY", Type: "auto"}
	switch t := c.typ; {
	case t.Multi || t.IsCharacter():
		d.Type, d.Bitmap = "string", true
	case t.Runtime() == vector.Long:
		d.Type = "long"
	case t.Runtime() == vector.Double:
		d.Type = "double"
	case t.Runtime() == vector.Float:
		d.Type = "float"
	case t.Runtime() == vector.JSON:
		d.Type, d.Bitmap = "json", true
	default:
		d.CastTo, d.Bitmap = t.Runtime().String(), true
	}
	return d
}

// storedType is the type of a dimension's column.
func storedType(d spec.Dimension, columns []column) expr.Type {
	if t, ok := d.FixedType(); ok {
		return t
	}
	col := find(columns, d.Name)
	if d.Type == "string" {
		if col != nil && (col.typ.Multi || col.typ.Base == expr.Array) {
			return expr.MultiString
		}
		return expr.Of(expr.Varchar)
	}
	if t, ok := expr.ParseTypeName(d.CastTo); ok && d.CastTo != "" {
		return t
	}
	if col == nil {
		return expr.Of(expr.Varchar)
	}
	return col.typ
}

// orderOf returns the columns by which rows are sorted: time, then the dimensions that have an
// order, unless the segments were sorted otherwise.
func orderOf(g *group, dimensions []spec.Dimension, columns []plan.Column) []string {
	if len(g.sources) > 0 {
		if old := g.sources[0].info.SortOrder; len(old) > 0 && old[0] != plan.TimeColumn {
			order := slices.DeleteFunc(slices.Clone(old), func(name string) bool {
				return name != plan.TimeColumn && !slices.ContainsFunc(dimensions, func(d spec.Dimension) bool { return d.Name == name })
			})
			if len(order) > 0 {
				return order
			}
		}
	}
	return rowplan.SortedBy(columns[:len(dimensions)])
}

// state is what segments say of the settings that they were compacted with.
func (s *shape) state(c *spec.Compaction, g *group) (json.RawMessage, error) {
	partitions := *c.Tuning.Given()
	if partitions.Type == "dynamic" && partitions.MaxTotalRows == 0 {
		partitions.MaxTotalRows = math.MaxInt64
	}
	dimensions, metrics := s.dimensions, s.metrics
	if dimensions == nil {
		dimensions = []spec.Dimension{}
	}
	if metrics == nil {
		metrics = []json.RawMessage{}
	}
	intervals := make([]chrono.Interval, len(g.sources))
	for i, src := range g.sources {
		intervals[i] = src.interval
	}
	span, _ := chrono.SpanAll(intervals)
	return json.Marshal(struct {
		Partitions  spec.Partitions   `json:"partitionsSpec"`
		Dimensions  any               `json:"dimensionsSpec"`
		Metrics     []json.RawMessage `json:"metricsSpec"`
		Transform   json.RawMessage   `json:"transformSpec"`
		Index       json.RawMessage   `json:"indexSpec"`
		Granularity any               `json:"granularitySpec"`
	}{
		partitions, map[string]any{"dimensions": dimensions, "dimensionExclusions": []string{}, "includeAllDimensions": false, "useSchemaDiscovery": false},
		metrics, c.Transform(), c.Tuning.IndexSpec(),
		map[string]any{"type": "uniform", "segmentGranularity": g.granularity, "queryGranularity": s.query, "rollup": s.rollup,
			"intervals": []chrono.Interval{span}},
	})
}
