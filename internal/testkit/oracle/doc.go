// Package oracle evaluates queries in a slow and obvious way: one row after the other, one value
// after the other, in plain Go.
//
// The central functions: Run evaluates an unoptimized plan over tables of boxed values; Differ
// compares its rows with the rows of an engine; Generator generates random tables and random
// queries from a seed. The oracle shares the plan and expression trees with the engine and nothing
// that computes: no vectors, no kernels, no hash tables, no rewrite rules.
//
// It supports the operators that random queries use, and rejects others, so that a wrong
// expectation is never a guess. Matters of definition (the text of times, patterns or numbers) are
// left to scripts.
package oracle
