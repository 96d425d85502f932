package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oddOrigins are files as programs of offices, databases and scripts leave them.
func oddOrigins() []oddFile {
	csv := func(name, text, ask, want string) oddFile {
		return oddFile{name: name, file: "o.csv", text: text, ask: ask, want: want}
	}
	json := func(name, text, ask, want string) oddFile {
		return oddFile{name: name, file: "o.json", text: text, ask: ask, want: want}
	}
	refused := func(f oddFile, fails string) oddFile { f.fails = fails; return f }
	saying := func(f oddFile, says string) oddFile { f.says = says; return f }
	const first = `[["2024-02-01T00:00:00.000Z",1],["2024-02-13T00:00:00.000Z",2]]`
	days := func(name string, values ...string) oddFile {
		return csv("two digits of the year: "+name, "date,v\n"+values[0]+",1\n"+values[1]+",2\n", "__time, v", first)
	}
	return []oddFile{
		csv("Excel in Europe", "\ufeffDatum;Name;Betrag\r\n01.02.24;\"Müller; Söhne\";1.234,50\r\n15.03.24;\"Zeile 1\nZeile 2\";99,00\r\n",
			"__time, Name, Betrag",
			`[["2024-02-01T00:00:00.000Z","Müller; Söhne","1.234,50"],["2024-03-15T00:00:00.000Z","Zeile 1\nZeile 2","99,00"]]`),
		csv("Excel, which names the separator", "sep=;\r\nts;a\r\n2024-01-01;1,5\r\n2024-01-02;2,5\r\n", "a", `[["1,5"],["2,5"]]`),
		csv("Excel, which names the separator behind a mark", "\ufeff\"sep=|\"\r\nts|a\r\n2024-01-01|1.5\r\n", "a", `[[1.5]]`),
		{name: "a second file that names no separator", file: "a.csv", text: "sep=;\nts;a\n2024-01-01;1\n", others: map[string]string{
			"b.csv": "ts;a\n2024-01-02;2\n"}, fails: "names the separator"},
		saying(days("dots", "01.02.24", "13.02.24"), "two digits, which are read as 1946 to 2045"),
		days("slashes, day first", "01/02/24", "13/02/24"),
		days("slashes, month first", "2/1/24", "2/13/24"),
		days("dashes, year first", "24-02-01", "24-02-13"),
		days("names of months", "1-Feb-24", "13-FEB-24"),
		csv("two digits of the year: with the time", "date,v\n2/1/24 5:07 PM,1\n2/13/24 11:30 AM,2\n", "__time, v",
			`[["2024-02-01T17:07:00.000Z",1],["2024-02-13T11:30:00.000Z",2]]`),
		saying(csv("two digits of the year: which is a guess", "date,v\n01/02/03,1\n", "__time", `[["2003-01-02T00:00:00.000Z"]]`), "is a guess"),
		csv("names of months", "date,v\n\"Jan 5, 2024\",1\n\"Feb 13, 2024\",2\n", "__time",
			`[["2024-01-05T00:00:00.000Z"],["2024-02-13T00:00:00.000Z"]]`),
		csv("times without leading zeros", "date,v\n1/2/2024 5:07,1\n2/13/2024 15:30,2\n", "__time",
			`[["2024-01-02T05:07:00.000Z"],["2024-02-13T15:30:00.000Z"]]`),
		saying(csv("PostgreSQL's times", "at,v\n2024-01-01 00:00:00+00,1\n2024-01-02 10:00:00.123456+00,2\n", "__time, at",
			`[["2024-01-01T00:00:00.000Z","2024-01-01 00:00:00+00"],["2024-01-02T10:00:00.123Z","2024-01-02 10:00:00.123456+00"]]`),
			"more digits than milliseconds"),
		csv("PostgreSQL's NULL", dated(",", "\n", "v", "1", `\N`), "v", `[["1"],["\\N"]]`),
		refused(csv("quotes after backslashes", dated(",", "\n", "v", `"x\"y"`, "z"), "v", ""), "text behind a closing quote"),
		csv("quotes and blanks behind them", dated(",", "\n", "v,w", `"x" ,1`, "z,2"), "v, w", `[["x ",1],["z",2]]`),
		csv("NaN of scripts", dated(",", "\n", "v", "1.5", "nan", "-inf"), "v", `[["1.5"],["nan"],["-inf"]]`),
		csv("accountants' negatives", dated(",", "\n", "v", "(5)", "7"), "v", `[["(5)"],["7"]]`),
		csv("minus zero", dated(",", "\n", "v", "-0", "-0.0", "1"), "v", `[[0.0],[-0.0],[1.0]]`),
		csv("names that differ in case", dated(",", "\n", "a,A", "1,2"), `a, "A"`, `[[1,2]]`),
		csv("one column", "ts\n2024-01-01\n2024-01-02\n", "__time", `[["2024-01-01T00:00:00.000Z"],["2024-01-02T00:00:00.000Z"]]`),
		refused(csv("a comment before the names", "# made by x\nts,a\n2024-01-01,1\n", "", ""), "more fields than there are names"),
		refused(csv("a sum at the end", "ts,a\n2024-01-01,1\nTotal,3\n", "", ""), "No time column was found"),
		refused(csv("nothing but names", "ts,a\n", "", ""), "no rows"),
		refused(csv("Windows 1252", "ts,a\n2024-01-01,\x80\n", "", ""), "UTF-8"),
		refused(csv("a name in Latin 1", "ts,caf\xe9\n2024-01-01,1\n", "", ""), "UTF-8"),

		json("NaN of Python", "{\"ts\":\"2024-01-01\",\"a\":1.5}\n{\"ts\":\"2024-01-02\",\"a\":NaN}\n{\"ts\":\"2024-01-03\",\"a\":-Infinity}\n",
			"a",
			`[[1.5],["NaN"],["-Infinity"]]`),
		refused(json("NaN within an object", "{\"ts\":\"2024-01-01\",\"a\":{\"b\":NaN}}\n", "", ""), "NaN or infinite within an object"),
		refused(json("half a character", "{\"ts\":\"2024-01-01\",\"a\":\"\\ud83d\"}\n", "", ""), "half a character"),
		json("a backslash before what looks like half a character", "{\"ts\":\"2024-01-01\",\"a\":\"\\\\ud83d\"}\n", "a", `[["\\ud83d"]]`),
		json("a byte order mark", "\ufeff{\"ts\":\"2024-01-01\",\"a\":1}\n", "a", `[[1]]`),
		json("2^63 and -2^63", "{\"ts\":\"2024-01-01\",\"a\":9223372036854775808}\n{\"ts\":\"2024-01-02\",\"a\":-9223372036854775808}\n", "a",
			`[["9223372036854775808"],["-9223372036854775808"]]`),
		json("one after the other on a line", `{"ts":"2024-01-01","a":1}{"ts":"2024-01-02","a":2}`, "a", `[[1],[2]]`),
		json("every kind in one member", "{\"ts\":\"2024-01-01\",\"a\":1}\n"+
			"{\"ts\":\"2024-01-02\",\"a\":\"x\"}\n{\"ts\":\"2024-01-03\",\"a\":[1]}\n"+
			"{\"ts\":\"2024-01-04\",\"a\":{\"b\":1}}\n{\"ts\":\"2024-01-05\"}\n", "TO_JSON_STRING(a) AS t",
			`[["1"],["\"x\""],["[1]"],["{\"b\":1}"],[null]]`),
		refused(json("single quotes", "{'ts':'2024-01-01'}\n", "", ""), "a name in quotes is expected"),
		refused(json("a comma at the end", "{\"ts\":\"2024-01-01\",}\n", "", ""), "a name in quotes is expected"),
		refused(json("lists", "[\"2024-01-01\",1]\n", "", ""), "not a JSON object"),
		refused(json("a sequence of texts", "\x1e{\"ts\":\"2024-01-01\"}\n", "", ""), "RFC 7464"),
		refused(json("columns of pandas", `{"ts":{"0":1704067200000},"a":{"0":1}}`, "", ""), "No time column was found"),
	}
}

// TestIngestFilesOfWriters loads what pyarrow writes in the ways of pandas, Spark and itself.
func TestIngestFilesOfWriters(t *testing.T) {
	python := os.Getenv("HENGE_PYARROW_PYTHON")
	if python == "" {
		t.Skip("HENGE_PYARROW_PYTHON names no Python that has pyarrow; test/setup installs it")
	}
	script, err := filepath.Abs("testdata/odd_files.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), python, script, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := serve(t, t.TempDir())
	for i, f := range []oddFile{
		{file: "pandas.parquet", ask: `price, kind, flag, "__index_level_0__"`, want: `[[1.5,"a","true",0],["NaN","b",null,1]]`,
			says: "nanoseconds; they are kept in milliseconds"},
		{file: "spark", ask: "__time, n, amount, tags, TO_JSON_STRING(\"inner\") AS i",
			want: `[["2024-01-01T12:30:15.123Z",0,1.5,"[\"x\",\"y\"]","{\"a\":1,\"b\":[{\"c\":\"z\"}]}"],` +
				`["2024-01-02T12:30:15.123Z",1,1.5,"[\"x\",\"y\"]","{\"a\":1,\"b\":[{\"c\":\"z\"}]}"]]`},
		{file: "unsigned.parquet", ask: "u", want: `[["18446744073709551615"],["1"]]`, says: "loaded as text"},
		{file: "decimal.parquet", ask: "d", want: `[["12345678901234567890.12"],[null]]`, says: "loaded as text"},
		{file: "floats.parquet", ask: "f, h", want: `[["Infinity",1.5],["NaN",-2.0]]`},
		{file: "dates.parquet", ask: "\"day\"", want: `[[1709164800000],[-2208988800000]]`, says: "holds dates"},
		{file: "map.parquet", ask: "TO_JSON_STRING(m) AS t", want: `[["{\"k\":1}"],["{}"]]`},
		{file: "bytes.parquet", ask: "b", want: `[["AP8="],["YWI="]]`, says: "base 64"},
		{file: "nulls.parquet", ask: "e", want: `[[null],[null]]`},
		{file: "brotli.parquet", ask: "v", want: `[[1],[2]]`},
		{file: "v2.parquet", ask: "v", want: `[[1],[2]]`},
		{file: "empty.parquet", fails: "no rows"},
		{file: "untimed.parquet", fails: "No time column was found"},
		{file: "hive", ask: "v", want: `[[0.5],[1.0]]`, says: `Values of "month" in the names of folders`},
		{file: "plain.orc", ask: "n, s, l", want: `[[9223372036854775807,"ä","[1]"],[null,"b","[]"]]`},
		{file: "decimal.orc", ask: "d", want: `[[1.5],[null]]`},
		{file: "fine.orc", fails: `1 number of "d" has more digits than DOUBLE keeps`},
		{file: "stream.arrows", ask: "__time, v, s",
			want: `[["2024-01-01T00:00:00.000Z",9223372036854775807,"ä"],["2024-01-02T00:00:00.000Z",null,"b"]]`},
		{file: "unsigned.arrows", ask: "u", want: `[["18446744073709551615"],["1"]]`},
		{file: "file.feather", fails: "Feather"},
	} {
		t.Run(f.file, func(t *testing.T) {
			t.Parallel()
			loadOdd(t, p, &f, fmt.Sprintf("writer%d", i), filepath.Join(dir, f.file))
		})
	}
}

// loadOdd loads files and looks at what is said and what is there.
func loadOdd(t *testing.T, p *process, f *oddFile, table string, paths ...string) {
	t.Helper()
	r := ingested(t, p, table, append(paths, f.args...)...)
	if control.MatchString(r.stdout + r.stderr) {
		t.Errorf("control characters are printed: %q", control.FindString(r.stdout+r.stderr))
	}
	if f.fails != "" {
		if _, err := p.Query(t.Context(), "SELECT 1 FROM "+table); r.code == 0 || !strings.Contains(r.stderr, f.fails) || err == nil {
			t.Fatalf("status %d, loaded: %v, and %q is not said:\n%s%s", r.code, err == nil, f.fails, r.stdout, r.stderr)
		}
		return
	}
	if r.code != 0 || !strings.Contains(r.stderr, f.says) {
		t.Fatalf("status %d, %q wanted:\n%s%s", r.code, f.says, r.stdout, r.stderr)
	}
	rows, err := p.Query(t.Context(), "SELECT "+f.ask+" FROM "+table+" ORDER BY __time")
	if err != nil {
		t.Fatalf("%v\n%s%s", err, r.stdout, r.stderr)
	}
	if diff := cmp.Diff(compact(t, f.want), asJSON(t, rows, f.want)); diff != "" {
		t.Errorf("%s\n%s%s", diff, r.stdout, r.stderr)
	}
}
