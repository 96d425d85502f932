package compact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

// State contains the settings that a segment was compacted with, as stored in its descriptor
// (lastCompactionState).
type State struct {
	Partitions  *PartitionsSpec   `json:"partitionsSpec"`
	Dimensions  *DimensionsSpec   `json:"dimensionsSpec"`
	Metrics     []json.RawMessage `json:"metricsSpec"`
	Transform   *TransformSpec    `json:"transformSpec"`
	IndexSpec   json.RawMessage   `json:"indexSpec"`
	Granularity *GranularitySpec  `json:"granularitySpec"`
	Projections []json.RawMessage `json:"projections"`
}

// notCompacted is the reason for segments that no compaction has written.
const notCompacted = "not compacted yet"

// target is the settings of a datasource, ready to be compared with many states.
type target struct {
	config     *Config
	partitions *PartitionsSpec
	index      string // "": any
	metrics    []string
	filter     string
	projects   []string
	// verdicts are the reasons found so far, by the text of the state: segments share theirs.
	verdicts map[string]string
}

func newTarget(c *Config) (*target, error) {
	t := &target{config: c, partitions: c.partitions(), verdicts: map[string]string{}}
	var err error
	if c.Tuning != nil && !isNull(c.Tuning.IndexSpec) {
		if t.index, err = canonicalIndex(c.Tuning.IndexSpec); err != nil {
			return nil, err
		}
	}
	if t.metrics, err = canonicalMetrics(c.Metrics); err != nil {
		return nil, err
	}
	if t.projects, err = canonicalList(c.Projections); err != nil {
		return nil, err
	}
	if c.Transform != nil && !isNull(c.Transform.Filter) {
		t.filter, err = canonical(c.Transform.Filter)
	}
	return t, err
}

// reason returns why segments need compaction, "" if they don't. Tombstones have no rows, and so
// nothing to compact.
func (t *target) reason(segments []*timeline.Segment) string {
	first := ""
	for _, s := range segments {
		if s.IsTombstone() {
			continue
		}
		if s.Details == nil || len(s.Details.LastCompactionState) == 0 {
			return notCompacted
		}
		text := string(s.Details.LastCompactionState)
		verdict, known := t.verdicts[text]
		if !known {
			verdict = t.judge(text)
			t.verdicts[text] = verdict
		}
		if verdict != "" {
			return verdict
		}
		switch {
		case first == "":
			first = text
		case first != text && !sameState(first, text):
			return "segments have different last compaction states"
		}
	}
	g := t.config.segmentGranularity()
	if g == nil {
		return ""
	}
	for _, s := range segments { // what was recorded without a granularity may still be cut as wanted
		if !g.Aligned(s.ID.Interval) {
			return fmt.Sprintf("segmentGranularity: segments not aligned with target[%s]", nameOf(g))
		}
	}
	return ""
}

// sameState reports whether two states are equal but for the intervals that their tasks happened to
// read.
func sameState(a, b string) bool {
	strip := func(text string) (string, error) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			return "", err
		}
		var granularity map[string]json.RawMessage
		if json.Unmarshal(fields["granularitySpec"], &granularity) == nil && granularity != nil {
			delete(granularity, "intervals")
			stripped, err := json.Marshal(granularity)
			if err != nil {
				return "", err
			}
			fields["granularitySpec"] = stripped
		}
		stripped, err := json.Marshal(fields)
		if err != nil {
			return "", err
		}
		return canonical(stripped)
	}
	x, err := strip(a)
	y, err2 := strip(b)
	return err == nil && err2 == nil && x == y
}

// judge returns the first difference between a state and the target.
func (t *target) judge(text string) string {
	var s State
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return "its compaction state is not readable"
	}
	for _, check := range []func(*State) (string, error){
		t.checkPartitions, t.checkIndex, t.checkGranularity, t.checkDimensions, t.checkMetrics, t.checkTransform, t.checkProjections,
	} {
		reason, err := check(&s)
		if err != nil {
			return "its compaction state is not readable"
		}
		if reason != "" {
			return reason
		}
	}
	return ""
}

func mismatch(field string, required, current any) string {
	return fmt.Sprintf("'%s' mismatch: required[%v], current[%v]", field, required, current)
}

func (t *target) checkPartitions(s *State) (string, error) {
	switch {
	case t.partitions == nil:
		return "", nil
	case s.Partitions == nil:
		return mismatch("partitionsSpec", t.partitions, "null"), nil
	case !t.partitions.equal(s.Partitions):
		return mismatch("partitionsSpec", t.partitions, s.Partitions), nil
	}
	return "", nil
}

func (t *target) checkIndex(s *State) (string, error) {
	if t.index == "" {
		return "", nil
	}
	current, err := canonicalIndex(s.IndexSpec)
	if err != nil || current == t.index {
		return "", err
	}
	return mismatch("indexSpec", t.index, current), nil
}

func (t *target) checkGranularity(s *State) (string, error) {
	want := t.config.Granularity
	if want == nil {
		return "", nil
	}
	current := s.Granularity
	if current == nil {
		current = &GranularitySpec{}
	}
	switch {
	case want.Segment != nil && current.Segment != nil && !want.Segment.Equal(*current.Segment):
		return mismatch("segmentGranularity", nameOf(want.Segment), nameOf(current.Segment)), nil
	case want.Query != nil && (current.Query == nil || !want.Query.Equal(*current.Query)):
		return mismatch("queryGranularity", nameOf(want.Query), nameOf(current.Query)), nil
	case want.Rollup != nil && (current.Rollup == nil || *want.Rollup != *current.Rollup):
		has := "null"
		if current.Rollup != nil {
			has = fmt.Sprint(*current.Rollup)
		}
		return mismatch("rollup", *want.Rollup, has), nil
	}
	return "", nil
}

func nameOf(g *chrono.Granularity) string {
	if g == nil {
		return "null"
	}
	if name, ok := g.SegmentName(); ok {
		return name
	}
	return g.String()
}

// checkDimensions leaves the dimensions of ranges out: segments have them first, wherever the
// settings have them.
func (t *target) checkDimensions(s *State) (string, error) {
	want := t.config.Dimensions
	if want == nil || len(want.Dimensions) == 0 {
		return "", nil
	}
	current := s.Dimensions
	if current == nil {
		current = &DimensionsSpec{}
	}
	var moved []string
	if t.partitions != nil && t.partitions.kind() == byRange {
		moved = t.partitions.dimensions()
	} else if s.Partitions != nil && s.Partitions.kind() == byRange {
		moved = s.Partitions.dimensions()
	}
	if slices.Equal(want.keys(moved), current.keys(moved)) {
		return "", nil
	}
	return mismatch("dimensionsSpec", strings.Join(want.names(), ", "), strings.Join(current.names(), ", ")), nil
}

func (t *target) checkMetrics(s *State) (string, error) {
	if len(t.metrics) == 0 {
		return "", nil
	}
	current, err := canonicalMetrics(s.Metrics)
	if err != nil || slices.Equal(t.metrics, current) {
		return "", err
	}
	return mismatch("metricsSpec", strings.Join(t.metrics, ", "), strings.Join(current, ", ")), nil
}

func (t *target) checkTransform(s *State) (string, error) {
	if t.filter == "" {
		return "", nil
	}
	current := "null"
	if s.Transform != nil && !isNull(s.Transform.Filter) {
		var err error
		if current, err = canonical(s.Transform.Filter); err != nil {
			return "", err
		}
	}
	if current == t.filter {
		return "", nil
	}
	return mismatch("transformSpec filter", t.filter, current), nil
}

func (t *target) checkProjections(s *State) (string, error) {
	if len(t.projects) == 0 {
		return "", nil
	}
	current, err := canonicalList(s.Projections)
	if err != nil || slices.Equal(t.projects, current) {
		return "", err
	}
	return mismatch("projections", strings.Join(t.projects, ", "), strings.Join(current, ", ")), nil
}
