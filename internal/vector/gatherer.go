package vector

import "github.com/hengedb/henge/internal/invariant"

// Gatherer gathers rows into memory that the next call reuses: earlier results are then invalid.
// The zero Gatherer is ready to use.
type Gatherer struct {
	out     Vector
	longs   []int64
	doubles []float64
	codes   []uint32
	valid   Bitmap
}

// Gather returns the given rows of v, like Vector.Gather. v may be the previous result if the rows
// are in ascending order.
func (g *Gatherer) Gather(v *Vector, rows []uint32) *Vector {
	if v.Const {
		return v.Gather(rows)
	}
	valid := v.Valid // which may be g's own, too
	switch {
	case v.Dict != nil:
		g.codes = gatherInto(g.codes, v.Codes, rows)
		g.out = Vector{Type: v.Type, Len: len(rows), Dict: v.Dict, Codes: g.codes}
	case v.Type.Kind == KindLong:
		g.longs = gatherInto(g.longs, v.Longs, rows)
		g.out = Vector{Type: v.Type, Len: len(rows), Longs: g.longs}
	case v.Type.Kind == KindDouble:
		g.doubles = gatherInto(g.doubles, v.Doubles, rows)
		g.out = Vector{Type: v.Type, Len: len(rows), Doubles: g.doubles}
	default:
		return v.Gather(rows)
	}
	if valid != nil {
		g.valid, g.out.Valid = gatherBits(g.valid, valid, rows)
	}
	return &g.out
}

// gatherBits gathers bits into dst as gatherInto does values. Set is nil if all of them are set.
func gatherBits(dst, src Bitmap, rows []uint32) (memory, set Bitmap) {
	words := (len(rows) + 63) / 64
	if invariant.Enabled {
		defer invariant.Poison(dst)
		dst = nil
	}
	if cap(dst) < words {
		dst = make(Bitmap, max(words, 2*cap(dst)))
	}
	dst = dst[:words]
	missing := uint64(0)
	for w := range dst {
		part := rows[w<<6 : min(w<<6+64, len(rows))]
		word := uint64(0)
		for i, r := range part {
			word |= src[r>>6] >> (r & 63) & 1 << i
		}
		missing |= ^word << (64 - len(part))
		dst[w] = word
	}
	if missing == 0 {
		return dst, nil
	}
	return dst, dst
}

// gatherInto is gather into dst, whose memory it keeps if that is large enough.
func gatherInto[T any](dst, src []T, rows []uint32) []T {
	if invariant.Enabled { // what was gathered before is released, but may be what is gathered from
		defer poison(dst)
		dst = nil
	}
	if cap(dst) < len(rows) {
		dst = make([]T, max(len(rows), 2*cap(dst)))
	}
	dst = dst[:len(rows)]
	for i, r := range rows {
		dst[i] = src[r]
	}
	return dst
}

func poison[T any](s []T) {
	switch x := any(s).(type) {
	case []int64:
		invariant.Poison(x)
	case []float64:
		invariant.Poison(x)
	case []uint32:
		invariant.Poison(x)
	}
}
