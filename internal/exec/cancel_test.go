package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// processorTime is what the process has used so far. A test that looks at it does not fail because
// the machine has other things to do.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heavyRows is the input of heavyPlans: more than littleMemory holds.
const (
	heavyRows    = 80_000
	littleMemory = 6 << 20
)

// heavyPlans are queries that hold all of their rows, or groups of nearly each.
func heavyPlans() map[string]plan.Node {
	r := rand.New(rand.NewPCG(11, 12))
	types := []vector.Type{long, str, double, str, long}
	b := vector.NewBatchBuilder(types, heavyRows)
	in := &plan.Inline{}
	for i, typ := range types {
		in.Out = append(in.Out, plan.Column{Name: fmt.Sprintf("c%d", i), Type: expr.FromRuntime(typ, false)})
	}
	for i := range heavyRows {
		b.Col(0).Append(int64(i))
		b.Col(1).Append(string(rune('a' + r.IntN(6))))
		b.Col(2).Append(float64(r.IntN(1000)))
		b.Col(3).Append(fmt.Sprintf("%016x", r.Uint64()))
		b.Col(4).Append(int64(r.IntN(heavyRows)))
		b.Grew(1, 0)
	}
	in.Rows = b.Build()
	return map[string]plan.Node{
		"groups":          &plan.Aggregate{Input: in, Keys: []int{3}, Aggs: typed(types, call("SUM", long, 0))},
		"groups of two":   &plan.Aggregate{Input: in, Keys: []int{1, 4}, Aggs: []plan.AggCall{call("COUNT", long)}},
		"sort":            &plan.Sort{Input: in, Keys: []plan.SortKey{{Column: 3}}, Limit: -1},
		"sort of groups":  &plan.Sort{Input: &plan.Aggregate{Input: in, Keys: []int{3, 4}}, Keys: []plan.SortKey{{Column: 1}}, Limit: -1},
		"join":            &plan.Join{Left: in, Right: in, Keys: []plan.EquiKey{{Left: 4, Right: 4}}},
		"intersection":    &plan.SetOp{Left: in, Right: in},
		"window":          &plan.Window{Input: in, Partition: []int{1}, Order: []plan.SortKey{{Column: 3}}},
		"window of parts": &plan.Window{Input: in, Partition: []int{4}},
	}
}

// A query that is cancelled, wherever it is, ends within the work of 100 ms for each of its
// threads, and leaves neither memory, spilled data nor goroutines: every operator, with memory and
// without, at many places of its run.
func TestCancelTakesEffectWhileOperatorsWork(t *testing.T) {
	const threads = 2
	why := errors.New("why it was cancelled")
	for name, node := range heavyPlans() {
		for memory, limit := range map[string]int64{"enough memory": 1 << 30, "little memory": littleMemory} {
			t.Run(name+", "+memory, func(t *testing.T) {
				cancelled := 0
				for wait := time.Millisecond; wait < 3*time.Second; wait = wait * 5 / 2 {
					disk := budget.DiskRoot(1 << 30)
					spill, err := budget.OpenSpillDir(t.TempDir(), disk)
					if err != nil {
						t.Fatal(err)
					}
					env := &Env{Threads: threads, Expr: &expr.Context{}, Budget: budget.Root(limit), Spill: spill}
					before := runtime.NumGoroutine()
					ctx, cancel := context.WithTimeoutCause(t.Context(), wait, why)
					var at time.Duration
					told := make(chan struct{})
					stop := context.AfterFunc(ctx, func() { defer close(told); at = processorTime(t) })
					op, err := Build(ctx, node, env)
					for err == nil {
						_, err = op.Next(ctx)
					}
					ended := processorTime(t)
					if op != nil {
						op.Close()
					}
					if !stop() {
						<-told
					}
					cancel()
					if used := env.Budget.Used(); used != 0 || disk.Used() != 0 {
						t.Errorf("after %v: %d bytes of memory and %d of disk are held", wait, used, disk.Used())
					}
					if err := spill.Close(); err != nil {
						t.Error(err)
					}
					for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
						runtime.Gosched() // to those that have nothing left to do but to return
					}
					if n := runtime.NumGoroutine(); n > before {
						t.Errorf("after %v: %d goroutines, %d before", wait, n, before)
					}
					if errors.Is(err, io.EOF) {
						break
					}
					if !errors.Is(err, why) {
						t.Fatalf("after %v: %v", wait, err)
					}
					cancelled++
					if took := ended - at; took > slowdown*threads*100*time.Millisecond {
						t.Errorf("after %v: %v of processor time until it ended", wait, took)
					}
				}
				if cancelled == 0 {
					t.Error("it was never cancelled")
				}
			})
		}
	}
}

// A disk without room for what a query spills ends the query with an error that says so, and
// nothing is left.
func TestAFullSpillDiskEndsQueries(t *testing.T) {
	spillsTo(t, t.TempDir(), budget.DiskRoot(256<<10), func(err error) bool {
		full, ok := errors.AsType[*budget.Exceeded](err)
		return ok && full.Disk
	})
}

// spillsTo runs the heavy plans where there is too little disk, which they must say.
func spillsTo(t *testing.T, dir string, disk *budget.Budget, says func(error) bool) {
	t.Helper()
	for name, node := range heavyPlans() {
		spill, err := budget.OpenSpillDir(dir, disk)
		if err != nil {
			t.Fatal(err)
		}
		env := &Env{Threads: 2, Expr: &expr.Context{}, Budget: budget.Root(littleMemory), Spill: spill}
		op, err := Build(t.Context(), node, env)
		for err == nil {
			_, err = op.Next(t.Context())
		}
		if op != nil {
			op.Close()
		}
		if !says(err) {
			t.Errorf("%s: %v", name, err)
		}
		if used := env.Budget.Used(); used != 0 || disk.Used() != 0 {
			t.Errorf("%s: %d bytes of memory and %d of disk are held", name, used, disk.Used())
		}
		if err := spill.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: files are left: %v %v", name, left, err)
		}
	}
}

// Ten heavy queries at once, on two cores and in memory that does for none of them, all give their
// rows.
func TestTenHeavyQueriesShareCoresAndMemory(t *testing.T) {
	const shares = 4 // of the memory, as the Broker gives each query
	memory, disk := budget.Root(shares*littleMemory), budget.DiskRoot(1<<30)
	spill, err := budget.OpenSpillDir(t.TempDir(), disk)
	if err != nil {
		t.Fatal(err)
	}
	sched := scheduler.New(2, clock.System())
	plans := heavyPlans()
	count := func(node plan.Node, env *Env) (rows int, err error) {
		op, err := Build(t.Context(), node, env)
		if err != nil {
			return 0, err
		}
		defer op.Close()
		err = Drain(t.Context(), op, func(b *vector.Batch) error { rows += b.Rows(); return nil })
		return rows, err
	}
	want := map[string]int{}
	for name, node := range plans {
		if want[name], err = count(node, &Env{Threads: 2, Expr: &expr.Context{}, Budget: budget.Root(1 << 30)}); err != nil || want[name] == 0 {
			t.Fatalf("%s: %d rows, %v", name, want[name], err)
		}
	}
	names := slices.Sorted(maps.Keys(plans))
	var all sync.WaitGroup
	for i := range 10 {
		name := names[i%len(names)]
		all.Go(func() {
			query := memory.Child(name, memory.Limit()/shares)
			defer query.Close()
			env := &Env{Threads: 2, Expr: &expr.Context{}, Budget: query, Spill: spill, Share: sched.Join()}
			defer env.Share.Leave()
			if rows, err := count(plans[name], env); err != nil || rows != want[name] {
				t.Errorf("%s: %d rows, want %d: %v", name, rows, want[name], err)
			}
			if used := query.Used(); used != 0 {
				t.Errorf("%s: %d bytes are held", name, used)
			}
		})
	}
	all.Wait()
	if memory.Used() != 0 || disk.Used() != 0 {
		t.Errorf("%d bytes of memory and %d of disk are held", memory.Used(), disk.Used())
	}
	if err := spill.Close(); err != nil {
		t.Error(err)
	}
}

// Texts of a MiB go through operators that have memory for a few of them at a time.
func TestTextsOfAMiB(t *testing.T) {
	const rows, different = 48, 16
	size := 1 << 20
	if testing.Short() {
		size = 64 << 10 // copies take long under the race detector
	}
	b := vector.NewBatchBuilder([]vector.Type{str, long}, rows)
	long1 := func(i int) string { return fmt.Sprintf("%s%02d", strings.Repeat("x", size), i) }
	for i := range rows {
		b.Col(0).Append(long1(i % different))
		b.Col(1).Append(int64(i))
		b.Grew(1, 0)
	}
	in := &plan.Inline{Rows: b.Build(), Out: []plan.Column{{Name: "s", Type: expr.Of(expr.Varchar)}, {Name: "n", Type: expr.Of(expr.BigInt)}}}
	for name, c := range map[string]struct {
		node plan.Node
		rows int
	}{
		"groups":       {&plan.Aggregate{Input: in, Keys: []int{0}, Aggs: typed([]vector.Type{str, long}, call("SUM", long, 1))}, different},
		"sort":         {&plan.Sort{Input: in, Keys: []plan.SortKey{{Column: 0}, {Column: 1}}, Limit: -1}, rows},
		"top":          {&plan.Sort{Input: in, Keys: []plan.SortKey{{Column: 0}, {Column: 1}}, Limit: 3}, 3},
		"join":         {&plan.Join{Left: in, Right: in, Keys: []plan.EquiKey{{}}}, rows * rows / different},
		"intersection": {&plan.SetOp{Left: in, Right: in}, rows},
	} {
		for _, batch := range []int{1, vector.BatchRows} {
			env := config{batch: batch, spill: int64(24 * size)}.env(t)
			op, err := Build(t.Context(), c.node, env)
			got, last := 0, ""
			for err == nil {
				var b *vector.Batch
				if b, err = op.Next(t.Context()); err != nil {
					break
				}
				b = b.Compact()
				for i := range b.N {
					s := b.Cols[0].StringAt(i)
					if len(s) != size+2 || s[:size] != long1(0)[:size] {
						t.Fatalf("%s: a text of %d bytes", name, len(s))
					}
					if name == "sort" && s < last {
						t.Errorf("%s: not in order", name)
					}
					last = s
				}
				got += b.N
			}
			if op != nil {
				op.Close()
			}
			if !errors.Is(err, io.EOF) || got != c.rows || env.Budget.Used() != 0 {
				t.Errorf("%s, %d rows a batch: %d rows, want %d, %d bytes held: %v", name, batch, got, c.rows, env.Budget.Used(), err)
			}
		}
	}
}
