package clean

import (
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/store"
	"github.com/hengedb/henge/internal/timeline"
)

type queue []task.Status

func (q queue) Active() []task.Status { return q }

// What is old and belongs to nothing goes; what is young, used, or of the whole cluster stays.
func TestRound(t *testing.T) {
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	store := store.Open(t, c)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, none := t.Context(), metastore.Fence{}
	day := chrono.Interval{Start: 0, End: chrono.Day}
	owner := tasklock.Owner{TaskID: "t", GroupID: "t", Priority: 50}
	lock, _, err := store.TryLock(ctx, metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: "wiki", Interval: day, Type: tasklock.Exclusive}})
	ok(err)
	_, err = store.Publish(ctx, metastore.Publication{TaskID: "t", DataSource: "wiki", Segments: []*timeline.Segment{(&timeline.Segment{
		ID:    timeline.SegmentID{DataSource: "wiki", Interval: day, Version: lock.Version},
		Shard: timeline.Numbered{Core: 1}, Schema: timeline.NewSchema(nil), BinaryVersion: 9,
	}).Locate(json.RawMessage(`{"type":"local","path":"/x"}`))}})
	ok(err)
	fill := func(suffix string) {
		t.Helper()
		for _, name := range []string{rule.Default, "wiki", "gone" + suffix} {
			_, err := store.SetRules(ctx, none, name, json.RawMessage(`[{"type":"loadForever"}]`), &metastore.AuditEntry{Type: "rules", Key: name})
			ok(err)
		}
		ok(store.PutSupervisor(ctx, none, metastore.SupervisorVersion{ID: "ended" + suffix, Payload: json.RawMessage(`{}`), Tombstone: true}, nil))
		ok(store.PutSupervisor(ctx, none, metastore.SupervisorVersion{ID: "runs" + suffix, Payload: json.RawMessage(`{}`)}, nil))
		for _, id := range []string{"ended" + suffix, "runs" + suffix} {
			ok(store.SwapOffsets(ctx, none, "wiki", metastore.OffsetSwap{ID: id, Next: func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }}))
		}
		_, _, granted, err := store.AllocateSegment(ctx, metastore.AllocateRequest{
			Owner: tasklock.Owner{TaskID: "a" + suffix, GroupID: "a" + suffix, Priority: 50}, DataSource: "promised" + suffix, Timestamp: 0,
			SegmentGranularity: granularity(t, "DAY"), QueryGranularity: chrono.None, SequenceName: "s", LockType: tasklock.Append,
		})
		ok(err)
		if !granted {
			t.Fatal("not allocated")
		}
	}
	fill("")
	_, err = store.SetSetting(ctx, none, compact.SettingName, json.RawMessage(`{"compactionConfigs":[{"dataSource":"wiki"},{"dataSource":"gone"}]}`), nil)
	ok(err)
	c.Advance(10 * 24 * time.Hour)
	fill("2")
	chores := map[string]Chore{}
	for _, name := range Chores {
		chores[name] = Chore{On: true, Period: 24 * time.Hour, Retain: 5 * 24 * time.Hour}
	}
	tasks := queue{}
	cleaner := New(store, &tasks, Options{Period: time.Hour, Chores: chores, Clock: c, Log: slog.New(slog.DiscardHandler)})
	left := func() map[string][]string {
		out := map[string][]string{}
		rules, err := store.AllRules(ctx)
		ok(err)
		for name := range rules {
			out["rules"] = append(out["rules"], name)
		}
		history, err := store.AllSupervisorHistory(ctx)
		ok(err)
		for _, v := range history {
			out["supervisors"] = append(out["supervisors"], v.ID)
		}
		offsets, err := store.AllOffsets(ctx)
		ok(err)
		for _, o := range offsets {
			out["offsets"] = append(out["offsets"], o.ID)
		}
		for _, name := range []string{"promised", "promised2"} {
			list, err := store.PendingSegments(ctx, name)
			ok(err)
			for range list {
				out["pending"] = append(out["pending"], name)
			}
		}
		text, _, err := store.Setting(ctx, compact.SettingName)
		ok(err)
		settings, err := compact.ParseStored(text)
		ok(err)
		for _, config := range settings.Configs {
			out["compaction"] = append(out["compaction"], config.DataSource)
		}
		audit, err := store.AuditHistory(ctx, metastore.AuditFilter{Type: "rules"})
		ok(err)
		for _, e := range audit {
			out["audit"] = append(out["audit"], e.Key)
		}
		for _, list := range out {
			slices.Sort(list)
		}
		return out
	}
	_, err = store.SetSetting(ctx, none, "coordinator.config", json.RawMessage(`{"pauseCoordination":true}`), nil)
	ok(err)
	before := left()
	cleaner.Round(ctx)
	if diff := cmp.Diff(before, left()); diff != "" {
		t.Errorf("paused: %s", diff)
	}
	_, err = store.SetSetting(ctx, none, "coordinator.config", json.RawMessage(`{"killPendingSegmentsSkipList":["other"]}`), nil)
	ok(err)
	cleaner.Round(ctx)
	want := map[string][]string{
		"rules": {rule.Default, "gone2", "wiki"}, "supervisors": {"ended2", "runs", "runs2"}, "offsets": {"ended2", "runs", "runs2"},
		"pending": {"promised2"}, "compaction": {"wiki"}, "audit": {"gone2"}, // the others' rules were equal, and not written again
	}
	if diff := cmp.Diff(want, left()); diff != "" {
		t.Errorf("after a round: %s", diff)
	}
	for name, n := range map[string]int64{Supervisors: 1, Rules: 1, Offsets: 1, Audit: 3, Compaction: 1, Pending: 1} {
		if got := cleaner.Forgotten(name); got != n {
			t.Errorf("%s: %d forgotten, want %d", name, got, n)
		}
	}
	tasks = queue{{Task: &task.Task{Created: clock.Millis(c) - 24*3600_000}}}
	c.Advance(10 * 24 * time.Hour)
	cleaner.Round(ctx)
	want = map[string][]string{
		"rules": {rule.Default, "wiki"}, "supervisors": {"runs", "runs2"}, "offsets": {"runs", "runs2"}, "pending": {"promised2"}, "compaction": {"wiki"},
	}
	if diff := cmp.Diff(want, left()); diff != "" {
		t.Errorf("while an old task runs: %s", diff)
	}
}

func granularity(t *testing.T, name string) chrono.Granularity {
	t.Helper()
	g, err := chrono.ParseGranularity(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
