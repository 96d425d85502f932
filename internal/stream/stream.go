package stream

import (
	"context"
	"fmt"
	"time"
)

// Partition names a part of a source as the interface shows it: "3" of a single topic, "topic:3" of
// several topics, the id of a shard.
type Partition string

// Position is where reading of a partition goes on: a decimal number of Kafka, a sequence number of
// Kinesis. Positions of one partition are compared by Source.Compare.
type Position string

// Positions of no record.
const (
	// Unset says that a position is not known.
	Unset Position = "-1"
	// Unbounded is behind all records there will ever be: the end of a task that has not got one yet.
	Unbounded Position = "9223372036854775807"
)

// Positions are those of several partitions.
type Positions map[Partition]Position

// Source is a stream. Its methods are safe for use by many goroutines. Errors that are no faults of
// the settings say that the stream can't be reached, and may pass.
type Source interface {
	// Partitions returns all partitions there are now. None is an error for who wants to read.
	Partitions(ctx context.Context) ([]Partition, error)
	// Earliest and Latest return where the records that are there begin and end. Latest is that of
	// committed records where the reader sees only these.
	Earliest(ctx context.Context, partitions []Partition) (Positions, error)
	Latest(ctx context.Context, partitions []Partition) (Positions, error)
	// Compare is negative, 0 or positive as a is before, at or behind b.
	Compare(a, b Position) int
	// Distance returns how many records lie between two positions at most; Kinesis has no such
	// number and returns -1.
	Distance(from, to Position) int64
	// Open returns a reader of nothing; its partitions are assigned later.
	Open(ctx context.Context) (Reader, error)
	// Close frees connections. Readers are closed before.
	Close() error
}

// Reader reads the assigned partitions. It is used by one goroutine, but for Close, which ends a
// Poll that waits.
type Reader interface {
	// Assign says what is read, and from where on: partitions that it does not name are read no
	// longer, those that are read already at the given position go on undisturbed.
	Assign(ctx context.Context, positions Positions) error
	// Poll waits for records until some are there or wait is over, and returns what has come: of each
	// partition in order, without a gap. None is not an error. The batches and their bytes are valid
	// until the next Poll.
	Poll(ctx context.Context, wait time.Duration) ([]Batch, error)
	Close() error
}

// Batch is records of one partition that follow each other.
type Batch struct {
	Partition Partition
	Records   []Record
	// Next is where reading goes on behind them. A batch without records only moves the position.
	Next Position
}

// Record is one record of a stream.
type Record struct {
	// Position is its own; the next record has a greater one.
	Position Position
	// Topic, Number and Offset are those of Kafka: a topic, the number of the partition in it, and
	// the position as a number.
	Topic  string
	Number int32
	Offset int64
	// Time is that of the record in milliseconds.
	Time int64
	Key  []byte
	// Value is nil where a record has none (a tombstone).
	Value   []byte
	Headers []Header
}

// Header is a name with bytes; a record may have several of one name.
type Header struct {
	Name  string
	Value []byte
}

// OffsetError says that a stream does not have the wanted position of a partition.
type OffsetError struct {
	Partition                Partition
	Wanted, Earliest, Latest Position
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("position [%s] of partition [%s] is not in the stream, which has [%s] to [%s]",
		e.Wanted, e.Partition, e.Earliest, e.Latest)
}
