// Package task gives the Overlord's queue: tasks are submitted, wait for locks and a slot, run as
// goroutine trees, end once, and can be asked about for as long as their record is kept.
//
// The central types are Queue and Kind. A Kind knows one type of task (query_controller, compact,
// kill, ...): how to get ready and how to run. The queue knows order, slots, states and what
// survives a restart. What runs inside a task is elsewhere (package msq), as are locks and
// publishing (package metastore) and the HTTP shapes (package api/tasks).
//
// Life of a task:
//
//	          locks granted        slot free
//	WAITING ---------------> PENDING -------> RUNNING ---> SUCCESS | FAILED
//	   |                        |                |
//	   +------------------------+----------------+--> FAILED (shut down, refused, could not run)
//
// What holds:
//  1. A task is acknowledged only after its record is in the metastore.
//  2. A task ends once: the first of finishing and shutting down decides, and its record is final.
//  3. After a restart each task without an end is taken up again under its id. Kinds make running twice harmless: publishing is one
//     transaction that remembers the task.
package task
