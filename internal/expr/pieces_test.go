package expr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/javaregex"
	"github.com/hengedb/henge/internal/vector"
)

// Long texts are taken in pieces, which give what all of them at once would give, and between which
// a query may end.
func TestLongTextsInPieces(t *testing.T) {
	long := strings.Repeat("ab", expr.PieceBytes/4)
	b := vector.NewBuilder(vector.String, 9)
	for _, s := range []any{long, "ab", nil, long + "c", "", long + long + "d", nil, "x", long} {
		b.Append(s)
	}
	batch := &vector.Batch{N: 9, Cols: []*vector.Vector{b.Build()}}
	text := &expr.Column{T: expr.Of(expr.Varchar)}
	for _, c := range []struct {
		fn   string
		args []expr.Expr
		want []any
	}{
		{"STRPOS", []expr.Expr{text, expr.TextLiteral("c")}, []any{int64(0), int64(0), nil, int64(len(long) + 1), int64(0), int64(0), nil,
			int64(0), int64(0)}},
		{"RIGHT", []expr.Expr{text, expr.LongLiteral(1)}, []any{"b", "b", nil, "c", "", "d", nil, "x", "b"}},
		{"REGEXP_LIKE", []expr.Expr{text, expr.TextLiteral("b[cd]$")}, []any{int64(0), int64(0), nil, int64(1), int64(0), int64(1), nil,
			int64(0), int64(0)}},
		{"STRING_TO_ARRAY", []expr.Expr{text, expr.TextLiteral(long[:javaregex.MaxPattern])}, nil},
	} {
		e, err := expr.NewCall(catalog.MustLookup(c.fn), c.args, fault.Span{})
		if err != nil {
			t.Fatalf("%s: %v", c.fn, err)
		}
		asked := 0
		p, err := expr.Compile(e, &expr.Context{Stop: func() error { asked++; return nil }})
		if err != nil {
			t.Fatalf("%s: %v", c.fn, err)
		}
		v, err := p.Eval(batch)
		if err != nil {
			t.Fatalf("%s: %v", c.fn, err)
		}
		if asked < 3 {
			t.Errorf("%s: asked %d times", c.fn, asked)
		}
		for i := range c.want {
			if d := cmp.Diff(c.want[i], v.ValueAt(i)); d != "" {
				t.Errorf("%s, row %d: %s", c.fn, i, d)
			}
		}
		cause, left := errors.New("no more"), 2
		if p, err = expr.Compile(e, &expr.Context{Stop: func() error {
			if left--; left < 0 {
				return cause
			}
			return nil
		}}); err != nil {
			t.Fatalf("%s: %v", c.fn, err)
		}
		if _, err := p.Eval(batch); !errors.Is(err, cause) {
			t.Errorf("%s, in between: %v", c.fn, err)
		}
	}
}

// What pieces make has room together.
func TestPiecesHaveRoomTogether(t *testing.T) {
	text := &expr.Column{T: expr.Of(expr.Varchar).NotNull()}
	e, err := expr.NewCall(catalog.MustLookup("UPPER"), []expr.Expr{text}, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := expr.Compile(e, &expr.Context{TextRoom: expr.PieceBytes * 3})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", expr.PieceBytes)
	if _, err := p.Eval(&vector.Batch{N: 4, Cols: []*vector.Vector{vector.FromStrings([]string{long, long, long, long})}}); err == nil ||
		!expr.IsForFewerRows(err) {
		t.Error(err)
	}
}

// A pattern that goes back and forth may take long for each text: between two of them a query may
// end.
func TestStopBetweenTexts(t *testing.T) {
	cause := errors.New("no more")
	for _, fn := range []string{"REGEXP_LIKE", "REGEXP_EXTRACT"} {
		e, err := expr.NewCall(catalog.MustLookup(fn), []expr.Expr{&expr.Column{T: expr.Of(expr.Varchar)}, expr.TextLiteral(`(a)\1`)},
			fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		p, err := expr.Compile(e, &expr.Context{Stop: func() error {
			if asked++; asked > 3 {
				return cause
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Eval(&vector.Batch{N: 5, Cols: []*vector.Vector{vector.FromStrings([]string{"aa", "b", "aa", "c",
			"d"})}}); !errors.Is(err, cause) {
			t.Errorf("%s: %v", fn, err)
		}
	}
}
