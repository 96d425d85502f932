package task

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
)

// memPool is workers in memory. Tests say when tasks end and workers are lost.
type memPool struct {
	mu      sync.Mutex
	changed chan struct{}
	workers []Worker
	runs    map[string]memRun // by task
	begun   []string          // "task run worker"
	refuse  bool
}

type memRun struct {
	process string
	run     int64
}

func newMemPool(workers ...Worker) *memPool {
	return &memPool{changed: make(chan struct{}), workers: workers, runs: map[string]memRun{}}
}

func (f *memPool) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *memPool) Workers() []Worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Worker(nil), f.workers...)
}

func (f *memPool) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *memPool) Begin(_ context.Context, process string, t *Task, run int64) error {
	if f.refuse {
		return fault.Unavailable("no")
	}
	f.change(func() {
		f.runs[t.ID] = memRun{process, run}
		f.begun = append(f.begun, fmt.Sprintf("%s %d %s", t.ID, run, process))
	})
	return nil
}

func (f *memPool) Await(ctx context.Context, process, id string, run int64) error {
	for {
		f.mu.Lock()
		r, ok := f.runs[id]
		changed := f.changed
		f.mu.Unlock()
		if !ok || r != (memRun{process, run}) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *memPool) End(_ context.Context, _, id string, _ int64, _ string) error {
	f.change(func() { delete(f.runs, id) })
	return nil
}

func (f *memPool) Enable(context.Context, string, bool) error { return nil }

// until waits until the pool has begun so many runs.
func (f *memPool) until(t *testing.T, runs int) []string {
	t.Helper()
	for {
		f.mu.Lock()
		changed, begun := f.changed, append([]string(nil), f.begun...)
		f.mu.Unlock()
		if len(begun) >= runs {
			return begun
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			t.Fatalf("only %v have begun", begun)
		}
	}
}

func workerOf(name string, capacity int) Worker {
	return Worker{Location: Location{Host: name, Port: 1}, Process: name, Capacity: capacity, Enabled: true}
}

// never is a kind that must not run in this process.
func never(t *testing.T) *scripted {
	return &scripted{run: func(_ context.Context, task *Task) error {
		t.Errorf("task [%s] runs in the Overlord's process", task.ID)
		return nil
	}}
}

func TestTasksRunOnWorkersAndEndAsTheirRecordsSay(t *testing.T) {
	store, pool := newMemStore(), newMemPool(workerOf("a", 1), workerOf("b", 1))
	kind := never(t)
	q := start(t, store, kind, Options{Workers: pool})
	for _, id := range []string{"one", "two", "three"} {
		submit(t, q, id)
	}
	pool.until(t, 2)
	if at, ok := q.RunsAt("one"); !ok || at.Host != "a" || q.Capacity() != 2 || q.Used() != 2 {
		t.Errorf("task one is at %v, %v; %d of %d slots are used", at, ok, q.Used(), q.Capacity())
	}
	end := func(id string, s Status) {
		s.Task = &Task{ID: id, Type: "t", DataSource: "ds"}
		_ = store.FinishTask(t.Context(), s) // never fails
		_ = pool.End(t.Context(), "", id, 0, "")
	}
	end("one", Status{State: Failed, Error: "it says why"})
	if s := wait(t, q, "one"); s.State != Failed || s.Error != "it says why" {
		t.Errorf("task one: %+v", s)
	}
	if begun := pool.until(t, 3); begun[2] != "three 1 a" {
		t.Errorf("begun: %v", begun)
	}
	end("two", Status{State: Succeeded})
	end("three", Status{State: Succeeded})
	if s := wait(t, q, "three"); s.State != Succeeded {
		t.Errorf("task three: %+v", s)
	}
}

func TestATaskOfALostWorkerRunsElsewhere(t *testing.T) {
	store, pool := newMemStore(), newMemPool(workerOf("a", 1))
	q := start(t, store, never(t), Options{Workers: pool})
	submit(t, q, "task")
	pool.until(t, 1)
	pool.change(func() {
		pool.workers = []Worker{workerOf("b", 1)}
		clear(pool.runs)
	})
	if diff := cmp.Diff([]string{"task 1 a", "task 2 b"}, pool.until(t, 2)); diff != "" {
		t.Error(diff)
	}
	if found, err := q.Stop(t.Context(), "task", "because"); !found || err != nil {
		t.Errorf("stopping: %v %v", found, err)
	}
	if s := wait(t, q, "task"); s.State != Failed || s.Error != "because" {
		t.Errorf("the stopped task: %+v", s)
	}
}

func TestATaskThatNoWorkerKeepsFails(t *testing.T) {
	pool := newMemPool(workerOf("a", 1))
	pool.refuse = true
	q := start(t, newMemStore(), never(t), Options{Workers: pool})
	submit(t, q, "task")
	if s := wait(t, q, "task"); s.State != Failed || s.Error != "Task [task] was lost with its worker [10] times" {
		t.Errorf("the task: %+v", s)
	}
}

func TestTheNextLeaderFollowsTheTasksOfWorkers(t *testing.T) {
	store, pool := newMemStore(), newMemPool(workerOf("a", 2))
	first := NewQueue(store, map[string]Kind{"t": never(t)}, Options{Workers: pool})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- first.Run(ctx) }()
	submit(t, first, "goes on")
	submit(t, first, "ends meanwhile")
	pool.until(t, 2)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	_ = pool.End(t.Context(), "", "ends meanwhile", 0, "") // without a record: it is lost

	second := start(t, store, never(t), Options{Workers: pool})
	if begun := pool.until(t, 3); begun[2] != "ends meanwhile 2 a" {
		t.Errorf("begun: %v", begun)
	}
	if at, ok := second.RunsAt("goes on"); !ok || at.Host != "a" {
		t.Errorf("the other is at %v, %v", at, ok)
	}
	// The first one leads again, having forgotten nothing and remembering nothing.
	if len(first.Active()) != 0 {
		t.Errorf("the first still has %v", first.Active())
	}
}

func TestWithoutWorkersTasksRunHere(t *testing.T) {
	store, pool := newMemStore(), newMemPool(workerOf("a", 1))
	ran := make(chan struct{})
	q := start(t, store, &scripted{run: func(context.Context, *Task) error { close(ran); return nil }}, Options{Workers: pool})
	submit(t, q, "task")
	pool.until(t, 1)
	pool.change(func() {
		pool.workers = nil
		clear(pool.runs)
	})
	<-ran
	if s := wait(t, q, "task"); s.State != Succeeded {
		t.Errorf("the task: %+v", s)
	}
	if r := store.runs["task"]; r.Run != 2 || r.Runner.Process != "" {
		t.Errorf("the lost worker is not fenced: %+v", r)
	}
}

func TestStrategies(t *testing.T) {
	a, b, c := workerOf("a", 4), workerOf("b", 2), workerOf("c", 8)
	c.Category = "special"
	off := workerOf("off", 100)
	off.Enabled = false
	for name, tc := range map[string]struct {
		config string
		worker map[string]int
		kind   map[string]int
		want   string
	}{
		"most room by default":        {"", nil, nil, "c"},
		"most room":                   {`{"selectStrategy":{"type":"equalDistribution"}}`, map[string]int{"c": 7, "a": 1}, nil, "a"},
		"least room":                  {`{"selectStrategy":{"type":"fillCapacity"}}`, map[string]int{"c": 7}, nil, "c"},
		"no room":                     {"", map[string]int{"a": 4, "b": 2, "c": 8}, nil, ""},
		"affinity":                    {`{"selectStrategy":{"type":"equalDistribution","affinityConfig":{"affinity":{"ds":["b:1"]}}}}`, nil, nil, "b"},
		"affinity of others":          {`{"selectStrategy":{"type":"equalDistribution","affinityConfig":{"affinity":{"other":["c:1"]}}}}`, nil, nil, "a"},
		"affinity without room":       {`{"selectStrategy":{"type":"equalDistribution","affinityConfig":{"affinity":{"ds":["b:1"]}}}}`, map[string]int{"b": 2}, nil, "c"},
		"strong affinity without any": {`{"selectStrategy":{"type":"equalDistribution","affinityConfig":{"affinity":{"ds":["b:1"]},"strong":true}}}`, map[string]int{"b": 2}, nil, ""},
		"category": {`{"selectStrategy":{"type":"fillCapacityWithCategorySpec","workerCategorySpec":{"categoryMap":{"t":{"defaultCategory":"special"}}}}}`,
			nil, nil, "c"},
		"category of the datasource": {`{"selectStrategy":{"type":"fillCapacityWithCategorySpec","workerCategorySpec":{"categoryMap":` +
			`{"t":{"defaultCategory":"none","categoryAffinity":{"ds":"special"}}}}}}`, nil, nil, "c"},
		"strong category that nobody has": {`{"selectStrategy":{"type":"fillCapacityWithCategorySpec","workerCategorySpec":{"strong":true,"categoryMap":` +
			`{"t":{"defaultCategory":"none"}}}}}`, nil, nil, ""},
		"limit by type":        {`{"selectStrategy":{"type":"equalDistribution","taskLimits":{"maxSlotCountByType":{"t":2}}}}`, nil, map[string]int{"t": 2}, ""},
		"limit by part":        {`{"selectStrategy":{"type":"equalDistribution","taskLimits":{"maxSlotRatioByType":{"t":0.01}}}}`, nil, map[string]int{"t": 1}, ""},
		"limit of another one": {`{"selectStrategy":{"type":"equalDistribution","taskLimits":{"maxSlotCountByType":{"u":0}}}}`, nil, nil, "c"},
	} {
		s, err := ParseStrategy(json.RawMessage(tc.config))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l := load{worker: maps.Clone(tc.worker), kind: tc.kind}
		got := ""
		if w := s.choose([]Worker{a, b, c, off}, l, &Task{Type: "t", DataSource: "ds"}, ""); w != nil {
			got = w.Process
		}
		if got != tc.want {
			t.Errorf("%s: [%s] instead of [%s]", name, got, tc.want)
		}
	}
}
