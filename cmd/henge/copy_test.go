package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is copied to a file is read from it again, in every format that keeps it.
func TestCopyToFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("folder.csv", 0o700); err != nil {
		t.Fatal(err)
	}
	const query = `(SELECT * FROM (VALUES (1, 'a,"b', 1.5, TIMESTAMP '2024-01-02 03:04:05'), (2, 'x` + "\u00fc" +
		`', NULL, NULL)) AS v (i, s, d, t))`
	for file, want := range map[string]string{
		"a.csv": "", "a.ndjson": "", "a.jsonl.gz": "", "a.json.zst": "", "a.parquet": "", "a 'b'.csv": "",
		"a.arrows": "", "a.md": "-", "A.CSV": "", "a.parquet.gz": "",
	} {
		quoted := "'" + strings.ReplaceAll(file, "'", "''") + "'"
		_, errs, err := inProcess(t, "", "sql", "--local", "-q", `\copy `+query+" TO "+quoted)
		if err != nil || !strings.Contains(errs, "2 rows to "+file+": ") {
			t.Errorf("%s: %v, %s", file, err, errs)
			continue
		}
		if want == "-" {
			continue
		}
		out, errs, err := inProcess(t, "", "sql", "--format", "tsv", "-q", "SELECT i, s, d, t FROM "+quoted+" ORDER BY i")
		want := "i\ts\td\tt\n1\ta,\"b\t1.5\t2024-01-02T03:04:05.000Z\n2\tx\u00fc\t\\N\t\\N\n"
		if err != nil || out != want {
			t.Errorf("%s: %v, %q, %s", file, err, out, errs)
		}
	}
	for args, want := range map[string]string{
		"": "Write \\copy TABLE", "t TO": "Write \\copy", "t OVER 'x.csv'": "Write \\copy",
		"t TO 'x.pdf'": "is not a known format", "t TO ''": "needs a file",
		"t TO 'x.csv' now":                  "has no options",
		"(SELECT 1) FROM 'x.csv'":           "cannot be the target of a load",
		"t FROM 'x.csv' twice":              "use append or replace",
		"t FROM 'x.csv'":                    "no server to load into",
		"(SELECT nothing) TO 'no.csv'":      "Column 'nothing' not found",
		"(SELECT 1) TO 'none/no.csv'":       "no such file or directory",
		"(SELECT 1) TO 'folder.csv'":        "not a regular file",
		"none TO 'no.csv'":                  "Object 'none' not found",
		"(DELETE FROM t) TO 'no.csv'":       "Unsupported SQL statement",
		"(INSERT INTO t SELECT 1) TO x.csv": "is not a query",
	} {
		if _, errs, err := inProcess(t, "", "sql", "--local", "-q", `\copy `+args); err == nil || !strings.Contains(errs, want) {
			t.Errorf("%q: %v, %q, want %q", args, err, errs, want)
		}
	}
	left, err := filepath.Glob(".*")
	if _, exists := os.Stat("no.csv"); err != nil || exists == nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v, %v", left, exists, err)
	}
}

// Values of all types that answers have, written as Parquet.
func TestParquetOfAllTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	const query = "SELECT ARRAY[1, 2] a, ARRAY['x', NULL] n, CAST(1.5 AS FLOAT) f, FALSE b, DATE '1969-12-31' d, " +
		"9223372036854775807 l, '' e, CAST(NULL AS BIGINT) z"
	if _, errs, err := inProcess(t, "", "sql", "--local", "-q", `\copy (`+query+`) TO a.parquet`); err != nil {
		t.Fatal(err, errs)
	}
	out, errs, err := inProcess(t, "", "sql", "--format", "ndjson", "-q", "SELECT * FROM 'a.parquet'")
	want := `{"a":[1,2],"n":["x",null],"f":1.5,"b":"false","d":"1969-12-31T00:00:00.000Z","l":9223372036854775807,"e":"","z":null}` + "\n"
	if err != nil || out != want {
		t.Errorf("%v\n%s\n%s\n%s", err, out, want, errs)
	}
	out, _, err = inProcess(t, "", "sql", "--local", "--format", "parquet", "-q", "SELECT a FROM (VALUES (1)) v (a) WHERE a > 3")
	if err != nil || !strings.HasPrefix(out, "PAR1") || !strings.HasSuffix(out, "PAR1") {
		t.Errorf("without rows: %v, %q", err, out)
	}
	if n, err := printParquet(&strings.Builder{}, strings.NewReader("")); n != 0 || err == nil {
		t.Errorf("an answer that breaks off: %d, %v", n, err)
	}
}
