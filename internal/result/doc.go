// Package result writes rows in the five result formats of the interface (spec/sql.md, sections 1.3
// and 1.4), byte for byte as the reference system does.
//
// The central type is Writer: it takes batches and appends to one buffer, without reflection and
// without a value being boxed. It is used by the SQL endpoints, by the pages of asynchronous
// statements and by exports. What a failure after the first byte does to the connection is decided
// by the endpoint: a Writer that is not closed leaves no end mark behind.
package result
