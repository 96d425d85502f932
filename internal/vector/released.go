package vector

import (
	"slices"

	"github.com/hengedb/henge/internal/invariant"
)

// Own returns a copy of b in the same encodings. Dictionaries and the bytes of strings are shared.
func (b *Batch) Own() *Batch {
	out := &Batch{N: b.N, Cols: make([]*Vector, len(b.Cols)), Sel: slices.Clone(b.Sel)}
	for i, c := range b.Cols {
		out.Cols[i] = c.own()
	}
	return out
}

func (v *Vector) own() *Vector {
	out := *v
	out.Valid = slices.Clone(v.Valid)
	out.Longs, out.Doubles, out.Floats = slices.Clone(v.Longs), slices.Clone(v.Doubles), slices.Clone(v.Floats)
	out.Strings, out.Codes, out.Offsets = slices.Clone(v.Strings), slices.Clone(v.Codes), slices.Clone(v.Offsets)
	if v.Child != nil {
		out.Child = v.Child.own()
	}
	return &out
}

// Poison marks a batch as released in checked builds. The batch must own all of its memory, like a
// result of Own.
func (b *Batch) Poison() {
	invariant.Poison(b.Sel)
	for _, c := range b.Cols {
		c.poison()
	}
}

func (v *Vector) poison() {
	invariant.Poison(v.Valid)
	invariant.Poison(v.Longs)
	invariant.Poison(v.Doubles)
	invariant.Poison(v.Floats)
	invariant.PoisonStrings(v.Strings)
	invariant.Poison(v.Codes)
	invariant.Poison(v.Offsets)
	if v.Child != nil {
		v.Child.poison()
	}
}
