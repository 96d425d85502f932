package vector

import (
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

func valuesOf(v *Vector) []any {
	out := make([]any, v.Len)
	for i := range out {
		out[i] = v.ValueAt(i)
	}
	return out
}
