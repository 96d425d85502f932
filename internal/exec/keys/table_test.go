package keys

import (
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

func TestKeysOfSomeNumbers(t *testing.T) {
	table := NewTable([]vector.Type{vector.String, long}, nil)
	texts := vector.FromStrings([]string{"a", "b", "", "c", "d"})
	longs := vector.FromLongs([]int64{5, -1, 7, 0, 5})
	texts.Valid, longs.Valid = vector.FullBitmap(5), vector.FullBitmap(5)
	texts.Valid.Clear(2)
	longs.Valid.Clear(3)
	table.Find([]*vector.Vector{texts, longs}, 5)
	all, rows := table.Keys(1, 5), []uint32{0, 2, 1, 1}
	for c, v := range table.KeysAt(1, rows) {
		if v.Len != len(rows) {
			t.Fatalf("column %d has [%d] rows", c, v.Len)
		}
		for i, r := range rows {
			if got, want := v.ValueAt(i), all[c].ValueAt(int(r)); got != want {
				t.Errorf("column %d, row %d: %v, want %v", c, i, got, want)
			}
		}
	}
}

// A table that was cleared numbers keys from 0 on again, in an array by word, too.
func TestClearedTablesNumberKeysAnew(t *testing.T) {
	for _, types := range [][]vector.Type{{long}, {long, long}, {long, long, long}} {
		for _, striped := range []bool{false, len(types) == 1} {
			table := NewTable(types, nil).Sibling()
			if striped && !table.IndexStripes(LongRange{0, 63}, 8) {
				t.Fatal("the keys are not near each other")
			}
			for round, keys := range [][]int64{{4, 9, 4, 7}, {7, 1, 9, 9}, {9, 8, 7, 8}} {
				cols := make([]*vector.Vector, len(types))
				for i := range cols {
					cols[i] = vector.FromLongs(keys)
				}
				numbers := map[int64]uint32{}
				for i, got := range table.Find(cols, len(keys)) {
					want, known := numbers[keys[i]]
					if !known {
						want = uint32(len(numbers))
						numbers[keys[i]] = want
					}
					if got != want {
						t.Errorf("[%d] columns, striped %v, round %d: key %d has number %d, want %d", len(types), striped, round, keys[i], got, want)
					}
				}
				if table.Len() != len(numbers) {
					t.Errorf("[%d] keys, want [%d]", table.Len(), len(numbers))
				}
				table.Clear()
			}
		}
	}
}
