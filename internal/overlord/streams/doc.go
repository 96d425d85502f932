// Package streams runs the supervisors that read streams (spec/streaming.md, sections 5 to 7): on
// the leading Overlord one goroutine for each, which keeps tasks that share the partitions of a
// stream and hand over to each other without a gap.
//
// The central types are Manager, which is all of them, and Kind, the type of supervisor that
// package supervisor asks. A keeper (keeper.go) is one supervisor in one version:
//
//	Manager ── one each ──► keeper ── every period, and when a task ends or somebody asks ──► run
//	run: partitions ──► adopt tasks (adopt.go) ──► roll over groups (roll.go) ──► pending ones
//	(pending.go) ──► reading ones (reading.go) ──► idle (lag.go), scale (scale.go) ──► create what
//	lacks (create.go)
//
// A group is the partitions that some tasks read alike. It reads until its ends are set; then it
// publishes (pending), and its successor reads on at the ends.
//
// What holds:
//
//  1. No partition is read twice: a group is made only where no task of the supervisor that is
//     known to run has its partitions, or where that one's ends are set.
//  2. Positions come from the ends of the group before, else from what is published, else from
//     where the stream begins or ends. What the stream does not have any more is an error, unless
//     the specification says to go on without it.
//  3. All of a keeper's fields but those under its lock belong to its goroutine. Whoever asks for
//     something sends a notice.
//  4. Tasks go on while nobody leads. Who leads next adopts them.
//
// Deliberately elsewhere: what a task does (package tasktype/streaming), how streams are asked
// (package stream), what a specification means (package ingest/spec).
package streams
