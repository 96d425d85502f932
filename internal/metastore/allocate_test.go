package metastore

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

func granularity(t *testing.T, name string) chrono.Granularity {
	t.Helper()
	g, err := chrono.ParseGranularity(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// appendRequest asks for a segment of a day under an APPEND lock.
func (f *fixture) appendRequest(owner tasklock.Owner, sequence string, at int64) AllocateRequest {
	return AllocateRequest{
		Owner: owner, DataSource: "wiki", Timestamp: at, QueryGranularity: granularity(f.t, "none"), SegmentGranularity: granularity(f.t, "day"),
		SequenceName: sequence, LockType: tasklock.Append,
	}
}

func TestAllocateWhereNothingIs(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		r := f.appendRequest(owner, "s", hour(5).Start)
		for _, tt := range []struct {
			kind tasklock.Type
			at   int64
		}{{tasklock.Append, hour(5).Start}, {tasklock.Exclusive, day(2, 3).Start}, {tasklock.Shared, day(3, 4).Start}} {
			r.LockType, r.Timestamp, r.SequenceName = tt.kind, tt.at, string(tt.kind)
			p, l, granted, err := f.AllocateSegment(f.ctx(), r)
			f.ok(err)
			want := l.Version
			if tt.kind == tasklock.Append {
				want = "1970-01-01T00:00:00.000Z"
			}
			if !granted || p.ID.Version != want || p.ID.Partition != 0 || p.Shard != (timeline.Numbered{}) || !l.Interval.Contains(p.ID.Interval) {
				t.Errorf("%s: %+v, %+v, %v", tt.kind, p, l, granted)
			}
		}
	})
}

func TestAllocateIsIdempotent(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		replica := tasklock.Owner{TaskID: "replica", GroupID: owner.GroupID, Priority: 50}
		allocate := func(change func(*AllocateRequest)) (PendingSegment, error) {
			r := f.appendRequest(owner, "s", hour(5).Start)
			r.LockType = tasklock.Shared
			change(&r)
			p, _, granted, err := f.AllocateSegment(f.ctx(), r)
			if err == nil && !granted {
				t.Fatal("not granted")
			}
			return p, err
		}
		first, err := allocate(func(*AllocateRequest) {})
		f.ok(err)
		for name, tt := range map[string]struct {
			change func(*AllocateRequest)
			want   int
		}{
			"same":            {func(*AllocateRequest) {}, 0},
			"replica":         {func(r *AllocateRequest) { r.Owner = replica }, 0},
			"other sequence":  {func(r *AllocateRequest) { r.SequenceName = "t" }, 1},
			"after the first": {func(r *AllocateRequest) { r.PreviousID = first.ID.String() }, -1},
			"without lineage": {func(r *AllocateRequest) { r.SkipLineage = true; r.PreviousID = "whatever" }, 0},
		} {
			got, err := allocate(tt.change)
			f.ok(err)
			if tt.want >= 0 && (got.ID.Partition == 0) != (tt.want == 0) || tt.want < 0 && got.ID == first.ID {
				t.Errorf("%s: %v", name, got.ID)
			}
			again, err := allocate(tt.change)
			f.ok(err)
			if again.ID != got.ID {
				t.Errorf("%s: first %v, then %v", name, got.ID, again.ID)
			}
		}
		// The pair names one segment: a row of another chunk can't have it.
		_, err = allocate(func(r *AllocateRequest) { r.Timestamp = day(2, 3).Start })
		if !errors.Is(err, ErrCannotAllocate) {
			t.Errorf("another interval for the same pair: %v", err)
		}
		other, err := allocate(func(r *AllocateRequest) { r.SkipLineage = true; r.Timestamp = day(2, 3).Start })
		f.ok(err)
		if other.ID.Interval != day(2, 3) {
			t.Errorf("without lineage: %v", other.ID)
		}
	})
}

func TestAllocateAppendsToChunk(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		v := f.replace(day(1, 2), 2)
		owner := f.owner(50)
		// The chunk there decides interval, version and core size.
		r := f.appendRequest(owner, "s", hour(5).Start)
		r.SegmentGranularity = granularity(t, "hour")
		p, _, _, err := f.AllocateSegment(f.ctx(), r)
		f.ok(err)
		want := timeline.SegmentID{DataSource: "wiki", Interval: day(1, 2), Version: v, Partition: 2}
		if p.ID != want || p.Shard != (timeline.Numbered{Partition: 2, Core: 2}) {
			t.Errorf("allocated %+v", p)
		}
		// Not, if it does not contain the row's interval.
		r.SequenceName, r.QueryGranularity = "t", granularity(t, "month")
		_, _, _, err = f.AllocateSegment(f.ctx(), r)
		f.refused(err, "which does not contain the row's interval")
		// A month does not go over a day that is there: the next finer granularity that fits is taken.
		r = f.appendRequest(owner, "u", day(5, 6).Start)
		r.SegmentGranularity = granularity(t, "month")
		p, _, _, err = f.AllocateSegment(f.ctx(), r)
		f.ok(err)
		if p.ID.Interval != day(5, 6) || p.ID.Partition != 0 {
			t.Errorf("beside a day: %v", p.ID)
		}
	})
}

func TestAllocateRefusals(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner, loader := f.owner(50), f.owner(50)
		l := f.lock(loader, tasklock.Exclusive, day(1, 4))
		unknown := segment(day(1, 2), l.Version, 0, 0)
		unknown.Shard = timeline.Single{Dimension: "page", Core: timeline.UnknownCore}
		f.publish(Publication{TaskID: loader.TaskID, Segments: []*timeline.Segment{unknown}})
		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, loader.TaskID, nil))
		_, _, _, err := f.AllocateSegment(f.ctx(), f.appendRequest(owner, "s", hour(1).Start))
		f.refused(err, "do not record their number")

		// A promised hour keeps the day from being promised, but not the hour.
		r := f.appendRequest(owner, "hours", day(2, 3).Start)
		r.SegmentGranularity = granularity(t, "hour")
		if _, _, _, err := f.AllocateSegment(f.ctx(), r); err != nil {
			t.Fatal(err)
		}
		r = f.appendRequest(owner, "days", day(2, 3).Start)
		p, _, _, err := f.AllocateSegment(f.ctx(), r)
		f.ok(err)
		if p.ID.Interval.Millis() != chrono.Hour || p.ID.Partition != 1 {
			t.Errorf("a day beside a promised hour: %v", p.ID)
		}

		// A lock of another group is no refusal: the caller may wait.
		f.lock(loader, tasklock.Exclusive, day(3, 4))
		_, _, granted, err := f.AllocateSegment(f.ctx(), f.appendRequest(owner, "s", day(3, 4).Start))
		if err != nil || granted {
			t.Errorf("under another's lock: %v, %v", granted, err)
		}
		for name, change := range map[string]func(*AllocateRequest){
			"no sequence": func(r *AllocateRequest) { r.SequenceName = "" },
			"REPLACE":     func(r *AllocateRequest) { r.LockType = tasklock.Replace },
			"no task":     func(r *AllocateRequest) { r.Owner.TaskID = "" },
		} {
			r := f.appendRequest(owner, "s", 0)
			change(&r)
			if _, _, _, err := f.AllocateSegment(f.ctx(), r); err == nil {
				t.Errorf("%s was not refused", name)
			}
		}
	})
}

func TestAllocateAvoidsUnusedSegments(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		p, _, _, err := f.AllocateSegment(f.ctx(), f.appendRequest(owner, "s", hour(1).Start))
		f.ok(err)
		f.publish(Publication{TaskID: owner.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{segment(p.ID.Interval, p.ID.Version, 0, 0)}})
		if _, err := f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := f.DeletePending(f.ctx(), Fence{}, "wiki", PendingFilter{Allocator: owner.TaskID}); err != nil {
			t.Fatal(err)
		}
		p, _, _, err = f.AllocateSegment(f.ctx(), f.appendRequest(owner, "t", hour(1).Start))
		f.ok(err)
		if p.ID.Version != "1970-01-01T00:00:00.000ZS" || p.ID.Partition != 0 {
			t.Errorf("allocated %v beside unused segments of the first version", p.ID)
		}
	})
}

func TestPendingSegments(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		for _, sequence := range []string{"a", "b"} {
			if _, _, _, err := f.AllocateSegment(f.ctx(), f.appendRequest(owner, sequence, hour(1).Start)); err != nil {
				t.Fatal(err)
			}
			f.clock.Advance(1e9)
		}
		created := chrono.Interval{Start: testStart.UnixMilli(), End: testStart.UnixMilli() + 1}
		n, err := f.DeletePending(f.ctx(), Fence{}, "wiki", PendingFilter{Interval: &created})
		f.ok(err)
		left, err := f.PendingSegments(f.ctx(), "wiki")
		f.ok(err)
		if n != 1 || len(left) != 1 || left[0].SequenceName != "b" {
			t.Errorf("deleted %d, left %+v", n, left)
		}
	})
}

// Ids of several chunks are promised in one transaction, each after the one before, and again when
// they are asked for again. They end where another group has a lock.
func TestAllocateSegments(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner, other := f.owner(50), f.owner(50)
		f.lock(other, tasklock.Exclusive, hour(3))
		r := f.appendRequest(owner, "s", 0)
		r.LockType, r.SegmentGranularity = tasklock.Shared, granularity(t, "hour")
		timestamps := []int64{hour(1).Start, hour(1).Start, hour(2).Start, hour(3).Start, hour(4).Start}
		first, err := f.AllocateSegments(f.ctx(), r, timestamps)
		f.ok(err)
		if len(first) != 3 || first[0].ID.Partition != 0 || first[1].ID.Partition != 1 || first[2].ID.Interval != hour(2) || first[2].PreviousID != first[1].ID.String() {
			t.Fatalf("%+v", first)
		}
		f.ok(f.ReleaseLocks(f.ctx(), Fence{}, other.TaskID, nil))
		again, err := f.AllocateSegments(f.ctx(), r, timestamps)
		f.ok(err)
		if len(again) != 5 || !slices.EqualFunc(again[:3], first, func(a, b PendingSegment) bool { return a.ID == b.ID }) || again[4].ID.Interval != hour(4) {
			t.Errorf("%+v", again)
		}
	})
}

// What overlaps an interval is found by an index, however many other intervals a datasource has:
// the work of an append to N chunks must not grow with the square of N.
func TestOverlapsAreFoundByIndex(t *testing.T) {
	f := openFixture(t, Options{Path: filepath.Join(t.TempDir(), "metadata.db")})
	owner := f.owner(50)
	for h := range 20 {
		f.lock(owner, tasklock.Shared, hour(h))
	}
	f.lock(f.owner(50), tasklock.Shared, day(1, 3))
	got, err := f.read().overlappingLocks(f.ctx(), "wiki", chrono.Interval{Start: hour(4).Start + 1, End: hour(6).Start})
	f.ok(err)
	var found []chrono.Interval
	for _, l := range got {
		found = append(found, l.Interval)
	}
	if want := []chrono.Interval{hour(4), hour(5), day(1, 3)}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	for table, prefix := range map[string]string{"task_locks l": "l.", "pending_segments": ""} {
		name, _, _ := strings.Cut(table, " ")
		condition := ""
		f.ok(f.read().eachLength(f.ctx(), "task_locks", prefix, "wiki", hour(4), func(c string, _ []any) error { condition = c; return nil }))
		plan, err := list(f.ctx(), f.read(), func(rows *sql.Rows) (text string, err error) {
			var id, parent, unused int
			return text, rows.Scan(&id, &parent, &unused, &text)
		}, "EXPLAIN QUERY PLAN SELECT 1 FROM "+table+" "+condition, "wiki", 1, 1, 1)
		f.ok(err)
		if want := name + "_overlap (datasource=? AND <expr>=? AND start_ms>? AND start_ms<?)"; len(plan) != 1 || !strings.Contains(plan[0], want) {
			t.Errorf("%s is searched by %q, want %s", table, plan, want)
		}
	}
}
