// Package kafka reads topics of Apache Kafka.
//
// The central type is Source, a stream.Source of one topic, or of all topics whose names match a
// pattern. Its readers send fetch requests themselves: one goroutine per broker requests the
// partitions of that broker. A reader stores the position after each batch of the log, so a
// position advances over control records, aborted transactions and compacted records, and finally
// equals the end of the stream.
//
//	settings ── client ──► Source ── metadata, offsets
//	                          └──► reader ── layout (who leads what) ──► fetcher of a broker ──► Poll
//
// properties.go defines the names and the meaning of the settings, which are those of Kafka's
// client. Package ingest decodes records.
package kafka
