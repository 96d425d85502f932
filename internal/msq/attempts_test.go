package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/faulty"
	"github.com/hengedb/henge/internal/vector"
)

// hurry makes the bench's clock one on which waiting takes no time.
func (b *bench) hurry() {
	fake := fakeclock.New(time.Unix(1_700_000_000, 0))
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		for fake.BlockUntil(ctx, 1) == nil {
			fake.Advance(time.Minute)
		}
	})
	b.t.Cleanup(func() { cancel(); wait.Wait() })
	b.deps.Clock = fake
}

// countersOf renders the counters of all stages without what depends on time.
func countersOf(t *testing.T, c *Controller) string {
	t.Helper()
	r, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, s := range r.Counters {
		for _, w := range s.Workers {
			var object map[string]any
			if err := json.Unmarshal(w, &object); err != nil {
				t.Fatal(err)
			}
			delete(object, "cpu")
			text, err := json.MarshalIndent(object, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%d: %s\n", s.Stage, text)
		}
	}
	return out.String()
}

// failing fails Puts of keys that begin with prefix, the first so many.
type failing struct {
	deepstore.Store
	prefix string
	mu     sync.Mutex
	left   int
	err    error
	late   bool // they fail after they have taken effect
}

func (f *failing) Put(ctx context.Context, key string, r io.Reader) error {
	f.mu.Lock()
	fail := strings.HasPrefix(key, f.prefix) && f.left > 0
	if fail {
		f.left--
	}
	f.mu.Unlock()
	if fail && !f.late {
		return f.err
	}
	err := f.Store.Put(ctx, key, r)
	if fail {
		return f.err
	}
	return err
}

// A worker that fails for a reason that passes does its work again, and nobody can tell from rows
// and counters.
func TestFaultTolerance(t *testing.T) {
	bad := twelve() + "no json\n"
	job := func(t *testing.T) *plan.Write {
		w := insert(t)
		w.Input = project(external(bad, "t time k string n long"), "__time=t", "k", "n")
		return w
	}
	context := map[string]any{"faultTolerance": true, "maxParseExceptions": 1}
	calm := newBench(t)
	c, _, err := calm.run(job(t), context)
	if err != nil {
		t.Fatal(err)
	}
	want := countersOf(t, c)
	if !strings.Contains(want, `"CannotParseExternalData": 1`) || !strings.Contains(want, `"durableFileCount": 1`) {
		t.Errorf("counters: %s", want)
	}
	for prefix, stage := range map[string]int{"shuffle/": 0, "segments/w/2020-01-01": 1} { // of segments one: what fails while another does fails with it
		b := newBench(t)
		b.hurry()
		b.deps.Store = &failing{Store: b.store, prefix: prefix, left: 2, err: fault.Unavailable("The store is away")}
		c, _, err := b.run(job(t), context)
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
			continue
		}
		if d := cmp.Diff(calm.published(), b.published()); d != "" {
			t.Errorf("%s: %s", prefix, d)
		}
		if d := cmp.Diff(want, countersOf(t, c)); d != "" {
			t.Errorf("%s: %s", prefix, d)
		}
		r, err := c.Report()
		if err != nil {
			t.Fatal(err)
		}
		var workers []string
		for _, w := range r.Workers[0] {
			workers = append(workers, w.ID+" "+string(w.State))
		}
		if d := cmp.Diff([]string{"query-1-worker0_0 FAILED", "query-1-worker0_1 FAILED", "query-1-worker0_2 SUCCESS"}, workers); d != "" {
			t.Errorf("stage %d: %s", stage, d)
		}
		if len(r.Warnings) != 1 || r.Stages[0].Output != "durableStorage" {
			t.Errorf("stage %d: warnings %v, output %s", stage, r.Warnings, r.Stages[0].Output)
		}
	}
}

func TestFaultToleranceHasAnEnd(t *testing.T) {
	unavailable := fault.Unavailable("The store is away")
	for name, x := range map[string]struct {
		err     error
		context map[string]any
		want    string
	}{
		"often": {unavailable, map[string]any{"faultTolerance": true}, "TooManyAttemptsForWorker: Worker[0] exceeded max relaunch count of 2 for task[query-1-worker0_2]. " +
			"Latest failure reason: DruidException: The store is away."},
		"unasked":   {unavailable, nil, "DruidException: The store is away"},
		"for good":  {fault.InvalidInput("The store does not take it"), map[string]any{"faultTolerance": true}, "UnknownError: The store does not take it"},
		"no reason": {errors.New("odd"), map[string]any{"faultTolerance": true}, "TooManyAttemptsForWorker: "},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.hurry()
			b.deps.Store = &failing{Store: b.store, prefix: "segments/", left: 1000, err: x.err}
			w := insert(t)
			all, err := chrono.ParseGranularity("ALL")
			if err != nil {
				t.Fatal(err)
			}
			w.PartitionBy = all
			if _, _, err := b.run(w, x.context); err == nil || !strings.HasPrefix(err.Error(), x.want) {
				t.Errorf("%v", err)
			}
			if list, err := b.store.List(t.Context(), "shuffle/", "", 10); err != nil || len(list) > 0 {
				t.Errorf("%v %v", list, err)
			}
		})
	}
	many := tooManyJobAttempts(100, 101, "w", "r")
	if want := "Total relaunch count across all workers 101 exceeded max relaunch limit 100 . Latest task[w] failure reason: r"; many.Message != want {
		t.Error(many.Message)
	}
}

// Answers of deep storage that get lost make no segment twice, and leave no file that nobody knows.
func TestLostAnswersMakeNothingTwice(t *testing.T) {
	b := newBench(t)
	b.hurry()
	b.deps.Threads = 1
	b.deps.Store = &failing{Store: b.store, left: 2, err: fault.Unavailable("The store is away"), late: true}
	if _, out, err := b.run(insert(t), map[string]any{"faultTolerance": true}); err != nil || out.Rows != 12 || len(b.meta.used) != 3 {
		t.Errorf("%v, %v", err, b.published())
	}
	if list, err := b.store.List(t.Context(), "shuffle/", "", 10); err != nil || len(list) > 0 {
		t.Errorf("%v %v", list, err)
	}
}

// Intermediate data in deep storage serves every kind of shuffle, and is gone afterwards.
func TestDurableShuffle(t *testing.T) {
	in := func() plan.Node { return external(twelve(), "t time k string n long") }
	count := plan.AggCall{Agg: spec("COUNT"), Filter: -1, Name: "c", Type: expr.Of(expr.BigInt)}
	for name, n := range map[string]plan.Node{
		"hash": &plan.Aggregate{Input: in(), Keys: []int{1}, Aggs: []plan.AggCall{count}},
		"sort": &plan.Sort{Input: in(), Keys: []plan.SortKey{{Column: 2, Desc: true}}, Limit: 4},
		"join": &plan.Aggregate{Input: &plan.Join{Kind: plan.Inner, Left: in(), Right: in(), Keys: []plan.EquiKey{{Left: 1, Right: 1}}}, Aggs: []plan.AggCall{count}},
	} {
		b := newBench(t)
		store := faulty.New(b.store, 1, faulty.Plan{})
		b.deps.Store = store
		_, out, err := b.run(n, map[string]any{"durableShuffleStorage": true, "maxNumTasks": 3, "sqlJoinAlgorithm": "sortMerge"})
		if err != nil || out.Rows == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := b.store.List(t.Context(), "shuffle/", "", 10); err != nil || len(list) > 0 || store.Calls(faulty.Read) == 0 {
			t.Errorf("%s: %v %v, %d reads", name, list, err, store.Calls(faulty.Read))
		}
	}
	b := newBench(t)
	b.deps.Durable = false
	if _, _, err := b.run(insert(t), map[string]any{"durableShuffleStorage": true}); err == nil || !strings.HasPrefix(err.Error(), "DurableStorageConfiguration: ") {
		t.Errorf("%v", err)
	}
}

// Stages that do not wait for each other run at once when the statement allows it.
func TestConcurrentStages(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		both.Done()
		both.Wait() // for the other stage's request
		_, _ = w.Write([]byte(twelve()))
	}))
	defer server.Close()
	b := newBench(t)
	b.deps.Access = &ingest.Access{}
	side := func(name string) plan.Node {
		x := external(twelve(), "t time k string n long")
		x.Source = json.RawMessage(`{"type":"http","uris":["` + server.URL + `/` + name + `"]}`)
		return x
	}
	count := plan.AggCall{Agg: spec("COUNT"), Filter: -1, Name: "c", Type: expr.Of(expr.BigInt)}
	join := &plan.Join{Kind: plan.Inner, Left: side("a"), Right: side("b"), Keys: []plan.EquiKey{{Left: 2, Right: 2}}}
	_, out, err := b.run(&plan.Aggregate{Input: join, Aggs: []plan.AggCall{count}},
		map[string]any{"sqlJoinAlgorithm": "sortMerge", "maxConcurrentStages": 2, "maxNumTasks": 3, "targetPartitionsPerWorker": 3})
	if err != nil {
		t.Fatal(err)
	}
	err = out.Results.ReadAll(t.Context(), func(rows *vector.Batch) error {
		if rows.Cols[0].LongAt(0) != 12 {
			t.Errorf("%d rows are joined", rows.Cols[0].LongAt(0))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
