package metastore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

func id(iv chrono.Interval, version string, partition int) string {
	return timeline.SegmentID{DataSource: "wiki", Interval: iv, Version: version, Partition: partition}.String()
}

func TestMarkUnusedAndUsed(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		old := f.replace(day(1, 3), 1)
		v1, v2 := f.replace(day(1, 2), 2), f.replace(day(2, 3), 1)
		ids := func(texts ...string) Selection { return Selection{IDs: texts} }
		within := func(iv chrono.Interval, versions ...string) Selection {
			return Selection{Interval: &iv, Versions: versions}
		}
		unused := func(want int, s Selection) {
			t.Helper()
			f.clock.Advance(1e9)
			got, err := f.MarkUnused(f.ctx(), Fence{}, "wiki", s, &AuditEntry{Type: "segment.markUnused", Key: "wiki", Payload: "x"})
			f.ok(err)
			if got.Changed != want || (got.Number > 0) != (want > 0) {
				t.Fatalf("marked unused: %+v, want %d", got, want)
			}
		}
		used := func(want int, s Selection) {
			t.Helper()
			got, err := f.MarkUsed(f.ctx(), Fence{}, "wiki", s)
			f.ok(err)
			if got.Changed != want {
				t.Fatalf("marked used: %+v, want %d", got, want)
			}
		}
		unused(0, ids("nonsense"))
		unused(1, ids(id(day(1, 2), v1, 1), id(day(1, 2), v1, 1), "nonsense"))
		f.sees(f.saw(day(1, 2), old, "0/1"), f.saw(day(2, 3), v2, "0/1")) // v1 lacks a partition
		unused(0, ids(id(day(1, 2), v1, 1)))
		used(1, ids(id(day(1, 2), v1, 1)))
		used(0, ids(id(day(1, 2), v1, 1)))
		unused(0, within(hour(0)))
		unused(0, within(day(1, 2), "no such version"))
		unused(0, Selection{Interval: &chrono.Eternity, Versions: []string{}})
		unused(2, within(day(1, 2)))
		unused(2, Selection{})
		f.sees()
		_, err := f.MarkUsed(f.ctx(), Fence{}, "wiki", ids(id(day(1, 2), v1, 0), "wiki_x"))
		f.refused(err, "Could not find segment IDs[[wiki_x]] for datasource[wiki]")

		// What others of the selection hide stays unused, unless it is named alone.
		used(3, Selection{})
		f.sees(f.saw(day(1, 2), v1, "0/2 1/2"), f.saw(day(2, 3), v2, "0/1"))
		used(0, within(day(1, 3), old))
		used(0, ids(id(day(1, 3), old, 0)))
		got, err := f.MarkSegmentUsed(f.ctx(), Fence{}, "wiki", id(day(1, 3), old, 0))
		f.ok(err)
		if got.Changed != 1 {
			t.Errorf("forced: %+v", got)
		}
		rows, err := f.Segments(f.ctx(), id(day(1, 2), v1, 1))
		f.ok(err)
		if rows[0].UsedUpdated <= rows[0].Created {
			t.Errorf("a flip left its time: %+v", rows[0])
		}
		entries, err := f.AuditHistory(f.ctx(), AuditFilter{Type: "segment.markUnused", Key: "wiki"})
		f.ok(err)
		if len(entries) == 0 {
			t.Error("no audit entries")
		}
	})
}

func TestUnusedSegments(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		var all []string
		for d := range 5 {
			f.clock.Advance(1e9)
			v := f.replace(day(d+1, d+2), 2)
			all = append(all, id(day(d+1, d+2), v, 0), id(day(d+1, d+2), v, 1))
		}
		names, err := f.DataSources(f.ctx(), false)
		f.ok(err)
		_, err = f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{}, nil)
		f.ok(err)
		marked := f.now()
		after, err := f.DataSources(f.ctx(), false)
		f.ok(err)
		withUnused, err := f.DataSources(f.ctx(), true)
		f.ok(err)
		if len(names) != 1 || len(after) != 0 || len(withUnused) != 1 {
			t.Errorf("datasources %v, then %v, with unused %v", names, after, withUnused)
		}
		some := day(2, 4)
		for name, tt := range map[string]struct {
			filter UnusedFilter
			want   []string
		}{
			"all":        {UnusedFilter{}, all},
			"interval":   {UnusedFilter{Interval: &some}, all[2:6]},
			"page":       {UnusedFilter{AfterID: all[3], Limit: 2}, all[4:6]},
			"descending": {UnusedFilter{AfterID: all[3], Limit: 2, Descending: true}, []string{all[2], all[1]}},
			"too new":    {UnusedFilter{UnusedBefore: marked - 1}, nil},
			"old enough": {UnusedFilter{UnusedBefore: marked, Limit: 1}, all[:1]},
			"no version": {UnusedFilter{Versions: []string{}}, nil},
		} {
			rows, err := f.UnusedSegments(f.ctx(), "wiki", tt.filter)
			f.ok(err)
			var got []string
			for _, r := range rows {
				got = append(got, r.ID.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		intervals, err := f.UnusedIntervals(f.ctx(), "wiki", marked, day(3, 4).End, 2)
		f.ok(err)
		if diff := cmp.Diff([]chrono.Interval{day(1, 2), day(2, 3)}, intervals); diff != "" {
			t.Error(diff)
		}

		// Deleting: rows first, then files, which are listed until they are forgotten.
		_, err = f.MarkSegmentUsed(f.ctx(), Fence{}, "wiki", all[0])
		f.ok(err)
		deleted, err := f.DeleteUnused(f.ctx(), Fence{}, "wiki", []string{all[0], all[1], all[1], "nonsense"})
		f.ok(err)
		if diff := cmp.Diff([]string{all[1]}, deleted); diff != "" {
			t.Errorf("deleted: %s", diff)
		}
		f.reopen()
		files, err := f.UnreferencedFiles(f.ctx(), 10)
		f.ok(err)
		if len(files) != 1 || files[0].ID != all[1] || files[0].Size != 100 || len(files[0].LoadSpec) == 0 {
			t.Fatalf("files to delete: %+v", files)
		}
		owner := f.owner(50)
		f.lock(owner, tasklock.Exclusive, day(1, 2))
		again := segment(day(1, 2), "2000", 5, 0)
		again.File = all[1]
		_, err = f.Publish(f.ctx(), Publication{TaskID: owner.TaskID, DataSource: "wiki", Segments: []*timeline.Segment{again}})
		f.refused(err, "is being deleted from deep storage")
		f.ok(f.ForgetFiles(f.ctx(), Fence{}, []string{all[0], all[1]}))
		if files, err := f.UnreferencedFiles(f.ctx(), 10); err != nil || len(files) != 0 {
			t.Errorf("after forgetting: %v %v", files, err)
		}
		if rows, err := f.Segments(f.ctx(), all[0]); err != nil || len(rows) != 1 || !rows[0].IsLocated() {
			t.Errorf("a referenced file was forgotten: %v", err)
		}
	})
}

// TestOverlapQuery compares the query by spans with looking at every segment.
func TestOverlapQuery(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		rnd := rand.New(rand.NewPCG(3, 4))
		owner := f.owner(50)
		f.lock(owner, tasklock.Exclusive, chrono.Eternity)
		var list []*timeline.Segment
		random := func() chrono.Interval {
			start := rnd.Int64N(1 << 20)
			return chrono.Interval{Start: start, End: start + 1 + rnd.Int64N(1<<rnd.IntN(20))}
		}
		for i := range 200 {
			iv := random()
			switch i {
			case 0:
				iv = chrono.Eternity
			case 1:
				iv = chrono.Interval{Start: chrono.MinInstant, End: 1000}
			case 2:
				iv = chrono.Interval{Start: 1 << 19, End: chrono.MaxInstant}
			}
			list = append(list, segment(iv, fmt.Sprint("1v", i), 0, 1))
		}
		f.publish(Publication{TaskID: owner.TaskID, Segments: slices.Clone(list)})
		for range 200 {
			asked := random()
			rows, err := f.UsedSegments(f.ctx(), "wiki", asked)
			f.ok(err)
			var got, want []string
			for _, r := range rows {
				got = append(got, r.ID.String())
			}
			for _, s := range list {
				if s.ID.Interval.Overlaps(asked) {
					want = append(want, s.ID.String())
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("overlapping %v: %s", asked, diff)
			}
		}
	})
}
