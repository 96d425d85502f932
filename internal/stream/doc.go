// Package stream reads streams of records: topics of Kafka, streams of Kinesis, and the logs that
// rows sent by HTTP are kept in.
//
// The central types are Source, one stream (or several topics read as one) that a supervisor looks
// at and tasks read, and Reader, which yields the records of assigned partitions from given
// positions on:
//
//	supervisor ── Partitions, Earliest, Latest ──► Source
//	task ── Source.Open ──► Reader ── Assign(positions), Poll ──► Batches of Records
//
// What holds:
//
//  1. Partitions are assigned by who reads. There are no consumer groups, and nothing is committed
//     to the stream: how far a supervisor has read is in the metastore, with its segments.
//  2. A position is where reading goes on: the next record of a partition that is wanted. It moves
//     over what is no record (aborted transactions, compacted records, control records), too, so
//     that a reader that has all is at Latest.
//  3. A position that the stream no longer has is an error of its partition (OffsetError), never a
//     jump.
//
// Deliberately elsewhere: what records mean (package ingest), what becomes of rows (tasktype), when
// and where it is read (overlord/streams).
package stream
