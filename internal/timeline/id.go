package timeline

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
)

// SegmentID names a segment. Two segments with equal ids are the same segment; the bytes behind an
// id are named by Segment.File.
type SegmentID struct {
	DataSource string
	Interval   chrono.Interval
	// Version is an opaque string, compared byte by byte; usually the instant at which a lock was
	// granted.
	Version   string
	Partition int
}

// String returns the usual text of the id: datasource, start, end and version, and the partition
// number if it is not 0, joined by underscores. The datasource and the version may contain
// underscores too: see ParseID.
func (id SegmentID) String() string { return string(id.Append(nil)) }

// Append appends the text of String to dst.
func (id SegmentID) Append(dst []byte) []byte {
	dst = append(dst, id.DataSource...)
	dst = append(dst, '_')
	dst = chrono.AppendMillis(dst, id.Interval.Start, chrono.UTC)
	dst = append(dst, '_')
	dst = chrono.AppendMillis(dst, id.Interval.End, chrono.UTC)
	dst = append(dst, '_')
	dst = append(dst, id.Version...)
	return id.AppendPartition(dst)
}

// AppendPartition appends the part of String after the version: the part that differs within a
// chunk.
func (id SegmentID) AppendPartition(dst []byte) []byte {
	if id.Partition != 0 {
		dst = append(dst, '_')
		dst = strconv.AppendInt(dst, int64(id.Partition), 10)
	}
	return dst
}

// Compare orders by datasource, interval (start, then end), version and partition.
func (id SegmentID) Compare(o SegmentID) int {
	return cmp.Or(
		strings.Compare(id.DataSource, o.DataSource),
		id.Interval.Compare(o.Interval),
		strings.Compare(id.Version, o.Version),
		cmp.Compare(id.Partition, o.Partition),
	)
}
