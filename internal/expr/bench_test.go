package expr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// benchBatch is a full batch of the columns a, b, x, s (of few values, with a dictionary), u (of
// many, without), ts (ascending).
func benchBatch() (*vector.Batch, []expr.Column) {
	r := rand.New(rand.NewPCG(1, 2))
	n := vector.BatchRows
	a, b, x, ts := make([]int64, n), make([]int64, n), make([]float64, n), make([]int64, n)
	codes, u := make([]uint32, n), make([]string, n)
	words := make([]string, 100)
	for i := range words {
		words[i] = fmt.Sprintf("value %03d", i)
	}
	for i := range n {
		a[i], b[i], x[i] = r.Int64N(1000), 1+r.Int64N(9), r.Float64()
		ts[i] = 1_600_000_000_000 + int64(i)*1000
		codes[i] = uint32(r.IntN(len(words)))
		u[i] = fmt.Sprintf("http://example.com/%d", r.IntN(1e9))
	}
	return &vector.Batch{N: n, Cols: []*vector.Vector{vector.FromLongs(a), vector.FromLongs(b), vector.FromDoubles(x),
			vector.FromCodes(codes, vector.NewDict(words)), vector.FromStrings(u), vector.FromLongs(ts)}},
		columnsOf("a", expr.Of(expr.BigInt).NotNull(), "b", expr.Of(expr.BigInt).NotNull(), "x", expr.Of(expr.Double).NotNull(), "s",
			expr.Of(expr.Varchar), "u", expr.Of(expr.Varchar),
			"ts", expr.Of(expr.Timestamp).NotNull())
}

func benchProgram(b *testing.B, sql string) (*expr.Program, *vector.Batch) {
	b.Helper()
	batch, columns := benchBatch()
	e, err := parseSQL(sql, columns, nil)
	if err == nil {
		e, err = expr.Fold(e, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	p, err := expr.Compile(e, nil)
	if err != nil {
		b.Fatal(err)
	}
	return p, batch
}

func BenchmarkEval(b *testing.B) {
	for _, sql := range []string{"a + b", "a * 2 + b", "a / b", "x * a", "a > b", "UPPER(s)", "UPPER(u)", "s || u", "TIME_FLOOR(ts, 'PT1H')",
		"TIME_FLOOR(ts, 'P1D', NULL, 'Europe/Berlin')", "EXTRACT(HOUR FROM ts)", "CASE WHEN a > 500 THEN 'big' ELSE 'small' END",
		"COALESCE(s, 'x')", "CAST(a AS VARCHAR)",
		"SUBSTRING(u, 8, 7)", "REGEXP_EXTRACT(u, '/(\\d+)$', 1)"} {
		b.Run(sql, func(b *testing.B) {
			p, batch := benchProgram(b, sql)
			b.ReportAllocs()
			b.SetBytes(int64(batch.N)) // so that MB/s is million rows per second
			for b.Loop() {
				if _, err := p.Eval(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	for _, sql := range []string{"a = 5", "a > 500", "a >= 0", "x < 0.5", "s = 'value 007'", "s LIKE '%7'", "u LIKE '%77%'",
		"a > 500 AND b = 3", "a > 900 OR b = 3", "s IN ('value 001', 'value 002') AND x > 0.5",
		"a IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "a % 7 = 3"} {
		b.Run(sql, func(b *testing.B) {
			p, batch := benchProgram(b, sql)
			b.ReportAllocs()
			b.SetBytes(int64(batch.N))
			for b.Loop() {
				if _, err := p.Filter(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
