package msq

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// Frames of a run have the rows that gatherRows gives, whatever their dictionaries are.
func TestFramesHaveTheRowsOfTheirPlaces(t *testing.T) {
	const seed, batches, rows = 5, 12, 700
	random := rand.New(rand.NewPCG(seed, 0))
	r := &run{}
	shared := dictOf("zero", "one", "two")
	for b := range batches {
		few, own, many, mixed := newColumn(rows), newColumn(rows), newColumn(rows), newColumn(rows)
		few.Dict, own.Dict, many.Dict = shared, dictOf(fmt.Sprint("own", b%5), "", "x", "y"), &vector.Dict{Offsets: []uint32{0}}
		if b%3 > 0 {
			mixed.Dict = dictOf("m", fmt.Sprint(b))
		} else {
			mixed.Codes, mixed.Strings = nil, make([]string, rows)
		}
		absent := vector.NewBitmap(rows)
		for i := range rows {
			few.Codes[i], own.Codes[i], many.Codes[i] = uint32(random.IntN(3)), uint32(random.IntN(4)), uint32(i)
			many.Dict.Blob = fmt.Append(many.Dict.Blob, b, "-", i)
			many.Dict.Offsets = append(many.Dict.Offsets, uint32(len(many.Dict.Blob)))
			if mixed.Dict != nil {
				mixed.Codes[i] = uint32(random.IntN(2))
			} else {
				mixed.Strings[i] = fmt.Sprint("plain", random.IntN(3))
			}
			if random.IntN(5) > 0 {
				absent.Set(i)
			}
		}
		nulls := newColumn(rows) // all of a dictionary without entries
		nulls.Dict, nulls.Valid = &vector.Dict{Offsets: []uint32{0}}, vector.NewBitmap(rows)
		own.Valid = absent
		longs := &vector.Vector{Type: vector.Long, Len: rows, Longs: make([]int64, rows)}
		for i := range rows {
			longs.Longs[i] = random.Int64()
		}
		r.batches = append(r.batches, &vector.Batch{N: rows, Cols: []*vector.Vector{few, own, many, mixed, nulls, longs}})
		r.rows += rows
	}
	places := r.places()
	random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, kept := range []bool{false, true} {
		at := 0
		var dict *vector.Dict
		for got := range r.frames(places, 1000, kept) {
			want := gatherRows(r.used(places[at : at+got.N]))
			for c, v := range got.Cols {
				for i := range got.N {
					if v.IsNull(i) != want.Cols[c].IsNull(i) || !v.IsNull(i) && fmt.Sprint(v.ValueAt(i)) != fmt.Sprint(want.Cols[c].ValueAt(i)) {
						t.Fatalf("seed %d, kept %t, column %d, row %d: got %v, want %v", seed, kept, c, at+i, v.ValueAt(i), want.Cols[c].ValueAt(i))
					}
				}
			}
			own := got.Cols[1].Dict
			switch {
			case own == nil:
				t.Fatal("texts that repeat have no dictionary")
			case kept && dict != nil && own != dict:
				t.Fatal("frames in memory do not share their dictionary")
			case !kept && own == dict:
				t.Fatal("written frames share a dictionary")
			}
			if got.Cols[2].Dict != nil {
				t.Fatal("texts that never repeat have a dictionary")
			}
			at, dict = at+got.N, own
		}
		if at != r.rows {
			t.Fatalf("frames have %d rows of %d", at, r.rows)
		}
	}
}

func newColumn(rows int) *vector.Vector {
	return &vector.Vector{Type: vector.String, Len: rows, Codes: make([]uint32, rows)}
}

func dictOf(texts ...string) *vector.Dict {
	d := &vector.Dict{Offsets: []uint32{0}}
	for _, s := range texts {
		d.Blob = append(d.Blob, s...)
		d.Offsets = append(d.Offsets, uint32(len(d.Blob)))
	}
	return d
}
