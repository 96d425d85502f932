package timeline

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// BinaryVersion is the binary version in descriptors of new segments: the number of Druid's segment
// format, which clients show.
const BinaryVersion = 9

// Segment describes a published segment. It is immutable once it is in a timeline; its parts may be
// shared with other segments.
type Segment struct {
	ID    SegmentID
	Shard ShardSpec
	// Schema is the columns; nil for a tombstone.
	Schema *Schema
	// File names the bytes. Several ids share one file after an append was upgraded into a newer
	// version. Empty for a tombstone, in descriptors of other systems, and in timelines if it equals
	// the text of the id.
	File string
	// Location is the location of the bytes in deep storage, relative to the id: see Locate and
	// LoadSpec. It may be omitted.
	Location Location
	// Size is the number of bytes on disk; Rows the number of rows, or -1 if not known.
	Size, Rows int64
	// Times is from the least time of the rows to behind the greatest; empty: not known.
	Times         chrono.Interval
	BinaryVersion int
	// Details may be nil.
	Details *Details
}

// Details is the rarely read part of a descriptor.
type Details struct {
	// LastCompactionState is the JSON of the settings the segment was compacted with, or nil.
	LastCompactionState json.RawMessage
	Projections         []string
	// IndexingState is the fingerprint of the settings the segment was written with, if that was
	// recorded.
	IndexingState string
}

// IsTombstone reports whether the segment hides older segments and has no rows.
func (s *Segment) IsTombstone() bool {
	_, ok := s.Shard.(Tombstone)
	return ok
}

// WithID returns a copy under another id and shard spec, which must agree on the partition number.
// The bytes stay the same.
func (s *Segment) WithID(id SegmentID, shard ShardSpec) *Segment {
	c := *s
	c.ID, c.Shard = id, shard
	return c.Locate(s.LoadSpec())
}

// Validate rejects descriptors that a timeline cannot contain.
func (s *Segment) Validate() error {
	switch {
	case s.ID.DataSource == "":
		return fault.InvalidInput("A segment must have a datasource")
	case s.ID.Interval.IsEmpty():
		return fault.InvalidInput("Segment [%s] has an empty interval", s.ID)
	case s.ID.Version == "":
		return fault.InvalidInput("Segment [%s] has no version", s.ID)
	case s.Shard == nil:
		return fault.InvalidInput("Segment [%s] has no shard spec", s.ID)
	case s.ID.Partition < 0 || s.ID.Partition > maxPartition || s.Shard.PartitionNum() != s.ID.Partition:
		return fault.InvalidInput("Segment [%s] has partition number [%d] in its shard spec", s.ID, s.Shard.PartitionNum())
	case s.Size < 0:
		return fault.InvalidInput("Segment [%s] has the size [%d]", s.ID, s.Size)
	}
	return nil
}

// NewTombstone returns the segment that hides everything older in its interval.
func NewTombstone(id SegmentID) *Segment {
	id.Partition = 0
	s := &Segment{ID: id, Shard: Tombstone{}, Size: 1, BinaryVersion: BinaryVersion}
	return s.Locate(json.RawMessage(`{"type":"tombstone","path":null}`))
}
