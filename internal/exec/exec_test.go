package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is one way to run a plan; every test runs under all of them and expects the same answer.
type config struct {
	name  string
	batch int
	spill int64 // memory in bytes, 0: plenty and no spilling
	// shared lets the query number texts and remember observations as all queries of a process do.
	shared bool
	// many says how many groups are many.
	many manyGroups
}

var configs = []config{
	{name: "1", batch: 1}, {name: "3", batch: 3}, {name: "4096", batch: 4096}, {name: "spill", batch: 16, spill: 40 << 10},
	{name: "shared", batch: 64, shared: true}, {name: "shared, spill", batch: 16, spill: 40 << 10, shared: true},
	{name: "near", batch: 16, shared: true, many: manyGroups{near: 2, merge: 3}},
	{name: "near, spill", batch: 16, spill: 40 << 10, many: manyGroups{near: 2, merge: 3}},
	{name: "partitioned", batch: 16, shared: true, many: manyGroups{partition: 3, merge: 3}},
	{name: "partitioned, spill", batch: 16, spill: 200 << 10, shared: true, many: manyGroups{partition: 3}},
	{name: "striped", batch: 16, many: manyGroups{near: 2, cache: 1, partition: 3}},
	{name: "striped, spill", batch: 16, spill: 200 << 10, many: manyGroups{near: 2, cache: 1, partition: 3}},
}

func (c config) env(t testing.TB) *Env {
	t.Helper()
	env := &Env{BatchRows: c.batch, Threads: 2, Expr: &expr.Context{}, many: c.many}
	if c.spill == 0 {
		env.Budget = budget.Root(1 << 30)
		c.share(env)
		return env
	}
	env.Budget = budget.Root(c.spill)
	c.share(env)
	env.Threads = 1 // a budget this small holds the smallest tables of one worker only
	disk := budget.DiskRoot(1 << 30)
	dir, err := budget.OpenSpillDir(t.TempDir(), disk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if disk.Used() != 0 {
			t.Errorf("[%d] bytes of spill files are left", disk.Used())
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	env.Spill = dir
	return env
}

// share gives env what the queries of a process have in common, beside the query's own memory.
func (c config) share(env *Env) {
	if c.shared {
		env.GlobalDicts, env.Observations = keys.NewGlobalDicts(budget.Root(1<<20)), agg.NewObservations(budget.Root(1<<20))
	}
}

// rowsOf runs a plan and returns its rows, boxed. It checks what every operator promises.
func rowsOf(t testing.TB, node plan.Node, env *Env) ([][]any, error) {
	t.Helper()
	op, err := Build(context.Background(), node, env)
	if err != nil {
		return nil, err
	}
	return drained(t, node, op, env)
}

// unorderedRows is mustRows for whoever takes the rows in any order.
func unorderedRows(t testing.TB, node plan.Node, env *Env) [][]any {
	t.Helper()
	env = env.withDefaults(t.Context())
	op, err := begin(t.Context(), env, func(ctx context.Context) (Operator, *sharing, error) {
		op, err := build(ctx, node, env, wants{anyOrder: true})
		return op, nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := drained(t, node, op, env)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// drained returns the rows of an operator of node, which it closes.
func drained(t testing.TB, node plan.Node, op Operator, env *Env) (out [][]any, err error) {
	t.Helper()
	cols := node.Columns()
	err = Protect(func() error {
		return Drain(context.Background(), op, func(b *vector.Batch) error {
			if b.Rows() == 0 {
				t.Error("an operator gave an empty batch")
			}
			if len(b.Cols) != len(cols) {
				t.Fatalf("[%d] columns, the plan says [%d]", len(b.Cols), len(cols))
			}
			b = b.Compact()
			for i := range b.N {
				row := make([]any, len(cols))
				for c, v := range b.Cols {
					if v.Len != b.N {
						t.Fatalf("column %d has [%d] rows in a batch of [%d]", c, v.Len, b.N)
					}
					if v.Type != cols[c].Type.Runtime() {
						t.Fatalf("column %d is %s, the plan says %s", c, v.Type, cols[c].Type.Runtime())
					}
					row[c] = v.ValueAt(i)
				}
				out = append(out, row)
			}
			return nil
		})
	})
	op.Close()
	if used := env.Budget.Used(); used != 0 {
		t.Errorf("[%d] bytes are still reserved after Close", used)
	}
	return out, err
}

func mustRows(t testing.TB, node plan.Node, env *Env) [][]any {
	t.Helper()
	rows, err := rowsOf(t, node, env)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// everywhere runs a plan under all configurations. With -short, as under the race detector, it
// leaves out most of those of one thread.
func everywhere(t *testing.T, node plan.Node, check func(t *testing.T, rows [][]any)) {
	t.Helper()
	for i, c := range configs {
		if testing.Short() && c.spill != 0 && i > 3 {
			continue
		}
		t.Run(c.name, func(t *testing.T) { check(t, mustRows(t, node, c.env(t))) })
	}
}

// text is a row as a line, for comparing rows in any order.
func text(rows [][]any) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = fmt.Sprintf("%#v", r)
	}
	return out
}

func sortedText(rows [][]any) []string {
	out := text(rows)
	sort.Strings(out)
	return out
}

func sameRows(t *testing.T, want, got [][]any) {
	t.Helper()
	w, g := sortedText(want), sortedText(got)
	if slices.Equal(w, g) {
		return
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("rows differ (-want +got):\n%.3000s", diff)
	}
}

func sameOrder(t *testing.T, want, got [][]any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // most are, and this is found out much faster
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rows differ (-want +got):\n%.3000s", diff)
	}
}

// inline makes a relation of columns with the given physical types.
func inline(types []vector.Type, rows ...[]any) *plan.Inline {
	b := vector.NewBatchBuilder(types, len(rows))
	n := &plan.Inline{}
	for i, t := range types {
		n.Out = append(n.Out, plan.Column{Name: fmt.Sprintf("c%d", i), Type: expr.FromRuntime(t, false)})
	}
	for _, r := range rows {
		for i, v := range r {
			b.Col(i).Append(v)
		}
		b.Grew(1, 0)
	}
	n.Rows = b.Build()
	return n
}

var (
	long, double, str = vector.Long, vector.Double, vector.String
	testTypes         = []vector.Type{long, str, double, str, long}
)

// randomRows makes rows (id long, s text, d double, word text, k long) with nulls.
func randomRows(r *rand.Rand, n int) [][]any {
	rows := make([][]any, n)
	maybe := func(v any) any {
		if r.IntN(8) == 0 {
			return nil
		}
		return v
	}
	for i := range rows {
		rows[i] = []any{
			int64(i),
			maybe(string(rune('a' + r.IntN(6)))),
			maybe(float64(r.IntN(40)) / 4),
			maybe(strings.Repeat("word", r.IntN(3)) + fmt.Sprint(r.IntN(n/2+1))),
			maybe(int64(r.IntN(9) - 4)),
		}
	}
	return rows
}

func call(name string, typ vector.Type, args ...int) plan.AggCall {
	return plan.AggCall{Agg: agg.Spec{Name: name}, Args: args, Filter: -1, Name: name, Type: expr.FromRuntime(typ, false)}
}

// typed fills in the argument types of calls over columns of the given types.
func typed(types []vector.Type, calls ...plan.AggCall) []plan.AggCall {
	for i := range calls {
		for _, a := range calls[i].Args {
			calls[i].Agg.Args = append(calls[i].Agg.Args, types[a])
		}
	}
	return calls
}
