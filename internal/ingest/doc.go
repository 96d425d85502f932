// Package ingest turns bytes from outside into typed batches: where they lie (Source), how they are
// compressed, how they are cut into records and what a record means (Format).
//
// The central type is Reader. A Table, made of a source, a format and the columns wanted, lists its
// Splits; each split is opened as a Reader, which yields a vector.Batch per few thousand records:
//
//	Source.List ─► Entity ─► decompress (by content) ─► cutter ─► chunk ─► decoder ─► vector.Batch
//	                                                 whole records     on several goroutines, in order
//
// A cutter finds the ends of records without parsing them, so that one file keeps all cores busy
// and a large plain file can be cut into splits by byte ranges: a split owns the records that begin
// in its range, and both neighbours find the same boundary. Decoders write straight into column
// builders; there is no row object. Parquet and ORC are read by columns in the same way
// (columnParts), a split owns the row groups or stripes that begin in its range.
//
// What can't be had that way goes by way of an Object, a record with its names and values: formats
// whose records are messages (Avro, protobuf), sources that are rows and not bytes (SQL,
// Datasource), and records that a flattenSpec takes apart. Records yields objects to those who do
// not know the columns yet: the sampler, streams. A Shape learns what fields records have, and of
// what kinds, while they are read.
//
// A Surveyor reads a whole input before it is loaded, and tells what a table of it must look like
// so that no value is changed: it is what `henge ingest` goes by.
//
// Records that do not parse are handed, with their place, to Options.OnParseError, in the order of
// the file; what to do about them (count, sample, give up) is the caller's. So are those whose time
// or numbers (Field.Time, Field.Strict) are none, as native specs want it. Access says what sources
// may touch. Deliberately elsewhere: SQL over the rows (package exec), native specs (package
// ingest/spec, and package native for their transforms), writing segments (package segment),
// publishing (package msq), the requests to object stores (package deepstore/s3).
package ingest
