package segment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// Blocks of every width give their values back, whatever rows are read of them.
func TestFramesOfEveryWidth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for span := range 65 {
		for _, unit := range []uint64{1, 1000} {
			for _, n := range []int{1, 2, 7, 8, 9, 100, BlockRows} {
				values := make([]int64, n)
				least := r.Int64() - math.MaxInt64/2
				for i := range values {
					values[i] = least + int64(r.Uint64()>>(64-uint(span))/unit*unit)
				}
				has := vector.FullBitmap(n)
				nulls := 0
				if n > 8 {
					has.Clear(3)
					nulls = 1
				}
				f, data := encodeFrame(nil, values, has, nulls, make([]uint64, len(values)))
				if len(data)%partAlign != 0 || !f.fits(n, len(data)) {
					t.Fatalf("%d values of %d bits take %d bytes, width %d", n, span, len(data), f.Location)
				}
				data = append(data, make([]byte, frameSlack)...)
				for range 20 {
					from := r.IntN(n)
					got := make([]int64, 1+r.IntN(n-from))
					f.decode(got, data, from)
					for i, x := range got {
						if has.Get(from+i) && x != values[from+i] {
							t.Fatalf("row %d of %d, span of %d bits, unit %d, width %d: %d, want %d", from+i, n, span, unit, f.Location, x, values[from+i])
						}
					}
				}
			}
		}
	}
}

// A file of version 1, and one of version 2 from before there were columns of paths, have the rows
// of the same file as it is written now.
func TestReadsOlderFiles(t *testing.T) {
	var rows [3]rowsOf
	for i, name := range []string{"testdata/version1.segment", "testdata/pathless.segment", "testdata/tiny.segment"} {
		s, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release()
		if want := min(i+1, Version); s.Info().Version != want {
			t.Errorf("%s: version %d, want %d", name, s.Info().Version, want)
		}
		if rows[i], err = readRows(s, 4096); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprint(rows[2])
	for _, old := range rows[:2] {
		if got := fmt.Sprint(old); got != want {
			t.Errorf("the rows are %s, want %s", got, want)
		}
	}
}

func BenchmarkFrames(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, span := range []uint{4, 7, 8, 9, 13, 16, 17, 20, 24, 27, 33, 40} {
		values := make([]int64, BlockRows)
		for i := range values {
			values[i] = 5 + int64(r.Uint64()>>(64-span))
		}
		f, data := encodeFrame(nil, values, nil, 0, make([]uint64, len(values)))
		data = slices.Concat(data, make([]byte, frameSlack))
		dst := make([]int64, BlockRows)
		b.Run(fmt.Sprintf("bits=%d", span), func(b *testing.B) {
			b.SetBytes(8 * BlockRows)
			for b.Loop() {
				f.decode(dst, data, 0)
			}
		})
	}
}
