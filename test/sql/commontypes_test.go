package sql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/slt"
)

// typedValues are expressions of every type over the columns of relation $.
var typedValues = []struct{ name, x string }{
	{"FLOAT column", "$.f"}, {"FLOAT", "CAST($.d * 1.1 AS FLOAT)"}, {"REAL", "CAST($.d AS REAL)"}, {"DOUBLE", "$.d"},
	{"DOUBLE of FLOAT", "CAST(CAST($.d * 1.1 AS FLOAT) AS DOUBLE)"}, {"DECIMAL", "CAST($.d * 1.1 AS DECIMAL)"},
	{"BIGINT", "$.n"}, {"INTEGER", "CAST($.n AS INTEGER)"}, {"SMALLINT", "CAST($.n AS SMALLINT)"}, {"TINYINT", "CAST($.n AS TINYINT)"},
	{"BOOLEAN", "($.n > 1)"}, {"VARCHAR", "$.s"}, {"VARCHAR of FLOAT", "CAST(CAST($.d * 1.1 + 0 AS FLOAT) AS VARCHAR)"},
	{"CHAR", "CASE WHEN $.n > 1 THEN '1' ELSE '2' END"},
	{"TIMESTAMP", "$.__time"}, {"TIMESTAMP of number", "MILLIS_TO_TIMESTAMP($.n)"}, {"DATE", "CAST($.__time AS DATE)"},
	{"VARCHAR ARRAY", "$.sa"}, {"BIGINT ARRAY", "$.na"}, {"DOUBLE ARRAY", "$.da"},
	{"FLOAT ARRAY", "ARRAY[CAST($.d * 1.1 AS FLOAT), $.f]"}, {"ARRAY of DOUBLE", "ARRAY[$.d * 1.1, $.d]"}, {"BOOLEAN ARRAY", "ARRAY[$.n > 1]"},
	{"TIMESTAMP ARRAY", "ARRAY[$.__time]"}, {"JSON", "$.j"}, {"text of JSON", "TO_JSON_STRING($.j)"}, {"number in JSON", "JSON_VALUE($.j, '$.a')"},
	{"BIGINT in JSON", "JSON_VALUE($.j, '$.a' RETURNING BIGINT)"}, {"DOUBLE in JSON", "JSON_VALUE($.j, '$.a' RETURNING DOUBLE)"},
	{"NULL", "NULL"}, {"multi-value VARCHAR", "$.mv"},
}

// typedRows are the rows that typedValues are computed of.
var typedRows = []string{
	`["2024-01-01T00:00:00Z", 0, "1", 1, 1.0, 1.1, {"a":1}, ["1","2"], [1,2], [1.0,2.0], "1"]`,
	`["2024-01-02T00:00:00Z", 1, "2024-01-01", 2, 1.1, 1.21, {"a":1.1}, ["1"], [1], [1.5], "a"]`,
	`["1970-01-01T00:00:00.001Z", 2, "1.1", 1, 2.0, 2.2, {"a":"1"}, ["true"], [1], [1.1, 1.0], ["1","2"]]`,
	`["2024-01-02T12:00:00Z", 3, "true", 9007199254740993, 9007199254740992.0, 0.1, {"a":true}, [], [], [], "2"]`,
	`["2024-01-01T00:00:00Z", 4, null, null, null, null, null, null, null, null, null]`,
	`["2024-01-03T00:00:00Z", 5, "", 0, -0.0, 0.0, {"a":null}, [null], [null], [null], ""]`,
	`["2024-01-04T00:00:00Z", 6, "NaN", 3, "NaN", "NaN", {"a":1.5}, ["NaN"], [3], ["NaN"], "NaN"]`,
}

// answers runs statements and gives their rows as texts; refused statements give their message.
type answers struct {
	t *testing.T
	e *engine.Direct
}

func (a answers) rows(sql string) (rows [][]string, refused string) {
	a.t.Helper()
	got, err := a.e.Query(a.t.Context(), &slt.Statement{SQL: sql})
	if err != nil {
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput && f.Category != fault.CategoryUnsupported {
			a.t.Errorf("%s\n  fails: %v", sql, err)
		}
		return nil, err.Error()
	}
	for _, r := range got.Rows {
		row := make([]string, len(r))
		for i, v := range r {
			row[i] = fmt.Sprint(v)
		}
		rows = append(rows, row)
	}
	return rows, ""
}

func (a answers) sorted(sql string) (string, string) {
	rows, refused := a.rows(sql)
	return sortedText(rows), refused
}

func sortedText(rows [][]string) string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = strings.Join(r, " ")
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// truths says of pairs of rows what a comparison gives: "true", "false" or "<nil>".
type truths struct {
	of   [][]string
	null []bool // by right row: the value is NULL
}

func (v *truths) pairs(want string) (out [][]string) {
	for i, row := range v.of {
		for j, got := range row {
			if got == want {
				out = append(out, []string{fmt.Sprint(i), fmt.Sprint(j)})
			}
		}
	}
	return out
}

// in is what "x IN (right rows)" gives for left row i; known: only those that are not NULL.
func (v *truths) in(i int, known bool) string {
	out := "false"
	for j, got := range v.of[i] {
		switch {
		case known && v.null[j]:
		case got == "true":
			return "true"
		case got == "<nil>":
			out = "<nil>"
		}
	}
	return out
}

// all is what "x = ALL (right rows)" gives for left row i.
func (v *truths) all(i int) string {
	out := "true"
	for _, got := range v.of[i] {
		switch got {
		case "false":
			return "false"
		case "<nil>":
			out = "<nil>"
		}
	}
	return out
}

func (v *truths) lefts(keep func(i int) bool) (out [][]string) {
	for i := range v.of {
		if keep(i) {
			out = append(out, []string{fmt.Sprint(i)})
		}
	}
	return out
}

func (v *truths) values(of func(i int) string) (out [][]string) {
	for i := range v.of {
		out = append(out, []string{fmt.Sprint(i), of(i)})
	}
	return out
}

// outer is the pairs of an outer join, with the rows of the right side that have no partner if full
// is set.
func (v *truths) outer(full bool) [][]string {
	out := v.pairs("true")
	for i := range v.of {
		if !slices.Contains(v.of[i], "true") {
			out = append(out, []string{fmt.Sprint(i), "<nil>"})
		}
	}
	for j := range v.null {
		if full && !slices.ContainsFunc(v.of, func(row []string) bool { return row[j] == "true" }) {
			out = append(out, []string{"<nil>", fmt.Sprint(j)})
		}
	}
	return out
}

// comparedClauses are clauses that compare $x with $y, and the rows that they have by the
// comparison of each pair of rows.
var comparedClauses = []struct {
	sql  string
	rows func(v *truths) [][]string
	// ofRow says that it asks of all values of a multi-value string, where the comparison asks of
	// some.
	ofRow bool
}{
	{"SELECT a.i, b.i FROM m a JOIN m b ON $x = $y", func(v *truths) [][]string { return v.pairs("true") }, false},
	{"SELECT a.i, b.i FROM m a LEFT JOIN m b ON $x = $y", func(v *truths) [][]string { return v.outer(false) }, false},
	{"SELECT a.i, b.i FROM m a FULL JOIN m b ON $x = $y", func(v *truths) [][]string { return v.outer(true) }, false},
	{"SELECT a.i, b.i FROM (SELECT i, $x AS k FROM m a) a JOIN (SELECT i, $y AS k FROM m b) b ON a.k = b.k",
		func(v *truths) [][]string { return v.pairs("true") }, true},
	{"SELECT a.i, b.i FROM (SELECT i, $x AS k FROM m a) a JOIN (SELECT i, $y AS k FROM m b) b USING (k)",
		func(v *truths) [][]string { return v.pairs("true") }, true},
	{"SELECT i FROM m a WHERE $x IN (SELECT $y FROM m b)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.in(i, false) == "true" })
	}, false},
	{"SELECT i FROM m a WHERE $x NOT IN (SELECT $y FROM m b)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.in(i, false) == "false" })
	}, true},
	{"SELECT i FROM m a WHERE $x NOT IN (SELECT $y FROM m b WHERE $y IS NOT NULL)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.in(i, true) == "false" })
	}, true},
	{"SELECT i FROM m a WHERE ($x, i) IN (SELECT $y, i FROM m b)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.of[i][i] == "true" })
	}, true},
	{"SELECT i, $x IN (SELECT $y FROM m b) FROM m a", func(v *truths) [][]string {
		return v.values(func(i int) string { return v.in(i, false) })
	}, true},
	{"SELECT i, $x = ANY (SELECT $y FROM m b WHERE $y IS NOT NULL) FROM m a", func(v *truths) [][]string {
		return v.values(func(i int) string { return v.in(i, true) })
	}, true},
	{"SELECT i, $x = ALL (SELECT $y FROM m b) FROM m a", func(v *truths) [][]string { return v.values(v.all) }, true},
	{"SELECT i FROM m a WHERE EXISTS (SELECT 1 FROM m b WHERE $x = $y)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return slices.Contains(v.of[i], "true") })
	}, false},
	{"SELECT i FROM m a WHERE NOT EXISTS (SELECT 1 FROM m b WHERE $x = $y)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return !slices.Contains(v.of[i], "true") })
	}, false},
	{"SELECT i, (SELECT COUNT(*) FROM m b WHERE $x = $y) FROM m a", func(v *truths) [][]string {
		return v.values(func(i int) string {
			return fmt.Sprint(len(slices.DeleteFunc(slices.Clone(v.of[i]), func(s string) bool { return s != "true" })))
		})
	}, false},
	{"SELECT a.i, b.i FROM m a, m b WHERE CASE $x WHEN $y THEN TRUE ELSE FALSE END", func(v *truths) [][]string { return v.pairs("true") }, true},
	{"SELECT a.i, b.i FROM m a, m b WHERE NULLIF($x, $y) IS NULL AND $x IS NOT NULL", func(v *truths) [][]string { return v.pairs("true") }, true},
	{"SELECT a.i, b.i FROM m a, m b WHERE $x IN ($y, $y)", func(v *truths) [][]string { return v.pairs("true") }, true},
	{"SELECT a.i, b.i FROM m a, m b WHERE $x NOT IN ($y, $y)", func(v *truths) [][]string { return v.pairs("false") }, true},
	{"SELECT ai, bi FROM (SELECT i AS ai, $x AS k FROM m a) a NATURAL JOIN (SELECT i AS bi, $y AS k FROM m b) b",
		func(v *truths) [][]string { return v.pairs("true") }, true},
	{"SELECT ai, bi FROM (SELECT i AS ai, $x AS k FROM m a) a NATURAL LEFT JOIN (SELECT i AS bi, $y AS k FROM m b) b",
		func(v *truths) [][]string { return v.outer(false) }, true},
	{"SELECT ai, bi FROM (SELECT i AS ai, $x AS k FROM m a) a NATURAL FULL JOIN (SELECT i AS bi, $y AS k FROM m b) b",
		func(v *truths) [][]string { return v.outer(true) }, true},
	{"SELECT a.i, b.i FROM (SELECT i, $x AS k FROM m a) a LEFT JOIN (SELECT i, $y AS k FROM m b) b USING (k)",
		func(v *truths) [][]string { return v.outer(false) }, true},
	{"SELECT a.i, b.i FROM (SELECT i, $x AS k FROM m a) a FULL JOIN (SELECT i, $y AS k FROM m b) b USING (k)",
		func(v *truths) [][]string { return v.outer(true) }, true},
	{"SELECT a.i, b.i FROM (SELECT i, $x AS k, i AS l FROM m a) a JOIN (SELECT i, $y AS k, i AS l FROM m b) b USING (k, l)",
		func(v *truths) [][]string {
			return slices.DeleteFunc(v.pairs("true"), func(p []string) bool { return p[0] != p[1] })
		}, true},
	{"SELECT i, $x = (SELECT $y FROM m b WHERE b.i = 3) FROM m a", func(v *truths) [][]string {
		return v.values(func(i int) string { return v.of[i][3] })
	}, true},
	{"SELECT i FROM m a WHERE $x = (SELECT $y FROM m b WHERE b.i = 5)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.of[i][5] == "true" })
	}, true},
	{"SELECT i FROM m a WHERE (SELECT $y FROM m b WHERE b.i = 2) = $x", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.of[i][2] == "true" })
	}, true},
	{"SELECT i, $x = (SELECT $y FROM m b WHERE b.i = a.i) FROM m a", func(v *truths) [][]string {
		return v.values(func(i int) string { return v.of[i][i] })
	}, true},
	{"SELECT i FROM m a WHERE NOT ($x = (SELECT $y FROM m b WHERE b.i = a.i))", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.of[i][i] == "false" })
	}, true},
	{"SELECT i FROM m a WHERE (SELECT $x) = (SELECT $y FROM m b WHERE b.i = a.i)", func(v *truths) [][]string {
		return v.lefts(func(i int) bool { return v.of[i][i] == "true" })
	}, true},
}

// typedAnswers has the rows of typedValues as table m.
func typedAnswers(t *testing.T) answers {
	t.Helper()
	columns, err := fixture.ParseColumns("__time TIMESTAMP, i BIGINT, s VARCHAR, n BIGINT, d DOUBLE, f FLOAT, j JSON, " +
		"sa VARCHAR ARRAY, na BIGINT ARRAY, da DOUBLE ARRAY, mv VARCHAR MULTI")
	if err != nil {
		t.Fatal(err)
	}
	load := slt.Load{DataSource: "m", Version: "1", Table: fixture.Table{Columns: columns}}
	for _, row := range typedRows {
		if err := load.Table.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	a := answers{t, engine.New(t, engine.Options{SegmentRows: 4, Threads: 2, SemiJoinMinRows: 1})}
	if err := a.e.Load(t.Context(), &load); err != nil {
		t.Fatal(err)
	}
	return a
}

// Every clause that looks for equal values of two sides finds those for which the comparison of the
// two is true, whatever their types. A clause that refuses two types refuses them in the
// comparison, too, but for JSON, by which nothing is joined.
func TestClausesCompareAsComparisonsDo(t *testing.T) {
	a := typedAnswers(t)
	cells := 0
	for k, x := range typedValues {
		t.Run(x.name, func(t *testing.T) {
			a.t = t
			for l, y := range typedValues {
				if testing.Short() && (k+l)%4 != 0 {
					continue
				}
				cells += compareClauses(a, strings.ReplaceAll(x.x, "$.", "a."), strings.ReplaceAll(y.x, "$.", "b."))
			}
		})
	}
	if cells < 1000 && !testing.Short() {
		t.Errorf("only %d cells of the matrix were compared", cells)
	}
}

// compareClauses returns how many clauses it compared.
func compareClauses(a answers, x, y string) (cells int) {
	a.t.Helper()
	filled := func(sql string) string { return strings.NewReplacer("$x", x, "$y", y).Replace(sql) }
	pairs, refused := a.rows(filled("SELECT a.i, b.i, $x = $y FROM m a, m b ORDER BY a.i, b.i"))
	v := truths{of: make([][]string, len(typedRows)), null: make([]bool, len(typedRows))}
	for _, p := range pairs {
		i := int(p[0][0] - '0')
		v.of[i] = append(v.of[i], p[2])
	}
	if refused == "" {
		nulls, _ := a.rows(filled("SELECT i, $y IS NULL FROM m b"))
		for _, row := range nulls {
			v.null[row[0][0]-'0'] = row[1] == "true"
		}
	}
	for _, c := range comparedClauses {
		if strings.HasSuffix(x, ".mv") && c.ofRow {
			continue
		}
		got, no := a.sorted(filled(c.sql))
		switch {
		case (no == "") != (refused == ""):
			// A FULL JOIN by a name makes one column of both sides, which BOOLEAN and numbers can't be.
			merges := strings.Contains(c.sql, " FULL JOIN ") && strings.HasPrefix(no, "Illegal mixing of types")
			if !merges && !isOfJSON(no) {
				a.t.Errorf("%s\n  says [%s], the comparison [%s]", filled(c.sql), no, refused)
			}
			continue
		case no != "":
			continue
		}
		cells++
		if want := sortedText(c.rows(&v)); got != want {
			a.t.Errorf("%s\n  gives %s\n  and by the comparison of each pair it is %s", filled(c.sql), got, want)
		}
	}
	return cells
}
