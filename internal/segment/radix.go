package segment

import (
	"cmp"
	"slices"
)

// keyed is something with a number to be sorted by.
type keyed struct {
	key uint64
	id  uint32
}

// sortByKey sorts by key, keeping the order of equal ones: few by comparing, many by a radix sort
// that leaves out the bytes in which there are no differences.
func sortByKey(items, other []keyed) {
	if len(items) < 512 {
		slices.SortStableFunc(items, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
		return
	}
	var counts [8][256]uint32
	for _, it := range items {
		for b := range counts {
			counts[b][byte(it.key>>(8*b))]++
		}
	}
	from, to := items, other
	for b := range counts {
		count := &counts[b]
		if count[byte(items[0].key>>(8*b))] == uint32(len(items)) {
			continue
		}
		start := uint32(0)
		for i, n := range count {
			count[i] = start
			start += n
		}
		for _, it := range from {
			at := &count[byte(it.key>>(8*b))]
			to[*at] = it
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &items[0] {
		copy(items, from)
	}
}
