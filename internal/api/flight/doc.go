// Package flight serves clients of Arrow Flight SQL (ADBC, JDBC, ODBC) on the port of the API, over
// HTTP/2 with and without TLS.
//
// The central type is API. It implements these calls:
//
//	Handshake      exchanges a user and a password for a bearer token
//	GetFlightInfo  returns the columns of a command, and a ticket for its rows
//	DoGet          runs the query of a ticket and returns its rows
//	DoPut          takes parameters of a prepared statement, or rows for a datasource (ingest.go)
//	DoAction       creates and closes prepared statements, cancels queries
//
// The server does not keep state between calls. Tickets, prepared statements and tokens contain
// their own data, sealed by a key that all processes of a cluster share (seal.go), so each call can
// reach another Broker. Tickets belong to a user and expire.
//
// Statements run like statements of HTTP: in the same engine, with the same permissions, lanes and
// deadlines. The frames of gRPC are in package grpc, those of Arrow in package arrow.
package flight
