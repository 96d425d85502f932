package metastore

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
)

// fixture is a store of a test with helpers that fail it.
type fixture struct {
	*Store
	t       *testing.T
	clock   *fakeclock.Clock
	options Options
	tasks   int
}

var testStart = time.Date(2026, 3, 5, 10, 0, 0, 0, time.UTC)

// onEach runs a test on every database.
func onEach(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Run("sqlite", func(t *testing.T) { test(t, openFixture(t, Options{Path: filepath.Join(t.TempDir(), "metadata.db")})) })
	t.Run("postgres", func(t *testing.T) { test(t, openFixture(t, Options{URL: postgresURL(t)})) })
}

func openFixture(t *testing.T, options Options) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: fakeclock.New(testStart), options: options}
	f.options.Clock, f.options.repeat = f.clock, true
	f.open()
	t.Cleanup(func() {
		if f.Store == nil {
			return
		}
		if err := f.Check(context.Background()); err != nil {
			t.Errorf("the store is broken: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	store, err := Open(f.t.Context(), f.options)
	if err != nil {
		f.t.Fatalf("opening: %v", err)
	}
	f.Store = store
}

// reopen closes the store and opens it again.
func (f *fixture) reopen() {
	f.t.Helper()
	f.ok(f.Close())
	f.open()
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// refused expects a fault whose message has a text.
func (f *fixture) refused(err error, text string) {
	f.t.Helper()
	found := fault.Find(err)
	if found == nil {
		f.t.Fatalf("got error %v, want a fault with %q", err, text)
	}
	if !strings.Contains(found.Message, text) {
		f.t.Fatalf("got fault %q, want %q", found.Message, text)
	}
}

func (f *fixture) ctx() context.Context { return f.t.Context() }

// day returns days of March 2026: from the first of the two to before the second.
func day(from, to int) chrono.Interval {
	at := func(d int) int64 { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC).UnixMilli() }
	return chrono.Interval{Start: at(from), End: at(to)}
}

// hour returns an hour of the first of March 2026.
func hour(h int) chrono.Interval {
	start := day(1, 2).Start + int64(h)*chrono.Hour
	return chrono.Interval{Start: start, End: start + chrono.Hour}
}

var testSchema = timeline.NewSchema([]timeline.Column{{Name: "__time", Type: "LONG"}, {Name: "page", Type: "STRING", MultiValue: true}, {Name: "n", Type: "LONG", Metric: true}})

// segment returns a segment of datasource wiki.
func segment(iv chrono.Interval, version string, partition, core int) *timeline.Segment {
	id := timeline.SegmentID{DataSource: "wiki", Interval: iv, Version: version, Partition: partition}
	s := &timeline.Segment{
		ID: id, Shard: timeline.Numbered{Partition: partition, Core: core}, Schema: testSchema, Size: 100, Rows: 10, BinaryVersion: timeline.BinaryVersion,
	}
	if partition == 0 { // of others the times are not known
		s.Times = chrono.Interval{Start: iv.Start + 5, End: iv.Start + 7}
	}
	return s.Locate(json.RawMessage(fmt.Sprintf(`{"type":"local","path":"/deep/%s"}`, id)))
}

// owner returns a new task of its own group.
func (f *fixture) owner(priority int) tasklock.Owner {
	f.tasks++
	id := fmt.Sprintf("task%d", f.tasks)
	return tasklock.Owner{TaskID: id, GroupID: id, Priority: priority}
}

// lock takes a lock on wiki that must be free.
func (f *fixture) lock(owner tasklock.Owner, kind tasklock.Type, iv chrono.Interval) tasklock.Lock {
	f.t.Helper()
	l, granted, err := f.TryLock(f.ctx(), LockRequest{Request: tasklock.Request{Owner: owner, DataSource: "wiki", Interval: iv, Type: kind}})
	f.ok(err)
	if !granted {
		f.t.Fatalf("%s lock on %v was not granted", kind, iv)
	}
	return l
}

// replace publishes core segments of one day under a lock of its own and returns the version.
func (f *fixture) replace(iv chrono.Interval, partitions int) string {
	f.t.Helper()
	owner := f.owner(50)
	l := f.lock(owner, tasklock.Exclusive, iv)
	var list []*timeline.Segment
	for p := range partitions {
		list = append(list, segment(iv, l.Version, p, partitions))
	}
	f.publish(Publication{TaskID: owner.TaskID, Segments: list})
	f.ok(f.ReleaseLocks(f.ctx(), Fence{}, owner.TaskID, nil))
	return l.Version
}

func (f *fixture) publish(p Publication) Published {
	f.t.Helper()
	p.DataSource = "wiki"
	out, err := f.Publish(f.ctx(), p)
	f.ok(err)
	return out
}

// visible describes what a query of wiki sees now.
func (f *fixture) visible() string {
	f.t.Helper()
	state, err := f.Snapshot(f.ctx())
	f.ok(err)
	return describe(state)
}

// describe names the visible chunks: interval by day, version by rank, partitions/core.
func describe(state *timeline.State) string {
	var parts []string
	for _, h := range state.Timeline("wiki").Lookup(chrono.Eternity) {
		var partitions []string
		for _, s := range h.Segments() {
			partitions = append(partitions, fmt.Sprintf("%d/%d", s.ID.Partition, s.Shard.CorePartitions()))
		}
		parts = append(parts, fmt.Sprintf("%s %s [%s]", h.Interval, h.Version(), strings.Join(partitions, " ")))
	}
	return strings.Join(parts, "\n")
}

func (f *fixture) sees(want ...string) {
	f.t.Helper()
	if got := f.visible(); got != strings.Join(want, "\n") {
		f.t.Fatalf("visible:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

func (f *fixture) saw(iv chrono.Interval, version, partitions string) string {
	return fmt.Sprintf("%s %s [%s]", iv, version, partitions)
}

// prepared completes segments as Publish does.
func prepared(segments ...*timeline.Segment) []*timeline.Segment {
	for _, s := range segments {
		s.File = s.ID.String()
	}
	return segments
}
