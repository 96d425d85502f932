// Package push keeps the rows that are sent by HTTP until they are in published segments: a stream
// of its own, on the disk of the worker that took them.
//
// The central types are Log, what was sent to one datasource here, and Source, which lets a task
// read it as any other stream:
//
//	request ─► Append ─► writer: refuses duplicates, one fsync for all that wait ─► receipt
//	                       │
//	                       └─► Source.Open ─► Reader.Poll ─► live segments ─► publication
//	                                                                               │
//	                        Published: files that have only such entries are deleted ◄┘
//
// What holds:
//
//  1. An entry is one request: all of its rows, or none, have the position of the entry. Positions
//     have no gaps.
//  2. A receipt is given when the entry is on disk. After a loss of power or of the process it is
//     read again from there.
//  3. A channel counts each of its offsets once: an entry at or below the newest offset of its
//     channel is not written, and the receipt says so. So it is with an idempotency key for an
//     hour. What is remembered of both begins each file, so that files before it can go.
//
// The bytes are written down in docs/format/push-log.md. Deliberately elsewhere: what rows are
// (tasktype/streaming/intake), the endpoint (api/push), which worker takes them (router).
package push
