// Package push serves the endpoints to which clients send rows over HTTP.
//
// The central type is API. It reads a request completely, checks its rows, writes them to the log
// of the datasource (package stream/push), and responds when the rows are as safe as the client
// requested. A supervisor of type push reads the log like any other stream; the first request for a
// datasource creates it, with a schema that is discovered.
package push
