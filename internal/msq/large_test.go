package msq

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/plan"
)

// channelOf returns a counter of the workers of a stage, by worker.
func channelOf(t *testing.T, c *Controller, stage int, channel, field string) []int64 {
	t.Helper()
	r, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for _, s := range r.Counters {
		if s.Stage != stage {
			continue
		}
		for _, text := range s.Workers {
			var w map[string]map[string]json.RawMessage
			if err := json.Unmarshal(text, &w); err != nil {
				t.Fatal(err)
			}
			var list []int64
			if err := json.Unmarshal(w[channel][field], &list); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			sum := int64(0)
			for _, n := range list {
				sum += n
			}
			out = append(out, sum)
		}
	}
	return out
}

func localFiles(t *testing.T, dir string) *plan.External {
	t.Helper()
	x := external("x", "t time k string n long")
	source, err := json.Marshal(map[string]string{"type": "local", "baseDir": dir, "filter": "*.json"})
	if err != nil {
		t.Fatal(err)
	}
	x.Source = source
	return x
}

// One large file is divided between the workers, which each read some of it, and every row once.
func TestOneLargeFileIsReadByAllWorkers(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "large.json"))
	if err != nil {
		t.Fatal(err)
	}
	const rows = 4200
	w, pad := bufio.NewWriter(f), strings.Repeat("x", 1<<14)
	for i := range rows {
		fmt.Fprintf(w, "{\"t\":%d,\"k\":\"k\",\"n\":%d,\"pad\":\"%s\"}\n", day(1), i, pad)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	c, out, err := b.run(&plan.Write{Input: project(localFiles(t, dir), "__time=t", "n"), DataSource: "w", PartitionBy: days(t)}, map[string]any{"maxNumTasks": 3})
	if err != nil || out.Rows != rows {
		t.Fatal(out, err)
	}
	read := channelOf(t, c, 0, "input0", "rows")
	if len(read) != 2 || read[0] == 0 || read[1] == 0 || read[0]+read[1] != rows {
		t.Errorf("rows by worker: %v", read)
	}
}

// Ten thousand files are ten thousand rows, and as many files in the report.
func TestTenThousandFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 10_000 {
		if i < 100 {
			if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%02d", i)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Appendf(nil, `{"t":%d,"k":"k%d","n":1}`, day(1), i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d", i%100), fmt.Sprintf("%d.json", i)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t)
	w := &plan.Write{Input: project(localFiles(t, dir), "__time=t", "k", "n"), DataSource: "w", PartitionBy: days(t)}
	c, out, err := b.run(w, map[string]any{"maxNumTasks": 3})
	if err != nil || out.Rows != 10_000 {
		t.Fatal(out, err)
	}
	if files := channelOf(t, c, 0, "input0", "files"); len(files) != 2 || files[0]+files[1] != 10_000 || files[0] < 4_900 || files[1] < 4_900 {
		t.Errorf("files by worker: %v", files)
	}
	if _, _, err := newBench(t).run(w, map[string]any{"maxInputFilesPerWorker": 4_999, "maxNumTasks": 3}); err == nil || !strings.HasPrefix(err.Error(), "TooManyInputFiles: ") {
		t.Errorf("%v", err)
	}
}
