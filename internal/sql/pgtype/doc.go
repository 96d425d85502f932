// Package pgtype defines the PostgreSQL types that clients see: their oids, and values in text and
// binary form.
//
// A value is nil (NULL), bool, int64 (all integers and oids), float64, Numeric, string, []byte,
// Timestamp, Date, Interval, *Array or *Record. AppendText and AppendBinary write one as a type,
// Parse and Decode read one. Packages sql/pgcatalog and api/pgwire use it; package vector, which
// holds the values of datasources, is elsewhere.
package pgtype
