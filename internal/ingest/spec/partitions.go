package spec

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// Partitions is a partitionsSpec: how the rows of a time chunk are divided into segments
// (docs/ingestion.md).
type Partitions struct {
	// Type is dynamic, hashed, range or single_dim.
	Type string
	// TargetRows is the approximate number of rows per segment, MaxRows the maximum; 0: not given.
	// Hashed and range partitions have at most one of them.
	TargetRows, MaxRows int64
	// MaxTotalRows is the maximum number of unpublished rows; 0: not given. It is shown, but has no
	// effect in tasks that publish once.
	MaxTotalRows int64
	// Shards is the number of hashed partitions; 0: it is derived from the number of rows.
	Shards int
	// Dimensions are the partition dimensions. For hashed partitions, an empty list means all
	// dimensions.
	Dimensions []string
	// Grouped is the member assumeGrouped.
	Grouped bool
}

const (
	defaultRowsPerSegment = 5_000_000
	// maxShards bounds the hashed partitions of a time chunk, which are counted one by one.
	maxShards = 100_000
)

// Rows returns the target number of rows per segment.
func (p *Partitions) Rows() int {
	rows := int64(defaultRowsPerSegment)
	switch {
	case p.TargetRows > 0:
		rows = p.TargetRows
	case p.MaxRows > 0 && p.ranges():
		rows = max(1, p.MaxRows*2/3) // a target may be exceeded by half
	case p.MaxRows > 0:
		rows = p.MaxRows
	}
	return int(min(rows, math.MaxInt32))
}

// Perfect reports whether all rows with equal dimensions are written to one segment, which
// forceGuaranteedRollup requires.
func (p *Partitions) Perfect() bool { return p.Type != "dynamic" }

func (p *Partitions) ranges() bool { return p.Type == "range" || p.Type == "single_dim" }

type partitionsWire struct {
	Type       string   `json:"type"`
	Target     *integer `json:"targetRowsPerSegment"`
	Max        *integer `json:"maxRowsPerSegment"`
	Total      *integer `json:"maxTotalRows"`
	Shards     *integer `json:"numShards"`
	Dimension  string   `json:"partitionDimension"`
	Dimensions []string `json:"partitionDimensions"`
	Function   string   `json:"partitionFunction"`
	Grouped    bool     `json:"assumeGrouped"`
	OldTarget  *integer `json:"targetPartitionSize"`
	OldMax     *integer `json:"maxPartitionSize"`
}

// UnmarshalJSON parses and validates a partitionsSpec.
func (p *Partitions) UnmarshalJSON(text []byte) error {
	var w partitionsWire
	if err := decode("partitionsSpec", text, &w); err != nil {
		return err
	}
	if w.Target == nil {
		w.Target = w.OldTarget
	}
	if w.Max == nil {
		w.Max = w.OldMax
	}
	*p = Partitions{Type: w.Type, TargetRows: w.Target.positive(), MaxRows: w.Max.positive(), MaxTotalRows: w.Total.positive(), Dimensions: w.Dimensions,
		Grouped: w.Grouped}
	switch w.Type {
	case "":
		return fault.InvalidInput("[partitionsSpec] has no [type]; known types are [dynamic, hashed, range, single_dim]")
	case "dynamic":
		if p.MaxRows == 0 {
			p.MaxRows = defaultRowsPerSegment
		}
		p.Dimensions = nil
		return nil
	case "hashed":
		return p.hashed(&w)
	case "dimension":
		p.Type = "single_dim"
	case "range", "single_dim":
	default:
		return fault.InvalidInput("Type [%s] of [partitionsSpec] is unknown; known are [dynamic, hashed, range, single_dim]", w.Type)
	}
	if p.Type == "single_dim" && w.Dimension != "" {
		p.Dimensions = []string{w.Dimension}
	}
	switch {
	case p.Type == "range" && len(p.Dimensions) == 0:
		return fault.InvalidInput("partitionDimensions must be specified")
	case p.Type == "single_dim" && len(p.Dimensions) != 1:
		return fault.InvalidInput("partitionDimension must be specified")
	case (p.TargetRows > 0) == (p.MaxRows > 0):
		return fault.InvalidInput("Exactly one of targetRowsPerSegment or maxRowsPerSegment must be present in [partitionsSpec] of type [%s]", p.Type)
	}
	return nil
}

func (p *Partitions) hashed(w *partitionsWire) error {
	for name, n := range map[string]*integer{"numShards": w.Shards, "targetRowsPerSegment": w.Target, "maxRowsPerSegment": w.Max} {
		if n != nil && *n <= 0 && *n != -1 { // which meant none in old releases
			return fault.InvalidInput("%s[%d] should be positive in [partitionsSpec] of type [hashed]", name, *n)
		}
	}
	if w.Target.positive() > 0 && w.Max.positive() > 0 && *w.Target != *w.Max { // payloads were stored with both
		return fault.InvalidInput("At most one of targetRowsPerSegment or maxRowsPerSegment must be present in [partitionsSpec] of type [hashed]")
	}
	if w.Function != "" && !strings.EqualFold(w.Function, timeline.GroupHashFunction) {
		return fault.InvalidInput("Partition function [%s] is unknown; known is [%s]", w.Function, timeline.GroupHashFunction)
	}
	if p.TargetRows == 0 {
		p.TargetRows, p.MaxRows = p.MaxRows, 0 // its older name
	}
	shards := w.Shards.positive()
	switch {
	case shards > maxShards:
		return fault.InvalidInput("[numShards] is [%d]; a time chunk is divided into at most [%d] hashed partitions", shards, maxShards)
	case shards > 0 && p.TargetRows > 0:
		return fault.InvalidInput("At most one of numShards or targetRowsPerSegment must be present in [partitionsSpec] of type [hashed]")
	}
	p.Shards, p.MaxRows = int(shards), 0
	return nil
}

// MarshalJSON returns the spec with all members of its type.
func (p Partitions) MarshalJSON() ([]byte, error) {
	number := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	dimensions := p.Dimensions
	if dimensions == nil {
		dimensions = []string{}
	}
	switch p.Type {
	case "dynamic":
		return json.Marshal(struct {
			Type  string `json:"type"`
			Max   int64  `json:"maxRowsPerSegment"`
			Total *int64 `json:"maxTotalRows"`
		}{p.Type, p.MaxRows, number(p.MaxTotalRows)})
	case "hashed":
		return json.Marshal(struct {
			Type       string   `json:"type"`
			Shards     *int64   `json:"numShards"`
			Dimensions []string `json:"partitionDimensions"`
			Function   string   `json:"partitionFunction"`
			Max        *int64   `json:"maxRowsPerSegment"`
		}{p.Type, number(int64(p.Shards)), dimensions, timeline.GroupHashFunction, number(p.TargetRows)})
	case "single_dim":
		return json.Marshal(struct {
			Type      string `json:"type"`
			Dimension string `json:"partitionDimension"`
			Target    *int64 `json:"targetRowsPerSegment"`
			Max       *int64 `json:"maxRowsPerSegment"`
			Grouped   bool   `json:"assumeGrouped"`
		}{p.Type, p.Dimensions[0], number(p.TargetRows), number(p.MaxRows), p.Grouped})
	}
	return json.Marshal(struct {
		Type       string   `json:"type"`
		Dimensions []string `json:"partitionDimensions"`
		Target     *int64   `json:"targetRowsPerSegment"`
		Max        *int64   `json:"maxRowsPerSegment"`
		Grouped    bool     `json:"assumeGrouped"`
	}{p.Type, dimensions, number(p.TargetRows), number(p.MaxRows), p.Grouped})
}
