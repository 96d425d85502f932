package msq

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

// looseBatches returns batches of rows that come in order of their chunks at first, and then in no
// order. Their columns are those of mixedBatches, and texts that are all different, which have
// dictionaries nevertheless.
func looseBatches(r *rand.Rand, n, chunks int) []*vector.Batch {
	batches := append(mixedBatches(r, n/4, chunks, true), mixedBatches(r, n-n/4, chunks, false)...)
	at := 0
	for _, b := range batches {
		wide, dict := newColumn(b.N), &vector.Dict{Offsets: []uint32{0}}
		b.Cols[boostAt] = vector.New(vector.Long, b.N)
		for i := range b.N {
			b.Cols[boostAt].Longs[i] = int64(at)
			wide.Codes[i] = uint32(b.N - 1 - i)
			dict.Blob = fmt.Append(dict.Blob, "wide", at)
			dict.Offsets = append(dict.Offsets, uint32(len(dict.Blob)))
			at++
		}
		wide.Dict = dict
		b.Cols = append(b.Cols, wide)
	}
	return batches
}

// Rows that come in no order of time chunks are the same as those that come sorted, whether they
// stay in memory or are written, in one run or several, with frames of any size.
func TestRowsInNoOrderAreDealtToChunks(t *testing.T) {
	for _, chunks := range []int{1, 5, 300} {
		for _, keep := range []bool{false, true} {
			for _, limit := range []int64{200 << 10, 1 << 30} {
				for _, frameRows := range []int{7, 4096} {
					t.Run(fmt.Sprint(chunks, keep, limit, frameRows), func(t *testing.T) {
						batches := looseBatches(rand.New(rand.NewPCG(uint64(chunks), uint64(limit))), 6000, chunks)
						order := bucketedOrder()
						want := inOrderOf(&order, batches)
						var kept *keeper
						if keep {
							kept = &keeper{limit: 1 << 30}
						}
						w, err := newSortedWriter(order, frameRows, limit, holdAsIs, t.TempDir(), "x", nil, nil, kept, nil, newCounters())
						if err != nil {
							t.Fatal(err)
						}
						for _, b := range batches {
							if err := w.add(b); err != nil {
								t.Fatal(err)
							}
						}
						out, err := w.finish()
						if err != nil {
							t.Fatal(err)
						}
						defer out.close()
						for i := range out.frames {
							if f := &out.frames[i]; f.rows > frameRows || keep != (f.batch != nil) {
								t.Fatalf("frame [%d] has [%d] rows, and is in memory: %t", i, f.rows, f.batch != nil)
							}
						}
						if got := readSorted(t, &order, out, nil, nil); !reflect.DeepEqual(want, got) { // which is faster than Diff
							t.Fatal(cmp.Diff(want, got))
						}
					})
				}
			}
		}
	}
}

// Texts that repeat share a dictionary in the frames of a run, others have none in common.
func TestDealtTextsShareADictionaryIfItSavesSomething(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	d := (*dealer)(nil)
	rows := 0
	for range 20 {
		const n = 1000
		few, wide := newColumn(n), newColumn(n)
		few.Dict, wide.Dict = dictOf("zero", "one", fmt.Sprint("of ", rows)), &vector.Dict{Offsets: []uint32{0}}
		for i := range n {
			few.Codes[i], wide.Codes[i] = uint32(r.IntN(3)), uint32(i)
			wide.Dict.Blob = fmt.Append(wide.Dict.Blob, rows+i)
			wide.Dict.Offsets = append(wide.Dict.Offsets, uint32(len(wide.Dict.Blob)))
		}
		chunk := vector.New(vector.Long, n)
		for i := range n {
			chunk.Longs[i] = int64(r.IntN(3))
		}
		b := &vector.Batch{N: n, Cols: []*vector.Vector{chunk, few, wide}}
		if d == nil {
			d = newDealer(b, 0, 300, 1<<20)
		}
		d.add(b)
		rows += n
	}
	var dicts []*vector.Dict
	got, own := 0, 0
	for b := range d.batches(true) {
		got += b.N
		dicts = append(dicts, b.Cols[1].Dict)
		if b.Cols[2].Dict.Len() == b.N {
			own += b.N
		}
	}
	if own != rows-5000 { // which are the first to have so many texts
		t.Errorf("of texts that never repeat [%d] are not united, for [%d] rows", own, rows)
	}
	if dicts = slices.Compact(dicts); len(dicts) != 1 || dicts[0].Len() != 22 || got != rows {
		t.Errorf("[%d] dictionaries, the first of [%d] texts, for [%d] rows of [%d]", len(dicts), dicts[0].Len(), got, rows)
	}
}

// The memory of written frames is used again by the run after the next.
func TestMemoryOfWrittenFramesIsUsedAgain(t *testing.T) {
	batches := looseBatches(rand.New(rand.NewPCG(9, 9)), 10_000, 3)
	w, err := newSortedWriter(bucketedOrder(), 100, 400<<10, holdAsIs, t.TempDir(), "x", nil, nil, nil, nil, newCounters())
	if err != nil {
		t.Fatal(err)
	}
	again := 0
	for _, b := range batches {
		spare := 0
		if w.run.dealt != nil {
			spare = len(w.run.dealt.spare)
		}
		if err := w.add(b); err != nil {
			t.Fatal(err)
		}
		if w.run.dealt != nil && len(w.run.dealt.spare) < spare {
			again++
		}
	}
	out, err := w.finish()
	if err != nil {
		t.Fatal(err)
	}
	defer out.close()
	if out.runs < 4 || again == 0 {
		t.Errorf("[%d] runs, memory was used again [%d] times", out.runs, again)
	}
}
