// Package pgwire serves clients of PostgreSQL: psql, drivers, BI tools.
//
// Server listens and tracks all sessions, for cancel requests and limits. A session is one
// connection and one goroutine, which reads a message, responds, and reads the next message:
//
//	message ─► package sql/pg ─► statement ─┬─► package sql/pgcatalog (no datasource is read)
//	                                        ├─► query.Engine, the entry of HTTP SQL (datasources)
//	                                        └─► the session: SET, BEGIN, cursors, COPY
//	                 rows ◄─ source ◄───────┘
//
// A source yields rows batch by batch, and the session writes them as they arrive: a client that
// does not read blocks its query, which holds one batch. Package pgproto3 implements the messages
// of the protocol; rows are encoded here, without a copy of each value.
//
// An Authenticator determines the identity of a client. Secured uses the authenticators of the
// process; without security, every client has all permissions. Every request carries the access of
// its client.
package pgwire
