// Package arrow reads and writes Apache Arrow IPC streams: the columnar format that data frames,
// ADBC and Flight SQL exchange.
//
// Writer turns batches of package vector into messages, Reader turns messages into arrays. A
// message has metadata (a FlatBuffer) and a body (the buffers of its columns, one after the other);
// Framed writes messages as a stream, and package api/flight puts them into its own frames:
//
//	stream  = { frame } end
//	frame   = FF FF FF FF, length of metadata (int32), metadata, padding to 8 bytes, body
//	end     = FF FF FF FF 00 00 00 00
//	message = Schema | DictionaryBatch | RecordBatch
//
// Strings of a column may be dictionary-encoded. If a batch has new values, Writer replaces the
// whole dictionary and never sends a delta, because not all readers support deltas. Reader supports
// both.
//
// Input is not trusted. The Reader checks every offset and length against the available bytes
// before it uses them, and Array.Value does not fail.
//
// Package result maps SQL types to Arrow types. Package ingest converts arrays into columns of a
// datasource.
package arrow
