// Package streams runs the supervisors that read streams. On the leading Overlord, one goroutine
// per supervisor maintains tasks that share the partitions of a stream and hand over to their
// successors without a gap.
//
// The central types are Manager, which owns all of them, and Kind, the type of supervisor that
// package supervisor calls. A keeper (keeper.go) is one supervisor in one version:
//
//	Manager ── one each ──► keeper ── every period, and when a task ends or somebody asks ──► run
//	run: partitions ──► adopt tasks (adopt.go) ──► roll over groups (roll.go) ──► pending ones
//	(pending.go) ──► reading ones (reading.go) ──► idle (lag.go), scale (scale.go) ──► create what
//	lacks (create.go)
//
// A group is a set of partitions that one task or several replicas read. It reads until its ends
// are set; then it publishes (pending), and its successor continues at the ends.
//
// Invariants:
//
//  1. No partition is read twice: a group is created only if no running task of the supervisor
//     reads its partitions, or if the ends of that task are set.
//  2. Positions come from the ends of the previous group, else from the published offsets, else
//     from the start or the end of the stream. A position that the stream no longer has is an
//     error, unless the specification permits to continue without it.
//  3. The fields of a keeper, except those under its lock, belong to its goroutine. Other
//     goroutines send a notice.
//  4. Tasks continue without a leader. The next leader adopts them.
//
// Deliberately elsewhere: the work of a task (package tasktype/streaming), access to streams
// (package stream), the meaning of specifications (package ingest/spec).
package streams
