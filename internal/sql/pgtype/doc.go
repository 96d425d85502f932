// Package pgtype has the types of PostgreSQL that its clients see: their numbers, and values as
// text and in binary.
//
// A value is nil (NULL), bool, int64 (all whole numbers and oids), float64, Numeric, string,
// []byte,
// Timestamp, Date, Interval, *Array or *Record. AppendText and AppendBinary write one as a type,
// Parse and Decode read one. Packages sql/pgcatalog and api/pgwire use it; package vector, which
// holds the values of datasources, is elsewhere.
package pgtype
