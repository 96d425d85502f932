package exec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// conditionStore has segments in which columns are as they are in eventSchema, clustered so that
// statistics of blocks decide, missing, all null, constant, of other types, and partly hidden.
func conditionStore(t *testing.T, r *rand.Rand) *store {
	s := &store{t: t}
	chunk := func(i int64) chrono.Interval {
		return chrono.Interval{Start: i * 100_000_000, End: (i + 1) * 100_000_000}
	}
	s.addSegment(chunk(0), eventSchema, true, events(r, 0, 5000))
	clustered := events(r, 100_000_000, 3*segment.BlockRows)
	for i, row := range clustered {
		row[1], row[2], row[4] = string(rune('a'+i/3000)), float64(i/1000), int64(i/500)-4
	}
	clustered[1][2], clustered[9000][2] = math.NaN(), math.Inf(-1)
	s.addSegment(chunk(1), eventSchema, true, clustered)
	hidden := chunk(2)
	hidden.End = hidden.Start + 700_000
	unsorted := events(r, 200_000_000, 1000)
	for i, row := range unsorted {
		row[0], row[1], row[3], row[4] = int64(200_000_000+(i*7919%1000)*1000), "c", nil, int64(2)
	}
	s.addSegment(hidden, eventSchema, false, unsorted)
	s.addSegment(chunk(3), []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "s", Type: long}, {Name: "k", Type: str}, {Name: "d", Type: vector.Float}},
		true, [][]any{{int64(300_000_000), int64(7), "2", float32(1.5)}, {int64(300_000_001), nil, "no number", nil}})
	s.addSegment(chunk(4), eventSchema[:1], true, [][]any{{int64(400_000_000)}})
	extremes := events(r, 500_000_000, 3)
	extremes[0][4], extremes[1][4], extremes[2][4] = int64(math.MinInt64), int64(math.MaxInt64), int64(0)
	s.addSegment(chunk(5), eventSchema, true, extremes)
	return s
}

func TestConditionsAgreeWithEvaluatingFilters(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 3))
	s := conditionStore(t, r)
	names := []string{"__time", "s", "d", "word", "k"}
	col := func(i int) *expr.Column {
		return &expr.Column{Index: i, Name: names[i], T: expr.FromRuntime(eventSchema[i].Type, false)}
	}
	ops := []string{"=", "<>", "<", "<=", ">", ">="}
	fractions := []float64{0, 1.5, 3, 7, -1, math.Inf(1)}
	numbers := []int64{-4, -1, 0, 2, 3, 15, 20, math.MinInt64, math.MaxInt64, 1 << 40}
	texts := []string{"", "a", "b", "c", "d", "zz", "word12", "wordword7"}
	one := func() expr.Expr {
		op := ops[r.IntN(len(ops))]
		switch r.IntN(8) {
		case 0, 1:
			x := number1(numbers[r.IntN(len(numbers))])
			if r.IntN(3) == 0 {
				return compare(t, op, x, col(4))
			}
			return compare(t, op, col(4), x)
		case 2:
			return compare(t, op, col(2), &expr.Literal{Value: fractions[r.IntN(len(fractions))], T: expr.Of(expr.Double).NotNull()})
		case 3, 4:
			return compare(t, op, col(1+2*r.IntN(2)), text1(texts[r.IntN(len(texts))]))
		case 5:
			values := make([]any, 1+r.IntN(5))
			for i := range values {
				values[i] = numbers[r.IntN(len(numbers))]
			}
			return &expr.In{X: col(4), Values: values, HasNull: r.IntN(4) == 0}
		case 6:
			if r.IntN(2) == 0 {
				return isNull(t, col(1+r.IntN(4)))
			}
			return likeExpr(t, col(3), "%word1%")
		default:
			return &expr.Not{X: compare(t, op, col(1), text1(texts[r.IntN(len(texts))]))}
		}
	}
	for range 50 {
		terms := []expr.Expr{one()}
		for range r.IntN(4) {
			terms = append(terms, one())
		}
		cond := terms[0]
		if len(terms) > 1 {
			cond = &expr.And{Terms: terms}
			if r.IntN(6) == 0 {
				cond = &expr.Or{Terms: terms}
			}
		}
		cfg := configs[1+r.IntN(2)]
		run := func(n plan.Node) [][]any {
			env := cfg.env(t)
			env.Tables = s
			return mustRows(t, n, env)
		}
		want := run(&plan.Filter{Input: scanOf(nil, names...), Cond: cond})
		got := run(scanOf(cond, names...))
		if len(want) != len(got) {
			t.Fatalf("%s: %d rows, want %d", plan.Format(scanOf(cond, names...)), len(got), len(want))
		}
		sameRows(t, want, got)
	}
}

func TestJoinsNarrowScansWithoutChangingRows(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 3))
	s := conditionStore(t, r)
	scan := scanOf(nil, "__time", "s", "d", "word", "k")
	opaque := func() plan.Node { return opaqueRows(scan) }
	numbers := inline([]vector.Type{long, str}, []any{int64(2), "x"}, []any{int64(-4), "y"}, []any{nil, "z"}, []any{int64(17), "x"})
	far := inline([]vector.Type{long, str}, []any{int64(math.MinInt64), "x"}, []any{int64(math.MaxInt64), "y"}, []any{int64(0), nil}, []any{int64(2), nil})
	twice := inline([]vector.Type{long, str}, []any{int64(2), "x"}, []any{int64(2), "y"}, []any{int64(3), "z"})
	words := inline([]vector.Type{str, str}, []any{"c", "x"}, []any{"absent", "y"}, []any{nil, "z"}, []any{"7", "seven"})
	none := inline([]vector.Type{long, str})
	for _, c := range []struct {
		name          string
		right         *plan.Inline
		key           int
		kind          plan.JoinKind
		payload       bool
		fullyFiltered bool
	}{
		{"numbers", numbers, 4, plan.Inner, true, false},
		{"numbers without payload", numbers, 4, plan.Inner, false, true},
		{"numbers, existence", numbers, 4, plan.Semi, false, true},
		{"numbers far apart", far, 4, plan.Inner, false, true},
		{"keys that are there twice", twice, 4, plan.Inner, false, false},
		{"existence of keys that are there twice", twice, 4, plan.Semi, false, true},
		{"texts", words, 1, plan.Inner, true, false},
		{"texts without payload", words, 1, plan.Inner, false, true},
		{"no keys", none, 4, plan.Inner, true, false},
		{"outer", numbers, 4, plan.Left, true, false},
		{"anti", numbers, 4, plan.Anti, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			above := func(left plan.Node) plan.Node {
				join := &plan.Join{Kind: c.kind, Left: left, Right: c.right, Keys: []plan.EquiKey{{Left: c.key, Right: 0}}}
				columns := []int{0, 1, 4}
				if c.payload {
					columns = append(columns, 6)
				}
				return plan.Select(join, columns)
			}
			union := func(ins ...plan.Node) plan.Node { return &plan.Union{Ins: ins, Out: scan.Out} }
			for _, cfg := range configs[1:3] {
				run := func(n plan.Node) [][]any {
					env := cfg.env(t)
					env.Tables = s
					return unorderedRows(t, n, env)
				}
				sameRows(t, run(above(opaque())), run(above(scan)))
				sameRows(t, run(above(union(opaque(), opaque()))), run(above(union(scan, scan))))
				sameRows(t, run(above(union(opaque(), opaque()))), run(above(union(scan, opaque()))))
			}
			env := configs[2].env(t).withDefaults(t.Context())
			env.Tables = s
			p, _, err := open(t.Context(), above(scan), env, wants{})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.steps[0].fullyFiltered; got != c.fullyFiltered {
				t.Errorf("the join is implied: %v, want %v", got, c.fullyFiltered)
			}
			p.Close()
			for arm, want := range map[plan.Node]bool{scan: c.fullyFiltered, opaque(): false} {
				if p, _, err = open(t.Context(), above(union(scan, arm)), env, wants{anyOrder: true}); err != nil {
					t.Fatal(err)
				}
				if got := p.steps[0].fullyFiltered; got != want {
					t.Errorf("the join with a union is implied: %v, want %v", got, want)
				}
				p.Close()
			}
		})
	}
}

// opaqueRows are the rows of a scan that no join can narrow.
func opaqueRows(scan *plan.Scan) plan.Node {
	exprs, names := make([]expr.Expr, len(scan.Out)), make([]string, len(scan.Out))
	for i, c := range scan.Out {
		x := expr.Expr(&expr.Column{Index: i, Name: c.Name, T: c.Type})
		exprs[i], names[i] = &expr.Case{Whens: []expr.When{{Cond: &expr.Literal{Value: int64(1), T: expr.Of(expr.Boolean)}, Then: x}}, T: c.Type}, c.Name
	}
	return &plan.Project{Input: scan, Exprs: exprs, Names: names}
}

// What a join below leaves of its left side's keys is all that is read of the right side above,
// unless right rows without a partner are wanted.
func TestJoinsLendTheirKeysToTheNext(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 3))
	s := conditionStore(t, r)
	scan := scanOf(nil, "__time", "s", "d", "word", "k")
	few := inline([]vector.Type{long}, []any{int64(2)}, []any{int64(-4)}, []any{int64(17)})
	for _, kind := range []plan.JoinKind{plan.Inner, plan.Left, plan.Semi, plan.Anti, plan.Right, plan.Full, plan.AntiNull} {
		t.Run(kind.String(), func(t *testing.T) {
			above := func(left, right plan.Node) *plan.Join {
				narrowed := &plan.Join{Kind: plan.Inner, Left: left, Right: few, Keys: []plan.EquiKey{{Left: 4, Right: 0}}}
				return &plan.Join{Kind: kind, Left: narrowed, Right: right, Keys: []plan.EquiKey{{Left: 4, Right: 4}}}
			}
			run := func(n plan.Node) [][]any {
				env := configs[2].env(t)
				env.Tables = s
				return mustRows(t, n, env)
			}
			counted := func(left, right plan.Node) plan.Node {
				return &plan.Aggregate{Input: above(left, right), Keys: []int{4, 1}, Aggs: typed(nil, call("COUNT", long))}
			}
			sameRows(t, run(counted(opaqueRows(scan), opaqueRows(scan))), run(counted(scan, scan)))
			env := configs[2].env(t).withDefaults(t.Context())
			env.Tables = s
			read := func(left plan.Node) int64 {
				p, op, err := open(t.Context(), above(left, scan), env, wants{})
				if err != nil {
					t.Fatal(err)
				}
				defer closeOpened(p, op)
				return p.steps[len(p.steps)-1].build.Read()
			}
			lends := kind == plan.Inner || kind == plan.Left || kind == plan.Semi || kind == plan.Anti
			if all, some := read(opaqueRows(scan)), read(scan); (some < all) != lends {
				t.Errorf("the right side gives %d rows, without the left side's keys %d", some, all)
			}
		})
	}
}

func TestLimitBelowAJoinIsNotNarrowed(t *testing.T) {
	s := &store{t: t}
	s.addSegment(chrono.Interval{Start: 0, End: 100}, eventSchema, true, [][]any{
		{int64(1), nil, nil, nil, int64(1), nil}, {int64(2), nil, nil, nil, int64(2), nil}, {int64(3), nil, nil, nil, int64(3), nil}})
	scan := scanOf(nil, "__time", "k")
	scan.Limit = 2
	join := &plan.Join{Kind: plan.Inner, Left: scan, Right: inline([]vector.Type{long}, []any{int64(3)}, []any{int64(2)}), Keys: []plan.EquiKey{{Left: 1, Right: 0}}}
	env := configs[2].env(t)
	env.Tables, env.Threads = s, 1
	sameRows(t, [][]any{{int64(2), int64(2), int64(2)}}, mustRows(t, join, env))
}
