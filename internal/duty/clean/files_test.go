package clean

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/faulty"
	"github.com/hengedb/henge/internal/testkit/store"
	"github.com/hengedb/henge/internal/timeline"
)

// storage is a metastore and a deep storage with the duty that keeps files in order.
type storage struct {
	t       *testing.T
	clock   *fakeclock.Clock
	store   *metastore.Store
	local   *deepstore.Local
	deep    *faulty.Store
	tasks   queue
	cleaner *Cleaner
}

func newStorage(t *testing.T) *storage {
	s := &storage{t: t, clock: fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))}
	s.store = store.Open(t, s.clock)
	var err error
	s.local, err = deepstore.OpenLocal(t.TempDir())
	s.ok(err)
	t.Cleanup(func() { s.ok(s.local.Close()) })
	s.deep = faulty.New(s.local, 1, faulty.Plan{})
	s.cleaner = New(s.store, &s.tasks, Options{
		Deep: s.deep, Prefixes: []string{"segments/", "cold/segments/"}, Clock: s.clock, Log: slog.New(slog.DiscardHandler),
		Chores: map[string]Chore{Unreferenced: {On: true}, Orphaned: {On: true, Retain: 5 * 24 * time.Hour}},
	})
	return s
}

func (s *storage) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// put writes an object as it was written so many days ago.
func (s *storage) put(key string, days int) string {
	s.t.Helper()
	path, err := s.local.Path(key)
	s.ok(err)
	s.ok(os.MkdirAll(filepath.Dir(path), 0o700)) // as the store would, without waiting for the disk
	s.ok(os.WriteFile(path, []byte("x"), 0o600))
	at := s.clock.Now().AddDate(0, 0, -days)
	s.ok(os.Chtimes(path, at, at))
	return key
}

// fileKey is the key of a file of the segment of a day.
func fileKey(dataSource string, day, file int) string {
	return fmt.Sprintf("segments/%s/day%d/%s%016x.segment", dataSource, day, []string{"v1_0_", "v1/0/", ""}[file%3], file)
}

// publish publishes the segment of a day, whose file is old, and returns its id.
func (s *storage) publish(dataSource string, day int, key string) string {
	s.t.Helper()
	iv := chrono.Interval{Start: int64(day) * chrono.Day, End: int64(day+1) * chrono.Day}
	id := fmt.Sprintf("load%d", day)
	lock, _, err := s.store.TryLock(s.t.Context(), metastore.LockRequest{Request: tasklock.Request{
		Owner: tasklock.Owner{TaskID: id, GroupID: id, Priority: 50}, DataSource: dataSource, Interval: iv, Type: tasklock.Exclusive,
	}})
	s.ok(err)
	g := (&timeline.Segment{
		ID: timeline.SegmentID{DataSource: dataSource, Interval: iv, Version: lock.Version}, Shard: timeline.Numbered{Core: 1},
		Schema: timeline.NewSchema(nil), BinaryVersion: 9,
	}).Locate(s.deep.LoadSpec(s.put(key, 100)))
	_, err = s.store.Publish(s.t.Context(), metastore.Publication{TaskID: id, DataSource: dataSource, Segments: []*timeline.Segment{g}})
	s.ok(err)
	return g.ID.String()
}

// unuse marks a segment unused.
func (s *storage) unuse(dataSource, id string) {
	s.t.Helper()
	_, err := s.store.MarkUnused(s.t.Context(), metastore.Fence{}, dataSource, metastore.Selection{IDs: []string{id}}, nil)
	s.ok(err)
}

func (s *storage) keys() []string {
	s.t.Helper()
	list, err := s.local.List(s.t.Context(), "", "", 10_000)
	s.ok(err)
	var out []string
	for _, o := range list {
		out = append(out, o.Key)
	}
	return out
}

// left checks which objects are there after a round.
func (s *storage) left(what string, want ...string) {
	s.t.Helper()
	s.cleaner.Round(s.t.Context())
	slices.Sort(want)
	if diff := cmp.Diff(want, s.keys()); diff != "" {
		s.t.Errorf("%s: %s", what, diff)
	}
}

// What no segment names goes when it is old enough for no running task to have written it. What a
// segment names stays, used or not, and so does what is no file of a segment.
func TestOrphanedFiles(t *testing.T) {
	s := newStorage(t)
	used, unused := fileKey("wiki", 1, 1), fileKey("wiki", 2, 2)
	s.publish("wiki", 1, used)
	s.unuse("wiki", s.publish("wiki", 2, unused))
	foreign := s.put("segments/wiki/day1/v1_0_index.zip", 100)
	young := s.put(fileKey("wiki", 1, 3), 3)
	s.put(fileKey("wiki", 1, 4), 100)
	s.put(fileKey("gone", 1, 5), 100)
	s.put("cold/"+fileKey("wiki", 1, 6), 100)
	elsewhere := s.put("tasks/"+fileKey("wiki", 1, 7), 100)
	late := s.put(fileKey("wiki", 1, 8), 8)

	s.tasks = queue{{Task: &task.Task{Created: s.clock.Now().AddDate(0, 0, -8).UnixMilli()}}}
	s.left("while a task runs that may have written one", used, unused, foreign, young, elsewhere, late)
	s.tasks = nil
	s.left("after its end", used, unused, foreign, young, elsewhere)
	s.clock.Advance(4 * 24 * time.Hour)
	s.left("days later", used, unused, foreign, elsewhere)
	if n := s.cleaner.Forgotten(Orphaned); n != 5 {
		t.Errorf("%d files went", n)
	}
}

// More files than are listed and deleted at once, a failure in the middle, and a round that is
// stopped.
func TestOrphanedFilesGoInSeveralRounds(t *testing.T) {
	s := newStorage(t)
	s.cleaner.listed, s.cleaner.deleted = 10, 3
	var want []string
	for i := range 45 {
		key := fileKey(fmt.Sprintf("wiki%d", i%3), i, i)
		if i%10 == 7 {
			s.publish("wiki"+fmt.Sprint(i%3), i, key)
			want = append(want, key)
		} else {
			s.put(key, 100)
		}
	}
	all := len(s.keys())
	s.deep.FailNext(faulty.Delete, errors.New("out of order"))
	s.cleaner.Round(t.Context())
	if n := len(s.keys()); n != all {
		t.Errorf("%d of %d files are left", n, all)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	s.cleaner.Round(stopped)
	s.left("in the end", want...)
}

// A task that is stopped between two steps of deleting or moving leaves bytes that no segment
// names; the duty deletes them.
func TestWhatCrashesLeave(t *testing.T) {
	s := newStorage(t)
	killed, moved, copied := fileKey("wiki", 1, 1), fileKey("wiki", 2, 2), fileKey("wiki", 3, 3)
	first, second := s.publish("wiki", 1, killed), s.publish("wiki", 2, moved)
	s.publish("wiki", 3, copied)
	s.unuse("wiki", first)
	s.unuse("wiki", second)

	// A kill task that was stopped when it had deleted the rows.
	_, err := s.store.DeleteUnused(t.Context(), metastore.Fence{}, "wiki", []string{first})
	s.ok(err)
	// A task that had told the metastore of the new place.
	rows, err := s.store.UnusedSegments(t.Context(), "wiki", metastore.UnusedFilter{})
	s.ok(err)
	cold := s.put("cold/"+fileKey("wiki", 2, 4), 100)
	_, there, err := s.store.MoveFile(t.Context(), metastore.Fence{}, metastore.File{ID: rows[0].File, LoadSpec: rows[0].LoadSpec()}, s.deep.LoadSpec(cold))
	s.ok(err)
	if !there {
		t.Fatal("the file was not moved")
	}
	// A task that had only made the copy.
	s.put("cold/"+fileKey("wiki", 3, 5), 100)

	s.deep.FailNext(faulty.Delete, errors.New("out of order"))
	s.cleaner.Round(t.Context())
	s.left("after rounds", cold, copied)
	left, err := s.store.UnreferencedFiles(t.Context(), 10)
	s.ok(err)
	if len(left) > 0 || s.cleaner.Forgotten(Unreferenced) != 2 {
		t.Errorf("left: %v, %d went", left, s.cleaner.Forgotten(Unreferenced))
	}
}

// Tasks that ended long ago go, behind what they have left; one of which that can't be deleted is
// found again.
func TestEndedTasks(t *testing.T) {
	s := newStorage(t)
	var dropped []string
	fails := true
	s.cleaner.o.Chores = map[string]Chore{Ended: {On: true, Retain: 5 * 24 * time.Hour}}
	s.cleaner.o.DropTask = func(_ context.Context, id string) error {
		if fails = !fails; !fails {
			return errors.New("out of order")
		}
		dropped = append(dropped, id)
		return nil
	}
	insert := func(id string, active bool) {
		s.ok(s.store.InsertTask(t.Context(), metastore.Fence{}, metastore.Task{ID: id, GroupID: id, Active: active, Created: s.clock.Now().UnixMilli()}, nil))
	}
	insert("old", false)
	insert("runs", true)
	s.clock.Advance(10 * 24 * time.Hour)
	insert("young", false)
	for range 2 {
		s.cleaner.Round(t.Context())
	}
	if diff := cmp.Diff([]string{"old"}, dropped); diff != "" || s.cleaner.Forgotten(Ended) != 1 {
		t.Errorf("%d tasks went: %s", s.cleaner.Forgotten(Ended), diff)
	}
	left, err := s.store.StaleTasks(t.Context(), s.clock.Now().UnixMilli()+1, 10)
	s.ok(err)
	if diff := cmp.Diff([]string{"young"}, left); diff != "" {
		t.Error(diff)
	}
	if _, err := s.store.Task(t.Context(), "runs"); err != nil {
		t.Error(err)
	}
}
