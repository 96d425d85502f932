package stream

import (
	"context"
	"fmt"
	"time"
)

// Partition is the name of a partition of a source in the public interface: "3" of a single topic,
// "topic:3" of several topics, the id of a shard.
type Partition string

// Position identifies the next record of a partition: a decimal number of Kafka, a sequence number
// of Kinesis. Positions of one partition are compared by Source.Compare.
type Position string

// Positions of no record.
const (
	// Unset is an unknown position.
	Unset Position = "-1"
	// Unbounded is after all records: the end of a task whose end is not set yet.
	Unbounded Position = "9223372036854775807"
)

// Positions are the positions of several partitions.
type Positions map[Partition]Position

// Source is a stream. Its methods are safe for use by many goroutines. Errors other than faults of
// the settings mean that the stream is unreachable, and may be transient.
type Source interface {
	// Partitions returns all current partitions. A reader treats an empty result as an error.
	Partitions(ctx context.Context) ([]Partition, error)
	// Earliest and Latest return the start and the end of the available records. If the reader sees
	// only committed records, Latest is the end of these.
	Earliest(ctx context.Context, partitions []Partition) (Positions, error)
	Latest(ctx context.Context, partitions []Partition) (Positions, error)
	// Compare is negative, 0 or positive if a is before, at or after b.
	Compare(a, b Position) int
	// Distance returns the maximum number of records between two positions; for Kinesis, it is unknown
	// and -1.
	Distance(from, to Position) int64
	// Open returns a reader without partitions; they are assigned later.
	Open(ctx context.Context) (Reader, error)
	// Close closes connections. Readers must be closed first.
	Close() error
}

// Reader reads the assigned partitions. It is used by one goroutine, except for Close, which ends a
// waiting Poll.
type Reader interface {
	// Assign sets the partitions and their positions. Partitions that are not named are no longer
	// read; partitions that are already at the given position continue without interruption.
	Assign(ctx context.Context, positions Positions) error
	// Poll waits for records until some are available or wait has expired, and returns them: in order
	// and without gaps within each partition. An empty result is not an error. The batches and their
	// bytes are valid until the next Poll.
	Poll(ctx context.Context, wait time.Duration) ([]Batch, error)
	Close() error
}

// Batch contains consecutive records of one partition.
type Batch struct {
	Partition Partition
	Records   []Record
	// Next is the position after them. A batch without records only advances the position.
	Next Position
}

// Record is one record of a stream.
type Record struct {
	// Position is the position of the record; the next record has a greater one.
	Position Position
	// Topic, Number and Offset are those of Kafka: a topic, the number of the partition in it, and
	// the position as a number.
	Topic  string
	Number int32
	Offset int64
	// Time is the time of the record in milliseconds.
	Time int64
	Key  []byte
	// Value is nil if the record has none (a tombstone).
	Value   []byte
	Headers []Header
}

// Header is a name with bytes; a record may have several headers with the same name.
type Header struct {
	Name  string
	Value []byte
}

// OffsetError means that a stream does not have the requested position of a partition.
type OffsetError struct {
	Partition                Partition
	Wanted, Earliest, Latest Position
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("position [%s] of partition [%s] is not in the stream, which has [%s] to [%s]",
		e.Wanted, e.Partition, e.Earliest, e.Latest)
}
