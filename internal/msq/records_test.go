package msq

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// groups is a REPLACE of two stages and the segments.
func (b *bench) groups(x *plan.External) *plan.Write {
	in := project(x, "__time=t", "k", "n")
	sum := plan.AggCall{Agg: agg.Spec{Name: "SUM", Args: []vector.Type{vector.Long}}, Args: []int{2}, Filter: -1, Name: "n", Type: expr.Of(expr.BigInt)}
	return &plan.Write{Input: &plan.Aggregate{Input: in, Keys: []int{0, 1}, Aggs: []plan.AggCall{sum}}, DataSource: "w", PartitionBy: days(b.t), Replace: true, ReplaceAll: true}
}

// rowsOf are the rows of all segments of a bench.
func (b *bench) allRows() []string {
	var out []string
	for _, s := range b.meta.used {
		if !s.IsTombstone() {
			out = append(out, b.rows(s)...)
		}
	}
	slices.Sort(out)
	return out
}

// runAs is a run of the task; at a step it ends as with its process, but for what is freed.
func (b *bench) runAs(run int64, n plan.Node, context_ map[string]any, step string) (*Controller, error) {
	b.t.Helper()
	ctx, cancel := context.WithCancelCause(b.t.Context())
	defer cancel(nil)
	deps := b.deps
	deps.Run, deps.Current = run, func(context.Context) error { return nil }
	deps.FaultPoint = func(at string) error {
		if at == step {
			cancel(ErrShutdown)
			return ErrShutdown
		}
		return nil
	}
	c, err := New(Job{ID: "query-1", Plan: n, Context: context_}, deps)
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = c.Run(ctx)
	return c, err
}

func TestTheNextRunOfATaskTakesUpWhatIsDone(t *testing.T) {
	files := []string{twelve(), twelve(), twelve()}
	alone := newBench(t)
	if _, _, err := alone.run(alone.groups(alone.filesOf(files...)), nil); err != nil {
		t.Fatal(err)
	}
	want := alone.allRows()
	durable := map[string]any{"maxNumTasks": 4, "durableShuffleStorage": true}
	for name, o := range map[string]struct {
		context map[string]any
		helped  int
		step    string
		parts   int64 // that the second run has others do
		whole   bool  // the second run reads no file
	}{
		"durable, scanned":               {durable, 0, "stage-0", 0, true},
		"durable, grouped":               {durable, 0, "stage-1", 0, true},
		"durable, built":                 {durable, 0, "segments", 0, true},
		"durable, scanned elsewhere":     {durable, 2, "stage-0", 4, true},
		"durable, grouped elsewhere":     {durable, 2, "stage-1", 2, true},
		"durable, built elsewhere":       {durable, 2, "segments", 0, true},
		"scanned elsewhere":              {map[string]any{"maxNumTasks": 4}, 2, "stage-0", 4, false},
		"nothing is there of a lone one": {map[string]any{"maxNumTasks": 4}, 0, "stage-0", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := &testSession{}
			if o.helped > 0 {
				h = b.helped(o.helped)
			}
			x := b.filesOf(files...)
			if _, err := b.runAs(1, b.groups(x), maps.Clone(o.context), o.step); !errors.Is(err, ErrShutdown) && !strings.Contains(err.Error(), "shutdown") {
				t.Fatal(err)
			}
			if len(b.meta.used) > 0 {
				t.Fatal("the first run has published")
			}
			if o.whole {
				for i := range files {
					if err := os.Remove(filepath.Join(filepath.Dir(b.temp), "in"+string(rune('0'+i))+".json")); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := h.parts.Load()
			c, err := b.runAs(2, b.groups(x), maps.Clone(o.context), "")
			if err != nil {
				t.Fatal(err)
			}
			if got := h.parts.Load() - before; got != o.parts {
				t.Errorf("[%d] parts were done elsewhere by the second run", got)
			}
			if d := cmp.Diff(want, b.allRows()); d != "" {
				t.Error(d)
			}
			if left := b.leftovers(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			for _, prefix := range []string{"stages/", "shuffle/"} {
				if list, err := b.store.List(t.Context(), prefix, "", 10); err != nil || len(list) > 0 {
					t.Errorf("left behind: %v %v", list, err)
				}
			}
			read := int64(0)
			for _, count := range c.stages[0].mu.counters {
				for _, n := range count.state().Channels["input0"].Rows {
					read += n
				}
			}
			if read != 36 {
				t.Errorf("the report tells of [%d] rows", read)
			}
		})
	}
}

// A process that is lost with what it wrote costs that, and not what others have.
func TestOnlyWhatIsLostIsDoneAgain(t *testing.T) {
	b := newBench(t)
	h := b.helped(3)
	b.deps.FaultPoint = func(step string) error {
		if step == "stage-0" && len(h.peers) == 3 {
			h.peers = h.peers[1:]
		}
		return nil
	}
	var scans atomic.Int64
	h.sent = func(text []byte) {
		var p Part
		if json.Unmarshal(text, &p) == nil && p.Stage == 0 {
			scans.Add(1)
		}
	}
	files := []string{twelve(), twelve(), twelve(), twelve()}
	_, out, err := b.run(b.insertOf(b.filesOf(files...)), map[string]any{"maxNumTasks": 5})
	if err != nil {
		t.Fatal(err)
	}
	alone := newBench(t)
	if _, _, err := alone.run(alone.insertOf(alone.filesOf(files...)), map[string]any{"maxNumTasks": 5}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(alone.allRows(), b.allRows()); d != "" || out.Rows != 48 {
		t.Errorf("[%d] rows: %s", out.Rows, d)
	}
	if scans.Load() != 4 { // one of the four workers is here
		t.Errorf("[%d] parts of the scan were done elsewhere, of which one was lost", scans.Load())
	}
}
