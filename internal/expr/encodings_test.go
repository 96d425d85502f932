package expr_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/nativetext"
	"github.com/hengedb/henge/internal/vector"
)

var mixed = columnsOf("a", expr.Of(expr.BigInt), "b", expr.Of(expr.BigInt), "x", expr.Of(expr.Double), "f", expr.Of(expr.Float), "s",
	expr.Of(expr.Varchar), "t", expr.Of(expr.Varchar),
	"ts", expr.Of(expr.Timestamp), "mv", expr.MultiString, "mw", expr.MultiString, "arr", expr.ArrayOf(expr.Of(expr.BigInt)), "j", expr.JSON)

// mixedExpressions have something of every node and family. Those that can fail do so for some rows
// of the random data.
var mixedExpressions = []string{
	"a + b * 2 - 1", "a / b", "a % b", "x / a", "-x", "f + 1", "f * x", "a + s", "s || t", "s || a || 'x'", "CONCAT(s, '-', s)", "a = b",
	"a <> 3", "x >= 0.5", "x < a", "s = 'ab'", "s < t", "s IS DISTINCT FROM t", "a IS NOT DISTINCT FROM b", "s = 1",
	"ts > TIMESTAMP '2001-01-01 00:00:00'", "a IN (1, 2, 3)", "s IN ('a', 'ab', NULL)", "x IN (0.5, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)",
	"a BETWEEN 0 AND 3", "s LIKE 'a%'", "s LIKE '_b' ESCAPE '!'", "s ILIKE '%B%'", "s LIKE t", "NOT (a > 1)", "a > 1 AND s = 'a'",
	"a > 1 OR s = 'a' OR x > 0", "a > 0 AND b / a > 1", "a = 0 OR b / a > 1", "s IS NULL", "s IS NOT NULL AND a IS NULL",
	"(a > 1) IS TRUE", "(a > 1) IS NOT FALSE", "CASE WHEN a > 2 THEN 'big' WHEN a > 0 THEN s END",
	"CASE WHEN a > 1 THEN a WHEN b > 0 THEN b ELSE 7 END", "CASE WHEN a > 1 THEN x WHEN a = 0 THEN NULL ELSE 0.5 END",
	"CASE WHEN a = 1 THEN 4 ELSE 5 END", "CASE WHEN a <> 1 THEN a ELSE 5 END", "CASE WHEN a < 1 THEN 4 ELSE a END",
	"CASE WHEN a <= 1 THEN 4 ELSE 5 END", "CASE WHEN a > 1 THEN b ELSE a END", "CASE WHEN a >= 1 THEN b ELSE 5 END",
	"CASE WHEN a > 1 THEN a WHEN b / a > 0 THEN 4 ELSE b END", "CASE WHEN a > 0 THEN a ELSE NULL END + a * b",
	"CASE WHEN a <> 0 THEN b / a ELSE -1 END", "CASE s WHEN 'a' THEN 1 WHEN 'ab' THEN 2 ELSE 3 END", "COALESCE(s, t, 'none')",
	"COALESCE(a, b)", "NULLIF(a, b)", "IF(s = 'a', a, b)", "GREATEST(a, b, x)", "LEAST(s, t)", "NVL(x, 0)", "ABS(a)", "FLOOR(x)",
	"CEIL(f)", "ROUND(x, 1)", "TRUNCATE(a, -1)", "POWER(x, 2)", "SAFE_DIVIDE(a, b)", "MOD(a, 3)", "BITWISE_AND(a, b)",
	"HUMAN_READABLE_DECIMAL_FORMAT(a)", "CAST(s AS BIGINT)", "CAST(s AS DOUBLE)", "CAST(x AS BIGINT)", "CAST(x AS VARCHAR)",
	"CAST(a AS VARCHAR)", "CAST(f AS VARCHAR)", "CAST(a > 1 AS VARCHAR)", "CAST(s AS BOOLEAN)", "CAST(ts AS VARCHAR)",
	"CAST(ts AS DATE)", "CAST(s AS TIMESTAMP)", "CAST(arr AS VARCHAR ARRAY)", "CAST(s AS VARCHAR ARRAY)", "CAST(arr AS BIGINT)",
	"CAST(mv AS BIGINT)", "UPPER(s)", "LENGTH(s)", "SUBSTRING(s, 2, 1)", "LEFT(s, 1)", "LEFT(s, a)", "LPAD(s, 4, t)", "REPEAT(s, a)",
	"REVERSE(s)", "REPLACE(s, 'a', t)", "STRPOS(s, t)", "TRIM(s)", "CONTAINS_STRING(s, 'b')", "REGEXP_LIKE(s, '^a')",
	"REGEXP_EXTRACT(s, '(b)(c)?', 2)", "REGEXP_REPLACE(s, '(.)', '<$1>')", "STRING_FORMAT('%s-%d', s, a)", "PARSE_LONG(s, 16)", "MD5(s)",
	"CONCAT_WS('-', s, t)", "TIME_FLOOR(ts, 'P1D')", "TIME_FLOOR(ts, 'P1M', NULL, 'Europe/Berlin')", "TIME_CEIL(ts, 'PT1H')",
	"TIME_SHIFT(ts, 'P1M', a)", "TIMESTAMPADD(DAY, a, ts)", "TIMESTAMPDIFF(HOUR, ts, TIMESTAMP '2000-01-01 00:00:00')",
	"EXTRACT(DOW FROM ts)", "TIME_PARSE(s)", "TIME_FORMAT(ts, 'yyyy-MM-dd')", "TIME_IN_INTERVAL(ts, '2000/P1Y')",
	"ts + INTERVAL '1' MONTH", "LAST_DAY(ts)", "DATE_TRUNC('week', ts)", "IPV4_PARSE(s)", "IPV4_STRINGIFY(a)",
	"IPV4_MATCH(s, '10.0.0.0/8')", "mv = 'a'", "mv <> 'a'", "mv IN ('a', 'b')", "mv LIKE 'a%'", "UPPER(mv)", "LENGTH(mv)", "mv || s",
	"mv || mw", "CONCAT(mv, mv)", "COALESCE(mv, 'none')", "COALESCE(mv, s) = 'a'", "mv IS NULL", "NOT (mv = 'a')",
	"CASE WHEN mv = 'a' THEN 'x' ELSE mv END", "CASE WHEN mv = 'a' THEN 1 ELSE 0 END", "mv = s", "mv = mw", "LENGTH(mv) > 1",
	"mv BETWEEN 'a' AND 'b'", "CASE WHEN a > 1 THEN mv ELSE mw END", "MV_TO_ARRAY(mv)", "MV_LENGTH(mv)", "MV_CONTAINS(mv, ARRAY['a'])",
	"MV_OVERLAP(mv, ARRAY['a', 'c'])", "MV_OFFSET(mv, 0)", "MV_SLICE(mv, 1)", "MV_APPEND(mv, s)", "MV_TO_STRING(mv, '-')",
	"MV_FILTER_ONLY(mv, ARRAY['a'])", "MV_FILTER_REGEX(mv, 'a')", "STRING_TO_MV(s, 'b')", "ARRAY[a, b]", "ARRAY_LENGTH(arr)",
	"ARRAY_OFFSET(arr, a)", "ARRAY_CONTAINS(arr, a)", "ARRAY_OVERLAP(arr, ARRAY[a, 1])", "ARRAY_APPEND(arr, a)",
	"ARRAY_CONCAT(arr, arr)", "ARRAY_SLICE(arr, 0, 2)", "arr = ARRAY[1]", "arr < ARRAY[a]", "ARRAY_TO_STRING(arr, '-')",
	"SCALAR_IN_ARRAY(a, arr)", "ARRAY_SORT(arr)", "ARRAY_MAX(arr)", "CASE WHEN a > 1 THEN arr END", "COALESCE(arr, ARRAY[a])",
	"JSON_VALUE(j, '$.a' RETURNING BIGINT)", "JSON_VALUE(j, '$.b')", "JSON_QUERY(j, '$.b')", "JSON_KEYS(j, '$')",
	"JSON_OBJECT('a': a, 's': s, 'j': j, 'm': mv)", "TO_JSON_STRING(arr)", "TRY_PARSE_JSON(s)", "PARSE_JSON(s)", "JSON_PATHS(j)",
}

func randomBatch(r *rand.Rand, n int) *vector.Batch {
	words := []string{"", "a", "ab", "abc", "B", "1", "2.5", "10.1.2.3", "é😀", "2000-01-02", `{"a":1}`, "zz"}
	word := func() any { return words[r.IntN(len(words))] }
	b := &vector.Batch{N: n}
	for _, c := range mixed {
		builder := vector.NewBuilder(c.T.Runtime(), n)
		some := r.IntN(4) > 0 // some columns have no NULLs
		for range n {
			if some && r.IntN(5) == 0 {
				builder.AppendNull()
				continue
			}
			switch {
			case c.T.Multi:
				var list []any
				for range r.IntN(4) {
					list = append(list, word())
				}
				if len(list) == 0 {
					builder.AppendNull()
				} else {
					builder.Append(list)
				}
			case c.T.Base == expr.Array:
				list := []any{}
				for range r.IntN(4) {
					if r.IntN(4) == 0 {
						list = append(list, nil)
					} else {
						list = append(list, int64(r.IntN(4)))
					}
				}
				builder.Append(list)
			case c.T.Base == expr.BigInt:
				builder.Append(int64(r.IntN(9) - 3))
			case c.T.Base == expr.Double:
				builder.Append([]float64{0, 0.5, -1.5, 3, 2.25, 1e9}[r.IntN(6)])
			case c.T.Base == expr.Float:
				builder.Append([]float32{0, 0.5, 0.1, 3}[r.IntN(4)])
			case c.T.Base == expr.Timestamp:
				builder.Append(946_684_800_000 + r.Int64N(40_000_000_000))
			case c.T.Base == expr.Other:
				builder.Append([]string{`{"a":1,"b":"x"}`, `{"a":"2","b":{"c":[1]}}`, `[1]`, `"s"`}[r.IntN(4)])
			default:
				builder.Append(word())
			}
		}
		b.Cols = append(b.Cols, builder.Build())
	}
	return b
}

// encoded returns the batch with dictionaries for all strings, those in lists included.
func encoded(b *vector.Batch) *vector.Batch {
	out := &vector.Batch{N: b.N, Sel: b.Sel}
	for _, c := range b.Cols {
		switch {
		case c.Type == vector.String:
			c = expr.Encode(c)
		case c.Type.Kind == vector.KindList && c.Child.Type == vector.String:
			list := *c
			list.Child = expr.Encode(c.Child)
			c = &list
		}
		out.Cols = append(out.Cols, c)
	}
	return out
}

// row returns a batch of row i alone, as constants when constant is set.
func row(b *vector.Batch, i int, constant bool) *vector.Batch {
	out := &vector.Batch{N: 1}
	for _, c := range b.Cols {
		if constant {
			c = vector.Constant(c.Type, c.ValueAt(i), 1)
		} else {
			c = c.Gather([]uint32{uint32(i)})
		}
		out.Cols = append(out.Cols, c)
	}
	return out
}

// show evaluates a program and shows each row, or the error of all.
func show(t *testing.T, e expr.Expr, b *vector.Batch) ([]string, error) {
	t.Helper()
	p, err := expr.Compile(e, nil)
	if err != nil {
		t.Fatalf("%s: %v", nativetext.Format(e, nil), err)
	}
	v, err := p.Eval(b)
	if err != nil {
		return nil, err
	}
	if v.Len != b.Rows() {
		t.Fatalf("%s: %d rows of a batch of %d", nativetext.Format(e, nil), v.Len, b.Rows())
	}
	if v.Type != e.Type().Runtime() && !v.AllNull() {
		t.Fatalf("%s: a vector of %s for type %s", nativetext.Format(e, nil), v.Type, e.Type())
	}
	out := texts(v)
	if p, err = expr.Compile(e, &expr.Context{Reuse: true}); err != nil {
		t.Fatalf("%s: %v", nativetext.Format(e, nil), err)
	}
	for range 2 {
		if v, err = p.Eval(b); err != nil {
			t.Fatalf("%s: %v when memory is used again", nativetext.Format(e, nil), err)
		}
		if again := texts(v); !slices.Equal(out, again) {
			t.Fatalf("%s: %v when memory is used again, else %v", nativetext.Format(e, nil), again, out)
		}
	}
	return out, nil
}

// texts shows the rows of a vector.
func texts(v *vector.Vector) []string {
	out := make([]string, v.Len)
	for i := range out {
		out[i] = fmt.Sprint(v.ValueAt(i))
	}
	return out
}

// literals replaces the columns of e by the values of row i.
func literals(e expr.Expr, b *vector.Batch, i int) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok {
			return &expr.Literal{Value: b.Cols[c.Index].ValueAt(i), T: c.T}
		}
		return x
	})
}

var signedZero = regexp.MustCompile(`(^|[\[ ])-0($|[\] ])`)

// unsignedZeros makes -0 in the text of a value 0: constants have no -0.0.
func unsignedZeros(s string) string { return signedZero.ReplaceAllString(s, "${1}0$2") }

func TestEncodingsGiveTheSameAnswers(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		flat := randomBatch(r, []int{3, 64, 70}[seed%3])
		dict := encoded(flat)
		var sel []uint32
		for i := range flat.N {
			if r.IntN(3) > 0 {
				sel = append(sel, uint32(i))
			}
		}
		for _, sql := range mixedExpressions {
			e := mustParse(t, sql, mixed...)
			want, failing := make([]string, flat.N), -1
			for i := range want {
				one, err := show(t, e, row(flat, i, false))
				if err != nil {
					failing = i
					continue
				}
				want[i] = one[0]
				constant, err := show(t, e, row(flat, i, true))
				if err != nil || constant[0] != want[i] {
					t.Fatalf("seed %d: %s of constants is %v (%v), want %s", seed, sql, constant, err, want[i])
				}
				folded, err := expr.Fold(literals(e, flat, i), nil)
				if err != nil {
					if _, literalTime := folded.(*expr.Literal); !literalTime && e.Type().IsTime() {
						continue // a constant that is no timestamp is refused when planning
					}
					t.Fatalf("seed %d: folding %s: %v", seed, sql, err)
				}
				if l, ok := folded.(*expr.Literal); !ok {
					t.Fatalf("seed %d: %s did not fold, but to %s", seed, sql, nativetext.Format(folded, nil))
				} else if got := fmt.Sprint(l.Value); unsignedZeros(got) != unsignedZeros(want[i]) && sql != "CAST(s AS BOOLEAN)" {
					t.Fatalf("seed %d: %s folded is %s, want %s", seed, sql, got, want[i])
				}
			}
			for name, b := range map[string]*vector.Batch{"flat": flat, "dictionary": dict} {
				got, err := show(t, e, b)
				if (err != nil) != (failing >= 0) {
					t.Fatalf("seed %d: %s, %s: error %v, want one: %t", seed, sql, name, err, failing >= 0)
				}
				if err == nil && !cmp.Equal(got, want) {
					t.Fatalf("seed %d: %s, %s: %s", seed, sql, name, cmp.Diff(want, got))
				}
				checkSelection(t, fmt.Sprintf("seed %d: %s, %s", seed, sql, name), e, b, sel, want)
			}
		}
	}
}

// checkSelection evaluates e for the rows of sel that are no error, and filters with it if it is a
// predicate.
func checkSelection(t *testing.T, what string, e expr.Expr, b *vector.Batch, sel []uint32, want []string) {
	t.Helper()
	var kept []uint32
	var wanted []string
	var hits []uint32
	for _, r := range sel {
		if want[r] != "" || e.Type().IsCharacter() {
			kept, wanted = append(kept, r), append(wanted, want[r])
		}
		if want[r] == "1" {
			hits = append(hits, r)
		}
	}
	selected := &vector.Batch{N: b.N, Cols: b.Cols, Sel: kept}
	if kept == nil {
		selected.Sel = []uint32{}
	}
	got, err := show(t, e, selected)
	if err != nil {
		if e.Type().IsCharacter() {
			return // an error and an empty string look the same in want
		}
		t.Fatalf("%s: with a selection: %v", what, err)
	}
	if len(got) > 0 && !cmp.Equal(got, wanted) {
		t.Fatalf("%s: with a selection: %s", what, cmp.Diff(wanted, got))
	}
	if e.Type().Base != expr.Boolean {
		return
	}
	p, err := expr.Compile(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.Filter(selected)
	if err != nil || len(rows)+len(hits) > 0 && !cmp.Equal(rows, hits) {
		t.Fatalf("%s: filter gives %v (%v), want %v", what, rows, err, hits)
	}
}

func TestProgramKeepsItsResultsPerDictionary(t *testing.T) {
	e := mustParse(t, "UPPER(s)", mixed...)
	p, err := expr.Compile(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	dict := vector.NewDict([]string{"a", "b", "c"})
	batch := &vector.Batch{N: 2, Cols: make([]*vector.Vector, len(mixed))}
	var results []*vector.Dict
	for _, codes := range [][]uint32{{0, 1}, {2, 2}} {
		batch.Cols[4] = vector.FromCodes(codes, dict)
		v, err := p.Eval(batch)
		if err != nil {
			t.Fatal(err)
		}
		if v.Dict == nil {
			t.Fatal("a function of a dictionary column lost the dictionary")
		}
		results = append(results, v.Dict)
	}
	if results[0] != results[1] {
		t.Error("two batches with the same dictionary have results with different dictionaries")
	}
}

func TestErrorsOfDictionaryEntriesWithoutRowsDoNotCount(t *testing.T) {
	p, err := expr.Compile(mustParse(t, "PARSE_JSON(s)", mixed...), nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := &vector.Batch{N: 2, Cols: make([]*vector.Vector, len(mixed)), Sel: []uint32{1}}
	batch.Cols[4] = vector.FromCodes([]uint32{0, 1}, vector.NewDict([]string{"{bad", "1"}))
	if v, err := p.Eval(batch); err != nil || v.StringAt(0) != "1" {
		t.Errorf("got %v, %v", v, err)
	}
	batch.Sel = nil
	if _, err := p.Eval(batch); err == nil {
		t.Error("the row that is no JSON is no error")
	}
}
