package syntax

import "testing"

// Parsing never panics, and what parses prints to a text of the same tree, which prints to itself.
var fuzzSeeds = []string{
	"", "SELECT 1", analyticsQuery, "SET a = 1; SELECT ?",
	"SELECT 'it''s' || U&'\\00e9' UESCAPE '!' -- x", "(SELECT 1) UNION ALL VALUES (2) LIMIT 1, 2",
	"INSERT INTO t (a) SELECT * FROM TABLE(EXTERN('a', 'b')) EXTEND (x VARCHAR ARRAY) PARTITIONED BY ALL TIME CLUSTERED BY 1",
	"SELECT CASE a WHEN 1, 2 THEN b END, CAST(x AS TYPE('COMPLEX<json>')), x::BIGINT[1].y FROM t PIVOT (SUM(x) FOR y IN (1 AS a)) u",
	"SELECT SUM(a) FILTER (WHERE b) OVER (PARTITION BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) QUALIFY d",
	"SELECT TRIM(BOTH 'a' FROM b), FLOOR(c TO DAY), JSON_OBJECT(KEY 'a' VALUE 1, b:2 ABSENT ON NULL), {ts '2000-01-01 00:00:00'}",
	"SELECT 1 FROM a NATURAL JOIN b, LATERAL (TABLE c) CROSS JOIN UNNEST(d) WITH ORDINALITY e (f) WHERE x NOT BETWEEN SYMMETRIC 1 AND 2",
	"EXPLAIN ANALYZE PLAN AS JSON FOR WITH a AS (SELECT 1) SELECT * FROM a",
	"EXPLAIN PLAN FOR REPLACE INTO t OVERWRITE WHERE a > TIMESTAMP '2000-01-01' WITH b AS (SELECT 1) SELECT * FROM b PARTITIONED BY 'P1D'",
	"SELECT INTERVAL -'1-2' YEAR TO MONTH, X'0A', a IS NOT JSON OBJECT, a = ANY (1), ((1, 2)) GROUP BY ROLLUP (a, (b, c)), ()",
}

func FuzzParse(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if s != nil {
				t.Fatal("a tree beside an error")
			}
			return
		}
		printed := Print(s)
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", text, printed, err)
		}
		if a, b := dump(s), dump(again); a != b {
			t.Fatalf("%q prints as %q\n%s", text, printed, difference(a, b))
		}
		if twice := Print(again); twice != printed {
			t.Fatalf("%q prints as %q, then %q", text, printed, twice)
		}
	})
}
