// Package query gives the synchronous SQL endpoints: POST /service/v2/sql, the cancelling of what runs, and the lists of engines and
// queries (spec/sql.md, section 1).
//
// The central types are Request, a decoded and checked request body that the statements and task endpoints use too, and Engine, what
// this package needs of a Broker. How rows become bytes is in package result; how errors become bodies in package edge. Failure after
// the first byte reaches the client as a broken body: the handler ends the connection without the end mark.
package query
