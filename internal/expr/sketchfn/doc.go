// Package sketchfn implements the functions of sketches: estimates, unions, quantiles and texts of
// the sketches that package agg builds and package sketch stores.
//
// Functions lists them; package catalog finds them by name. Each file contains the functions of one
// kind of sketch: hll, theta, tuple, quantiles (and KLL), bloom, summary (t-digests, histograms,
// texts). native.go contains functions that only the native language has.
package sketchfn
