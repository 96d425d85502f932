package metastore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

func TestPublish(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		v1 := f.replace(day(1, 2), 2)
		f.sees(f.saw(day(1, 2), v1, "0/2 1/2"))
		v2 := f.replace(day(1, 2), 1)
		f.sees(f.saw(day(1, 2), v2, "0/1"))
		f.reopen()
		f.sees(f.saw(day(1, 2), v2, "0/1"))

		rows, err := f.UsedSegments(f.ctx(), "wiki", day(1, 2))
		f.ok(err)
		if len(rows) != 3 {
			t.Fatalf("%d used segments, want 3", len(rows))
		}
		for partition, got := range rows[:2] {
			want := segment(day(1, 2), v1, partition, 2)
			want.File = want.ID.String()
			if diff := cmp.Diff(want, got.Segment, cmp.AllowUnexported(timeline.Schema{})); diff != "" {
				t.Error(diff)
			}
		}
		got := rows[0]
		if !got.Used || got.Created != testStart.UnixMilli() || got.TaskID != "task1" {
			t.Errorf("row %+v", got)
		}
	})
}

func TestPublishNeedsLocks(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		try := func(p Publication) error {
			p.DataSource = "wiki"
			if p.TaskID == "" {
				p.TaskID = owner.TaskID
			}
			_, err := f.Publish(f.ctx(), p)
			return err
		}
		s := segment(day(1, 2), "2000-01-01T00:00:00.000Z", 0, 1)
		one := []*timeline.Segment{s}
		if err := try(Publication{Segments: one}); !errors.Is(err, ErrNotLocked) {
			t.Errorf("without lock: %v", err)
		}
		l := f.lock(owner, tasklock.Exclusive, day(1, 3))
		for name, p := range map[string]Publication{
			"other interval":     {Segments: []*timeline.Segment{segment(day(2, 4), s.ID.Version, 0, 1)}},
			"other task":         {TaskID: "stranger", Segments: one},
			"version above lock": {Segments: []*timeline.Segment{segment(day(1, 2), l.Version+"S", 0, 1)}},
			"append action":      {Action: PublishAppend, Segments: one},
			"replace action":     {Action: PublishReplace, Segments: one},
			"mark outside":       {MarkUnused: []chrono.Interval{day(2, 4)}},
		} {
			if err := try(p); !errors.Is(err, ErrNotLocked) {
				t.Errorf("%s: %v", name, err)
			}
		}
		winner := f.owner(75)
		f.lock(winner, tasklock.Exclusive, day(1, 2))
		if err := try(Publication{Segments: one}); !errors.Is(err, ErrLockRevoked) {
			t.Errorf("revoked: %v", err)
		}
		f.sees()
		f.publish(Publication{TaskID: winner.TaskID, Segments: one})
	})
}

func TestPublishRefusesBadSegments(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		l := f.lock(owner, tasklock.Exclusive, day(1, 3))
		good := segment(day(1, 2), l.Version, 0, 1)
		bad := func(change func(*timeline.Segment)) []*timeline.Segment {
			s := *good
			change(&s)
			return []*timeline.Segment{&s}
		}
		for name, tt := range map[string]struct {
			segments []*timeline.Segment
			message  string
		}{
			"twice":           {[]*timeline.Segment{good, good}, "published twice"},
			"no load spec":    {bad(func(s *timeline.Segment) { s.Locate(nil) }), "no load spec"},
			"datasource":      {bad(func(s *timeline.Segment) { s.ID.DataSource = "other" }), "does not belong to datasource [wiki]"},
			"tombstone bytes": {bad(func(s *timeline.Segment) { s.Shard = timeline.Tombstone{}; s.File = "f" }), "is a tombstone and has a file"},
			"partition":       {bad(func(s *timeline.Segment) { s.ID.Partition = 7 }), "has partition number [0] in its shard spec"},
		} {
			_, err := f.Publish(f.ctx(), Publication{TaskID: owner.TaskID, DataSource: "wiki", Segments: tt.segments})
			f.refused(fmt.Errorf("%s: %w", name, err), tt.message)
		}
	})
}

func TestPublishAgain(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		l := f.lock(owner, tasklock.Exclusive, day(1, 2))
		p := Publication{
			TaskID: owner.TaskID, DataSource: "wiki", Segments: []*timeline.Segment{segment(day(1, 2), l.Version, 0, 2), segment(day(1, 2), l.Version, 1, 2)},
			Offsets: &OffsetSwap{ID: "stream", Next: func(before json.RawMessage) (json.RawMessage, error) {
				return append(slices.Clone(before), '1'), nil
			}},
		}
		first, err := f.Publish(f.ctx(), p)
		f.ok(err)
		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, owner.TaskID, nil))
		again, err := f.Publish(f.ctx(), p)
		f.ok(err)
		moved, _, err := f.Offsets(f.ctx(), "stream")
		f.ok(err)
		if first.Already || !again.Already || again.Number != first.Number || string(moved.Payload) != "1" {
			t.Errorf("first %+v, again %+v, offsets moved to [%s]", first, again, moved.Payload)
		}
		p.Segments = append(p.Segments, segment(day(1, 2), l.Version, 2, 2))
		_, err = f.Publish(f.ctx(), p)
		f.refused(err, "is published already, but not with all segments")
		other := segment(day(1, 2), l.Version, 0, 2)
		other.File = "elsewhere"
		p.Segments = []*timeline.Segment{other}
		_, err = f.Publish(f.ctx(), p)
		f.refused(err, "is published already with other contents")
	})
}

func TestPublishOffsets(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(75)
		l := f.lock(owner, tasklock.Exclusive, day(1, 2))
		swap := func(from, to string) *OffsetSwap {
			return &OffsetSwap{ID: "stream", Next: func(stored json.RawMessage) (json.RawMessage, error) {
				if string(stored) != from {
					return nil, fmt.Errorf("stored %s", stored)
				}
				return json.RawMessage(to), nil
			}}
		}
		out := f.publish(Publication{TaskID: owner.TaskID, Segments: []*timeline.Segment{segment(day(1, 2), l.Version, 0, 0)}, Offsets: swap("", `{"0":10}`)})
		_, err := f.Publish(f.ctx(), Publication{
			TaskID: owner.TaskID, DataSource: "wiki", Segments: []*timeline.Segment{segment(day(1, 2), l.Version, 1, 0)}, Offsets: swap("", `{"0":20}`),
		})
		if err == nil || err.Error() != `stored {"0":10}` {
			t.Fatalf("a diverged swap: %v", err)
		}
		f.sees(f.saw(day(1, 2), l.Version, "0/0"))
		// Rows that were all rejected move the offsets only.
		empty := f.publish(Publication{TaskID: owner.TaskID, Offsets: swap(`{"0":10}`, `{"0":30}`)})
		if empty.Number != out.Number {
			t.Errorf("number %d after %d", empty.Number, out.Number)
		}
		stored, found, err := f.Offsets(f.ctx(), "stream")
		f.ok(err)
		if !found || string(stored.Payload) != `{"0":30}` || stored.DataSource != "wiki" {
			t.Errorf("stored %+v", stored)
		}
		deleted, err := f.DeleteOffsets(f.ctx(), Fence{}, "stream")
		f.ok(err)
		if _, found, _ := f.Offsets(f.ctx(), "stream"); found || !deleted {
			t.Error("deleted offsets are still there")
		}
	})
}

func TestPublishTombstonesAndMarks(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		v1 := f.replace(day(1, 2), 1)
		v2 := f.replace(day(2, 3), 1)
		owner := f.owner(50)
		l := f.lock(owner, tasklock.Exclusive, chrono.Eternity)
		grave := timeline.NewTombstone(timeline.SegmentID{DataSource: "wiki", Interval: day(1, 2), Version: l.Version})
		f.publish(Publication{TaskID: owner.TaskID, Segments: []*timeline.Segment{grave}})
		f.sees(f.saw(day(1, 2), l.Version, "0/1"), f.saw(day(2, 3), v2, "0/1"))
		out := f.publish(Publication{TaskID: owner.TaskID, MarkUnused: []chrono.Interval{day(1, 3)}})
		f.sees()
		if out.Number == 0 {
			t.Error("marking has no number")
		}
		rows, err := f.UnusedSegments(f.ctx(), "wiki", UnusedFilter{})
		f.ok(err)
		if len(rows) != 3 || rows[0].ID.Version == v1 == rows[0].Used {
			t.Errorf("unused: %+v", rows)
		}
	})
}

// TestConcurrentAppendAndReplace walks through the three cases of upgrade.go.
func TestConcurrentAppendAndReplace(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		old := f.replace(day(1, 2), 2)
		appender, replacer := f.owner(75), f.owner(50)
		allocate := func(sequence string) PendingSegment {
			p, _, granted, err := f.AllocateSegment(f.ctx(), f.appendRequest(appender, sequence, hour(3).Start))
			f.ok(err)
			if !granted {
				t.Fatal("no lock for the append")
			}
			return p
		}
		published := func(p PendingSegment) *timeline.Segment {
			s := segment(p.ID.Interval, p.ID.Version, p.ID.Partition, p.Shard.CorePartitions())
			return s
		}
		a := allocate("before the lock")
		f.publish(Publication{TaskID: appender.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{published(a)}})

		l := f.lock(replacer, tasklock.Replace, day(1, 2))
		b, c := allocate("under the lock"), allocate("after the replacement")
		if b.ID.Version != old || b.ID.Partition != 3 || c.ID.Partition != 4 {
			t.Fatalf("allocated %v and %v", b.ID, c.ID)
		}
		f.publish(Publication{TaskID: appender.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{published(b)}})
		f.sees(f.saw(day(1, 2), old, "0/2 1/2 2/2 3/2"))

		out := f.publish(Publication{TaskID: replacer.TaskID, Action: PublishReplace, Segments: []*timeline.Segment{
			segment(day(1, 2), l.Version, 0, 2), segment(day(1, 2), l.Version, 1, 2),
		}})
		// b comes along as partition 2, and the core set of all is widened to 3.
		f.sees(f.saw(day(1, 2), l.Version, "0/3 1/3 2/3"))
		if len(out.UpgradedPending) != 1 || out.UpgradedPending[0].UpgradedFrom != c.ID.String() || out.UpgradedPending[0].ID.Partition != 3 {
			t.Errorf("upgraded pending: %+v", out.UpgradedPending)
		}
		copied, err := f.Segments(f.ctx(), (timeline.SegmentID{DataSource: "wiki", Interval: day(1, 2), Version: l.Version, Partition: 2}).String())
		f.ok(err)
		if len(copied) != 1 || copied[0].File != b.ID.String() || copied[0].UpgradedFrom != b.ID.String() {
			t.Errorf("copy: %+v", copied)
		}

		// c was promised before the replacement and publishes after it, under both ids.
		late := f.publish(Publication{TaskID: appender.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{published(c)}})
		if len(late.Segments) != 2 {
			t.Errorf("published %d segments, want 2", len(late.Segments))
		}
		f.sees(f.saw(day(1, 2), l.Version, "0/3 1/3 2/3 3/3"))
		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, replacer.TaskID, nil))

		// A copy shares the file of its source: the file stays until both are gone.
		f.deleteAll(b.ID.String(), copied[0].ID.String())
	})
}

// What a replacement has read is not published again beside its rows, also if it was appended under
// its lock.
func TestAbsorbedAppends(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.replace(day(1, 2), 2)
		appender, replacer := f.owner(75), f.owner(50)
		l := f.lock(replacer, tasklock.Replace, day(1, 2))
		var read []string
		for _, sequence := range []string{"read", "not read"} {
			p, _, granted, err := f.AllocateSegment(f.ctx(), f.appendRequest(appender, sequence, hour(3).Start))
			f.ok(err)
			if !granted {
				t.Fatal("no lock for the append")
			}
			f.publish(Publication{TaskID: appender.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{
				segment(p.ID.Interval, p.ID.Version, p.ID.Partition, p.Shard.CorePartitions()),
			}})
			if sequence == "read" {
				read = append(read, p.ID.String())
			}
		}
		f.ok(f.Absorb(f.ctx(), appender.TaskID, read)) // holds no lock that replaces
		f.ok(f.Absorb(f.ctx(), replacer.TaskID, read))
		f.publish(Publication{TaskID: replacer.TaskID, Action: PublishReplace, Segments: []*timeline.Segment{segment(day(1, 2), l.Version, 0, 1)}})
		f.sees(f.saw(day(1, 2), l.Version, "0/2 1/2"))
	})
}

// What a replacement keeps is published again beside its rows, whenever it was appended, also if it
// is a copy already.
func TestKeptSegments(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.replace(day(1, 2), 3)
		for range 2 {
			replacer := f.owner(50)
			l := f.lock(replacer, tasklock.Replace, day(1, 2))
			rows, err := f.UsedSegments(f.ctx(), "wiki", day(1, 2))
			f.ok(err)
			visible := timelineOf(rows).Lookup(day(1, 2))
			kept := map[string]chrono.Interval{}
			for _, s := range visible[0].Segments()[1:] {
				kept[s.ID.String()] = s.ID.Interval
			}
			if err := f.Keep(f.ctx(), f.owner(50).TaskID, "wiki", kept); err == nil {
				t.Error("segments are kept without a lock")
			}
			f.ok(f.Keep(f.ctx(), replacer.TaskID, "wiki", kept))
			f.publish(Publication{TaskID: replacer.TaskID, Action: PublishReplace, Segments: []*timeline.Segment{segment(day(1, 2), l.Version, 0, 1)}})
			f.ok(f.ReleaseLocks(f.ctx(), Fence{}, replacer.TaskID, nil))
			f.sees(f.saw(day(1, 2), l.Version, "0/3 1/3 2/3"))
		}
	})
}

// deleteAll deletes two ids of one file, one after the other.
func (f *fixture) deleteAll(first, second string) {
	f.t.Helper()
	for i, id := range []string{first, second} {
		if _, err := f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{IDs: []string{id}}, nil); err != nil {
			f.t.Fatal(err)
		}
		deleted, err := f.DeleteUnused(f.ctx(), Fence{}, "wiki", []string{id})
		f.ok(err)
		if len(deleted) != 1 {
			f.t.Fatalf("deleted %v", deleted)
		}
		files, err := f.UnreferencedFiles(f.ctx(), 10)
		f.ok(err)
		if len(files) != i {
			f.t.Errorf("%d unreferenced files after deleting %d of 2 ids", len(files), i+1)
		}
	}
}

func TestReplaceWithFinerGranularity(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		v := f.replace(day(1, 2), 1)
		appender, replacer := f.owner(75), f.owner(50)
		l := f.lock(replacer, tasklock.Replace, day(1, 3))
		f.lock(appender, tasklock.Append, day(1, 2))
		f.publish(Publication{TaskID: appender.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{segment(day(1, 2), v, 1, 1)}})
		_, err := f.Publish(f.ctx(), Publication{
			TaskID: replacer.TaskID, DataSource: "wiki", Action: PublishReplace, Segments: []*timeline.Segment{segment(hour(0), l.Version, 0, 1)},
		})
		f.refused(err, "Replacing with a finer segment granularity than a concurrent append is unsupported.")
		f.sees(f.saw(day(1, 2), v, "0/1 1/1"))

		// Elsewhere in its interval the replacement may do what it wants; the append stays where it is.
		f.publish(Publication{TaskID: replacer.TaskID, Action: PublishReplace, Segments: []*timeline.Segment{segment(day(2, 3), l.Version, 0, 1)}})
		f.sees(f.saw(day(1, 2), v, "0/1 1/1"), f.saw(day(2, 3), l.Version, "0/1"))
	})
}

// TestReplaceFinerThanPromised cuts an interval in which an id was promised. While the append holds
// its lock, the replacement is refused; afterwards the append is, because its rows would be hidden.
func TestReplaceFinerThanPromised(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.replace(day(1, 3), 1)
		appender, replacer := f.owner(75), f.owner(50)
		promised, _, _, err := f.AllocateSegment(f.ctx(), f.appendRequest(appender, "s", hour(3).Start))
		f.ok(err)
		l := f.lock(replacer, tasklock.Replace, day(1, 3))
		finer := Publication{TaskID: replacer.TaskID, DataSource: "wiki", Action: PublishReplace, Segments: []*timeline.Segment{
			segment(day(1, 2), l.Version, 0, 1), segment(day(2, 3), l.Version, 0, 1),
		}}
		_, err = f.Publish(f.ctx(), finer)
		f.refused(err, "Replacing with a finer segment granularity than a concurrent append is unsupported.")

		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, appender.TaskID, nil))
		f.publish(finer)
		f.lock(appender, tasklock.Append, day(1, 3))
		_, err = f.Publish(f.ctx(), Publication{
			TaskID: appender.TaskID, DataSource: "wiki", Action: PublishAppend,
			Segments: []*timeline.Segment{segment(promised.ID.Interval, promised.ID.Version, promised.ID.Partition, 1)},
		})
		if !errors.Is(err, ErrReplaced) {
			t.Errorf("publishing a promised id over which was replaced: %v", err)
		}
		f.sees(f.saw(day(1, 2), l.Version, "0/1"), f.saw(day(2, 3), l.Version, "0/1"))
	})
}

// TestReplaceAfterSourceIsGone replaces an interval while an append publishes there whose id has a
// twin already: the append itself is hidden by the twin at once, marked unused and deleted, and the
// replacement must find the bytes under the twin's id, once.
func TestReplaceAfterSourceIsGone(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.replace(day(1, 2), 1)
		appender, first, second := f.owner(75), f.owner(50), f.owner(50)
		promised, _, _, err := f.AllocateSegment(f.ctx(), f.appendRequest(appender, "s", hour(3).Start))
		f.ok(err)
		l1 := f.lock(first, tasklock.Replace, day(1, 2))
		f.publish(Publication{TaskID: first.TaskID, Action: PublishReplace, Segments: []*timeline.Segment{segment(day(1, 2), l1.Version, 0, 1)}})
		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, first.TaskID, nil))

		l2 := f.lock(second, tasklock.Replace, day(1, 2))
		f.publish(Publication{TaskID: appender.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{
			segment(promised.ID.Interval, promised.ID.Version, promised.ID.Partition, 1),
		}})
		f.sees(f.saw(day(1, 2), l1.Version, "0/1 1/1"))
		gone := []string{promised.ID.String()}
		_, err = f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{IDs: gone}, nil)
		f.ok(err)
		deleted, err := f.DeleteUnused(f.ctx(), Fence{}, "wiki", gone)
		f.ok(err)
		if len(deleted) != 1 {
			t.Fatalf("deleted %v", deleted)
		}
		out := f.publish(Publication{TaskID: second.TaskID, Action: PublishReplace, Segments: []*timeline.Segment{segment(day(1, 2), l2.Version, 0, 1)}})
		f.sees(f.saw(day(1, 2), l2.Version, "0/2 1/2"))
		if len(out.Segments) != 2 || out.Segments[1].File != promised.ID.String() {
			t.Errorf("published %v", textIDs(out.Segments))
		}
	})
}
