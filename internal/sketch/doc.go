// Package sketch implements the approximate summaries that aggregates compute and segments store.
//
// HyperUnique is the cardinality estimator of hyperUnique columns and of APPROX_COUNT_DISTINCT.
// Bytes and estimates equal those of Druid, so stored sketches and recorded answers remain valid.
// Package agg stores sketches per group, merges and finishes them. See quirk Q008.
package sketch
