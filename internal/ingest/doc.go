// Package ingest converts external bytes into typed batches. A Source locates and opens the bytes;
// the package decompresses them and divides them into records, and a Format decodes the records.
//
// The central type is Reader. A Table consists of a source, a format and the requested columns, and
// lists its Splits. Each split is opened as a Reader, which yields a vector.Batch per few thousand
// records:
//
//	Source.List ─► Entity ─► decompress (by content) ─► cutter ─► chunk ─► decoder ─► vector.Batch
//	                                                    │         │
//	                                         whole records        several goroutines, in order
//
// A cutter finds the ends of records without parsing them, so that one file keeps all cores busy
// and a large uncompressed file can be divided into splits by byte ranges. A split owns the records
// that begin in its range, and both neighbours find the same boundary. Decoders write directly into
// column builders; there are no row objects. Parquet and ORC files are read by column in the same
// way (columnParts); a split owns the row groups or stripes that begin in its range.
//
// Other input is decoded into an Object, a record with names and values: formats whose records are
// messages (Avro, protobuf), sources that yield rows and not bytes (SQL, Datasource), and records
// that a flattenSpec transforms. Records yields objects to callers that do not know the columns
// yet: the sampler, streams. A Shape learns the fields of records and their kinds while they are
// read.
//
// Binary formats have a package each, with one entry point: parquet.Open, orc.Open, avro.Open and
// avro.NewMessages. The table formats (format.go) lists all formats, binary and text. Formats share
// the packages below: record (objects, numbers, strings), wire (members of specs), unpack
// (compression), relaxed and jsonpath (JSON), glob.
//
// A Surveyor reads a whole input before it is loaded, and determines the columns and types of a
// table that stores every value unchanged; `henge ingest` uses it. Package evidence interprets the
// values.
//
// Records that cannot be parsed are passed with their position to Options.OnParseError, in the
// order of the file; the caller counts them, samples them, or fails. Records with an invalid time
// or number (Field.Time, Field.Strict) are handled in the same way, as native specs require. Access
// defines the resources that sources may use. Deliberately elsewhere: SQL over the rows (package
// exec), native specs (package ingest/spec, and package native for their transforms), writing
// segments (package segment), publishing (package msq), requests to object stores (package
// deepstore/s3).
package ingest
