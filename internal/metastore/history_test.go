package metastore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// history plays appending and replacing tasks in random order. Each append brings one row; a
// replacement rewrites the rows it read. After every step a query must see every appended row
// exactly once.
type history struct {
	*fixture
	rnd      *rand.Rand
	rows     map[string][]string        // file to its rows
	extents  map[string]chrono.Interval // file to the interval its rows are in
	appended []string
	files    int
	log      []string
}

// appendTask is between its allocation and its publication.
type appendTask struct {
	owner    tasklock.Owner
	asked    int
	promised []PendingSegment
}

// replaceTask holds a REPLACE lock, and has read or not.
type replaceTask struct {
	owner tasklock.Owner
	lock  tasklock.Lock
	read  map[chrono.Interval][]string // rows by the interval of the new segments
	// segments are those that were read.
	segments []SegmentRow
}

func TestNoRowIsLostOrDoubled(t *testing.T) {
	steps := map[string]int{}
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			h := &history{
				fixture: openFixture(t, Options{Path: filepath.Join(t.TempDir(), "metadata.db")}), rnd: rand.New(rand.NewPCG(seed, 1)),
				rows: map[string][]string{}, extents: map[string]chrono.Interval{},
			}
			h.play(100, steps)
		})
	}
	for _, step := range []string{"allocate", "publish append", "lock", "read", "publish replace", "too fine", "release", "twin", "copy", "abandon", "mark overshadowed"} {
		if steps[step] == 0 {
			t.Errorf("no history had the step %q", step)
		}
	}
}

func (h *history) play(n int, steps map[string]int) {
	var appends []*appendTask
	var replaces []*replaceTask
	for range n {
		h.clock.Advance(1e6)
		step := ""
		switch h.rnd.IntN(8) {
		case 0:
			if i := h.pick(len(appends)); i >= 0 && h.rnd.IntN(3) == 0 {
				// Its promised ids are not protected any more, until it publishes.
				h.ok(h.ReleaseLocks(h.ctx(), Fence{}, appends[i].owner.TaskID, nil))
				step = "release"
				break
			}
			appends = append(appends, &appendTask{owner: h.owner(75)})
			step = "start append"
		case 1, 2:
			if len(appends) > 0 {
				step = h.allocate(appends[h.rnd.IntN(len(appends))])
			}
		case 3:
			if i := h.pick(len(appends)); i >= 0 && len(appends[i].promised) > 0 {
				step = h.publishAppend(appends[i], steps)
				if h.rnd.IntN(2) == 0 {
					h.ok(h.ReleaseLocks(h.ctx(), Fence{}, appends[i].owner.TaskID, nil))
					appends = slices.Delete(appends, i, i+1)
				}
			}
		case 4:
			r := &replaceTask{owner: h.owner(50)}
			from := 1 + h.rnd.IntN(3)
			granted := false
			if r.lock, granted = h.try(r.owner, tasklock.Replace, day(from, from+2)); granted {
				replaces = append(replaces, r)
				step = "lock"
			}
		case 5:
			if i := h.pick(len(replaces)); i >= 0 && replaces[i].read == nil {
				h.readForReplace(replaces[i])
				step = "read"
			}
		case 6:
			if i := h.pick(len(replaces)); i >= 0 && replaces[i].read != nil {
				step = h.publishReplace(replaces[i], steps)
				h.ok(h.ReleaseLocks(h.ctx(), Fence{}, replaces[i].owner.TaskID, nil))
				replaces = slices.Delete(replaces, i, i+1)
			}
		case 7:
			switch i := h.pick(len(replaces)); {
			case h.rnd.IntN(2) == 0:
				step = h.markOvershadowed()
			case i >= 0:
				h.ok(h.ReleaseLocks(h.ctx(), Fence{}, replaces[i].owner.TaskID, nil))
				replaces = slices.Delete(replaces, i, i+1)
				step = "abandon"
			}
		}
		if step == "" {
			continue
		}
		steps[step]++
		h.log = append(h.log, step)
		h.checkRows()
	}
}

func (h *history) pick(n int) int {
	if n == 0 {
		return -1
	}
	return h.rnd.IntN(n)
}

func (h *history) allocate(a *appendTask) string {
	a.asked++
	r := h.appendRequest(a.owner, fmt.Sprint(a.owner.TaskID, "-", a.asked), day(1+h.rnd.IntN(4), 6).Start)
	p, _, granted, err := h.AllocateSegment(h.ctx(), r)
	if errors.Is(err, ErrCannotAllocate) || err == nil && !granted {
		return ""
	}
	h.ok(err)
	if slices.ContainsFunc(a.promised, func(o PendingSegment) bool { return o.ID == p.ID }) {
		h.t.Fatalf("promised twice: %v", p.ID)
	}
	a.promised = append(a.promised, p)
	return "allocate"
}

// file makes the file of a new segment.
func (h *history) file(s *timeline.Segment, rows ...string) *timeline.Segment {
	h.files++
	s.File = fmt.Sprint("file", h.files)
	h.rows[s.File], h.extents[s.File] = rows, s.ID.Interval
	return s
}

func (h *history) publishAppend(a *appendTask, steps map[string]int) string {
	p := Publication{TaskID: a.owner.TaskID, DataSource: "wiki", Action: PublishAppend}
	before := len(h.appended)
	for _, promised := range a.promised {
		if _, granted := h.try(a.owner, tasklock.Append, promised.ID.Interval); !granted {
			return ""
		}
	}
	for _, promised := range a.promised {
		row := fmt.Sprint("row", len(h.appended))
		h.appended = append(h.appended, row)
		s := segment(promised.ID.Interval, promised.ID.Version, promised.ID.Partition, promised.Shard.CorePartitions())
		p.Segments = append(p.Segments, h.file(s, row))
	}
	a.promised = nil
	out, err := h.Publish(h.ctx(), p)
	if errors.Is(err, ErrReplaced) {
		h.appended = h.appended[:before]
		return "too late"
	}
	h.ok(err)
	if len(out.Segments) > len(p.Segments) {
		steps["twin"]++
	}
	return "publish append"
}

// readForReplace reads what is visible of the segments to replace. Sometimes the new segments are
// as long as the lock, sometimes days.
func (h *history) readForReplace(r *replaceTask) {
	segments, err := h.UsedSegments(h.ctx(), "wiki", r.lock.Interval)
	h.ok(err)
	r.read = make(map[chrono.Interval][]string)
	long := h.rnd.IntN(2) == 0
	for _, holder := range timelineOf(segments).Lookup(r.lock.Interval) {
		for _, s := range holder.Segments() {
			if !r.lock.Interval.Contains(s.ID.Interval) {
				// Rows have no time here: a segment that sticks out can't be cut, so this replacement does
				// nothing.
				r.read = map[chrono.Interval][]string{}
				return
			}
			iv := s.ID.Interval
			if long {
				iv = r.lock.Interval
			} else if iv.Millis() > chrono.Day {
				iv.End = iv.Start + chrono.Day // finer than what is there
			}
			if s.ID.Interval == holder.Interval {
				r.read[iv] = append(r.read[iv], h.rows[s.File]...)
			} else {
				r.read = map[chrono.Interval][]string{}
				return
			}
		}
	}
	r.segments = segments
	ids := make([]string, len(segments))
	for i, s := range segments {
		ids[i] = s.ID.String()
	}
	h.ok(h.Absorb(h.ctx(), r.owner.TaskID, ids))
}

func (h *history) publishReplace(r *replaceTask, steps map[string]int) string {
	p := Publication{TaskID: r.owner.TaskID, DataSource: "wiki", Action: PublishReplace}
	var produced []chrono.Interval
	for iv, rows := range r.read {
		produced = append(produced, iv)
		half := len(rows) / 2
		p.Segments = append(p.Segments, h.file(segment(iv, r.lock.Version, 0, 2), rows[:half]...), h.file(segment(iv, r.lock.Version, 1, 2), rows[half:]...))
	}
	// What was read as longer segments and is written as shorter ones leaves a rest to bury.
	if len(produced) > 0 {
		rest := chrono.Subtract([]chrono.Interval{r.lock.Interval}, produced)
		graves, err := timeline.TombstoneIntervals(rest, rowIntervals(r.segments), granularity(h.t, "day"), 100)
		h.ok(err)
		for _, iv := range graves {
			p.Segments = append(p.Segments, timeline.NewTombstone(timeline.SegmentID{DataSource: "wiki", Interval: iv, Version: r.lock.Version}))
		}
	}
	out, err := h.Publish(h.ctx(), p)
	if f := fault.Find(err); f != nil && strings.HasPrefix(f.Message, "Replacing with a finer segment granularity") {
		return "too fine"
	}
	h.ok(err)
	if len(out.Segments) > len(p.Segments) {
		steps["copy"]++
	}
	return "publish replace"
}

// markOvershadowed is what a duty does: it must never change an answer.
func (h *history) markOvershadowed() string {
	state, err := h.Snapshot(h.ctx())
	h.ok(err)
	hidden := state.Timeline("wiki").FindFullyOvershadowed()
	if len(hidden) == 0 {
		return ""
	}
	_, err = h.MarkUnused(h.ctx(), Fence{}, "wiki", Selection{IDs: textIDs(hidden)}, nil)
	h.ok(err)
	return "mark overshadowed"
}

func (h *history) checkRows() {
	h.t.Helper()
	state, err := h.Snapshot(h.ctx())
	h.ok(err)
	var got []string
	for _, holder := range state.Timeline("wiki").Lookup(chrono.Eternity) {
		for _, s := range holder.Segments() {
			if s.IsTombstone() {
				continue
			}
			if len(h.rows[s.File]) > 0 && !holder.Interval.Contains(h.extents[s.File]) {
				h.t.Fatalf("after %v: segment %v with rows in %v is visible in %v only", h.log, s.ID, h.extents[s.File], holder.Interval)
			}
			got = append(got, h.rows[s.File]...)
		}
	}
	want := slices.Clone(h.appended)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Fatalf("after %v the visible rows differ:\n%s", h.log, diff)
	}
}
