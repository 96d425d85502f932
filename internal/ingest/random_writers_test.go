package ingest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/ingest/record"
)

var (
	duration  = flag.Duration("duration", 0, "how long random files are made and read; by default those of four seeds are")
	firstSeed = flag.Uint64("first", 0, "the seed of the first random files")
)

// filesAtOnce is how many seeds one run of Python makes files of.
const filesAtOnce = 16

// TestRandomFilesOfOthers reads what fastavro, pyarrow and Python's json and csv write of random
// nested data, of which DuckDB reads the same. Parquet has a test of its own.
func TestRandomFilesOfOthers(t *testing.T) {
	python := os.Getenv("HENGE_PYARROW_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import pyarrow.orc, fastavro, duckdb").Run(); err != nil {
		t.Skip("no Python with pyarrow, fastavro and duckdb: HENGE_PYARROW_PYTHON can name one")
	}
	if *duration == 0 {
		filesOfSeeds(t, python, *firstSeed, 4)
		return
	}
	files, end := 0, time.Now().Add(*duration)
	for seed := *firstSeed; time.Now().Before(end); seed += filesAtOnce {
		files += filesOfSeeds(t, python, seed, filesAtOnce)
	}
	t.Logf("%d files of seeds from %d", files, *firstSeed)
}

// filesOfSeeds makes the files of seeds, compares them and returns how many there were.
func filesOfSeeds(t *testing.T, python string, from uint64, count int) int {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	args := []string{"testdata/writers/make.py", dir}
	for seed := range uint64(count) {
		args = append(args, fmt.Sprint(from+seed))
	}
	if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	header := func(format string) string { return `{"type":"` + format + `","findColumnsFromHeader":true}` }
	files := []struct{ file, format, want string }{
		{"rows.avro", `{"type":"avro_ocf"}`, "nested.want"},
		{"rows.orc", `{"type":"orc"}`, "orc.want"},
		{"rows.json", `{"type":"json"}`, "nested.want"},
		{"rows.csv", header("csv"), "csv.want"},
		{"rows.tsv", header("tsv"), "tsv.want"},
	}
	for _, seed := range args[2:] {
		for _, f := range files {
			t.Run(seed+"/"+f.file, func(t *testing.T) { compareFile(t, filepath.Join(dir, seed), f.file, f.format, f.want) })
		}
	}
	return count * len(files)
}

// compareFile reads a file as records and as columns and compares both with the lines of want.
func compareFile(t *testing.T, dir, file, format, want string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, want))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	objects := recordsOf(t, filepath.Join(dir, file), format)
	if len(objects) != len(lines) {
		t.Fatalf("[%d] records, want [%d]", len(objects), len(lines))
	}
	for i, o := range objects {
		if d := cmp.Diff(canonicalJSON(t, []byte(lines[i])), canonicalJSON(t, o)); d != "" {
			t.Fatalf("record %d: %s", i, d)
		}
	}
	columnsOf(t, filepath.Join(dir, file), format, lines)
}

func recordsOf(t *testing.T, path, format string) (out [][]byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFormat(json.RawMessage(format))
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{Source: &Inline{Data: string(data)}, Format: f}
	r, err := table.Records(t.Context(), Split{Entity: inlineEntity{string(data)}, End: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || rec.Object == nil {
			t.Fatalf("record %d: %v %s", len(out), err, rec.Reason)
		}
		out = append(out, record.AppendJSON(nil, rec.Object))
	}
}

// columnsOf reads every column as nested data, which keeps all that a value is.
func columnsOf(t *testing.T, path, format string, lines []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"f0", "f1", "f2", "f3"}
	rows, bad, err := read(t, format, string(data), strings.Join(names, " COMPLEX<json> ")+" COMPLEX<json>", Options{})
	if err != nil || len(bad) > 0 || len(rows) != len(lines) {
		t.Fatalf("[%d] rows, want [%d]: %v %v", len(rows), len(lines), bad, err)
	}
	for i, row := range rows {
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(lines[i]), &want); err != nil {
			t.Fatal(err)
		}
		for c, name := range names {
			text, _ := row[c].(string)
			if row[c] == nil {
				text = "null"
			}
			if d := cmp.Diff(canonicalJSON(t, want[name]), canonicalJSON(t, []byte(text))); d != "" {
				t.Fatalf("row %d, column [%s]: %s", i, name, d)
			}
		}
	}
}
