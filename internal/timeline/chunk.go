package timeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
)

// Chunk is the segments of one interval and version, the unit that is visible or not. It is
// immutable.
type Chunk struct {
	Interval chrono.Interval
	Version  string

	segments []*Segment // by partition number
	visible  []*Segment // segments, without those that a minor version replaced; shares the array of segments where it can
	core     int
	complete bool
}

// newChunk takes over segments, which are sorted and not empty.
func newChunk(interval chrono.Interval, version string, segments []*Segment) *Chunk {
	c := &Chunk{Interval: interval, Version: version, segments: segments, visible: segments}
	var groups overwrites
	for _, s := range segments {
		switch spec := s.Shard.(type) {
		case NumberedOverwrite:
			groups.add(spec)
			continue
		default:
			if n := s.Shard.CorePartitions(); n == UnknownCore || c.core == UnknownCore {
				c.core = UnknownCore
			} else {
				c.core = max(c.core, n)
			}
		}
	}
	if len(groups) > 0 {
		c.visible = slices.DeleteFunc(slices.Clone(segments), func(s *Segment) bool { return groups.hide(s.Shard) })
	}
	c.complete = c.isComplete(groups)
	return c
}

// Segments returns the visible members by partition number. The caller must not change the slice.
func (c *Chunk) Segments() []*Segment { return c.visible }

// Members returns all members, also those that a minor version hides.
func (c *Chunk) Members() []*Segment { return c.segments }

// CorePartitions is the size of the core set: the largest that a member tells, or UnknownCore.
func (c *Chunk) CorePartitions() int { return c.core }

// IsComplete is rule R1.
func (c *Chunk) IsComplete() bool { return c.complete }

// MaxPartition returns the highest partition number.
func (c *Chunk) MaxPartition() int { return c.segments[len(c.segments)-1].ID.Partition }

func (c *Chunk) isComplete(groups overwrites) bool {
	if c.core == UnknownCore {
		return c.rangesAreClosed()
	}
	next := 0 // the lowest partition of the core set that was not seen
	for _, s := range c.segments {
		if next >= c.core || len(groups) == 0 && s.ID.Partition != next {
			break
		}
		for next < c.core && groups.cover(next) {
			next++
		}
		if s.ID.Partition == next {
			next++
		}
	}
	for next < c.core && groups.cover(next) {
		next++
	}
	return next >= c.core
}

// rangesAreClosed reports whether the ranges of a set without core size follow each other from open
// start to open end.
func (c *Chunk) rangesAreClosed() bool {
	var specs []Single
	for _, s := range c.segments {
		if spec, ok := s.Shard.(Single); ok {
			specs = append(specs, spec)
		}
	}
	slices.SortFunc(specs, func(a, b Single) int {
		if a.Start == nil || b.Start == nil {
			return cmp.Compare(boolInt(a.Start != nil), boolInt(b.Start != nil))
		}
		return strings.Compare(*a.Start, *b.Start)
	})
	for i, spec := range specs {
		if i == 0 && spec.Start != nil || i > 0 && (specs[i-1].End == nil || spec.Start == nil || *specs[i-1].End != *spec.Start) {
			return false
		}
	}
	return len(specs) > 0 && specs[len(specs)-1].End == nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// find returns the place of a partition number among the members, and whether it is there.
func (c *Chunk) find(partition int) (int, bool) {
	return slices.BinarySearchFunc(c.segments, partition, func(s *Segment, p int) int { return cmp.Compare(s.ID.Partition, p) })
}

// beats is the order of rule R2.
func (c *Chunk) beats(o *Chunk) bool {
	return cmp.Or(
		strings.Compare(c.Version, o.Version),
		cmp.Compare(c.Interval.Start, o.Interval.Start),
		cmp.Compare(o.Interval.End, c.Interval.End),
	) > 0
}

// overwrites counts the members of each group of NumberedOverwrite segments, keyed by its spec
// without the partition.
type overwrites map[NumberedOverwrite]int

func (o *overwrites) add(spec NumberedOverwrite) {
	if *o == nil {
		*o = make(overwrites)
	}
	spec.Partition = 0
	(*o)[spec]++
}

// hide reports whether a complete group of a higher minor version replaced the spec's root
// partitions.
func (o overwrites) hide(spec ShardSpec) bool {
	start, end, minor := spec.PartitionNum(), spec.PartitionNum()+1, 0
	own, isGroup := spec.(NumberedOverwrite)
	if isGroup {
		start, end, minor = own.RootStart, own.RootEnd, own.Minor
		own.Partition = 0
		if o[own] < own.GroupSize {
			return true // an incomplete group is not visible either
		}
	}
	for group, members := range o {
		if members >= group.GroupSize && group.Minor > minor && group.RootStart <= start && end <= group.RootEnd {
			return true
		}
	}
	return false
}

// cover reports whether a complete group stands for a root partition.
func (o overwrites) cover(partition int) bool {
	for group, members := range o {
		if members >= group.GroupSize && group.RootStart <= partition && partition < group.RootEnd {
			return true
		}
	}
	return false
}
