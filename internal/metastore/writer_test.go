package metastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// TestGroupCommit holds the writer inside one operation, queues others, and expects them in one
// transaction in which a failing one is undone alone.
func TestGroupCommit(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.Store.options.repeat = false // the operations count their runs
		entered, leave := make(chan struct{}), make(chan struct{})
		first := make(chan error)
		go func() {
			first <- f.write(f.ctx(), func(context.Context, *tx) error { close(entered); <-leave; return nil })
		}()
		<-entered
		const n = 20
		kept := 0 // the writer's alone
		results := make([]chan error, n)
		wrong := errors.New("wrong")
		for i := range n {
			results[i] = make(chan error, 1)
			op := &operation{ctx: f.ctx(), finished: make(chan struct{}), run: func(ctx context.Context, t *tx) error {
				if _, err := t.exec(ctx, "INSERT INTO store_info (name, value) VALUES (?, ?)", fmt.Sprint("test", i), ""); err != nil {
					return err
				}
				var seen int
				if err := t.row(ctx, []any{&seen}, "SELECT COUNT(*) FROM store_info WHERE name LIKE 'test%'"); err != nil {
					return err
				}
				if i%4 == 2 {
					return wrong
				}
				if kept++; seen != kept {
					return fmt.Errorf("operation %d sees %d rows, want %d: its own and those of the operations before that did not fail", i, seen, kept)
				}
				return nil
			}}
			f.ok(f.enqueue(op))
			go func() { <-op.finished; results[i] <- op.err }()
		}
		canceled, cancel := context.WithCancel(f.ctx())
		dropped := &operation{ctx: canceled, finished: make(chan struct{}), run: func(context.Context, *tx) error { t.Error("a cancelled operation ran"); return nil }}
		f.ok(f.enqueue(dropped))
		cancel()
		close(leave)
		f.ok(<-first)
		for i, result := range results {
			if err := <-result; (i%4 == 2) != errors.Is(err, wrong) || i%4 != 2 && err != nil {
				t.Errorf("operation %d: %v", i, err)
			}
		}
		<-dropped.finished
		if !errors.Is(dropped.err, context.Canceled) {
			t.Errorf("cancelled operation: %v", dropped.err)
		}
		var rows int
		f.ok(f.read().row(f.ctx(), []any{&rows}, "SELECT COUNT(*) FROM store_info WHERE name LIKE 'test%'"))
		if rows != n-n/4 {
			t.Errorf("%d rows, want %d", rows, n-n/4)
		}
	})
}

func TestPanicReachesTheCaller(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("recovered %v", got)
				}
			}()
			f.write(f.ctx(), func(ctx context.Context, t *tx) error {
				if _, err := t.exec(ctx, "DELETE FROM counters"); err != nil {
					return err
				}
				panic("boom")
			})
			t.Error("the panic was lost")
		}()
		_, err := f.SetSetting(f.ctx(), Fence{}, "after", json.RawMessage(`1`), nil)
		f.ok(err)
	})
}

func TestClosedStore(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		waiting := make(chan error)
		go func() { waiting <- f.WaitChange(context.Background(), 0) }()
		f.ok(f.Close())
		if err := <-waiting; err == nil {
			t.Error("a waiting reader was told nothing")
		}
		_, err := f.SetSetting(f.ctx(), Fence{}, "a", json.RawMessage(`1`), nil)
		f.refused(err, "The metadata store is closed")
		f.ok(f.Close())
		f.open()
	})
}

// TestConcurrentPublishers lets many groups allocate, publish and mark at once. The checks at the
// fixture's end and those here hold them to the invariants.
func TestConcurrentPublishers(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		const publishers, rounds = 6, 8
		published := timeline.NewPublished()
		following, stop := context.WithCancel(context.Background())
		followed := make(chan error)
		go func() { followed <- f.Follow(following, published) }()

		var group sync.WaitGroup
		var mu sync.Mutex
		ids := map[timeline.SegmentID]bool{}
		var highest int64
		owners := make([]tasklock.Owner, publishers)
		for i := range owners {
			owners[i] = f.owner(50)
		}
		for _, owner := range owners {
			group.Go(func() {
				for round := range rounds {
					p, _, granted, err := f.AllocateSegment(f.ctx(), f.appendRequest(owner, fmt.Sprint(owner.TaskID, round), hour(round%3).Start))
					if err != nil || !granted {
						t.Errorf("allocating: %v %v", granted, err)
						return
					}
					out, err := f.Publish(f.ctx(), Publication{
						TaskID: owner.TaskID, DataSource: "wiki", Action: PublishAppend,
						Segments: []*timeline.Segment{segment(p.ID.Interval, p.ID.Version, p.ID.Partition, 0)},
					})
					if err != nil {
						t.Errorf("publishing: %v", err)
						return
					}
					mu.Lock()
					if ids[p.ID] {
						t.Errorf("id %v was promised twice", p.ID)
					}
					ids[p.ID] = true
					highest = max(highest, out.Number)
					mu.Unlock()
					// Whoever waits for the number sees the segment.
					state, err := published.Wait(f.ctx(), out.Number)
					if err != nil || state.Timeline("wiki").Segment(p.ID) == nil {
						t.Errorf("state %d lacks %v: %v", out.Number, p.ID, err)
					}
				}
			})
		}
		group.Wait()
		stop()
		if err := <-followed; !errors.Is(err, context.Canceled) {
			t.Errorf("following ended with %v", err)
		}
		if highest != publishers*rounds {
			t.Errorf("%d publications took %d numbers", publishers*rounds, highest)
		}
	})
}

// TestTwoProcesses opens one PostgreSQL twice: writers take turns, and each sees what the other
// published.
func TestTwoProcesses(t *testing.T) {
	address := postgresURL(t)
	one, two := openFixture(t, Options{URL: address}), openFixture(t, Options{URL: address})
	var group sync.WaitGroup
	for i, f := range []*fixture{one, two} {
		group.Go(func() {
			for n := range 25 {
				_, err := f.UpdateSetting(f.ctx(), Fence{}, "sum", nil, func(stored json.RawMessage) (json.RawMessage, error) {
					sum := 0
					if stored != nil {
						if err := json.Unmarshal(stored, &sum); err != nil {
							return nil, err
						}
					}
					return json.RawMessage(fmt.Sprint(sum + 1)), nil
				})
				if err != nil {
					t.Errorf("process %d, update %d: %v", i, n, err)
				}
			}
		})
	}
	group.Wait()
	sum, _, err := one.Setting(one.ctx(), "sum")
	one.ok(err)
	if string(sum) != "50" {
		t.Errorf("50 updates gave %s", sum)
	}
	waiting := make(chan error)
	go func() { waiting <- two.WaitChange(two.ctx(), 0) }()
	two.ok(two.clock.BlockUntil(two.ctx(), 1))
	v := one.replace(day(1, 2), 1)
	two.clock.Advance(pollChanges)
	two.ok(<-waiting)
	two.sees(two.saw(day(1, 2), v, "0/1"))
}

func BenchmarkSettings(b *testing.B) {
	store, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "metadata.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				for n := 0; pb.Next(); n++ {
					if err := store.PutStatement(b.Context(), Statement{ID: fmt.Sprintf("%p%d", pb, n)}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// TestDiskFull lets SQLite run out of pages: the publication fails with a sentence, nothing of it
// is there, and the store goes on once there is room.
func TestDiskFull(t *testing.T) {
	f := openFixture(t, Options{Path: filepath.Join(t.TempDir(), "metadata.db")})
	v := f.replace(day(1, 2), 1)
	limit := func(pages string) {
		t.Helper()
		_, err := conn{dialect: f.dialect, db: f.writers}.exec(f.ctx(), "PRAGMA max_page_count = "+pages)
		f.ok(err)
	}
	owner := f.owner(50)
	l := f.lock(owner, tasklock.Exclusive, day(1, 3))
	p := Publication{TaskID: owner.TaskID, DataSource: "wiki"}
	for i := range 2000 {
		p.Segments = append(p.Segments, segment(day(1, 3), l.Version, i, 2000))
	}
	limit("1") // SQLite makes this the present size
	_, err := f.Publish(f.ctx(), p)
	f.refused(err, "The disk of the metadata store is full")
	f.sees(f.saw(day(1, 2), v, "0/1"))
	limit("1000000")
	if _, err := f.Publish(f.ctx(), p); err != nil {
		t.Fatal(err)
	}
	if len(f.visible()) < 2000 {
		t.Error("the second attempt is not visible")
	}
}

func BenchmarkOpen(b *testing.B) {
	directory := b.TempDir()
	for i := range b.N {
		store, err := Open(b.Context(), Options{Path: filepath.Join(directory, fmt.Sprint(i))})
		if err != nil {
			b.Fatal(err)
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
