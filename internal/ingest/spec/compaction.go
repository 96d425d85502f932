package spec

import (
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/querycontext"
)

// Compaction is the payload of a task of type compact, without members such as id and context.
type Compaction struct {
	// Interval is the interval to compact, empty if Segments, the ids of segments, is given instead.
	Interval chrono.Interval
	Segments []string
	// Minor are the segments of the interval to compact while the other segments are kept; nil: all
	// segments are compacted.
	Minor []Descriptor
	// SegmentsHash, if not "", must be equal to the hash of the segments of the interval.
	SegmentsHash string
	// DropExisting also replaces time chunks of the interval that receive no rows.
	DropExisting bool
	// Dimensions are the columns to keep; nil: the dimensions of the segments.
	Dimensions *Dimensions
	// Metrics are the aggregators to use; nil: the aggregators of the segments.
	Metrics []Metric
	// KeepMetrics says that Metrics was not given.
	KeepMetrics bool
	// Transforms are native virtual columns over the columns of the segments. They are computed before
	// the Filter, a native filter; nil: all rows are kept.
	Transforms []json.RawMessage
	Filter     json.RawMessage
	// MovesRows says that one of the transforms computes the time.
	MovesRows bool
	// SegmentGranularity, QueryGranularity and Rollup are the requested values; nil: unchanged.
	SegmentGranularity, QueryGranularity *chrono.Granularity
	Rollup                               *bool
	Tuning                               *Tuning
	// TuningGiven says that the task has a tuningConfig.
	TuningGiven bool

	dimensionText json.RawMessage
	transform     json.RawMessage
	metricTexts   []json.RawMessage
}

type compactionWire struct {
	IO *struct {
		Input        json.RawMessage `json:"inputSpec"`
		DropExisting bool            `json:"dropExisting"`
		NonAligned   bool            `json:"allowNonAlignedInterval"`
	} `json:"ioConfig"`
	Interval    json.RawMessage     `json:"interval"`
	Segments    json.RawMessage     `json:"segments"`
	Dimensions  json.RawMessage     `json:"dimensionsSpec"`
	OldDims     json.RawMessage     `json:"dimensions"`
	Metrics     []json.RawMessage   `json:"metricsSpec"`
	Transform   json.RawMessage     `json:"transformSpec"`
	Granularity *granularityOptions `json:"granularitySpec"`
	Segment     *chrono.Granularity `json:"segmentGranularity"`
	Tuning      json.RawMessage     `json:"tuningConfig"`
	Runner      *struct {
		Type string `json:"type"`
	} `json:"compactionRunner"`
	Context map[string]any `json:"context"`
}

// Descriptor names a segment of a datasource.
type Descriptor struct {
	Interval  chrono.Interval `json:"itvl"`
	Version   string          `json:"ver"`
	Partition int             `json:"part"`
}

type granularityOptions struct {
	Segment *chrono.Granularity `json:"segmentGranularity"`
	Query   *chrono.Granularity `json:"queryGranularity"`
	Rollup  *bool               `json:"rollup"`
}

// ParseCompaction parses the JSON of a compact task.
func ParseCompaction(text json.RawMessage) (*Compaction, error) {
	var w compactionWire
	if err := decode("compact", text, &w); err != nil {
		return nil, err
	}
	c := &Compaction{}
	if err := c.parseInput(&w); err != nil {
		return nil, err
	}
	if w.Runner != nil && w.Runner.Type != "" && w.Runner.Type != "native" && w.Runner.Type != "msq" {
		return nil, fault.InvalidInput("Type [%s] of [compactionRunner] is unknown; known are [native, msq]", w.Runner.Type)
	}
	if absent(w.Dimensions) {
		w.Dimensions = w.OldDims
	}
	if !absent(w.Dimensions) {
		d, err := parseDimensions(w.Dimensions)
		if err != nil {
			return nil, err
		}
		c.Dimensions, c.dimensionText = &d, w.Dimensions
	}
	if c.KeepMetrics = w.Metrics == nil; !c.KeepMetrics {
		c.metricTexts = w.Metrics
		for _, text := range w.Metrics {
			var m metricWire
			if err := decode("metricsSpec", text, &m); err != nil {
				return nil, err
			}
			if m.Name == "" {
				return nil, fault.InvalidInput("An aggregator in [metricsSpec] has no name")
			}
			c.Metrics = append(c.Metrics, Metric(m))
		}
	}
	if err := c.parseGranularity(&w); err != nil {
		return nil, err
	}
	if err := c.parseTransform(w.Transform); err != nil {
		return nil, err
	}
	var err error
	c.TuningGiven = !absent(w.Tuning)
	c.Tuning, err = ParseTuning(TuningCompaction, w.Tuning)
	return c, err
}

func (c *Compaction) parseGranularity(w *compactionWire) error {
	if g := w.Granularity; g != nil {
		c.SegmentGranularity, c.QueryGranularity, c.Rollup = g.Segment, g.Query, g.Rollup
	}
	if w.Segment != nil {
		if c.SegmentGranularity != nil && !c.SegmentGranularity.Equal(*w.Segment) {
			return fault.InvalidInput("Conflicting segment granularities found [%s] and [%s]; remove [segmentGranularity] and set the one in [granularitySpec]",
				w.Segment, c.SegmentGranularity)
		}
		c.SegmentGranularity = w.Segment
	}
	if g := c.SegmentGranularity; g != nil && g.IsNone() {
		return fault.InvalidInput("[segmentGranularity] can't be [NONE]")
	}
	return nil
}

func (c *Compaction) parseTransform(text json.RawMessage) error {
	var w struct {
		Filter     json.RawMessage   `json:"filter"`
		Transforms []json.RawMessage `json:"transforms"`
	}
	if err := decode("transformSpec", text, &w); err != nil {
		return err
	}
	for _, t := range w.Transforms {
		var head struct {
			Name string `json:"name"`
		}
		if err := decode("transforms", t, &head); err != nil {
			return err
		}
		c.MovesRows = c.MovesRows || head.Name == TimeColumn
	}
	c.Transforms = w.Transforms
	if !absent(w.Filter) {
		c.Filter = w.Filter
	}
	if !absent(text) {
		c.transform = text
	}
	return nil
}

// parseInput reads what is compacted: an ioConfig, or in older specs an interval or segments.
func (c *Compaction) parseInput(w *compactionWire) error {
	given := 0
	for _, there := range []bool{w.IO != nil, !absent(w.Interval), !absent(w.Segments)} {
		if there {
			given++
		}
	}
	var input struct {
		Type     string          `json:"type"`
		Interval json.RawMessage `json:"interval"`
		Segments json.RawMessage `json:"segments"`
		Hash     string          `json:"sha256OfSortedSegmentIds"`
	}
	switch {
	case given > 1:
		return fault.InvalidInput("At most one of properties[[ioConfig, interval, segments]] must be present")
	case given == 0:
		return fault.InvalidInput("Compact task has no [ioConfig] that says what to compact")
	case w.IO != nil:
		if absent(w.IO.Input) {
			return fault.InvalidInput("[ioConfig] of a compact task has no [inputSpec]")
		}
		c.DropExisting = w.IO.DropExisting
		if err := decode("inputSpec", w.IO.Input, &input); err != nil {
			return err
		}
	case !absent(w.Interval):
		input.Type, input.Interval = "interval", w.Interval
	default:
		input.Type, input.Segments = "segments", w.Segments
	}
	c.SegmentsHash = input.Hash
	switch input.Type {
	case "interval", "minor":
		if err := decode("interval", input.Interval, &c.Interval); err != nil {
			return err
		}
		if c.Interval.IsEmpty() {
			return fault.InvalidInput("Interval [%s] is empty, must specify a nonempty interval", c.Interval)
		}
		if input.Type == "minor" {
			return c.parseMinor(input.Segments, w.Context)
		}
		return nil
	case "segments":
		return c.parseSegments(input.Segments)
	}
	return fault.InvalidInput("Type [%s] of [inputSpec] is unknown; known are [interval, segments, minor]", input.Type)
}

// parseMinor reads the segments of an inputSpec of type minor. The others of the interval are
// published again beside the new ones, which takes locks that let others publish meanwhile.
func (c *Compaction) parseMinor(text json.RawMessage, context map[string]any) error {
	if err := decode("segments", text, &c.Minor); err != nil {
		return err
	}
	concurrent, err := querycontext.ConcurrentLocks.Read(context)
	if err != nil {
		return err
	}
	switch {
	case len(c.Minor) == 0:
		return fault.InvalidInput("[inputSpec] of type [minor] has no [segments] to compact")
	case !c.DropExisting:
		return fault.InvalidInput("[inputSpec] of type [minor] needs [dropExisting] in its [ioConfig] to be true")
	case !concurrent:
		return fault.InvalidInput("[inputSpec] of type [minor] needs [useConcurrentLocks] in the context to be true")
	}
	for _, d := range c.Minor {
		if !c.Interval.Contains(d.Interval) {
			return fault.InvalidInput("Segment of interval [%s] and version [%s] in [inputSpec] is not within its interval [%s]", d.Interval, d.Version, c.Interval)
		}
	}
	return nil
}

// parseSegments reads ids, or descriptors of segments that have them.
func (c *Compaction) parseSegments(text json.RawMessage) error {
	var list []json.RawMessage
	if err := decode("segments", text, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		return fault.InvalidInput("[segments] of a compact task is empty")
	}
	for _, item := range list {
		var id string
		if json.Unmarshal(item, &id) != nil {
			var descriptor struct {
				ID string `json:"identifier"`
			}
			if json.Unmarshal(item, &descriptor) != nil || descriptor.ID == "" {
				return fault.InvalidInput("[segments] of a compact task are ids of segments")
			}
			id = descriptor.ID
		}
		c.Segments = append(c.Segments, id)
	}
	slices.Sort(c.Segments)
	return nil
}

// Transform returns the transformSpec as given; nil: there is none.
func (c *Compaction) Transform() json.RawMessage { return c.transform }

// Fill sets the members that a compact task shows, including defaults.
func (c *Compaction) Fill(fields map[string]json.RawMessage) error {
	input := map[string]any{"type": "interval", "interval": c.Interval, "sha256OfSortedSegmentIds": nil}
	if c.SegmentsHash != "" {
		input["sha256OfSortedSegmentIds"] = c.SegmentsHash
	}
	if c.Segments != nil {
		input = map[string]any{"type": "segments", "segments": c.Segments}
	}
	if c.Minor != nil {
		input = map[string]any{"type": "minor", "interval": c.Interval, "segments": c.Minor}
	}
	set := map[string]any{
		"ioConfig":       map[string]any{"type": "compact", "inputSpec": input, "dropExisting": c.DropExisting, "allowNonAlignedInterval": false},
		"dimensionsSpec": c.dimensionText, "transformSpec": c.transform, "metricsSpec": c.metricTexts, "granularitySpec": nil, "tuningConfig": nil,
	}
	if g := (granularityOptions{c.SegmentGranularity, c.QueryGranularity, c.Rollup}); g != (granularityOptions{}) {
		set["granularitySpec"] = g
	}
	if c.SegmentGranularity != nil {
		set["segmentGranularity"] = c.SegmentGranularity
	}
	if c.TuningGiven {
		set["tuningConfig"] = c.Tuning
	}
	for name, value := range set {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		fields[name] = text
	}
	for _, old := range []string{"interval", "segments", "dimensions"} {
		delete(fields, old)
	}
	return nil
}
