package wire

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

func sample() plan.Node {
	long, text := expr.Of(expr.BigInt).NotNull(), expr.Of(expr.Varchar)
	scan := &plan.Scan{
		DataSource: "wiki", Limit: -1, Time: -1, Intervals: []chrono.Interval{{Start: -5, End: math.MaxInt64}},
		Out: []plan.Column{{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp).NotNull()}, {Name: "tags", Type: expr.MultiString},
			{Name: "n", Type: long}, {Name: "a", Type: expr.ArrayOf(expr.Of(expr.Double))}, {Name: "j", Type: expr.JSON}},
		Filter: &expr.Or{Terms: []expr.Expr{
			&expr.Any{Source: &expr.Column{Index: 1, Name: "tags", T: expr.MultiString}, Body: &expr.In{
				X: &expr.Element{T: text}, Values: []any{"a", "b\xff"}, HasNull: true}},
			&expr.Not{X: &expr.Call{Fn: catalog.MustLookup("="), At: fault.Span{Line: 1, Column: 2, EndLine: 3, EndColumn: 4},
				T:    expr.Of(expr.Boolean),
				Args: []expr.Expr{&expr.Column{Index: 2, Name: "n", T: long}, &expr.Literal{Value: int64(math.MinInt64), T: long}}}},
		}},
	}
	project := &plan.Project{Input: scan, Names: []string{"n", "x", "l", "o"}, Exprs: []expr.Expr{
		&expr.Column{Index: 2, Name: "n", T: long},
		&expr.Case{Whens: []expr.When{{Cond: &expr.Literal{Value: int64(1), T: expr.Of(expr.Boolean)},
			Then: &expr.Cast{X: &expr.Literal{Value: math.NaN(), T: expr.Of(expr.Double)}, T: text}}}, T: text},
		&expr.Literal{Value: []any{float32(1.5), nil}, T: expr.ArrayOf(expr.Of(expr.Float))},
		&expr.Loop{Kind: expr.LoopFold, Lists: []expr.Expr{&expr.Column{Index: 3, Name: "a", T: expr.ArrayOf(expr.Of(expr.Double))}}, Zip: true,
			Initial: &expr.Literal{Value: 0.5, T: expr.Of(expr.Double)}, Body: &expr.Element{Depth: 1,
				T: expr.Of(expr.Double)}, T: expr.Of(expr.Double)},
	}}
	right := &plan.Inline{Out: []plan.Column{{Name: "k", Type: long}}, Rows: &vector.Batch{N: 2,
		Cols: []*vector.Vector{vector.FromLongs([]int64{1, 2})}}}
	join := &plan.Join{Kind: plan.Left, Left: project, Right: right, Keys: []plan.EquiKey{{Left: 0, Right: 0, NullSafe: true}}}
	aggregate := &plan.Aggregate{Input: join, Keys: []int{1}, Sets: [][]int{{0}, {}}, Grouping: true, Aggs: []plan.AggCall{{
		Agg: agg.Spec{Name: "SUM", Args: []vector.Type{vector.Long}}, Args: []int{0}, Filter: -1, Distinct: true, Name: "s", Type: expr.Of(expr.BigInt)}}}
	return &plan.Sort{Input: aggregate, Keys: []plan.SortKey{{Column: 1, Desc: true}}, Limit: 10}
}

func TestPlansSurviveTheirBytes(t *testing.T) {
	in := sample()
	b, err := Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan.Format(in), plan.Format(out)); diff != "" {
		t.Error(diff)
	}
	again, err := Encode(out)
	if err != nil || string(again) != string(b) {
		t.Errorf("the plan that was read has other bytes (%v)", err)
	}
}

func TestDamagedPlansAreRefused(t *testing.T) {
	b, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := Decode(b[:n]); err == nil {
			t.Fatalf("the first [%d] of [%d] bytes are a plan", n, len(b))
		}
	}
	if _, err := Decode(append(slices.Clip(b), 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte too many: %v", err)
	}
	outside := &plan.Sort{Input: &plan.Scan{Limit: -1}, Keys: []plan.SortKey{{Column: 3}}}
	if b, err = Encode(outside); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(b); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a column that is not there: %v", err)
	}
	if _, err := Encode(&plan.Write{Input: &plan.Scan{}}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a node that does not travel: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	b, err := Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{tagFilter, tagScan, 0, 0, 0, 0, 0, 0, tagOr, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := Decode(b)
		if err != nil {
			return
		}
		if _, err := Encode(n); err != nil {
			t.Errorf("a plan that was read can't be written: %v", err)
		}
	})
}
