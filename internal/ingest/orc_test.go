package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// orcFiles calls f with the ORC files of a folder and the objects that make.py says are in them.
func orcFiles(t *testing.T, folder string, f func(t *testing.T, file []byte, want []string)) {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(folder, "rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(lines)) {
		want = append(want, canonicalJSON(t, []byte(line)))
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.orc"))
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".orc"), func(t *testing.T) {
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f(t, file, want)
		})
	}
}

// canonicalJSON writes JSON in one way: numbers as doubles unless they are whole.
func canonicalJSON(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var plain func(v any) any
	plain = func(v any) any {
		switch v := v.(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				return n
			}
			f, _ := v.Float64()
			return f
		case []any:
			for i := range v {
				v[i] = plain(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = plain(v[k])
			}
		}
		return v
	}
	out, err := json.Marshal(plain(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func checkORC(t *testing.T, file []byte, want []string) {
	t.Helper()
	table := &Table{Source: &Inline{Data: string(file)}, Format: &ORC{flat: &flattening{discover: true}}}
	r, err := table.Records(t.Context(), Split{Entity: inlineEntity{string(file)}, End: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var ids []any
	for i := 0; ; i++ {
		rec, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			if i != len(want) {
				t.Fatalf("[%d] rows, want [%d]", i, len(want))
			}
			break
		}
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if d := cmp.Diff(want[i], canonicalJSON(t, record.AppendJSON(nil, rec.Object))); d != "" {
			t.Fatalf("row %d: %s", i, d)
		}
		id, _ := rec.Object.Get("i64")
		ids = append(ids, id)
	}
	table.Fields = fields(t, "i64 long w string missing double")
	rows, _, err := readTable(t, table, Options{Decoders: 2}, 1<<10)
	if err != nil || len(rows) != len(ids) {
		t.Fatalf("[%d] rows by columns: %v", len(rows), err)
	}
	for i, row := range rows {
		if row[0] != ids[i] || row[2] != nil {
			t.Fatalf("row %d by columns: %v, want %v", i, row, ids[i])
		}
	}
}

func TestORCFiles(t *testing.T) { orcFiles(t, "testdata/orc", checkORC) }

// TestORCOfPyarrow reads larger files that pyarrow makes now, with several stripes.
func TestORCOfPyarrow(t *testing.T) {
	python := os.Getenv("HENGE_PYARROW_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import pyarrow.orc").Run(); err != nil {
		t.Skip("no Python with pyarrow: HENGE_PYARROW_PYTHON can name one")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "testdata/orc/make.py", dir, "5000", "7").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	orcFiles(t, dir, checkORC)
}

// TestDamagedORC cuts a file everywhere and changes bytes in it: it is refused by a fault or read,
// and never more.
func TestDamagedORC(t *testing.T) {
	file, err := os.ReadFile("testdata/orc/zlib.orc")
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(file); n += 97 {
		if err := readORC(t, file[:n]); err == nil || fault.Find(err) == nil {
			t.Fatalf("the first [%d] bytes: %v", n, err)
		}
	}
	for at := 0; at < len(file); at += 31 {
		changed := bytes.Clone(file)
		changed[at] ^= 0x55
		if err := readORC(t, changed); err != nil && fault.Find(err) == nil {
			t.Fatalf("byte [%d] changed: %v", at, err)
		}
	}
}

func readORC(t testing.TB, file []byte) error {
	t.Helper()
	table := &Table{Source: &Inline{}, Format: &ORC{flat: &flattening{discover: true}}, Fields: []Field{
		{Name: "i64", Type: vector.Long}, {Name: "s", Type: vector.String}, {Name: "o", Type: vector.JSON}, {Name: "l", Type: vector.ListOf(vector.Long)}, {Name: "at", Type: vector.Long}}}
	r, err := table.Open(t.Context(), Split{Entity: inlineEntity{string(file)}, End: -1}, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for rows := 0; rows < 10_000; {
		b, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		rows += b.N
	}
	return nil
}

func FuzzORC(f *testing.F) {
	for _, name := range []string{"zlib", "old", "plain"} {
		file, err := os.ReadFile("testdata/orc/" + name + ".orc")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := readORC(t, file); err != nil && fault.Find(err) == nil {
			t.Error(err)
		}
	})
}
