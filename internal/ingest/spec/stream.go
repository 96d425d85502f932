package spec

import (
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/hashorder"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/timeline"
)

// Stream is the specification of a supervisor that reads a stream (docs/streaming.md). It is
// immutable.
type Stream struct {
	// Type is the type of the stream.
	Type   string
	Schema *DataSchema
	IO     *StreamIO
	Tuning *StreamTuning
	// Context is the context of its tasks; nil: there is none.
	Context   json.RawMessage
	Suspended bool

	id     *string
	schema json.RawMessage
}

type streamWire struct {
	ID        *string         `json:"id"`
	Spec      json.RawMessage `json:"spec"`
	Schema    json.RawMessage `json:"dataSchema"`
	Tuning    json.RawMessage `json:"tuningConfig"`
	IO        json.RawMessage `json:"ioConfig"`
	Context   json.RawMessage `json:"context"`
	Suspended bool            `json:"suspended"`
}

// ParseStream parses the specification of a supervisor that reads streams of a type. Its parts are
// in [spec] or at the top level.
func ParseStream(kind string, text json.RawMessage) (*Stream, error) {
	class := supervisorClass(kind, "SupervisorSpec")
	var w streamWire
	if err := readPart(class, text, &w); err != nil {
		return nil, err
	}
	parts := w
	if !absent(w.Spec) {
		parts = streamWire{}
		if err := readPart(supervisorClass(kind, "SupervisorIngestionSpec"), w.Spec, &parts); err != nil {
			return nil, err
		}
	}
	switch {
	case absent(parts.Schema):
		return nil, refused(class, "dataSchema")
	case absent(parts.IO):
		return nil, refused(class, "ioConfig")
	}
	s := &Stream{Type: kind, Suspended: w.Suspended}
	var err error
	if s.Schema, s.schema, err = parseStreamSchema(parts.Schema); err != nil {
		return nil, err
	}
	if s.IO, err = parseStreamIO(kind, s.Schema.DataSource, parts.IO); err != nil {
		return nil, err
	}
	if s.Tuning, err = parseStreamTuning(kind, parts.Tuning); err != nil {
		return nil, err
	}
	if !absent(w.Context) {
		if err := readPart("java.util.Map", w.Context, &map[string]json.RawMessage{}); err != nil {
			return nil, err
		}
		s.Context = w.Context
	}
	if w.ID != nil && *w.ID != "" {
		if problem := timeline.DataSourceProblem(*w.ID); problem != "" {
			return nil, refused(class, "Invalid value for field [id]: Value [%s] %s", *w.ID, problem)
		}
		s.id = w.ID
	}
	return s, nil
}

// parseStreamSchema reads a dataSchema and returns what is shown of it.
func parseStreamSchema(text json.RawMessage) (*DataSchema, json.RawMessage, error) {
	var w struct {
		DataSource *string         `json:"dataSource"`
		Timestamp  json.RawMessage `json:"timestampSpec"`
		Dimensions *struct {
			Dimensions []Dimension `json:"dimensions"`
		} `json:"dimensionsSpec"`
	}
	if err := readPart(dataSchemaClass, text, &w); err != nil {
		return nil, nil, refusedAs(dataSchemaClass, err)
	}
	switch {
	case w.DataSource == nil || *w.DataSource == "":
		return nil, nil, refused(dataSchemaClass, "Invalid value for field [dataSource]: must not be null")
	case absent(w.Timestamp):
		return nil, nil, refused(dataSchemaClass, "timestampSpec")
	}
	if problem := timeline.DataSourceProblem(*w.DataSource); problem != "" {
		return nil, nil, refused(dataSchemaClass, "Invalid value for field [dataSource]: Value [%s] %s", *w.DataSource, problem)
	}
	if w.Dimensions != nil {
		var names []string
		for _, d := range w.Dimensions.Dimensions {
			if slices.Contains(names, d.Name) {
				return nil, nil, refused(dimensionsClass, "Duplicate column entries found : [%s]", d.Name)
			}
			names = append(names, d.Name)
		}
	}
	schema, err := Parse(text)
	if err != nil {
		return nil, nil, refusedAs(dataSchemaClass, err)
	}
	shown, err := schema.show()
	return schema, shown, err
}

// show returns the JSON of a dataSchema with the defaults of all members, and nothing else that was
// written.
func (s *DataSchema) show() (json.RawMessage, error) {
	filled, err := s.fill(json.RawMessage("{}"))
	if err != nil {
		return nil, err
	}
	var w struct {
		DataSource  string          `json:"dataSource"`
		Timestamp   json.RawMessage `json:"timestampSpec"`
		Dimensions  json.RawMessage `json:"dimensionsSpec"`
		Metrics     json.RawMessage `json:"metricsSpec"`
		Granularity json.RawMessage `json:"granularitySpec"`
		Transform   json.RawMessage `json:"transformSpec"`
	}
	if err := json.Unmarshal(filled, &w); err != nil {
		return nil, err
	}
	var dimensions struct {
		Dimensions json.RawMessage `json:"dimensions"`
		Exclusions []string        `json:"dimensionExclusions"`
		IncludeAll bool            `json:"includeAllDimensions"`
		Discover   bool            `json:"useSchemaDiscovery"`
		SortByTime *bool           `json:"forceSegmentSortByTime,omitempty"`
	}
	if err := json.Unmarshal(w.Dimensions, &dimensions); err != nil {
		return nil, err
	}
	given := func(name string) int { // those that were given are in the set first
		if i := slices.Index(s.Dimensions.Exclusions, name); i >= 0 {
			return i
		}
		return len(s.Dimensions.Exclusions)
	}
	slices.SortStableFunc(dimensions.Exclusions, func(a, b string) int { return given(a) - given(b) })
	hashorder.SortTexts(dimensions.Exclusions)
	if w.Dimensions, err = jsontext.Marshal(dimensions); err != nil {
		return nil, err
	}
	return jsontext.Marshal(w)
}

// ID returns the given id, or the name of the datasource.
func (s *Stream) ID() string {
	if s.id != nil {
		return *s.id
	}
	return s.Schema.DataSource
}

// Suspend returns the specification with the flag set to on.
func (s *Stream) Suspend(on bool) *Stream {
	next := *s
	next.Suspended = on
	return &next
}

// WithTasks returns the specification with another number of task groups.
func (s *Stream) WithTasks(n int) *Stream {
	next := *s
	next.IO = s.IO.WithTasks(n)
	return &next
}

// WithID returns the specification for another supervisor, which reads a bounded part of the stream
// once.
func (s *Stream) WithID(id string, bounds *Bounds, tasks int) *Stream {
	next := *s
	io := *s.IO.WithTasks(tasks)
	io.Bounds, io.wire.Bounds, io.Scaler, io.wire.Scaler = bounds, bounds, nil, nil
	next.id, next.IO = &id, &io
	return &next
}

// MarshalJSON returns the specification with defaults for all members, with its parts both in
// [spec] and at the top level.
func (s *Stream) MarshalJSON() ([]byte, error) {
	type parts struct {
		Schema json.RawMessage `json:"dataSchema"`
		IO     *StreamIO       `json:"ioConfig"`
		Tuning *StreamTuning   `json:"tuningConfig"`
	}
	return jsontext.Marshal(struct {
		Type      string          `json:"type"`
		ID        *string         `json:"id,omitempty"`
		Spec      parts           `json:"spec"`
		Schema    json.RawMessage `json:"dataSchema"`
		Tuning    *StreamTuning   `json:"tuningConfig"`
		IO        *StreamIO       `json:"ioConfig"`
		Context   json.RawMessage `json:"context"`
		Suspended bool            `json:"suspended"`
	}{s.Type, s.id, parts{s.schema, s.IO, s.Tuning}, s.schema, s.Tuning, s.IO, s.Context, s.Suspended})
}

// InContext reads a member of the context of the tasks.
func InContext[T any](context json.RawMessage, name string) (value T, ok bool) {
	var members map[string]json.RawMessage
	if absent(context) || json.Unmarshal(context, &members) != nil || absent(members[name]) {
		return value, false
	}
	if err := jsontext.Read(members[name], &value); err != nil || fault.Find(err) != nil {
		return value, false
	}
	return value, true
}
