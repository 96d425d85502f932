package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

// fixture is supervisors over a stream, a queue and tasks that the test moves. It lives in a bubble
// of synctest, where time moves when all wait.
type fixture struct {
	t       *testing.T
	clock   clock.Clock
	source  *fakeSource
	queue   *fakeQueue
	store   *fakeStore
	manager *Manager
	cancel  context.CancelFunc
	over    chan struct{}
}

// inBubble runs a test with a fixture of a stream with some partitions.
func inBubble(t *testing.T, partitions int, do func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, clock: clock.System(), source: newSource(partitions), store: newFakeStore()}
		f.queue = newFakeQueue(f)
		f.lead()
		defer f.resign()
		do(f)
	})
}

// lead starts a leader, resign ends it.
func (f *fixture) lead() {
	f.manager = New(Options{
		Queue: f.queue, Store: f.store, Tasks: chats{f.queue}, Clock: f.clock,
		Open: func(context.Context, stream.Config) (stream.Source, error) { return f.source, nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel, f.over = cancel, make(chan struct{})
	manager, over := f.manager, f.over
	go func() {
		defer close(over)
		if err := manager.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	synctest.Wait()
}

func (f *fixture) resign() {
	f.cancel()
	<-f.over
}

// after lets time pass.
func (f *fixture) after(d time.Duration) {
	_ = f.clock.Sleep(context.Background(), d)
	synctest.Wait()
}

// spec returns a specification with members of its parts.
func (f *fixture) spec(io, tuning, top string) *spec.Stream {
	f.t.Helper()
	comma := func(s string) string {
		if s == "" {
			return ""
		}
		return "," + s
	}
	s, err := spec.ParseStream(spec.Kafka, json.RawMessage(fmt.Sprintf(`{"type":"kafka","spec":{"dataSchema":{"dataSource":"sales",
		"timestampSpec":{"column":"ts"},"dimensionsSpec":{"dimensions":["sku"]}},"ioConfig":{"topic":"orders",
		"consumerProperties":{"bootstrap.servers":"k:9092"},"inputFormat":{"type":"json"},"useEarliestOffset":true,"period":"PT2S",
		"startDelay":"PT1S","completionTimeout":"PT5M"%s},"tuningConfig":{"type":"kafka","offsetFetchPeriod":"PT5S"%s}}%s}`,
		comma(io), comma(tuning), comma(top))))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// put stores a specification, as the API does.
func (f *fixture) put(s *spec.Stream) {
	f.t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		f.t.Fatal(err)
	}
	f.store.put(s.ID(), text, false)
	Kind{spec.Kafka, f.manager}.Changed(specification{s}, false)
	synctest.Wait()
}

// report returns the status of the supervisor.
func (f *fixture) report() report {
	f.t.Helper()
	k := f.manager.find("sales")
	if k == nil {
		f.t.Fatal("there is no supervisor")
	}
	return k.report()
}

// state checks the state.
func (f *fixture) state(want detailed) {
	f.t.Helper()
	if got := f.report().Detailed; got != want {
		f.t.Errorf("state %s, want %s; errors %+v", got, want, f.report().Errors)
	}
}

// starts checks the starts of the tasks that read, by group, and of those that publish.
func (f *fixture) starts(active, publishing string) {
	f.t.Helper()
	r := f.report()
	for want, list := range map[string][]taskReport{"a" + active: r.Active, "p" + publishing: r.Publishing} {
		var got []string
		for _, t := range list {
			got = append(got, string(t.Starts.Plain()))
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want[1:] {
			f.t.Errorf("tasks begin at [%s], want [%s]", text, want)
		}
	}
}

// only returns the task that reads.
func (f *fixture) only() *fakeTask {
	f.t.Helper()
	list := f.report().Active
	if len(list) != 1 {
		f.t.Fatalf("tasks that read: %+v", list)
	}
	return f.queue.find(list[0].ID)
}

type fakeSource struct {
	mu               sync.Mutex
	partitions       []stream.Partition
	earliest, latest stream.Positions
	err              error
}

func newSource(partitions int) *fakeSource {
	s := &fakeSource{earliest: stream.Positions{}, latest: stream.Positions{}}
	for i := range partitions {
		s.add(strconv.Itoa(i), 0)
	}
	return s
}

func (s *fakeSource) add(p string, latest int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partitions = append(s.partitions, stream.Partition(p))
	s.earliest[stream.Partition(p)], s.latest[stream.Partition(p)] = "0", stream.Position(strconv.Itoa(latest))
}

// has sets what the stream has of a partition.
func (s *fakeSource) has(p, earliest, latest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.earliest[stream.Partition(p)], s.latest[stream.Partition(p)] = stream.Position(earliest), stream.Position(latest)
}

func (s *fakeSource) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeSource) Partitions(context.Context) ([]stream.Partition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.partitions), s.err
}

func (s *fakeSource) Earliest(context.Context, []stream.Partition) (stream.Positions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.earliest), s.err
}

func (s *fakeSource) Latest(context.Context, []stream.Partition) (stream.Positions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.latest), s.err
}

func (s *fakeSource) Compare(a, b stream.Position) int { return comparePositions(nil, a, b) }

func (s *fakeSource) Distance(from, to stream.Position) int64 {
	a, _ := strconv.ParseInt(string(from), 10, 64)
	b, _ := strconv.ParseInt(string(to), 10, 64)
	return b - a
}

func (s *fakeSource) Open(context.Context) (stream.Reader, error) {
	return nil, errors.New("nobody reads")
}
func (s *fakeSource) Close() error { return nil }

// fakeQueue is a queue whose tasks begin to read when they are submitted, unless it is held.
type fakeQueue struct {
	f  *fixture
	mu sync.Mutex
	// tasks are all there ever were.
	tasks  map[string]*fakeTask
	order  []string
	ended  chan struct{}
	held   bool
	dies   bool // tasks fail at once
	reason map[string]string
}

func newFakeQueue(f *fixture) *fakeQueue {
	return &fakeQueue{f: f, tasks: map[string]*fakeTask{}, ended: make(chan struct{}), reason: map[string]string{}}
}

func (q *fakeQueue) Submit(_ context.Context, t *task.Task) error {
	parsed, err := spec.ParseStreamTask(t.Payload)
	if err != nil {
		return err
	}
	q.mu.Lock()
	made := &fakeTask{q: q, task: t, spec: parsed, state: task.Pending}
	q.tasks[t.ID], q.order = made, append(q.order, t.ID)
	held, dies := q.held, q.dies
	q.mu.Unlock()
	switch {
	case dies:
		q.end(t.ID, false)
	case !held:
		q.begin(t.ID)
	}
	return nil
}

// begin has a task read.
func (q *fakeQueue) begin(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.tasks[id]
	first, _ := lowest(t.spec.IO.Checkpoints)
	last := first
	for n := range t.spec.IO.Checkpoints {
		last = max(last, n)
	}
	t.state, t.chat = task.Running, chat.Reading
	t.started = clock.Millis(q.f.clock)
	t.current, t.ends = maps.Clone(t.spec.IO.Checkpoints[first]), maps.Clone(t.spec.IO.Ends)
	t.checkpoints = maps.Clone(t.spec.IO.Checkpoints)
	t.number = last
}

// end ends a task.
func (q *fakeQueue) end(id string, good bool) {
	q.mu.Lock()
	t := q.tasks[id]
	t.state = task.Failed
	if good {
		t.state = task.Succeeded
	}
	close(q.ended)
	q.ended = make(chan struct{})
	q.mu.Unlock()
	synctest.Wait()
}

func (q *fakeQueue) Stop(_ context.Context, id, reason string) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.tasks[id]
	if t == nil {
		return false, nil
	}
	if !t.state.Done() {
		t.state = task.Failed
		q.reason[id] = reason
		close(q.ended)
		q.ended = make(chan struct{})
	}
	return true, nil
}

func (q *fakeQueue) Active() (out []task.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range q.order {
		if t := q.tasks[id]; !t.state.Done() {
			out = append(out, task.Status{Task: t.task, State: t.state})
		}
	}
	return out
}

func (q *fakeQueue) Find(_ context.Context, id string) (*task.Status, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.tasks[id]; t != nil {
		return &task.Status{Task: t.task, State: t.state}, nil
	}
	return nil, nil
}

func (q *fakeQueue) Ended() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}

func (q *fakeQueue) find(id string) *fakeTask {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tasks[id]
}

// count returns how many tasks there ever were.
func (q *fakeQueue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}

// fakeTasks is the chat of the queue's tasks.
func (q *fakeQueue) chat(id string) chat.Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.tasks[id]; t != nil && t.state == task.Running && !t.deaf {
		return t
	}
	return nil
}

// fakeTask is a task that reads where the test moves it.
type fakeTask struct {
	q           *fakeQueue
	task        *task.Task
	spec        *spec.StreamTask
	state       task.State
	chat        chat.State
	started     int64
	current     stream.Positions
	ends        stream.Positions
	checkpoints map[int]stream.Positions
	number      int
	deaf, slow  bool // nobody reaches it; it does not pause in time
	problem     *chat.Problem
	errors      []chat.ParseError
}

// reads moves the task.
func (t *fakeTask) reads(p, to string) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	t.current[stream.Partition(p)] = stream.Position(to)
}

// set changes a task.
func (t *fakeTask) set(change func(t *fakeTask)) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	change(t)
}

// publish stores what the task has read up to the ends of its first sequence, and ends it if that
// is the last.
func (t *fakeTask) publish() {
	t.q.mu.Lock()
	ends := maps.Clone(t.ends)
	t.q.mu.Unlock()
	t.q.f.store.publish("sales", ends)
	t.q.end(t.task.ID, true)
}

func (t *fakeTask) Status(context.Context) (chat.Status, error) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	return chat.Status{
		State: t.chat, Started: t.started, Current: maps.Clone(t.current), Ends: maps.Clone(t.ends), Checkpoints: maps.Clone(t.checkpoints),
		Problem: t.problem,
	}, nil
}

func (t *fakeTask) Pause(ctx context.Context) (stream.Positions, error) {
	t.q.mu.Lock()
	slow := t.slow
	t.q.mu.Unlock()
	if slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	t.chat = chat.Paused
	return maps.Clone(t.current), nil
}

func (t *fakeTask) Resume(context.Context) error {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	t.chat = chat.Reading
	return nil
}

func (t *fakeTask) SetEnds(_ context.Context, ends stream.Positions, finish bool) error {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	if finish {
		t.chat, t.ends, t.current = chat.Publishing, maps.Clone(ends), maps.Clone(ends)
		return nil
	}
	t.chat, t.number = chat.Reading, t.number+1
	t.checkpoints[t.number] = maps.Clone(ends)
	return nil
}

func (t *fakeTask) Stop(context.Context, bool) error { return nil }

func (t *fakeTask) Stats(context.Context) (chat.Stats, error) {
	return chat.Stats{Totals: chat.Counters{Processed: 5}, Averages: map[string]chat.Counters{"1m": {Processed: 0.5}}}, nil
}

func (t *fakeTask) ParseErrors(context.Context) ([]chat.ParseError, error) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	return t.errors, nil
}

// fakeStore keeps specifications and offsets in memory.
type fakeStore struct {
	mu       sync.Mutex
	versions map[string]metastore.SupervisorVersion
	offsets  map[string]json.RawMessage
}

func newFakeStore() *fakeStore {
	return &fakeStore{versions: map[string]metastore.SupervisorVersion{}, offsets: map[string]json.RawMessage{}}
}

func (s *fakeStore) put(id string, text json.RawMessage, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[id] = metastore.SupervisorVersion{ID: id, Payload: text, Tombstone: ended}
}

func (s *fakeStore) Supervisors(context.Context) (out []metastore.SupervisorVersion, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.versions {
		if !v.Tombstone {
			out = append(out, v)
		}
	}
	return out, nil
}

func (s *fakeStore) PutSupervisor(_ context.Context, _ metastore.Fence, v metastore.SupervisorVersion, _ *metastore.AuditEntry) error {
	s.put(v.ID, v.Payload, v.Tombstone)
	return nil
}

func (s *fakeStore) Offsets(_ context.Context, id string) (metastore.Offsets, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.offsets[id]
	return metastore.Offsets{ID: id, Payload: text}, ok, nil
}

func (s *fakeStore) SwapOffsets(_ context.Context, _ metastore.Fence, _ string, swap metastore.OffsetSwap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := swap.Next(s.offsets[swap.ID])
	if err == nil {
		s.offsets[swap.ID] = next
	}
	return err
}

func (s *fakeStore) DeleteOffsets(_ context.Context, _ metastore.Fence, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.offsets[id]
	delete(s.offsets, id)
	return ok, nil
}

// publish stores offsets as a task does with its segments.
func (s *fakeStore) publish(id string, ends stream.Positions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, err := stream.ParseStored(s.offsets[id])
	if err != nil {
		panic(err)
	}
	s.offsets[id], _ = json.Marshal(have.Plus("kafka", "orders", ends))
}

// chats finds the tasks of a queue.
type chats struct{ q *fakeQueue }

func (c chats) Find(id string) chat.Task { return c.q.chat(id) }
