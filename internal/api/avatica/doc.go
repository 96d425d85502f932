// Package avatica serves the JDBC driver of Apache Calcite Avatica, in JSON and in protobuf.
//
// The central types are API, which owns the connections, and connection, which owns the statements
// of one driver. A statement has at most one result set: a query that keeps running while the
// driver fetches its rows frame by frame.
//
//	request (JSON, protobuf) ─► message ─► connection ─► statement ─► cursor ◄─ rows of the engine
//	                                                        │
//	              answer ◄─ frame, signature ◄──────────────┘
//
// Both encodings read and write the same messages (messages.go). Everything lives in one process: a
// Router sends the requests of a connection to the same Broker, by its id. A Broker that does not
// know a connection returns the error on which drivers reconnect.
//
// The protocol is described at calcite.apache.org/avatica/docs. The metadata matches the responses
// of Apache Druid. Elsewhere: planning and running (package broker), the rows (package result).
package avatica
