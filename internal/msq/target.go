package msq

import (
	"encoding/json"
	"fmt"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/segment"
)

// Target contains properties of the segments that a job writes that native specs, but not
// statements, can express. Lists are by column of the plan of the job; nil: all columns have the
// zero value.
type Target struct {
	// Metrics are the names of the aggregators whose states the columns store (agg.Spec.Metric); "": a
	// dimension. Nil: derived from the aggregates of the plan.
	Metrics []string
	// MultiValue is the order in which rows store the values of multi-value columns.
	MultiValue []MultiValue
	// NoIndex disables the bitmap index of string columns.
	NoIndex []bool
	// Auto marks columns whose type is determined by their values.
	Auto []bool
	// QueryGranularity is the granularity to which times were truncated, for readers of the segments;
	// "": NONE.
	QueryGranularity string
	// TimestampSpec describes the source of the times, for readers of the segments (segment.Kept);
	// nil: __time in milliseconds.
	TimestampSpec json.RawMessage
	// Touched replaces only the time chunks that get rows. Their locks are acquired when they are
	// known.
	Touched bool
	// Existing are the time chunks that an append must respect because they are not buckets of its
	// granularity.
	Existing []Existing
	// Follows: the segments of an append go into the existing chunk, even if it is coarser than a
	// bucket.
	Follows bool
	// MaxLocks is the maximum number of locked time chunks; 0: no limit.
	MaxLocks int
	// Hash, if not nil, partitions each time chunk by a hash of dimensions.
	Hash *Hash
	// SingleRanges uses the older name "single" for ranges over one dimension.
	SingleRanges bool
	// CompactionState, if not nil, is stored with each segment: the settings with which it was
	// compacted.
	CompactionState json.RawMessage
}

// MultiValue is the order in which a row stores the values of a multi-value column.
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
