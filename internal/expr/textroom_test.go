package expr_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// The strings of a batch have room together, however short each is: five rows of 20 bytes fit, and
// a sixth does not.
func TestRoomForText(t *testing.T) {
	text, list := expr.Of(expr.Varchar).NotNull(), expr.ArrayOf(expr.Of(expr.Varchar).NotNull()).NotNull()
	s, parts := &expr.Column{Index: 0, Name: "s", T: text}, &expr.Column{Index: 1, Name: "l", T: list}
	ten := expr.TextLiteral(strings.Repeat("-", 10))
	for _, c := range []struct {
		fn   string
		args []expr.Expr
	}{
		{"||", []expr.Expr{s, s}},
		{"CONCAT", []expr.Expr{s, ten}},
		{"TEXTCAT", []expr.Expr{s, s}},
		{"CONCAT_WS", []expr.Expr{expr.TextLiteral(""), s, s}},
		{"REPEAT", []expr.Expr{s, expr.LongLiteral(2)}},
		{"LPAD", []expr.Expr{s, expr.LongLiteral(20)}},
		{"RPAD", []expr.Expr{s, expr.LongLiteral(20)}},
		{"REPLACE", []expr.Expr{s, expr.TextLiteral("x"), expr.TextLiteral("yy")}},
		{"REGEXP_REPLACE", []expr.Expr{s, expr.TextLiteral("x"), expr.TextLiteral("yy")}},
		{"STRING_FORMAT", []expr.Expr{expr.TextLiteral("%20s"), s}},
		{"ARRAY_TO_STRING", []expr.Expr{parts, ten}},
		{"CONCAT", []expr.Expr{&expr.Call{Fn: catalog.MustLookup("REVERSE"), Args: []expr.Expr{s}, T: text}, s}},
	} {
		e, err := expr.NewCall(catalog.MustLookup(c.fn), c.args, fault.Span{})
		if err != nil {
			t.Fatalf("%s: %v", c.fn, err)
		}
		p, err := expr.Compile(e, &expr.Context{TextRoom: 100})
		if err != nil {
			t.Fatalf("%s: %v", c.fn, err)
		}
		for rows, want := range map[int]string{
			5: "",
			6: "Function [" + e.(*expr.Call).Fn.Name + "] makes strings of more than [100] bytes together for rows that are computed at once",
		} {
			strs, lists := vector.NewBuilder(vector.String, rows), vector.NewBuilder(vector.ListOf(vector.String), rows)
			for range rows {
				strs.AppendString("xxxxxxxxxx")
				lists.Append([]any{"12345", "67890"})
			}
			_, err := p.Eval(&vector.Batch{N: rows, Cols: []*vector.Vector{strs.Build(), lists.Build()}})
			if got := ""; err != nil {
				if got = message(err); got != want {
					t.Errorf("%s of %d rows: %s, want [%s]", c.fn, rows, got, want)
				}
			} else if want != "" {
				t.Errorf("%s of %d rows has room, want [%s]", c.fn, rows, want)
			}
		}
	}
}

// A function that makes no more of its argument is held to the same, by its result.
func TestRoomForResults(t *testing.T) {
	p, err := expr.Compile(&expr.Call{Fn: catalog.MustLookup("REVERSE"),
		Args: []expr.Expr{&expr.Column{T: expr.Of(expr.Varchar).NotNull()}}, T: expr.Of(expr.Varchar).NotNull()}, &expr.Context{TextRoom: 9})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromStrings([]string{"123456789"})}}); err != nil {
		t.Error(err)
	}
	const want = "Function [REVERSE] makes strings of more than [9] bytes together for rows that are computed at once"
	if _, err := p.Eval(&vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromStrings([]string{"12345", "67890"})}}); message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Arrays have room for as many elements as 16 bytes each leave.
func TestRoomForElements(t *testing.T) {
	list := &expr.Column{T: expr.ArrayOf(expr.Of(expr.BigInt)).NotNull()}
	for fn, args := range map[string][]expr.Expr{"ARRAY_CONCAT": {list, list}, "ARRAY": {list, list}} {
		e, err := expr.NewCall(catalog.MustLookup(fn), args, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := expr.Compile(e, &expr.Context{TextRoom: 16 * 12})
		if err != nil {
			t.Fatal(err)
		}
		const want = " makes arrays of more than [12] elements together for rows that are computed at once"
		for _, rows := range []int{1, 4} {
			b := vector.NewBuilder(vector.ListOf(vector.Long), rows)
			for range rows {
				b.Append([]any{int64(1), int64(2)})
			}
			_, err := p.Eval(&vector.Batch{N: rows, Cols: []*vector.Vector{b.Build()}})
			if rows == 1 && err != nil || rows > 1 && message(err) != "Function ["+fn+"]"+want {
				t.Errorf("%s of %d rows: %v", fn, rows, err)
			}
		}
	}
}

// Nothing but the limit of the process is set where a query says nothing.
func TestDefaultRoomForText(t *testing.T) {
	for _, c := range []struct {
		ctx  *expr.Context
		want int64
	}{{nil, expr.MaxBatchText}, {&expr.Context{}, expr.MaxBatchText}, {&expr.Context{TextRoom: 5}, 5}, {&expr.Context{TextRoom: 1 << 40},
		expr.MaxBatchText}} {
		if got := c.ctx.RoomForText(); got != c.want {
			t.Errorf("%+v has room for %d, want %d", c.ctx, got, c.want)
		}
	}
}

// What the calls of an expression make has a limit together, as each of them holds what its
// arguments made.
func TestRoomForExpression(t *testing.T) {
	text := expr.Of(expr.Varchar).NotNull()
	var e expr.Expr = &expr.Column{T: text}
	for range 5 {
		e = &expr.Call{Fn: catalog.MustLookup("REVERSE"), Args: []expr.Expr{e}, T: text}
	}
	p, err := expr.Compile(e, &expr.Context{TextRoom: 10})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // for each batch anew
		if _, err := p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromStrings([]string{"12345678"})}}); err != nil {
			t.Error(err)
		}
		if got := p.Made(); got != 40 {
			t.Errorf("made %d bytes, want 40", got)
		}
	}
	const want = "Functions of an expression make strings and arrays of more than [40] bytes together for rows that are computed at once"
	if _, err := p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromStrings([]string{"123456789"})}}); message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// JSON is refused before it is written, by the texts in it: those of an array may be one in memory.
func TestRoomForJSON(t *testing.T) {
	for fn, args := range map[string][]expr.Expr{
		"TO_JSON":     {&expr.Column{T: expr.ArrayOf(expr.Of(expr.Varchar)).NotNull()}},
		"JSON_OBJECT": {expr.TextLiteral("k"), &expr.Column{T: expr.ArrayOf(expr.Of(expr.Varchar)).NotNull()}},
	} {
		e, err := expr.NewCall(catalog.MustLookup(fn), args, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := expr.Compile(e, &expr.Context{TextRoom: 100})
		if err != nil {
			t.Fatal(err)
		}
		b := vector.NewBuilder(vector.ListOf(vector.String), 1)
		ten := strings.Repeat("x", 10)
		b.Append([]any{ten, ten, ten, ten, ten, ten, nil, ten, ten, ten, ten, ten})
		const want = "Function [TO_JSON] makes strings of more than [100] bytes together for rows that are computed at once"
		if _, err := p.Eval(&vector.Batch{N: 1, Cols: []*vector.Vector{b.Build()}}); message(err) != want {
			t.Errorf("%s: %v, want %s", fn, err, want)
		}
	}
}

// A query that has to end ends before the next call of a function, and within one that makes much.
func TestStop(t *testing.T) {
	compiled := func(ctx *expr.Context) *expr.Program {
		p, err := expr.Compile(&expr.Call{Fn: catalog.MustLookup("REPEAT"),
			Args: []expr.Expr{&expr.Column{T: expr.Of(expr.Varchar).NotNull()}, expr.LongLiteral(3 << 19)}, T: expr.Of(expr.Varchar)}, ctx)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	batch := &vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromStrings([]string{"x", "x"})}}
	ctx, cancel := context.WithCancelCause(t.Context())
	ending := expr.Context{}.WithStop(ctx)
	p := compiled(&ending)
	if _, err := p.Eval(batch); err != nil {
		t.Error(err)
	}
	cause, asked := errors.New("no more"), 0
	cancel(cause)
	if _, err := p.Eval(batch); !errors.Is(err, cause) {
		t.Errorf("after the end: %v", err)
	}
	p = compiled(&expr.Context{Stop: func() error {
		if asked++; asked > 1 {
			return cause
		}
		return nil
	}})
	if _, err := p.Eval(batch); !errors.Is(err, cause) || asked != 2 {
		t.Errorf("asked %d times, in between: %v", asked, err)
	}
}
