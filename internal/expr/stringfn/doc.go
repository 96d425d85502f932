// Package stringfn implements the functions of strings: concatenation and parts, LIKE and regular
// expressions, formats, hashes, numbers as text, orders of strings, and internet addresses.
//
// Functions lists them; package catalog finds them by name. Kernels over the entries of a
// dictionary read the entries in place (entries.go, finder.go). Package javatext implements the
// lengths, formats and case mappings of Java.
//
// Elsewhere on purpose: casts to strings, and functions of multi-value strings (package expr).
package stringfn
