// Package stream defines streams of records: topics of Kafka, streams of Kinesis, and the logs of
// rows that clients send over HTTP.
//
// The central types are Source, one stream (or several topics that are read as one) that
// supervisors inspect and tasks read, and Reader, which yields the records of assigned partitions
// from given positions:
//
//	supervisor ── Partitions, Earliest, Latest ──► Source
//	task ── Source.Open ──► Reader ── Assign(positions), Poll ──► Batches of Records
//
// Invariants:
//
//  1. Readers choose their partitions. There are no consumer groups, and nothing is committed to
//     the stream: the offsets of a supervisor are in the metastore, with its segments.
//  2. A position identifies the next record of a partition. It also advances over entries that are
//     not records (aborted transactions, compacted records, control records), so a reader that has
//     read everything is at Latest.
//  3. A position that the stream no longer has is an error of its partition (OffsetError), never a
//     jump.
//
// Deliberately elsewhere: the meaning of records (package ingest), the processing of rows
// (tasktype), scheduling of readers (overlord/streams).
package stream
