package vector

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGathererGathersAsVectorsDo(t *testing.T) {
	nulls := FromLongs([]int64{1, 2, 3, 4, 5})
	nulls.Valid = FullBitmap(5)
	nulls.Valid.Clear(3)
	d := NewDict([]string{"a", "b", "c"})
	var g Gatherer
	for _, v := range []*Vector{
		FromLongs([]int64{10, 11, 12, 13, 14}), FromCodes([]uint32{2, 0, 1, 2, 2}, d), FromStrings([]string{"p", "q", "r", "s", "t"}),
		Constant(Long, int64(7), 5), nulls, FromLongs([]int64{20, 21, 22, 23, 24}),
	} {
		for _, rows := range [][]uint32{{4, 0, 0}, {1, 3, 4}, {}, {0, 1, 2, 3, 4}} {
			got, want := g.Gather(v, rows), v.Gather(rows)
			if diff := cmp.Diff(valuesOf(want), valuesOf(got)); diff != "" {
				t.Errorf("%v: %s", rows, diff)
			}
			if len(rows) < 2 || rows[0] > rows[1] {
				continue
			}
			again := []uint32{1, uint32(len(rows) - 1)}
			if diff := cmp.Diff(valuesOf(want.Gather(again)), valuesOf(g.Gather(got, again))); diff != "" {
				t.Errorf("%v of %v: %s", again, rows, diff)
			}
		}
	}
}

// Rows of any number of words of the validity map, of columns with many, few and no nulls.
func TestGathererGathersValidity(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	d := NewDict([]string{"a", "b", "c"})
	var g Gatherer
	for round := range 200 {
		n := 1 + r.IntN(400)
		longs, codes, valid, nulls := make([]int64, n), make([]uint32, n), NewBitmap(n), r.IntN(4)
		for i := range n {
			longs[i], codes[i] = int64(i), uint32(r.IntN(3))
			if r.IntN(3) >= nulls {
				valid.Set(i)
			}
		}
		v := FromLongs(longs)
		if round%2 == 0 {
			v = FromCodes(codes, d)
		}
		v.Valid = valid
		var rows []uint32
		for i := range n {
			if r.IntN(4) > 0 {
				rows = append(rows, uint32(i))
			}
		}
		got, want := g.Gather(v, rows), v.Gather(rows)
		if diff := cmp.Diff(valuesOf(want), valuesOf(got)); diff != "" || (got.Valid == nil) != (want.Valid == nil) {
			t.Fatalf("round %d: %s", round, diff)
		}
		rows = rows[:len(rows)/2]
		for i := range rows {
			rows[i] = uint32(2 * i)
		}
		if diff := cmp.Diff(valuesOf(want.Gather(rows)), valuesOf(g.Gather(got, rows))); diff != "" {
			t.Fatalf("round %d, again: %s", round, diff)
		}
	}
}

func valuesOf(v *Vector) []any {
	out := make([]any, v.Len)
	for i := range out {
		out[i] = v.ValueAt(i)
	}
	return out
}
