package arrow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

func python(t *testing.T) string {
	name := os.Getenv("HENGE_PYARROW_PYTHON")
	if name == "" {
		name = "python3"
	}
	if err := exec.Command(name, "-c", "import pyarrow").Run(); err != nil {
		t.Skip("no Python with pyarrow: HENGE_PYARROW_PYTHON can name one")
	}
	return name
}

// shown is a value as testdata/pyarrow_streams.py writes it.
func shown(v any) any {
	switch x := v.(type) {
	case []byte:
		return fmt.Sprintf("0x%x", x)
	case Number:
		return "d" + string(x)
	case float32:
		return shown(float64(x))
	case float64:
		if math.IsNaN(x) {
			return "nan"
		}
		return "f" + strconv.FormatFloat(x, 'x', -1, 64)
	case int64:
		return json.Number(strconv.FormatInt(x, 10))
	case []any:
		out := []any{}
		for _, e := range x {
			out = append(out, shown(e))
		}
		return out
	case *Members:
		out := map[string]any{}
		for i, name := range x.Names {
			out[name] = shown(x.Values[i])
		}
		return out
	}
	return v
}

// rowsOf reads lines of JSON arrays.
func rowsOf(t *testing.T, text []byte) (out [][]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for d.More() {
		var row []any
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// floats makes hexadecimal numbers of both languages the same.
func floats(v any) any {
	switch x := v.(type) {
	case string:
		if n, err := strconv.ParseFloat(strings.TrimPrefix(x, "f"), 64); err == nil && strings.HasPrefix(x, "f") {
			return n
		}
	case []any:
		for i := range x {
			x[i] = floats(x[i])
		}
	}
	return v
}

func TestPyarrowReadsStreams(t *testing.T) {
	name := python(t)
	r := rand.New(rand.NewPCG(11, 11))
	for _, words := range []int{3, 100_000} {
		columns := testColumns()
		batches := []*vector.Batch{
			randomBatch(r, 10, words), randomBatch(r, 3000, words), randomBatch(r, 0, words), randomBatch(r, 500, words),
		}
		stream := write(t, columns, func(int) bool { return true }, batches...)
		_, want, err := read(stream)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(name, "testdata/pyarrow_streams.py", "read")
		cmd.Stdin = bytes.NewReader(stream)
		var problem bytes.Buffer
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, problem.String())
		}
		got := rowsOf(t, out)
		types := []any{}
		for _, pair := range got[0] {
			types = append(types, pair.([]any)[1])
		}
		if diff := cmp.Diff([]any{
			"int64", "double", "float", "bool", "timestamp[ms, tz=UTC]", "date32[day]", "dictionary<values=string, indices=int32, ordered=0>",
			"string", "binary", "list<item: int64>", "list<item: list<item: string>>",
		}, types); diff != "" {
			t.Error(diff)
		}
		var shownRows [][]any
		for _, row := range want {
			shownRows = append(shownRows, shown(row).([]any))
		}
		for _, list := range [][][]any{shownRows, got} {
			for _, row := range list {
				floats(row)
			}
		}
		if diff := cmp.Diff(shownRows, got[1:]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStreamsOfPyarrow(t *testing.T) {
	name, dir := python(t), t.TempDir()
	if out, err := exec.Command(name, "testdata/pyarrow_streams.py", "write", dir, "5").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*.arrows"))
	if err != nil || len(list) != 5 {
		t.Fatal(list, err)
	}
	for _, path := range list {
		stream, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(strings.TrimSuffix(path, ".arrows") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		want := rowsOf(t, text)
		_, rows, err := read(stream)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		var got [][]any
		for _, row := range rows {
			got = append(got, shown(row).([]any))
		}
		for _, list := range [][][]any{want, got} {
			for _, row := range list {
				floats(row)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", filepath.Base(path), diff)
		}
	}
}
