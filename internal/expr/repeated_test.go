package expr_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// probe is a function whose kernel counts the rows that it is asked for, and fails for refuse.
type probe struct {
	rows   int
	refuse int64
}

var errRefused = errors.New("refused")

func (p *probe) call(e expr.Expr, volatile bool) expr.Expr {
	fn := &expr.Function{Name: "PROBE", Min: 1, Max: 1, Volatile: volatile, Kernel: func(*expr.Call, *expr.Context) (expr.Kernel, error) {
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			p.rows += n
			out := make([]int64, n)
			for i := range out {
				if out[i] = args[0].LongAt(i) * 2; p.refuse != 0 && args[0].LongAt(i) == p.refuse && (valid == nil || valid.Get(i)) {
					return nil, errRefused
				}
			}
			return vector.FromLongs(out), nil
		}, nil
	}}
	return &expr.Call{Fn: fn, Args: []expr.Expr{e}, T: expr.Of(expr.BigInt)}
}

func repeatCompare(t *testing.T, op string, a expr.Expr, n int64) expr.Expr {
	t.Helper()
	e, err := expr.NewCompare(op, a, &expr.Literal{Value: n, T: expr.Of(expr.BigInt).NotNull()}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func repeatTens() *vector.Batch {
	return &vector.Batch{N: 10, Cols: []*vector.Vector{vector.FromLongs([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}}
}

// byRows has expressions computed for rows only, so that what they are asked for can be counted.
func byRows() *expr.Context { return &expr.Context{Entries: true} }

func evalTogether(t *testing.T, ctx *expr.Context, b *vector.Batch, list ...expr.Expr) ([][]any, error) {
	t.Helper()
	g, err := expr.CompileTogether(list, ctx)
	if err != nil {
		t.Fatal(err)
	}
	g.Begin(b)
	defer g.End()
	out := make([][]any, len(list))
	for i := range list {
		v, err := g.Eval(i, b)
		if err != nil {
			return nil, err
		}
		for k := range v.Len {
			out[i] = append(out[i], v.ValueAt(k))
		}
	}
	return out, nil
}

func evalUnshared(t *testing.T, b *vector.Batch, e expr.Expr) *vector.Vector {
	t.Helper()
	v, err := expr.EvalUnshared(e, b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An expression that comes several times is evaluated once for each row of a batch for which some
// place of it is, and for no other row.
func TestRepeatedExpressionsAreComputedOnce(t *testing.T) {
	column := &expr.Column{Index: 0, Name: "a", T: expr.Of(expr.BigInt)}
	is := func(op string, e expr.Expr, n int64) expr.Expr { return repeatCompare(t, op, e, n) }
	for _, c := range []struct {
		name string
		make func(x func() expr.Expr) []expr.Expr
		rows int
	}{
		{"several columns", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{x(), x(), &expr.Cast{X: x(), T: expr.Of(expr.Varchar)}}
		}, 10},
		{"conditions of AND", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{&expr.And{Terms: []expr.Expr{is(">", x(), 4), is("<", x(), 12), is("<>", x(), 8)}}}
		}, 10},
		{"conditions of OR", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{&expr.Or{Terms: []expr.Expr{is("<", x(), 4), is(">", x(), 12), is("=", x(), 8)}}}
		}, 10},
		{"behind another condition", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{&expr.And{Terms: []expr.Expr{is(">", column, 4), is("<>", x(), 12), is("<>", x(), 14), is("<>", x(), 16)}}}
		}, 5},
		{"conditions of CASE", func(x func() expr.Expr) []expr.Expr {
			whens := []expr.When{{is("<", column, 3), column}, {is("<", x(), 12), x()}, {is("<", x(), 16), x()}}
			return []expr.Expr{&expr.Case{Whens: whens, Else: x(), T: expr.Of(expr.BigInt)}}
		}, 7},
		{"arms of CASE that no row takes", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{&expr.Case{Whens: []expr.When{{is("<", column, 100), column}}, Else: x(), T: expr.Of(expr.BigInt)},
				&expr.Case{Whens: []expr.When{{is(">", column, 100), x()}}, T: expr.Of(expr.BigInt)}}
		}, 0},
		{"COALESCE after what is not NULL", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{&expr.Call{Fn: expr.CoalesceFunction, Args: []expr.Expr{column, x(), x()}, T: expr.Of(expr.BigInt)}}
		}, 0},
		{"a column after arms of CASE", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{&expr.Case{Whens: []expr.When{{is("<", column, 4), x()}}, T: expr.Of(expr.BigInt)}, x(), x()}
		}, 14},
		{"arms of CASE after a column", func(x func() expr.Expr) []expr.Expr {
			return []expr.Expr{x(), &expr.Case{Whens: []expr.When{{is("<", column, 4), x()}}, Else: x(), T: expr.Of(expr.BigInt)}}
		}, 10},
		{"within each other", func(x func() expr.Expr) []expr.Expr {
			y := func() expr.Expr { return &expr.Cast{X: x(), T: expr.Of(expr.Varchar)} }
			return []expr.Expr{y(), y(), x()}
		}, 10},
	} {
		p := &probe{}
		once := p.call(column, false).(*expr.Call)
		x := func() expr.Expr { copied := *once; return &copied }
		list := c.make(x)
		got, err := evalTogether(t, byRows(), repeatTens(), list...)
		if err != nil {
			t.Fatal(err)
		}
		if p.rows != c.rows {
			t.Errorf("%s: %d rows were asked for, want %d", c.name, p.rows, c.rows)
		}
		for i, e := range list {
			v := evalUnshared(t, repeatTens(), e)
			for k := range v.Len {
				if got[i][k] != v.ValueAt(k) {
					t.Errorf("%s: expression %d gives %v in row %d, want %v", c.name, i, got[i][k], k, v.ValueAt(k))
				}
			}
		}
	}
}

func TestVolatileExpressionsAreNotShared(t *testing.T) {
	p := &probe{}
	x := p.call(&expr.Column{Index: 0, T: expr.Of(expr.BigInt)}, true)
	if _, err := evalTogether(t, byRows(), repeatTens(), x, x, &expr.Cast{X: x, T: expr.Of(expr.Varchar)}); err != nil {
		t.Fatal(err)
	}
	if p.rows != 30 {
		t.Errorf("%d rows were asked for, want 30", p.rows)
	}
}

// A row for which an expression fails is an error only if some place of the expression is evaluated
// for it.
func TestErrorsOfRepeatedExpressionsAreOfRowsThatCount(t *testing.T) {
	column := &expr.Column{Index: 0, Name: "a", T: expr.Of(expr.BigInt)}
	p := &probe{refuse: 7}
	x := p.call(column, false)
	guarded := func(op string, n int64) expr.Expr {
		return &expr.Case{Whens: []expr.When{{repeatCompare(t, op, column, n), x}}, T: expr.Of(expr.BigInt)}
	}
	if _, err := evalTogether(t, byRows(), repeatTens(), guarded("<", 5), guarded("<", 7), guarded(">", 7)); err != nil {
		t.Errorf("arms that row 7 does not take: %v", err)
	}
	for _, list := range [][]expr.Expr{{x, guarded("<", 5)}, {guarded("<", 5), x}, {guarded("<", 5), guarded(">", 5)}} {
		if _, err := evalTogether(t, byRows(), repeatTens(), list...); !errors.Is(err, errRefused) {
			t.Errorf("%v: %v, want an error of row 7", list, err)
		}
	}
}

// Filters of one batch share results while rows are left out.
func TestFiltersShareResults(t *testing.T) {
	column := &expr.Column{Index: 0, Name: "a", T: expr.Of(expr.BigInt)}
	p := &probe{}
	x := p.call(column, false)
	g, err := expr.CompileTogether([]expr.Expr{repeatCompare(t, ">", column, 1), repeatCompare(t, ">", x, 6), repeatCompare(t, "<", x, 16),
		repeatCompare(t, "<>", x, 10)}, byRows())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // results of a batch are none of the next
		p.rows = 0
		b := repeatTens()
		g.Begin(b)
		for i := range 3 {
			if b.Sel, err = g.Filter(i, b); err != nil {
				t.Fatal(err)
			}
		}
		if want := []uint32{4, 5, 6, 7}; !slices.Equal(b.Sel, want) {
			t.Fatalf("rows %v, want %v", b.Sel, want)
		}
		g.Narrow(b.Sel)
		rest := &vector.Batch{N: len(b.Sel), Cols: []*vector.Vector{b.Cols[0].Gather(b.Sel)}}
		sel, err := g.Filter(3, rest)
		if err != nil {
			t.Fatal(err)
		}
		if want := []uint32{0, 2, 3}; !slices.Equal(sel, want) || p.rows != 8 {
			t.Errorf("rows %v and %d asked for, want %v and 8", sel, p.rows, want)
		}
		g.End()
	}
}

// Random expressions with many equal parts give the same together as each without sharing.
func TestSharedResultsAreThoseComputedAlone(t *testing.T) {
	parts := []string{"UPPER(s)", "s || t", "SUBSTRING(s, 2)", "REGEXP_REPLACE(t, '[ab]', 'x')", "CAST(a AS VARCHAR)", "UPPER(s || UPPER(s))"}
	wholes := []string{"$1", "CONCAT($1, $2)", "CASE WHEN a > 1 THEN $1 WHEN $2 IS NULL THEN s ELSE $3 END", "COALESCE($1, $2, $3)",
		"($1 = 'A' OR $1 > $2) AND ($2 <> 'b' OR $3 = $1)", "LENGTH($1) + LENGTH($1)", "NULLIF($1, $2)"}
	r := rand.New(rand.NewPCG(5, 6))
	texts := func(n int) *vector.Vector {
		b := vector.NewBuilder(vector.String, n)
		for range n {
			if r.IntN(5) == 0 {
				b.AppendNull()
			} else {
				b.Append([]string{"a", "b", "ab", "Bä", ""}[r.IntN(5)])
			}
		}
		return b.Build()
	}
	columns := columnsOf("a", expr.Of(expr.BigInt).NotNull(), "s", expr.Of(expr.Varchar), "t", expr.Of(expr.Varchar))
	compared := 0
	for range 300 {
		var list []expr.Expr
		for range 6 {
			pick := func() string { return parts[r.IntN(len(parts))] }
			fill := strings.NewReplacer("$1", pick(), "$2", pick(), "$3", pick())
			e, err := parseSQL(fill.Replace(wholes[r.IntN(len(wholes))]), columns, nil)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		n := 1 + r.IntN(60)
		numbers := make([]int64, n)
		for i := range numbers {
			numbers[i] = r.Int64N(4)
		}
		b := &vector.Batch{N: n, Cols: []*vector.Vector{vector.FromLongs(numbers), texts(n), texts(n)}}
		if r.IntN(2) == 0 {
			b.Cols[1] = expr.Encode(b.Cols[1])
		}
		if r.IntN(2) == 0 {
			for i := range uint32(n) {
				if r.IntN(3) > 0 {
					b.Sel = append(b.Sel, i)
				}
			}
		}
		got, err := evalTogether(t, nil, b, list...)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range list {
			v := evalUnshared(t, b, e)
			for k := range v.Len {
				if compared++; got[i][k] != v.ValueAt(k) {
					t.Fatalf("expression %d of %v gives %v in row %d, want %v", i, list, got[i][k], k, v.ValueAt(k))
				}
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d values were compared", compared)
	}
}

// BenchmarkRepeated computes an expression in two conditions and five columns, alone in a program
// each and together.
func BenchmarkRepeated(b *testing.B) {
	batch, columns := benchBatch()
	for _, x := range []string{"REGEXP_EXTRACT(u || s, '([0-9])[0-9]*$', 1)", "JSON_VALUE(PARSE_JSON('{\"a\":\"' || u || '\"}'), '$.a')",
		"REGEXP_EXTRACT(s, '([0-9])$', 1)", "CAST(a AS VARCHAR)"} {
		var list []expr.Expr
		for _, sql := range []string{"$ <> '7'", "$ <> '8'", "$", "UPPER($)", "LENGTH($)", "$ || 'x'", "SUBSTRING($, 1, 2)"} {
			e, err := parseSQL(strings.ReplaceAll(sql, "$", x), columns, nil)
			if err == nil {
				e, err = expr.Fold(e, nil)
			}
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, e)
		}
		run := func(name string, programs ...*expr.Programs) {
			b.Run(x+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, g := range programs {
						g.Begin(batch)
						for i := range g.Len() {
							if _, err := g.Eval(i, batch); err != nil {
								b.Fatal(err)
							}
						}
						g.End()
					}
				}
			})
		}
		var alone []*expr.Programs
		for _, e := range list {
			g, err := expr.CompileTogether([]expr.Expr{e}, nil)
			if err != nil {
				b.Fatal(err)
			}
			alone = append(alone, g)
		}
		together, err := expr.CompileTogether(list, nil)
		if err != nil {
			b.Fatal(err)
		}
		run("alone", alone...)
		run("together", together)
	}
}
