package agg

import "github.com/hengedb/henge/internal/vector"

var count = &Function{
	Name: "COUNT", Doc: "Counts the rows. With arguments, counts the rows in which all arguments are not NULL.",
	Signature: "'COUNT()'\n'COUNT(<ANY>)'", MaxArgs: 64, EmptyIsZero: true, Counts: true, MergedBy: "SUM", OfBlock: ValueCount,
	Native: NativeForm{Kind: NativeCount},
	result: always(vector.Long), partial: one(vector.Long),
	create: func(Spec) State { return &countState{} },
}

type countState struct{ n []int64 }

func (s *countState) Grow(n int) { s.n = grown(s.n, n) }

func (s *countState) Update(args []*vector.Vector, groups []uint32, n int) error {
	var valid vector.Bitmap
	for _, a := range args {
		if a.AllNull() {
			return nil
		}
		if !a.Const {
			valid = vector.And(valid, a.Valid, n)
		}
	}
	switch {
	case groups == nil:
		s.n[0] += int64(valid.Count(n))
	case valid == nil:
		counts := s.n
		for groups = groups[:n]; len(groups) >= 8; groups = groups[8:] {
			g := (*[8]uint32)(groups)
			counts[g[0]]++
			counts[g[1]]++
			counts[g[2]]++
			counts[g[3]]++
			counts[g[4]]++
			counts[g[5]]++
			counts[g[6]]++
			counts[g[7]]++
		}
		for _, g := range groups {
			counts[g]++
		}
	default:
		for i, g := range groups[:n] {
			s.n[g] += int64(valid[i>>6] >> (uint(i) & 63) & 1)
		}
	}
	return nil
}

func (s *countState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	v := parts[0]
	for i := range n {
		if !v.IsNull(i) {
			s.n[group(groups, i)] += v.LongAt(i)
		}
	}
	return nil
}

func (s *countState) Partial(lo, hi int) []*vector.Vector {
	return []*vector.Vector{vector.FromLongs(copied(s.n, lo, hi))}
}

func (s *countState) Final(lo, hi int) (*vector.Vector, error) {
	return vector.FromLongs(copied(s.n, lo, hi)), nil
}

func (s *countState) Clear() { s.n = emptied(s.n) }

func (s *countState) Bytes() int64 { return 8 * int64(cap(s.n)) }
