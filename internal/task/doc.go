// Package task implements the queue of the Overlord. A submitted task waits for locks and a slot,
// runs as a tree of goroutines and ends once. Its record can be queried until it is deleted.
//
// The central types are Queue and Kind. A Kind implements one type of task (query_controller,
// compact, kill, ...): its preparation and its execution. The queue manages order, slots, states
// and recovery after a restart. Elsewhere: the work of a task (package msq), locks and publishing
// (package metastore), and HTTP (package api/tasks).
//
// Life of a task:
//
//	          locks granted        slot free
//	WAITING ---------------> PENDING -------> RUNNING ---> SUCCESS | FAILED
//	   |                        |                |
//	   +------------------------+----------------+--> FAILED (shut down, rejected, could not run)
//
// Invariants:
//  1. A task is acknowledged only after its record is in the metastore.
//  2. A task ends once: whichever of completion and shutdown comes first determines the final
//     record.
//  3. After a restart, each unfinished task continues under its id. Running a task twice is
//     harmless: publishing is one transaction that records the task.
package task
