package exec

import (
	"fmt"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
)

// Rare values are read through bitmap indexes, common ones by scanning their codes, and what no row
// has is not read at all; whether the filter is an equality, a list, a pattern or a disjunction,
// and whatever the other terms are.
func TestFiltersUseIndexesWhereRowsAreFew(t *testing.T) {
	const n = 40_000
	s := &store{t: t}
	rows := make([][]any, n)
	for i := range rows { // 400 words: word0 in half of the rows, each other in some 50; s has 2 values without index
		word := "word0"
		if i%2 == 1 {
			word = fmt.Sprint("word", 1+i/2%400)
		}
		rows[i] = []any{int64(i), fmt.Sprint("s", i%2), nil, word, int64(i % 100), nil}
	}
	s.addSegment(chrono.Interval{Start: 0, End: n}, eventSchema, true, rows)
	is := func(word string) expr.Expr { return compare(t, "=", column(0, str), text1(word)) }
	or := func(terms ...expr.Expr) expr.Expr { return &expr.Or{Terms: terms} }
	and := func(terms ...expr.Expr) expr.Expr { return &expr.And{Terms: terms} }
	small := compare(t, "<", column(1, long), number1(50))
	for name, c := range map[string]struct {
		filter expr.Expr
		read   string // how rows are found
		rows   int64
	}{
		"a rare value":                    {is("word7"), "index", 50},
		"a common value":                  {is("word0"), "scan", n / 2},
		"two rare values":                 {or(is("word7"), is("word9")), "index", 100},
		"a rare value or a common one":    {or(is("word7"), is("word0")), "scan", n/2 + 50},
		"a value that is not there":       {is("nothing"), "nothing", 0},
		"a prefix that few have":          {likeExpr(t, column(0, str), "word40%"), "index", 100},
		"a prefix that all have":          {likeExpr(t, column(0, str), "word%"), "scan", n},
		"a text within":                   {likeExpr(t, column(0, str), "%d39_"), "index", 500},
		"a rare value and another column": {and(is("word7"), small), "index", -1},
		"another column or a rare value":  {or(small, is("word7")), "scan", -1},
		"a rare value that is not wanted": {&expr.Not{X: is("word7")}, "scan", n - 50},
	} {
		scan := scanOf(c.filter, "word", "k")
		leaf := &leafScan{scan: readingOf(scan), leaf: s.leaves[0]}
		ranges, err := leaf.rowRanges()
		if err != nil || len(ranges) != 1 {
			t.Fatal(ranges, err)
		}
		leaf.rows = n
		if err := leaf.plan(t.Context(), conditionsOf(scan), (&Env{}).withDefaults(t.Context())); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read := "scan"
		switch p := &leaf.planned; {
		case p.empty:
			read = "nothing"
		case p.rows != nil:
			read = "index"
		}
		if read != c.read {
			t.Errorf("%s: found by %s, want %s", name, read, c.read)
		}
		got, err := rowsOf(t, scan, envOf(t, s))
		if err != nil || c.rows >= 0 && int64(len(got)) != c.rows {
			t.Errorf("%s: %d rows, want %d: %v", name, len(got), c.rows, err)
		}
	}
	if c, err := s.leaves[0].Reader.Column("word"); err != nil || !c.Info().Indexed {
		t.Errorf("the column has no index: %v", err)
	}
}
