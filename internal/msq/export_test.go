package msq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// exportTo is an export of n to a folder below the bench's base directory for exports.
func (b *bench) exportTo(n plan.Node, folder, format string) *plan.Export {
	b.t.Helper()
	base := filepath.Join(filepath.Dir(b.temp), "out")
	b.deps.Exports = &export.Destinations{BaseDir: base}
	text, err := json.Marshal(map[string]string{"type": "local", "exportPath": filepath.Join(base, folder)})
	if err != nil {
		b.t.Fatal(err)
	}
	return &plan.Export{Input: n, Destination: text, Format: format}
}

// exported returns the files of a folder of exports by name.
func (b *bench) exported(folder string) map[string]string {
	b.t.Helper()
	dir := filepath.Join(filepath.Dir(b.temp), "out", folder)
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = strings.ReplaceAll(string(text), dir, "DIR")
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestExportWritesFilesAndAManifest(t *testing.T) {
	b := newBench(t)
	rows := project(external(twelve(), "t time k string n long"), "when=t", "k", "n")
	x := b.exportTo(&plan.Sort{Input: rows, Keys: []plan.SortKey{{Column: 2, Desc: true}}, Limit: -1}, "a/b", "CSV")
	_, out, err := b.run(x, map[string]any{"rowsPerPage": 5, "maxNumTasks": 3})
	if err != nil {
		t.Fatal(err)
	}
	line := func(n int) string { return fmt.Sprintf("2020-01-%02dT00:00:00.000Z,k%d,%d\n", 1+n%3, n%4, n) }
	page := func(from, to int) string {
		text := "when,k,n\n"
		for n := from; n >= to; n-- {
			text += line(n)
		}
		return text
	}
	want := map[string]string{
		"query-1-worker0-partition0.csv": page(11, 7), "query-1-worker1-partition1.csv": page(6, 2), "query-1-worker0-partition2.csv": page(1, 0),
		manifestName: "file:DIR/query-1-worker0-partition0.csv\nfile:DIR/query-1-worker1-partition1.csv\nfile:DIR/query-1-worker0-partition2.csv\n",
	}
	if d := cmp.Diff(want, b.exported("a/b")); d != "" {
		t.Error(d)
	}
	if out.Rows != 12 || len(out.Files) != 3 {
		t.Errorf("%+v", out)
	}
	if left := b.leftovers(); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestExportFormats(t *testing.T) {
	data := `{"k":"a,b","n":1}` + "\n" + `{"n":2}`
	for format, want := range map[string]string{
		"csv":        "k,n\n\"a,b\",1\n,2\n",
		"JSON":       `{"k":"a,b","n":1}` + "\n" + `{"k":null,"n":2}` + "\n",
		"arrayLines": `["a,b",1]` + "\n" + `[null,2]` + "\n",
		"array":      `[["a,b",1],[null,2]]` + "\n",
	} {
		b := newBench(t)
		if _, _, err := b.run(b.exportTo(external(data, "k string n long"), "x", format), nil); err != nil {
			t.Fatal(err)
		}
		for name, got := range b.exported("x") {
			if name != manifestName && got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	b := newBench(t)
	if _, _, err := b.run(b.exportTo(&plan.Limit{Input: external(data, "k string n long")}, "none", "csv"), nil); err != nil {
		t.Fatal(err)
	}
	if got := b.exported("none")["query-1-worker0-partition0.csv"]; got != "k,n\n" {
		t.Errorf("an export of no rows is a file with its header, not %q", got)
	}
}

// What is there stays, and a failed export leaves nothing behind.
func TestExportLeavesDestinationsClean(t *testing.T) {
	b := newBench(t)
	rows := external(twelve(), "t time k string n long")
	x := b.exportTo(rows, "used", "csv")
	folder := filepath.Join(b.deps.Exports.BaseDir, "used")
	if err := os.MkdirAll(filepath.Join(folder, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "deep", "mine"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.run(x, nil)
	if err == nil || !strings.Contains(err.Error(), "Found files at provided export destination[file:"+folder+"]") {
		t.Errorf("%v", err)
	}
	if got := b.exported("used"); len(got) != 1 {
		t.Errorf("%v", got)
	}

	// A file of an attempt that was cut off is in nobody's way.
	x = b.exportTo(rows, "again", "csv")
	folder = filepath.Join(b.deps.Exports.BaseDir, "again")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "query-1-worker0-partition0.csv"), []byte("half a l"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.run(x, nil); err != nil {
		t.Error(err)
	}
	if got := b.exported("again"); len(got) != 2 || len(strings.Split(got["query-1-worker0-partition0.csv"], "\n")) != 14 {
		t.Errorf("%v", got)
	}

	// The last of the files does not fit on the disk.
	long := strings.Repeat("x", 100_000)
	x = b.exportTo(external(twelve()+`{"k":"`+long+`"}`, "t time k string n long"), "full", "csv")
	b.deps.Disk, b.deps.KeepBytes = budget.DiskRoot(150_000), -1
	if _, _, err = b.run(x, map[string]any{"rowsPerPage": 1}); err == nil {
		t.Fatal("a full disk was not noticed")
	}
	if got := b.exported("full"); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	if left := b.leftovers(); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestExportRefusals(t *testing.T) {
	b := newBench(t)
	rows := external(twelve(), "k string")
	for want, x := range map[string]*plan.Export{
		"Export format [xls] is unknown": b.exportTo(rows, "x", "xls"),
		"must be within the path":        {Input: rows, Destination: json.RawMessage(`{"type":"local","exportPath":"/elsewhere"}`), Format: "csv"},
		"allowedExportPaths` must be":    {Input: rows, Destination: json.RawMessage(`{"type":"s3","bucket":"b","prefix":"p"}`), Format: "csv"},
	} {
		if _, err := New(Job{ID: "query-1", Plan: x}, b.deps); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Pages have exactly the size that they shall have, whatever runs and frames the rows are in, and
// rows keep their order.
func TestPagesAreExact(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		order := orderOf([]plan.SortKey{{Column: 1, NullsFirst: true}, {Column: 0}})
		var outputs []*output
		var want []int64
		number := int64(0)
		for range 1 + random.IntN(3) {
			w, err := newSortedWriter(order, 1+random.IntN(9), 4000, holdCopy, t.TempDir(), "f", nil, nil, nil, nil, newCounters())
			if err != nil {
				t.Fatal(err)
			}
			for range random.IntN(12) {
				numbers, values := make([]int64, 1+random.IntN(20)), []int64{}
				for i := range numbers {
					numbers[i] = number
					number++
					values = append(values, random.Int64N(10))
					want = append(want, values[i]<<32|numbers[i])
				}
				if err := w.add(&vector.Batch{N: len(numbers), Cols: []*vector.Vector{vector.FromLongs(numbers), vector.FromLongs(values)}}); err != nil {
					t.Fatal(err)
				}
			}
			o, err := w.finish()
			if err != nil {
				t.Fatal(err)
			}
			defer o.close()
			outputs = append(outputs, o)
		}
		slices.Sort(want)
		size := 1 + random.Int64N(25)
		parts, err := pages(&order, outputs, size)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for i, p := range parts {
			before := len(got)
			r := newMergeReader(&order, outputs, p.lo, p.hi, func(*output, *frameRef, int) {})
			for {
				b, err := r.Next(context.Background())
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for row := range b.N {
					got = append(got, b.Cols[1].LongAt(row)<<32|b.Cols[0].LongAt(row))
				}
			}
			if n := int64(len(got) - before); n != p.rows || i+1 < len(parts) && n != size || n > size {
				t.Errorf("seed %d: page %d of %d has %d rows, says %d of at most %d", seed, i, len(parts), n, p.rows, size)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: other rows or another order", seed)
		}
	}
}

func TestExportDefinition(t *testing.T) {
	b := newBench(t)
	x := b.exportTo(project(external(twelve(), "t time k string n long"), "key=k", "n"), "x", "csv")
	c, _, err := b.run(x, map[string]any{"rowsPerPage": 7})
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	last := report.Stages[len(report.Stages)-1]
	var definition struct {
		Processor struct {
			Type, QueryID, ExportFormat string
			ExportStorageProvider       struct{ Type string }
			ColumnMappings              []struct{ QueryColumn, OutputColumn string }
		}
	}
	if err := json.Unmarshal(last.Definition, &definition); err != nil {
		t.Fatal(err)
	}
	p := definition.Processor
	if p.Type != "exportResults" || p.QueryID != "query-1" || p.ExportFormat != "csv" || p.ExportStorageProvider.Type != "local" || len(p.ColumnMappings) != 2 ||
		p.ColumnMappings[0].OutputColumn != "key" || last.Phase != "FINISHED" || last.Partitions != 2 {
		t.Errorf("%s %+v", last.Definition, last)
	}
	if c.job.DataSource() != "__query_export" {
		t.Error(c.job.DataSource())
	}
	text, err := report.Render(Dialect{})
	if err != nil || !bytes.Contains(text, []byte(`"input0":{"type":"channel","rows":[7,5]`)) {
		t.Errorf("%s %v", text, err)
	}
}
