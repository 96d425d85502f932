// Package sql serves the synchronous SQL endpoints: POST /service/v2/sql, cancellation, and the
// lists of engines and queries.
//
// The central type is API. ReadRequest decodes a request body; the statements and task endpoints
// use it too. Package result encodes rows, package edge writes error bodies, and package query
// admits queries. If a query fails after the first byte, the handler ends the connection without
// the end mark, so the client sees an aborted body.
package sql
