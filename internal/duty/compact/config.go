package compact

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// Config contains the compaction settings of a datasource. Null means that the value in the
// segments is kept.
type Config struct {
	DataSource            string            `json:"dataSource"`
	TaskPriority          int               `json:"taskPriority"`
	InputSegmentSizeBytes int64             `json:"inputSegmentSizeBytes"`
	MaxRowsPerSegment     *int64            `json:"maxRowsPerSegment"`
	SkipOffsetFromLatest  chrono.Period     `json:"skipOffsetFromLatest"`
	SkipIntervals         []chrono.Interval `json:"skipIntervals,omitempty"`
	Tuning                *TuningConfig     `json:"tuningConfig"`
	Granularity           *GranularitySpec  `json:"granularitySpec"`
	Dimensions            *DimensionsSpec   `json:"dimensionsSpec"`
	Metrics               []json.RawMessage `json:"metricsSpec"`
	Transform             *TransformSpec    `json:"transformSpec"`
	Projections           []json.RawMessage `json:"projections,omitempty"`
	IO                    *IOConfig         `json:"ioConfig"`
	Engine                *string           `json:"engine"`
	TaskContext           map[string]any    `json:"taskContext"`
}

// GranularitySpec defines the time chunks and the rollup of rows in them.
type GranularitySpec struct {
	Segment *chrono.Granularity `json:"segmentGranularity"`
	Query   *chrono.Granularity `json:"queryGranularity"`
	Rollup  *bool               `json:"rollup"`
}

// TransformSpec defines which rows are kept.
type TransformSpec struct {
	Filter json.RawMessage `json:"filter"`
}

// IOConfig defines what happens to time chunks without rows after compaction.
type IOConfig struct {
	DropExisting bool `json:"dropExisting"`
}

// TuningConfig configures compaction tasks. Members that only control the memory of Druid are
// stored and shown, but have no effect.
type TuningConfig struct {
	MaxRowsInMemory       *int64          `json:"maxRowsInMemory"`
	AppendableIndexSpec   json.RawMessage `json:"appendableIndexSpec"`
	MaxBytesInMemory      *int64          `json:"maxBytesInMemory"`
	MaxTotalRows          *int64          `json:"maxTotalRows"`
	SplitHintSpec         json.RawMessage `json:"splitHintSpec"`
	Partitions            *PartitionsSpec `json:"partitionsSpec"`
	IndexSpec             json.RawMessage `json:"indexSpec"`
	IntermediateIndexSpec json.RawMessage `json:"indexSpecForIntermediatePersists"`
	MaxPendingPersists    *int            `json:"maxPendingPersists"`
	PushTimeout           *int64          `json:"pushTimeout"`
	WriteOutMedium        json.RawMessage `json:"segmentWriteOutMediumFactory"`
	MaxSubTasks           *int            `json:"maxNumConcurrentSubTasks"`
	MaxRetry              *int            `json:"maxRetry"`
	StatusCheckPeriod     *int64          `json:"taskStatusCheckPeriodMs"`
	ChatTimeout           *chrono.Period  `json:"chatHandlerTimeout"`
	ChatRetries           *int            `json:"chatHandlerNumRetries"`
	MaxSegmentsToMerge    *int            `json:"maxNumSegmentsToMerge"`
	MergeTasks            *int            `json:"totalNumMergeTasks"`
	MaxColumnsToMerge     *int            `json:"maxColumnsToMerge"`
	Type                  string          `json:"type"`
	PerfectRollup         bool            `json:"forceGuaranteedRollup"`
}

// DefaultConfig returns the default settings of a datasource.
func DefaultConfig() Config {
	return Config{TaskPriority: 25, InputSegmentSizeBytes: 100_000_000_000_000, SkipOffsetFromLatest: chrono.Period{Days: 1}}
}

// Validate returns a fault if the settings are invalid, and fills in derived values.
func (c *Config) Validate() error {
	switch {
	case c.DataSource == "":
		return fault.InvalidInput("Compaction configuration has no [dataSource]")
	case c.InputSegmentSizeBytes < 0:
		return fault.InvalidInput("inputSegmentSizeBytes [%d] must not be negative", c.InputSegmentSizeBytes)
	case c.MaxRowsPerSegment != nil && *c.MaxRowsPerSegment <= 0:
		return fault.InvalidInput("maxRowsPerSegment [%d] must be positive", *c.MaxRowsPerSegment)
	case c.Engine != nil && *c.Engine != EngineNative && *c.Engine != EngineMSQ:
		return fault.InvalidInput("Compaction engine [%s] is unknown; use native or msq", *c.Engine)
	}
	if err := c.checkMetrics(); err != nil {
		return err
	}
	if c.Dimensions != nil {
		if err := c.Dimensions.validate(); err != nil {
			return err
		}
	}
	if c.Transform != nil && !isNull(c.Transform.Filter) {
		if err := checkNamed(c.Transform.Filter, "The filter of a transformSpec", "type"); err != nil {
			return err
		}
	}
	t := c.Tuning
	if t == nil {
		return nil
	}
	switch t.Type {
	case "", "index_parallel", "autocompact":
		t.Type = "index_parallel"
	default:
		return fault.InvalidInput("tuningConfig type [%s] is unknown; use index_parallel", t.Type)
	}
	if t.MaxSubTasks != nil && *t.MaxSubTasks <= 0 {
		return fault.InvalidInput("maxNumConcurrentSubTasks [%d] must be positive", *t.MaxSubTasks)
	}
	if err := t.fill(); err != nil {
		return err
	}
	t.PerfectRollup = false
	if p := t.Partitions; p != nil {
		if err := p.validate(); err != nil {
			return err
		}
		t.PerfectRollup = p.Type != dynamic
	}
	return nil
}

// computes matches the types of metrics that read a column or compute an expression.
var computes = regexp.MustCompile(`^(long|double|float)(Sum|Min|Max)$`)

// checkMetrics tests that each metric has a type and a name of its own, and fills in what they
// leave out.
func (c *Config) checkMetrics() error {
	names := map[string]bool{}
	for i, metric := range c.Metrics {
		if checkNamed(metric, "A metric", "type") == nil {
			filled, err := fillMetric(metric)
			if err != nil {
				return err
			}
			metric = filled
		}
		if err := checkNamed(metric, "A metric", "type", "name"); err != nil {
			return err
		}
		c.Metrics[i] = metric
		var named struct {
			Type       string `json:"type"`
			Name       string `json:"name"`
			Field      string `json:"fieldName"`
			Expression string `json:"expression"`
		}
		if err := json.Unmarshal(metric, &named); err != nil {
			return fault.InvalidInput("A metric of the metricsSpec can't be read").WithCause(err)
		}
		if computes.MatchString(named.Type) && (named.Field == "") == (named.Expression == "") {
			return fault.InvalidInput("Metric [%s] of type [%s] needs either a fieldName or an expression", named.Name, named.Type)
		}
		if names[named.Name] {
			return fault.InvalidInput("Two metrics of the metricsSpec have the name [%s]", named.Name)
		}
		names[named.Name] = true
	}
	return nil
}

// fill writes defaults into the parts that are kept as they were written.
func (t *TuningConfig) fill() error {
	for _, part := range []struct {
		text *json.RawMessage
		fill func(json.RawMessage) (json.RawMessage, error)
	}{
		{&t.IndexSpec, fillIndex},
		{&t.IntermediateIndexSpec, fillIndex},
		{&t.AppendableIndexSpec, func(text json.RawMessage) (json.RawMessage, error) {
			return jsontext.Appendables.Fill("appendableIndexSpec", text, "onheap")
		}},
		{&t.SplitHintSpec, func(text json.RawMessage) (json.RawMessage, error) {
			return jsontext.SplitHints.Fill("splitHintSpec", text, "")
		}},
	} {
		if isNull(*part.text) {
			continue
		}
		filled, err := part.fill(*part.text)
		if err != nil {
			return err
		}
		*part.text = filled
	}
	if hint := t.SplitHintSpec; !isNull(hint) {
		var kind struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(hint, &kind); err != nil || jsontext.SplitHints[kind.Type] == nil {
			return fault.InvalidInput("splitHintSpec type [%s] is unknown; use maxSize or segments", kind.Type)
		}
	}
	return nil
}

// checkNamed tests that text is an object with these members as text.
func checkNamed(text json.RawMessage, what string, members ...string) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return fault.InvalidInput("%s must be an object", what)
	}
	for _, m := range members {
		var value string
		if json.Unmarshal(fields[m], &value) != nil || value == "" {
			return fault.InvalidInput("%s needs [%s]", what, m)
		}
	}
	return nil
}

func isNull(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

// partitions is how rows are to be spread over segments; nil: any way will do.
func (c *Config) partitions() *PartitionsSpec {
	if c.Tuning != nil && c.Tuning.Partitions != nil {
		return c.Tuning.Partitions
	}
	var total *int64
	if c.Tuning != nil {
		total = c.Tuning.MaxTotalRows
	}
	if total == nil && c.MaxRowsPerSegment == nil {
		return nil
	}
	return &PartitionsSpec{Type: dynamic, MaxRows: c.MaxRowsPerSegment, MaxTotalRows: total}
}

// segmentGranularity is the wanted time chunks; nil: those that are there.
func (c *Config) segmentGranularity() *chrono.Granularity {
	if c.Granularity == nil {
		return nil
	}
	return c.Granularity.Segment
}

// engine is what runs the tasks.
func (c *Config) engine(cluster *Cluster) string {
	if c.Engine != nil {
		return *c.Engine
	}
	return cluster.Engine
}

// context reads a parameter of the tasks.
// key is equal for settings that are equal.
func (c *Config) key() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encoding the compaction settings of datasource [%s]: %w", c.DataSource, err)
	}
	return string(text), nil
}
