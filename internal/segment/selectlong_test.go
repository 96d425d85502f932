package segment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// Values of every width, packed and not, in units and not, with nulls, are held against bounds as
// if they had been read.
func TestSelectLongsAgreesWithReading(t *testing.T) {
	const n = 2*BlockRows + 77
	r := rand.New(rand.NewPCG(4, 7))
	for _, span := range []uint{0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 21, 28, 33, 40, 48, 56, 63, 64} {
		for _, unit := range []int64{1, 1000} {
			if unit > 1 && span > 50 {
				continue
			}
			rows := make([][]any, n)
			var values []int64
			for i := range rows {
				x := int64(r.Uint64()>>(64-span)) * unit
				if span < 64 {
					x -= int64(r.IntN(2)) * unit
				}
				values = append(values, x)
				if rows[i] = []any{x}; i%9 == 4 && span%3 > 0 {
					rows[i] = []any{nil}
				}
			}
			s := openBytes(t, writeRows(t, []ColumnSpec{{Name: "x", Type: vector.Long}}, rows, Options{}, 4096))
			c, err := s.Column("x")
			if err != nil {
				t.Fatal(err)
			}
			sorted := slices.Sorted(slices.Values(values))
			bounds := [][2]int64{
				{math.MinInt64, math.MaxInt64}, {1, 0}, {sorted[n/4], sorted[n/2]}, {sorted[n/4] + 1, sorted[n/2] - 1}, {sorted[n-1], math.MaxInt64},
				{math.MinInt64, sorted[0]}, {sorted[n/3], sorted[n/3]}, {sorted[0] + 1, sorted[n-1] - 1},
				{sorted[n-1] - unit, sorted[n-1] - 1}, {sorted[0] + unit, sorted[0] + 2*unit},
				{math.MinInt64, sorted[n/2]}, {sorted[n/2], math.MaxInt64}, {sorted[0] + 1, sorted[n-1]},
			}
			for _, b := range bounds {
				for _, run := range [][2]int{{0, n}, {1, 4097}, {4000, 4099}, {BlockRows - 3, BlockRows + 70}, {64, 128}, {n - 1, n}} {
					pass := vector.NewBitmap(run[1] - run[0])
					if err := c.SelectLongs(b[0], b[1], run[0], run[1], pass); err != nil {
						t.Fatal(err)
					}
					var want []uint32
					for i := run[0]; i < run[1]; i++ {
						if x, ok := rows[i][0].(int64); ok && b[0] <= x && x <= b[1] {
							want = append(want, uint32(i-run[0]))
						}
					}
					if got := pass.Rows(nil); !slices.Equal(got, want) {
						t.Fatalf("span of %d bits, unit %d, bounds %v, rows %v: %d rows, want %d", span, unit, b, run, len(got), len(want))
					}
				}
			}
			s.Release()
		}
	}
}

func BenchmarkSelectLongs(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, span := range []uint{4, 6, 8, 13, 24, 33, 64} {
		values := make([]int64, BlockRows)
		for i := range values {
			values[i] = 5 + int64(r.Uint64()>>(64-span))
		}
		f, data := encodeFrame(nil, values, nil, 0, make([]uint64, len(values)))
		data = slices.Concat(data, make([]byte, frameSlack))
		pass := vector.NewBitmap(BlockRows)
		b.Run(fmt.Sprintf("%d_bits", span), func(b *testing.B) {
			b.SetBytes(BlockRows)
			for b.Loop() {
				f.between(5+1<<(span-3), 5+1<<(span-2), data, 0, BlockRows, pass, 0)
			}
		})
		b.Run(fmt.Sprintf("%d_bits_one", span), func(b *testing.B) {
			b.SetBytes(BlockRows)
			for b.Loop() {
				f.between(values[7], values[7], data, 0, BlockRows, pass, 0)
			}
		})
	}
}

func BenchmarkSelectBytes(b *testing.B) {
	codes := make([]byte, BlockRows)
	r := rand.New(rand.NewPCG(1, 9))
	for i := range codes {
		codes[i] = byte(r.IntN(250))
	}
	pass := vector.NewBitmap(BlockRows)
	for name, f := range map[string]CodeFilter{
		"one": {First: 7}, "run": {First: 7, Span: 20}, "two": {Bits: []uint64{1 << 9, 1 << 40, 0, 0}}, "many": {Bits: []uint64{0xff00ff, 1 << 40, 0xff, 0}},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(BlockRows)
			for b.Loop() {
				selectBytes(codes, f, pass)
			}
		})
	}
}
