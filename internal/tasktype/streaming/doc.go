// Package streaming gives the tasks that read streams: index_kafka, index_kinesis and index_push.
//
// The central types are Kind, the kind of these tasks, and Running, those of this process, by
// which supervisors steer them (package stream/chat). A task reads assigned partitions of a
// stream.Source, has a Maker make rows of the records, and puts these into segments that grow
// (package live), where queries find them at once. What is read is cut into sequences:
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
// What holds:
//
//	S1. A position moves only with the rows before it in live segments, and offsets are
//	    committed only with the segments that have the rows before them. A record counts once
//	    whatever is lost.
//	S2. Sequences of a group are cut alike in all replicas, and a segment's id follows from the
//	    name of its sequence and its time chunk. Of equal publications the first one counts, the
//	    others succeed by it.
//	S3. A sequence is published if what is stored ends where it begins, or nothing is stored of a
//	    partition and no task was to publish of it before. If less is stored, it waits; if more,
//	    another task was before it, and the task fails: its records are read again by who follows.
//	S4. A change of the sequences is on disk before anybody is told of it: a later run of the
//	    task cuts as the earlier one did.
//	S5. Reading stops for nothing but a pause of the supervisor's, and want of memory, of a
//	    lock, or of an id. It goes on while rows are written to disk, and while sequences are
//	    published.
//	S6. No row is given up because memory or disk are short: the task waits, and its status says
//	    so.
//
//	control.go, sequence.go   where reading is, pauses, ends
//	run.go, read.go           the life of a run; the loop that reads
//	chunk.go, persist.go      segments of time chunks; rows from memory to disk
//	publish.go                one transaction a sequence, and what its outcomes mean
//	stats.go, report.go, letters.go   what is told of a task
//
// Deliberately elsewhere: what records mean (package intake), what queries see of live segments
// (package live), when tasks are made and where they begin (package overlord/streams).
package streaming
