// Package kafka reads topics of Apache Kafka.
//
// The central type is Source, a stream.Source of one topic, or of all topics whose names match a
// pattern. Its readers send fetch requests themselves: one goroutine for each broker, with what is
// wanted of it. They keep where reading goes on behind each batch of the log, so that a position
// moves over control records, aborted transactions and compacted records, and ends at the stream's
// own end.
//
//	settings ── client ──► Source ── metadata, offsets
//	                          └──► reader ── layout (who leads what) ──► fetcher of a broker ──► Poll
//
// What the settings are called and mean is in properties.go: those of Kafka's own client.
// What records mean is elsewhere, in package ingest.
package kafka
