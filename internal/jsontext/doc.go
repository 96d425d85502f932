// Package jsontext reads JSON as text: it walks over a text and finds values in it by their paths,
// without building anything.
//
// Values of COMPLEX<json> are such texts. Package expr asks them for values (JSON_VALUE and its
// family), and package segment stores what stands at their paths as columns; what a path means,
// what a number is and what a string's text is, both learn here, so that a column of a path and the
// text that it comes from can't tell different things.
//
// A raw value is the part of the text that it stands in, a string's with quotes and escapes. Texts
// need not be well formed: what is not is reported wherever it shows, and nothing here fails on any
// input.
package jsontext
