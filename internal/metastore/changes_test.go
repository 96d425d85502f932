package metastore

import (
	"context"
	"errors"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/timeline"
)

func TestChangeStream(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		// Every number gives the state of its transaction: applied one by one, the changes retrace what
		// was visible.
		var shown []string
		note := func() { shown = append(shown, f.visible()) }
		note()
		f.replace(day(1, 2), 3)
		note()
		v := f.replace(day(1, 3), 2)
		note()
		_, err := f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{IDs: []string{segment(day(1, 3), v, 1, 2).ID.String()}}, nil)
		f.ok(err)
		note()
		_, err = f.MarkUsed(f.ctx(), Fence{}, "wiki", Selection{})
		f.ok(err)
		note()

		state := timeline.NewState(0, func(func(*timeline.Segment) bool) {})
		for n := range int64(len(shown)) {
			if got := describe(state); got != shown[n] {
				t.Errorf("state %d shows\n%s\nwant\n%s", n, got, shown[n])
			}
			var next []timeline.Change
			f.ok(f.view(f.ctx(), func(c conn) (err error) { next, err = f.scanChanges(f.ctx(), c, n, n+1); return err }))
			state = state.Apply(n+1, next)
		}

		// A reader gets many numbers at once, and an empty batch at the end.
		batch, err := f.Changes(f.ctx(), 1)
		f.ok(err)
		if batch.Number != 4 || len(batch.Changes) != 4 {
			t.Errorf("batch after 1: number %d with %d changes", batch.Number, len(batch.Changes))
		}
		batch, err = f.Changes(f.ctx(), 4)
		f.ok(err)
		if batch.Number != 4 || batch.Changes != nil {
			t.Errorf("batch after the last: %+v", batch)
		}
		if _, err := f.Changes(f.ctx(), 5); !errors.Is(err, ErrTooOld) {
			t.Errorf("changes of the future: %v", err)
		}
	})
}

func TestChangesNeverSplitANumber(t *testing.T) {
	f := openFixture(t, Options{Path: t.TempDir() + "/metadata.db"})
	f.replace(day(1, 2), 1)
	f.replace(day(2, 3), maxChangeEntries+1)
	f.replace(day(3, 4), 1)
	at, sizes := int64(0), []int{}
	for {
		batch, err := f.Changes(f.ctx(), at)
		f.ok(err)
		if batch.Number == at {
			break
		}
		at, sizes = batch.Number, append(sizes, len(batch.Changes))
	}
	if len(sizes) != 3 || sizes[1] != maxChangeEntries+1 {
		t.Errorf("batches of %v changes", sizes)
	}
}

func TestCompactedChangeStream(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		v := f.replace(day(1, 2), 1)
		published := timeline.NewPublished()
		ctx, stop := context.WithCancel(f.ctx())
		followed := make(chan error)
		go func() { followed <- f.Follow(ctx, published) }()
		if _, err := published.Wait(f.ctx(), 1); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(1e9)
		f.ok(f.CompactChanges(f.ctx(), Fence{}, f.now()))
		if _, err := f.Changes(f.ctx(), 0); !errors.Is(err, ErrTooOld) {
			t.Errorf("reading forgotten changes: %v", err)
		}
		batch, err := f.Changes(f.ctx(), 1)
		f.ok(err)
		if batch.Number != 1 {
			t.Errorf("batch %+v", batch)
		}

		// Deleting a row forgets what the stream tells of it: those who had not read it find out.
		_, err = f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{Interval: &chrono.Eternity}, nil)
		f.ok(err)
		_, err = f.DeleteUnused(f.ctx(), Fence{}, "wiki", []string{segment(day(1, 2), v, 0, 1).ID.String()})
		f.ok(err)
		if _, err := f.Changes(f.ctx(), 1); !errors.Is(err, ErrTooOld) {
			t.Errorf("reading changes of a deleted row: %v", err)
		}
		v2 := f.replace(day(1, 2), 1)
		number, err := f.Number(f.ctx())
		f.ok(err)
		state, err := published.Wait(f.ctx(), number)
		f.ok(err)
		if got := describe(state); got != f.saw(day(1, 2), v2, "0/1") {
			t.Errorf("the follower sees %s", got)
		}
		stop()
		<-followed
	})
}

// A database that comes back without its last moments gives a number of the stream a second time.
// Those who had read the first see what is there now.
func TestADatabaseThatHasLostItsLastMoments(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		v1, v2 := f.replace(day(1, 2), 1), f.replace(day(2, 3), 1)
		published := timeline.NewPublished()
		ctx, stop := context.WithCancel(f.ctx())
		followed := make(chan error)
		go func() { followed <- f.Follow(ctx, published) }()
		unuse := func(iv chrono.Interval, version string) {
			t.Helper()
			_, err := f.MarkUnused(f.ctx(), Fence{}, "wiki", Selection{IDs: []string{segment(iv, version, 0, 1).ID.String()}}, nil)
			f.ok(err)
		}
		unuse(day(1, 2), v1)
		state, err := published.Wait(f.ctx(), 3)
		f.ok(err)
		if got := describe(state); got != f.saw(day(2, 3), v2, "0/1") {
			t.Fatalf("the follower sees %s", got)
		}
		f.ok(f.write(f.ctx(), func(ctx context.Context, tx *tx) error { // all of that is lost
			for _, statement := range []string{
				"UPDATE segments SET used = 1", "DELETE FROM changes WHERE number = 3", "DELETE FROM change_heads WHERE number = 3",
				"UPDATE counters SET value = 2 WHERE name = 'change'",
			} {
				if _, err := tx.exec(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		}))
		f.clock.Advance(1e9)
		unuse(day(2, 3), v2)
		if got := f.visible(); got != f.saw(day(1, 2), v1, "0/1") {
			t.Fatalf("visible is %s", got)
		}
		f.replace(day(3, 4), 1)
		state, err = published.Wait(f.ctx(), 4)
		f.ok(err)
		if got, want := describe(state), f.visible(); got != want {
			t.Errorf("the follower sees %s\ninstead of %s", got, want)
		}
		stop()
		<-followed
	})
}
