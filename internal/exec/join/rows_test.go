package join

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

// The right rows of a join are the same however their texts come, and texts of one dictionary stay
// codes of the entries that are used.
func TestJoinRowsKeepCodesOfOneDictionary(t *testing.T) {
	coded := func(d *vector.Dict, null int, codes ...uint32) *vector.Batch {
		v := vector.FromCodes(codes, d)
		if null >= 0 {
			v.Valid = vector.FullBitmap(len(codes))
			v.Valid.Clear(null)
		}
		return &vector.Batch{N: len(codes), Cols: []*vector.Vector{v}}
	}
	some := func(b *vector.Batch, rows ...uint32) *vector.Batch { b.Sel = rows; return b }
	first, second := vector.NewDict([]string{"a", "b", "c", "d", "e", "f"}), vector.NewDict([]string{"b", "x"})
	large := make([]string, 1000)
	for i := range large {
		large[i] = fmt.Sprintf("%04d", i)
	}
	plain := &vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromStrings([]string{"y", "a"})}}
	for name, c := range map[string]struct {
		batches []*vector.Batch
		entries int // of the dictionary; 0: there is none
		want    []any
	}{
		"most entries": {
			[]*vector.Batch{coded(first, -1, 0, 1, 5), some(coded(first, -1, 2, 3, 4), 0, 2)}, 6, []any{"a", "b", "f", "c", "e"},
		},
		"few entries": {[]*vector.Batch{coded(first, -1, 4, 4), coded(first, -1, 1, 4)}, 2, []any{"e", "e", "b", "e"}},
		"nulls":       {[]*vector.Batch{some(coded(first, 2, 3, 5, 1), 0, 2), coded(first, 0, 5, 3)}, 1, []any{"d", nil, nil, "d"}},
		"two dictionaries": {
			[]*vector.Batch{coded(first, 1, 0, 1), coded(second, -1, 0, 1), coded(first, -1, 0)}, 3, []any{"a", nil, "b", "x", "a"},
		},
		"texts first":   {[]*vector.Batch{plain, coded(second, -1, 1)}, 3, []any{"y", "a", "x"}},
		"texts last":    {[]*vector.Batch{coded(second, -1, 1), plain}, 3, []any{"x", "y", "a"}},
		"far too large": {[]*vector.Batch{coded(vector.NewDict(large), -1, 999, 7, 999)}, 2, []any{"0999", "0007", "0999"}},
		"only nulls":    {[]*vector.Batch{coded(first, 0, 3)}, 6, []any{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRows([]vector.Type{vector.String})
			for _, b := range c.batches {
				r.append(b)
			}
			if r.n != len(c.want) || r.bytes < 4*int64(r.n) {
				t.Errorf("[%d] rows of [%d] bytes, want [%d] rows", r.n, r.bytes, len(c.want))
			}
			v := r.build().Cols[0]
			var got []any
			for i := range v.Len {
				got = append(got, v.ValueAt(i))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			switch {
			case v.Dict == nil && c.entries > 0:
				t.Error("there is no dictionary")
			case v.Dict != nil && v.Dict.Len() != c.entries:
				t.Errorf("the dictionary has [%d] entries, want [%d]", v.Dict.Len(), c.entries)
			}
			if r.n != 0 || r.bytes != 0 || r.build().Cols[0].Len != 0 {
				t.Error("rows are left")
			}
		})
	}
}
