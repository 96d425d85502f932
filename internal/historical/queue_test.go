package historical

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// opened returns a server whose cache is in dir, and its deep storage, which it sees as far makes
// it.
func opened(t *testing.T, dir string, far func(deepstore.Store) deepstore.Store) (*Historical, *deepstore.Local) {
	t.Helper()
	deep, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.Open(cache.Options{Locations: []cache.Location{{Dir: dir, MaxBytes: 1 << 30}}, Store: far(deep)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := deep.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(c, Threads{}, fakeclock.New(time.UnixMilli(1)), slog.New(slog.DiscardHandler)), deep
}

// newHistorical returns a server, and a maker of segments of a day that are in its deep storage.
func newHistorical(t *testing.T) (*Historical, func(date, version string) *timeline.Segment) {
	t.Helper()
	h, deep := opened(t, t.TempDir(), func(s deepstore.Store) deepstore.Store { return s })
	return h, func(date, version string) *timeline.Segment {
		iv, err := chrono.ParseInterval(date + "/P1D")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := segment.NewWriter(&out, segment.Options{Columns: []segment.ColumnSpec{{Name: "x", Type: vector.Long}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(t.Context(), &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{1})}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		key := "wiki/" + date + version + "/index"
		if err := deep.Put(t.Context(), key, &out); err != nil {
			t.Fatal(err)
		}
		s := &timeline.Segment{ID: timeline.SegmentID{DataSource: "wiki", Interval: iv, Version: version}, Shard: timeline.Numbered{Core: 1}}
		return s.Locate(deep.LoadSpec(key))
	}
}

// run lets a Historical work until the test ends.
func run(t *testing.T, h *Historical) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func item(s *timeline.Segment) cluster.LoadItem {
	return cluster.LoadItem{ID: s.ID.String(), LoadSpec: s.LoadSpec(), Size: s.Size}
}

func TestAHistoricalObeysAndAnnounces(t *testing.T) {
	h, day := newHistorical(t)
	run(t, h)
	one, two := day("2026-03-01", "1"), day("2026-03-02", "1")
	missing := *day("2026-03-03", "1")
	missing.Locate([]byte(`{"type":"local","path":"/nowhere"}`))
	command := func(c cluster.Command) cluster.QueueState {
		t.Helper()
		state, err := h.Command(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	state := command(cluster.Command{Epoch: 2, Load: []cluster.LoadItem{item(one), item(&missing), item(two), item(one)}})
	failed := state.Failed
	for t.Context().Err() == nil && len(state.Pending) > 0 {
		state = command(cluster.Command{Epoch: 2})
		maps.Copy(failed, state.Failed) // each is told once
	}
	d, err := h.Changes().Since(t.Context(), cluster.Counter{Number: 0, Hash: 1}, time.Minute, clock.System())
	if err != nil || len(d.Changes) != 2 {
		t.Errorf("when nothing is left to do, [%+v] is announced, %v", d, err)
	}
	if failed[missing.ID.String()] == "" || len(failed) != 1 {
		t.Errorf("failed: %v", failed)
	}
	if state := command(cluster.Command{Epoch: 3, Drop: []string{one.ID.String(), "never heard of"}}); len(state.Pending)+len(state.Failed) > 0 {
		t.Errorf("left to do: %+v", state)
	}
	if got := h.Loaded(); len(got) != 1 || got[0] != two.ID.String() {
		t.Errorf("holds %v", got)
	}
	_, err = h.Command(t.Context(), cluster.Command{Epoch: 2, Drop: []string{two.ID.String()}})
	if f := fault.Find(err); f == nil || f.Category != fault.CategoryConflict || len(h.Loaded()) != 1 {
		t.Errorf("a command of an earlier leader: %v, holds %v", err, h.Loaded())
	}
	if _, err := (Named{h}).Acquire(t.Context(), one.ID.String(), nil); err == nil {
		t.Error("a segment that was dropped is still given as one that is held")
	}
	r, err := (Named{h}).Acquire(t.Context(), one.ID.String(), one.LoadSpec())
	if err != nil {
		t.Fatalf("a segment in deep storage can't be read: %v", err)
	}
	r.Release()
}

// slowly is a deep storage in which opening a file takes two seconds of a clock, and whose files
// are not on this machine.
type slowly struct {
	deepstore.Store
	clock *fakeclock.Clock
}

func (s slowly) Open(ctx context.Context, key string) (deepstore.Object, error) {
	s.clock.Advance(2 * time.Second)
	return s.Store.Open(ctx, key)
}

// TestAHistoricalTellsHowFastItLoads has it load two segments, one after the other.
func TestAHistoricalTellsHowFastItLoads(t *testing.T) {
	times := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	b := newBench(t, func(s deepstore.Store) deepstore.Store { return slowly{s, times} })
	b.clock = times
	bytes, micros := int64(0), int64(0)
	for _, id := range []string{"wiki_1", "wiki_2"} {
		item := b.item(id, b.file(1000))
		for c := (cluster.Command{Epoch: 1, Load: []cluster.LoadItem{item}}); ; c.Load = nil {
			state, err := b.Command(t.Context(), c)
			if err != nil || len(state.Failed) > 0 {
				t.Fatal(err, state.Failed)
			}
			bytes, micros = bytes+state.LoadedBytes, micros+state.LoadingMicros
			if len(state.Pending) == 0 {
				break
			}
			if len(state.Loading) > 1 || len(state.Loading) == 1 && state.Loading[0] != id {
				t.Errorf("at [%v] instead of [%s]", state.Loading, id)
			}
		}
		times.Advance(time.Hour) // in which nothing is loaded
		if want := 2 * item.Size; id == "wiki_2" && bytes != want {
			t.Errorf("[%d] bytes instead of [%d]", bytes, want)
		}
	}
	if micros != (4 * time.Second).Microseconds() {
		t.Errorf("it took [%d] microseconds", micros)
	}
}
