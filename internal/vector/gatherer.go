package vector

import "github.com/hengedb/henge/internal/invariant"

// Gatherer gathers rows into memory that it uses again with the next call: what it returned before
// is then invalid. The zero Gatherer is ready.
type Gatherer struct {
	out     Vector
	longs   []int64
	doubles []float64
	codes   []uint32
}

// Gather returns the given rows of v, as Vector.Gather does. They may be rows of what it returned
// before, if these ascend.
func (g *Gatherer) Gather(v *Vector, rows []uint32) *Vector {
	if v.Valid != nil || v.Const {
		return v.Gather(rows)
	}
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
	return &g.out
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
