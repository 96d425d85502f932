// Package lookup holds the tables that LOOKUP maps text through, in the memory of a process, and
// keeps them as the Coordinator wants them (spec/cluster.md, section 17).
//
// The central type is Set: the lookups of one process. It is told which containers it should have
// (Apply), loads what it lacks in the background (Run), reads again what is read from outside as
// often as its container says, and gives queries a View, which does not change while they run. A
// new version takes the place of the old one only when it has been loaded.
//
//	container.go   what is configured, and how it is read; text.go: as messages show it
//	table.go       keys and values; set.go: the lookups of a process
//	source.go      where tables come from; files.go: files and HTTP; database.go: tables of PostgreSQL and SQLite; topic.go: topics of Kafka
//
// The function itself is in package expr, the table lookup.x in the Broker, the configuration of
// the cluster and its history at the Coordinator's endpoints. Reading and guarding files and
// addresses is package ingest's.
package lookup
