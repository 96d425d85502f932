package agg

import (
	"strconv"

	"github.com/hengedb/henge/internal/vector"
)

var (
	bitAnd = bitwise("BIT_AND", "bitwiseAnd", "Combines the values bit by bit with AND.", -1, true, GivesIntegers,
		func(a, b int64) int64 { return a & b })
	bitOr = bitwise("BIT_OR", "bitwiseOr", "Combines the values bit by bit with OR.", 0, true, GivesIntegers,
		func(a, b int64) int64 { return a | b })
	bitXor = bitwise("BIT_XOR", "bitwiseXor", "Combines the values bit by bit with exclusive OR.", 0, false, GivesOwn,
		func(a, b int64) int64 { return a ^ b }).ofFractions()
)

func (f *Function) ofFractions() *Function {
	f.TakesFractions = true
	return f
}

func bitwise(name, native, doc string, start int64, duplicates bool, gives Gives, op func(a, b int64) int64) *Function {
	return &Function{
		Name: name, Doc: doc, Signature: "'" + name + "(<INTEGER>)'", MinArgs: 1, MaxArgs: 1, Casts: ToLong, Duplicates: duplicates,
		Gives: gives, Native: NativeForm{NativeBits, native},
		check: func(s Spec) error {
			if t := s.Args[0]; t.Kind != vector.KindLong && t != vector.ListOf(vector.String) {
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
		if v.Type.Kind == vector.KindList {
			s.addTexts(group(groups, i), v, i)
		} else {
			s.add(group(groups, i), v.LongAt(i))
		}
	}
	return nil
}

func (s *bitState) add(g uint32, x int64) {
	if !s.seen[g] {
		s.bits[g], s.seen[g] = s.start, true
	}
	s.bits[g] = s.op(s.bits[g], x)
}

// addTexts adds the values of row i of a multi-value string, of which those that are no number
// count as 0. A NULL among them makes the row nothing, as in Druid. See quirk Q001.
func (s *bitState) addTexts(g uint32, v *vector.Vector, i int) {
	lo, hi := v.ListAt(i)
	for k := lo; k < hi; k++ {
		if v.Child.IsNull(k) {
			return
		}
	}
	for ; lo < hi; lo++ {
		s.add(g, wholeNumber(v.Child.StringAt(lo)))
	}
}

// wholeNumber reads a number as CAST to BIGINT does; 0 for a text that is none.
func wholeNumber(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != x {
		return 0
	}
	return int64(x)
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
