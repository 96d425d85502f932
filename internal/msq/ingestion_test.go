package msq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// eventLines returns n events of three days as JSON: each with a time of its own, a text of few
// values, one of many, one that is now and then a list, an array, and numbers; all but the time may
// be missing.
func eventLines(n int) []string {
	r := rand.New(rand.NewPCG(5, uint64(n)))
	lines := make([]string, n)
	for i := range lines {
		b := fmt.Appendf(nil, `{"t":%d`, day(1)+int64(i)*3*86400000/int64(n))
		for _, field := range []func() string{
			func() string { return fmt.Sprintf(`"k":"k%d"`, r.IntN(5)) },
			func() string { return fmt.Sprintf(`"id":"%08x"`, r.Uint32()) },
			func() string {
				return `"m":` + []string{`"x"`, `"y"`, `["x"]`, `["z","x"]`, `[]`, `[null]`, `"es\"c"`}[r.IntN(7)]
			},
			func() string { return fmt.Sprintf(`"a":[%d,%d]`, r.IntN(3), r.IntN(3)) },
			func() string { return fmt.Sprintf(`"p":%v`, float64(r.IntN(1000))/100) },
			func() string { return fmt.Sprintf(`"n":%d`, r.IntN(100)) },
		} {
			switch text := field(); r.IntN(8) {
			case 0:
			case 1:
				b = append(append(append(b, ','), text[:strings.IndexByte(text, ':')]...), ":null"...)
			default:
				b = append(append(b, ','), text...)
			}
		}
		lines[i] = string(append(b, '}'))
	}
	return lines
}

const eventColumns = "t time k string id string m string a longs p double n long"

// insertFiles is an INSERT of lines, spread over three files.
func insertFiles(t testing.TB, lines []string, cluster ...int) *plan.Write {
	t.Helper()
	dir := t.TempDir()
	third := len(lines)/3 + 1
	for i := 0; i*third < len(lines); i++ {
		part := lines[i*third : min((i+1)*third, len(lines))]
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), []byte(strings.Join(part, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := external("x", eventColumns)
	x.Source = json.RawMessage(fmt.Sprintf(`{"type":"local","baseDir":%q,"filter":"*.json"}`, dir))
	return &plan.Write{Input: project(x, "__time=t", "k", "id", "m", "a", "p", "n"), DataSource: "w", PartitionBy: days(t), Cluster: cluster}
}

// files returns the bytes of all segments, by interval and partition.
func (b *bench) files() map[string][]byte {
	b.t.Helper()
	out := map[string][]byte{}
	for _, s := range b.meta.used {
		key, err := b.store.Key(s.LoadSpec())
		if err != nil {
			b.t.Fatal(err)
		}
		path, err := b.store.Path(key)
		if err != nil {
			b.t.Fatal(err)
		}
		if out[fmt.Sprint(s.ID.Interval, s.ID.Partition)], err = os.ReadFile(path); err != nil {
			b.t.Fatal(err)
		}
	}
	return out
}

// TestSegmentsDoNotDependOnTheWay brings the same rows into segments on every way there is: in
// order and not, in one run and in many, by one worker and by three. The files are the same to the
// byte.
func TestSegmentsDoNotDependOnTheWay(t *testing.T) {
	lines := eventLines(3000)
	shuffled := slices.Clone(lines)
	rand.New(rand.NewPCG(6, 6)).Shuffle(len(lines), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, cluster := range [][]int{nil, {1}, {1, 6}} {
		var want map[string][]byte
		for _, input := range [][]string{lines, shuffled} {
			w := insertFiles(t, input, cluster...)
			for _, memory := range []struct{ sort, keep int64 }{{0, 0}, {0, -1}, {200_000, -1}, {200_000, 300_000}, {1, 0}, {1, -1}} {
				for _, tasks := range []int{2, 4} {
					b := newBench(t)
					b.deps.SortBytes, b.deps.KeepBytes = memory.sort, memory.keep
					_, out, err := b.run(w, map[string]any{"maxNumTasks": tasks})
					if err != nil {
						t.Fatal(err)
					}
					if out.Rows != int64(len(lines)) {
						t.Fatalf("[%d] rows", out.Rows)
					}
					got := b.files()
					if want == nil {
						want = got
					}
					for name := range want {
						if !bytes.Equal(want[name], got[name]) || len(want) != len(got) {
							t.Errorf("cluster %v, in order %v, sort buffer and memory %v, tasks [%d]: segment %s differs", cluster, &input[0] == &lines[0],
								memory, tasks, name)
						}
					}
				}
			}
		}
	}
}

// TestPartitionsHaveEveryRowOnce cuts days into several segments.
func TestPartitionsHaveEveryRowOnce(t *testing.T) {
	lines := eventLines(2000)
	rand.New(rand.NewPCG(7, 7)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	all := func(context map[string]any, sortBytes int64, cluster ...int) (rows []string, segments int) {
		b := newBench(t)
		b.deps.SortBytes = sortBytes
		_, out, err := b.run(insertFiles(t, lines, cluster...), context)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Segments {
			part := b.rows(s)
			if !slices.IsSorted(part) { // times of the same width come first
				t.Errorf("segment %s is not in order", s.ID)
			}
			rows = append(rows, part...)
		}
		slices.Sort(rows)
		return rows, len(out.Segments)
	}
	for _, cluster := range [][]int{nil, {1}, {4}} {
		want, n := all(nil, 0, cluster...)
		if n != 3 || len(want) != len(lines) {
			t.Fatalf("[%d] rows in [%d] segments", len(want), n)
		}
		for _, sortBytes := range []int64{0, 100_000} {
			for _, tasks := range []int{2, 4} {
				got, n := all(map[string]any{"rowsPerSegment": 150, "maxNumTasks": tasks}, sortBytes, cluster...)
				if n < 9 {
					t.Errorf("cluster %v: [%d] segments", cluster, n)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("cluster %v, sort buffer [%d], tasks [%d]: %s", cluster, sortBytes, tasks, d)
				}
			}
		}
	}
}

// TestMemoryDoesNotGrowWithTheInput doubles an input that is sorted in many runs: what the job
// reserves stays the same.
func TestMemoryDoesNotGrowWithTheInput(t *testing.T) {
	const sortBytes = 256 << 10
	var peaks []int64
	for _, rows := range []int{32_000, 64_000} {
		b := newBench(t)
		memory := budget.Root(1 << 40)
		b.deps.Memory, b.deps.SortBytes, b.deps.KeepBytes = memory, sortBytes, 2*sortBytes
		c, _, err := b.run(insertFiles(t, eventLines(rows), 1), map[string]any{"rowsPerSegment": 1000})
		if err != nil {
			t.Fatal(err)
		}
		if runs := c.stages[0].outputs()[0].runs; runs < 5 {
			t.Errorf("[%d] rows are sorted in [%d] runs", rows, runs)
		}
		if memory.Used() != 0 {
			t.Errorf("[%d] rows: [%d] bytes stay reserved", rows, memory.Used())
		}
		peaks = append(peaks, memory.Peak())
	}
	// Two buffers' worth of runs stay in memory, one is sorted while another is written, and each of
	// the two threads fills a segment of its own.
	if peaks[1] > 8*sortBytes || peaks[1] > peaks[0]*5/4 {
		t.Errorf("%v bytes were reserved with sort buffers of [%d]", peaks, sortBytes)
	}
}

// TestFailuresWhileRowsMoveLeaveNothing runs out of disk while runs are written, and loses the
// store while segments are pushed.
func TestFailuresWhileRowsMoveLeaveNothing(t *testing.T) {
	w := insertFiles(t, eventLines(3000), 1)
	t.Run("disk", func(t *testing.T) {
		b := newBench(t)
		b.deps.SortBytes, b.deps.KeepBytes, b.deps.Disk = 100_000, -1, budget.DiskRoot(150_000)
		_, _, err := b.run(w, nil)
		var f *Fault
		if !errors.As(err, &f) || !strings.HasPrefix(err.Error(), "NotEnoughTemporaryStorageFault: Not enough temporary storage space for intermediate files. Requires at least ") ||
			!strings.Contains(err.Error(), "(configured = 150,000 bytes)") || len(f.Fields) != 2 || b.deps.Disk.Used() != 0 {
			t.Errorf("got %v, [%d] bytes stay reserved", err, b.deps.Disk.Used())
		}
	})
	t.Run("memory", func(t *testing.T) {
		c, err := New(Job{ID: "query-1", Plan: w}, newBench(t).deps)
		if err != nil {
			t.Fatal(err)
		}
		f := c.withServer(toFault(t.Context(), fmt.Errorf("sorting: %w", budget.Root(200_000).Reserve(300_000))))
		if f.Code != "NotEnoughMemory" || len(f.Fields) != 7 || !strings.Contains(f.Message, "Minimum bytes[300,000] is needed for the current configuration. "+
			"(total bytes[200,000]; usable bytes[200,000]; input workers[1]; concurrent stages[1]; server worker capacity[1]; server processing threads[2])") {
			t.Errorf("got %v %v", f, f.Fields)
		}
	})
	t.Run("rows", func(t *testing.T) {
		b := newBench(t)
		b.deps.SortBytes = 100_000
		p := w.Input.(*plan.Project)
		bad := &plan.Project{Input: p, Names: p.Names}
		for i, c := range p.Columns() {
			bad.Exprs = append(bad.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type})
		}
		// A time that is null from some row on ends the job while others are sorted and written.
		lines := append(eventLines(3000), `{"k":"no time"}`)
		_, _, err := b.run(insertFiles(t, lines, 1), nil)
		var f *Fault
		if !errors.As(err, &f) || f.Code != "InsertTimeNull" {
			t.Errorf("got %v", err)
		}
		_ = fault.Find(err)
	})
}
