// Package record contains the values that all formats share: Object, a record with names and
// values; Number, the conversion of text to numbers; decimals, JSON, and valid UTF-8 (WellFormed).
//
// It does not know formats or sources: these are in package ingest and in the neighbouring packages
// of formats.
package record
