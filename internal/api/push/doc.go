// Package push answers the endpoints by which clients send rows over HTTP.
//
// The central type is API. A request is read whole, its rows are checked, written to the log of the
// datasource (package stream/push), and answered when they are as safe as the client wants. A
// supervisor of type push reads the log, like those of other streams; the first request to a
// datasource makes it, with a schema that is discovered.
package push
