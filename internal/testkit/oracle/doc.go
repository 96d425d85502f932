// Package oracle answers queries slowly and obviously: one row after the other, one value after the
// other, in plain Go.
//
// The central functions: Run evaluates a plan as the binder made it over tables of boxed values;
// Differ compares its rows with those of an engine; Generator makes random tables and random
// queries from a seed. The oracle shares the plan and expression trees with the engine and nothing
// that computes: no vectors, no kernels, no hash tables, no rewrite rules.
//
// It knows the operators that random queries use, and refuses what it does not know, so that a
// wrong answer is never its guess. What is simply a matter of definition (how times, patterns or
// numbers print) is left to scripts.
package oracle
