package extsort

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// resources are those of a query with so much memory; little has room for few rows, so that runs go
// to files.
func resources(t *testing.T, memory int64) operator.Resources {
	t.Helper()
	disk := budget.DiskRoot(1 << 30)
	dir, err := budget.OpenSpillDir(t.TempDir(), disk)
	if err != nil {
		t.Fatal(err)
	}
	res := operator.Resources{Budget: budget.Root(memory), Spill: dir, BatchRows: 64}
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

type pair struct{ key, number int64 }

// pairs are rows with few keys, and numbers in the order in which they come.
func pairs(n int) []pair {
	r := rand.New(rand.NewPCG(36, 1))
	out := make([]pair, n)
	for i := range out {
		out[i] = pair{r.Int64N(int64(n/4 + 1)), int64(i)}
	}
	return out
}

func batchOf(rows []pair) *vector.Batch {
	b := vector.NewBatchBuilder([]vector.Type{vector.Long, vector.Long}, len(rows))
	for _, p := range rows {
		b.Col(0).AppendLong(p.key)
		b.Col(1).AppendLong(p.number)
	}
	b.Grew(len(rows), 0)
	return b.Build()
}

func rowsOf(t *testing.T, op operator.Operator) (out []pair) {
	t.Helper()
	err := operator.Drain(t.Context(), op, func(b *vector.Batch) error {
		b = b.Compact()
		for i := range b.N {
			out = append(out, pair{b.Cols[0].LongAt(i), b.Cols[1].LongAt(i)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func byKey(a, b pair) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.number, b.number)) }

func TestRowsComeInOrderWhereverTheirRunsAre(t *testing.T) {
	types, keys := []vector.Type{vector.Long, vector.Long}, []plan.SortKey{{Column: 0}, {Column: 1}}
	for name, memory := range map[string]int64{"in memory": 1 << 30, "in files": 4 << 10} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 63, 9000} {
				rows := pairs(n)
				sorted := slices.SortedFunc(slices.Values(rows), byKey)
				over := Over(operator.Batches(batchOf(rows), 100), types, keys, resources(t, memory))
				if got := rowsOf(t, over); !slices.Equal(sorted, got) {
					t.Errorf("[%d] rows are not in order", n)
				}
				over.Close()
			}
		})
	}
}

// Workers of one sort with a limit give no more than can count, and tell what lies last.
func TestWorkersWithALimitKeepWhatCanCount(t *testing.T) {
	rows := pairs(20_000)
	told := int64(1 << 62)
	spec := &Spec{
		Resources: resources(t, 1<<30), Types: []vector.Type{vector.Long, vector.Long}, Keys: []plan.SortKey{{Column: 0}, {Column: 1}},
		Offset: 5, Limit: 20, OnLast: func(key int64) { told = min(told, key) },
	}
	var runs []operator.Operator
	for part := range slices.Chunk(rows, 10_000) {
		s := NewSorter(spec)
		defer s.Close()
		if !s.Empty() {
			t.Error("a new sorter has rows")
		}
		for some := range slices.Chunk(part, 100) {
			if err := s.Add(batchOf(some)); err != nil {
				t.Fatal(err)
			}
		}
		more, err := s.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, more...)
	}
	got := rowsOf(t, spec.Merge(runs))
	want := slices.SortedFunc(slices.Values(rows), byKey)
	if len(got) < int(spec.Keep()) || len(got) > 4*2*greatestCut || !slices.Equal(want[:spec.Keep()], got[:spec.Keep()]) {
		t.Errorf("[%d] rows, of which the first differ", len(got))
	}
	if told < want[spec.Keep()-1].key || told > want[len(want)-1].key {
		t.Errorf("the last row that can count has [%d], it is [%d] in the end", told, want[spec.Keep()-1].key)
	}
}

// Without files, what does not fit is refused.
func TestRowsThatDoNotFitAreRefused(t *testing.T) {
	res := resources(t, 20<<10)
	res.Spill = nil
	over := Over(operator.Batches(batchOf(pairs(5000)), 100), []vector.Type{vector.Long, vector.Long}, []plan.SortKey{{}}, res)
	defer over.Close()
	if _, err := over.Next(t.Context()); err == nil {
		t.Error("the rows fit in memory")
	}
}
