// Package lookup keeps the tables of the function LOOKUP in the memory of a process, as configured
// by the Coordinator.
//
// The central type is Set: the lookups of one process. Apply sets the containers that it should
// have. Run loads missing lookups in the background, and reloads external ones with the period of
// their container. Queries use a View, which does not change while they run. A new version replaces
// the old one only when it has been loaded.
//
//	container.go   configurations, and how they are read; text.go: their form in messages
//	table.go       keys and values; set.go: the lookups of a process
//	source.go      where tables come from; files.go: files and HTTP; database.go: tables of
//	               PostgreSQL and SQLite; topic.go: topics of Kafka
//
// The function itself is in package expr, the table lookup.x in the Broker, the configuration of
// the cluster and its history at the Coordinator's endpoints. Package ingest reads files and
// addresses, and guards them.
package lookup
