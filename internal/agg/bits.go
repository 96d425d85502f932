package agg

import "github.com/hengedb/henge/internal/vector"

var (
	bitAnd = bitwise("BIT_AND", "Combines the values bit by bit with AND.", -1, true, func(a, b int64) int64 { return a & b })
	bitOr  = bitwise("BIT_OR", "Combines the values bit by bit with OR.", 0, true, func(a, b int64) int64 { return a | b })
	bitXor = bitwise("BIT_XOR", "Combines the values bit by bit with exclusive OR.", 0, false, func(a, b int64) int64 { return a ^ b })
)

func bitwise(name, doc string, start int64, duplicates bool, op func(a, b int64) int64) *Function {
	return &Function{
		Name: name, Doc: doc, Signature: "'" + name + "(<INTEGER>)'", MinArgs: 1, MaxArgs: 1, Casts: ToLong, Duplicates: duplicates,
		check: func(s Spec) error {
			if s.Args[0].Kind != vector.KindLong {
				return badType(s, 0)
			}
			return nil
		},
		result: always(vector.Long), partial: one(vector.Long),
		create: func(Spec) State { return &bitState{start: start, op: op} },
	}
}

type bitState struct {
	start int64
	op    func(a, b int64) int64
	bits  []int64
	seen  []bool
}

func (s *bitState) Grow(n int) { s.bits, s.seen = grown(s.bits, n), grown(s.seen, n) }

func (s *bitState) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0]
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		g := group(groups, i)
		if !s.seen[g] {
			s.bits[g], s.seen[g] = s.start, true
		}
		s.bits[g] = s.op(s.bits[g], v.LongAt(i))
	}
	return nil
}

func (s *bitState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	return s.Update(parts, groups, n)
}

func (s *bitState) Partial(lo, hi int) []*vector.Vector {
	v := vector.FromLongs(copied(s.bits, lo, hi))
	v.Valid = validOf(s.seen[lo:hi])
	return []*vector.Vector{v}
}

func (s *bitState) Final(lo, hi int) (*vector.Vector, error) { return s.Partial(lo, hi)[0], nil }

func (s *bitState) Bytes() int64 { return 8*int64(cap(s.bits)) + int64(cap(s.seen)) }
