// Package pushlog assigns the logs of rows that clients send over HTTP to workers, and moves the
// logs between workers.
//
// The central types are Locations, the assignment of logs in the metastore, and Keeper, the logs of
// this worker:
//
//	sender ─ hash of its channel ─► log ─ Locations ─► the worker that leads it ─► Append ─► its copy
//	                                                      │
//	task, anywhere ── Source ◄── entries and positions ───┘
//
// The number of logs of a datasource is fixed when it is created; each log is a partition of the
// stream that its supervisor reads. One worker leads a log; with two replicas, another worker has a
// copy.
//
// Invariants:
//
//  1. The metastore records the leader and the copy of a log. A transaction that names the previous
//     epoch changes them. A leader replaces the copy or hands over the log; a copy becomes the
//     leader when it cannot reach the current one. Other processes do not change the assignment.
//  2. A leader acknowledges an entry, and returns it to readers, only when its copy has it on disk
//     too. A copy that becomes the leader rejects entries of earlier epochs, so the previous leader
//     can no longer acknowledge entries.
//  3. A process that led a log and restarts sends the missing entries to its copy before any reader
//     sees them.
//  4. A log without a copy remains on its disk: while its worker is unavailable, senders wait.
//
// Deliberately elsewhere: the files (package stream/push), the endpoints (api/push), forwarding of
// requests (role).
package pushlog
