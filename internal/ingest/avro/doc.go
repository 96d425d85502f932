// Package avro reads Apache Avro: object container files (Open), and messages with one schema, with
// several schemas, or with schemas of a schema registry (Messages, Versions).
//
// The library decodes. This package converts its values to the values of a record.Object
// (values.go), and resolves data that was written with another schema, value by value, as the
// specification requires (resolve.go).
//
// Package ingest opens the bytes, parses the specs of formats, and queries schema registries.
package avro
