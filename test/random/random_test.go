// Package random runs random requests over random data on a whole server: rewriting a table must
// not change results, and native queries must return the results of equivalent SQL. A round depends
// only on its seed.
package random

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/grammar"
	"github.com/hengedb/henge/internal/testkit/server"
)

var (
	seed     = flag.Uint64("seed", 0, "play only the round of this seed")
	first    = flag.Uint64("first", 1, "the seed of the first random round")
	duration = flag.Duration("duration", 2*time.Second, "how long random rounds are played")
	update   = flag.Bool("update", false, "write the table of docs/testing.md")
	every    = flag.Bool("every", false, "go on behind a difference")
)

// rounds plays at least least rounds, and more of them while there is time. name is what -run
// needs.
func rounds(t *testing.T, name string, least uint64, round func(t *testing.T, seed uint64)) {
	t.Helper()
	start := clock.System().Now()
	from := cmp.Or(*seed, *first)
	s := from
	for ; s == from || *seed == 0 && (s < from+least || clock.System().Now().Sub(start) < *duration); s++ {
		round(t, s)
		if t.Failed() && !*every {
			t.Fatalf("play this round again with go test ./test/random -run %s -seed %d", name, s)
		}
	}
	t.Logf("seeds %d to %d", from, s-1)
}

// columns are those of random tables, with how EXTERN reads them and what SQL makes of them; %s
// is the name.
var columns = []struct{ name, extend, sql string }{
	{"s", "VARCHAR", "%s"}, {"t", "VARCHAR", "%s"}, {"n", "BIGINT", "%s"}, {"l", "BIGINT", "%s"}, {"d", "DOUBLE", "%s"}, {"f", "FLOAT",
		"%s"},
	{"m", "VARCHAR ARRAY", "ARRAY_TO_MV(%s)"}, {"id", "BIGINT", "%s"}, {"b", "BIGINT", "%s"}, {"q", "DOUBLE", "%s"},
	{"na", "BIGINT ARRAY", "%s"}, {"da", "DOUBLE ARRAY", "%s"}, {"sa", "VARCHAR ARRAY", "%s"}, {"j", "TYPE('COMPLEX<json>')", "%s"},
}

// names are the columns, time first.
func names() string {
	out := []string{"__time"}
	for _, c := range columns {
		out = append(out, c.name)
	}
	return strings.Join(out, ", ")
}

// table is random rows.
type table struct {
	*fixture.Table
	r *rand.Rand
}

func newTable(t *testing.T, seed uint64, rows int) table {
	t.Helper()
	rowsOf, err := grammar.New(seed).Rows(rows, 1)
	if err != nil {
		t.Fatal(err)
	}
	return table{rowsOf, rand.New(rand.NewPCG(seed, 11))}
}

func (x table) pick(of ...string) string { return of[x.r.IntN(len(of))] }

// load is a statement that writes rows into a datasource.
func (x table) load(t *testing.T, verb string, rows [][]any, behind string) string {
	t.Helper()
	var lines []string
	for _, row := range rows {
		object := map[string]any{}
		for i, c := range x.Columns {
			v := row[i]
			if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				v = nil // JSON has no such numbers
			}
			if c.Name == "j" && v != nil {
				v = json.RawMessage(v.(string))
			}
			object[c.Name] = v
		}
		line, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	source, err := json.Marshal(map[string]string{"type": "inline", "data": strings.Join(lines, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	extend, items := []string{"__time BIGINT"}, []string{"MILLIS_TO_TIMESTAMP(__time) AS __time"}
	for _, c := range columns {
		extend = append(extend, c.name+" "+c.extend)
		items = append(items, fmt.Sprintf(c.sql, c.name)+" AS "+c.name)
	}
	return verb + " SELECT " + strings.Join(items, ", ") + " FROM TABLE(EXTERN('" + strings.ReplaceAll(string(source), "'", "''") + `', '{"type":"json"}')) EXTEND (` +
		strings.Join(extend, ", ") + ") " + behind
}

// layout is a random way to store rows.
func (x table) layout() string {
	return "PARTITIONED BY " + x.pick("DAY", "MONTH", "ALL", "YEAR", "FLOOR(__time TO WEEK)") + x.pick("", "", " CLUSTERED BY s",
		" CLUSTERED BY n, t", " CLUSTERED BY id")
}

// views are statements whose rows are the same however a table is stored.
var views = []string{
	"SELECT " + names() + " FROM x ORDER BY id",
	"SELECT m, COUNT(*) FROM x GROUP BY 1 ORDER BY 1",
	"SELECT s, n, COUNT(*), SUM(l), MIN(d), MAX(f), SUM(q) FROM x GROUP BY 1, 2 ORDER BY 1, 2",
	"SELECT TIME_FLOOR(__time, 'P1D'), COUNT(*), LATEST(s), EARLIEST(n) FROM x GROUP BY 1 ORDER BY 1",
	"SELECT id FROM x WHERE m = 'a' OR ARRAY_CONTAINS(na, 2) OR JSON_VALUE(j, '$.a' RETURNING BIGINT) = 1 ORDER BY id",
	"SELECT na, COUNT(*) FROM x GROUP BY 1 ORDER BY 1",
	"SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'x' ORDER BY 1",
}

// named is a statement about x, about another table.
func named(statement, table string) string {
	return strings.NewReplacer("FROM x ", "FROM "+table+" ", "INTO x ", "INTO "+table+" ", "TABLE_NAME = 'x'", "TABLE_NAME = '"+table+"'").Replace(statement)
}

// seen is what all views give.
func seen(t *testing.T, s *server.Server, name string) []string {
	t.Helper()
	out := make([]string, len(views))
	for i, v := range views {
		rows, err := s.Query(t.Context(), named(v, name))
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		lines := make([]string, len(rows))
		for k, r := range rows {
			lines[k] = fmt.Sprint(r)
		}
		out[i] = strings.Join(lines, "\n")
	}
	return out
}

// TestRewrites loads random rows, then rewrites the table by REPLACE of itself, whole and in
// part, and by compaction, over and over, with
// ever other layouts. Nothing that a query sees changes.
func TestRewrites(t *testing.T) {
	s := server.Start(t, server.Options{})
	rounds(t, "Rewrites", 2, func(t *testing.T, seed uint64) {
		x := newTable(t, seed, 40)
		if len(x.Rows) == 0 {
			return
		}
		half := x.r.IntN(len(x.Rows)) + 1
		layout := x.layout()
		steps := []string{x.load(t, "REPLACE INTO x OVERWRITE ALL", x.Rows[:half], layout)}
		if half < len(x.Rows) {
			granularity, _, _ := strings.Cut(layout, " CLUSTERED")
			steps = append(steps, x.load(t, "INSERT INTO x", x.Rows[half:], granularity))
		}
		name := fmt.Sprintf("x%d", seed) // what a table had before decides where rows can be appended
		for _, step := range steps {
			if err := s.Ingest(t.Context(), named(step, name), nil); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, step, err)
			}
		}
		defer func() { // or the server would hold ever more tables
			if err := s.Call(t.Context(), http.MethodDelete, "/service/coordinator/v1/datasources/"+name, nil, nil); err != nil {
				t.Error(err)
			}
		}()
		want := seen(t, s, name)
		for range 3 {
			step := x.rewrite()
			var err error
			if strings.HasPrefix(step, "{") {
				err = s.LoadNative(t.Context(), []byte(strings.Replace(step, `"x"`, `"`+name+`"`, 1)))
			} else {
				err = s.Ingest(t.Context(), named(step, name), nil)
			}
			if err != nil {
				t.Fatalf("seed %d: after %s\n%s: %v", seed, strings.Join(steps, "\n"), step, err)
			}
			steps = append(steps, step)
			for i, got := range seen(t, s, name) {
				if got != want[i] {
					t.Errorf("seed %d: after\n%s\n%s gives\n%s\nwant\n%s", seed, strings.Join(steps, "\n"), views[i], got, want[i])
					return
				}
			}
		}
	})
}

// rewrite is a statement, or a native task, that writes the table anew as it is.
func (x table) rewrite() string {
	switch x.r.IntN(4) {
	case 0:
		return "REPLACE INTO x OVERWRITE ALL SELECT * FROM x " + x.layout()
	case 1:
		return "REPLACE INTO x OVERWRITE ALL SELECT " + names() + " FROM x WHERE s IS NULL UNION ALL SELECT " + names() + " FROM x " +
			"WHERE s IS NOT NULL " + x.layout()
	case 2:
		month := x.r.IntN(3) + 1
		from, to := fmt.Sprintf("TIMESTAMP '2024-%02d-01 00:00:00'", month), fmt.Sprintf("TIMESTAMP '2024-%02d-01 00:00:00'", month+1)
		part := "__time >= " + from + " AND __time < " + to
		return "REPLACE INTO x OVERWRITE WHERE " + part + " SELECT * FROM x WHERE " + part + " PARTITIONED BY " + x.pick("DAY", "MONTH",
			"HOUR")
	}
	spec := map[string]any{
		"type": "compact", "dataSource": "x",
		"ioConfig":        map[string]any{"type": "compact", "inputSpec": map[string]any{"type": "interval", "interval": "2023-01-01/2026-01-01"}},
		"granularitySpec": map[string]any{"segmentGranularity": x.pick("DAY", "MONTH", "YEAR", "ALL", "WEEK")},
	}
	partitions := [][2]any{
		{"dynamic", map[string]any{"type": "dynamic", "maxRowsPerSegment": x.r.IntN(20) + 1}},
		{"hashed", map[string]any{"type": "hashed", "numShards": x.r.IntN(3) + 1, "partitionDimensions": []string{"s"}}},
		{"range", map[string]any{"type": "range", "targetRowsPerSegment": x.r.IntN(20) + 1, "partitionDimensions": []string{"s", "n"}}},
	}
	if p := partitions[x.r.IntN(3)]; x.r.IntN(4) > 0 {
		spec["tuningConfig"] = map[string]any{"type": "index_parallel", "partitionsSpec": p[1], "forceGuaranteedRollup": p[0] != "dynamic"}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err) // maps of texts and numbers always encode
	}
	return string(text)
}

// document compares a table with that of docs/testing.md, or writes it there.
func document(t *testing.T, name, table string) {
	t.Helper()
	if *seed != 0 || *first != 1 {
		return
	}
	const path = "../../docs/testing.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, behind, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table of %s", path, name)
	}
	want := before + begin + table + end + behind
	switch {
	case want == string(text):
	case !*update:
		t.Errorf("the table of %s in %s is not current: write it with go test ./test/random -update", name, path)
	default:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
