package exec

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// naive groups rows by the values of keys, in key order with nulls first.
func naive(rows [][]any, keys []int, result func(key []any, group [][]any) []any) [][]any {
	groups := map[string][][]any{}
	var order [][]any
	for _, r := range rows {
		key := make([]any, len(keys))
		for i, k := range keys {
			key[i] = r[k]
		}
		id := fmt.Sprintf("%#v", key)
		if groups[id] == nil {
			order = append(order, key)
		}
		groups[id] = append(groups[id], r)
	}
	slices.SortFunc(order, compareValues)
	var out [][]any
	for _, key := range order {
		out = append(out, result(key, groups[fmt.Sprintf("%#v", key)]))
	}
	return out
}

func compareValues(a, b []any) int {
	for i := range a {
		if c := compareValue(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func compareValue(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	}
	return 0
}

func TestAggregateAgreesWithGroupingRowByRow(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(1, 1)), 700)
	calls := func() []plan.AggCall {
		c := typed(testTypes, call("COUNT", long), call("COUNT", long, 2), call("SUM", long, 0), call("SUM", double, 2), call("MIN", str, 3),
			call("MAX", long, 4), call("COUNT", long, 3), call("SUM", long, 4), call("COUNT", long, 3, 4), call("ARRAY_AGG", vector.ListOf(long), 4))
		c[2].Filter = 4
		c[6].Distinct, c[7].Distinct, c[8].Distinct, c[9].Distinct = true, true, true, true
		c[7].Filter = 4
		return c
	}
	for _, keys := range [][]int{{1}, {4}, {1, 4}, {3}, {2, 1}, {3, 2, 4, 1}, {}} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			want := naive(rows, keys, func(key []any, group [][]any) []any {
				count, sum, dsum := int64(0), any(nil), any(nil)
				var low, high any
				words, ks, pairs := map[string]bool{}, map[int64]bool{}, map[string]bool{}
				ksum := any(nil)
				var array []any
				for _, r := range group {
					if r[2] != nil {
						count++
						d, _ := dsum.(float64)
						dsum = d + r[2].(float64)
					}
					k, isLong := r[4].(int64)
					if isLong && k > 0 {
						s, _ := sum.(int64)
						sum = s + r[0].(int64)
						if !ks[k] {
							s, _ := ksum.(int64)
							ksum = s + k
						}
						ks[k] = true
					}
					if r[3] != nil {
						words[r[3].(string)] = true
						if isLong {
							pairs[fmt.Sprint(r[3], "/", k)] = true
						}
					}
					if r[3] != nil && (low == nil || r[3].(string) < low.(string)) {
						low = r[3]
					}
					if isLong && (high == nil || k > high.(int64)) {
						high = k
					}
					if !slices.Contains(array, r[4]) {
						array = append(array, r[4])
					}
				}
				slices.SortFunc(array, compareValue)
				return append(slices.Clone(key), int64(len(group)), count, sum, dsum, low, high, int64(len(words)), ksum, int64(len(pairs)), array)
			})
			node := &plan.Aggregate{Input: inline(testTypes, rows...), Keys: keys, Aggs: calls()}
			everywhere(t, node, func(t *testing.T, got [][]any) { sameOrder(t, want, got) })
		})
	}
}

func TestAggregateOverNoRows(t *testing.T) {
	none := inline(testTypes)
	calls := typed(testTypes, call("COUNT", long), call("SUM", long, 0))
	everywhere(t, &plan.Aggregate{Input: none, Aggs: calls}, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{{int64(0), nil}}, got)
	})
	everywhere(t, &plan.Aggregate{Input: none, Keys: []int{1}, Aggs: calls}, func(t *testing.T, got [][]any) {
		sameOrder(t, nil, got)
	})
	everywhere(t, &plan.Aggregate{Input: none, Keys: []int{1}, Sets: [][]int{{0}, {}}, Grouping: true, Aggs: calls},
		func(t *testing.T, got [][]any) { sameOrder(t, nil, got) })
	everywhere(t, &plan.Aggregate{Input: none, Sets: [][]int{{}}, Aggs: calls},
		func(t *testing.T, got [][]any) { sameOrder(t, [][]any{{int64(0), nil}}, got) })
}

func TestGroupingSets(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(2, 1)), 300)
	count := func(key []any, group [][]any) []any { return append(slices.Clone(key), int64(len(group))) }
	var want [][]any
	for _, r := range naive(rows, []int{1, 4}, count) {
		want = append(want, append(r, int64(0)))
	}
	for _, r := range naive(rows, []int{4}, count) {
		want = append(want, []any{nil, r[0], r[1], int64(2)})
	}
	want = append(want, []any{nil, nil, int64(len(rows)), int64(3)}, []any{nil, nil, int64(len(rows)), int64(3)})
	node := &plan.Aggregate{Input: inline(testTypes, rows...), Keys: []int{1, 4}, Sets: [][]int{{0, 1}, {1}, {}, {}}, Grouping: true,
		Aggs: []plan.AggCall{call("COUNT", long)}}
	everywhere(t, node, func(t *testing.T, got [][]any) { sameRows(t, want, got) })
}

func TestGroupKeysOfEveryType(t *testing.T) {
	list := vector.ListOf(str)
	types := []vector.Type{double, vector.Float, list, vector.JSON}
	nan, negZero := math.NaN(), math.Copysign(0, -1)
	rows := [][]any{
		{nan, float32(1), []any{"a", nil}, `{"a":1}`}, {-nan, float32(1), []any{"a", nil}, `{"a":1}`},
		{0.0, nil, []any{}, nil}, {0.0, nil, []any{}, nil}, {negZero, nil, []any{}, nil},
		{nil, float32(2), nil, "x"}, {nil, float32(2), nil, "x"}, {nil, float32(2), []any{}, "x"},
	}
	node := &plan.Aggregate{Input: inline(types, rows...), Keys: []int{0, 1, 2, 3}, Aggs: []plan.AggCall{call("COUNT", long)}}
	everywhere(t, node, func(t *testing.T, got [][]any) {
		sameOrder(t, [][]any{
			{nil, float32(2), nil, "x", int64(2)}, {nil, float32(2), []any{}, "x", int64(1)},
			{negZero, nil, []any{}, nil, int64(1)}, {0.0, nil, []any{}, nil, int64(2)}, {nan, float32(1), []any{"a", nil}, `{"a":1}`, int64(2)},
		}, got)
	})
}

// TestDirectTableAgreesWithTable feeds batches whose dictionaries, encodings and ranges change, so
// that the direct-address table is made, dropped and made again, and compares each number with a
// plain map.
func TestDirectTableAgreesWithTable(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	table := keys.NewTable([]vector.Type{str, long, str}, nil)
	want := map[string]uint32{}
	for round := range 2000 {
		n := 1 + r.IntN(50)
		s, s2 := randomText(r, n, round), randomText(r, n, round)
		b := vector.NewBuilder(long, n)
		for range n {
			b.Append([]any{int64(r.IntN(4)), nil, int64(r.IntN(round + 1))}[r.IntN(3)])
		}
		k := b.Build()
		if r.IntN(5) == 0 {
			k = vector.Constant(long, int64(round%7), n)
		}
		for i, g := range table.Find([]*vector.Vector{s, k, s2}, n) {
			key := fmt.Sprintf("%#v %#v %#v", s.ValueAt(i), k.ValueAt(i), s2.ValueAt(i))
			if w, ok := want[key]; ok && w != g {
				t.Fatalf("round %d: key %s has numbers %d and %d", round, key, w, g)
			} else if !ok {
				if int(g) != len(want) {
					t.Fatalf("round %d: new key %s has number %d, want %d", round, key, g, len(want))
				}
				want[key] = g
			}
		}
	}
	keys := table.Keys(0, table.Len())
	for key, g := range want {
		if got := fmt.Sprintf("%#v %#v %#v", keys[0].ValueAt(int(g)), keys[1].ValueAt(int(g)), keys[2].ValueAt(int(g))); got != key {
			t.Errorf("number %d gives key %s, want %s", g, got, key)
		}
	}
}

// testDicts are what randomText codes into; they stay the same, as those of segments do.
var testDicts = []*vector.Dict{
	vector.NewDict([]string{"a", "b"}), vector.NewDict([]string{"a", "b", "c"}), vector.NewDict([]string{"b", "c", "d", "e"}),
}

// randomText makes n texts in some encoding; those of rounds near each other are alike.
func randomText(r *rand.Rand, n, round int) *vector.Vector {
	dict := testDicts[round/10%len(testDicts)]
	switch r.IntN(9) {
	case 0:
		return vector.Nulls(str, n)
	case 1:
		return vector.Constant(str, []any{"b", "c"}[r.IntN(2)], n)
	case 2:
		b := vector.NewBuilder(str, n)
		for range n {
			b.Append([]any{"a", "x", nil}[r.IntN(3)])
		}
		return b.Build()
	case 3:
		v := vector.FromCodes([]uint32{uint32(r.IntN(dict.Len()))}, dict)
		v.Const, v.Len = true, n
		return v
	}
	codes := make([]uint32, n)
	for i := range codes {
		codes[i] = uint32(r.IntN(dict.Len()))
	}
	v := vector.FromCodes(codes, dict)
	if r.IntN(2) == 0 {
		v.Valid = vector.FullBitmap(n)
		v.Valid.Clear(r.IntN(n))
	}
	return v
}

func TestAggregateRefusesWhatDoesNotFit(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(4, 1)), 2000)
	env := config{batch: 64, spill: 16 << 10}.env(t)
	env.Spill = nil
	node := &plan.Aggregate{Input: inline(testTypes, rows...), Keys: []int{0, 3}, Aggs: []plan.AggCall{call("COUNT", long)}}
	_, err := rowsOf(t, node, env)
	if f := fault.Find(err); f == nil || f.Legacy != fault.LegacyResourceLimit {
		t.Errorf("grouping without memory and without spilling: %v", err)
	}
}

func TestAggregateChecksItsCalls(t *testing.T) {
	node := &plan.Aggregate{Input: inline(testTypes), Aggs: []plan.AggCall{{Agg: agg.Spec{Name: "SUM", Args: []vector.Type{str}},
		Args: []int{1}, Filter: -1, Type: expr.Of(expr.BigInt)}}}
	if _, err := rowsOf(t, node, configs[0].env(t)); err == nil {
		t.Error("SUM of text was built")
	}
}

// Workers with little memory between them spill; none is refused what another holds.
func TestWorkersShareLittleMemory(t *testing.T) {
	s := &store{t: t}
	r := rand.New(rand.NewPCG(7, 7))
	for k := range 4 {
		rows := events(r, int64(k)*100_000_000, 2500)
		for i := range rows {
			rows[i][3] = fmt.Sprintf("word %d", r.IntN(4000))
		}
		s.addSegment(chrono.Eternity, eventSchema, true, rows)
	}
	distinct := call("COUNT", long, 2)
	distinct.Distinct = true
	for name, node := range map[string]plan.Node{
		"groups": &plan.Aggregate{Input: scanOf(nil, "word", "k"), Keys: []int{0}, Aggs: typed([]vector.Type{str, long}, call("SUM", long, 1), call("COUNT", long))},
		"distinct": &plan.Aggregate{Input: scanOf(nil, "word", "k", "__time"), Keys: []int{0},
			Aggs: typed([]vector.Type{str, long, long}, call("MAX", long, 1), distinct)},
	} {
		want, err := rowsOf(t, node, &Env{Tables: s, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, memory := range []int64{300 << 10, 400 << 10, 600 << 10, 1 << 20} {
			for _, shared := range []bool{false, true} {
				env := config{batch: 4096, spill: memory, shared: shared}.env(t)
				env.Tables, env.Threads = s, 2
				got, err := rowsOf(t, node, env)
				if err != nil {
					t.Fatalf("%s in %d bytes: %v", name, memory, err)
				}
				sameOrder(t, want, got)
				if env.Budget.Used() != 0 {
					t.Errorf("%s in %d bytes: [%d] bytes are left", name, memory, env.Budget.Used())
				}
			}
		}
	}
}

// Tables that are put together share the numbers of the first one; texts that are computed have
// none.
func TestUnionsHaveTheGlobalDictOfTheirFirstTable(t *testing.T) {
	env := &Env{GlobalDicts: keys.NewGlobalDicts(budget.Root(1 << 20))}
	a, b := scanOf(nil, "s", "word"), scanOf(nil, "word", "s")
	b.DataSource = "other"
	computed := &plan.Project{Input: b, Exprs: []expr.Expr{column(0, str), &expr.Literal{Value: "x", T: expr.Of(expr.Varchar)}},
		Names: []string{"a", "b"}}
	if got := env.globalDict(&plan.Union{Ins: []plan.Node{a, b}, Out: a.Out}, 1); got == nil || got != env.globalDict(a, 1) {
		t.Errorf("the union has %v, want that of its first table", got)
	}
	if got := env.globalDict(&plan.Union{Ins: []plan.Node{a, computed}, Out: a.Out}, 0); got == nil || got != env.globalDict(a, 0) {
		t.Errorf("the union has %v, want that of its first table", got)
	}
	if got := env.globalDict(&plan.Union{Ins: []plan.Node{a, computed}, Out: a.Out}, 1); got != nil {
		t.Errorf("a union with computed texts has %v, want none", got)
	}
}
