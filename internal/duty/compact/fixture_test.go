package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
)

// cluster is a metastore and a queue that only remember, and a scheduler on them.
type fixture struct {
	t         *testing.T
	clock     *fakeclock.Clock
	published *timeline.Published
	number    int64
	*Scheduler

	mu          sync.Mutex
	settings    map[string]json.RawMessage
	supervisors []metastore.SupervisorVersion
	locks       []tasklock.Lock
	tasks       []*task.Status
	refuse      error
	capacity    int
	ending      chan struct{}
}

func start(t *testing.T, settings string) *fixture {
	t.Helper()
	f := &fixture{
		t: t, clock: fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)), published: timeline.NewPublished(), capacity: 10,
		ending: make(chan struct{}), settings: map[string]json.RawMessage{SettingName: json.RawMessage(settings)},
	}
	f.Scheduler = New(f, f.published, queue{f}, Options{
		Period: 30 * time.Minute, Gap: time.Second, Clock: f.clock, Log: slog.New(slog.DiscardHandler),
	})
	return f
}

func (f *fixture) Setting(_ context.Context, name string) (json.RawMessage, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, ok := f.settings[name]
	return text, ok, nil
}

func (f *fixture) Supervisors(context.Context) ([]metastore.SupervisorVersion, error) {
	return f.supervisors, nil
}

func (f *fixture) Locks(context.Context, string) ([]tasklock.Lock, error) { return f.locks, nil }

// queue is the fixture as the Overlord's queue.
type queue struct{ *fixture }

func (q queue) Read(body []byte) (*task.Task, error) {
	var id struct {
		ID         string `json:"id"`
		Type       string `json:"type"`
		DataSource string `json:"dataSource"`
	}
	err := json.Unmarshal(body, &id)
	return &task.Task{ID: id.ID, Type: id.Type, DataSource: id.DataSource, Payload: body}, err
}

func (q queue) Submit(_ context.Context, t *task.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refuse == nil {
		q.fixture.tasks = append(q.fixture.tasks, &task.Status{Task: t, State: task.Running})
	}
	return q.refuse
}

func (q queue) Find(_ context.Context, id string) (*task.Status, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.fixture.tasks {
		if s.Task.ID == id {
			found := *s
			return &found, nil
		}
	}
	return nil, nil
}

func (q queue) Stop(_ context.Context, id, reason string) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.fixture.tasks {
		if s.Task.ID == id {
			s.State, s.Error = task.Failed, reason
		}
	}
	return true, nil
}

func (q queue) Active() []task.Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []task.Status
	for _, s := range q.fixture.tasks {
		if !s.State.Done() {
			out = append(out, *s)
		}
	}
	return out
}

func (q queue) Ended() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ending
}

func (q queue) Capacity() int { return q.capacity }

// end ends every active task.
func (f *fixture) end(state task.State, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.tasks {
		if !s.State.Done() {
			s.State, s.Error = state, message
		}
	}
	close(f.ending)
	f.ending = make(chan struct{})
}

// publish replaces what a datasource has.
func (f *fixture) publish(segments ...*timeline.Segment) {
	f.t.Helper()
	f.number++
	if err := f.published.Advance(f.number, timeline.Added(segments...)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) round() {
	f.t.Helper()
	if err := f.Round(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// outcomes shows what the last round made of a datasource: interval, status, why.
func (f *fixture) outcomes(dataSource string) []string {
	var out []string
	for _, o := range f.Outcomes(dataSource) {
		out = append(out, fmt.Sprintf("%s %s: %s", o.Group.Interval, o.Status, o.Why))
	}
	return out
}

// submitted shows the tasks so far: their interval and granularity.
func (f *fixture) submitted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, s := range f.tasks {
		r := readTask(s.Task)
		out = append(out, r.interval.String()+" "+nameOf(r.segment))
	}
	return out
}

// segments makes one segment for each interval, of 1000 bytes, as they were first loaded.
func segments(t *testing.T, dataSource, version string, intervals ...string) []*timeline.Segment {
	t.Helper()
	var out []*timeline.Segment
	for _, text := range intervals {
		iv, err := chrono.ParseInterval(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &timeline.Segment{
			ID: timeline.SegmentID{DataSource: dataSource, Interval: iv, Version: version}, Shard: timeline.Numbered{Core: 1}, Size: 1000, Rows: 10,
		})
	}
	return out
}

// compacted gives segments the state of a compaction.
func compacted(list []*timeline.Segment, state string) []*timeline.Segment {
	out := slices.Clone(list)
	for i, s := range out {
		c := *s
		c.Details = &timeline.Details{LastCompactionState: json.RawMessage(state)}
		out[i] = &c
	}
	return out
}
