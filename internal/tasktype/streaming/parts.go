package streaming

import (
	"context"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Maker makes rows of records (intake.Maker). It is used by one goroutine.
type Maker interface {
	// Make returns the rows of records that follow each other. They are valid until the next call.
	// What is refused for want of memory, or of what may come back (intake.Passes), can be asked
	// for again.
	Make(ctx context.Context, records []stream.Record) (*intake.Made, error)
	// Bound sets the times of rows that are taken, in milliseconds; nil: they have no bound.
	Bound(minTime, maxTime *int64)
	// Shape says how segments of the rows are written, without Columns.
	Shape() segment.Options
	Close()
}

// Segments opens segments that queries see while they grow (package live).
type Segments interface {
	Open(o SegmentOptions) (Segment, error)
	// Publish calls commit, which makes segments visible at the number that it returns; queries of
	// them wait for it.
	Publish(segments []Segment, commit func() (number int64, err error)) error
}

// SegmentOptions describe a segment to be.
type SegmentOptions struct {
	ID     timeline.SegmentID
	Shard  timeline.ShardSpec
	TaskID string
	Write  segment.Options
}

// Segment is one that grows. Append and Persist may run at the same time; what is in the parts
// Append, Finish and Close is called by one goroutine after the other.
type Segment interface {
	// Append adds rows, all or none. A refusal for want of memory passes once Persist was called.
	Append(ctx context.Context, rows *vector.Batch, columns []segment.ColumnSpec) error
	Rows() int64
	// Bytes is what the rows that were not persisted take.
	Bytes() int64
	Persist(ctx context.Context) error
	// Finish makes one file of all rows. One that failed may be asked for again.
	Finish(ctx context.Context, path string) (*segment.Info, error)
	Close()
}
