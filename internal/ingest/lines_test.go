package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineEnds reads the same rows whatever ends their lines.
func TestLineEnds(t *testing.T) {
	const lf = "\n"
	for _, c := range []struct{ name, format, data, columns string }{
		{"csv", `{"type":"csv","findColumnsFromHeader":true}`, "id,v\n1,a\n2,\"b\"\n\"3\",\"c,\"\"d\"\n4,e\n", "id long v string"},
		{"csv without quotes", `{"type":"csv","columns":["id","v"],"skipHeaderRows":1}`, "id,v\n1,a\n2,b\n3,c\n", "id long v string"},
		{"tsv", `{"type":"tsv","findColumnsFromHeader":true}`, "id\tv\n1\t\"a\n2\tb\n3\tc\n", "id long v string"},
		{"tsv of several bytes", `{"type":"tsv","delimiter":"::","columns":["id","v"]}`, "1::a\n2::b\n3::c\n", "id long v string"},
		{"regex", `{"type":"regex","pattern":"(\\d+) (.*)","columns":["id","v"]}`, "1 a\n2 b\n3 c\n", "id long v string"},
		{"lines", `{"type":"lines"}`, "one\ntwo\nthree\n", "line string"},
		{"json", `{"type":"json"}`, "{\"id\":1,\"v\":\"a\"}\n{\"id\":2, \"v\":\"\\u00e9\"}\nbad\n{\"id\":3}\n", "id long v string"},
	} {
		want, wantBad, err := read(t, c.format, c.data, c.columns, Options{})
		if err != nil || len(want) < 3 {
			t.Fatal(c.name, want, err)
		}
		var mixed strings.Builder
		for i, line := range strings.Split(strings.TrimSuffix(c.data, lf), lf) {
			mixed.WriteString(line + []string{"\r", "\n", "\r\n"}[i%3])
		}
		for kind, data := range map[string]string{
			"CR": strings.ReplaceAll(c.data, lf, "\r"), "CRLF": strings.ReplaceAll(c.data, lf, "\r\n"), "mixed": mixed.String(),
			"CR without the last": strings.TrimSuffix(strings.ReplaceAll(c.data, lf, "\r"), "\r"),
		} {
			for _, opts := range []Options{{}, {ChunkBytes: 4}, {ChunkBytes: 7, Decoders: 2}} {
				rows, bad, err := read(t, c.format, data, c.columns, opts)
				if d := cmp.Diff(want, rows); d != "" || err != nil {
					t.Errorf("%s, %s, chunks of %d: rows (-want +got):\n%s %v", c.name, kind, opts.ChunkBytes, d, err)
				}
				if d := cmp.Diff(wantBad, bad); d != "" {
					t.Errorf("%s, %s, chunks of %d: errors (-want +got):\n%s", c.name, kind, opts.ChunkBytes, d)
				}
			}
		}
	}
}

func TestReturnsWithinQuotesAreData(t *testing.T) {
	for _, opts := range []Options{{}, {ChunkBytes: 4}} {
		rows, bad, err := read(t, `{"type":"csv","findColumnsFromHeader":true}`, "a,b\r1,\"x\ry\"\r2,\"p\r\nq\"\r3,z\n4,\"u\nv\"\r\n", "a long b string", opts)
		want := [][]any{{int64(1), "x\ry"}, {int64(2), "p\r\nq"}, {int64(3), "z"}, {int64(4), "u\nv"}}
		if d := cmp.Diff(want, rows); d != "" || err != nil || bad != nil {
			t.Error(d, bad, err)
		}
	}
	rows, bad, err := read(t, `{"type":"csv","columns":["a","b"]}`, "1,a\r2,\"b\r3,c\r", "a long b string", Options{})
	if d := cmp.Diff([][]any{{int64(1), "a"}, {int64(3), "c"}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
	if d := cmp.Diff([]string{`Unable to parse row [2,"b] (Record: 2, Line: 2)`}, bad); d != "" {
		t.Error(d)
	}
}

// TestLineEndsInSplits cuts a file in many places: each row is read once, and errors have the lines
// of the file.
func TestLineEndsInSplits(t *testing.T) {
	var text strings.Builder
	for i := range 400 {
		end := []string{"\r", "\n", "\r\n"}[i%3]
		if i == 300 {
			fmt.Fprintf(&text, "bad%s", end)
			continue
		}
		fmt.Fprintf(&text, "%d%s", i, end)
	}
	path := filepath.Join(t.TempDir(), "x.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := ParseSource([]byte(`{"type":"local","files":["` + path + `"]}`))
	if err != nil {
		t.Fatal(err)
	}
	format, err := ParseFormat([]byte(`{"type":"regex","pattern":"(\\d+)","columns":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for size := int64(3); size < 40; size++ {
		rows, bad, err := readTable(t, &Table{Source: source, Format: format, Fields: fields(t, "n long")}, Options{ChunkBytes: 16}, size)
		if err != nil || len(rows) != 399 || rows[0][0] != int64(0) || rows[398][0] != int64(399) {
			t.Fatalf("splits of %d: [%d] rows, %v", size, len(rows), err)
		}
		if len(bad) != 1 || !strings.HasSuffix(bad[0], "Line: 301)") {
			t.Fatalf("splits of %d: %q", size, bad)
		}
	}
}

func TestDuplicateNames(t *testing.T) {
	const want = "Duplicate column entries found : [a, c]"
	for _, data := range []string{"a,a,b,c,c,c\n1,2,3,4,5,6\n", "a, a,b,c,\"c\"\r1,2,3,4,5\r"} {
		_, _, err := read(t, `{"type":"csv","findColumnsFromHeader":true}`, data, "a string b string", Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", data, err)
		}
	}
	for _, format := range []string{`{"type":"csv","columns":["a","a","c","c"]}`, `{"type":"tsv","columns":["a","c","a","c"]}`,
		`{"type":"regex","pattern":"(.)(.)(.)(.)","columns":["a","a","c","c"]}`} {
		if _, err := ParseFormat([]byte(format)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}
