package coordinator

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// compactionSettings is what is stored: the cluster's settings and those of each datasource, in the order in which they were first set.
type compactionSettings struct {
	Configs []compactionConfig `json:"compactionConfigs"`
	clusterCompaction
}

// clusterCompaction is the settings that are about all datasources.
type clusterCompaction struct {
	SlotRatio         float64         `json:"compactionTaskSlotRatio"`
	MaxSlots          int             `json:"maxCompactionTaskSlots"`
	UseAutoScaleSlots bool            `json:"useAutoScaleSlots"`
	Policy            json.RawMessage `json:"compactionPolicy"`
	UseSupervisors    bool            `json:"useSupervisors"`
	Engine            string          `json:"engine"`
}

func defaultCompaction() compactionSettings {
	return compactionSettings{Configs: []compactionConfig{}, clusterCompaction: clusterCompaction{
		SlotRatio: 0.1, MaxSlots: math.MaxInt32, Policy: json.RawMessage(`{"type":"newestSegmentFirst"}`), Engine: "native",
	}}
}

func (c *clusterCompaction) validate() error {
	switch {
	case c.SlotRatio < 0 || math.IsNaN(c.SlotRatio):
		return fault.InvalidInput("compactionTaskSlotRatio [%v] must not be negative", c.SlotRatio)
	case c.MaxSlots < 0:
		return fault.InvalidInput("maxCompactionTaskSlots [%d] must not be negative", c.MaxSlots)
	case c.Engine != "native" && c.Engine != "msq":
		return fault.InvalidInput("Compaction engine [%s] is unknown; use native or msq", c.Engine)
	case c.Engine == "msq" && !c.UseSupervisors:
		return fault.InvalidInput("MSQ Compaction engine can be used only with compaction supervisors.")
	}
	return nil
}

// compactionConfig is the settings of a datasource. What is null keeps what segments have.
type compactionConfig struct {
	DataSource            string                `json:"dataSource"`
	TaskPriority          int                   `json:"taskPriority"`
	InputSegmentSizeBytes int64                 `json:"inputSegmentSizeBytes"`
	MaxRowsPerSegment     *int                  `json:"maxRowsPerSegment"`
	SkipOffsetFromLatest  chrono.Period         `json:"skipOffsetFromLatest"`
	Tuning                *compactionTuning     `json:"tuningConfig"`
	Granularity           *compactedGranularity `json:"granularitySpec"`
	Dimensions            *compactedDimensions  `json:"dimensionsSpec"`
	Metrics               []json.RawMessage     `json:"metricsSpec"`
	Transform             *compactedTransform   `json:"transformSpec"`
	IO                    *compactionIO         `json:"ioConfig"`
	Engine                *string               `json:"engine"`
	TaskContext           map[string]any        `json:"taskContext"`
}

type compactedGranularity struct {
	Segment *chrono.Granularity `json:"segmentGranularity"`
	Query   *chrono.Granularity `json:"queryGranularity"`
	Rollup  *bool               `json:"rollup"`
}

type compactedDimensions struct {
	Dimensions []compactedDimension `json:"dimensions"`
}

// compactedDimension is a column as an object; a bare name is a string column.
type compactedDimension json.RawMessage

// UnmarshalJSON reads a name or an object.
func (d *compactedDimension) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) != nil {
		var fields struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(text, &fields); err != nil || fields.Name == "" {
			return fault.InvalidInput("A dimension must be a name, or an object with a name")
		}
		*d = append((*d)[:0], text...)
		return nil
	}
	quoted, err := json.Marshal(name)
	*d = compactedDimension(`{"type":"string","name":` + string(quoted) + `,"multiValueHandling":"SORTED_ARRAY","createBitmapIndex":true}`)
	return err
}

// MarshalJSON writes the object.
func (d compactedDimension) MarshalJSON() ([]byte, error) { return d, nil }

type compactedTransform struct {
	Filter json.RawMessage `json:"filter"`
}

type compactionIO struct {
	DropExisting bool `json:"dropExisting"`
}

// compactionTuning is how compaction tasks run. Members that only steer the reference's memory use are kept and shown, not used.
type compactionTuning struct {
	MaxRowsInMemory       *int64          `json:"maxRowsInMemory"`
	AppendableIndexSpec   json.RawMessage `json:"appendableIndexSpec"`
	MaxBytesInMemory      *int64          `json:"maxBytesInMemory"`
	MaxTotalRows          *int64          `json:"maxTotalRows"`
	SplitHintSpec         json.RawMessage `json:"splitHintSpec"`
	Partitions            *partitions     `json:"partitionsSpec"`
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

// partitions is how rows are spread over segments; each kind shows its own members only.
type partitions struct {
	Type                string   `json:"type"`
	TargetRows          *int64   `json:"targetRowsPerSegment"`
	MaxRows             *int64   `json:"maxRowsPerSegment"`
	MaxTotalRows        *int64   `json:"maxTotalRows"`
	NumShards           *int     `json:"numShards"`
	PartitionDimensions []string `json:"partitionDimensions"`
	PartitionDimension  *string  `json:"partitionDimension"`
	PartitionFunction   *string  `json:"partitionFunction"`
	AssumeGrouped       bool     `json:"assumeGrouped"`
}

// defaultMaxRows is how many rows a segment of dynamic partitioning has at most.
const defaultMaxRows = 5_000_000

// MarshalJSON writes the members of the kind, defaults filled in.
func (p partitions) MarshalJSON() ([]byte, error) {
	dimensions := p.PartitionDimensions
	if dimensions == nil {
		dimensions = []string{}
	}
	out := object{{"type", p.Type}}
	switch p.Type {
	case "dynamic":
		rows := int64(defaultMaxRows)
		if p.MaxRows != nil {
			rows = *p.MaxRows
		}
		out = append(out, member{"maxRowsPerSegment", rows}, member{"maxTotalRows", p.MaxTotalRows})
	case "hashed":
		target := p.TargetRows
		if target == nil {
			target = p.MaxRows
		}
		out = append(out, member{"numShards", p.NumShards}, member{"partitionDimensions", dimensions},
			member{"partitionFunction", p.PartitionFunction}, member{"maxRowsPerSegment", target})
	case "range":
		out = append(out, member{"targetRowsPerSegment", p.TargetRows}, member{"maxRowsPerSegment", p.MaxRows},
			member{"partitionDimensions", dimensions}, member{"assumeGrouped", p.AssumeGrouped})
	default: // single_dim
		out = append(out, member{"targetRowsPerSegment", p.TargetRows}, member{"maxRowsPerSegment", p.MaxRows},
			member{"partitionDimension", p.PartitionDimension}, member{"assumeGrouped", p.AssumeGrouped})
	}
	return out.MarshalJSON()
}

func (p *partitions) validate() error {
	rows := 0
	for _, n := range []*int64{p.TargetRows, p.MaxRows} {
		if n != nil && *n > 0 {
			rows++
		}
	}
	switch p.Type {
	case "dynamic":
		return nil
	case "hashed":
		if p.NumShards != nil && rows > 0 {
			return fault.InvalidInput("partitionsSpec [hashed] takes targetRowsPerSegment or numShards, not both")
		}
		return nil
	case "range", "single_dim":
		if rows != 1 {
			return fault.InvalidInput("partitionsSpec [%s] needs exactly one of targetRowsPerSegment and maxRowsPerSegment", p.Type)
		}
		if p.Type == "range" && len(p.PartitionDimensions) == 0 {
			return fault.InvalidInput("partitionsSpec [range] needs partitionDimensions")
		}
		return nil
	case "":
		return fault.InvalidInput("partitionsSpec has no [type]")
	}
	return fault.InvalidInput("partitionsSpec type [%s] is unknown; known types are [dynamic, hashed, range, single_dim]", p.Type)
}

// parseCompaction reads the settings of a datasource. The error is for their author.
func parseCompaction(text []byte) (compactionConfig, error) {
	c := compactionConfig{TaskPriority: 25, InputSegmentSizeBytes: 100_000_000_000_000, SkipOffsetFromLatest: chrono.Period{Days: 1}}
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) || len(text) == 0 {
		return c, fault.InvalidInput("The body must be a compaction configuration")
	}
	if err := decode(text, &c); err != nil {
		return c, err
	}
	switch {
	case c.DataSource == "":
		return c, fault.InvalidInput("Compaction configuration has no [dataSource]")
	case c.InputSegmentSizeBytes < 0:
		return c, fault.InvalidInput("inputSegmentSizeBytes [%d] must not be negative", c.InputSegmentSizeBytes)
	case c.Engine != nil && *c.Engine != "native" && *c.Engine != "msq":
		return c, fault.InvalidInput("Compaction engine [%s] is unknown; use native or msq", *c.Engine)
	}
	if c.Tuning == nil {
		return c, nil
	}
	switch c.Tuning.Type {
	case "", "index_parallel", "autocompact":
		c.Tuning.Type = "index_parallel"
	default:
		return c, fault.InvalidInput("tuningConfig type [%s] is unknown; use index_parallel", c.Tuning.Type)
	}
	c.Tuning.PerfectRollup = false
	if p := c.Tuning.Partitions; p != nil {
		if err := p.validate(); err != nil {
			return c, err
		}
		c.Tuning.PerfectRollup = p.Type != "dynamic"
	}
	return c, nil
}
