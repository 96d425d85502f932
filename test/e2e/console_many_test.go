package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

const (
	manyDataSources = 800
	manySegments    = 400_000
)

// fillMany makes the metastore of a data directory with many segments that lie nowhere: the rules
// want no copies of them, so that nobody looks for their files.
func fillMany(t *testing.T, dir string, segments int) {
	t.Helper()
	store, err := metastore.Open(t.Context(), metastore.Options{Path: filepath.Join(dir, "metastore.db"), Release: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	rules := json.RawMessage(`[{"type":"loadForever","tieredReplicants":{},"useDefaultTierForNull":false}]`)
	if _, err := store.SetRules(t.Context(), metastore.Fence{}, "_default", rules, nil); err != nil {
		t.Fatal(err)
	}
	columns := []timeline.Column{{Name: "__time", Type: "LONG"}, {Name: "page", Type: "STRING"}, {Name: "n", Type: "LONG", Metric: true}}
	schema := timeline.NewSchema(columns)
	first := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	each := segments / manyDataSources
	for d := range manyDataSources {
		name := fmt.Sprintf("source %03d", d)
		owner := tasklock.Owner{TaskID: "fills " + name, GroupID: "fills " + name, Priority: 50}
		whole := chrono.Interval{Start: first, End: first + int64(each/2)*chrono.Day}
		lock := metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: name, Interval: whole, Type: tasklock.Exclusive}}
		l, granted, err := store.TryLock(t.Context(), lock)
		if err != nil || !granted {
			t.Fatalf("lock: %v, %v", granted, err)
		}
		list := make([]*timeline.Segment, each)
		for i := range list {
			day := chrono.Interval{Start: first + int64(i/2)*chrono.Day, End: first + int64(i/2+1)*chrono.Day}
			s := &timeline.Segment{
				ID: timeline.SegmentID{DataSource: name, Interval: day, Version: l.Version, Partition: i % 2}, Schema: schema,
				Shard: timeline.Numbered{Partition: i % 2, Core: 2}, Size: int64(1000*d + i), Rows: int64(10*d + i),
				BinaryVersion: timeline.BinaryVersion,
			}
			list[i] = s.Locate(json.RawMessage(fmt.Sprintf(`{"type":"local","path":"%s/segments/%s"}`, dir, s.ID)))
		}
		if _, err := store.Publish(t.Context(), metastore.Publication{TaskID: owner.TaskID, DataSource: name, Segments: list}); err != nil {
			t.Fatal(err)
		}
		if err := store.ReleaseLocks(t.Context(), metastore.Fence{}, owner.TaskID, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// Each interaction of the console with 800 datasources and many segments, timed in a browser. The
// console's own work, without the time of answers, must end within 100 ms where HENGE_FIGURES=1
// asks for figures, with 400,000 segments; else within five times that, with a tenth of them.
func TestTheConsoleWithManySegments(t *testing.T) {
	dir, browser := consoleTools(t), chromium(t)
	segments, limit := manySegments/10, "500"
	if os.Getenv("HENGE_FIGURES") == "1" {
		segments, limit = manySegments, "100"
	}
	data := t.TempDir()
	fillMany(t, data, segments)
	p := serve(t, data)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // what never shows is waited for without end
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "test/many.mjs", p.Addresses["router"], limit)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HENGE_CHROMIUM="+browser)
	out, err := cmd.CombinedOutput()
	t.Logf("%d segments of %d datasources\n%s", segments, manyDataSources, out)
	if err != nil {
		t.Error(err)
	}
}
