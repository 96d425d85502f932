package segment

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

var eventColumns = []ColumnSpec{
	{Name: TimeColumn, Type: vector.Long},
	{Name: "d7", Type: vector.String},
	{Name: "d250", Type: vector.String},
	{Name: "d5k", Type: vector.String},
	{Name: "user", Type: vector.String},
	{Name: "bytes", Type: vector.Long},
	{Name: "price", Type: vector.Double},
}

// eventBatches returns n rows of events in batches: strings flat if they are so parsed, else as
// codes; times nearly ascending.
func eventBatches(n int, flat bool) []*vector.Batch {
	r := rand.New(rand.NewPCG(1, 1))
	dict := func(card int) *vector.Dict {
		entries := make([]string, card)
		for i := range entries {
			entries[i] = fmt.Sprintf("value-%07d", i)
		}
		return vector.NewDict(entries)
	}
	dicts := []*vector.Dict{dict(7), dict(250), dict(5000), dict(n / 5)}
	var out []*vector.Batch
	for at := 0; at < n; at += BlockRows {
		m := min(BlockRows, n-at)
		b := &vector.Batch{N: m}
		times, sizes, prices := make([]int64, m), make([]int64, m), make([]float64, m)
		for i := range m {
			times[i] = 1700000000000 + int64(at+i)*130 + int64(r.IntN(60000))
			sizes[i] = int64(r.ExpFloat64() * 20000)
			prices[i] = r.Float64() * 100
		}
		b.Cols = append(b.Cols, vector.FromLongs(times))
		for _, d := range dicts {
			codes := make([]uint32, m)
			for i := range codes {
				codes[i] = uint32(r.IntN(d.Len()))
			}
			v := vector.FromCodes(codes, d)
			if flat {
				v = v.Flat()
			}
			b.Cols = append(b.Cols, v)
		}
		b.Cols = append(b.Cols, vector.FromLongs(sizes), vector.FromDoubles(prices))
		out = append(out, b)
	}
	return out
}

func BenchmarkWrite(b *testing.B) {
	const rows = 500_000
	for _, flat := range []bool{true, false} {
		for _, runs := range []int{1, 8} {
			b.Run(fmt.Sprintf("flat=%t/runs=%d", flat, runs), func(b *testing.B) {
				batches := eventBatches(rows, flat)
				b.ReportAllocs()
				var size int64
				for b.Loop() {
					w, err := NewWriter(io.Discard, Options{Columns: eventColumns, SortOrder: []string{TimeColumn, "d7"}, TempDir: b.TempDir()})
					if err != nil {
						b.Fatal(err)
					}
					for i, batch := range batches {
						if err := w.Append(context.Background(), batch); err != nil {
							b.Fatal(err)
						}
						if runs > 1 && (i+1)%(len(batches)/runs) == 0 {
							if err := w.spill(context.Background()); err != nil {
								b.Fatal(err)
							}
						}
					}
					info, err := w.Finish(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					size = info.Size
				}
				b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
				b.ReportMetric(float64(size)/rows, "B/row")
			})
		}
	}
}

func eventFile(b *testing.B, rows int) *Segment {
	path := filepath.Join(b.TempDir(), "events.segment")
	w, err := Create(path, Options{Columns: eventColumns, SortOrder: []string{TimeColumn}})
	if err != nil {
		b.Fatal(err)
	}
	for _, batch := range eventBatches(rows, false) {
		if err := w.Append(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Finish(context.Background()); err != nil {
		b.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Release)
	return s
}

func BenchmarkRead(b *testing.B) {
	const rows = 1_000_000
	s := eventFile(b, rows)
	for _, spec := range eventColumns {
		b.Run(spec.Name, func(b *testing.B) {
			c, err := s.Column(spec.Name)
			if err != nil {
				b.Fatal(err)
			}
			var buf Buffer
			for b.Loop() {
				for at := 0; at < rows; at += BlockRows {
					if _, err := c.Read(&buf, at, min(at+BlockRows, rows)); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func BenchmarkBitmap(b *testing.B) {
	s := eventFile(b, 1_000_000)
	c, err := s.Column("d250")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Bitmap(17); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	s := eventFile(b, 1_000_000)
	for b.Loop() {
		o, err := Open(s.Name())
		if err != nil {
			b.Fatal(err)
		}
		o.Release()
	}
}
