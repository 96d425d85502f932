package streaming

import (
	"context"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Maker converts records to rows (intake.Maker). It is used by one goroutine.
type Maker interface {
	// Make returns the rows of consecutive records. They are valid until the next call. Make can be
	// called again after a fault that is due to memory or may be temporary (intake.Passes).
	Make(ctx context.Context, records []stream.Record) (*intake.Made, error)
	// Bound sets the range of the times of accepted rows, in milliseconds; nil: no limit.
	Bound(minTime, maxTime *int64)
	// Shape returns the options for segments of the rows, without Columns.
	Shape() segment.Options
	Close()
}

// Segments opens segments that can be queried while they grow (package live).
type Segments interface {
	Open(o SegmentOptions) (Segment, error)
	// Publish calls commit, which makes segments visible at the change number that it returns. Queries
	// of the segments wait for it.
	Publish(segments []Segment, commit func() (number int64, err error)) error
}

// SegmentOptions describe a new segment.
type SegmentOptions struct {
	ID     timeline.SegmentID
	Shard  timeline.ShardSpec
	TaskID string
	// Priority is the priority of the task for queries; nil: it has none.
	Priority *int
	Write    segment.Options
}

// Segment is a growing segment. Append and Persist may run concurrently. Append, Finish and Close
// are called by one goroutine at a time.
type Segment interface {
	// Append adds all rows or none. After a fault due to memory, it can be retried when Persist was
	// called.
	Append(ctx context.Context, rows *vector.Batch, columns []segment.ColumnSpec) error
	Rows() int64
	// Bytes returns the memory of the rows that were not persisted.
	Bytes() int64
	Persist(ctx context.Context) error
	// Finish writes one file with all rows. If it fails, it can be called again.
	Finish(ctx context.Context, path string) (*segment.Info, error)
	Close()
}
