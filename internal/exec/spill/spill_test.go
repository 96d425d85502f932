package spill

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/vector"
)

func resources(t *testing.T, memory int64) operator.Resources {
	t.Helper()
	disk := budget.DiskRoot(1 << 30)
	dir, err := budget.OpenSpillDir(t.TempDir(), disk)
	if err != nil {
		t.Fatal(err)
	}
	res := operator.Resources{Budget: budget.Root(memory), Spill: dir, BatchRows: 16}
	t.Cleanup(func() {
		if res.Budget.Used() != 0 || disk.Used() != 0 {
			t.Errorf("[%d] bytes of memory and [%d] of files are left", res.Budget.Used(), disk.Used())
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return res
}

// numbered returns rows from from on: each has its number, and a text of it.
func numbered(from, n int) *vector.Batch {
	b := vector.NewBatchBuilder([]vector.Type{vector.Long, vector.String}, n)
	for i := range n {
		b.Col(0).AppendLong(int64(from + i))
		b.Col(1).AppendString(fmt.Sprint("row ", from+i))
	}
	b.Grew(n, 0)
	return b.Build()
}

func TestPagesGiveEachRowInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 2))
	for _, memory := range []int64{1 << 10, 1 << 30} { // in little, few pages stay decoded
		for _, n := range []int{1, 7, 8, 9, 1000} {
			p, err := NewPages([]vector.Type{vector.Long, vector.String}, LeastPageRows, resources(t, memory))
			if err != nil {
				t.Fatal(err)
			}
			for from := 0; from < n; {
				some := min(1+r.IntN(20), n-from)
				if err := p.Add(numbered(from, some)); err != nil {
					t.Fatal(err)
				}
				from += some
			}
			if err := p.Finish(); err != nil {
				t.Fatal(err)
			}
			if p.Len() != n || p.PerPage() != LeastPageRows || p.Count() != (n+LeastPageRows-1)/LeastPageRows {
				t.Errorf("[%d] rows in [%d] pages of [%d], want [%d]", p.Len(), p.Count(), p.PerPage(), n)
			}
			for range 300 {
				row := r.IntN(n)
				number, err := p.Long(row)
				if err != nil {
					t.Fatal(err)
				}
				b, at, err := p.At(row)
				if err != nil {
					t.Fatal(err)
				}
				if text := b.Cols[1].StringAt(at); number != int64(row) || text != fmt.Sprint("row ", row) {
					t.Fatalf("row [%d] is [%d, %s]", row, number, text)
				}
			}
			p.Close()
		}
	}
}

func TestPagesAreSmallBesideTheMemory(t *testing.T) {
	for _, c := range []struct {
		row, memory int64
		want        int
	}{{8, 0, 512}, {8, 1 << 40, 4096}, {1 << 20, 1 << 40, LeastPageRows}, {100, 1 << 20, 256}} {
		if got := PageRows(c.row, c.memory, 4096); got != c.want {
			t.Errorf("rows of [%d] bytes with [%d] of memory: [%d] a page, want [%d]", c.row, c.memory, got, c.want)
		}
	}
}

// Equal keys meet in one file at each level, and every row is in one.
func TestPartitionsSpreadByKey(t *testing.T) {
	for _, level := range []int{0, 3, MaxLevel} {
		p := NewPartitions(resources(t, 1<<30), level)
		const rows, keys = 3000, 200
		for from := 0; from < rows; from += 10 {
			b := numbered(from, 10)
			key := make([]int64, b.N)
			for i := range key {
				key[i] = int64((from + i) % keys)
			}
			if err := p.WriteKeys([]*vector.Vector{vector.FromLongs(key)}, b.Cols, b.N); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		fileOf, seen, used := map[int64]int{}, 0, 0
		for f := range FanOut {
			op := p.Open(f)
			if op == nil {
				continue
			}
			used++
			err := operator.Drain(t.Context(), op, func(b *vector.Batch) error {
				b = b.Compact()
				seen += b.N
				for i := range b.N {
					key := b.Cols[0].LongAt(i) % keys
					if at, ok := fileOf[key]; ok && at != f {
						t.Errorf("level %d: key [%d] is in files [%d] and [%d]", level, key, at, f)
					}
					fileOf[key] = f
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			p.Drop(f)
			if p.Open(f) != nil {
				t.Errorf("file [%d] is there after it was dropped", f)
			}
		}
		if seen != rows || used < FanOut/2 {
			t.Errorf("level %d: [%d] rows in [%d] files, want [%d]", level, seen, used, rows)
		}
		p.Close()
	}
}
