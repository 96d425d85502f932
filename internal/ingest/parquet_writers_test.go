package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// TestParquetOfOtherWriters compares every value of files that pyarrow, DuckDB, Polars and
// ClickHouse write now, in all encodings, codecs and versions of pages, with what pyarrow says is
// in them. HENGE_PARQUET_SEED chooses the data.
func TestParquetOfOtherWriters(t *testing.T) {
	python := os.Getenv("HENGE_PYARROW_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import pyarrow.parquet").Run(); err != nil {
		t.Skip("no Python with pyarrow: HENGE_PYARROW_PYTHON can name one")
	}
	seed := os.Getenv("HENGE_PARQUET_SEED")
	if seed == "" {
		seed = strconv.Itoa(rand.IntN(1_000_000))
	}
	dir := t.TempDir()
	out, err := exec.Command(python, "testdata/parquet/make.py", dir, seed).CombinedOutput()
	t.Logf("HENGE_PARQUET_SEED=%s\n%s", seed, out)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) < 150 {
		t.Fatal(len(files), err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(path, ".jsonl")
		t.Run(filepath.Base(name), func(t *testing.T) { checkParquet(t, name+".parquet", path) })
	}
}

// checkParquet reads a file in every way: as objects, each column as JSON, and those of numbers and
// texts as such.
func checkParquet(t *testing.T, file, expected string) {
	t.Helper()
	kinds, want := expectedRows(t, expected)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{Source: &Inline{Data: string(data)}, Format: &Parquet{flat: &flattening{discover: true}}}
	r, err := table.Records(t.Context(), Split{Entity: inlineEntity{string(data)}, End: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := 0; ; i++ {
		rec, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) && i == len(want) {
			break
		}
		if err != nil {
			t.Fatalf("row %d of %d: %v", i, len(want), err)
		}
		if i == len(want) {
			t.Fatalf("more than %d rows", i)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(record.AppendJSON(nil, rec.Object), &got); err != nil {
			t.Fatal(err)
		}
		for _, c := range kinds {
			if v := want[i][c[0]]; !sameJSON(t, v, got[c[0]], c[1]) {
				t.Fatalf("row %d, column %s: %s, want %s", i, c[0], got[c[0]], v)
			}
		}
	}
	kindOf := map[string]string{}
	var asJSON, typed, doubles []Field
	for _, c := range kinds {
		kindOf[c[0]] = c[1]
		asJSON = append(asJSON, Field{Name: c[0], Type: vector.JSON})
		switch c[1] {
		case "long":
			typed = append(typed, Field{Name: c[0], Type: vector.Long})
			doubles = append(doubles, Field{Name: c[0], Type: vector.Double})
		case "double":
			typed = append(typed, Field{Name: c[0], Type: vector.Double})
		case "float":
			typed = append(typed, Field{Name: c[0], Type: vector.Float})
			doubles = append(doubles, Field{Name: c[0], Type: vector.Double})
		case "string":
			typed = append(typed, Field{Name: c[0], Type: vector.String})
		}
	}
	for _, fields := range [][]Field{asJSON, typed, doubles} {
		if len(fields) == 0 {
			continue
		}
		table.Fields = fields
		rows, _, err := readTable(t, table, Options{Decoders: 2}, 0)
		if err != nil || len(rows) != len(want) {
			t.Fatalf("%d rows, want %d: %v", len(rows), len(want), err)
		}
		for i, row := range rows {
			for k, f := range fields {
				if w := want[i][f.Name]; !sameCell(t, w, row[k], f.Type, kindOf[f.Name]) {
					t.Fatalf("row %d, column %s as %s: %v, want %s", i, f.Name, f.Type, row[k], w)
				}
			}
		}
	}
}

func expectedRows(t *testing.T, path string) (kinds [][2]string, rows []map[string]json.RawMessage) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var row map[string]json.RawMessage
		if kinds == nil {
			err = json.Unmarshal(lines.Bytes(), &kinds)
		} else if err = json.Unmarshal(lines.Bytes(), &row); err == nil {
			rows = append(rows, row)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return kinds, rows
}

// sameJSON compares values that are mostly written in the same way.
func sameJSON(t *testing.T, want, got json.RawMessage, kind string) bool {
	t.Helper()
	if bytes.Equal(want, got) {
		return true
	}
	if kind == "float" { // two texts of the same length may be one number
		a, err := strconv.ParseFloat(string(want), 32)
		b, err2 := strconv.ParseFloat(string(got), 32)
		return err == nil && err2 == nil && a == b
	}
	return canonicalJSON(t, want) == canonicalJSON(t, got)
}

// sameCell compares a value of a column with one of JSON.
func sameCell(t *testing.T, want json.RawMessage, got any, typ vector.Type, kind string) bool {
	t.Helper()
	if got == nil || string(want) == "null" {
		return got == nil && string(want) == "null"
	}
	text := string(want)
	if text[0] == '"' && typ != vector.JSON {
		if err := json.Unmarshal(want, &text); err != nil {
			t.Fatal(err)
		}
	}
	switch got := got.(type) {
	case int64:
		return text == strconv.FormatInt(got, 10)
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		if kind == "float" {
			f, err = strconv.ParseFloat(text, 32)
		}
		return err == nil && (f == got || f != f && got != got)
	case float32:
		f, err := strconv.ParseFloat(text, 32)
		return err == nil && (float32(f) == got || f != f && got != got)
	case string:
		if typ == vector.JSON {
			return sameJSON(t, want, json.RawMessage(got), kind)
		}
		return text == got
	}
	return false
}
