// Package worker implements the worker role: it runs the tasks that the leading Overlord assigns to
// this process. It also contains the side of the Overlord, which tracks and controls the workers of
// a cluster.
//
// The central types are Worker, which runs tasks, and Pool, through which an Overlord runs them
// (task.WorkerPool). They exchange three small requests:
//
//	Overlord                                   Worker
//	Begin ── POST tasks {id, run} ───────────► reads the task, checks its run, runs its kind
//	      ── GET tasks?after=VERSION ────────► returns its running tasks when they change
//	End   ── POST tasks/end {id, run, why} ──► ends the task, then responds
//
// Workers also run parts of each other's statements: the controller of a statement with several
// workers sends parts of its stages to other workers (Peers is the client, Parts the server). A
// session is the state of such a job on a worker. A request keeps it open; if the controller is
// lost, the session waits for the next run of the task, which takes it over:
//
//	controller                                 other worker
//	Join  ── POST parts/SESSION {job} ───────► a heartbeat every half second, until one side leaves;
//	                                           then the worker waits for the next run
//	Do    ── POST parts/SESSION/run {part} ──► progress, and the result
//	Read  ── GET  parts/SESSION/outputs/.. ──► a frame of what a part has written
//	Close ── DELETE parts/SESSION ───────────► removes the outputs
//
// Invariants:
//
//  1. The writes of a task are fenced by its run (metastore.Fence): after the Overlord has assigned
//     the task to another worker, this worker can neither publish nor end it.
//
//  2. A worker records the end of a task before it reports that the task no longer runs. The leader
//     therefore finds the end in the record; if it does not, the task was lost.
//
//  3. Tasks do not depend on the Overlord: they continue without one, and the next one tracks them
//     (task.Queue).
//
//  4. Parts publish nothing: only the controller does, under the fence of its run.
//
// Deliberately elsewhere: the types of tasks (package tasktype), parts (package msq), queueing and
// the choice of workers (package task).
package worker
