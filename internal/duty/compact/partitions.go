package compact

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// The kinds of partitioning.
const (
	dynamic   = "dynamic"
	hashed    = "hashed"
	byRange   = "range"
	singleDim = "single_dim"
)

// defaultRows is how many rows a segment has at most where partitioning does not say.
const defaultRows = 5_000_000

// defaultFunction is how hashed partitioning makes numbers of values.
const defaultFunction = "murmur3_32_abs"

// PartitionsSpec defines how rows are partitioned into segments. JSON contains only the members of
// the type.
type PartitionsSpec struct {
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

// MarshalJSON returns the members of the type, with defaults.
func (p PartitionsSpec) MarshalJSON() ([]byte, error) {
	dimensions := append([]string{}, p.PartitionDimensions...)
	switch p.Type {
	case dynamic:
		return json.Marshal(struct {
			Type  string `json:"type"`
			Rows  int64  `json:"maxRowsPerSegment"`
			Total *int64 `json:"maxTotalRows"`
		}{p.Type, p.maxRows(), p.MaxTotalRows})
	case hashed:
		function := defaultFunction
		if p.PartitionFunction != nil {
			function = *p.PartitionFunction
		}
		return json.Marshal(struct {
			Type       string   `json:"type"`
			Shards     *int     `json:"numShards"`
			Dimensions []string `json:"partitionDimensions"`
			Function   string   `json:"partitionFunction"`
			Rows       *int64   `json:"maxRowsPerSegment"`
		}{p.Type, p.NumShards, dimensions, function, p.rows()})
	case byRange:
		return json.Marshal(struct {
			Type       string   `json:"type"`
			Target     *int64   `json:"targetRowsPerSegment"`
			Rows       *int64   `json:"maxRowsPerSegment"`
			Dimensions []string `json:"partitionDimensions"`
			Grouped    bool     `json:"assumeGrouped"`
		}{p.Type, p.TargetRows, p.MaxRows, dimensions, p.AssumeGrouped})
	}
	return json.Marshal(struct {
		Type      string  `json:"type"`
		Target    *int64  `json:"targetRowsPerSegment"`
		Rows      *int64  `json:"maxRowsPerSegment"`
		Dimension *string `json:"partitionDimension"`
		Grouped   bool    `json:"assumeGrouped"`
	}{p.Type, p.TargetRows, p.MaxRows, p.PartitionDimension, p.AssumeGrouped})
}

// rows is the one number of rows that a kind other than range takes under two names.
func (p *PartitionsSpec) rows() *int64 {
	if p.TargetRows != nil {
		return p.TargetRows
	}
	return p.MaxRows
}

// maxRows is how many rows a segment has at most.
func (p *PartitionsSpec) maxRows() int64 {
	switch {
	case p.Type == dynamic && p.MaxRows == nil:
		return defaultRows
	case p.Type != dynamic && p.Type != hashed && p.TargetRows != nil:
		return *p.TargetRows + *p.TargetRows/2 // quirk Q017: what Druid allows ranges to grow beyond their target
	}
	if rows := p.rows(); rows != nil {
		return *rows
	}
	return 0
}

// maxTotalRows is how many rows may be in work at once; no number is no limit.
func (p *PartitionsSpec) maxTotalRows() int64 {
	if p.MaxTotalRows == nil {
		return math.MaxInt64
	}
	return *p.MaxTotalRows
}

// dimensions are the columns that rows are spread by.
func (p *PartitionsSpec) dimensions() []string {
	if p.PartitionDimension != nil {
		return []string{*p.PartitionDimension}
	}
	return p.PartitionDimensions
}

// unset is how writers of old say that a number is not given.
const unset = -1

// validate returns a fault that says what is wrong, and fills in what follows from what was given.
func (p *PartitionsSpec) validate() error {
	rows := 0
	for _, n := range []**int64{&p.TargetRows, &p.MaxRows} {
		if *n != nil && **n == unset {
			*n = nil
		} else if *n != nil && **n > 0 {
			rows++
		}
	}
	if p.NumShards != nil && *p.NumShards == unset {
		p.NumShards = nil
	}
	switch p.Type {
	case dynamic:
		return nil
	case hashed:
		if p.NumShards != nil && rows > 0 {
			return fault.InvalidInput("partitionsSpec [hashed] takes targetRowsPerSegment or numShards, not both")
		}
		if p.NumShards != nil && *p.NumShards <= 0 {
			return fault.InvalidInput("numShards [%d] must be positive", *p.NumShards)
		}
		if p.NumShards == nil && rows == 0 {
			p.MaxRows = new(int64(defaultRows))
		}
		if f := p.PartitionFunction; f != nil && *f != defaultFunction {
			return fault.InvalidInput("partitionFunction [%s] is unknown; use %s", *f, defaultFunction)
		}
		return nil
	case byRange, singleDim:
		if rows != 1 {
			return fault.InvalidInput("partitionsSpec [%s] needs exactly one of targetRowsPerSegment and maxRowsPerSegment", p.Type)
		}
		if p.Type == byRange && len(p.PartitionDimensions) == 0 {
			return fault.InvalidInput("partitionsSpec [range] needs partitionDimensions")
		}
		return nil
	case "":
		return fault.InvalidInput("partitionsSpec has no [type]")
	}
	return fault.InvalidInput("partitionsSpec type [%s] is unknown; known types are [dynamic, hashed, range, single_dim]", p.Type)
}

// equal reports whether segments made by one are what the other asks for.
func (p *PartitionsSpec) equal(o *PartitionsSpec) bool {
	switch {
	case p.kind() != o.kind():
		return false
	case p.Type == dynamic:
		return p.maxRows() == o.maxRows() && p.maxTotalRows() == o.maxTotalRows()
	case p.Type == hashed:
		return p.maxRows() == o.maxRows() && numberOf(p.NumShards) == numberOf(o.NumShards) && slices.Equal(p.dimensions(), o.dimensions())
	}
	return p.maxRows() == o.maxRows() && slices.Equal(p.dimensions(), o.dimensions()) && p.AssumeGrouped == o.AssumeGrouped
}

// kind is the type; a single dimension is a range over one.
func (p *PartitionsSpec) kind() string {
	if p.Type == singleDim {
		return byRange
	}
	return p.Type
}

func numberOf(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// String describes the partitioning for a reason.
func (p *PartitionsSpec) String() string {
	switch p.Type {
	case dynamic:
		return fmt.Sprintf("'dynamic' with %s rows", grouped(p.maxRows()))
	case hashed:
		if p.NumShards != nil {
			return fmt.Sprintf("'hashed' on %v with %d shards", p.dimensions(), *p.NumShards)
		}
		return fmt.Sprintf("'hashed' on %v with %s rows", p.dimensions(), grouped(p.maxRows()))
	}
	return fmt.Sprintf("'range' on %v with %s rows", p.dimensions(), grouped(p.maxRows()))
}

// grouped writes a number with commas between thousands.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
