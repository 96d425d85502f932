// Package worker gives the worker role: it runs the tasks that the leading Overlord assigns to this
// process, and lets an Overlord know and steer the workers of a cluster.
//
// The central types are Worker, which runs tasks, and Fleet, by which an Overlord has them run
// (task.Fleet). Between them go three small requests:
//
//	Overlord                                   Worker
//	Begin ── POST tasks {id, run} ───────────► reads the task, checks that the run is the newest, runs its kind
//	      ── GET tasks?after=VERSION ────────► what it runs, when that changes
//	End   ── POST tasks/end {id, run, why} ──► ends it, answers when it has
//
// Workers help each other too: one that controls a statement of several workers has others do parts
// of its stages (Helpers asks, Parts answers). A session is what a worker has of such a job. A
// request holds it open; when the controller is lost, it waits for the next run of the task, which
// takes it up:
//
//	controller                                 other worker
//	Join  ── POST parts/SESSION {job} ───────► a beat every half second, until one of the two goes; then it waits for the next run
//	Do    ── POST parts/SESSION/run {part} ──► progress, and the result
//	Read  ── GET  parts/SESSION/outputs/.. ──► a frame of what a part has written
//	Close ── DELETE parts/SESSION ───────────► what was written is removed
//
// What holds:
//
//  1. What a task writes is fenced by its run (metastore.Fence): when the Overlord has given the task to another worker, this one publishes nothing and
//     does not end it, whatever it still believes.
//
//  2. A worker records the end of a task before it says that it runs it no longer. So whoever leads then finds the end in the record, or none: then
//     the task was lost.
//
//  3. Tasks don't depend on the Overlord: they go on while there is none, and the next one follows them (task.Queue).
//
//  4. Parts publish nothing: only the controller does, under the fence of its run.
//
// Deliberately elsewhere: what the types of tasks do (packages overlord, batch, duty/kill), what
// parts are (package msq), queueing and the choice of workers (package task).
package worker
