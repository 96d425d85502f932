// Package intake converts the records of a stream into the rows of a datasource, as its dataSchema
// defines.
//
// The central type is Maker: Make takes the records of a poll and returns their rows as one batch,
// with the columns known so far, time first.
//
//	records ─► fields (ingest.Messages) ─► times allowed ─► transforms, filter ─► metrics ─► rows
//
// Invariants:
//
//  1. Records are decoded independently; rows are in the order of the records. A fault means that
//     no row was created and nothing was counted, so the caller can retry the same records (a
//     registry that is unavailable).
//  2. The plan is built for the known fields, and rebuilt only when a record contains something
//     new. The poll is then decoded again with the new plan. The rows therefore do not depend on
//     the division of records into polls, except for rows that were created before a field was
//     known.
//  3. Columns are only added. Any batch can be the first one with a column, and the type of a
//     column can widen: LONG, DOUBLE, STRING, lists of these, COMPLEX<json>; a string becomes
//     multi-value with the first row that has several values. Earlier rows keep the narrower type:
//     each part of a live segment has its own columns, and code that reads or merges parts converts
//     values to the wider type (package live). A column whose type is discovered is omitted until
//     it has a value, so it never has to narrow.
//  4. Every record counts once: as processed, processedWithError, unparseable or, by reason, thrown
//     away. If a record has several rows, each row counts.
//
// Metrics are the states of single rows: segments with rollup combine them (Shape), other segments
// store them as values.
//
// Bad rows are passed to Options.OnBad. Errors counts them against the limits of a tuningConfig and
// keeps the newest; DeadLetters writes all of them to files that can be loaded later.
//
// Deliberately elsewhere: formats (package ingest), the plan of a schema (tasktype/rowplan),
// reading and positions (tasktype/streaming), time chunks and segments (package live).
package intake
