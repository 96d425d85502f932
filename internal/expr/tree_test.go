package expr_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/expr/nativetext"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

func TestLeastRestrictive(t *testing.T) {
	of := func(bases ...expr.Base) []expr.Type {
		out := make([]expr.Type, len(bases))
		for i, b := range bases {
			out[i] = expr.Of(b).NotNull()
		}
		return out
	}
	for _, c := range []struct {
		types []expr.Type
		want  string
	}{
		{of(expr.Integer, expr.BigInt), "BIGINT"},
		{of(expr.Integer, expr.Decimal), "DECIMAL"},
		{of(expr.Decimal, expr.Double), "DOUBLE"},
		{of(expr.Float, expr.Integer), "FLOAT"},
		{of(expr.Float, expr.Decimal), "DOUBLE"},
		{of(expr.Char, expr.Varchar), "VARCHAR"},
		{of(expr.Char, expr.Integer), "VARCHAR"},
		{of(expr.Date, expr.Timestamp), "TIMESTAMP"},
		{of(expr.Null, expr.Integer), "INTEGER"},
		{of(expr.Null, expr.Null), "NULL"},
		{of(expr.Boolean, expr.Integer), ""},
		{of(expr.Timestamp, expr.Integer), "TIMESTAMP"},
		{of(expr.Timestamp, expr.Double), ""},
		{of(expr.Date, expr.Integer), "DATE"},
		{of(expr.BigInt, expr.Date, expr.Timestamp), "TIMESTAMP"},
		{of(expr.Date, expr.Double), ""},
		{[]expr.Type{expr.ArrayOf(expr.Of(expr.Integer)), expr.ArrayOf(expr.Of(expr.Double))}, "DOUBLE ARRAY"},
		{[]expr.Type{expr.ArrayOf(expr.Of(expr.Integer)), expr.Of(expr.Integer)}, ""},
		{[]expr.Type{expr.JSON, expr.JSON}, "COMPLEX<json>"},
	} {
		got := ""
		if u, ok := expr.LeastRestrictive(c.types...); ok {
			got = u.String()
		}
		if got != c.want {
			t.Errorf("least restrictive of %v is %q, want %q", c.types, got, c.want)
		}
	}
	if u, _ := expr.LeastRestrictive(expr.Of(expr.Integer).NotNull(), expr.Of(expr.Null)); !u.Nullable {
		t.Error("NULL among the types does not make the result nullable")
	}
}

func TestTreesCompareAndRewriteByStructure(t *testing.T) {
	a := mustParse(t, "CASE WHEN a > 1 AND s LIKE 'x%' THEN COALESCE(s, t) ELSE UPPER(mv) END", mixed...)
	b := mustParse(t, "CASE WHEN a > 1 AND s LIKE 'x%' THEN COALESCE(s, t) ELSE UPPER(mv) END", mixed...)
	if !expr.Equal(a, b) {
		t.Error("equal trees are not equal")
	}
	if diff := cmp.Diff([]int{0, 4, 5, 7}, expr.Columns(a)); diff != "" {
		t.Errorf("columns: %s", diff)
	}
	moved := expr.Remap(a, func(i int) int { return i + 1 })
	if expr.Equal(a, moved) {
		t.Error("a tree over other columns is equal")
	}
	if diff := cmp.Diff([]int{1, 5, 6, 8}, expr.Columns(moved)); diff != "" {
		t.Errorf("columns: %s", diff)
	}
	if same := expr.Remap(a, func(i int) int { return i }); same != a {
		t.Error("a rewrite that changes nothing makes a new tree")
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"a + (1 + 2)", `("a" + 3)`},
		{"a > 1 AND 1 = 1", `("a" > 1)`},
		{"a > 1 AND 1 = 2", "0"},
		{"a > 1 OR 1 = 1", "1"},
		{"CASE WHEN 1 = 2 THEN a WHEN a > 1 THEN 1 ELSE 2 END", `case_searched(("a" > 1),1,2)`},
		{"CASE WHEN 1 = 1 THEN a ELSE 1 / 0 END", `"a"`},
		{"COALESCE(NULL, a, b, 1, a)", `case_searched(notnull("a"),"a",notnull("b"),"b",1)`},
		{"ts > TIMESTAMP '2000-01-01 00:00:00' + INTERVAL '1' DAY", `("ts" > 946771200000)`},
		{"RANDOM() > 2", `(random() > 2)`},
		{"-0.0", "0.0"},
	} {
		e, err := expr.Fold(mustParse(t, c.sql, mixed...), nil)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if got := nativetext.Format(e, nil); got != c.want {
			t.Errorf("%s folds to %s, want %s", c.sql, got, c.want)
		}
	}
	if _, err := expr.Fold(mustParse(t, "a + 1 / 0", mixed...), nil); err == nil {
		t.Error("a division of constants by zero is no error")
	}
	if _, err := expr.Fold(mustParse(t, "a = 1 AND 1 / 0 = 1", mixed...), nil); err != nil {
		t.Errorf("a constant that may never be reached: %v", err)
	}
}

func TestDeepAndWideTrees(t *testing.T) {
	column := &expr.Column{T: expr.Of(expr.BigInt)}
	var deep expr.Expr = column
	for range expr.MaxDepth + 1 {
		next, err := expr.NewCall(catalog.MustLookup("+"), []expr.Expr{deep, &expr.Literal{Value: int64(1), T: expr.Of(expr.BigInt)}},
			fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		deep = next
	}
	folded, err := expr.Fold(deep, nil)
	if err == nil {
		_, err = expr.Compile(folded, nil)
	}
	if err == nil || err.Error() != "The expression is nested deeper than [10000] levels" {
		t.Errorf("a tree beyond the limit of depth: %v", err)
	}
	terms := make([]expr.Expr, 50_000)
	for i := range terms {
		term, err := expr.NewCompare("=", column, &expr.Literal{Value: int64(2 * i), T: expr.Of(expr.BigInt)}, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		terms[i] = term
	}
	wide, err := expr.NewOr(terms, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := expr.Compile(wide, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.Filter(&vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{4, 5})}})
	if diff := cmp.Diff([]uint32{0}, rows); err != nil || diff != "" {
		t.Errorf("filter: %v %s", err, diff)
	}
}

func TestCatalog(t *testing.T) {
	for _, f := range catalog.Functions() {
		if len(f.Signatures()) == 0 {
			t.Errorf("function %s has no signature", f.Name)
		}
		if f.Bind == nil {
			t.Errorf("function %s can't be bound", f.Name)
		}
		if !strings.HasSuffix(f.Summary, ".") {
			t.Errorf("the summary of %s is no sentence: %s", f.Name, f.Summary)
		}
	}
	if f, ok := catalog.Lookup("char_length"); !ok || f.Name != "CHAR_LENGTH" || !f.Same(catalog.MustLookup("LENGTH")) {
		t.Error("an alias does not find its function")
	}
	if got := catalog.Nearest("UPER"); !cmp.Equal(got, []string{"UPPER"}) {
		t.Errorf("nearest to UPER: %v", got)
	}
}
