package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// TestCallsThatSQLNeverMakes has refusals of calls that the grammar of SQL rules out and that
// native queries or the planner make.
func TestCallsThatSQLNeverMakes(t *testing.T) {
	json, path := &Column{T: JSON}, textLiteral("$.a")
	for _, c := range []struct {
		make func() (Expr, error)
		want string
	}{
		{func() (Expr, error) { return NewJSONValue(json, path, Type{Base: Row}, fault.Span{}) },
			"Function [JSON_VALUE] can't return type [ROW]; use JSON_QUERY for nested values"},
		{func() (Expr, error) { return NewCall(jsonObjectFunction, []Expr{path}, fault.Span{}) }, "Function [JSON_OBJECT] needs a value for each name"},
		{func() (Expr, error) {
			return NewCall(wholePowerFunction, []Expr{&Column{T: Of(BigInt)}, longConstant(-1)}, fault.Span{})
		}, "The exponent [-1] of a whole number must not be negative"},
	} {
		e, err := c.make()
		if err == nil {
			var p *Program
			if p, err = Compile(e, nil); err == nil {
				_, err = p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{2})}})
			}
		}
		if message(err) != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestPatternsThatTakeTooLong(t *testing.T) {
	p, err := compilePattern("(?!b)(a|aa)+$", "REGEXP_LIKE", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	const want = "A regular expression took longer than [1ms] for one string; rewrite it so that it needs less backtracking"
	if _, err := p.matches(strings.Repeat("a", 60) + "!"); message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestPatternsThatAreTooLong(t *testing.T) {
	const want = "The pattern for the [regexp_like] function has [65537] bytes, more than the limit of [65536]"
	if _, err := compilePattern(strings.Repeat("a", maxPattern+1), "REGEXP_LIKE", time.Second); message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := compilePattern(strings.Repeat("a|", maxPattern/2), "REGEXP_LIKE", time.Second); err != nil {
		t.Error(err)
	}
}

// Literals cast together are what each is when its cast is folded.
func TestCastLiterals(t *testing.T) {
	list := []Literal{
		{Value: int64(1), T: Of(Integer).NotNull()}, *textLiteral("b"), {T: Of(Null)}, {Value: 2.5, T: Of(Decimal).NotNull()}, {Value: int64(-3_000_000_000), T: Of(BigInt).NotNull()}, {Value: 1e21, T: Of(Double).NotNull()},
		{Value: int64(1), T: Of(Boolean).NotNull()}, {Value: int64(86_400_000), T: Of(Timestamp).NotNull()}, {Value: int64(0), T: Of(Date).NotNull()},
	}
	for _, to := range []Type{Of(Varchar), Of(Double), Of(BigInt), Of(Float)} {
		var some []Literal
		for _, l := range list {
			if to.IsCharacter() || l.T.IsNumeric() || l.T.Base == Null || l.T.IsCharacter() {
				some = append(some, l)
			}
		}
		values, err := CastLiterals(some, to, fault.Span{}, &Context{})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range some {
			cast, err := NewCast(&l, to, fault.Span{})
			if err != nil {
				t.Fatal(err)
			}
			folded, err := Fold(cast, &Context{})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := values.ValueAt(i), runtimeValue(folded.(*Literal).Value, to.Runtime()); got != want {
				t.Errorf("%v as %v is %v, alone %v", l.Value, to, got, want)
			}
		}
	}
	if _, err := CastLiterals([]Literal{*textLiteral("a")}, Of(IntervalDay), fault.Span{}, &Context{}); err == nil {
		t.Error("a text is cast to an interval")
	}
}

func TestLambdasOfTooManyValues(t *testing.T) {
	long := Of(BigInt)
	list := &Column{T: ArrayOf(long)}
	p, err := Compile(&Loop{Kind: LoopMap, Lists: []Expr{list, list}, Body: &Element{T: long}, T: list.T}, nil)
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
	date, text, long := Literal{Value: int64(86_400_000), T: Of(Date).NotNull()}, *textLiteral("b"), Literal{Value: int64(7), T: Of(Integer).NotNull()}
	big, decimal, null := Literal{Value: int64(1 << 40), T: Of(BigInt).NotNull()}, Literal{Value: 2.5, T: Of(Decimal).NotNull()}, Literal{T: Of(Null)}
	truth, at := Literal{Value: int64(1), T: Of(Boolean).NotNull()}, Literal{Value: int64(5), T: Of(Timestamp).NotNull()}
	for _, x := range []Base{BigInt, Double, Float, Varchar, Boolean, Timestamp, Date} {
		for _, few := range [][]Literal{
			{long}, {long, big}, {big, null}, {decimal}, {long, decimal}, {text}, {text, long}, {long, text, decimal, null}, {null}, {date}, {at}, {at, date},
			{truth}, {truth, long}, {date, text}, {long, at},
		} {
			var short, longer []Expr
			for i := range few {
				short = append(short, &few[i])
			}
			for len(longer) <= ManyConstants+1 {
				longer = append(longer, short...)
			}
			column := &Column{T: Of(x)}
			want, wantErr := NewIn(column, short, fault.Span{})
			got, gotErr := NewIn(column, longer, fault.Span{})
			if message(gotErr) != message(wantErr) {
				t.Errorf("%v IN %v: %v, few of them %v", x, few, gotErr, wantErr)
			}
			a, ok := want.(*In)
			b, same := got.(*In)
			if ok != same {
				t.Errorf("%v IN %v is %T, few of them %T", x, few, got, want)
			}
			if !ok || !same {
				continue
			}
			for _, in := range []*In{a, b} {
				slices.SortFunc(in.Values, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				in.Values = slices.Compact(in.Values)
			}
			if !Equal(a, b) {
				t.Errorf("%v IN %v has %v of %v, few of them %v of %v", x, few, b.Values, b.X.Type(), a.Values, a.X.Type())
			}
		}
	}
}
