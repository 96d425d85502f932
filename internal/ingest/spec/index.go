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

// Index is the spec of batch ingestion: a task of type index_parallel or index (docs/ingestion.md).
type Index struct {
	Schema *DataSchema
	// Source and Format are the input source and format of the ioConfig. Format is nil if the source
	// needs none. SourceText and FormatText are their JSON.
	Source                 ingest.Source
	Format                 ingest.Format
	SourceText, FormatText json.RawMessage
	// Append adds to the existing data. DropExisting also replaces time chunks of the intervals that
	// receive no rows.
	Append, DropExisting bool
	Tuning               *Tuning

	kind       string
	ioText     json.RawMessage
	dataSchema json.RawMessage
}

type ioWire struct {
	Type         string          `json:"type"`
	Source       json.RawMessage `json:"inputSource"`
	Format       json.RawMessage `json:"inputFormat"`
	Firehose     json.RawMessage `json:"firehose"`
	Append       bool            `json:"appendToExisting"`
	DropExisting bool            `json:"dropExisting"`
}

// ParseIndex parses the [spec] of a task of type kind: index_parallel or index.
func ParseIndex(kind string, text json.RawMessage) (*Index, error) {
	var w struct {
		DataSchema json.RawMessage `json:"dataSchema"`
		IO         json.RawMessage `json:"ioConfig"`
		Tuning     json.RawMessage `json:"tuningConfig"`
	}
	if absent(text) {
		return nil, fault.InvalidInput("Task of type [%s] has no [spec]", kind)
	}
	if err := decode("spec", text, &w); err != nil {
		return nil, err
	}
	switch {
	case absent(w.DataSchema):
		return nil, fault.InvalidInput("[spec.dataSchema] is required")
	case absent(w.IO):
		return nil, fault.InvalidInput("[spec.ioConfig] is required")
	}
	x := &Index{kind: kind, ioText: w.IO, dataSchema: w.DataSchema}
	var err error
	if x.Schema, err = Parse(w.DataSchema); err != nil {
		return nil, err
	}
	if x.Schema.DataSource == "" {
		return nil, fault.InvalidInput("[spec.dataSchema] has no [dataSource]")
	}
	if err := x.parseIO(w.IO); err != nil {
		return nil, err
	}
	if x.Tuning, err = ParseTuning(kind, w.Tuning); err != nil {
		return nil, err
	}
	return x, x.check()
}

func (x *Index) parseIO(text json.RawMessage) error {
	var io ioWire
	if err := decode("ioConfig", text, &io); err != nil {
		return err
	}
	if err := checkType("ioConfig", io.Type, x.kind); err != nil {
		return err
	}
	switch {
	case !absent(io.Firehose):
		return fault.InvalidInput("[firehose] in [ioConfig] is not supported; use inputSource and inputFormat")
	case absent(io.Source):
		return fault.InvalidInput("[spec.ioConfig.inputSource] is required")
	}
	var err error
	if x.Source, err = ingest.ParseSource(io.Source); err != nil {
		return err
	}
	x.SourceText = io.Source
	switch {
	case !absent(io.Format):
		if x.Format, err = ingest.ParseFormat(io.Format); err != nil {
			return err
		}
		x.FormatText = io.Format
	case ingest.NeedsFormat(x.Source):
		return fault.InvalidInput("[spec.ioConfig.inputFormat] is required: inputFormat required for input source [%s]", x.Source.Type())
	}
	x.Append, x.DropExisting = io.Append, io.DropExisting
	return nil
}

// checkType refuses a config whose type is missing or is not one of those that it may have; the
// first is the usual one.
func checkType(field, name string, known ...string) error {
	switch {
	case slices.Contains(known, name):
		return nil
	case name == "":
		return fault.InvalidInput("[%s] has no [type]; it is [%s]", field, known[0])
	}
	return fault.InvalidInput("Type [%s] of [%s] is unknown; known are [%s]", name, field, strings.Join(known, ", "))
}

func (x *Index) check() error {
	switch p := x.Tuning.Given(); {
	case x.DropExisting && len(x.Schema.Granularity.Given) == 0:
		return fault.InvalidInput("[dropExisting] needs [intervals] in [granularitySpec]: those whose time chunks are replaced")
	case x.Append && x.DropExisting:
		return fault.InvalidInput("Cannot simultaneously replace and append to existing segments. Either dropExisting or appendToExisting should be set to false")
	case x.Append && x.Tuning.Perfect:
		return fault.InvalidInput("Perfect rollup cannot be guaranteed when appending to existing dataSources")
	case x.Append && p.Perfect():
		return fault.InvalidInput("[appendToExisting] needs [partitionsSpec] of type [dynamic], not [%s]", p.Type)
	}
	_, err := x.Chunks()
	return err
}

// Chunks returns the granularity of the segments: the segmentGranularity or, for an arbitrary
// granularitySpec, the granularity whose buckets are its intervals, as a named one if possible.
func (x *Index) Chunks() (chrono.Granularity, error) {
	g := &x.Schema.Granularity
	if !g.Arbitrary {
		return g.Segment, nil
	}
	if len(g.Given) == 0 {
		return chrono.All, nil
	}
	for _, c := range append(chrono.SegmentGranularities(), chrono.All) {
		if bucketsOf(c, g.Given) {
			return c, nil
		}
	}
	return chrono.ChunkGranularity(g.Given)
}

func bucketsOf(g chrono.Granularity, intervals []chrono.Interval) bool {
	return !slices.ContainsFunc(intervals, func(iv chrono.Interval) bool { return g.Bucket(iv.Start) != iv })
}

// Fill returns the spec with defaults for all members.
func (x *Index) Fill() (json.RawMessage, error) {
	io := map[string]json.RawMessage{}
	if err := json.Unmarshal(x.ioText, &io); err != nil {
		return nil, err
	}
	for name, value := range map[string]any{"type": x.kind, "appendToExisting": x.Append, "dropExisting": x.DropExisting} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		io[name] = text
	}
	if x.Format != nil {
		text, err := json.Marshal(x.Format)
		if err != nil {
			return nil, err
		}
		io["inputFormat"] = text
	}
	schema, err := x.Schema.fill(x.dataSchema)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Schema json.RawMessage            `json:"dataSchema"`
		IO     map[string]json.RawMessage `json:"ioConfig"`
		Tuning *Tuning                    `json:"tuningConfig"`
	}{schema, io, x.Tuning})
}

// fill returns the JSON of a dataSchema with the defaults of all members.
func (s *DataSchema) fill(text json.RawMessage) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	d := &s.Dimensions
	dimensions := d.Explicit
	if dimensions == nil {
		dimensions = []Dimension{}
	}
	spec := map[string]any{"dimensions": dimensions, "dimensionExclusions": s.excluded(), "includeAllDimensions": d.IncludeAll,
		"useSchemaDiscovery": d.Discover}
	if !d.SortByTime {
		spec["forceSegmentSortByTime"] = false
	}
	g := &s.Granularity
	kind := "uniform"
	if g.Arbitrary {
		kind = "arbitrary"
	}
	intervals := g.Given
	if intervals == nil {
		intervals = []chrono.Interval{}
	}
	granularity := map[string]any{"type": kind, "queryGranularity": g.Query, "rollup": g.Rollup, "intervals": intervals}
	if !g.Arbitrary {
		granularity["segmentGranularity"] = g.Segment
	}
	transforms := s.Transforms
	if transforms == nil {
		transforms = []json.RawMessage{}
	}
	metrics := make([]json.RawMessage, len(s.Metrics))
	for i, m := range s.Metrics {
		filled, err := jsontext.Metrics.Fill("metricsSpec", m.Wire, "")
		if err != nil {
			return nil, err
		}
		metrics[i] = filled
	}
	for name, value := range map[string]any{
		"dataSource": s.DataSource, "timestampSpec": s.Time, "dimensionsSpec": spec,
		"metricsSpec": metrics, "granularitySpec": granularity, "transformSpec": map[string]any{"filter": s.Filter, "transforms": transforms},
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return json.Marshal(out)
}

// excluded returns the fields that are no dimensions unless they are named as such: those that
// become something else.
func (s *DataSchema) excluded() []string {
	names := append([]string{TimeColumn, s.Time.Column}, s.Dimensions.Exclusions...)
	for _, m := range s.Metrics {
		names = append(append(names, m.Name), m.Inputs...)
	}
	out := []string{}
	for _, name := range names {
		explicit := slices.ContainsFunc(s.Dimensions.Explicit, func(d Dimension) bool { return d.Name == name })
		if !explicit && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
