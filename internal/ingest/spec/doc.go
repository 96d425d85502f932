// Package spec reads what native ingestion specs say (spec/ingestion.md, sections 11 to 13): of
// rows in the dataSchema (timestampSpec, dimensionsSpec, metricsSpec, granularitySpec,
// transformSpec), of where they come from in the ioConfig, of how they are stored in the
// tuningConfig with its partitionsSpec; and what a compact task is to do. Stream and StreamTask are
// the specifications of supervisors that read streams, and of their tasks (spec/streaming.md,
// sections 2 and 7).
//
// The central types are DataSchema, a validated dataSchema, and Columns, which finds the dimensions
// of rows that the schema leaves open. Batches, streams and the sampler use them alike. Index and
// Compaction are the specs of batch tasks; they are shown with the defaults of all members.
// Deliberately elsewhere: the meaning of transforms, filters and metrics, which stay as JSON here
// and are bound by package native; reading of sources and formats (package ingest); what tasks do
// with their specs (package tasktype/batch).
package spec
