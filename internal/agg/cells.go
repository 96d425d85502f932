package agg

import (
	"cmp"
	"strings"

	"github.com/hengedb/henge/internal/vector"
)

// cells holds one value of any type per group, which may be set or not, and may be null when it is
// set. It owns its text.
type cells struct {
	typ     vector.Type
	set     []bool
	null    []bool
	longs   []int64
	doubles []float64
	floats  []float32
	texts   []string
	lists   []*vector.Vector // one row each
	heap    int64            // bytes of texts and lists
}

func newCells(t vector.Type) *cells { return &cells{typ: t} }

func (c *cells) grow(n int) {
	c.set, c.null = grown(c.set, n), grown(c.null, n)
	switch c.typ.Kind {
	case vector.KindLong:
		c.longs = grown(c.longs, n)
	case vector.KindDouble:
		c.doubles = grown(c.doubles, n)
	case vector.KindFloat:
		c.floats = grown(c.floats, n)
	case vector.KindList:
		c.lists = grown(c.lists, n)
	default:
		c.texts = grown(c.texts, n)
	}
}

// put sets group g to row i of v.
func (c *cells) put(g uint32, v *vector.Vector, i int) {
	c.set[g], c.null[g] = true, v.IsNull(i)
	if c.null[g] {
		return
	}
	switch c.typ.Kind {
	case vector.KindLong:
		c.longs[g] = v.LongAt(i)
	case vector.KindDouble:
		c.doubles[g] = v.DoubleAt(i)
	case vector.KindFloat:
		c.floats[g] = float32(v.DoubleAt(i))
	case vector.KindList:
		if c.lists[g] != nil {
			c.heap -= c.lists[g].Bytes()
		}
		b := vector.NewBuilder(c.typ, 1)
		b.AppendFrom(v, i)
		c.lists[g] = b.Build().OwnStrings()
		c.heap += c.lists[g].Bytes()
	default:
		s := v.StringAt(i)
		c.heap += int64(len(s)) - int64(len(c.texts[g]))
		c.texts[g] = strings.Clone(s)
	}
}

// compare orders row i of v against the value of group g, which is set, as vector.Compare does:
// null is below all.
func (c *cells) compare(v *vector.Vector, i int, g uint32) int {
	if null := v.IsNull(i); null || c.null[g] {
		switch {
		case null && c.null[g]:
			return 0
		case null:
			return -1
		}
		return 1
	}
	switch c.typ.Kind {
	case vector.KindLong:
		return cmp.Compare(v.LongAt(i), c.longs[g])
	case vector.KindDouble:
		return vector.CompareDoubles(v.DoubleAt(i), c.doubles[g])
	case vector.KindFloat:
		return vector.CompareDoubles(v.DoubleAt(i), float64(c.floats[g]))
	case vector.KindList:
		return vector.Compare(v, i, c.lists[g], 0)
	}
	return strings.Compare(v.StringAt(i), c.texts[g])
}

// build returns the values of groups lo to hi; unset is null.
func (c *cells) build(lo, hi int) *vector.Vector {
	var v *vector.Vector
	switch c.typ.Kind {
	case vector.KindLong:
		v = vector.FromLongs(copied(c.longs, lo, hi))
	case vector.KindDouble:
		v = vector.FromDoubles(copied(c.doubles, lo, hi))
	case vector.KindFloat:
		v = vector.FromFloats(copied(c.floats, lo, hi))
	case vector.KindList:
		b := vector.NewBuilder(c.typ, hi-lo)
		for g := lo; g < hi; g++ {
			if c.set[g] && !c.null[g] {
				b.AppendFrom(c.lists[g], 0)
			} else {
				b.AppendNull()
			}
		}
		return b.Build()
	default:
		v = vector.FromStrings(copied(c.texts, lo, hi))
		v.Type = c.typ
	}
	present := make([]bool, hi-lo)
	for i := range present {
		present[i] = c.set[lo+i] && !c.null[lo+i]
	}
	v.Valid = validOf(present)
	return v
}

func (c *cells) bytes() int64 {
	return int64(cap(c.set)+cap(c.null)) + 8*int64(cap(c.longs)+cap(c.doubles)+cap(c.lists)) + 4*int64(cap(c.floats)) +
		16*int64(cap(c.texts)) + c.heap
}

// pending remembers, while a batch is folded, which row each touched group wants, so that values
// are copied once per batch and group.
type pending struct {
	rows    []int32 // by group: row+1, 0: none
	touched []uint32
}

func (p *pending) grow(n int) { p.rows = grown(p.rows, n) }

func (p *pending) row(g uint32) (int32, bool) { return p.rows[g] - 1, p.rows[g] != 0 }

func (p *pending) put(g uint32, row int) {
	if p.rows[g] == 0 {
		p.touched = append(p.touched, g)
	}
	p.rows[g] = int32(row) + 1
}

// flush hands over every wish and forgets it.
func (p *pending) flush(f func(g uint32, row int)) {
	for _, g := range p.touched {
		f(g, int(p.rows[g]-1))
		p.rows[g] = 0
	}
	p.touched = p.touched[:0]
}

func (p *pending) bytes() int64 { return 4 * int64(cap(p.rows)+cap(p.touched)) }
