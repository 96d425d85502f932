// Package push stores the rows that clients send over HTTP until they are in published segments.
// The rows form a stream on the disk of the worker that accepted them.
//
// The central types are Log, the rows sent to one datasource on this worker, and Source, through
// which a task reads a log like any other stream:
//
//	request ─► Append ─► writer: drops duplicates, one fsync per group of requests ─► receipt
//	                       │
//	                       └─► Source.Open ─► Reader.Poll ─► live segments ─► publication
//	                                                                               │
//	                        Published: files that have only such entries are deleted ◄┘
//
// Invariants:
//
//  1. An entry is one request: all of its rows have the position of the entry, or none is stored.
//     Positions have no gaps.
//  2. A request gets a receipt when its entry is on disk. After a loss of power or of the process,
//     the entry is read from disk.
//  3. Each offset of a channel counts once: an entry whose offset is at most the newest offset of
//     its channel is not written, and the receipt says so. An idempotency key is checked in the
//     same way for an hour. Each file begins with the state of channels and keys, so older files
//     can be deleted.
//  4. A log with a copy on another disk (copy.go) acknowledges an entry, and returns it to readers,
//     only when the copy has the entry.
//
// docs/format/push-log.md specifies the bytes. Deliberately elsewhere: the meaning of rows
// (tasktype/streaming/intake), the endpoint (api/push), the assignment of logs to workers
// (worker/pushlog).
package push
