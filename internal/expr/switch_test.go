package expr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// armByArm compiles x as a CASE that asks one condition after the other.
func armByArm(t *testing.T, x *Case) *Program {
	t.Helper()
	c := &compiler{ctx: &Context{}, slots: map[int]int{}, made: &made{}, inDict: true}
	n := &caseNode{t: x.T.Runtime()}
	compile := func(e Expr) node {
		made, err := c.compile(e)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for _, w := range x.Whens {
		n.conds, n.thens = append(n.conds, compile(w.Cond)), append(n.thens, compile(w.Then))
	}
	if x.Else != nil {
		n.other = compile(x.Else)
	}
	return &Program{root: n, e: x, ctx: c.ctx, columns: c.columns, made: c.made, shared: &made{}}
}

// casesBatch has numbers, fractions and texts with NULLs, each in several rows.
func casesBatch(r *rand.Rand, rows int) *vector.Batch {
	long, double, float := vector.NewBuilder(vector.Long, rows), vector.NewBuilder(vector.Double, rows), vector.NewBuilder(vector.Float, rows)
	flat, codes := vector.NewBuilder(vector.String, rows), make([]uint32, rows)
	entries := make([]string, 12)
	for i := range entries {
		entries[i] = fmt.Sprint("k", i)
	}
	fractions := []float64{0, math.Copysign(0, -1), 1, 1.5, 2.5, math.NaN(), math.Inf(1), 3}
	for i := range rows {
		if r.IntN(6) == 0 {
			for _, b := range []*vector.Builder{long, double, float, flat} {
				b.AppendNull()
			}
			continue
		}
		long.Append([]int64{0, 1, 2, 3, 4, 5, 1 << 40, math.MinInt64, math.MaxInt64}[r.IntN(9)])
		x := fractions[r.IntN(len(fractions))]
		double.Append(x)
		float.Append(float32(x))
		flat.Append(entries[r.IntN(len(entries))])
		codes[i] = uint32(r.IntN(len(entries)))
	}
	dict := vector.FromCodes(codes, vector.NewDict(entries))
	dict.Valid = vector.FullBitmap(rows)
	for i := range rows {
		if r.IntN(7) == 0 {
			dict.Valid.Clear(i)
		}
	}
	return &vector.Batch{N: rows, Cols: []*vector.Vector{long.Build(), double.Build(), float.Build(), flat.Build(), dict}}
}

// randomCase compares the columns of casesBatch with constants, in runs and mixed, with constant
// results and computed ones.
func randomCase(t *testing.T, r *rand.Rand) *Case {
	t.Helper()
	types := []Type{Of(BigInt), Of(Double), Of(Float), Of(Varchar), Of(Varchar)}
	constant := func(column int) Expr {
		if r.IntN(12) == 0 {
			return &Literal{T: types[column]}
		}
		switch column {
		case 0:
			return &Literal{Value: []int64{0, 1, 2, 3, 4, 5, 6, 1 << 40, math.MinInt64}[r.IntN(9)], T: Of(BigInt)}
		case 1, 2:
			return &Literal{Value: []float64{0, 1, 1.5, 2.5, math.NaN(), 3, math.Copysign(0, -1)}[r.IntN(7)], T: Of(Double)}
		}
		return &Literal{Value: fmt.Sprint("k", r.IntN(14)), T: Of(Varchar)}
	}
	of := func(column int) Expr { return &Column{Index: column, T: types[column]} }
	must := func(e Expr, err error) Expr {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	column := r.IntN(5)
	cond := func() Expr {
		equal := func() Expr {
			x, c := of(column), constant(column)
			if r.IntN(4) == 0 {
				x, c = c, x
			}
			return must(NewCompare("=", x, c, fault.Span{}))
		}
		switch r.IntN(12) {
		case 0:
			return must(NewIn(of(column), []Expr{constant(column), constant(column), constant(column)}, fault.Span{}))
		case 1:
			return must(NewOr([]Expr{equal(), equal()}, fault.Span{}))
		case 2:
			return must(NewCompare([]string{"<", ">", "<>"}[r.IntN(3)], of(0), constant(0), fault.Span{}))
		case 3:
			column = r.IntN(5)
		}
		return equal()
	}
	texts, computed := r.IntN(2) == 0, r.IntN(3)
	result := func() Expr {
		switch {
		case r.IntN(10) == 0:
			return &Literal{T: Of(Null)}
		case texts && r.IntN(4) < computed:
			return of(3)
		case texts:
			return &Literal{Value: fmt.Sprint("r", r.IntN(5)), T: Of(Varchar)}
		case r.IntN(4) < computed:
			return must(NewCall(subtractFunction, []Expr{of(0), &Literal{Value: int64(r.IntN(9)), T: Of(BigInt)}}, fault.Span{}))
		}
		return &Literal{Value: int64(r.IntN(1000)), T: Of(BigInt)}
	}
	whens := make([]When, 1+r.IntN(12))
	for i := range whens {
		whens[i] = When{Cond: cond(), Then: result()}
	}
	other := Expr(nil)
	if r.IntN(3) > 0 {
		other = result()
	}
	e := must(Fold(must(NewCase(whens, other, fault.Span{})), nil))
	x, ok := e.(*Case)
	if !ok {
		return randomCase(t, r)
	}
	return x
}

// A CASE whose arms are found by tables has the results that its conditions have one after the
// other.
func TestTablesOfArmsKeepTheirOrder(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	tables := 0
	for range 3000 {
		x := randomCase(t, r)
		if runsOf(x.Whens) != nil {
			tables++
		}
		p, err := Compile(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		slow := armByArm(t, x)
		for range 2 {
			b := casesBatch(r, 1+r.IntN(40))
			if r.IntN(3) == 0 {
				b.Sel = []uint32{0}
			}
			got, err := p.Eval(b)
			if err != nil {
				t.Fatal(err)
			}
			want, err := slow.Eval(b)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Rows() {
				if got.IsNull(i) != want.IsNull(i) || !got.IsNull(i) && got.ValueAt(i) != want.ValueAt(i) {
					t.Fatalf("seed %d: the table gives %v in row %d, one condition after the other %v", seed, got.ValueAt(i), i, want.ValueAt(i))
				}
			}
		}
	}
	if tables < 300 {
		t.Errorf("only %d of the expressions have a table", tables)
	}
}

func BenchmarkCaseOfConstants(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	ids := make([]int64, vector.BatchRows)
	for i := range ids {
		ids[i] = int64(r.IntN(200_000))
	}
	batch := &vector.Batch{N: len(ids), Cols: []*vector.Vector{vector.FromLongs(ids)}}
	for _, arms := range []int{10, 100, 5000} {
		b.Run(fmt.Sprint(arms), func(b *testing.B) {
			x := &Case{T: Of(BigInt), Else: &Literal{Value: int64(0), T: Of(BigInt)}}
			for i := range arms {
				cond, err := NewCompare("=", &Column{T: Of(BigInt)}, &Literal{Value: int64(i), T: Of(BigInt)}, fault.Span{})
				if err != nil {
					b.Fatal(err)
				}
				x.Whens = append(x.Whens, When{Cond: cond, Then: &Literal{Value: int64(2 * i), T: Of(BigInt)}})
			}
			p, err := Compile(x, nil)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := p.Eval(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
