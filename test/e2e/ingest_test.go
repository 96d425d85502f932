package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestIngestOddFiles loads files that tempt a loader to change values, and compares every value;
// what can't be loaded as it is must be refused with nothing loaded.
func TestIngestOddFiles(t *testing.T) {
	p := serve(t, t.TempDir())
	files := slices.Concat(oddNumbers(), oddDelimited(), oddJSON(), oddTimes(), oddKinds(t), oddOrigins())
	if len(files) < 100 {
		t.Fatalf("there are only %d files", len(files))
	}
	for i, f := range files {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			table := fmt.Sprintf("odd%d", i)
			dir := t.TempDir()
			paths := []string{filepath.Join(dir, f.file)}
			write(t, paths[0], f.text)
			for _, name := range slices.Sorted(mapKeys(f.others)) {
				paths = append(paths, filepath.Join(dir, name))
				write(t, paths[len(paths)-1], f.others[name])
			}
			loadOdd(t, p, &f, table, paths...)
		})
	}
}

// control are characters that a terminal must not get.
var control = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)

// ingested runs henge ingest.
func ingested(t *testing.T, p *process, table string, args ...string) result {
	t.Helper()
	return tool(t, "", append([]string{"ingest", "--into", table, "--server", p.Addresses["router"]}, args...)...)
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// asJSON writes rows as they are wanted: of many only their number and the last one.
func asJSON(t *testing.T, rows any, want string) string {
	t.Helper()
	text, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(want, "[") {
		return compact(t, string(text))
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		return "no rows"
	}
	return fmt.Sprintf("%d rows, the last %s", len(list), list[len(list)-1])
}

// compact writes JSON in one way, with the digits that its numbers have.
func compact(t *testing.T, text string) string {
	t.Helper()
	if !strings.HasPrefix(text, "[") {
		return text
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	out, err := json.Marshal(number(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// number makes fractions of numbers of Go, so that 1e5 and 100000.0 are one; whole numbers keep
// their digits.
func number(v any) any {
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			f, err := v.Float64()
			if err == nil {
				return f
			}
		}
	case []any:
		for i := range v {
			v[i] = number(v[i])
		}
	}
	return v
}

// TestIngestInputs loads from all that may stand for files.
func TestIngestInputs(t *testing.T) {
	p := serve(t, t.TempDir())
	dir := t.TempDir()
	at := []string{"--server", p.Addresses["router"]}
	for _, name := range []string{"a/x.csv", "a/b/y.csv", "a/_SUCCESS", "a/.hidden", "z.csv"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, "ts,f\n2024-01-01,"+filepath.Base(name)+"\n")
	}
	count := func(table string, want int, args ...string) {
		t.Helper()
		r := ingested(t, p, table, args...)
		if r.code != 0 {
			t.Fatalf("henge ingest %q: status %d\n%s%s", args, r.code, r.stdout, r.stderr)
		}
		rows, err := p.Query(t.Context(), "SELECT COUNT(*) FROM "+table)
		if err != nil || rows[0][0] != json.Number(fmt.Sprint(want)) {
			t.Errorf("henge ingest %q: %v rows, %v; want %d", args, rows, err, want)
		}
	}
	count("folder", 2, filepath.Join(dir, "a"))
	count("deep", 3, filepath.Join(dir, "**/*.csv"))
	count("shallow", 1, filepath.Join(dir, "*.csv"))
	count("either", 1, filepath.Join(dir, "a/{x,q}.csv"))
	count("twice", 2, filepath.Join(dir, "a"), filepath.Join(dir, "a/x.csv"))
	count("file", 1, "file://"+filepath.Join(dir, "z.csv"))
	r := tool(t, "ts,f\n2024-01-01,x\n2024-01-02,y\n", append([]string{"ingest", "-", "--into", "piped"}, at...)...)
	if rows, err := p.Query(t.Context(), "SELECT COUNT(*) FROM piped"); r.code != 0 || err != nil || rows[0][0] != json.Number("2") {
		t.Errorf("standard input: status %d, %v, %v\n%s%s", r.code, rows, err, r.stdout, r.stderr)
	}
	const slash = `Invalid value for field [into]: Value [a/b] cannot contain '/'.`
	r = tool(t, "ts,f\n", append([]string{"ingest", "-", "--into", `a/b`}, at...)...)
	if r.code == 0 || !strings.Contains(r.stderr, slash) {
		t.Errorf("a name that is none: %d %s", r.code, r.stderr)
	}
	if r := tool(t, "", append([]string{"ingest", "-", "--into", "nothing"}, at...)...); r.code == 0 || !strings.Contains(r.stderr, "nothing to load") {
		t.Errorf("empty standard input: status %d, %s", r.code, r.stderr)
	}
	if r := ingested(t, p, "none", filepath.Join(dir, "*.parquet")); r.code == 0 || !strings.Contains(r.stderr, "No file matches") {
		t.Errorf("a pattern without files: status %d, %s", r.code, r.stderr)
	}
}

// TestIngestHandsFilesOver loads from a server that may not read the files.
func TestIngestHandsFilesOver(t *testing.T) {
	dir := t.TempDir()
	allowed, err := json.Marshal([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join(dir, "a b.csv")
	write(t, csv, "ts,v\n2024-01-01,1\n2024-01-02,2.5\n")
	parquet := filepath.Join(dir, "p.parquet")
	write(t, parquet, written(t, writeParquet))
	for name, settings := range map[string][]string{
		"uploads":    {"--set", "service.ingest.http.allowPrivate=false"},
		"over HTTP":  {"--set", "service.ingestion.uploads.maxBytes=0", "--set", "service.ingest.http.allowPrivate=true"},
		"statements": {"--set", "service.ingestion.uploads.maxBytes=0", "--set", "service.ingest.http.allowPrivate=false"},
	} {
		p := serve(t, t.TempDir(), append(settings, "--set", "service.ingest.local.allowedPaths="+string(allowed))...)
		r := ingested(t, p, "v", csv)
		if rows, err := p.Query(t.Context(), "SELECT v FROM v ORDER BY __time"); r.code != 0 || err != nil || len(rows) != 2 || rows[1][0] != json.Number("2.5") {
			t.Errorf("%s: status %d, %v, %v\n%s%s", name, r.code, rows, err, r.stdout, r.stderr)
		}
		r = ingested(t, p, "w", parquet)
		if rows, err := p.Query(t.Context(), "SELECT id FROM w ORDER BY __time"); name != "statements" && (r.code != 0 || err != nil || len(rows) != 2) {
			t.Errorf("%s: status %d, %v, %v\n%s%s", name, r.code, rows, err, r.stdout, r.stderr)
		} else if name == "statements" && (r.code == 0 || !strings.Contains(r.stderr, "allowedPaths")) {
			t.Errorf("%s: status %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
		if kept := uploadsOf(t, p); kept != 0 {
			t.Errorf("%s: the server still has %d files", name, kept)
		}
		p.stop(t)
	}
}

// uploadsOf counts the files that a server keeps for loads.
func uploadsOf(t *testing.T, p *process) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Addresses["router"]+"/service/indexer/v1/uploads", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Uploads []any `json:"uploads"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return len(answer.Uploads)
}

// TestIngestTwice refuses files that are there already.
func TestIngestTwice(t *testing.T) {
	p := serve(t, t.TempDir())
	dir := t.TempDir()
	one, two := filepath.Join(dir, "1.csv"), filepath.Join(dir, "2.csv")
	write(t, one, "ts,v\n2024-01-01,1\n")
	write(t, two, "ts,v\n2024-01-02,2\n")
	step := func(want int, fails string, args ...string) {
		t.Helper()
		r := ingested(t, p, "t", args...)
		if (r.code != 0) != (fails != "") || !strings.Contains(r.stderr, fails) {
			t.Fatalf("henge ingest %q: status %d\n%s%s", args, r.code, r.stdout, r.stderr)
		}
		rows, err := p.Query(t.Context(), "SELECT COUNT(*) FROM t")
		if err != nil || rows[0][0] != json.Number(fmt.Sprint(want)) {
			t.Fatalf("henge ingest %q: %v rows, %v; want %d", args, rows, err, want)
		}
	}
	step(1, "", one)
	step(1, "--append adds", one)
	step(1, "1 of the 2 files", one, two)
	step(2, "", two)
	step(3, "", one, "--append")
	step(1, "", one, "--replace")
	step(2, "", two) // the REPLACE took it away
	write(t, one, "ts,v\n2024-01-01,1\n2024-01-01,1\n")
	step(4, "", one) // it is another one now
}
