package expr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/javaregex"
	"github.com/hengedb/henge/internal/vector"
)

// TestCallsThatSQLNeverMakes has refusals of calls that the grammar of SQL rules out and that
// native queries or the planner make.
func TestCallsThatSQLNeverMakes(t *testing.T) {
	json, path := &expr.Column{T: expr.JSON}, expr.TextLiteral("$.a")
	for _, c := range []struct {
		make func() (expr.Expr, error)
		want string
	}{
		{func() (expr.Expr, error) {
			return expr.NewJSONValue(json, path, expr.Type{Base: expr.Row}, fault.Span{})
		},
			"Function [JSON_VALUE] can't return type [ROW]; use JSON_QUERY for nested values"},
		{func() (expr.Expr, error) {
			return expr.NewCall(catalog.MustLookup("JSON_OBJECT"), []expr.Expr{path}, fault.Span{})
		}, "Function [JSON_OBJECT] needs a value for each name"},
		{func() (expr.Expr, error) {
			return expr.NewCall(catalog.MustLookup("$WHOLE_POWER"), []expr.Expr{&expr.Column{T: expr.Of(expr.BigInt)}, expr.LongLiteral(-1)},
				fault.Span{})
		}, "The exponent [-1] of a whole number must not be negative"},
	} {
		e, err := c.make()
		if err == nil {
			var p *expr.Program
			if p, err = expr.Compile(e, nil); err == nil {
				_, err = p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{2})}})
			}
		}
		if message(err) != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestPatternsThatTakeTooLong(t *testing.T) {
	p, err := javaregex.Compile("(?!b)(a|aa)+$", "REGEXP_LIKE", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	const want = "A regular expression took longer than [1ms] for one string; rewrite it so that it needs less backtracking"
	if _, err := p.Matches(strings.Repeat("a", 60) + "!"); message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestPatternsThatAreTooLong(t *testing.T) {
	const want = "The pattern for the [regexp_like] function has [65537] bytes, more than the limit of [65536]"
	if _, err := javaregex.Compile(strings.Repeat("a", javaregex.MaxPattern+1), "REGEXP_LIKE", time.Second); message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := javaregex.Compile(strings.Repeat("a|", javaregex.MaxPattern/2), "REGEXP_LIKE", time.Second); err != nil {
		t.Error(err)
	}
}

// Literals cast together are what each is when its cast is folded.
func TestCastLiterals(t *testing.T) {
	list := []expr.Literal{
		{Value: int64(1), T: expr.Of(expr.Integer).NotNull()}, *expr.TextLiteral("b"), {T: expr.Of(expr.Null)}, {Value: 2.5,
			T: expr.Of(expr.Decimal).NotNull()}, {Value: int64(-3_000_000_000), T: expr.Of(expr.BigInt).NotNull()}, {Value: 1e21, T: expr.Of(expr.Double).NotNull()},
		{Value: int64(1), T: expr.Of(expr.Boolean).NotNull()}, {Value: int64(86_400_000),
			T: expr.Of(expr.Timestamp).NotNull()}, {Value: int64(0), T: expr.Of(expr.Date).NotNull()},
	}
	for _, to := range []expr.Type{expr.Of(expr.Varchar), expr.Of(expr.Double), expr.Of(expr.BigInt), expr.Of(expr.Float)} {
		var some []expr.Literal
		for _, l := range list {
			if to.IsCharacter() || l.T.IsNumeric() || l.T.Base == expr.Null || l.T.IsCharacter() {
				some = append(some, l)
			}
		}
		values, err := expr.CastLiterals(some, to, fault.Span{}, &expr.Context{})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range some {
			cast, err := expr.NewCast(&l, to, fault.Span{})
			if err != nil {
				t.Fatal(err)
			}
			folded, err := expr.Fold(cast, &expr.Context{})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := values.ValueAt(i), expr.RuntimeValue(folded.(*expr.Literal).Value, to.Runtime()); got != want {
				t.Errorf("%v as %v is %v, alone %v", l.Value, to, got, want)
			}
		}
	}
	if _, err := expr.CastLiterals([]expr.Literal{*expr.TextLiteral("a")}, expr.Of(expr.IntervalDay), fault.Span{},
		&expr.Context{}); err == nil {
		t.Error("a text is cast to an interval")
	}
}

func TestLambdasOfTooManyValues(t *testing.T) {
	long := expr.Of(expr.BigInt)
	list := &expr.Column{T: expr.ArrayOf(long)}
	p, err := expr.Compile(&expr.Loop{Kind: expr.LoopMap, Lists: []expr.Expr{list, list}, Body: &expr.Element{T: long}, T: list.T}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := vector.NewBuilder(vector.ListOf(vector.Long), 1)
	values := make([]any, 4097)
	for i := range values {
		values[i] = int64(i)
	}
	b.Append(values)
	const want = "A lambda would go over more than [16777216] combinations of values"
	if _, err := p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{b.Build()}}); message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// message returns what the user is told, without the cause.
func message(err error) string {
	if f := fault.Find(err); f != nil {
		return f.Message
	}
	return fmt.Sprint(err)
}

// A long list of constants gives what a short one gives, whatever their types are.
func TestInOfManyConstants(t *testing.T) {
	date, text, long := expr.Literal{Value: int64(86_400_000), T: expr.Of(expr.Date).NotNull()}, *expr.TextLiteral("b"), expr.Literal{Value: int64(7), T: expr.Of(expr.Integer).NotNull()}
	big, decimal, null := expr.Literal{Value: int64(1 << 40), T: expr.Of(expr.BigInt).NotNull()}, expr.Literal{Value: 2.5,
		T: expr.Of(expr.Decimal).NotNull()}, expr.Literal{T: expr.Of(expr.Null)}
	truth, at := expr.Literal{Value: int64(1), T: expr.Of(expr.Boolean).NotNull()}, expr.Literal{Value: int64(5),
		T: expr.Of(expr.Timestamp).NotNull()}
	for _, x := range []expr.Base{expr.BigInt, expr.Double, expr.Float, expr.Varchar, expr.Boolean, expr.Timestamp, expr.Date} {
		for _, few := range [][]expr.Literal{
			{long}, {long, big}, {big, null}, {decimal}, {long, decimal}, {text}, {text, long}, {long, text, decimal,
				null}, {null}, {date}, {at}, {at, date},
			{truth}, {truth, long}, {date, text}, {long, at},
		} {
			var short, longer []expr.Expr
			for i := range few {
				short = append(short, &few[i])
			}
			for len(longer) <= expr.ManyConstants+1 {
				longer = append(longer, short...)
			}
			column := &expr.Column{T: expr.Of(x)}
			want, wantErr := expr.NewIn(column, short, fault.Span{})
			got, gotErr := expr.NewIn(column, longer, fault.Span{})
			if message(gotErr) != message(wantErr) {
				t.Errorf("%v IN %v: %v, few of them %v", x, few, gotErr, wantErr)
			}
			a, ok := want.(*expr.In)
			b, same := got.(*expr.In)
			if ok != same {
				t.Errorf("%v IN %v is %T, few of them %T", x, few, got, want)
			}
			if !ok || !same {
				continue
			}
			for _, in := range []*expr.In{a, b} {
				slices.SortFunc(in.Values, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				in.Values = slices.Compact(in.Values)
			}
			if !expr.Equal(a, b) {
				t.Errorf("%v IN %v has %v of %v, few of them %v of %v", x, few, b.Values, b.X.Type(), a.Values, a.X.Type())
			}
		}
	}
}
