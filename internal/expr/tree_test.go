package expr

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

func TestLeastRestrictive(t *testing.T) {
	of := func(bases ...Base) []Type {
		out := make([]Type, len(bases))
		for i, b := range bases {
			out[i] = Of(b).NotNull()
		}
		return out
	}
	for _, c := range []struct {
		types []Type
		want  string
	}{
		{of(Integer, BigInt), "BIGINT"},
		{of(Integer, Decimal), "DECIMAL"},
		{of(Decimal, Double), "DOUBLE"},
		{of(Float, Integer), "FLOAT"},
		{of(Float, Decimal), "DOUBLE"},
		{of(Char, Varchar), "VARCHAR"},
		{of(Char, Integer), "VARCHAR"},
		{of(Date, Timestamp), "TIMESTAMP"},
		{of(Null, Integer), "INTEGER"},
		{of(Null, Null), "NULL"},
		{of(Boolean, Integer), ""},
		{of(Timestamp, Integer), "TIMESTAMP"},
		{of(Timestamp, Double), ""},
		{of(Date, Integer), "DATE"},
		{of(BigInt, Date, Timestamp), "TIMESTAMP"},
		{of(Date, Double), ""},
		{[]Type{ArrayOf(Of(Integer)), ArrayOf(Of(Double))}, "DOUBLE ARRAY"},
		{[]Type{ArrayOf(Of(Integer)), Of(Integer)}, ""},
		{[]Type{JSON, JSON}, "COMPLEX<json>"},
	} {
		got := ""
		if u, ok := LeastRestrictive(c.types...); ok {
			got = u.String()
		}
		if got != c.want {
			t.Errorf("least restrictive of %v is %q, want %q", c.types, got, c.want)
		}
	}
	if u, _ := LeastRestrictive(Of(Integer).NotNull(), Of(Null)); !u.Nullable {
		t.Error("NULL among the types does not make the result nullable")
	}
}

func TestTreesCompareAndRewriteByStructure(t *testing.T) {
	a := mustParse(t, "CASE WHEN a > 1 AND s LIKE 'x%' THEN COALESCE(s, t) ELSE UPPER(mv) END", mixed...)
	b := mustParse(t, "CASE WHEN a > 1 AND s LIKE 'x%' THEN COALESCE(s, t) ELSE UPPER(mv) END", mixed...)
	if !Equal(a, b) {
		t.Error("equal trees are not equal")
	}
	if diff := cmp.Diff([]int{0, 4, 5, 7}, Columns(a)); diff != "" {
		t.Errorf("columns: %s", diff)
	}
	moved := Remap(a, func(i int) int { return i + 1 })
	if Equal(a, moved) {
		t.Error("a tree over other columns is equal")
	}
	if diff := cmp.Diff([]int{1, 5, 6, 8}, Columns(moved)); diff != "" {
		t.Errorf("columns: %s", diff)
	}
	if same := Remap(a, func(i int) int { return i }); same != a {
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
		e, err := Fold(mustParse(t, c.sql, mixed...), nil)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if got := Native(e, nil); got != c.want {
			t.Errorf("%s folds to %s, want %s", c.sql, got, c.want)
		}
	}
	if _, err := Fold(mustParse(t, "a + 1 / 0", mixed...), nil); err == nil {
		t.Error("a division of constants by zero is no error")
	}
	if _, err := Fold(mustParse(t, "a = 1 AND 1 / 0 = 1", mixed...), nil); err != nil {
		t.Errorf("a constant that may never be reached: %v", err)
	}
}

func TestDeepAndWideTrees(t *testing.T) {
	column := &Column{T: Of(BigInt)}
	var deep Expr = column
	for range maxDepth + 1 {
		next, err := NewCall(addFunction, []Expr{deep, &Literal{Value: int64(1), T: Of(BigInt)}}, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		deep = next
	}
	folded, err := Fold(deep, nil)
	if err == nil {
		_, err = Compile(folded, nil)
	}
	if err == nil || err.Error() != "The expression is nested deeper than [10000] levels" {
		t.Errorf("a tree beyond the limit of depth: %v", err)
	}
	terms := make([]Expr, 50_000)
	for i := range terms {
		term, err := NewCompare("=", column, &Literal{Value: int64(2 * i), T: Of(BigInt)}, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		terms[i] = term
	}
	wide, err := NewOr(terms, fault.Span{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(wide, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.Filter(&vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{4, 5})}})
	if diff := cmp.Diff([]uint32{0}, rows); err != nil || diff != "" {
		t.Errorf("filter: %v %s", err, diff)
	}
}

func TestCatalog(t *testing.T) {
	for _, f := range Functions() {
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
	if f, ok := Lookup("char_length"); !ok || f.Name != "CHAR_LENGTH" || !f.same(lengthFunction) {
		t.Error("an alias does not find its function")
	}
	if got := Nearest("UPER"); !cmp.Equal(got, []string{"UPPER"}) {
		t.Errorf("nearest to UPER: %v", got)
	}
}

func TestLetterCase(t *testing.T) {
	for _, c := range []struct{ text, lower, upper string }{
		{"Straße", "straße", "STRASSE"},
		{"ΟΔΥΣΣΕΥΣ", "οδυσσευς", "ΟΔΥΣΣΕΥΣ"},
		{"İ", "i̇", "İ"},
		{"ﬁ", "ﬁ", "FI"},
		{"abcÉ", "abcé", "ABCÉ"},
	} {
		if got := toLower(c.text); got != c.lower {
			t.Errorf("lower case of %s is %s", c.text, got)
		}
		if got := toUpper(c.text); got != c.upper {
			t.Errorf("upper case of %s is %s", c.text, got)
		}
	}
}
