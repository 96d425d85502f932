package agg

import (
	"math"

	"github.com/hengedb/henge/internal/vector"
)

var anyValue = &Function{
	Name: "ANY_VALUE", Doc: "Returns an arbitrary value of the group, which may be NULL.",
	Signature: "'ANY_VALUE(<expr>)'\n'ANY_VALUE(<expr>, <maxBytesPerStringInt>)'\n'ANY_VALUE(<expr>, <maxBytesPerStringInt>, " +
		"<allValuesBoolean>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 2, TakesNulls: true,
	PicksRow: true, Native: NativeForm{NativeTyped, "Any"},
	Duplicates: true, WholeTexts: []any{int64(math.MaxInt32), int64(1)}, ParamKinds: []ParamKind{AnyParam, BooleanParam},
	result: sizedType,
	// The count tells a group without rows from one whose value is null.
	partial: func(s Spec) []vector.Type { return []vector.Type{vector.Long, sizedType(s)} },
	create: func(s Spec) State {
		lists, all := sizedType(s) != s.Args[0], s.longParam(1, 0) > 0
		return &anyState{cells: newCells(sizedType(s)), first: lists && !all, text: lists && all, maxBytes: s.longParam(0, -1)}
	},
}

// anyState keeps the first value met.
type anyState struct {
	cells    *cells
	first    bool // values come as lists of strings, and the first string of one is kept
	text     bool // they do, and are kept as text
	maxBytes int64
}

func (s *anyState) Grow(n int) { s.cells.grow(n) }

func (s *anyState) Update(args []*vector.Vector, groups []uint32, n int) error {
	if groups == nil {
		n = min(n, 1)
	}
	if s.text {
		args = []*vector.Vector{listText(args[0], n)}
	}
	for i := range n {
		g := group(groups, i)
		switch {
		case s.cells.set[g]:
		case !s.first:
			s.cells.put(g, args[0], i)
		case args[0].IsNull(i):
			s.cells.set[g], s.cells.null[g] = true, true
		default:
			if lo, hi := args[0].ListAt(i); lo < hi {
				s.cells.put(g, args[0].Child, lo)
			} else {
				s.cells.set[g], s.cells.null[g] = true, true
			}
		}
	}
	return nil
}

func (s *anyState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	for i := range n {
		if g := group(groups, i); !s.cells.set[g] && parts[0].LongAt(i) != 0 {
			s.cells.put(g, parts[1], i)
		}
	}
	return nil
}

func (s *anyState) Partial(lo, hi int) []*vector.Vector {
	set := make([]int64, hi-lo)
	for i := range set {
		if s.cells.set[lo+i] {
			set[i] = 1
		}
	}
	return []*vector.Vector{vector.FromLongs(set), s.cells.build(lo, hi)}
}

func (s *anyState) Final(lo, hi int) (*vector.Vector, error) {
	return cutText(s.cells.build(lo, hi), s.maxBytes), nil
}

func (s *anyState) Bytes() int64 { return s.cells.bytes() }

// cutText cuts strings to max bytes, -1 meaning no bound, without splitting a character.
func cutText(v *vector.Vector, max int64) *vector.Vector {
	if max < 0 || v.Type.Kind != vector.KindString {
		return v
	}
	for i, t := range v.Strings {
		if int64(len(t)) > max {
			end := int(max)
			for end > 0 && t[end]&0xc0 == 0x80 {
				end--
			}
			v.Strings[i] = t[:end]
		}
	}
	return v
}
