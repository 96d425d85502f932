// Package hashorder sorts names in the order in which Apache Druid lists the members of its hash
// sets, wherever that order is visible to users: paths of JSON values, names of columns. See quirk
// Q006.
package hashorder

import (
	"cmp"
	"slices"
	"unicode/utf16"
)

// Text returns the hash of a text: of its UTF-16 code units u the sum of u*31^(n-1-i), modulo 2^32
// (java.lang.String.hashCode).
func Text(s string) uint32 {
	h := uint32(0)
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(u)
	}
	return h
}

// Sort orders members, all different and in the order in which they were added, as
// java.util.HashSet does: by bucket, of which there are 16 and twice as many whenever three
// quarters are not enough, and in a bucket by their order before.
func Sort[T any](members []T, hash func(T) uint32) {
	buckets := 16
	for 3*buckets < 4*len(members) {
		buckets *= 2
	}
	bucket := func(m T) uint32 {
		h := hash(m)
		return (h ^ h>>16) & uint32(buckets-1)
	}
	slices.SortStableFunc(members, func(a, b T) int { return cmp.Compare(bucket(a), bucket(b)) })
}

// SortTexts is Sort for texts.
func SortTexts(texts []string) { Sort(texts, Text) }
