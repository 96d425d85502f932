package main

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// henge runs the program's commands in this process.
func inProcess(t *testing.T, stdin string, args ...string) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := command()
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// files writes files into a new folder and returns it.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z := gzip.NewWriter(f)
			_, err = z.Write([]byte(text))
			if err == nil {
				err = z.Close()
			}
		} else {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A run without a server leaves nothing behind: the folders for temporary files and for data are
// checked to be empty.
func TestFilesWithoutAServer(t *testing.T) {
	late := strings.Repeat("10\n", 60_000) + "10.75\nabc\n" // what a sample would not see
	dir := files(t, map[string]string{
		"x.csv":       "id,name,when,price\n1,a,2024-01-01T00:00:00Z,1.5\n2,,2024-01-02T00:00:00Z,2\n3,\"x\ny\",2024-01-03T00:00:00Z,\n",
		"late.csv":    "n\n" + late,
		"tabs.tsv":    "a\tb\n1\tx\n",
		"n.ndjson":    "{\"a\":1,\"b\":[1,2]}\n{\"a\":9007199254740993,\"c\":{\"d\":null}}\n",
		"logs/1.json": "{\"s\":200}\n", "logs/2.json": "{\"s\":404}\n",
		"z.csv.gz": "a\n1\n", "web pages.csv": "a\n1\n", "other/x.csv": "a\n1\n",
		"bad.csv": "a,b\n1,2\n3,4,5\n", "bad.json": "{\"a\":1}\n{\"a\":\n", "empty.csv": "", "report.sql": "SELECT 7; SELECT COUNT(*) FROM x",
		"late.json": "{\"t\":\"2024-01-01T00:00:00.123456Z\"}\n", "day.csv": "d\n01/02/2024\n", "late2.json": "{\"v\":1}\n{\"v\":\"x\"}\n",
		"bytes.csv": "a\nb\xfft\n",
	})
	orc, err := filepath.Abs("../../internal/ingest/testdata/orc/zlib.orc")
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Chdir(dir)
	for name, tc := range map[string]struct {
		args     []string
		in       string
		out, err string
	}{
		"csv": {
			args: []string{"-q", "SELECT * FROM 'x.csv'"},
			out: "id\tname\twhen\tprice\n1\ta\t2024-01-01T00:00:00.000Z\t1.5\n2\t\\N\t2024-01-02T00:00:00.000Z\t2.0\n" +
				"3\tx\\ny\t2024-01-03T00:00:00.000Z\t\\N\n",
		},
		"times are times": {
			args: []string{"-q", `SELECT TIME_FLOOR("when", 'P1M') m, COUNT(*) n FROM 'x.csv' GROUP BY 1`},
			out:  "m\tn\n2024-01-01T00:00:00.000Z\t3\n",
		},
		"finer ones are text": {args: []string{"-q", "SELECT t FROM 'late.json'"}, out: "t\n2024-01-01T00:00:00.123456Z\n"},
		"days or months":      {args: []string{"-q", "SELECT d FROM 'day.csv'"}, out: "d\n01/02/2024\n"},
		"late values":         {args: []string{"-q", "SELECT MAX(n) m, MIN(n) k, COUNT(n) c FROM 'late.csv'"}, out: "m\tk\tc\nabc\t10\t60002\n"},
		"mixed":               {args: []string{"-q", "SELECT v FROM 'late2.json'"}, out: "v\n1\nx\n"},
		"tsv":                 {args: []string{"-q", "SELECT b FROM 'tabs.tsv' WHERE a = 1"}, out: "b\nx\n"},
		"json": {
			args: []string{"-q", "SELECT a, b, c FROM 'n.ndjson' ORDER BY a"},
			out:  "a\tb\tc\n1\t[1,2]\t\\N\n9007199254740993\t\\N\t{\"d\":null}\n",
		},
		"pattern":      {args: []string{"-q", "SELECT SUM(s) s FROM 'logs/*.json'"}, out: "s\n604\n"},
		"folder":       {args: []string{"-q", "SELECT SUM(s) s FROM 'logs'"}, out: "s\n604\n"},
		"gzip":         {args: []string{"-q", "SELECT a FROM 'z.csv.gz'"}, out: "a\n1\n"},
		"orc":          {args: []string{orc, "--on-misfit=null", "-q", "SELECT COUNT(*) > 0 AS ok FROM zlib"}, out: "ok\ntrue\n"},
		"two":          {args: []string{"-q", "SELECT COUNT(*) n FROM 'x.csv' a JOIN 'z.csv.gz' b ON a.id = b.a"}, out: "n\n1\n"},
		"by name":      {args: []string{"x.csv", "-q", "SELECT MAX(id) m FROM x"}, out: "m\n3\n"},
		"with a space": {args: []string{"web pages.csv", "-q", `SELECT a FROM "web pages"`}, out: "a\n1\n"},
		"columns": {
			args: []string{"x.csv", "-q", `\d x`},
			out:  "column\ttype\tnullable\nid\tBIGINT\tYES\nname\tVARCHAR\tYES\nwhen\tTIMESTAMP\tYES\nprice\tDOUBLE\tYES\n",
		},
		"tables": {
			args: []string{"x.csv", "z.csv.gz", "-q", `\d`},
			out:  "schema\tname\ttype\nservice\tx\tTABLE\nservice\tz\tTABLE\n",
		},
		"no server":      {args: []string{"x.csv", "-q", `\conninfo`}, out: "There is no server"},
		"standard input": {args: []string{"-", "-q", "SELECT a FROM stdin"}, in: "a\n5\n", out: "a\n5\n"},
		"script":         {args: []string{"x.csv", "report.sql"}, out: "EXPR$0\n7\nEXPR$0\n3\n"},
		"piped script":   {args: nil, in: "SELECT a FROM 'z.csv.gz'", out: "a\n1\n"},
		"typed":          {args: []string{"z.csv.gz", "--column", "a=VARCHAR", "-q", "SELECT a || 'x' b FROM z"}, out: "b\n1x\n"},
		"without names":  {args: []string{"z.csv.gz", "--header", "no", "-q", "SELECT COUNT(*) n FROM z"}, out: "n\n2\n"},
		"no file at all": {args: []string{"--local", "-q", "SELECT 1 + 1 AS n"}, out: "n\n2\n"},
		"own query":      {args: []string{"--local", "-q", "SELECT state FROM sys.queries"}, out: "state\nRUNNING\n"},
		"explained":      {args: []string{"-q", "EXPLAIN PLAN FOR SELECT a FROM 'z.csv.gz'"}, out: "z.csv.gz"},
		"extern": {args: []string{"--local", "-q", `SELECT a FROM TABLE(EXTERN('{"type":"local","files":["z.csv.gz"]}', ` +
			`'{"type":"csv","findColumnsFromHeader":true}')) EXTEND (a BIGINT)`}, out: "a\n1\n"},
		"misfit allowed": {args: []string{"--on-misfit=null", "-q", "SELECT b FROM 'bad.csv'"}, out: "b\n2\n4\n"},

		"too many fields": {
			args: []string{"-q", "SELECT * FROM 'bad.csv'"},
			err:  "more fields than there are names, and the fields beyond would be left out; first in bad.csv, record 2",
		},
		"no JSON":         {args: []string{"-q", "SELECT * FROM 'bad.json'"}, err: "first in bad.json, record 2"},
		"no UTF-8":        {args: []string{"-q", "SELECT * FROM 'bytes.csv'"}, err: "not in UTF-8"},
		"empty":           {args: []string{"-q", "SELECT * FROM 'empty.csv'"}, err: "File [empty.csv] is empty"},
		"missing":         {args: []string{"-q", "SELECT * FROM 'none.csv'"}, err: "File [none.csv] can't be read: no such file or directory"},
		"nothing matches": {args: []string{"-q", "SELECT * FROM 'none*.csv'"}, err: "No file matches [none*.csv]"},
		"wrong column":    {args: []string{"-q", "SELECT nam FROM 'x.csv'"}, err: "Did you mean [name]?"},
		"wrong statement": {args: []string{"-q", "SELECT FROM 'x.csv' WHERE"}, err: "unexpected token"},
		"wrong name":      {args: []string{"x.csv", "-q", "SELECT * FROM y"}, err: "Object 'y' not found"},
		"write": {
			args: []string{"-q", "INSERT INTO t SELECT id FROM 'x.csv' PARTITIONED BY ALL"},
			err:  "INSERT and REPLACE take a server",
		},
		"URL": {args: []string{"-q", "SELECT * FROM 'http://localhost:1/x.csv'"}, err: "--allow-urls allows queries to read URLs"},
		"URL of a function": {
			args: []string{"--local", "-q", `SELECT * FROM TABLE(HTTP(uris => 'http://localhost:1/x', format => 'csv')) (a VARCHAR)`},
			err:  "--allow-urls",
		},
		"a server as well": {args: []string{"x.csv", "--server", "localhost:1"}, err: "read without a server"},
		"two of a name":    {args: []string{"x.csv", "other/x.csv", "-q", "SELECT 1"}, err: "have the same table name [x]"},
		"wrong type":       {args: []string{"x.csv", "--column", "id=DECIMAL(3", "-q", "SELECT * FROM x"}, err: "DECIMAL"},
		"wrong flag":       {args: []string{"x.csv", "--header", "perhaps", "-q", "SELECT * FROM x"}, err: "use yes, no or auto"},
		"empty query":      {args: []string{"x.csv", "-q", " "}, err: "is empty"},
		"two scripts":      {args: []string{"report.sql", "other.sql"}, err: "Only one file of statements"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, err := inProcess(t, tc.in, append([]string{"sql", "--format", "tsv"}, tc.args...)...)
			if tc.err != "" {
				if err != nil {
					errs += err.Error()
				}
				if err == nil || !strings.Contains(errs, tc.err) {
					t.Errorf("%v, %q, want %q", err, errs, tc.err)
				}
				return
			}
			if err != nil || out != tc.out && !(!strings.HasSuffix(tc.out, "\n") && strings.Contains(out, tc.out)) {
				t.Errorf("%v\n%q, want\n%q\n%s", err, out, tc.out, errs)
			}
		})
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v are left behind, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "henge-data")); err == nil {
		t.Error("there is a data directory")
	}
}

// A file that changes between two statements is read anew.
func TestFilesThatChange(t *testing.T) {
	dir := files(t, map[string]string{"a.csv": "n\n1\n"})
	t.Chdir(dir)
	l := &localOptions{header: "auto", onMisfit: misfitFail}
	var errs strings.Builder
	run, err := l.open(nil, strings.NewReader(""), &errs, clock.System())
	if err != nil {
		t.Fatal(err)
	}
	defer run.close() //nolint:errcheck // checked elsewhere
	for text, want := range map[string]string{"n\nx\n": "x", "n\n2\n": "2", "n\n3.5\n": "3.5"} {
		if err := os.WriteFile("a.csv", []byte(text+strings.Repeat("\n", len(want))), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		s := &session{client: run.client, local: run.tables, format: "tsv", out: &out, err: &errs, clock: clock.System()}
		if err := s.runAll(t.Context(), "", "SELECT n FROM 'a.csv'"); err != nil || out.String() != "n\n"+want+"\n" {
			t.Errorf("%v, %q, want %q; %s", err, out.String(), want, errs.String())
		}
	}
}

// A command that loads a file wants a server; one that writes the answer of a query over files does
// not.
func TestWhatReadsFiles(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT 1": false, "SELECT * FROM 'a'": true, "SELECT 'FROM x.csv' FROM t": false,
		"SELECT 1;\nSELECT 2 FROM t JOIN 'b.json' ON TRUE": true,
		`\copy t FROM 'a.csv'`:                             false, `\copy t TO 'a.csv'`: false, `\copy (SELECT * FROM 'a.csv') TO 'b.csv'`: true,
		"SELECT 1 FROM t;\n" + `\copy (SELECT * FROM t) TO 'b.csv'`: false,
		`\d 'a.csv'`: false, "SELECT FROM 'a.csv'": true, "SELECT FROM 'a'": false,
		"INSERT INTO t SELECT * FROM 'a.csv' PARTITIONED BY ALL": true, "EXPLAIN PLAN FOR SELECT * FROM 'a.csv'": true,
		"SELECT TRIM('x' FROM 'a.csv')": false, "": false,
	} {
		if readsFiles(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// URLs are read like files where the user wants it.
func TestFilesOfURLs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/days.csv" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "days.csv", time.Time{}, strings.NewReader("day,n\nmon,1\ntue,2\n"))
	}))
	defer server.Close()
	for name, tc := range map[string]struct {
		args     []string
		out, err string
	}{
		"allowed":     {[]string{"--allow-urls", "-q", "SELECT SUM(n) AS n FROM '" + server.URL + "/days.csv'"}, "n\n3\n", ""},
		"by name":     {[]string{"--allow-urls", server.URL + "/days.csv", "-q", "SELECT MAX(day) AS d FROM days"}, "d\ntue\n", ""},
		"not allowed": {[]string{server.URL + "/days.csv", "-q", "SELECT * FROM days"}, "", "--allow-urls"},
		"not there":   {[]string{"--allow-urls", "-q", "SELECT * FROM '" + server.URL + "/none.csv'"}, "", "404"},
	} {
		out, errs, err := inProcess(t, "", append([]string{"sql", "--format", "tsv"}, tc.args...)...)
		if out != tc.out || (err == nil) != (tc.err == "") || !strings.Contains(errs, tc.err) {
			t.Errorf("%s: %v, %q, %s", name, err, out, errs)
		}
	}
}
