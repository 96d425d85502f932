package sketch

import (
	"math/bits"
	"slices"
)

// ThetaUnion collects keys and theta sketches. Its result depends only on what was added, not on
// the order. It belongs to one goroutine.
type ThetaUnion struct {
	nominal int
	table   *keyTable
	theta   uint64
	empty   bool
}

// NewThetaUnion returns an empty union that keeps about size keys, a power of two.
func NewThetaUnion(size int) *ThetaUnion {
	size = nominalSize(size, 16)
	return &ThetaUnion{nominal: size, theta: maxTheta, empty: true}
}

// Add adds a key, which is not 0.
func (u *ThetaUnion) Add(key uint64) {
	u.empty = false
	u.insert(key)
}

func (u *ThetaUnion) insert(key uint64) {
	if key == 0 || key >= u.theta {
		return
	}
	if u.table == nil {
		u.table = newKeyTable(startLog(u.nominal, 1), 0)
	}
	slot, found := u.table.find(key)
	if found {
		return
	}
	u.table.put(slot, key)
	u.table, u.theta = growTable(u.table, u.theta, u.nominal, 1)
}

// Merge adds a sketch.
func (u *ThetaUnion) Merge(t *Theta) {
	if t.empty {
		return
	}
	u.empty = false
	u.theta = min(u.theta, t.theta)
	for _, k := range t.keys {
		u.insert(k)
	}
}

// Result returns what was added: at most size keys, in order.
func (u *ThetaUnion) Result() *Theta {
	if u.table == nil {
		return newTheta(nil, u.theta, u.empty, true)
	}
	keys := u.table.list()
	slices.Sort(keys)
	bound := u.theta
	if len(keys) > u.nominal {
		bound = min(bound, keys[u.nominal])
	}
	end, _ := slices.BinarySearch(keys, bound)
	return newTheta(keys[:end], bound, u.empty, true)
}

// Bytes returns the memory held.
func (u *ThetaUnion) Bytes() int64 {
	if u.table == nil {
		return 48
	}
	return 48 + u.table.bytes()
}

// IntersectTheta returns the keys that all sketches have. There is at least one sketch. The keys
// come in the order of a hash table, as Druid stores them. See quirk Q008.
func IntersectTheta(list []*Theta) *Theta {
	keys, bound, empty := list[0].keys, list[0].theta, list[0].empty
	table := tableOf(keys, bound)
	for _, t := range list[1:] {
		bound, empty = min(bound, t.theta), empty || t.empty
		var both []uint64
		for _, k := range t.keys {
			if k >= bound {
				continue
			}
			if _, found := table.find(k); found {
				both = append(both, k)
			}
		}
		table = tableOf(both, bound)
	}
	out := slices.DeleteFunc(table.list(), func(k uint64) bool { return k >= bound })
	return newTheta(out, bound, empty || len(out) == 0 && bound == maxTheta, false)
}

// tableOf puts keys below bound in the smallest table that holds them.
func tableOf(keys []uint64, bound uint64) *keyTable {
	t := newKeyTable(smallestLog(int(float64(len(keys))/rebuildAt), minTableLog), 0)
	for _, k := range keys {
		if k >= bound {
			continue
		}
		if slot, found := t.find(k); !found {
			t.put(slot, k)
		}
	}
	return t
}

// smallestLog is the logarithm of the smallest power of two that is at least n and 1<<least.
func smallestLog(n, least int) int {
	if n <= 1<<least {
		return least
	}
	return bits.Len(uint(n - 1))
}

// SubtractTheta returns the keys of a that b has not, in order.
func SubtractTheta(a, b *Theta) *Theta {
	bound := min(a.theta, b.theta)
	table := tableOf(b.keys, bound)
	var out []uint64
	for _, k := range a.keys {
		if _, found := table.find(k); k < bound && !found {
			out = append(out, k)
		}
	}
	return newTheta(out, bound, a.empty || len(out) == 0 && bound == maxTheta, true)
}
