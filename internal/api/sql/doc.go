// Package sql gives the synchronous SQL endpoints: POST /service/v2/sql, cancelling what runs, and
// the lists of engines and queries.
//
// The central type is API. ReadRequest decodes a request body, which the statements and task
// endpoints do too. How rows become bytes is in package result; how errors become bodies in package
// edge; who may run in package query. Failure after the first byte reaches the client as a broken
// body: the handler ends the connection without the end mark.
package sql
