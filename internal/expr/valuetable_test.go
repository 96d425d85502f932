package expr_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// tabledFunctions are functions of one column of whole numbers that are worth a table; some are
// errors for some numbers, some are NULL for other than NULL, some are not NULL for NULL.
var tabledFunctions = []string{
	"FLOOR(a / 10.0)", "CEIL(a / 7.0)", "ROUND(a / 3.0, 1)", "CAST(a AS VARCHAR)", "SQRT(ABS(a))", "MOD(a, 7)", "a / 7", "100 / a",
	"CASE WHEN a < 0 THEN 'early' WHEN a < 15 THEN 'soon' ELSE 'late' END", "CASE WHEN a > 3 THEN CAST(a AS VARCHAR) END",
	"CASE WHEN a > 3 THEN NULL ELSE a / 3.0 END", "COALESCE(a / 10, -1)", "COALESCE(CAST(a AS VARCHAR), 'none')",
	"CAST(FLOOR(a / 4.0) AS FLOAT)",
	"CONCAT('x', CAST(a AS VARCHAR))", "SAFE_DIVIDE(a, a)", "CAST(CAST(a AS VARCHAR) AS BIGINT)", "NULLIF(MOD(a, 3), 1)",
	"BITWISE_AND(a, 12)",
	"TIME_FORMAT(MILLIS_TO_TIMESTAMP(a), 'ss.SSS')", "EXTRACT(MILLISECOND FROM MILLIS_TO_TIMESTAMP(a))", "GREATEST(a, 3)",
}

var tabledConditions = []string{
	"FLOOR(a / 10.0) IN (0, 3, 5)", "MOD(a, 7) = 3", "CAST(a AS VARCHAR) LIKE '%2%'", "ABS(a) > 4 OR a IN (1, 2)",
	"CASE WHEN a < 5 THEN TRUE WHEN a < 9 THEN FALSE END",
	"COALESCE(MOD(a, 2) = 0, TRUE)", "NOT (ROUND(a / 3.0) = 2)", "100 / a > 3", "(a / 7 = 1) IS NOT TRUE",
}

// numbersWithin returns so many numbers from least on.
func numbersWithin(r *rand.Rand, n int, least int64, span int64, nulls bool) *vector.Vector {
	v := vector.New(vector.Long, n)
	if nulls {
		v.Valid = vector.FullBitmap(n)
	}
	for i := range v.Longs {
		v.Longs[i] = least + r.Int64N(span)
		if nulls && r.IntN(4) == 0 {
			v.Valid.Clear(i)
			v.Longs[i] = r.Int64() // nobody may look at it
		}
	}
	return v
}

// columnsOfNumbers are batches one after the other: the numbers go beyond what came before on
// either side, lie too far away, and come back.
func columnsOfNumbers(r *rand.Rand, nulls bool) []*vector.Vector {
	out := []*vector.Vector{
		numbersWithin(r, 50, 1, 20, nulls), numbersWithin(r, 40, -30, 60, nulls), numbersWithin(r, 40, 10, 300, nulls),
		vector.FromLongs([]int64{math.MinInt64, 4, math.MaxInt64}), numbersWithin(r, 70, 5, 9, nulls), vector.Constant(vector.Long, int64(7), 5),
		numbersWithin(r, 30, 70_000, 100, nulls), numbersWithin(r, 30, 0, 90_000, nulls), numbersWithin(r, 5000, -500, 4300, nulls),
		vector.FromLongs([]int64{math.MaxInt64, math.MaxInt64 - 1}), numbersWithin(r, 1, 3, 1, nulls),
	}
	if nulls {
		out = append(out, vector.Nulls(vector.Long, 4), numbersWithin(r, 40, -3, 9, true))
		none := numbersWithin(r, 3, 0, 1, true)
		clear(none.Valid)
		out = append(out, none)
	}
	return out
}

// What is looked up in a table of numbers is what is computed for each row.
func TestTablesOfNumbersGiveWhatRowsDo(t *testing.T) {
	for seed := range uint64(2) {
		for _, nulls := range []bool{false, true} {
			column := expr.Of(expr.BigInt).NotNull().OrNull(nulls)
			r := rand.New(rand.NewPCG(seed, 7))
			batches := columnsOfNumbers(r, nulls)
			for k := 0; seed > 0 && k < 12; k++ {
				batches = append(batches, batches[r.IntN(len(batches))])
			}
			for _, sql := range slices.Concat(tabledFunctions, tabledConditions) {
				e := mustParse(t, sql, columnsOf("a", column)...)
				for _, reuse := range []bool{false, true} {
					compareTable(t, e, sql, batches, reuse)
				}
			}
		}
	}
}

func compareTable(t *testing.T, e expr.Expr, sql string, batches []*vector.Vector, reuse bool) {
	t.Helper()
	table, err := expr.Compile(e, &expr.Context{Reuse: reuse})
	if err != nil {
		t.Fatal(err)
	}
	if !table.IsTable() {
		t.Fatalf("%s is not looked up", sql)
	}
	plain, err := expr.Compile(e, &expr.Context{Entries: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range batches {
		for _, sel := range [][]uint32{nil, everySecond(v.Len)} {
			b := &vector.Batch{N: v.Len, Cols: []*vector.Vector{v}, Sel: sel}
			want, wantErr := plain.Eval(b)
			got, err := table.Eval(b)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s of batch %d: error [%v], want [%v]", sql, i, err, wantErr)
			}
			if err == nil && !slices.Equal(texts(got), texts(want)) {
				t.Fatalf("%s of batch %d: %v, want %v", sql, i, texts(got), texts(want))
			}
			if err == nil && got.Type != want.Type {
				t.Fatalf("%s of batch %d: values of type %s, want %s", sql, i, got.Type, want.Type)
			}
			if e.Type().Base != expr.Boolean {
				continue
			}
			rows, wantErr := plain.Filter(b)
			found, err := table.Filter(b)
			if (err == nil) != (wantErr == nil) || !slices.Equal(found, rows) {
				t.Fatalf("%s of batch %d: rows %v, %v, want %v, %v", sql, i, found, err, rows, wantErr)
			}
		}
	}
}

func everySecond(n int) []uint32 {
	out := []uint32{}
	for i := 0; i < n; i += 2 {
		out = append(out, uint32(i))
	}
	return out
}

func TestTablesAreForDearFunctionsOfOneColumnOfNumbers(t *testing.T) {
	columns := columnsOf("a", expr.Of(expr.BigInt), "b", expr.Of(expr.BigInt), "x", expr.Of(expr.Double), "s", expr.Of(expr.Varchar))
	for sql, want := range map[string]bool{
		"a": false, "a + 1": false, "a > 3": false, "a * 2 - 1": false, "a > 3 AND a < 9": false, "FLOOR(a / 10.0)": true,
		"MOD(a, 7) = 3": true,
		"FLOOR(x)":      false, "MOD(a, b)": false, "UPPER(s)": false, "ABS(a) + b": false, "ARRAY[a, ABS(a)]": false,
		"CASE WHEN a > 3 THEN 1 ELSE 0 END":                   false,
		"CASE WHEN a > 3 THEN 1 WHEN a > 1 THEN 2 ELSE 0 END": true,
	} {
		if _, got := expr.TableSource(mustParse(t, sql, columns...)); got != want {
			t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
}
