package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/store"
	"github.com/hengedb/henge/internal/timeline"
)

// fixture is a metastore and a deep storage with segments of datasource wiki.
type fixture struct {
	t     *testing.T
	store *metastore.Store
	deep  deepstore.Store
	tasks int
}

// onEach runs a test over a directory and over S3.
func onEach(t *testing.T, test func(f *fixture)) {
	open := func(t *testing.T, deep deepstore.Store, err error) {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := deep.Close(); err != nil {
				t.Error(err)
			}
		})
		test(&fixture{t: t, store: store.Open(t, clock.System()), deep: deep})
	}
	t.Run("directory", func(t *testing.T) {
		deep, err := deepstore.OpenLocal(t.TempDir())
		open(t, deep, err)
	})
	t.Run("s3", func(t *testing.T) {
		backend := s3mem.New()
		if err := backend.CreateBucket("deep"); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(gofakes3.New(backend).Server())
		t.Cleanup(server.Close)
		client, err := s3.Connect(t.Context(), s3.Options{Endpoint: server.URL, Region: "us-east-1",
			AccessKey: secret.NewText("a"), SecretKey: secret.NewText("s")})
		if err != nil {
			t.Fatal(err)
		}
		deep, err := s3.NewStore(client, "deep", "druid/", t.TempDir())
		open(t, deep, err)
	})
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func day(n int) chrono.Interval {
	return chrono.Interval{Start: int64(n) * chrono.Day, End: int64(n+1) * chrono.Day}
}

// publish publishes the segment of a day and makes it unused.
func (f *fixture) publish(n int, used bool) string {
	f.t.Helper()
	f.tasks++
	id := fmt.Sprintf("load%d", f.tasks)
	l, granted, err := f.store.TryLock(f.t.Context(), metastore.LockRequest{Request: tasklock.Request{Owner: tasklock.Owner{TaskID: id, GroupID: id, Priority: 50}, DataSource: "wiki",
		Interval: day(n), Type: tasklock.Exclusive}})
	if err != nil || !granted {
		f.t.Fatalf("lock: %v, %v", granted, err)
	}
	key := fmt.Sprintf("segments/wiki/%d/%s.segment", n, id)
	f.ok(f.deep.Put(f.t.Context(), key, strings.NewReader("bytes of "+id)))
	s := (&timeline.Segment{
		ID: timeline.SegmentID{DataSource: "wiki", Interval: day(n), Version: l.Version}, Shard: timeline.Numbered{Core: 1},
		Schema: timeline.NewSchema([]timeline.Column{{Name: "__time", Type: "LONG"}}), Size: 5, Rows: 1, BinaryVersion: timeline.BinaryVersion,
	}).Locate(f.deep.LoadSpec(key))
	_, err = f.store.Publish(f.t.Context(), metastore.Publication{TaskID: id, DataSource: "wiki", Segments: []*timeline.Segment{s}})
	f.ok(err)
	f.ok(f.store.ReleaseLocks(f.t.Context(), metastore.Fence{}, id, nil))
	if !used {
		_, err = f.store.MarkUnused(f.t.Context(), metastore.Fence{}, "wiki", metastore.Selection{IDs: []string{s.ID.String()}}, nil)
		f.ok(err)
	}
	return s.ID.String()
}

// run runs a task with the members of its payload.
func (f *fixture) run(store Store, kind, members string) error {
	f.t.Helper()
	k := New(kind, store, f.deep, "cold/archive", slog.New(slog.DiscardHandler))
	t := &task.Task{ID: "task", GroupID: "task", Type: kind, DataSource: "wiki", Payload: json.RawMessage(`{"type":"` + kind + `",` + members + `}`)}
	ready, err := k.Prepare(f.t.Context(), t)
	if err != nil {
		return err
	}
	if !ready {
		f.t.Fatal("the lock is not free")
	}
	return errors.Join(k.Run(f.t.Context(), t), k.Release(f.t.Context(), t))
}

// places returns the directories of all objects, and checks that each segment still has its bytes.
func (f *fixture) places() string {
	f.t.Helper()
	list, err := f.deep.List(f.t.Context(), "", "", 100)
	f.ok(err)
	var out []string
	for _, o := range list {
		out = append(out, o.Key[:strings.LastIndex(o.Key, "/")])
	}
	unused, err := f.store.UnusedSegments(f.t.Context(), "wiki", metastore.UnusedFilter{})
	f.ok(err)
	used, err := f.store.UsedSegments(f.t.Context(), "wiki")
	f.ok(err)
	for _, row := range append(used, unused...) {
		key, err := f.deep.Key(row.LoadSpec())
		f.ok(err)
		o, err := f.deep.Open(f.t.Context(), key)
		f.ok(err)
		text, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		f.ok(errors.Join(err, o.Close()))
		if !strings.HasPrefix(string(text), "bytes of load") {
			f.t.Errorf("segment [%s] has the bytes %q", row.ID, text)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

const all = `"interval":"1970-01-01/1980-01-01"`

func TestBytesMove(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.publish(1, false)
		second := f.publish(2, false)
		f.publish(3, true)
		for _, step := range []struct{ kind, members, want string }{
			{ArchiveType, `"interval":"1970-01-02/1970-01-03"`, "cold/archive/segments/wiki/1 segments/wiki/2 segments/wiki/3"},
			{ArchiveType, all, "cold/archive/segments/wiki/1 cold/archive/segments/wiki/2 segments/wiki/3"},
			{ArchiveType, all, "cold/archive/segments/wiki/1 cold/archive/segments/wiki/2 segments/wiki/3"},
			{Type, all + `,"target":{"baseKey":"/elsewhere/"},"versions":["none"]`, "cold/archive/segments/wiki/1 cold/archive/segments/wiki/2 segments/wiki/3"},
			{RestoreType, `"interval":"1970-01-03/1970-01-04"`, "cold/archive/segments/wiki/1 segments/wiki/2 segments/wiki/3"},
			{Type, all + `,"target":{"baseKey":"/elsewhere/"}`, "elsewhere/segments/wiki/1 elsewhere/segments/wiki/2 segments/wiki/3"},
			{RestoreType, all, "elsewhere/segments/wiki/1 elsewhere/segments/wiki/2 segments/wiki/3"},
			{Type, all + `,"targetLoadSpec":{"baseKey":""}`, "segments/wiki/1 segments/wiki/2 segments/wiki/3"},
		} {
			f.ok(f.run(f.store, step.kind, step.members))
			if got := f.places(); got != step.want {
				f.t.Errorf("%s %s: %s, want %s", step.kind, step.members, got, step.want)
			}
		}
		if files, err := f.store.UnreferencedFiles(f.t.Context(), 10); err != nil || len(files) > 0 {
			f.t.Errorf("files without rows are left: %v, %v", files, err)
		}
		_, err := f.store.MarkSegmentUsed(f.t.Context(), metastore.Fence{}, "wiki", second)
		f.ok(err)
	})
}

// marking makes a segment used between the copy of its bytes and the note of their place, or fails
// then.
type marking struct {
	*metastore.Store
	id  string
	err error
}

// MoveFile implements Store.
func (m *marking) MoveFile(ctx context.Context, fence metastore.Fence, f metastore.File, to json.RawMessage) (string, bool, error) {
	if m.id != "" {
		if _, err := m.MarkSegmentUsed(ctx, metastore.Fence{}, "wiki", m.id); err != nil {
			return "", false, err
		}
	}
	left, moved, err := m.Store.MoveFile(ctx, fence, f, to)
	return left, moved, errors.Join(err, m.err)
}

func TestUsedSegmentsStayInTheirPlace(t *testing.T) {
	onEach(t, func(f *fixture) {
		id := f.publish(1, false)
		f.ok(f.run(&marking{Store: f.store, id: id}, ArchiveType, all))
		if got := f.places(); got != "segments/wiki/1" {
			f.t.Errorf("the bytes of a segment that is used are at %s", got)
		}
	})
}

// A task that ends before it deletes the old bytes leaves them as a file that no row names, for
// kill tasks.
func TestCrashLeavesNoBytesUnnamed(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.publish(1, false)
		broken := errors.New("the process ends")
		if err := f.run(&marking{Store: f.store, err: broken}, ArchiveType, all); !errors.Is(err, broken) {
			f.t.Fatal(err)
		}
		if got := f.places(); got != "cold/archive/segments/wiki/1 segments/wiki/1" {
			f.t.Errorf("the bytes are at %s", got)
		}
		files, err := f.store.UnreferencedFiles(f.t.Context(), 10)
		f.ok(err)
		if len(files) != 1 {
			f.t.Fatalf("files without rows: %v", files)
		}
		key, err := f.deep.Key(files[0].LoadSpec)
		if err != nil || !strings.HasPrefix(key, "segments/wiki/1/") {
			f.t.Errorf("the file without rows is [%s], %v", key, err)
		}
	})
}

func TestTasksThatAreRefused(t *testing.T) {
	onEach(t, func(f *fixture) {
		for members, want := range map[string]string{
			`"interval":null`:                      "has no interval",
			all:                                    "has no [target]",
			all + `,"target":{"bucket":"other"}`:   "Bucket [other]",
			all + `,"target":{"baseKey":"../out"}`: "which is not allowed",
			all + `,"target":"cold"`:               "is not readable",
		} {
			if err := f.run(f.store, Type, members); err == nil || !strings.Contains(err.Error(), want) {
				f.t.Errorf("%s: %v, want %q", members, err, want)
			}
		}
	})
}
