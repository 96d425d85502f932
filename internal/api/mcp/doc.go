// Package mcp serves agents at /mcp of a Router, by the Model Context Protocol over streamable
// HTTP.
//
// The central type is API. A message comes by POST and is answered by one JSON object:
//
//	POST /mcp ─ decode ─ dispatch ─┬─ tools/call ─ tool ─ ask ─ the Router's own routes
//	           rpc.go    api.go    │              tools.go  ask.go
//	                               └─ resources/read ─ pages of docs/
//
// A tool does nothing itself: it sends requests to the routes of the port that it was called on,
// with the identity of its caller. Permissions, rules on rows, lanes, audit and sys.queries
// therefore apply as for every other client, and a Router without a Broker forwards the requests.
// This package only adds limits for agents: rows, bytes and seconds of an answer, bytes of segments
// that a query reads, concurrent calls. A truncated answer is marked, and has a handle for the
// remaining rows.
//
// The server sends no unsolicited messages, so there is no event stream, and GET is rejected.
// Sessions exist only for the protocol before 2026-07-28: its notifications cancel a request by its
// number.
//
// Package docs chooses the pages that are resources; package auth decides permissions.
package mcp
