// Package spec reads what native ingestion specs say about rows: the dataSchema (timestampSpec, dimensionsSpec, metricsSpec, granularitySpec,
// transformSpec) and the ioConfig with its input source and format (spec/ingestion.md, sections 11 and 12).
//
// The central types are DataSchema, a validated dataSchema, and Columns, which finds the dimensions of rows that the schema leaves open. Batches,
// streams and the sampler use them alike. Deliberately elsewhere: the meaning of transforms, filters and metrics, which stay as JSON here and are
// bound by package native; reading of sources and formats (package ingest); partitioning and tuning, which are each kind of task's own.
package spec
