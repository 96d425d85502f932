// Package pgwire answers clients of PostgreSQL: psql, drivers, BI tools.
//
// Server listens and knows all sessions, for cancel requests and bounds. A session is one
// connection and one goroutine, which reads a message, answers it, and reads the next:
//
//	message ─► package sql/pg ─► statement ─┬─► package sql/pgcatalog (no datasource is read)
//	                                        ├─► query.Engine, the door of HTTP SQL (datasources)
//	                                        └─► the session: SET, BEGIN, cursors, COPY
//	                 rows ◄─ source ◄───────┘
//
// Rows come from a source batch by batch and are written as they come: what a client does not read
// keeps its query waiting and holds one batch. The frames of the protocol are those of package
// pgproto3; rows are framed here, without a copy of each value.
//
// Who a client is says an Authenticator: Secured asks the authenticators of the process; without
// security everyone may do all. Every request carries the client's access.
package pgwire
