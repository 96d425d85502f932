package exec

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// pathless is a segment from before there were columns of paths.
type pathless struct{ segment.Reader }

func (p pathless) Column(name string) (segment.Column, error) {
	if _, _, path := segment.CutPath(name); path {
		return nil, nil
	}
	return p.Reader.Column(name)
}

// atPath is JSON_VALUE(column 1, path RETURNING t).
func atPath(t testing.TB, path string, typ expr.Base) expr.Expr {
	t.Helper()
	e, err := expr.NewJSONValue(&expr.Column{Index: 1, Name: "j", T: expr.JSON.OrNull(true)}, text1(path), expr.Of(typ), fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var nestedOut = []plan.Column{{Name: "__time", Type: expr.Of(expr.Timestamp).NotNull()}, {Name: "j", Type: expr.JSON.OrNull(true)},
	{Name: "k", Type: expr.Of(expr.BigInt).OrNull(true)}}

// nestedStore has segments that store what stands at the same paths in different ways, and the rows
// of all of them.
func nestedStore(t testing.TB, r *rand.Rand) (*store, [][]any) {
	s := &store{t: t}
	specs := []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "j", Type: vector.JSON}, {Name: "k", Type: long}}
	shapes := []func() string{
		func() string { // every path has a column
			return fmt.Sprintf(`{"n":%d,"x":%.2f,"m":%s,"s":"t%d","b":%t,"o":{"k":"w%d"}}`, r.IntN(20), r.NormFloat64(),
				[]string{"1", "2", "2.5", "3.0"}[r.IntN(4)], r.IntN(12), r.IntN(2) == 0, r.IntN(500))
		},
		func() string { // numbers as texts, texts as numbers
			return fmt.Sprintf(`{"n":"%d","x":%d,"m":%d,"s":%d,"b":"%t","o":{"k":%d}}`, r.IntN(20), r.IntN(3), r.IntN(4), r.IntN(12), r.IntN(2) == 0, r.IntN(500))
		},
		func() string { // a mixture
			return fmt.Sprintf(`{"n":%s,"x":%s,"m":%s,"s":%s,"b":%s,"o":%s}`, oneOf(r, "1", `"1"`, "true", "2.5", "[1]", "null"), oneOf(r, "0.5", `"0.5"`, "7"),
				oneOf(r, "1", "9007199254740993", "2.0"), oneOf(r, `"t1"`, "1", "{}"), oneOf(r, "true", "1", `"TRUE"`), oneOf(r, `{"k":"w1"}`, `"k"`, `{"k":{"l":1}}`))
		},
		func() string { // some paths are missing, some in most rows
			return oneOf(r, "{}", `{"n":5}`, `{"s":"t1","n":null}`, "17", `"text"`, `{"o":{}}`, `{"n":1,"n":2}`)
		},
	}
	var all [][]any
	for i := range 7 {
		shape := shapes[i%len(shapes)]
		start := int64(i) * 10_000_000
		iv := chrono.Interval{Start: start, End: start + 290_000} // the last rows do not count
		var rows [][]any
		for n := range 300 {
			var j any
			if r.IntN(15) > 0 {
				j = shape()
			}
			rows = append(rows, []any{start + int64(n)*1000, j, int64(r.IntN(100))})
		}
		s.addSegment(iv, specs, i%2 == 0, rows)
		if i >= 4 {
			s.leaves[i].Reader = pathless{s.leaves[i].Reader}
		}
		all = append(all, rows[:290]...)
	}
	start := int64(100_000_000)
	whole := chrono.Interval{Start: start, End: start + 100}
	s.addSegment(whole, specs[:1], true, [][]any{{start}, {start + 1}})
	s.addSegment(whole, []segment.ColumnSpec{specs[0], {Name: "j", Type: str}}, true, [][]any{{start + 2, "t1"}, {start + 3, nil}})
	return s, append(all, []any{start, nil, nil}, []any{start + 1, nil, nil}, []any{start + 2, `"t1"`, nil}, []any{start + 3, nil, nil})
}

func oneOf(r *rand.Rand, texts ...string) string { return texts[r.IntN(len(texts))] }

// TestColumnsOfPathsGiveWhatParsingGives asks segments with columns of paths, and some without,
// what the same plan makes of the rows alone.
func TestColumnsOfPathsGiveWhatParsingGives(t *testing.T) {
	s, all := nestedStore(t, rand.New(rand.NewPCG(51, 1)))
	rows := inline([]vector.Type{long, vector.JSON, long}, all...)
	rows.Out = nestedOut
	column := func(i int) expr.Expr { return &expr.Column{Index: i, Name: nestedOut[i].Name, T: nestedOut[i].Type} }
	paths := []string{"$.n", "$.x", "$.m", "$.s", "$.b", "$.o.k", "$['o']", "$", "$.none", "$.n[0]"}
	types := []expr.Base{expr.Varchar, expr.BigInt, expr.Integer, expr.Double, expr.Float, expr.Decimal, expr.Boolean, expr.Char, expr.Timestamp}
	in := func(x expr.Expr, values ...any) expr.Expr { return &expr.In{X: x, Values: values} }
	filters := map[string]expr.Expr{
		"":                 nil,
		"text":             compare(t, "=", atPath(t, "$.s", expr.Varchar), text1("t1")),
		"texts":            in(atPath(t, "$.o.k", expr.Varchar), "w1", "w7", "w450"),
		"text range":       compare(t, "<", atPath(t, "$.s", expr.Varchar), text1("t3")),
		"text of a number": compare(t, "=", atPath(t, "$.m", expr.Varchar), text1("2.0")),
		"like":             likeExpr(t, atPath(t, "$.o.k", expr.Varchar), "w4%"),
		"null":             isNull(t, atPath(t, "$.n", expr.BigInt)),
		"number":           compare(t, ">", atPath(t, "$.n", expr.BigInt), number1(15)),
		"numbers":          in(atPath(t, "$.n", expr.BigInt), int64(1), int64(3)),
		"not a number":     compare(t, "<>", atPath(t, "$.n", expr.Integer), number1(5)),
		"double":           compare(t, ">=", atPath(t, "$.m", expr.Double), &expr.Literal{Value: 2.0, T: expr.Of(expr.Double).NotNull()}),
		"several": &expr.And{Terms: []expr.Expr{compare(t, "=", atPath(t, "$.s", expr.Varchar), text1("t2")), compare(t, "<", atPath(t, "$.n", expr.BigInt), number1(4)),
			compare(t, ">", column(2), number1(3))}},
		"one or other": &expr.Or{Terms: []expr.Expr{compare(t, "=", atPath(t, "$.s", expr.Varchar), text1("t2")), compare(t, "<", column(2), number1(4))}},
	}
	queries := map[string]func(in plan.Node) plan.Node{
		"as it is": func(in plan.Node) plan.Node { return in },
		"values": func(in plan.Node) plan.Node {
			p := &plan.Project{Input: in, Exprs: []expr.Expr{column(0)}, Names: []string{"t"}}
			for _, path := range paths {
				for _, typ := range types {
					p.Exprs, p.Names = append(p.Exprs, atPath(t, path, typ)), append(p.Names, path)
				}
			}
			return p
		},
		"in other expressions, and the texts": func(in plan.Node) plan.Node {
			return &plan.Project{Input: in, Names: []string{"a", "b", "j"}, Exprs: []expr.Expr{
				&expr.Cast{X: atPath(t, "$.n", expr.Varchar), T: expr.Of(expr.BigInt).OrNull(true)}, compare(t, "=", atPath(t, "$.s", expr.Varchar), text1("t1")), column(1)}}
		},
		"count": func(in plan.Node) plan.Node {
			return &plan.Aggregate{Input: in, Aggs: []plan.AggCall{call("COUNT", long)}}
		},
		"groups": func(in plan.Node) plan.Node {
			p := &plan.Project{Input: in, Names: []string{"s", "n", "x", "k"}, Exprs: []expr.Expr{atPath(t, "$.s", expr.Varchar), atPath(t, "$.n", expr.BigInt),
				atPath(t, "$.m", expr.Double), atPath(t, "$.o.k", expr.Varchar)}}
			calls := typed([]vector.Type{str, long, double, str}, call("COUNT", long), call("SUM", long, 1), call("MAX", double, 2), call("COUNT", long, 3))
			calls[3].Distinct = true
			return &plan.Aggregate{Input: p, Keys: []int{0}, Aggs: calls}
		},
		"totals": func(in plan.Node) plan.Node {
			p := &plan.Project{Input: in, Names: []string{"n", "x", "s"}, Exprs: []expr.Expr{atPath(t, "$.n", expr.BigInt), atPath(t, "$.m", expr.Double), atPath(t, "$.s", expr.Varchar)}}
			return &plan.Aggregate{Input: p, Aggs: typed([]vector.Type{long, double, str}, call("COUNT", long, 0), call("SUM", long, 0), call("MIN", double, 1), call("COUNT", long, 2))}
		},
		"different texts": func(in plan.Node) plan.Node {
			p := &plan.Project{Input: in, Names: []string{"k"}, Exprs: []expr.Expr{atPath(t, "$.o.k", expr.Varchar)}}
			calls := typed([]vector.Type{str}, call("COUNT", long, 0))
			calls[0].Distinct = true
			return &plan.Aggregate{Input: p, Aggs: calls}
		},
		"join": func(in plan.Node) plan.Node {
			p := &plan.Project{Input: in, Names: []string{"n", "t"}, Exprs: []expr.Expr{atPath(t, "$.n", expr.BigInt), column(0)}}
			return &plan.Join{Kind: plan.Inner, Left: p, Right: inline([]vector.Type{long}, []any{int64(3)}, []any{int64(5)}), Keys: []plan.EquiKey{{Left: 0, Right: 0}}}
		},
		"first": func(in plan.Node) plan.Node {
			p := &plan.Project{Input: in, Names: []string{"n"}, Exprs: []expr.Expr{atPath(t, "$.n", expr.BigInt)}}
			return &plan.Limit{Count: 300, Input: &plan.Sort{Input: p, Keys: []plan.SortKey{{Column: 0, Desc: true}}}}
		},
	}
	asked := 0
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		query := queries[name]
		for _, of := range slices.Sorted(maps.Keys(filters)) {
			filter := filters[of]
			t.Run(strings.ReplaceAll(name+" of "+of, " ", "_"), func(t *testing.T) {
				scan := &plan.Scan{DataSource: "nested", Out: nestedOut, Filter: filter, Limit: -1}
				var bare plan.Node = rows
				if filter != nil {
					bare = &plan.Filter{Input: rows, Cond: filter}
				}
				want := mustRows(t, query(bare), (&Env{}).withDefaults(t.Context()))
				asked++
				for _, cfg := range []config{configs[asked%len(configs)], {name: "4096", batch: 4096}} {
					env := cfg.env(t)
					env.Tables = s
					sameRows(t, want, mustRows(t, query(scan), env))
				}
			})
		}
	}
}

// watched notes which columns of a segment are opened.
type watched struct {
	segment.Reader
	mu   *sync.Mutex
	seen map[string]bool
}

func (w watched) Column(name string) (segment.Column, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[name] = true
	return w.Reader.Column(name)
}

// TestTextsAreNotOpenedForPathsWithColumns: where the paths have columns, nothing else is read.
func TestTextsAreNotOpenedForPathsWithColumns(t *testing.T) {
	s, _ := nestedStore(t, rand.New(rand.NewPCG(52, 1)))
	s.leaves = s.leaves[:1]
	w := watched{s.leaves[0].Reader, &sync.Mutex{}, map[string]bool{}}
	s.leaves[0].Reader = w
	scan := &plan.Scan{DataSource: "nested", Out: nestedOut[:2], Limit: -1, Filter: compare(t, "=", atPath(t, "$.s", expr.Varchar), text1("t1"))}
	p := &plan.Project{Input: scan, Names: []string{"k", "m"}, Exprs: []expr.Expr{atPath(t, "$.o.k", expr.Varchar), atPath(t, "$.m", expr.Double)}}
	rows := mustRows(t, &plan.Aggregate{Input: p, Keys: []int{0}, Aggs: typed([]vector.Type{str, double}, call("SUM", double, 1))}, &Env{Tables: s, Threads: 1})
	if len(rows) < 10 {
		t.Errorf("there are %d groups", len(rows))
	}
	var got []string
	for name := range w.seen {
		got = append(got, strings.ReplaceAll(name, "\x00", " "))
	}
	slices.Sort(got)
	if want := []string{"__time", "j $.m", "j $.o.k", "j $.s"}; !slices.Equal(got, want) {
		t.Errorf("columns %q were opened, want %q", got, want)
	}
}

// BenchmarkPaths groups, filters and adds up what stands at paths of a million rows, from columns
// of the paths and from texts.
func BenchmarkPaths(b *testing.B) {
	r := rand.New(rand.NewPCG(53, 1))
	s := &store{t: b}
	rows := make([][]any, 1_000_000)
	for i := range rows {
		rows[i] = []any{int64(i) * 1000, fmt.Sprintf(`{"user":{"id":%d,"country":"c%02d"},"page":"/shop/%d/item","ms":%d,"price":%.2f,"ok":%t}`, r.IntN(50_000),
			r.IntN(40), r.IntN(2000), r.IntN(3000), r.Float64()*100, r.IntN(9) > 0)}
	}
	s.addSegment(chrono.Eternity, []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "j", Type: vector.JSON}}, true, rows)
	stored := s.leaves[0].Reader
	country, ms := atPath(b, "$.user.country", expr.Varchar), atPath(b, "$.ms", expr.BigInt)
	scan := &plan.Scan{DataSource: "nested", Out: nestedOut[:2], Limit: -1}
	rare := *scan
	rare.Filter = compare(b, "=", atPath(b, "$.page", expr.Varchar), text1("/shop/77/item"))
	groups := &plan.Project{Input: scan, Names: []string{"country", "ms"}, Exprs: []expr.Expr{country, ms}}
	total := &plan.Project{Input: scan, Names: []string{"ms"}, Exprs: []expr.Expr{ms}}
	for name, query := range map[string]plan.Node{
		"group":  &plan.Aggregate{Input: groups, Keys: []int{0}, Aggs: typed([]vector.Type{str, long}, call("COUNT", long), call("SUM", long, 1))},
		"filter": &plan.Aggregate{Input: &rare, Aggs: []plan.AggCall{call("COUNT", long)}},
		"sum":    &plan.Aggregate{Input: total, Aggs: typed([]vector.Type{long}, call("SUM", long, 0))},
	} {
		for kind, reader := range map[string]segment.Reader{"columns": stored, "texts": pathless{stored}} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				s.leaves[0].Reader = reader
				for b.Loop() {
					if rows := mustRows(b, query, &Env{Tables: s, Threads: 1}); len(rows) == 0 {
						b.Fatal("no rows")
					}
				}
			})
		}
	}
}
