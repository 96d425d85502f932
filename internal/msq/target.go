package msq

import (
	"encoding/json"
	"fmt"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/segment"
)

// Target says of the segments that a job writes what statements have no words for: native specs do.
// Lists are by column of the job's plan, nil: all columns have the zero value.
type Target struct {
	// Metrics names the aggregators whose states columns hold (agg.Spec.Metric); "": a dimension. Nil:
	// the aggregates of the plan tell.
	Metrics []string
	// MultiValue says how a row keeps the values of a multi-value column.
	MultiValue []MultiValue
	// NoIndex keeps string columns without a bitmap index.
	NoIndex []bool
	// Auto says that the type of a column follows from its values.
	Auto []bool
	// QueryGranularity is what times were truncated to, for readers of the segments; "": NONE.
	QueryGranularity string
	// TimestampSpec says where the rows had their times, for readers of the segments (segment.Kept);
	// nil: in __time, in milliseconds.
	TimestampSpec json.RawMessage
	// Touched replaces the time chunks that get rows, and leaves the others as they are. Their locks
	// are taken when it is known which they are.
	Touched bool
	// Existing are the time chunks that an append must respect where they are not buckets of its
	// granularity.
	Existing []Existing
	// Follows says that the segments of an append go into the chunk that is there, also if it is
	// coarser than a bucket.
	Follows bool
	// MaxLocks is the most time chunks that may be locked; 0: no limit.
	MaxLocks int
	// Hash, if not nil, divides each time chunk by a hash of dimensions.
	Hash *Hash
	// SingleRanges gives ranges over one dimension their older name, "single".
	SingleRanges bool
	// CompactionState, if not nil, is kept with each segment: the settings it was compacted with.
	CompactionState json.RawMessage
}

// MultiValue is the order in which a row keeps the values of a multi-value column.
type MultiValue uint8

// The multiValueHandlings of native specs.
const (
	SortedArray MultiValue = iota // in order
	SortedSet                     // in order, each once
	AsArray                       // as they came
)

// handling returns the MultiValue of a column of the plan.
func (t *Target) handling(column int) MultiValue {
	if t == nil || t.MultiValue == nil {
		return SortedArray
	}
	return t.MultiValue[column]
}

// noIndex reports whether a column of the plan goes without bitmap index.
func (t *Target) noIndex(column int) bool { return t != nil && t.NoIndex != nil && t.NoIndex[column] }

func (t *Target) follows() bool { return t != nil && t.Follows }

func (t *Target) touched() bool { return t != nil && t.Touched }

// kept is what segments keep for their readers, beside the granularity; nil: nothing.
func (t *Target) kept() (json.RawMessage, error) {
	if t == nil || t.TimestampSpec == nil {
		return nil, nil
	}
	text, err := json.Marshal(segment.Kept{TimestampSpec: t.TimestampSpec})
	if err != nil {
		return nil, fmt.Errorf("writing what segments keep: %w", err)
	}
	return text, nil
}

func (t *Target) queryGranularity() string {
	if t == nil || t.QueryGranularity == "" {
		return chrono.None.String()
	}
	return t.QueryGranularity
}
