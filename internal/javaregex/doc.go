// Package javaregex runs the patterns of java.util.regex that occur in queries and in parsers of
// input.
//
// The central type is Pattern. Compile parses a pattern into a tree (parse.go, tree.go) and writes
// the tree for the engine that runs it (write.go):
//
//	simple patterns            matched directly, without an automaton (direct.go)
//	patterns that do not look  package regexp, in linear time
//	around or back
//	all others                 regexp2, which backtracks; each match has a time limit
//
// Some patterns need regexp2 only for texts in which the engines disagree about the end of a word
// or a line. property.go, blocks.go, class.go and fold.go define character classes as Java does.
// cluster.go finds grapheme clusters, and contains LinePattern, for lines of input.
//
// Elsewhere: the SQL functions (package expr), formats of input (ingest).
package javaregex
