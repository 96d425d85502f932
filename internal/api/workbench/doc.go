// Package workbench serves the paths below /service-ext/console: endpoints that the web console
// needs in addition to the public interface. Other tools may use them as well.
//
// The central type is API, which runs on a Broker: statistics of columns without a scan
// (statistics.go, facts.go), the newest rows of a datasource as they arrive (tail.go), the progress
// of running queries (progress.go), the rows of a query as a Parquet file (export.go) and saved
// queries (saved.go). The page itself is in internal/console.
package workbench
