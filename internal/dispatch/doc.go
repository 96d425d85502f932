// Package dispatch runs the fragments of queries on the servers that have the segments, and returns
// their rows to the operators that merge them.
//
// The central type is Dispatcher, which a Broker owns. For each scan of a query it creates a Remote
// (exec.Remote): the segments that other servers read, each placed on a server that has it. A part
// is the share of a fragment that one server runs: an HTTP request, and a stream of frames in
// response.
//
//	Broker                                             Historical
//	Remote.Open ── request (plan, segments) ─────────► exec.BuildFragment
//	      part  ◄── rows, rows, ..., end | fault ──────  its rows as frames
//
// Invariants:
//
//  1. An answer is complete or an error: a stream without its end block is broken, even after rows.
//
//  2. A part that fails because of its server is retried on other servers, until no server is left.
//     Parts that are merged are buffered until they are complete, so that no row counts twice.
//     Streamed parts continue after the rows that were returned; their order is deterministic.
//
//  3. A fault of the query (insufficient memory, a value that cannot be computed) fails the query
//     and is not retried.
//
//  4. A segment that no server has is read from deep storage by one server, always the same as long
//     as the set of servers does not change.
//
//     request.go, stream.go, faults.go,
//     profile.go                         the bytes, specified in docs/format/fragment.md
//     placement.go                       placement of segments on servers
//     remote.go, part.go, buffer.go      parts: retries, buffering, spilling
//     client.go                          one request
//
// The server side, an HTTP handler, is in package api/fragments; the locations of segments come
// from package cluster.
package dispatch
