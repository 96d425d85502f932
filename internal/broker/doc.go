// Package broker gives the Broker role: it holds the published timeline, plans statements against
// it and runs them.
//
// The central type is Broker. A query pins one timeline.State for its whole life: the catalog its
// names are bound against and the segments its scans read come from that one state, so a
// replacement is seen whole or not at all. Where the bytes of a segment are is the Historical's
// affair (interface Segments): a visible segment that is not loaded yet is read through its cache,
// so that an answer is complete or an error.
//
// Elsewhere: parsing and binding (package sql), rewriting (plan), running (exec), HTTP (api/sql).
package broker
