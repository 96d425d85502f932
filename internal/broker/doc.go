// Package broker implements the Broker role: it maintains the published timeline, plans statements
// against it and runs them.
//
// The central type is Broker. A query pins one timeline.State until it ends. The catalog for its
// names and the segments of its scans come from that state, so the query sees a replacement
// completely or not at all. The interface Segments hides the location of segment bytes: if a
// visible segment is not loaded yet, it is read through the cache of the Historical, so a result is
// complete or an error.
//
// Elsewhere: parsing and binding (package sql), rewriting (plan), running (exec), HTTP (api/sql).
package broker
