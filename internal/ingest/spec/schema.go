package spec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
)

// DataSchema defines how records are converted to rows. It is immutable.
type DataSchema struct {
	DataSource string
	Time       Timestamp
	Dimensions Dimensions
	// Metrics are the aggregators of the metricsSpec, in their JSON form.
	Metrics     []Metric
	Granularity Granularity
	// Transforms are the transforms and Filter is the filter of the transformSpec, in their JSON form.
	// Filter may be nil.
	Transforms []json.RawMessage
	Filter     json.RawMessage
}

// Metric is an aggregator.
type Metric struct {
	Name string
	// Inputs are the fields that it reads and names explicitly.
	Inputs []string
	Wire   json.RawMessage
}

// Granularity is a granularitySpec.
type Granularity struct {
	Segment, Query chrono.Granularity
	Rollup         bool
	// Arbitrary says that Given are the time chunks.
	Arbitrary bool
	// Given are the intervals in the order and form in which they were given.
	Given []chrono.Interval
	// Intervals are the intervals that may contain rows; nil: any.
	Intervals []chrono.Interval
}

// MaxColumns is the maximum number of dimensions and metrics of a schema. It is equal to the
// maximum number of discovered fields.
const MaxColumns = ingest.MaxShapeFields

// Parse parses a dataSchema. If it is absent, Parse returns the default of the sampler: the time in
// column timestamp, and all other columns as strings.
func Parse(text json.RawMessage) (*DataSchema, error) {
	var w struct {
		DataSource  string          `json:"dataSource"`
		Timestamp   json.RawMessage `json:"timestampSpec"`
		Dimensions  json.RawMessage `json:"dimensionsSpec"`
		Metrics     []metricWire    `json:"metricsSpec"`
		Granularity json.RawMessage `json:"granularitySpec"`
		Transform   *struct {
			Transforms []json.RawMessage `json:"transforms"`
			Filter     json.RawMessage   `json:"filter"`
		} `json:"transformSpec"`
		Parser json.RawMessage `json:"parser"`
	}
	if err := decode("dataSchema", text, &w); err != nil {
		return nil, err
	}
	if !absent(w.Parser) {
		return nil, fault.InvalidInput("[parser] in [dataSchema] is not supported; use timestampSpec, dimensionsSpec and an inputFormat")
	}
	s := &DataSchema{DataSource: w.DataSource}
	var err error
	if s.Time, err = parseTimestamp(w.Timestamp); err != nil {
		return nil, err
	}
	if s.Dimensions, err = parseDimensions(w.Dimensions); err != nil {
		return nil, err
	}
	if s.Granularity, err = parseGranularity(w.Granularity); err != nil {
		return nil, err
	}
	for _, m := range w.Metrics {
		s.Metrics = append(s.Metrics, Metric(m))
	}
	if w.Transform != nil {
		s.Transforms = w.Transform.Transforms
		if !absent(w.Transform.Filter) {
			s.Filter = w.Transform.Filter
		}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if absent(w.Timestamp) {
		return nil, fault.InvalidInput("[dataSchema] needs a [timestampSpec], which says where the time of a record is")
	}
	return s, nil
}

func (s *DataSchema) check() error {
	if n := len(s.Dimensions.Explicit) + len(s.Metrics); n > MaxColumns {
		return fault.InvalidInput("The dataSchema has [%d] dimensions and metrics; a native load has at most [%d]", n, MaxColumns)
	}
	seen := map[string]bool{}
	for _, d := range s.Dimensions.Explicit {
		if d.Name == "" {
			return fault.InvalidInput("A dimension in [dimensionsSpec] has no name")
		}
		if d.Name == TimeColumn && d.Type != "long" {
			return fault.InvalidInput("Cannot specify a column more than once: [%s] seen in dimensions list, primary timestamp; "+
				"as a dimension, which gives its place in the order, it has type [long]", TimeColumn)
		}
		if seen[d.Name] {
			return fault.InvalidInput("Cannot specify a column more than once: [%s] occurs in dimensionsSpec twice", d.Name)
		}
		seen[d.Name] = true
	}
	for _, m := range s.Metrics {
		if m.Name == "" {
			return fault.InvalidInput("An aggregator in [metricsSpec] has no name")
		}
		if seen[m.Name] || m.Name == TimeColumn {
			return fault.InvalidInput("Cannot specify a column more than once: [%s] seen in dimensions list, metricsSpec list", m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}

// TimeColumn is the name of the time column.
const TimeColumn = "__time"

type metricWire Metric

// UnmarshalJSON parses the members of an aggregator that are needed here.
func (m *metricWire) UnmarshalJSON(text []byte) error {
	var w struct {
		Name       string          `json:"name"`
		FieldName  string          `json:"fieldName"`
		FieldNames []string        `json:"fieldNames"`
		Fields     json.RawMessage `json:"fields"`
		Aggregator *metricWire     `json:"aggregator"`
	}
	if err := jsontext.Read(text, &w); err != nil {
		return err
	}
	*m = metricWire{Name: w.Name, Inputs: w.FieldNames, Wire: slices.Clone(text)}
	if w.FieldName != "" {
		m.Inputs = append(m.Inputs, w.FieldName)
	}
	var fields []string
	if json.Unmarshal(w.Fields, &fields) == nil {
		m.Inputs = append(m.Inputs, fields...)
	}
	if w.Aggregator != nil {
		m.Inputs = append(m.Inputs, w.Aggregator.Inputs...)
		if m.Name == "" {
			m.Name = w.Aggregator.Name
		}
	}
	return nil
}

func parseGranularity(text json.RawMessage) (Granularity, error) {
	g := Granularity{Query: chrono.None, Rollup: true}
	var err error
	if g.Segment, err = chrono.ParseGranularity("DAY"); err != nil {
		return g, err
	}
	w := struct {
		Type      string             `json:"type"`
		Segment   chrono.Granularity `json:"segmentGranularity"`
		Query     chrono.Granularity `json:"queryGranularity"`
		Rollup    *bool              `json:"rollup"`
		Intervals []string           `json:"intervals"`
	}{Segment: g.Segment, Query: g.Query}
	if err := decode("granularitySpec", text, &w); err != nil {
		return g, err
	}
	g.Arbitrary = strings.EqualFold(w.Type, "arbitrary") // quirk Q012: any other type is uniform, as in Druid
	g.Segment, g.Query = w.Segment, w.Query
	if w.Rollup != nil {
		g.Rollup = *w.Rollup
	}
	for _, text := range w.Intervals {
		iv, err := chrono.ParseInterval(text)
		if err != nil {
			return g, err
		}
		g.Given = append(g.Given, iv)
	}
	g.Intervals = chrono.Condense(g.Given)
	return g, nil
}

func absent(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

// decode reads a part of a spec; an absent one is left as it is.
func decode(field string, text json.RawMessage, into any) error {
	if absent(text) {
		return nil
	}
	if err := jsontext.Read(text, into); err != nil {
		if fault.Find(err) != nil {
			return err
		}
		return fault.InvalidInput("Invalid value for the field [%s]. Reason: [%s]", field, fault.JSONProblem(err))
	}
	return nil
}
