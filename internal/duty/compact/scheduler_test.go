package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
)

const dayConfig = `{"compactionTaskSlotRatio":1,"compactionConfigs":[{"dataSource":"wiki","taskPriority":25,"inputSegmentSizeBytes":100000,` +
	`"skipOffsetFromLatest":"PT0S","granularitySpec":{"segmentGranularity":"DAY"}}]}`

// dayState is what a task of dayConfig leaves.
const dayState = `{"partitionsSpec":{"type":"dynamic","maxRowsPerSegment":5000000,"maxTotalRows":9223372036854775807},"metricsSpec":[],` +
	`"granularitySpec":{"type":"uniform","segmentGranularity":"DAY","queryGranularity":{"type":"none"},"rollup":false,"intervals":["2026-03-01/2026-03-02"]}}`

func hours(t *testing.T) []*timeline.Segment {
	return segments(t, "wiki", "1", "2026-03-01T00/PT1H", "2026-03-01T01/PT1H", "2026-03-02T05/PT1H")
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// A round submits a task for each time chunk, the newest first; when they are done the next round
// finds nothing to do.
func TestRoundsConverge(t *testing.T) {
	f := start(t, dayConfig)
	f.publish(hours(t)...)
	f.round()
	days := []string{"2026-03-02T00:00:00.000Z/2026-03-03T00:00:00.000Z DAY", "2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z DAY"}
	diff(t, "tasks", days, f.submitted())
	want := Snapshot{DataSource: "wiki", ScheduleStatus: Enabled, BytesCompacted: 3000, SegmentsCompact: 3, IntervalsCompact: 3}
	snapshots, err := f.Snapshots(t.Context(), "")
	diff(t, "while tasks run", []Snapshot{want}, snapshots)
	if err != nil {
		t.Error(err)
	}
	f.round()
	diff(t, "a second round", days, f.submitted())
	f.end(task.Succeeded, "")
	f.publish(compacted(segments(t, "wiki", "2", "2026-03-01/P1D", "2026-03-02/P1D"), dayState)...)
	f.round()
	diff(t, "after the tasks", days, f.submitted())
	diff(t, "outcomes", []string{
		"2026-03-02T00:00:00.000Z/2026-03-03T00:00:00.000Z COMPLETE: as the settings want it",
		"2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z COMPLETE: as the settings want it",
	}, f.outcomes("wiki"))
	appended := segments(t, "wiki", "2", "2026-03-01/P1D")
	appended[0].ID.Partition, appended[0].Shard = 1, timeline.Numbered{Partition: 1, Core: 1}
	f.publish(appended...)
	f.round()
	diff(t, "after an append", append(days, days[1]), f.submitted())
}

// What is left alone says why.
func TestSkips(t *testing.T) {
	lock := func(interval string, priority int, kind tasklock.Type) tasklock.Lock {
		iv, err := chrono.ParseInterval(interval)
		if err != nil {
			t.Fatal(err)
		}
		return tasklock.Lock{Type: kind, Interval: iv, Priority: priority, DataSource: "wiki"}
	}
	with := func(members string) string {
		return strings.Replace(dayConfig, `"skipOffsetFromLatest":"PT0S",`, members, 1)
	}
	const first, second = "2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z", "2026-03-02T00:00:00.000Z/2026-03-03T00:00:00.000Z"
	for name, c := range map[string]struct {
		settings string
		locks    []tasklock.Lock
		policy   string
		want     []string
	}{
		"newest data": {settings: with(`"skipOffsetFromLatest":"PT1H",`), want: []string{
			second + " SKIPPED: overlaps the skip offset of [PT1H] from the latest segment", first + " RUNNING: not compacted yet",
		}},
		"intervals of the settings": {settings: with(`"skipOffsetFromLatest":"PT0S","skipIntervals":["2026-03-01T12/PT1H"],`), want: []string{
			second + " RUNNING: not compacted yet", first + " SKIPPED: overlaps interval [2026-03-01T12:00:00.000Z/2026-03-01T13:00:00.000Z], which the settings skip",
		}},
		"too large": {settings: strings.Replace(dayConfig, `:100000,`, `:1500,`, 1), want: []string{
			second + " RUNNING: not compacted yet", first + " SKIPPED: its total bytes are more than 'inputSegmentSizeBytes'",
		}},
		"a lock": {settings: dayConfig, locks: []tasklock.Lock{lock("2026-03-02T23/PT1H", 75, tasklock.Append)}, want: []string{
			second + " SKIPPED: interval [2026-03-02T23:00:00.000Z/2026-03-03T00:00:00.000Z] is locked by another task", first + " RUNNING: not compacted yet",
		}},
		"a lock of lower priority": {settings: dayConfig, locks: []tasklock.Lock{lock("2026-03-02T23/PT1H", 24, tasklock.Append)}, want: []string{
			second + " RUNNING: not compacted yet", first + " RUNNING: not compacted yet",
		}},
		"appends beside replaces": {
			settings: with(`"skipOffsetFromLatest":"PT0S","taskContext":{"useConcurrentLocks":true},`),
			locks:    []tasklock.Lock{lock("2026-03-02T23/PT1H", 75, tasklock.Append)}, want: []string{
				second + " RUNNING: not compacted yet", first + " RUNNING: not compacted yet",
			},
		},
		"slots": {settings: strings.Replace(dayConfig, `{"`, `{"maxCompactionTaskSlots":1,"`, 1), want: []string{
			second + " RUNNING: not compacted yet", first + " PENDING: not compacted yet",
		}},
		"a fixed order": {
			settings: strings.Replace(dayConfig, `{"`, `{"compactionPolicy":{"type":"fixedIntervalOrder","eligibleCandidates":[{"datasource":"wiki","interval":"`+first+`"}]},"`, 1),
			want: []string{
				second + " SKIPPED: Rejected by search policy: not one of its eligible candidates", first + " RUNNING: not compacted yet",
			},
		},
		"off": {settings: strings.Replace(dayConfig, `{"`, `{"maxCompactionTaskSlots":0,"`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, c.settings)
			f.locks = c.locks
			f.publish(hours(t)...)
			f.round()
			diff(t, "outcomes", c.want, f.outcomes("wiki"))
		})
	}
}

// A group that fails is tried again later and later, and its neighbours go on.
func TestFailuresWait(t *testing.T) {
	f := start(t, dayConfig)
	f.publish(hours(t)[2:]...)
	f.round()
	for i, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		f.end(task.Failed, "no room")
		f.round()
		if n := len(f.submitted()); n != i+1 {
			t.Fatalf("failure %d: %d tasks at once", i, n)
		}
		if got := f.outcomes("wiki")[0]; !strings.Contains(got, "PENDING") || !strings.Contains(got, "failed: no room") {
			t.Errorf("failure %d: %s", i, got)
		}
		diff(t, "wait", wait, f.untilNext())
		f.clock.Advance(wait)
		f.round()
		if n := len(f.submitted()); n != i+2 {
			t.Fatalf("failure %d: %d tasks after %v", i, n, wait)
		}
	}
	f.end(task.Failed, "no room")
	f.refuse = fault.Capacity("Task queue is full")
	f.round()
	f.clock.Advance(time.Hour)
	f.round()
	if got := f.outcomes("wiki")[0]; !strings.Contains(got, "no task could be submitted: Task queue is full") {
		t.Error(got)
	}
}

// Tasks that succeed without reaching the wanted state don't go round forever.
func TestFruitlessTasksEnd(t *testing.T) {
	f := start(t, dayConfig)
	f.publish(hours(t)[2:]...)
	for version := range fruitlessLimit {
		f.round()
		f.end(task.Succeeded, "")
		f.publish(segments(t, "wiki", string(rune('2'+version)), "2026-03-02/P1D")...)
	}
	f.round()
	diff(t, "tasks", fruitlessLimit, len(f.submitted()))
	f.round()
	if got := f.outcomes("wiki")[0]; !strings.Contains(got, "SKIPPED") || !strings.Contains(got, "left alone until segments or settings change") {
		t.Error(got)
	}
	f.settings[SettingName] = json.RawMessage(strings.Replace(dayConfig, "100000", "100001", 1))
	f.round()
	diff(t, "tasks under new settings", fruitlessLimit+1, len(f.submitted()))
}

// A task that succeeds and changes nothing is not repeated.
func TestTasksWithoutEffect(t *testing.T) {
	f := start(t, dayConfig)
	f.publish(hours(t)[2:]...)
	f.round()
	f.end(task.Succeeded, "")
	f.round()
	if got := f.outcomes("wiki")[0]; !strings.Contains(got, "RUNNING") || !strings.Contains(got, "on their way") {
		t.Error(got)
	}
	f.clock.Advance(arrival)
	f.round()
	if got := f.outcomes("wiki")[0]; !strings.Contains(got, "SKIPPED") || !strings.Contains(got, "left the segments as they are") {
		t.Error(got)
	}
	diff(t, "tasks", 1, len(f.submitted()))
}

// New time chunks in the settings end the tasks that make others.
func TestOutdatedTasksStop(t *testing.T) {
	f := start(t, dayConfig)
	f.publish(hours(t)[2:]...)
	f.round()
	f.settings[SettingName] = json.RawMessage(strings.Replace(dayConfig, "DAY", "MONTH", 1))
	f.round()
	if s := f.tasks[0]; s.State != task.Failed || !strings.Contains(s.Error, "changed segmentGranularity to [MONTH]") {
		t.Errorf("state %v, %s", s.State, s.Error)
	}
	f.round()
	diff(t, "tasks", "2026-03-01T00:00:00.000Z/2026-04-01T00:00:00.000Z MONTH", f.submitted()[1])
}

// With supervisors the settings are theirs, those of suspended ones left out.
func TestSupervisorsHoldSettings(t *testing.T) {
	f := start(t, `{"useSupervisors":true,"engine":"msq","compactionTaskSlotRatio":1,"compactionConfigs":[{"dataSource":"other"}]}`)
	spec := func(dataSource string, suspended bool) metastore.SupervisorVersion {
		s := Spec{Config: DefaultConfig(), suspended: suspended}
		s.Config.DataSource, s.Config.SkipOffsetFromLatest = dataSource, chrono.Period{}
		rows := int64(1000)
		s.Config.Tuning = &TuningConfig{Type: "index_parallel", Partitions: &PartitionsSpec{Type: dynamic, MaxRows: &rows}}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return metastore.SupervisorVersion{ID: SupervisorID(dataSource), Payload: text}
	}
	f.supervisors = []metastore.SupervisorVersion{
		spec("wiki", false), spec("still", true), {ID: "kafka", Payload: json.RawMessage(`{"type":"kafka","spec":{}}`)},
	}
	f.publish(hours(t)[2:]...)
	f.publish(segments(t, "still", "1", "2026-03-02/P1D")...)
	f.round()
	diff(t, "tasks", []string{"2026-03-02T05:00:00.000Z/2026-03-02T06:00:00.000Z HOUR"}, f.submitted())
	var body map[string]any
	if err := json.Unmarshal(f.tasks[0].Task.Payload, &body); err != nil {
		t.Fatal(err)
	}
	diff(t, "runner", map[string]any{"type": "msq"}, body["compactionRunner"].(map[string]any))
	diff(t, "context", map[string]any{
		"priority": 25.0, "storeCompactionState": true, "compactionReason": "not compacted yet", "maxNumTasks": 5.0,
	}, body["context"].(map[string]any))
	diff(t, "dropExisting", true, body["ioConfig"].(map[string]any)["dropExisting"].(bool))
}

// Run follows what changes.
func TestRunFollowsChanges(t *testing.T) {
	f := start(t, dayConfig)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	until := func(what string, done func() bool) {
		t.Helper()
		for !done() { // rounds follow each other by the clock of the test
			if err := f.clock.BlockUntil(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			f.clock.Advance(time.Second)
		}
	}
	until("first round", func() bool { return f.Stats().Rounds > 0 })
	f.publish(hours(t)[2:]...)
	until("a new segment", func() bool { return len(f.submitted()) == 1 })
	f.end(task.Succeeded, "")
	f.publish(compacted(segments(t, "wiki", "2", "2026-03-02/P1D"), dayState)...)
	until("the end of its task", func() bool {
		o := f.Outcomes("wiki")
		return len(o) == 1 && o[0].Status == Compacted
	})
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Simulate tells what other settings would do, and does nothing.
func TestSimulate(t *testing.T) {
	f := start(t, dayConfig)
	f.publish(hours(t)...)
	cluster := Default().Cluster
	tables, err := f.Simulate(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "pending", [][]any{
		{"wiki", "2026-03-02T00:00:00.000Z/2026-03-03T00:00:00.000Z", 1, int64(1000), 1, "not compacted yet"},
		{"wiki", "2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z", 2, int64(2000), 1, "not compacted yet"},
	}, tables["PENDING"].Rows)
	diff(t, "tasks", 0, len(f.submitted()))
}

// Datasources that did not change cost nothing.
func TestRoundsFollowChanges(t *testing.T) {
	f := start(t, strings.Replace(dayConfig, `"compactionConfigs":[`, `"compactionConfigs":[{"dataSource":"other","inputSegmentSizeBytes":1000,"skipOffsetFromLatest":"PT0S"},`, 1))
	f.publish(compacted(segments(t, "wiki", "2", "2026-03-02/P1D"), dayState)...)
	f.round()
	before := f.surveys["wiki"]
	f.publish(segments(t, "other", "1", "2026-03-02/P1D")...)
	f.round()
	if f.surveys["wiki"] != before || before.rest == nil {
		t.Error("a datasource that is at rest was looked at again")
	}
	f.publish(segments(t, "wiki", "1", "2026-03-05/P1D")...)
	f.round()
	if f.surveys["wiki"] == before || f.surveys["wiki"].rest != nil {
		t.Error("a new segment was not seen")
	}
}

// A million segments in a thousand datasources: the first round, and one after a datasource
// changed.
func BenchmarkRound(b *testing.B) {
	const names, hours = 1000, 1000
	f := &fixture{
		clock: fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)), published: timeline.NewPublished(), capacity: 10,
		ending: make(chan struct{}), settings: map[string]json.RawMessage{},
	}
	settings, details := Default(), &timeline.Details{LastCompactionState: json.RawMessage(dayState)}
	var all []*timeline.Segment
	for i := range names {
		c := DefaultConfig()
		c.DataSource = fmt.Sprintf("d%d", i)
		settings.Configs = append(settings.Configs, c)
		for h := range int64(hours) {
			iv := chrono.Interval{Start: h * chrono.Hour, End: (h + 1) * chrono.Hour}
			all = append(all, &timeline.Segment{
				ID: timeline.SegmentID{DataSource: c.DataSource, Interval: iv, Version: "1"}, Shard: timeline.Numbered{Core: 1}, Size: 1000, Details: details,
			})
		}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		b.Fatal(err)
	}
	f.settings[SettingName] = text
	if err := f.published.Advance(1, timeline.Added(all...)); err != nil {
		b.Fatal(err)
	}
	open := func() *Scheduler {
		return New(f, f.published, queue{f}, Options{Clock: f.clock, Log: slog.New(slog.DiscardHandler)})
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if err := open().Round(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("change", func(b *testing.B) {
		s := open()
		if err := s.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			again, n := *all[0], f.published.Pin().Number()+1
			if err := f.published.Advance(n, timeline.Added(&again)); err != nil {
				b.Fatal(err)
			}
			if err := s.Round(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
