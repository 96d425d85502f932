// Package avatica answers the JDBC driver of Apache Calcite Avatica, in JSON and in protobuf.
//
// The central types are API, which has the connections, and connection, which has the statements of
// one driver. A statement holds at most one result set: a query that runs on while its rows are
// fetched frame by frame.
//
//	request (JSON, protobuf) ─► message ─► connection ─► statement ─► cursor ◄─ rows of the engine
//	                                                        │
//	              answer ◄─ frame, signature ◄──────────────┘
//
// Both encodings read and write the same messages (messages.go). Everything lives in one process: a
// Router sends the requests of a connection to the same Broker, by its id. A Broker that does not
// know a connection says so in the way on which drivers open it again.
//
// The protocol is described at calcite.apache.org/avatica/docs; what the metadata of Apache Druid
// answer is kept. Elsewhere: planning and running (package broker), the rows (package result).
package avatica
