package sketch

import (
	"math"

	"github.com/hengedb/henge/internal/fault"
)

// tupleSpeed is the logarithm of how many times larger the table of a growing tuple sketch becomes
// in datasketches-java. It shows in the order of the stored keys.
const tupleSpeed = 3

// TupleUnion collects keys with values and tuple sketches; the values of a key are added up. It
// belongs to one goroutine.
type TupleUnion struct {
	nominal int
	width   int
	table   *keyTable
	theta   uint64
	bound   uint64 // lowest theta of the sketches merged
	empty   bool
	merged  bool
	// only is the one sketch that was merged so far, when nothing else was added: it is passed on as
	// it is.
	only *Tuple
}

// NewTupleUnion returns an empty union that keeps about size keys, a power of two, with width
// values each.
func NewTupleUnion(size, width int) *TupleUnion {
	return &TupleUnion{nominal: nominalSize(size, 1), width: width, theta: maxTheta, bound: maxTheta, empty: true}
}

// Add adds the values of a key, which is not 0.
func (u *TupleUnion) Add(key uint64, values []float64) {
	u.settle()
	u.empty = false
	u.insert(key, values)
}

func (u *TupleUnion) insert(key uint64, values []float64) {
	if key == 0 || key >= u.theta {
		return
	}
	if u.table == nil {
		u.table = newKeyTable(startLog(u.nominal, tupleSpeed), u.width)
	}
	slot, found := u.table.find(key)
	row := u.table.row(slot)
	if found {
		for i, v := range values {
			row[i] += v
		}
		return
	}
	u.table.put(slot, key)
	copy(row, values)
	u.table, u.theta = growTable(u.table, u.theta, u.nominal, tupleSpeed)
}

// Adopt is Merge, but leaves a sketch that comes first and alone as it is: a partial result of this
// union, not an input.
func (u *TupleUnion) Adopt(t *Tuple) error {
	if u.empty && u.table == nil && !u.merged && t.width == u.width && !t.empty {
		u.only, u.empty = t, false
		return nil
	}
	return u.Merge(t)
}

// settle makes the sketch that was adopted one of those merged.
func (u *TupleUnion) settle() {
	if t := u.only; t != nil {
		u.only = nil
		u.take(t)
	}
}

// Merge adds a sketch, which must have as many values per key.
func (u *TupleUnion) Merge(t *Tuple) error {
	if t.width != u.width {
		return fault.InvalidInput("A tuple sketch with [%d] values per key can't be merged into one with [%d]", t.width, u.width)
	}
	if t.empty {
		return nil
	}
	u.settle()
	u.take(t)
	return nil
}

func (u *TupleUnion) take(t *Tuple) {
	u.empty, u.merged = false, true
	u.bound = min(u.bound, t.theta, u.theta)
	for i, k := range t.keys {
		if k < u.bound {
			u.insert(k, t.row(i))
		}
	}
	u.bound = min(u.bound, u.theta)
}

// Result returns what was added. Merged sketches are cut to the size of the union; one that only
// had keys added keeps up to twice as many.
func (u *TupleUnion) Result() *Tuple {
	if u.only != nil {
		return u.only
	}
	out := &Tuple{width: u.width, theta: min(u.theta, u.bound), empty: u.empty}
	if u.table == nil {
		return out
	}
	if u.merged && u.table.n > u.nominal {
		out.theta = min(out.theta, u.table.smallest(u.nominal))
	}
	for i, k := range u.table.keys {
		if k != 0 && k < out.theta {
			out.keys, out.values = append(out.keys, k), append(out.values, u.table.row(i)...)
		}
	}
	return out
}

// Again returns Result merged into another union, which has at most as many keys as the size, and
// its own order of them.
func (u *TupleUnion) Again() *Tuple {
	t := u.Result()
	if t.empty {
		return t
	}
	c := NewTupleUnion(u.nominal, u.width)
	c.take(t)
	return c.Result()
}

// Bytes returns the memory held.
func (u *TupleUnion) Bytes() int64 {
	n := int64(96)
	if u.table != nil {
		n += u.table.bytes()
	}
	if u.only != nil {
		n += 64 + 8*int64(len(u.only.keys)+len(u.only.values))
	}
	return n
}

// IntersectTuple returns the keys that all sketches have, their values added up. There is at least
// one sketch.
func IntersectTuple(list []*Tuple) (*Tuple, error) {
	acc := list[0]
	bound, empty := acc.theta, acc.empty
	table := tupleTable(acc, bound)
	for _, t := range list[1:] {
		if t.width != acc.width {
			return nil, fault.InvalidInput("Tuple sketches with [%d] and [%d] values per key can't be intersected", acc.width, t.width)
		}
		bound, empty = min(bound, t.theta), empty || t.empty
		both := &Tuple{width: t.width}
		for i, k := range t.keys {
			if k >= bound {
				continue
			}
			slot, found := table.find(k)
			if !found {
				continue
			}
			both.keys = append(both.keys, k)
			for j, v := range t.row(i) {
				both.values = append(both.values, table.row(slot)[j]+v)
			}
		}
		table = tupleTable(both, bound)
	}
	out := &Tuple{width: acc.width, theta: bound, empty: empty}
	for i, k := range table.keys {
		if k != 0 && k < bound {
			out.keys, out.values = append(out.keys, k), append(out.values, table.row(i)...)
		}
	}
	if out.empty {
		out.theta = maxTheta
	}
	return out, nil
}

func tupleTable(t *Tuple, bound uint64) *keyTable {
	table := newKeyTable(smallestLog(int(math.Ceil(float64(len(t.keys))/rebuildAt)), 4), t.width)
	for i, k := range t.keys {
		if k >= bound {
			continue
		}
		if slot, found := table.find(k); !found {
			table.put(slot, k)
			copy(table.row(slot), t.row(i))
		}
	}
	return table
}

// SubtractTuple returns the keys of a that b has not, with their values.
func SubtractTuple(a, b *Tuple) (*Tuple, error) {
	if a.width != b.width {
		return nil, fault.InvalidInput("A tuple sketch with [%d] values per key can't be taken from one with [%d]", b.width, a.width)
	}
	bound := min(a.theta, b.theta)
	table := tableOf(b.keys, bound)
	out := &Tuple{width: a.width, theta: bound}
	for i, k := range a.keys {
		if _, found := table.find(k); k < bound && !found {
			out.keys, out.values = append(out.keys, k), append(out.values, a.row(i)...)
		}
	}
	out.empty = a.empty || len(out.keys) == 0 && bound == maxTheta
	return out, nil
}
