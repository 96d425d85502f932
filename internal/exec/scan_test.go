package exec

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/expr/stringfn"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// store is a datasource of segment files; it checks that every segment handed out is released.
type store struct {
	t      testing.TB
	leaves []Leaf
	out    atomic.Int64
}

// counted is a Reader that tells its store when it is released.
type counted struct {
	segment.Reader
	s *store
}

func (c counted) Release() { c.s.out.Add(-1); c.Reader.Release() }

func (s *store) Leaves(context.Context, *plan.Scan, []string) ([]Leaf, error) {
	out := slices.Clone(s.leaves)
	for i, l := range out {
		if !l.Reader.Acquire() {
			s.t.Error("a segment of the store is closed")
		}
		s.out.Add(1)
		out[i].Reader = counted{l.Reader, s}
	}
	return out, nil
}

var eventSchema = []segment.ColumnSpec{
	{Name: "__time", Type: long}, {Name: "s", Type: str}, {Name: "d", Type: double}, {Name: "word", Type: str}, {Name: "k", Type: long},
	{Name: "tags", Type: vector.ListOf(str), Multi: true},
}

// addSegment writes rows (of eventSchema) to a file and adds it.
func (s *store) addSegment(visible chrono.Interval, specs []segment.ColumnSpec, sorted bool, rows [][]any) {
	s.t.Helper()
	types := make([]vector.Type, len(specs))
	for i, c := range specs {
		types[i] = c.Type
	}
	opts := segment.Options{Columns: specs, TempDir: s.t.TempDir()}
	if sorted {
		opts.SortOrder = []string{"__time"}
	}
	path := filepath.Join(s.t.TempDir(), fmt.Sprintf("%d.seg", len(s.leaves)))
	w, err := segment.Create(path, opts)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := w.Append(context.Background(), inline(types, rows...).Rows); err != nil {
		s.t.Fatal(err)
	}
	if _, err := w.Finish(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	seg, err := segment.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.leaves = append(s.leaves, Leaf{Reader: seg, Visible: visible})
	s.t.Cleanup(func() {
		if n := s.out.Load(); n != 0 {
			s.t.Errorf("[%d] segments were not released", n)
			s.out.Store(0)
		}
		seg.Release()
	})
}

// events makes n rows of eventSchema with times from start on, one second apart.
func events(r *rand.Rand, start int64, n int) [][]any {
	rows := make([][]any, n)
	for i, base := range randomRows(r, n) {
		var tags any
		if k := r.IntN(4); k > 0 {
			list := make([]any, k)
			for j := range list {
				list[j] = string(rune('p' + r.IntN(5)))
			}
			tags = list
		}
		rows[i] = []any{start + int64(i)*1000, base[1], base[2], base[3], base[4], tags}
	}
	return rows
}

func scanOf(filter expr.Expr, names ...string) *plan.Scan {
	n := &plan.Scan{DataSource: "events", Filter: filter, Limit: -1}
	for _, name := range names {
		for _, c := range eventSchema {
			if c.Name == name {
				n.Out = append(n.Out, plan.Column{Name: name, Type: expr.FromRuntime(c.Type, c.Multi)})
			}
		}
	}
	return n
}

func compare(t testing.TB, op string, a, b expr.Expr) expr.Expr {
	t.Helper()
	e, err := expr.NewCompare(op, a, b, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func text1(s string) expr.Expr  { return &expr.Literal{Value: s, T: expr.Of(expr.Varchar).NotNull()} }
func number1(n int64) expr.Expr { return &expr.Literal{Value: n, T: expr.Of(expr.BigInt).NotNull()} }

func TestScanAgreesWithFilteringRows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	s := &store{t: t}
	var all [][]any
	visible := chrono.Interval{Start: 1_000_000, End: 1_900_000}
	for i := range 3 {
		rows := events(r, int64(i)*1_000_000, 1000)
		if i == 2 {
			slices.Reverse(rows)
		}
		iv := chrono.Interval{Start: int64(i) * 1_000_000, End: int64(i+1) * 1_000_000}
		if i == 1 {
			iv = visible // the last 100 rows are hidden by a newer segment
		}
		s.addSegment(iv, eventSchema, i < 2, rows)
		for _, row := range rows {
			if iv.Start <= row[0].(int64) && row[0].(int64) < iv.End {
				all = append(all, row)
			}
		}
	}
	names := []string{"__time", "s", "d", "word", "k", "tags"}
	col := func(i int) *expr.Column {
		return &expr.Column{Index: i, Name: names[i], T: expr.FromRuntime(eventSchema[i].Type, eventSchema[i].Multi)}
	}
	and := func(terms ...expr.Expr) expr.Expr { return &expr.And{Terms: terms} }
	has := func(row []any, tag string) bool {
		list, _ := row[5].([]any)
		return slices.Contains(list, any(tag))
	}
	word := all[17][3]
	if word == nil {
		word = all[18][3]
	}
	for _, c := range []struct {
		name   string
		filter expr.Expr
		times  []chrono.Interval
		keep   func(row []any) bool
	}{
		{"all", nil, nil, func([]any) bool { return true }},
		{"text", compare(t, "=", col(1), text1("c")), nil, func(r []any) bool { return r[1] == "c" }},
		{"absent", compare(t, "=", col(1), text1("nothing")), nil, func([]any) bool { return false }},
		{"rare", compare(t, "=", col(3), text1(word.(string))), nil, func(r []any) bool { return r[3] == word }},
		{"rare and", and(compare(t, "=", text1(word.(string)), col(3)), compare(t, ">", col(4), number1(-2))), nil,
			func(r []any) bool { return r[3] == word && r[4] != nil && r[4].(int64) > -2 }},
		{"not equal", compare(t, "<>", col(1), text1("c")), nil, func(r []any) bool { return r[1] != nil && r[1] != "c" }},
		{"like", likeExpr(t, col(3), "%word1_"), nil, func(r []any) bool {
			w, _ := r[3].(string)
			at := strings.LastIndex(w, "word1")
			return at >= 0 && len(w) == at+len("word1")+1
		}},
		{"null", isNull(t, col(3)), nil, func(r []any) bool { return r[3] == nil }},
		{"tag", compare(t, "=", col(5), text1("q")), nil, func(r []any) bool { return has(r, "q") }},
		{"number", compare(t, ">", col(4), number1(2)), nil, func(r []any) bool { return r[4] != nil && r[4].(int64) > 2 }},
		{"text range", compare(t, "<", col(1), text1("c")), nil, func(r []any) bool { return r[1] != nil && r[1].(string) < "c" }},
		{"times", compare(t, "=", col(1), text1("a")), []chrono.Interval{{Start: 500_000, End: 1_200_500}, {Start: 2_500_000, End: 2_500_001}},
			func(r []any) bool {
				ms := r[0].(int64)
				return r[1] == "a" && (500_000 <= ms && ms < 1_200_500 || ms == 2_500_000)
			}},
		{"no times", nil, []chrono.Interval{}, func([]any) bool { return false }},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			var want, counts [][]any
			for _, row := range all {
				if c.keep(row) {
					want = append(want, row)
				}
			}
			counts = [][]any{{int64(len(want))}}
			scan := scanOf(c.filter, names...)
			scan.Intervals = c.times
			for _, cfg := range configs {
				env := cfg.env(t)
				env.Tables = s
				sameRows(t, want, mustRows(t, scan, env))
				env = cfg.env(t)
				env.Tables = s
				count := &plan.Aggregate{Input: scan, Aggs: []plan.AggCall{call("COUNT", long)}}
				sameRows(t, counts, mustRows(t, count, env))
			}
		})
	}
}

func likeExpr(t testing.TB, x expr.Expr, pattern string) expr.Expr {
	t.Helper()
	e, err := stringfn.NewLike(x, text1(pattern), nil, false, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func isNull(t testing.TB, x expr.Expr) expr.Expr {
	t.Helper()
	f, ok := catalog.Lookup("IS NULL")
	if !ok {
		t.Fatal("there is no IS NULL")
	}
	e, err := expr.NewCall(f, []expr.Expr{x}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestScanResolvesColumnsThatSegmentsStoreOtherwise(t *testing.T) {
	s := &store{t: t}
	whole := chrono.Interval{Start: 0, End: 100}
	s.addSegment(whole, []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "x", Type: long}, {Name: "tags", Type: str}}, true,
		[][]any{{int64(1), int64(7), "a"}, {int64(2), nil, nil}})
	s.addSegment(whole, []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "x", Type: str}}, true,
		[][]any{{int64(3), "8.5"}, {int64(4), "no number"}})
	s.addSegment(whole, []segment.ColumnSpec{{Name: "__time", Type: long}}, true, [][]any{{int64(5)}})
	s.addSegment(whole, []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "tags", Type: long}}, true, [][]any{{int64(6), int64(9)}})
	scan := &plan.Scan{Limit: -1, Out: []plan.Column{{Name: "__time", Type: expr.Of(expr.Timestamp)}, {Name: "x", Type: expr.Of(expr.Double)},
		{Name: "tags", Type: expr.MultiString}}}
	for _, cfg := range configs {
		env := cfg.env(t)
		env.Tables = s
		sameRows(t, [][]any{{int64(1), 7.0, []any{"a"}}, {int64(2), nil, nil}, {int64(3), 8.5, nil}, {int64(4), nil, nil}, {int64(5), nil, nil},
			{int64(6), nil, []any{"9"}}},
			mustRows(t, scan, env))
	}
}

func TestScanInTimeOrderStopsAtItsLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	s := &store{t: t}
	var all [][]any
	for _, i := range []int{1, 0, 1, 2} { // two segments share the middle interval
		rows := events(r, int64(i)*1_000_000, 300)
		s.addSegment(chrono.Interval{Start: int64(i) * 1_000_000, End: int64(i+1) * 1_000_000}, eventSchema, i != 2, rows)
		all = append(all, rows...)
	}
	slices.SortStableFunc(all, func(a, b []any) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
	for _, limit := range []int64{-1, 0, 1, 350, 900} {
		for _, order := range []int{1, -1} {
			scan := scanOf(nil, "__time", "k")
			scan.Time, scan.Limit = order, limit
			var want [][]any
			for i := range all {
				row := all[i]
				if order < 0 {
					row = all[len(all)-1-i]
				}
				if limit < 0 || int64(i) < limit {
					want = append(want, []any{row[0]})
				}
			}
			for _, cfg := range configs {
				env := cfg.env(t)
				env.Tables = s
				node := &plan.Project{Input: scan, Exprs: []expr.Expr{&expr.Column{Name: "__time", T: scan.Out[0].Type}}, Names: []string{"t"}}
				sameOrder(t, want, mustRows(t, node, env))
			}
		}
	}
	plain := scanOf(nil, "k")
	plain.Limit = 10
	for _, cfg := range configs {
		env := cfg.env(t)
		env.Tables = s
		if got := mustRows(t, plain, env); len(got) != 10 {
			t.Errorf("scan with limit 10 gave [%d] rows", len(got))
		}
	}
}

func TestAggregateOverSegmentsAgreesWithRows(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	s := &store{t: t}
	var all [][]any
	for i := range 4 {
		rows := events(r, int64(i)*1_000_000, 900)
		s.addSegment(chrono.Interval{Start: int64(i) * 1_000_000, End: int64(i+1) * 1_000_000}, eventSchema, true, rows)
		all = append(all, rows...)
	}
	scan := scanOf(nil, "s", "word", "k", "d")
	for _, keys := range [][]int{{}, {0}, {1}, {0, 2}, {1, 0}, {2}} {
		want := naive(all, pick([]int{1, 3, 4, 2}, keys), func(key []any, group [][]any) []any {
			sum, words := any(nil), map[any]bool{}
			for _, row := range group {
				if row[4] != nil {
					x, _ := sum.(int64)
					sum = x + row[4].(int64)
				}
				if row[3] != nil {
					words[row[3]] = true
				}
			}
			return append(slices.Clone(key), int64(len(group)), sum, int64(len(words)))
		})
		calls := typed([]vector.Type{str, str, long, double}, call("COUNT", long), call("SUM", long, 2), call("COUNT", long, 1))
		calls[2].Distinct = true
		for _, cfg := range configs {
			env := cfg.env(t)
			env.Tables = s
			env.Progress = &progress.Progress{}
			got := mustRows(t, &plan.Aggregate{Input: scan, Keys: keys, Aggs: calls}, env)
			sameOrder(t, want, got)
			done := env.Progress.Done()
			n, bytes := int64(len(all)), done.Bytes
			if done != (progress.Done{Segments: 4, Rows: n, Bytes: bytes, SegmentsRead: 4, RowsRead: n, BytesRead: bytes}) {
				t.Errorf("the progress is %+v of %d rows", done, n)
			}
		}
	}
}

func pick(from, at []int) []int {
	out := make([]int, len(at))
	for i, a := range at {
		out[i] = from[a]
	}
	return out
}
