// Package jsontext reads JSON text: it finds values by their paths, without building a document.
//
// Values of COMPLEX<json> are JSON text. Package expr extracts values from them (JSON_VALUE and
// similar functions), and package segment stores the values of their paths as columns. Both use the
// rules of this package for paths, numbers and strings, so that a path column and the JSON text
// always agree.
//
// A raw value is a slice of the JSON text; strings include quotes and escapes. Malformed text is
// reported where it is found; no input makes a function panic.
package jsontext
