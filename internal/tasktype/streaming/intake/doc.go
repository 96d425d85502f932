// Package intake makes the rows of a datasource of the records of a stream, as a dataSchema says.
//
// The central type is Maker: Make takes the records of a poll and returns their rows as one batch,
// with the columns known so far, time first.
//
//	records ─► fields (ingest.Messages) ─► times allowed ─► transforms, filter ─► metrics ─► rows
//
// What holds:
//
//  1. A record is decoded by itself; its rows are in the order of the records. A fault means that
//     no row was made and nothing was counted: the same records may be made again (a registry
//     that is away).
//  2. The plan is made once for what is known of the records, and again only when a record shows
//     something new. Then the poll is decoded again by the new plan: what a row is does not depend
//     on how records are divided into polls, but for rows made before anything was known.
//  3. Columns grow only. A column may be in any batch for the first time, and its type may widen:
//     LONG, DOUBLE, STRING, lists of these, COMPLEX<json>; a string becomes multi-value with the
//     first row that has several values. Rows made before keep the narrower type: each part of a
//     live segment has its own columns, and what reads or merges parts takes values to the wider
//     type (package live). A column without a value so far is left out where its type follows from
//     values, so that it never has to narrow.
//  4. Every record counts once: as processed, processedWithError, unparseable or, by reason, thrown
//     away. Rows count where a record is several.
//
// Metrics are the states of single rows: segments with rollup combine them (Shape), those without
// keep them as values.
//
// Bad rows go to Options.OnBad; Errors counts them against the limits of a tuningConfig and keeps
// the newest, DeadLetters keeps all of them in files that can be loaded later.
//
// Deliberately elsewhere: formats (package ingest), the plan of a schema (tasktype/rowplan),
// reading and positions (tasktype/streaming), time chunks and segments (package live).
package intake
