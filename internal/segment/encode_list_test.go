package segment

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// Small bitmaps are written without being made, as roaring would write them.
func TestRowsAreWrittenAsBitmaps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	direct := 0
	for n := range 3000 {
		var rows []uint32
		first, spread := r.Uint32N(1<<18), uint32(1)<<r.IntN(16)
		for range n % 60 {
			rows = append(rows, first+r.Uint32N(spread))
		}
		slices.Sort(rows)
		if n%4 > 0 {
			rows = slices.Compact(rows)
		}
		b := roaring.BitmapOf(rows...)
		b.RunOptimize()
		want, err := b.ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := appendRows([]byte("x"), rows); ok {
			direct++
			if !bytes.Equal(got[1:], want) {
				t.Fatalf("%v: % x, want % x", rows, got[1:], want)
			}
		}
		ix := newIndexBuilder(2, len(rows))
		for _, row := range rows {
			ix.codes, ix.rows = append(ix.codes, 1), append(ix.rows, row)
		}
		ix.sort()
		if got, err := ix.appendBitmap(nil, 1); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: % x, %v, want % x", rows, got, err, want)
		}
	}
	if direct < 1000 {
		t.Errorf("%d bitmaps were not made", direct)
	}
}
