// Package streaming implements the tasks that read streams: index_kafka, index_kinesis and
// index_push.
//
// The central types are Kind, the kind of these tasks, and Running, the tasks of this process,
// through which supervisors control them (package stream/chat). A task reads assigned partitions of
// a stream.Source, converts the records into rows with a Maker, and appends the rows to live
// segments (package live), where queries see them immediately. The records are divided into
// sequences:
//
//	partition 0   |---- sequence 0 ----|------ sequence 1 ------|--- sequence 2 ...
//	partition 1   |------ sequence 0 ------|- sequence 1 -|-------- sequence 2 ...
//	              start                checkpoints              ends, not known yet
//
//	read:  rows of a sequence ──► one segment for each time chunk
//	       a sequence is read  ──► one file for each ──► deep storage
//	                           ──► segments used, offsets from its start to its end: one transaction
//	                           ──► served until Historicals have it
//
// Invariants:
//
//	S1. A position advances only when the rows before it are in live segments, and offsets are
//	    committed only together with the segments that contain the rows before them. A record
//	    counts once whatever is lost.
//	S2. All replicas of a group divide sequences alike, and the id of a segment follows from the
//	    name of its sequence and its time chunk. The first of equal publications counts, and the
//	    others succeed with it.
//	    The ids also tell queries which live rows are published. Segments of different sequences
//	    are therefore merged only after both are used, by compaction.
//	S3. A sequence is published if the stored offsets end where it begins, or if the store has no
//	    offset of a partition and no task had to publish it before. If the stored offset is
//	    smaller, the task waits. If it is greater, another task was faster, and the task fails: its
//	    successor reads the records again.
//	S4. A change of the sequences is on disk before it is announced: a later run of the task
//	    divides the records as the earlier run did.
//	S5. Reading stops only if the supervisor pauses it, or if memory, a lock or an id is not
//	    available. It continues while rows are written to disk and while sequences are published.
//	S6. No row is dropped because memory or disk space is short: the task waits, and its status
//	    says so.
//
//	control.go, sequence.go   positions, pauses, ends
//	run.go, read.go           the life of a run; the loop that reads
//	chunk.go, persist.go      segments of time chunks; rows from memory to disk
//	locks.go                  release of the locks of time chunks
//	publish.go                one transaction per sequence, and its outcomes
//	stats.go, report.go, letters.go   status and reports of a task
//
// Deliberately elsewhere: the meaning of records (package intake), queries over live segments
// (package live), creation of tasks and their start positions (package overlord/streams).
package streaming
