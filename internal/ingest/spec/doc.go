// Package spec reads native ingestion specs: the rows in the dataSchema (timestampSpec,
// dimensionsSpec, metricsSpec, granularitySpec, transformSpec), the input in the ioConfig, the
// storage in the tuningConfig with its partitionsSpec; and the specs of compact tasks. Stream and
// StreamTask are the specs of supervisors that read streams, and of their tasks.
//
// The central types are DataSchema, a validated dataSchema, and Columns, which finds the dimensions
// that the schema does not list. Batch tasks, streams and the sampler use both. Index and
// Compaction are the specs of batch tasks; their JSON includes the defaults of all members.
// Deliberately elsewhere: the meaning of transforms, filters and metrics, which stay as JSON here
// and are bound by package native; reading sources and formats (package ingest); the execution of
// specs (package tasktype/batch).
package spec
