// Package dispatch runs the fragments of queries on the servers that hold the segments, and gives
// their rows to the operators that merge them.
//
// The central type is Dispatcher, which a Broker owns. For each scan of a query it makes a Remote
// (exec.Remote): the segments that other servers read, each placed on one of those that hold it. A
// part of a fragment is what one server does: it is asked over HTTP and answers with a stream of
// frames.
//
//	Broker                                             Historical
//	Remote.Open ── request (plan, segments) ─────────► exec.BuildFragment
//	      part  ◄── rows, rows, ..., end | fault ──────  its rows as frames
//
// What holds:
//
//  1. An answer is whole or an error: a stream without its end block is broken, whatever came before.
//
//  2. A part that breaks for a reason of the server is done again elsewhere, until no server is left. Parts that are merged are held back
//     until they are whole, so that nothing counts twice. Streamed parts go on behind the rows that were given, whose order does not change.
//
//  3. A fault of the query (too little memory, a value that can't be computed) is the query's answer and is not tried again.
//
//  4. A segment that no server holds is read from deep storage by one of them, the same each time while the servers stay the same.
//
//     request.go, stream.go, faults.go,
//     profile.go                         the bytes, written down in docs/format/fragment.md
//     placement.go                       which server does what
//     remote.go, part.go, buffer.go      parts: retrying, holding back, spilling
//     client.go                          one request
//
// The server's half, as an HTTP handler, is in package api/fragments; who holds what comes from
// package cluster.
package dispatch
