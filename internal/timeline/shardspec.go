package timeline

// UnknownCore is the core size of a chunk whose writer did not record it (shard specs "single" of
// old releases). Such a chunk is complete when its ranges follow each other from open start to open
// end, and takes no appended segments.
const UnknownCore = -1

// ShardSpec is the position of a segment in its chunk: its partition number, the size of the core
// set, and for some kinds the rows that it may contain. It is one of Numbered, Range, Single,
// Hashed, Tombstone, None, Linear, DimValueSet and NumberedOverwrite. Values are immutable and JSON
// is that of Druid.
type ShardSpec interface {
	// Type is the "type" of the JSON form.
	Type() string
	// PartitionNum is the partition number in the id of the segment.
	PartitionNum() int
	// CorePartitions is the size of the core set: partitions 0 to CorePartitions-1 must all exist
	// before any of them is visible. A set with core size 0 is complete with any member; see also
	// UnknownCore.
	CorePartitions() int
	// Possible reports whether the segment may have a row that the domain lets through. False is
	// certain, true is not.
	Possible(d Domain) bool

	shardSpec()
}

// Numbered is partition Partition of a core set of Core segments; Core is 0 for sets that consist
// only of appended segments.
type Numbered struct {
	Partition, Core int
}

// Range holds the rows whose values of Dimensions, compared as a tuple, are in [Start, End).
type Range struct {
	Dimensions []string
	// Start and End are nil if open, else one value per dimension.
	Start, End Tuple
	Partition  int
	Core       int
}

// Single is Range over one dimension, the older form. Core is UnknownCore if not recorded.
type Single struct {
	Dimension  string
	Start, End *string
	Partition  int
	Core       int
}

// Hashed holds the rows whose hash of Dimensions (all dimensions and the time if empty) falls into
// bucket Bucket of Buckets.
type Hashed struct {
	Partition, Core int
	Bucket, Buckets int
	Dimensions      []string
	Function        string
}

// Tombstone is the only segment of a chunk without rows: it hides older versions.
type Tombstone struct{}

// None is the only segment of its chunk.
type None struct{}

// Linear is a member of a set without a definition of completeness.
type Linear struct {
	Partition int
}

// DimValueSet holds the rows whose values are in Values, for each dimension named there.
type DimValueSet struct {
	Partition, Core int
	Values          map[string][]string
}

// NumberedOverwrite replaced the root partitions [RootStart, RootEnd) of its chunk, at the same
// version, with a group of GroupSize segments of minor version Minor. Henge reads this kind, but
// does not write it.
type NumberedOverwrite struct {
	Partition          int
	RootStart, RootEnd int
	Minor              int
	GroupSize          int
}

func (Numbered) Type() string          { return "numbered" }
func (Range) Type() string             { return "range" }
func (Single) Type() string            { return "single" }
func (Hashed) Type() string            { return "hashed" }
func (Tombstone) Type() string         { return "tombstone" }
func (None) Type() string              { return "none" }
func (Linear) Type() string            { return "linear" }
func (DimValueSet) Type() string       { return "dim_value_set" }
func (NumberedOverwrite) Type() string { return "numbered_overwrite" }

func (s Numbered) PartitionNum() int          { return s.Partition }
func (s Range) PartitionNum() int             { return s.Partition }
func (s Single) PartitionNum() int            { return s.Partition }
func (s Hashed) PartitionNum() int            { return s.Partition }
func (Tombstone) PartitionNum() int           { return 0 }
func (None) PartitionNum() int                { return 0 }
func (s Linear) PartitionNum() int            { return s.Partition }
func (s DimValueSet) PartitionNum() int       { return s.Partition }
func (s NumberedOverwrite) PartitionNum() int { return s.Partition }

func (s Numbered) CorePartitions() int        { return s.Core }
func (s Range) CorePartitions() int           { return s.Core }
func (s Single) CorePartitions() int          { return s.Core }
func (s Hashed) CorePartitions() int          { return s.Core }
func (Tombstone) CorePartitions() int         { return 1 }
func (None) CorePartitions() int              { return 1 }
func (Linear) CorePartitions() int            { return 0 }
func (s DimValueSet) CorePartitions() int     { return s.Core }
func (NumberedOverwrite) CorePartitions() int { return 0 }

func (Numbered) shardSpec()          {}
func (Range) shardSpec()             {}
func (Single) shardSpec()            {}
func (Hashed) shardSpec()            {}
func (Tombstone) shardSpec()         {}
func (None) shardSpec()              {}
func (Linear) shardSpec()            {}
func (DimValueSet) shardSpec()       {}
func (NumberedOverwrite) shardSpec() {}

// WithCore returns the shard spec with another core size, or unchanged if its kind has no core
// size.
func WithCore(s ShardSpec, core int) ShardSpec {
	switch s := s.(type) {
	case Numbered:
		s.Core = core
		return s
	case Range:
		s.Core = core
		return s
	case Single:
		s.Core = core
		return s
	case Hashed:
		s.Core = core
		return s
	case DimValueSet:
		s.Core = core
		return s
	case Tombstone, None, Linear, NumberedOverwrite:
		return s
	}
	return s
}
