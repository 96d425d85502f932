package exec

import "cmp"

// manyGroups says how many groups are many, so that they are found and merged in other ways than few. Zeros stand for what is measured to be
// best; tests say less.
type manyGroups struct {
	// near is from how many groups on keys are looked at for being near each other (keyindex.go): fewer are found in the first caches anyway.
	near int
	// cache is how many bytes of an array by word and of values are found in a core's second cache, however many groups there are.
	cache int
	// aside is from how many groups on rows may be put aside (scatter.go): fewer fit in the second cache together.
	aside int
	// merge is from how many groups on workers' tables are merged on several cores (mergegroups.go, indexedparts.go).
	merge int
}

// complete sets what is zero.
func (m *manyGroups) complete() {
	m.near = cmp.Or(m.near, 1<<12)
	m.cache = cmp.Or(m.cache, 1<<22)
	m.aside = cmp.Or(m.aside, 1<<15)
	m.merge = cmp.Or(m.merge, 1<<15)
}
