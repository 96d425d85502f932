package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestSampleIsDeterministic(t *testing.T) {
	a, b := tool(t, "", "sample", "--rows", "500", "--seed", "7"), tool(t, "", "sample", "--rows", "500", "--seed", "7")
	if a.code != 0 || a.stdout != b.stdout {
		t.Fatalf("the same seed gives other events (status %d): %s", a.code, a.stderr)
	}
	if c := tool(t, "", "sample", "--rows", "500", "--seed", "8"); c.stdout == a.stdout {
		t.Error("another seed gives the same events")
	}
	lines := strings.Split(strings.TrimSpace(a.stdout), "\n")
	if len(lines) != 500 {
		t.Errorf("%d lines, want 500", len(lines))
	}
	for _, l := range lines {
		if !json.Valid([]byte(l)) {
			t.Fatalf("no JSON: %s", l)
		}
	}
	for _, args := range [][]string{{"sample", "--start", "tomorrow"}, {"sample", "--span", "long"}, {"sample", "--rows", "-1"}} {
		if r := tool(t, "", args...); r.code == 0 || r.stderr == "" || r.stdout != "" {
			t.Errorf("henge %q: status %d, %q", args, r.code, r.stderr)
		}
	}
}

func TestIngestCommand(t *testing.T) {
	dir := t.TempDir()
	events := filepath.Join(dir, "events.json")
	write(t, events, tool(t, "", "sample", "--rows", "2000").stdout)
	p := serve(t, filepath.Join(dir, "data"))
	at := []string{"--server", p.Addresses["router"]}

	dry := tool(t, "", append([]string{"ingest", events, "--into", "events", "--dry-run"}, at...)...)
	if dry.code != 0 || !strings.Contains(dry.stdout, `INSERT INTO "events"`) || !strings.Contains(dry.stdout, "PARTITIONED BY DAY") {
		t.Fatalf("the dry run: status %d\n%s%s", dry.code, dry.stdout, dry.stderr)
	}
	if _, err := p.Query(t.Context(), "SELECT COUNT(*) FROM events"); err == nil {
		t.Error("a dry run loads")
	}
	r := tool(t, "", append([]string{"ingest", events, "--into", "events"}, at...)...)
	if r.code != 0 || r.stdout != dry.stdout || !strings.Contains(r.stderr, "2,000 rows") && !strings.Contains(r.stderr, "2000 rows") {
		t.Fatalf("the load: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	// The SQL it prints can be run as it is.
	if r := tool(t, r.stdout, append([]string{"sql", "-"}, at...)...); r.code != 0 {
		t.Fatalf("running the printed SQL: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	rows, err := p.Query(t.Context(), "SELECT COUNT(*), COUNT(DISTINCT action) FROM events")
	if err != nil || rows[0][0] != json.Number("4000") {
		t.Fatalf("after two loads: %v, %v", rows, err)
	}
	csv := filepath.Join(dir, "days.csv")
	write(t, csv, "\ufeffday,city,n\r\n2024-01-01,\"Biel, BE\",1\r\n2024-01-02,Zürich,2\r\n")
	if r := tool(t, "", append([]string{"ingest", csv, "--into", "days", "--replace"}, at...)...); r.code != 0 {
		t.Fatalf("a CSV file: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if rows, err := p.Query(t.Context(), "SELECT city, n FROM days ORDER BY __time"); err != nil || len(rows) != 2 || rows[0][0] != "Biel, BE" || rows[1][1] != json.Number("2") {
		t.Errorf("the CSV file holds %v, %v", rows, err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"can't be read": {filepath.Join(dir, "missing.json"), "--into", "x"},
		"has no files":  {empty, "--into", "x"},
		"[nothing]":     {events, "--into", "x", "--time", "nothing"},
	} {
		r := tool(t, "", append(append([]string{"ingest"}, args...), at...)...)
		if r.code == 0 || !strings.Contains(r.stderr, name) {
			t.Errorf("henge ingest %q: status %d, %q has no %q", args, r.code, r.stderr, name)
		}
	}
}

func TestSQLCommand(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir)
	ask := func(stdin string, args ...string) result {
		return tool(t, stdin, append([]string{"sql", "--server", p.Addresses["router"]}, args...)...)
	}
	const query = `SELECT 1 AS n, 'a,"b"' AS s, CAST(NULL AS VARCHAR) AS e`
	for format, want := range map[string]string{
		"table":    "1 | a,\"b\" | NULL",
		"vertical": "s | a,\"b\"\ne | NULL",
		"tsv":      "n\ts\te\n1\ta,\"b\"\t\\N\n",
		"markdown": "| 1 | a,\"b\" | NULL |",
		"ndjson":   "{\"n\":1,\"s\":\"a,\\\"b\\\"\",\"e\":null}\n",
		"csv":      "n,s,e\n1,\"a,\"\"b\"\"\",\n",
		"json":     `[{"n":1,"s":"a,\"b\"","e":null}]`,
	} {
		if r := ask("", "-q", query, "--format", format); r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("format %s: status %d\n%s%s", format, r.code, r.stdout, r.stderr)
		}
	}
	file := filepath.Join(dir, "load.sql")
	write(t, file, "-- a comment; with a semicolon\n"+small("REPLACE INTO t OVERWRITE ALL", "a;b")+";\nSELECT COUNT(*) AS c FROM t;")
	if r := ask("", file, "--format", "csv"); r.code != 0 || !strings.Contains(r.stdout, "c\n1\n") {
		t.Errorf("a file of statements: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := ask("SELECT v FROM t", "-", "--format", "csv", "--timing"); r.code != 0 || !strings.HasPrefix(r.stdout, "v\na;b\n") {
		t.Errorf("standard input: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	// Commands of the prompt work in scripts, against the real catalog.
	for script, want := range map[string]string{
		`\d`: "service,t,TABLE\n", `\d t`: "v,VARCHAR,YES\n", `\d service.t`: "v,VARCHAR,YES\n",
		`\dt sys.ser*`:   "sys,server_segments,SYSTEM_TABLE\n",
		`\df approx_top`: "APPROX_TOP_K(<expr>, <count>)", `\l`: "\nsys\n", `\conninfo`: p.Addresses["router"],
		"\\set sqlTimeZone Asia/Tokyo\nSELECT TIME_FORMAT(TIMESTAMP '2024-01-01', 'Z') AS zone": "zone\n+0900",
	} {
		if r := ask(script, "--format", "csv"); r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("%s: status %d\n%s%s", script, r.code, r.stdout, r.stderr)
		}
	}
	for script, want := range map[string]string{
		`\d srevers`: "did you mean [servers]", `\d sys.taks`: "did you mean [sys.tasks]", `\dt zzz`: "[zzz]", `\df zzz`: "[zzz]", `\dd`: `[\d]`,
	} {
		if r := ask(script); r.code == 0 || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%s: status %d\n%s%s", script, r.code, r.stdout, r.stderr)
		}
	}
	r := ask("", "-q", "SELECT v,\n  wrong FROM t")
	if r.code == 0 || !strings.Contains(r.stderr, "wrong") || !strings.Contains(r.stderr, "\n    ^^^^^\n") {
		t.Errorf("an unknown column: status %d, and the place is not shown:\n%s", r.code, r.stderr)
	}
	if r := ask("", "-q", "SELECT 1", "--format", "xml"); r.code == 0 || !strings.Contains(r.stderr, "xml") {
		t.Errorf("an unknown format: status %d, %s", r.code, r.stderr)
	}
	if r := ask("", "-q", " "); r.code == 0 || !strings.Contains(r.stderr, "-q") {
		t.Errorf("an empty query: status %d, %s%s", r.code, r.stdout, r.stderr)
	}
	r = ask("SELECT 1 AS one;\nSELEC;\nSELECT 2 AS two;\n")
	if r.code == 0 || !strings.Contains(r.stdout, "one") || strings.Contains(r.stdout, "two") || !strings.Contains(r.stderr, "[SELEC]") {
		t.Errorf("statements of which one is wrong: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := tool(t, "", "sql", "-q", "SELECT 1", "--server", "localhost:1"); r.code == 0 || !strings.Contains(r.stderr, "henge server") {
		t.Errorf("no server: status %d, %s", r.code, r.stderr)
	}
}

func TestHelpAndVersion(t *testing.T) {
	said := regexp.MustCompile(`^henge version \S+ \((commit [0-9a-f]{12}(\+modified)?, \d{4}-\d\d-\d\d, )?go1\.\d+.*\)\n$`)
	if r := tool(t, "", "--version"); r.code != 0 || !said.MatchString(r.stdout) {
		t.Errorf("--version: status %d, %q", r.code, r.stdout)
	}
	for _, command := range []string{"", "server", "sql", "ingest", "sample", "inspect"} {
		args := append(strings.Fields(command), "--help")
		if r := tool(t, "", args...); r.code != 0 || !strings.Contains(r.stdout, "Usage") {
			t.Errorf("henge %q: status %d\n%s%s", args, r.code, r.stdout, r.stderr)
		}
	}
	if r := tool(t, "", "sevrer"); r.code == 0 || !strings.Contains(r.stderr, "sevrer") {
		t.Errorf("an unknown command: status %d, %q", r.code, r.stderr)
	}
	if _, err := os.Stat("henge-data"); err == nil {
		t.Error("a command that is no server made a data directory")
	}
}

func TestBinaryStaysSmall(t *testing.T) {
	const limit = 66_000_000 // bytes: the limit of the design, with streams, security, wires and the console
	info, err := os.Stat(henge)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= limit {
		t.Errorf("the stripped binary has %d bytes, at most %d are wanted: has a new import brought code that calls methods by name?", info.Size(), limit)
	}
}

func TestInspectCommand(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, filepath.Join(dir, "data"))
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "x"), map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
		t.Fatal(err)
	}
	p.stop(t)
	var file string
	err := filepath.WalkDir(filepath.Join(dir, "data", "segments"), func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".segment") {
			file = path
		}
		return err
	})
	if err != nil || file == "" {
		t.Fatal("there is no segment", err)
	}
	r := tool(t, "", "inspect", "--verify", file)
	if r.code != 0 || !strings.Contains(r.stdout, "__time") || !strings.Contains(r.stdout, "frame-of-reference") || !strings.Contains(r.stdout, "distinct") {
		t.Errorf("status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	var a struct {
		Rows    int
		Size    int64
		Columns []struct {
			Name, Encoding string
			Size           int64
			Cardinality    *int
		}
	}
	r = tool(t, "", "inspect", "--json", file)
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil || r.code != 0 || a.Rows != 1 || len(a.Columns) < 2 || a.Columns[0].Name != "__time" || a.Columns[0].Encoding == "" {
		t.Errorf("status %d, %v, %+v\n%s%s", r.code, err, a, r.stdout, r.stderr)
	}
	cut := filepath.Join(dir, "cut.segment")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cut, string(text[:len(text)-1]))
	if r := tool(t, "", "inspect", cut); r.code == 0 || !strings.Contains(r.stderr, cut) || r.stdout != "" {
		t.Errorf("a file cut short: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}
