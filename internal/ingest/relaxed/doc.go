// Package relaxed parses JSON in the grammar that the Features of a featureSpec allow. Without
// features, it reports exactly what is wrong with a text (StrictReason).
package relaxed
