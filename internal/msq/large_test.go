package msq

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

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

// largeRow is a row of a large file of Parquet.
type largeRow struct {
	T   int64  `parquet:"t"`
	K   string `parquet:"k"`
	N   int64  `parquet:"n"`
	Pad string `parquet:"pad,plain"`
}

// One large file is divided between the workers, which each read some of it, and every row once, in
// the formats that can be divided.
func TestOneLargeFileIsReadByAllWorkers(t *testing.T) {
	const rows = 4200
	noise := rand.New(rand.NewChaCha8([32]byte{}))
	pad := func() string { // which does not pack
		b := make([]byte, 1<<13)
		for i := range b {
			b[i] = "0123456789abcdef"[noise.IntN(16)]
		}
		return string(b)
	}
	text := func(format string) func(*bufio.Writer) error {
		return func(w *bufio.Writer) error {
			for i := range rows {
				fmt.Fprintf(w, format, day(1), i, strings.Repeat(pad(), 2))
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		format  string
		write   func(*bufio.Writer) error
		workers int // that read
	}{
		"json": {`{"type":"json"}`, text("{\"t\":%d,\"k\":\"k\",\"n\":%d,\"pad\":\"%s\"}\n"), 2},
		"csv":  {`{"type":"csv","columns":["t","k","n","pad"]}`, text("%d,k,%d,%s\n"), 2},
		"parquet": {`{"type":"parquet"}`, func(w *bufio.Writer) error {
			p := parquet.NewGenericWriter[largeRow](w)
			for i := range rows {
				if _, err := p.Write([]largeRow{{day(1), "k", int64(i), pad()}}); err != nil {
					return err
				}
				if i%400 == 399 {
					if err := p.Flush(); err != nil {
						return err
					}
				}
			}
			return p.Close()
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(filepath.Join(dir, "large.json"))
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			if err := errors.Join(c.write(w), w.Flush(), f.Close()); err != nil {
				t.Fatal(err)
			}
			input := localFiles(t, dir)
			input.Format = json.RawMessage(c.format)
			b := newBench(t)
			job, out, err := b.run(&plan.Write{Input: project(input, "__time=t", "n"), DataSource: "w", PartitionBy: days(t)}, map[string]any{"maxNumTasks": 3})
			if err != nil || out.Rows != rows {
				t.Fatal(out, err)
			}
			read := channelOf(t, job, 0, "input0", "rows")
			sum := int64(0)
			for _, n := range read {
				sum += n
			}
			if len(read) != c.workers || slices.Contains(read, 0) || sum != rows {
				t.Errorf("rows by worker: %v", read)
			}
		})
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
