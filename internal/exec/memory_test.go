package exec

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// heapWatch is a context that looks at the live heap each time so many batches were asked whether
// to stop.
type heapWatch struct {
	context.Context
	every, asked int
	peak         uint64
}

func (w *heapWatch) Err() error {
	if w.asked++; w.asked%w.every == 0 {
		w.peak = max(w.peak, liveHeap())
	}
	return w.Context.Err()
}

// liveHeap returns the bytes of the heap that are in use. Nobody else may allocate meanwhile.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// visits makes segments of rows with a text that hardly any two rows share, one of few texts, and a
// number.
func visits(t *testing.T, segments, rows int) *store {
	t.Helper()
	specs := []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "session", Type: str}, {Name: "campaign", Type: str}, {Name: "ms", Type: long}}
	types := make([]vector.Type, len(specs))
	for i, c := range specs {
		types[i] = c.Type
	}
	s := &store{t: t}
	for k := range segments {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.seg", k))
		w, err := segment.Create(path, segment.Options{Columns: specs, SortOrder: []string{"__time"}, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for lo := 0; lo < rows; lo += vector.BatchRows {
			n := min(vector.BatchRows, rows-lo)
			b := vector.NewBatchBuilder(types, n)
			for i := range n {
				row := k*rows + lo + i
				b.Col(0).AppendLong(int64(row))
				b.Col(1).AppendString(fmt.Sprintf("%016x", vector.HashLong(uint64(row-row%16/15*8))))
				b.Col(2).AppendString(fmt.Sprintf("campaign-%03d", vector.HashLong(uint64(row))%500))
				b.Col(3).AppendLong(int64(row % 977))
			}
			b.Grew(n, 0)
			if err := w.Append(t.Context(), b.Build()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		seg, err := segment.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(seg.Release)
		s.leaves = append(s.leaves, Leaf{Reader: seg, Visible: chrono.Eternity})
	}
	return s
}

// What a query holds beyond what it has reserved is little: tables that grow, dictionaries that are
// decoded, texts that all queries number, and the few rows that a top-N keeps of all groups.
func TestGroupsBeyondTheMemoryStayWithinIt(t *testing.T) {
	const limit, slack = 24 << 20, 6 << 20
	s := visits(t, 4, 150_000)
	memory := budget.Root(limit)
	segment.KeepDictionaries(memory)
	defer segment.KeepDictionaries(budget.Root(1 << 30))
	env := config{batch: vector.BatchRows, spill: limit}.env(t)
	env.Budget, env.GlobalDicts, env.Tables = memory.Child("a query", budget.Unlimited), keys.NewGlobalDicts(memory), s

	scan := &plan.Scan{DataSource: "visits", Limit: -1}
	for _, name := range []string{"session", "campaign", "ms"} {
		typ := str
		if name == "ms" {
			typ = long
		}
		scan.Out = append(scan.Out, plan.Column{Name: name, Type: expr.FromRuntime(typ, false)})
	}
	groups := &plan.Aggregate{Input: scan, Keys: []int{0, 1}, Aggs: typed([]vector.Type{str, str, long}, call("SUM", long, 2), call("COUNT", long))}
	top := &plan.Sort{Input: groups, Keys: []plan.SortKey{{Column: 2, Desc: true}, {Column: 0}}, Limit: 3}

	watch := &heapWatch{Context: t.Context(), every: 16}
	before := liveHeap()
	op, err := Build(watch, top, env)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	if err := Drain(watch, op, func(b *vector.Batch) error { rows += b.Rows(); return nil }); err != nil {
		t.Fatal(err)
	}
	op.Close()
	if rows != 3 {
		t.Errorf("[%d] rows, want 3", rows)
	}
	if peak := memory.Peak(); peak < limit/2 || peak > limit {
		t.Errorf("at most [%d] bytes were reserved of [%d]", peak, limit)
	}
	if watch.peak > before+limit+slack {
		t.Errorf("the query held [%d] bytes under a limit of [%d]", watch.peak-before, limit)
	}
}

// When the groups of a query are merged, other queries may just hold nearly all memory: what is
// left then is no bound for the parts, which have what is spared.
func TestGroupsAreMergedWhenMemoryIsNearlyGone(t *testing.T) {
	node := heavyPlans()["groups"]
	for _, left := range []int64{520 << 10, 540 << 10} { // little of it is free at that moment
		memory, disk := budget.Root(4*littleMemory), budget.DiskRoot(1<<30)
		spill, err := budget.OpenSpillDir(t.TempDir(), disk)
		if err != nil {
			t.Fatal(err)
		}
		others := memory.Child("other queries", budget.Unlimited)
		if !others.TryReserve(memory.Free() - left) {
			t.Fatal("there is less memory than is free")
		}
		env := &Env{Threads: 2, Expr: &expr.Context{}, Budget: memory.Child("a query", budget.Unlimited), Spill: spill}
		op, err := Build(t.Context(), node, env)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		if err := Drain(t.Context(), op, func(b *vector.Batch) error { rows += b.Rows(); return nil }); err != nil || rows != heavyRows {
			t.Errorf("with [%d] bytes: [%d] rows of [%d], %v", left, rows, heavyRows, err)
		}
		op.Close()
		others.Close()
		if err := spill.Close(); err != nil {
			t.Error(err)
		}
	}
}
