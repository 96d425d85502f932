package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/store"
	"github.com/hengedb/henge/internal/timeline"
)

// fixture is a store with datasource wiki: one segment on each of five days of March 2026, whose
// bytes are in deep storage.
type fixture struct {
	t      *testing.T
	store  *metastore.Store
	deep   deepstore.Store
	kill   *Kill
	report string
}

// PutReport keeps the report for the test.
func (f *fixture) PutReport(_ context.Context, _ string, report io.Reader) error {
	text, err := io.ReadAll(report)
	f.report = string(text)
	return err
}

func open(t *testing.T) *fixture {
	t.Helper()
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	store := store.Open(t, c)
	deep, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := deep.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, store: store, deep: deep}
	f.kill = New(store, deep, f, nil, slog.New(slog.DiscardHandler))
	for day := 1; day <= 5; day++ {
		f.publish(day)
	}
	return f
}

func day(n int) chrono.Interval {
	at := func(d int) int64 { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC).UnixMilli() }
	return chrono.Interval{Start: at(n), End: at(n + 1)}
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) publish(n int) {
	f.t.Helper()
	id := fmt.Sprintf("load%d", n)
	owner := tasklock.Owner{TaskID: id, GroupID: id, Priority: 50}
	l, granted, err := f.store.TryLock(f.t.Context(), metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: "wiki", Interval: day(n), Type: tasklock.Exclusive}})
	if err != nil || !granted {
		f.t.Fatalf("lock: %v, %v", granted, err)
	}
	key := fmt.Sprintf("wiki/%d", n)
	f.ok(f.deep.Put(f.t.Context(), key, strings.NewReader("bytes")))
	_, err = f.store.Publish(f.t.Context(), metastore.Publication{TaskID: id, DataSource: "wiki", Segments: []*timeline.Segment{(&timeline.Segment{
		ID:    timeline.SegmentID{DataSource: "wiki", Interval: day(n), Version: l.Version},
		Shard: timeline.Numbered{Core: 1}, Schema: timeline.NewSchema([]timeline.Column{{Name: "__time", Type: "LONG"}}),
		Size: 5, Rows: 1, BinaryVersion: timeline.BinaryVersion,
	}).Locate(f.deep.LoadSpec(key))}})
	f.ok(err)
	f.ok(f.store.ReleaseLocks(f.t.Context(), metastore.Fence{}, id, nil))
}

// run runs a kill task with the members of its payload.
func (f *fixture) run(members string) error {
	f.t.Helper()
	k := &task.Task{ID: "kill1", GroupID: "kill1", Type: task.KillType, DataSource: "wiki", Payload: json.RawMessage(`{"type":"kill",` + members + `}`)}
	ready, err := f.kill.Prepare(f.t.Context(), k)
	if err != nil {
		return err
	}
	if !ready {
		f.t.Fatal("the lock is not free")
	}
	if err := f.kill.Run(f.t.Context(), k); err != nil {
		return err
	}
	return f.kill.Release(f.t.Context(), k)
}

// files returns the keys in deep storage.
func (f *fixture) files() []string {
	f.t.Helper()
	list, err := f.deep.List(f.t.Context(), "wiki/", "", 100)
	f.ok(err)
	var keys []string
	for _, i := range list {
		keys = append(keys, i.Key)
	}
	return keys
}

func TestKill(t *testing.T) {
	for _, test := range []struct {
		name, members string
		files         []string
		killed        string
	}{
		{"unused segments of the interval go with their bytes", `"interval":"2026-03-01/2026-03-04"`, []string{"wiki/3", "wiki/4", "wiki/5"}, `"numSegmentsKilled":2,"numBatchesProcessed":1`},
		{"batches", `"interval":"2026-03-01/2026-04-01","batchSize":1`, []string{"wiki/3", "wiki/5"}, `"numSegmentsKilled":3,"numBatchesProcessed":3`},
		{"a limit", `"interval":"2026-03-01/2026-04-01","limit":1`, []string{"wiki/2", "wiki/3", "wiki/4", "wiki/5"}, `"numSegmentsKilled":1,"numBatchesProcessed":1`},
		{"a part of a segment is not enough", `"interval":"2026-03-01T12/2026-03-02T12"`, []string{"wiki/1", "wiki/2", "wiki/3", "wiki/4", "wiki/5"}, `"numSegmentsKilled":0`},
		{"other versions stay", `"interval":"2026-03-01/2026-04-01","versions":["x"]`, []string{"wiki/1", "wiki/2", "wiki/3", "wiki/4", "wiki/5"}, `"numSegmentsKilled":0`},
		{"segments unused for too short a time stay", `"interval":"2026-03-01/2026-04-01","maxUsedStatusLastUpdatedTime":"2026-03-10T11:00:00Z"`, []string{"wiki/1", "wiki/2", "wiki/3", "wiki/4", "wiki/5"}, `"numSegmentsKilled":0`},
		{"used ones can be marked on the way", `"interval":"2026-03-01/2026-04-01","markAsUnused":true,"context":{"useConcurrentLocks":true}`, nil, `"numSegmentsKilled":5`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := open(t)
			for _, n := range []int{1, 2, 4} {
				iv := day(n)
				_, err := f.store.MarkUnused(t.Context(), metastore.Fence{}, "wiki", metastore.Selection{Interval: &iv}, nil)
				f.ok(err)
			}
			f.ok(f.run(test.members))
			if d := cmp.Diff(test.files, f.files()); d != "" {
				t.Error(d)
			}
			if !strings.Contains(f.report, test.killed) || !strings.Contains(f.report, `{"killUnusedSegments":{"type":"killUnusedSegments","taskId":"kill1","payload":{`) {
				t.Errorf("report %s, want %s", f.report, test.killed)
			}
			left, err := f.store.UnreferencedFiles(t.Context(), 10)
			f.ok(err)
			if len(left) > 0 {
				t.Errorf("files left to delete: %v", left)
			}
		})
	}
}

func TestKillRefusesBadPayloads(t *testing.T) {
	f := open(t)
	for members, want := range map[string]string{
		`"x":1`:                                "has no interval",
		`"interval":"2020/2020"`:               "is empty",
		`"interval":"x"`:                       "[x]",
		`"interval":"2026/2027","batchSize":0`: "batchSize[0] must be a positive integer.",
		`"interval":"2026/2027","limit":-1`:    "limit[-1] must be a positive integer.",
		`"interval":"2026/2027","limit":"x"`:   "not readable",
		`"interval":"2026/2027","maxUsedStatusLastUpdatedTime":"x"`:   "x",
		`"interval":"2026/2027","markAsUnused":true,"versions":["a"]`: "versions",
	} {
		if err := f.run(members); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", members, err)
		}
	}
}

func TestKillWaitsForItsLock(t *testing.T) {
	f := open(t)
	owner := tasklock.Owner{TaskID: "other", GroupID: "other", Priority: 50}
	_, granted, err := f.store.TryLock(t.Context(), metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: "wiki", Interval: day(2), Type: tasklock.Exclusive}})
	if err != nil || !granted {
		t.Fatal(granted, err)
	}
	k := &task.Task{ID: "kill1", GroupID: "kill1", Type: task.KillType, DataSource: "wiki", Payload: json.RawMessage(`{"interval":"2026-03-01/2026-04-01"}`)}
	if ready, err := f.kill.Prepare(t.Context(), k); ready || err != nil {
		t.Errorf("ready %v, %v", ready, err)
	}
	f.ok(f.store.ReleaseLocks(t.Context(), metastore.Fence{}, "other", nil))
	if ready, err := f.kill.Prepare(t.Context(), k); !ready || err != nil {
		t.Errorf("ready %v, %v", ready, err)
	}
}

// What can't be run is refused when it is submitted.
func TestKillIsValidatedAtSubmission(t *testing.T) {
	k := New(nil, nil, nil, nil, nil)
	for payload, good := range map[string]bool{
		`{"interval":"2026/2027"}`: true, `{"interval":"2026/2027","batchSize":0}`: false, `{}`: false, `[`: false,
	} {
		if err := k.Validate(&task.Task{ID: "k", Payload: []byte(payload)}); (err == nil) != good {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
