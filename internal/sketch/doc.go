// Package sketch gives the approximate summaries that aggregates keep and segments store.
//
// HyperUnique is the cardinality estimator of hyperUnique columns and of APPROX_COUNT_DISTINCT.
// Bytes and estimates equal those of the reference system, so that a stored sketch and a recorded
// answer mean the same here. How sketches are kept per group, merged and finished belongs to
// package agg.
package sketch
