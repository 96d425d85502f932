package agg

import (
	"math"
	"strings"

	"github.com/hengedb/henge/internal/vector"
)

var (
	earliest = byTime("EARLIEST", "Returns the value of the earliest row by __time.",
		"'EARLIEST(<expr>)'\n'EARLIEST(<expr>, <maxBytesPerStringInt>)'", false, true)
	earliestBy = byTime("EARLIEST_BY", "Returns the value of the earliest row by a given timestamp.",
		"'EARLIEST_BY(<expr>, <timeColumn>)'\n'EARLIEST_BY(<expr>, <timeColumn>, <maxBytesPerStringInt>)'", false, false)
	latest = byTime("LATEST", "Returns the value of the latest row by __time.",
		"'LATEST(<expr>)'\n'LATEST(<expr>, <maxBytesPerStringInt>)'", true, true)
	latestBy = byTime("LATEST_BY", "Returns the value of the latest row by a given timestamp.",
		"'LATEST_BY(<expr>, <timeColumn>)'\n'LATEST_BY(<expr>, <timeColumn>, <maxBytesPerStringInt>)'", true, false)
)

// byTime describes a function of (value, time); both forms run the same, as the binder adds __time
// to the one without.
func byTime(name, doc, signature string, last, implied bool) *Function {
	native := NativeForm{NativeTyped, "First"}
	if last {
		native.Name = "Last"
	}
	return &Function{
		Name: name, Doc: doc, Signature: signature, MinArgs: 2, MaxArgs: 2, MaxParams: 1, TakesNulls: true, ByTime: true, Duplicates: true,
		TimeImplied: implied, PicksRow: true, Last: last, Native: native, WholeTexts: []any{int64(math.MaxInt32)},
		check: func(s Spec) error {
			if s.Args[1].Kind != vector.KindLong {
				return badType(s, 1)
			}
			return nil
		},
		result:  sizedType,
		packing: timed,
		partial: func(s Spec) []vector.Type { return []vector.Type{vector.Long, sizedType(s)} },
		create: func(s Spec) State {
			return &byTimeState{cells: newCells(sizedType(s)), last: last, text: sizedType(s) != s.Args[0], maxBytes: s.longParam(0, -1)}
		},
	}
}

// byTimeState keeps the value of the row with the least or greatest time; rows without a time are
// ignored. Of equal times EARLIEST takes the first row and LATEST the last. The intermediate form
// is the time, null for a group without rows, and the value.
type byTimeState struct {
	last     bool
	text     bool // values come as lists of strings, and are kept as text
	maxBytes int64
	times    []int64
	cells    *cells
	pending  pending
}

func (s *byTimeState) Grow(n int) {
	s.times = grown(s.times, n)
	s.cells.grow(n)
	s.pending.grow(n)
}

func (s *byTimeState) Update(args []*vector.Vector, groups []uint32, n int) error {
	values := args[0]
	if s.text {
		values = listText(values, n)
	}
	return s.fold(args[1], values, groups, n)
}

func (s *byTimeState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	return s.fold(parts[0], parts[1], groups, n)
}

func (s *byTimeState) fold(times, values *vector.Vector, groups []uint32, n int) error {
	for i := range n {
		if times.IsNull(i) {
			continue
		}
		g, t := group(groups, i), times.LongAt(i)
		if !s.cells.set[g] || s.last && t >= s.times[g] || !s.last && t < s.times[g] {
			s.times[g], s.cells.set[g] = t, true
			s.pending.put(g, i)
		}
	}
	s.pending.flush(func(g uint32, row int) { s.cells.put(g, values, row) })
	return nil
}

func (s *byTimeState) Partial(lo, hi int) []*vector.Vector {
	t := vector.FromLongs(copied(s.times, lo, hi))
	t.Valid = validOf(s.cells.set[lo:hi])
	return []*vector.Vector{t, cutText(s.cells.build(lo, hi), s.maxBytes)}
}

func (s *byTimeState) Final(lo, hi int) (*vector.Vector, error) {
	return cutText(s.cells.build(lo, hi), s.maxBytes), nil
}

func (s *byTimeState) Bytes() int64 {
	return 8*int64(cap(s.times)) + s.cells.bytes() + s.pending.bytes()
}

// sizedType is the type of a value that a call keeps: text for a list of strings of which the call
// says how long it may be.
func sizedType(s Spec) vector.Type {
	if t := s.Args[0]; len(s.Params) == 0 || t.Kind != vector.KindList || t.Elem().Kind != vector.KindString {
		return t
	}
	return vector.String
}

// listText writes the first n lists of strings of v as text: one of a single value as that, others
// as [a, b]; without values it is null.
func listText(v *vector.Vector, n int) *vector.Vector {
	b := vector.NewBuilder(vector.String, n)
	for i := range n {
		if v.IsNull(i) {
			b.AppendNull()
			continue
		}
		lo, hi := v.ListAt(i)
		switch {
		case lo == hi || hi-lo == 1 && v.Child.IsNull(lo):
			b.AppendNull()
		case hi-lo == 1:
			b.AppendString(v.Child.StringAt(lo))
		default:
			texts := make([]string, 0, hi-lo)
			for ; lo < hi; lo++ {
				if v.Child.IsNull(lo) {
					texts = append(texts, "null")
				} else {
					texts = append(texts, v.Child.StringAt(lo))
				}
			}
			b.AppendString("[" + strings.Join(texts, ", ") + "]")
		}
	}
	return b.Build()
}
