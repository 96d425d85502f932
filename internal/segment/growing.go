package segment

import (
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// growing is a flat column that rows are appended to. Strings are codes; whoever appends them knows
// the dictionary.
type growing struct {
	typ     vector.Type
	n       int
	valid   []uint64 // nil until there is a null
	nulls   int
	longs   []int64
	doubles []float64
	floats  []float32
	codes   []uint32
	texts   []string
	offsets []uint32
	child   *growing
}

func newGrowing(t vector.Type) *growing {
	g := &growing{typ: t}
	if t.Kind == vector.KindList {
		g.offsets = []uint32{0}
		g.child = newGrowing(t.Elem())
	}
	return g
}

// reset empties g and keeps its memory.
func (g *growing) reset() {
	g.poison()
	*g = growing{typ: g.typ, longs: g.longs[:0], doubles: g.doubles[:0], floats: g.floats[:0], codes: g.codes[:0], texts: g.texts[:0],
		offsets: g.offsets, child: g.child}
	if g.child != nil {
		g.offsets = append(g.offsets[:0], 0)
		g.child.reset()
	}
}

// poison marks the values as released, but for those that lists hold.
func (g *growing) poison() {
	invariant.Poison(g.longs)
	invariant.Poison(g.doubles)
	invariant.Poison(g.floats)
	invariant.Poison(g.codes)
	invariant.PoisonStrings(g.texts)
	invariant.Poison(g.offsets)
}

// rowWidth is the bytes that a row of t takes, without what lists hold.
func rowWidth(t vector.Type) int64 {
	switch t.Kind {
	case vector.KindLong, vector.KindDouble:
		return 8
	case vector.KindComplex:
		return 16
	}
	return 4
}

// reserve makes room for n rows.
func (g *growing) reserve(n int) {
	switch g.typ.Kind {
	case vector.KindLong:
		g.longs = slices.Grow(g.longs, n)
	case vector.KindDouble:
		g.doubles = slices.Grow(g.doubles, n)
	case vector.KindFloat:
		g.floats = slices.Grow(g.floats, n)
	case vector.KindString:
		g.codes = slices.Grow(g.codes, n)
	case vector.KindComplex:
		g.texts = slices.Grow(g.texts, n)
	case vector.KindList:
		g.offsets = slices.Grow(g.offsets, n)
	}
}

// bytes is the memory that g takes, without the texts of opaque values.
func (g *growing) bytes() int64 {
	b := int64(8*cap(g.valid) + 8*cap(g.longs) + 8*cap(g.doubles) + 4*cap(g.floats) + 4*cap(g.codes) + 16*cap(g.texts) + 4*cap(g.offsets))
	if g.child != nil {
		b += g.child.bytes()
	}
	return b
}

// appendRange appends rows lo up to, not including, hi of v: a vector of g's type whose strings are
// codes.
func (g *growing) appendRange(v *vector.Vector, lo, hi int) error {
	if v.Const {
		for ; lo < hi; lo++ {
			if err := g.appendFlat(v, 0, 1, 0); err != nil {
				return err
			}
		}
		return nil
	}
	return g.appendFlat(v, lo, hi, lo)
}

// appendFlat appends elements lo up to hi of v's slices; validAt is the bit of the first in v's
// validity.
func (g *growing) appendFlat(v *vector.Vector, lo, hi, validAt int) error {
	g.appendValid(v.Valid, validAt, hi-lo)
	g.n += hi - lo
	switch g.typ.Kind {
	case vector.KindLong:
		g.longs = append(g.longs, v.Longs[lo:hi]...)
	case vector.KindDouble:
		g.doubles = append(g.doubles, v.Doubles[lo:hi]...)
	case vector.KindFloat:
		g.floats = append(g.floats, v.Floats[lo:hi]...)
	case vector.KindString:
		g.codes = append(g.codes, v.Codes[lo:hi]...)
	case vector.KindComplex:
		g.texts = append(g.texts, v.Strings[lo:hi]...)
	case vector.KindList:
		for i := lo; i < hi; i++ {
			if v.Valid.Get(validAt + i - lo) {
				if err := g.child.appendRange(v.Child, int(v.Offsets[i]), int(v.Offsets[i+1])); err != nil {
					return err
				}
			}
			if g.child.n > maxDictBytes {
				return fault.ResourceLimit("Segment column has more than [%d] list elements; make smaller segments", uint64(maxDictBytes))
			}
			g.offsets = append(g.offsets, uint32(g.child.n))
		}
	}
	return nil
}

func (g *growing) appendValid(valid vector.Bitmap, at, n int) {
	if valid == nil && g.valid == nil {
		return
	}
	if g.valid == nil {
		g.valid = vector.FullBitmap(g.n + 1)
	}
	for len(g.valid)*64 < g.n+n {
		g.valid = append(g.valid, 0)
	}
	out := vector.Bitmap(g.valid)
	if valid == nil {
		out.SetRange(g.n, g.n+n)
		return
	}
	for i := range n {
		if valid.Get(at + i) {
			out.Set(g.n + i)
		} else {
			out.Clear(g.n + i)
			g.nulls++
		}
	}
}

// vector returns the rows, sharing their memory. Strings are codes without a dictionary.
func (g *growing) vector() *vector.Vector {
	v := &vector.Vector{Type: g.typ, Len: g.n, Longs: g.longs, Doubles: g.doubles, Floats: g.floats, Strings: g.texts, Codes: g.codes}
	if g.nulls > 0 {
		v.Valid = g.valid
	}
	if g.child != nil {
		v.Offsets, v.Child = g.offsets, g.child.vector()
	}
	return v
}
