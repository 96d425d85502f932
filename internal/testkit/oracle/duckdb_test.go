package oracle_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/oracle"
	"github.com/hengedb/henge/internal/testkit/slt"
)

// The oracle shares the binder with the engine, DuckDB shares nothing. TestDuckDB asks both what
// both speak: joins, correlated subqueries, set operations, grouping sets, windows, lateral joins,
// over tables with few values and many NULLs. It needs a Python that has the module duckdb: the one
// named by HENGE_DUCKDB_PYTHON, or python3.

// duckScript answers a line of JSON, a list of statements, with the rows of the last of them.
const duckScript = `
import json, sys, duckdb
for line in sys.stdin:
    try:
        c = duckdb if 'c' not in globals() else c
        if c is duckdb: c = duckdb.connect(); c.execute("SET enable_progress_bar = false")
        for s in json.loads(line): r = c.execute(s)
        out = {"rows": [[v if v is None or isinstance(v, (str, list)) else int(v) if isinstance(v, (bool, int)) else float(v) for v in row] for row in r.fetchall()]}
    except Exception as e:
        out = {"error": str(e)}
    print(json.dumps(out), flush=True)
`

// duck is a DuckDB of which questions are asked one after the other.
type duck struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func startDuck(t *testing.T) *duck {
	t.Helper()
	python := os.Getenv("HENGE_DUCKDB_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.CommandContext(t.Context(), python, "-c", "import duckdb").Run(); err != nil {
		t.Skip("DuckDB is not here: set HENGE_DUCKDB_PYTHON to a Python that has the module duckdb")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", duckScript)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it ends with its input
	})
	return &duck{in, bufio.NewReaderSize(out, 1<<20)}
}

// ask runs statements and returns the rows of the last one; refused is DuckDB's own error.
func (d *duck) ask(t *testing.T, statements ...string) (rows [][]any, refused string) {
	t.Helper()
	line, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := d.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Rows  [][]any
		Error string
	}
	dec := json.NewDecoder(strings.NewReader(string(answer)))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	for _, row := range out.Rows {
		for i, v := range row {
			row[i] = plainValue(v)
		}
	}
	return out.Rows, out.Error
}

func plainValue(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n
		}
		f, _ := x.Float64()
		return f
	case []any:
		for i := range x {
			x[i] = plainValue(x[i])
		}
	}
	return v
}

func TestDuckDB(t *testing.T) {
	d := startDuck(t)
	start := clock.System().Now()
	asked, refused, empty := 0, 0, 0
	round := func(t *testing.T, s uint64) { // a test of its own, so that its segments are closed behind it
		g := &portable{r: rand.New(rand.NewPCG(s, 77))}
		o := options(rand.New(rand.NewPCG(s, 1)))
		o.MemoryBytes = 0
		e := engine.New(t, o)
		for _, name := range []string{"t", "u", "w"} {
			table, statements := g.table(t, name)
			if err := e.Load(t.Context(), &slt.Load{DataSource: name, Version: "1", Table: *table}); err != nil {
				t.Fatal(err)
			}
			if _, err := d.ask(t, statements...); err != "" {
				t.Fatal(err)
			}
		}
		for range 25 {
			query := g.query()
			want, no := d.ask(t, query)
			if no != "" {
				if strings.Contains(no, "Parser Error") || strings.Contains(no, "Binder Error: Referenced") {
					t.Fatalf("%s: %s", query, no)
				}
				refused++ // overflows, and correlations that DuckDB does not know
				continue
			}
			p, err := e.Prepare(t.Context(), &slt.Statement{SQL: query, Context: map[string]any{"useApproximateCountDistinct": false}})
			if err != nil {
				t.Fatalf("seed %d: %s: %v", s, query, err)
			}
			got, err := rowsOf(t.Context(), e, p)
			if f := fault.Find(err); f != nil && (strings.Contains(f.Message, "more than one row") || o.TextRoom > 0 && f.Legacy == fault.LegacyResourceLimit) {
				refused++
				continue
			}
			asked++
			if len(want) == 0 {
				empty++
			}
			if err != nil {
				t.Fatalf("seed %d, %+v: %s: %v", s, o, query, err)
			}
			if diff := oracle.Differ(want, got, false); diff != "" {
				t.Fatalf("seed %d, %+v (want is DuckDB's)\n%s\n%s", s, o, query, diff)
			}
		}
	}
	for s := *first; clock.System().Now().Sub(start) < *duration || *seed != 0; s++ {
		if *seed != 0 {
			s = *seed
		}
		if !t.Run(fmt.Sprint(s), func(t *testing.T) { round(t, s) }) || *seed != 0 {
			break
		}
	}
	t.Logf("%d queries, %d without rows, %d refused", asked, empty, refused)
	if asked < 3*refused {
		t.Errorf("of %d queries %d were refused: this tests too little", asked+refused, refused)
	}
}

// portable makes queries that mean the same to both.
type portable struct {
	r    *rand.Rand
	from []string // aliases in scope
}

const portableColumns = "__time TIMESTAMP, s VARCHAR, k VARCHAR, n BIGINT, m BIGINT, d DOUBLE"

func (g *portable) table(t *testing.T, name string) (*fixture.Table, []string) {
	t.Helper()
	columns, err := fixture.ParseColumns(portableColumns)
	if err != nil {
		t.Fatal(err)
	}
	out := &fixture.Table{Columns: columns}
	statements := []string{"CREATE OR REPLACE TABLE " + name + " (s VARCHAR, k VARCHAR, n BIGINT, m BIGINT, d DOUBLE)"}
	var rows []string
	for range g.r.IntN(25) + 1 {
		row := []any{int64(1704067200000), nil, nil, nil, nil, nil}
		text := make([]string, 5)
		for i := range text {
			text[i] = "NULL"
			if g.r.IntN(5) == 0 {
				continue
			}
			switch i {
			case 0, 1:
				v := []string{"a", "b", "c", "", "ab"}[g.r.IntN(5)]
				row[i+1], text[i] = v, "'"+v+"'"
			case 4:
				v := float64(g.r.IntN(20)-10) / 4
				row[i+1], text[i] = v, fmt.Sprint(v)
			default:
				v := g.r.Int64N(8) - 2
				row[i+1], text[i] = v, fmt.Sprint(v)
			}
		}
		out.Rows = append(out.Rows, row)
		rows = append(rows, "("+strings.Join(text, ", ")+")")
	}
	return out, append(statements, "INSERT INTO "+name+" VALUES "+strings.Join(rows, ", "))
}

func (g *portable) pick(of ...string) string { return of[g.r.IntN(len(of))] }

func (g *portable) column(names ...string) string {
	return g.from[g.r.IntN(len(g.from))] + "." + names[g.r.IntN(len(names))]
}

func (g *portable) integer(depth int) string {
	if depth <= 0 || g.r.IntN(3) == 0 {
		return g.pick(g.column("n", "m"), g.column("n", "m"), fmt.Sprint(g.r.IntN(5)))
	}
	switch g.r.IntN(7) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", g.integer(depth-1), g.pick("+", "-", "*"), g.integer(depth-1))
	case 1:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(depth-1), g.integer(depth-1), g.integer(depth-1))
	case 2:
		return fmt.Sprintf("COALESCE(%s, %s)", g.integer(depth-1), g.integer(depth-1))
	case 3:
		return fmt.Sprintf("NULLIF(%s, %s)", g.integer(depth-1), g.integer(depth-1))
	case 4:
		return fmt.Sprintf("LENGTH(%s)", g.text(depth-1))
	case 5:
		return g.scalar(depth)
	}
	return fmt.Sprintf("ABS(%s)", g.integer(depth-1))
}

// scalar is a subquery of one value that uses columns of the query around.
func (g *portable) scalar(depth int) string {
	outer := g.column("n", "m")
	text := g.column("s", "k")
	aggregate := g.pick("COUNT(*)", "MAX(i.n)", "MIN(i.m)", "SUM(i.n)", "COUNT(DISTINCT i.s)", "COUNT(i.m)")
	where := g.pick("i.s = "+text, "i.n < "+outer, "i.s = "+text+" AND i.n <> "+outer, "i.n = "+outer+" OR i.k = "+text, "i.n + 1 = "+outer, "TRUE")
	table := g.pick("t", "u", "w")
	switch g.r.IntN(4) {
	case 0:
		return fmt.Sprintf("(SELECT CAST(%s AS BIGINT) + %s FROM %s AS i WHERE %s)", aggregate, outer, table, where)
	case 1:
		return fmt.Sprintf("(SELECT CAST(%s AS BIGINT) FROM %s AS i JOIN %s AS j ON i.n = j.n AND j.m < %s WHERE %s)", aggregate, table, g.pick("u", "w"), outer, where)
	}
	return fmt.Sprintf("(SELECT CAST(%s AS BIGINT) FROM %s AS i WHERE %s)", aggregate, table, where)
}

func (g *portable) text(depth int) string {
	if depth <= 0 || g.r.IntN(2) == 0 {
		return g.pick(g.column("s", "k"), g.column("s", "k"), "'a'", "'b'", "''")
	}
	switch g.r.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s || %s)", g.text(depth-1), g.text(depth-1))
	case 1:
		return fmt.Sprintf("UPPER(%s)", g.text(depth-1))
	case 2: // with an ELSE: of CASE WHEN a THEN 'b' END LIKE 'b%' DuckDB 2.0.0 asks only whether a is not NULL
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(depth-1), g.text(depth-1), g.text(depth-1))
	}
	return fmt.Sprintf("COALESCE(%s, %s)", g.text(depth-1), g.text(depth-1))
}

func (g *portable) condition(depth int) string {
	op := g.pick("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
	not := g.pick("", "", "NOT ")
	switch n := g.r.IntN(14); {
	case n < 3:
		return fmt.Sprintf("(%s %s %s)", g.integer(depth-1), op, g.integer(depth-1))
	case n == 3:
		return fmt.Sprintf("(%s %s %s)", g.text(depth-1), op, g.text(depth-1))
	case n == 4:
		return fmt.Sprintf("(%s %s %s)", g.column("d"), op, g.pick(g.column("d"), "0.25", g.column("n")))
	case n == 5:
		return fmt.Sprintf("(%s IS %sNULL)", g.integer(depth-1), not)
	case n == 6:
		return fmt.Sprintf("(%s %sIN (1, 2, NULL))", g.integer(depth-1), not)
	case n == 7:
		return fmt.Sprintf("(%s %sLIKE '%s')", g.text(depth-1), not, g.pick("a%", "%b", "_", "%"))
	case depth <= 0:
		return fmt.Sprintf("(%s %s %s)", g.column("n", "m"), op, g.column("n", "m"))
	case n == 8:
		return fmt.Sprintf("(NOT %s)", g.condition(depth-1))
	case n == 9:
		return fmt.Sprintf("(%s %s %s)", g.condition(depth-1), g.pick("AND", "OR"), g.condition(depth-1))
	case n == 10:
		return fmt.Sprintf("(%sEXISTS (SELECT 1 FROM %s AS i WHERE i.%s = %s AND i.m %s %s))", not, g.pick("t", "u", "w"), g.pick("s", "k"), g.column("s", "k"),
			g.pick("<", ">=", "<>"), g.column("n", "m"))
	case n == 11:
		return fmt.Sprintf("(%s %sIN (SELECT i.%s FROM %s AS i WHERE i.m %s %s))", g.column("n", "m"), not, g.pick("n", "m"), g.pick("t", "u", "w"), g.pick("<", "=", "<>"),
			g.column("n", "m"))
	case n == 12:
		return fmt.Sprintf("(%s %s %s (SELECT i.n FROM %s AS i WHERE i.s = %s))", g.column("n", "m"), g.pick("=", "<>", "<", ">="), g.pick("ANY", "ALL"), g.pick("u", "w"),
			g.column("s", "k"))
	}
	return fmt.Sprintf("(%s %sIN (SELECT i.s FROM %s AS i WHERE i.n > 0))", g.column("s", "k"), not, g.pick("t", "u", "w"))
}

// source is what a query reads.
func (g *portable) source() string {
	g.from = []string{"t"}
	join := g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN", "LEFT JOIN")
	switch g.r.IntN(11) {
	case 9, 10: // tables put together, which all workers read
		arm := func() string {
			return "SELECT s, k, n, m, d FROM " + g.pick("t", "u", "w") + g.pick("", "", " WHERE n > 1", " WHERE s = 'a'")
		}
		union := "(" + arm() + " UNION ALL " + arm() + g.pick("", " UNION ALL "+arm()) + ") AS t"
		if g.r.IntN(2) == 0 {
			return union
		}
		g.from = []string{"t", "u"}
		return union + " " + join + " u ON t.n = u.n" + g.pick("", " AND t.s = u.s", " AND t.m < u.m")
	case 0, 1:
		g.from = []string{"t", "u"}
		return "t " + join + " u ON t." + g.pick("n", "m") + " = u." + g.pick("n", "m") + g.pick("", " AND t.s <> u.s", " AND u.d > t.d", " AND t.n > 1", " AND u.k = 'a'")
	case 2:
		g.from = []string{"t", "u"}
		return "t " + g.pick("JOIN", "LEFT JOIN") + " u ON t.n < u.n" + g.pick("", " AND t.s = u.k")
	case 3:
		g.from = []string{"t", "u", "w"}
		return g.pick("t JOIN u ON t.n = u.n "+g.pick("JOIN", "LEFT JOIN")+" w ON w.s = u.s AND w.m = t.m", "u CROSS JOIN w JOIN t ON t.n = u.n AND t.s = w.s",
			"t LEFT JOIN u ON t.s = u.s AND t.n = u.n LEFT JOIN w ON w.n = u.m", "t, u, w WHERE t.n = u.n AND u.s = w.s AND w.m >= t.m")
	case 4:
		g.from = []string{"t", "l"}
		return "t, LATERAL (SELECT u.s AS s, u.k AS k, u.n + t.n AS n, u.m AS m, u.d AS d FROM u WHERE u.m " + g.pick("=", "<") + " t.m) AS l"
	case 5:
		g.from = []string{"t", "l"}
		return "t LEFT JOIN (SELECT s, MIN(k) AS k, SUM(n)::BIGINT AS n, COUNT(*) AS m, MAX(d) AS d FROM u GROUP BY s) AS l ON t.s = l.s"
	}
	return "t"
}

func (g *portable) where(source string) string {
	switch {
	case strings.Contains(source, " WHERE t.n = u.n"):
		return " AND " + g.condition(2)
	case g.r.IntN(4) == 0:
		return ""
	}
	return " WHERE " + g.condition(2)
}

func (g *portable) query() string {
	switch g.r.IntN(10) {
	case 0:
		operator := func() string {
			return g.pick(" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL ")
		}
		if g.r.IntN(3) == 0 {
			return g.rows(2) + operator() + g.rows(2) + operator() + g.rows(2)
		}
		return g.rows(2) + operator() + g.rows(2)
	case 1, 2:
		return g.windows()
	case 3, 4, 5:
		return g.groups()
	case 6:
		g.from = []string{"t"}
		inner := g.groups()
		return "SELECT q.c1, COUNT(*) AS c FROM (" + inner + ") AS q GROUP BY q.c1"
	case 7:
		inner := g.rows(3)
		return "WITH q AS (" + inner + ") SELECT a.c0, b.c0 FROM q AS a " + g.pick("JOIN", "LEFT JOIN", "FULL JOIN") + " q AS b ON a.c0 = b.c1"
	}
	return g.rows(g.r.IntN(3) + 1)
}

func (g *portable) rows(columns int) string {
	source := g.source()
	items := make([]string, columns)
	for i := range items {
		items[i] = fmt.Sprintf("%s AS c%d", g.integer(2), i)
	}
	return "SELECT " + g.pick("", "", "DISTINCT ") + strings.Join(items, ", ") + " FROM " + source + g.where(source)
}

func (g *portable) groups() string {
	source := g.source()
	keys := []string{g.text(1), g.column("n", "m")}
	calls := g.pick("COUNT(*)", "COUNT(DISTINCT "+g.column("n", "m")+")", "CAST(SUM("+g.integer(1)+") AS BIGINT)", "MAX("+g.column("d")+")", "MIN("+g.text(1)+")",
		"AVG("+g.column("n", "d")+")", "COUNT("+g.column("d")+") FILTER (WHERE "+g.condition(1)+")")
	group := "GROUP BY " + strings.Join(keys, ", ")
	switch g.r.IntN(5) {
	case 0:
		group = "GROUP BY ROLLUP (" + strings.Join(keys, ", ") + ")"
	case 1:
		group = fmt.Sprintf("GROUP BY GROUPING SETS ((%s, %s), (%s), (%s))", keys[0], keys[1], keys[0], keys[1])
	}
	having := g.pick("", "", " HAVING COUNT(*) > 1", " HAVING MAX("+g.column("n")+") >= 2")
	if having == "" && strings.Contains(group, "ROLLUP") {
		having = " HAVING COUNT(*) > 0" // over no rows we give no total, as Druid does
	}
	return fmt.Sprintf("SELECT %s AS c0, %s AS c1, %s AS c2, COUNT(*) AS c3 FROM %s%s %s%s", keys[0], keys[1], calls, source, g.where(source), group, having)
}

func (g *portable) windows() string {
	g.from = []string{"t"}
	partition := g.pick("", "PARTITION BY s ", "PARTITION BY s, k ", "PARTITION BY n ")
	order := "ORDER BY " + g.pick("n", "m DESC") + " NULLS " + g.pick("FIRST", "LAST")
	frame := g.pick("", "", " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
		" RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " GROUPS BETWEEN CURRENT ROW AND 2 FOLLOWING EXCLUDE CURRENT ROW", " GROUPS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE TIES")
	call := g.pick("RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()")
	if g.r.IntN(3) > 0 {
		call = g.pick("COUNT(*)", "CAST(SUM(n) AS BIGINT)", "MIN(m)", "MAX(n)", "COUNT(d)", "AVG(n)")
	} else {
		frame = ""
	}
	if strings.HasPrefix(call, "CAST") {
		call = "CAST(SUM(n) OVER (" + partition + order + frame + ") AS BIGINT)"
	} else {
		call += " OVER (" + partition + order + frame + ")"
	}
	if g.r.IntN(2) == 0 { // all columns order the rows, so that they have places
		total := "ORDER BY n NULLS FIRST, s NULLS FIRST, k NULLS FIRST, m NULLS LAST, d NULLS LAST"
		call = g.pick(
			g.pick("ROW_NUMBER()", "NTILE(3)", "LAG(n)", "LEAD(m, 2)", "LAG(s, 1, 'none')", "LAG(n IGNORE NULLS)", "LEAD(m, 2 IGNORE NULLS)")+" OVER ("+partition+total+")",
			g.pick("FIRST_VALUE(m)", "LAST_VALUE(s)", "NTH_VALUE(n, 2)", "FIRST_VALUE(m IGNORE NULLS)", "COUNT(DISTINCT m)", "COUNT(m) FILTER (WHERE n > 0)", "MIN(k)", "AVG(d)")+
				" OVER ("+partition+total+g.pick("", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")+")",
			g.pick("CAST(SUM(m) OVER (", "CAST(COUNT(d) OVER (", "CAST(MAX(m) OVER (")+partition+total+
				g.pick(" ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING", " ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW")+
				") AS BIGINT)")
	}
	qualify := g.pick("", "", "", " QUALIFY RANK() OVER (PARTITION BY k ORDER BY n DESC NULLS LAST) <= 2", " QUALIFY COUNT(*) OVER (PARTITION BY s, n) > 1")
	return fmt.Sprintf("SELECT s AS c0, n AS c1, m AS c2, %s AS c3 FROM t%s%s", call, g.where("t"), qualify)
}
