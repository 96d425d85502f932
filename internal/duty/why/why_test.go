package why

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/store"
	"github.com/hengedb/henge/internal/timeline"
)

// fixture is a store with one segment of 100 bytes of datasource wiki on each of the first four
// days of March 2026, a server and a queue.
type fixture struct {
	t         *testing.T
	store     *metastore.Store
	published *timeline.Published
	ids       []string
	server    Server
	tasks     []task.Status
	disabled  bool
	*Explainer
}

func (f *fixture) Find(_ context.Context, id string) (*task.Status, error) {
	for i := range f.tasks {
		if f.tasks[i].Task.ID == id {
			return &f.tasks[i], nil
		}
	}
	return nil, nil
}

func (f *fixture) Active() []task.Status {
	return slices.DeleteFunc(slices.Clone(f.tasks), func(s task.Status) bool { return s.State.Done() })
}
func (f *fixture) Capacity() int { return 2 }
func (f *fixture) Used() int     { return 2 }
func (f *fixture) Enabled() bool { return !f.disabled }

func open(t *testing.T) *fixture {
	t.Helper()
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	store := store.Open(t, c)
	f := &fixture{t: t, store: store, published: timeline.NewPublished(), server: Server{Host: "h:8083", Tier: "_default_tier", Max: 1000}}
	for day := 1; day <= 4; day++ {
		f.publish(day)
	}
	f.server.Loaded = f.ids[1:]
	f.Explainer = New(Options{
		Store: store, Published: f.published, Tasks: f, Started: clock.Millis(c), Servers: func() []Server { return []Server{f.server} },
		Compaction: compact.New(store, f.published, task.NewQueue(nil, nil, task.Options{Clock: c}), compact.Options{Clock: c, Log: slog.New(slog.DiscardHandler)}),
		AutoKill:   &AutoKill{Buffer: chrono.Day, Retain: 90 * chrono.Day}, Clock: c,
	})
	return f
}

func day(n int) chrono.Interval {
	start := time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC).UnixMilli()
	return chrono.Interval{Start: start, End: start + chrono.Day}
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// lock takes a lock on wiki and keeps it.
func (f *fixture) lock(taskID string, iv chrono.Interval, priority int) tasklock.Lock {
	f.t.Helper()
	l, granted, err := f.store.TryLock(f.t.Context(), metastore.LockRequest{Request: tasklock.Request{
		Owner: tasklock.Owner{TaskID: taskID, GroupID: taskID, Priority: priority}, DataSource: "wiki", Interval: iv, Type: tasklock.Exclusive,
	}})
	f.ok(err)
	if !granted {
		f.t.Fatal("not granted")
	}
	return l
}

func (f *fixture) publish(n int) {
	f.t.Helper()
	id := fmt.Sprintf("load%d", n)
	l := f.lock(id, day(n), 50)
	s := &timeline.Segment{
		ID: timeline.SegmentID{DataSource: "wiki", Interval: day(n), Version: l.Version}, Shard: timeline.Numbered{Core: 1}, Schema: timeline.NewSchema(nil),
		Size: 100, BinaryVersion: 9,
	}
	s.Locate(json.RawMessage(`{"type":"local","path":"/x"}`))
	done, err := f.store.Publish(f.t.Context(), metastore.Publication{TaskID: id, DataSource: "wiki", Segments: []*timeline.Segment{s}})
	f.ok(err)
	f.ok(f.store.ReleaseLocks(f.t.Context(), metastore.Fence{}, id, nil))
	f.ok(f.published.Advance(done.Number, timeline.Added(s)))
	f.ids = append(f.ids, s.ID.String())
}

func (f *fixture) rules(text string) {
	f.t.Helper()
	_, err := f.store.SetRules(f.t.Context(), metastore.Fence{}, "wiki", json.RawMessage(text), nil)
	f.ok(err)
}

func (f *fixture) set(name, text string) {
	f.t.Helper()
	_, err := f.store.SetSetting(f.t.Context(), metastore.Fence{}, name, json.RawMessage(text), nil)
	f.ok(err)
}

// segment shows the decisions about a segment.
func (f *fixture) segment(i int) []string {
	f.t.Helper()
	list, err := f.Segment(f.t.Context(), f.ids[i])
	f.ok(err)
	return lines(list)
}

func lines(list []Decision) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.Topic+" "+d.Outcome+": "+d.Reason)
	}
	return out
}

func (f *fixture) expect(what string, got []string, want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: %s", what, diff)
	}
}

const (
	noCompaction     = "compact disabled: its datasource has no compaction settings"
	hiddenCompaction = "compact unwanted: newer segments hide it"
)

func TestSegments(t *testing.T) {
	f := open(t)
	f.expect("no rules", f.segment(0), "load unwanted: no retention rule is about it; it stays as it is",
		"drop kept: no retention rule is about it; it stays as it is", noCompaction)
	f.rules(`[{"type":"loadByInterval","interval":"2026-03-01/2026-03-03","tieredReplicants":{"_default_tier":1}},{"type":"dropForever"}]`)
	const first = "rule [1] of [wiki], [loadByInterval],"
	f.expect("loaded", f.segment(1), "load loaded: all copies that "+first+" wants are there", "drop kept: "+first+" keeps it", noCompaction)
	f.expect("missing", f.segment(0), "load missing: "+first+" wants it on tier [_default_tier]; the Coordinator has not assigned it yet",
		"drop kept: "+first+" keeps it", noCompaction)
	f.o.Assigned = func(context.Context) Assigned {
		return Assigned{Told: map[string][]string{f.ids[0]: {"a:1", "b:1"}}, Failed: map[string]string{f.ids[0]: "server [c:1]: the disk is full"}}
	}
	f.expect("told", f.segment(0)[:1], "load missing: "+first+" wants it on tier [_default_tier]; server [a:1, b:1] is to load it; the last that did not is server [c:1]: the disk is full")
	f.server.Max = 99
	f.expect("no room", f.segment(0)[:1], "load missing: "+first+" wants it on tier [_default_tier], where no server has room for its [100] bytes")
	f.expect("dropped", f.segment(3), "load unwanted: rule [2] of [wiki], [dropForever], drops it",
		"drop dropped: rule [2] of [wiki], [dropForever], drops it in the next round", noCompaction)
	f.set("coordinator.config", `{"pauseCoordination":true}`)
	f.expect("paused", f.segment(3)[1:2], "drop waiting: rule [2] of [wiki], [dropForever], drops it; duties are paused (pauseCoordination)")
	f.set("coordinator.config", `{}`)
	f.rules(`[{"type":"loadForever","tieredReplicants":{"_default_tier":3,"hot":1}}]`)
	f.expect("copies", f.segment(1)[:1], "load missing: rule [1] of [wiki], [loadForever], wants [3] copies on tier [_default_tier], which has [1] servers, each with one")
	f.rules(`[{"type":"loadForever","tieredReplicants":{"hot":1}}]`)
	f.expect("a tier without servers", f.segment(1)[:1], "load missing: rule [1] of [wiki], [loadForever], wants [1] copies on tier [hot], which has no servers")
	f.rules(`[{"type":"loadForever","tieredReplicants":{},"useDefaultTierForNull":false}]`)
	f.expect("deep storage", f.segment(0)[:1], "load unwanted: rule [1] of [wiki], [loadForever], keeps it in deep storage only")
	f.publish(1)
	f.expect("hidden", f.segment(0), "load unwanted: newer segments hide it",
		"drop waiting: newer segments hide it; it goes out of use when the Coordinator has been up for millisToWaitBeforeDeleting", hiddenCompaction)
	f.set("coordinator.config", `{"millisToWaitBeforeDeleting":0}`)
	f.expect("hidden for long", f.segment(0)[1:2], "drop dropped: newer segments hide it; it goes out of use in the next round")
	_, err := f.store.MarkUnused(t.Context(), metastore.Fence{}, "wiki", metastore.Selection{IDs: f.ids[:1]}, nil)
	f.ok(err)
	f.ok(f.published.Advance(f.published.Pin().Number()+1, []timeline.Change{{ID: idOf(t, f.ids[0])}}))
	f.expect("unused", f.segment(0),
		"drop dropped: it has been out of use since [2026-03-10T12:00:00.000Z]: a rule or a user dropped it, or newer segments replaced it",
		"kill waiting: it has not been unused for service.coordinator.kill.bufferPeriod")
	f.o.AutoKill.Buffer = 0
	f.expect("too young to be deleted", f.segment(0)[1:], "kill waiting: its interval ends within service.coordinator.kill.durationToRetain")
	f.o.AutoKill.Retain = 0
	f.expect("to be deleted", f.segment(0)[1:], "kill waiting: a kill task will delete it when its turn comes")
	f.set("coordinator.config", `{"killDataSourceWhitelist":["other"]}`)
	f.expect("not to be deleted", f.segment(0)[1:], "kill kept: its datasource is not in killDataSourceWhitelist")
	f.o.AutoKill = nil
	f.expect("nobody deletes", f.segment(0)[1:], "kill kept: no kill task was submitted, and service.coordinator.kill.on is false")
	list, err := f.Segment(t.Context(), "nosuch")
	f.ok(err)
	f.expect("unknown", lines(list))
}

func idOf(t *testing.T, text string) timeline.SegmentID {
	t.Helper()
	id, ok := timeline.ParseID("wiki", text)
	if !ok {
		t.Fatal(text)
	}
	return id
}

func TestTasks(t *testing.T) {
	f := open(t)
	at := func(state task.State, priority int, failure string) {
		f.tasks = []task.Status{{Task: &task.Task{ID: "t", GroupID: "t", Type: "compact", DataSource: "wiki", Priority: priority}, State: state, Error: failure}}
	}
	ask := func() []string {
		t.Helper()
		list, err := f.Task(t.Context(), "t")
		f.ok(err)
		return lines(list)
	}
	f.expect("unknown", ask())
	at(task.Failed, 25, "no room")
	f.expect("failed", ask(), "task ended: it ended with status [FAILED]: no room")
	at(task.Pending, 25, "")
	f.expect("pending", ask(), "task waiting: all [2] task slots are taken; tasks of higher priority, then older ones, go first")
	at(task.Waiting, 25, "")
	f.expect("about to start", ask(), "task waiting: it is about to be given its locks")
	f.lock("kafka", day(2), 75)
	f.lock("low", day(3), 1)
	f.expect("behind a lock", ask(), "task waiting: it waits for a lock, and there are other locks on its datasource: "+
		"[EXCLUSIVE] on ["+day(2).String()+"] of [kafka], priority [75]")
	f.lock("t", day(1), 25)
	at(task.Running, 25, "")
	f.expect("running", ask(), "task running: it is running")
}

func TestDataSources(t *testing.T) {
	f := open(t)
	f.rules(`[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]`)
	f.tasks = []task.Status{{Task: &task.Task{ID: "t", GroupID: "t", Type: "compact", DataSource: "wiki"}, State: task.Pending}}
	list, err := f.DataSource(t.Context(), "wiki")
	f.ok(err)
	const missing = "load missing: rule [1] of [wiki], [loadForever], wants it on tier [_default_tier]; the Coordinator has not " +
		"assigned it yet"
	const pending = "task waiting: all [2] task slots are taken; tasks of higher priority, then older ones, go first"
	f.expect("wiki", lines(list), "load missing: [1] of [4] used segments have missing copies", "compact disabled: it has no compaction "+
		"settings", pending, missing)
	f.set(compact.SettingName, `{"compactionConfigs":[{"dataSource":"wiki","taskPriority":25,"inputSegmentSizeBytes":1000,"skipOffsetFromLatest":"P10D"}]}`)
	f.ok(f.o.Compaction.Round(t.Context()))
	list, err = f.DataSource(t.Context(), "wiki")
	f.ok(err)
	if got := lines(list)[1]; got != "compact compacted: [0] intervals are compacted, [0] wait, [4] are skipped" {
		t.Error(got)
	}
	if got := f.segment(3)[2]; got != "compact skipped: overlaps the skip offset of [P10D] from the latest segment" {
		t.Error(got)
	}
	all, err := f.All(t.Context())
	f.ok(err)
	if got := strings.Join(lines(all), "\n"); strings.Count(got, "compact skipped") != 4 || !strings.Contains(got, missing) || !strings.Contains(got, pending) {
		t.Error(got)
	}
	list, err = f.DataSource(t.Context(), "nosuch")
	f.ok(err)
	f.expect("unknown", lines(list))
}
