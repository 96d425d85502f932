package broker_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Rows are in answers as soon as they are appended, whether their worker is this process or
// another, and under every condition and operator.
func TestLiveRowsAreAnswered(t *testing.T) {
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			w := newWorld(t, workers, 1, 0)
			if _, err := w.ask("SELECT COUNT(*) FROM stream", nil); err == nil {
				t.Error("a table without rows is known")
			}
			r := rand.New(rand.NewPCG(1, 1))
			var all []*live.Segment
			for i, x := range w.workers {
				all = append(all, w.open("task", fmt.Sprint("sequence", i), x)...)
			}
			total := 0
			for i, g := range all {
				if err := g.Append(w.ctx, rows(r, 100), columns); err != nil {
					t.Fatal(err)
				}
				total += 100
				w.known(g.ID())
				for range 3 {
					if err := g.Append(w.ctx, rows(r, 10), columns); err != nil {
						t.Fatal(err)
					}
					total += 10
					if n, err := w.count(""); err != nil || n != int64(total) {
						t.Fatalf("[%d] rows after [%d] were appended, %v", n, total, err)
					}
				}
				if i == 0 {
					if err := g.Persist(w.ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := func(sql string, context map[string]any, rows ...string) {
				t.Helper()
				var got []string
				for _, r := range w.mustAsk(sql, context) {
					got = append(got, strings.Join(r, " "))
				}
				if !slices.Equal(got, rows) {
					t.Errorf("%s gives %q, want %q", sql, got, rows)
				}
			}
			text := fmt.Sprint(total)
			want("SELECT SUM(c) FROM (SELECT k, COUNT(*) AS c FROM stream GROUP BY k)", nil, text)
			want("SELECT COUNT(*) FROM (SELECT n FROM stream ORDER BY __time LIMIT 7)", nil, "7")
			want("SELECT MAX(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY __time) AS r FROM stream)", nil, text)
			want("SELECT SUM(x) FROM (SELECT a.k, COUNT(*) * b.c / b.c AS x FROM stream a JOIN (SELECT k, COUNT(*) c FROM stream GROUP BY k) b"+
				" ON a.k = b.k GROUP BY a.k, b.c)", nil, text)
			want("SELECT COUNT(*) FROM stream WHERE __time >= '2026-03-02'", nil, "0")
			want("SELECT COUNT(*) FROM stream", map[string]any{"realtimeSegmentsMode": "exclude"}, "0")
			want("SELECT COUNT(*) FROM stream", map[string]any{"realtimeSegmentsMode": "exclusive"}, text)
			want("SELECT COUNT(*) FROM stream", map[string]any{"realtimeSegmentsOnly": true}, text)
			want("SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'stream' ORDER BY ORDINAL_POSITION", nil, "__time", "k", "n")
			want("SELECT is_published, is_available, is_realtime, is_active, num_replicas, size, dimensions, SUM(num_rows) FROM sys.segments"+
				" WHERE datasource = 'stream' GROUP BY 1, 2, 3, 4, 5, 6, 7", nil, `0 1 1 1 1 0 ["k","n"] `+fmt.Sprint(announced(w)))
			want("SELECT COUNT(DISTINCT server) FROM sys.server_segments", nil, fmt.Sprint(len(w.workers)))

			more := append(slices.Clip(columns), segment.ColumnSpec{Name: "x", Type: vector.Double})
			b := rows(r, 1)
			b.Cols = append(b.Cols, vector.FromDoubles([]float64{2.5}))
			if err := all[0].Append(w.ctx, b, more); err != nil {
				t.Fatal(err)
			}
			total++
			w.seen(func() bool { return len(w.inventory.View().Find(all[0].ID()).Of.Schema.Columns) >= 4 })
			want("SELECT SUM(x), COUNT(x), COUNT(*) FROM stream", nil, "2.5 1 "+fmt.Sprint(total))

			number, err := w.publish("task", all[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.published.Wait(w.ctx, number); err != nil {
				t.Fatal(err)
			}
			published := all[0].Rows()
			want("SELECT COUNT(*) FROM stream", map[string]any{"realtimeSegmentsMode": "exclude"}, fmt.Sprint(published))
			want("SELECT COUNT(*) FROM stream", map[string]any{"realtimeSegmentsMode": "exclusive"}, fmt.Sprint(int64(total)-published))
			want("SELECT COUNT(*), SUM(n) FROM stream", nil, fmt.Sprint(total, " ", total))
			want("SELECT is_published, is_realtime, is_available, num_rows FROM sys.segments WHERE is_published = 1", nil,
				fmt.Sprint("1 1 1 ", published))
			all[0].Close()
			want("SELECT COUNT(*), SUM(n) FROM stream", nil, fmt.Sprint(total, " ", total))
		})
	}
}

func announced(w *world) (rows int64) {
	for _, s := range w.inventory.View().Table(source).Segments {
		rows += s.Of.Rows
	}
	return rows
}

// A task reads published rows only, and those of live segments where its context says so: all of
// them beside the state that it reads, whatever moves meanwhile.
func TestTasksReadLiveRows(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(t, int(seed%2)*2, seed, 2*time.Millisecond)
		var least, most atomic.Int64
		var streams sync.WaitGroup
		for i, x := range w.workers {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			streams.Go(func() { w.stream(r, fmt.Sprint("task-", i), x, &least, &most) })
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			streams.Wait()
		}()
		for last := false; !last && !t.Failed(); {
			select {
			case <-over:
				last = true
			default:
			}
			before := least.Load()
			if before == 0 {
				continue
			}
			for source, live := range map[string]bool{"NONE": false, "REALTIME": true} {
				p, err := w.broker.Prepare(w.ctx, &query.Request{
					SQL: "SELECT COUNT(*) FROM stream", Context: map[string]any{"includeSegmentSource": source}, Dialect: "service",
				}, sql.MSQ)
				if err != nil {
					t.Fatal(err)
				}
				node := w.broker.Optimize(w.ctx, p)
				read := int64(0)
				if err := w.broker.ReadLive(w.ctx, p, node, "other", "task", func(_ string, rows query.Rows) error {
					read = 0
					for {
						b, err := rows.Next(w.ctx)
						if errors.Is(err, io.EOF) {
							return nil
						}
						if err != nil {
							return err
						}
						read += int64(b.Rows())
					}
				}); err != nil {
					t.Fatal(err)
				}
				published := int64(0)
				for _, s := range w.broker.Visible(p, &plan.Scan{DataSource: "stream", Limit: -1}) {
					published += s.Rows
				}
				after := most.Load()
				if n := read + published; live && (n < before || n > after) || !live && read > 0 {
					t.Errorf("%s: [%d] live and [%d] published rows, of [%d] to [%d]", source, read, published, before, after)
				}
			}
		}
		streams.Wait()
	}
}

// However rows are appended, persisted, published, handed over and closed, and however late
// everything is that passes between processes: a query sees at least the rows that were appended
// before it began, at most those that may have been when it ended, each once, and never fewer than
// one before it. This also holds while the interval is replaced by tasks with concurrent locks.
func TestRowsAreSeenOnce(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		for _, workers := range []int{0, 2} {
			for _, replaced := range []bool{false, true} {
				t.Run(fmt.Sprintf("seed %d, %d workers, replaced %v", seed, workers, replaced), func(t *testing.T) {
					play(t, seed, workers, replaced)
				})
			}
		}
	}
}

func play(t *testing.T, seed uint64, workers int, replaced bool) {
	w := newWorld(t, workers, seed, 3*time.Millisecond)
	var most, least atomic.Int64
	over := make(chan struct{})
	var streams, others sync.WaitGroup
	for i, x := range w.workers {
		for lane := range 2 {
			r := rand.New(rand.NewPCG(seed, uint64(10*i+lane)))
			streams.Go(func() { w.stream(r, fmt.Sprintf("task-%d-%d", i, lane), x, &least, &most) })
		}
	}
	if replaced {
		others.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				w.replace(fmt.Sprint("replace-", n))
			}
		})
	}
	for range 3 {
		others.Go(func() {
			last := int64(0)
			for more := true; more && !t.Failed(); {
				select {
				case <-over:
					more = false
				default:
				}
				before := least.Load()
				n, err := w.count("")
				after := most.Load()
				if before == 0 {
					continue
				}
				if err != nil || n < before || n > after || n < last {
					t.Errorf("[%d] rows, of [%d] to [%d], [%d] before; %v", n, before, after, last, err)
				}
				last = n
			}
		})
	}
	streams.Wait()
	close(over)
	others.Wait()
	if n, err := w.count(""); err != nil || n != least.Load() {
		t.Errorf("[%d] rows in the end, want [%d]; %v", n, least.Load(), err)
	}
}

// stream is what a task does: it fills segments one after the other and publishes them.
func (w *world) stream(r *rand.Rand, task string, x *worker, least, most *atomic.Int64) {
	for sequence := range 4 {
		g := w.open(task, fmt.Sprintf("%s_%d", task, sequence), x)[0]
		for batch := range 1 + r.IntN(8) {
			n := 1 + r.IntN(30)
			most.Add(int64(n))
			if err := g.Append(w.ctx, rows(r, n), columns); err != nil {
				w.t.Error(err)
				return
			}
			if batch == 0 {
				w.known(g.ID())
			}
			least.Add(int64(n))
			if r.IntN(3) == 0 {
				if err := g.Persist(w.ctx); err != nil {
					w.t.Error(err)
				}
			}
			w.pause()
		}
		number, err := w.publish(task, g)
		if err != nil {
			w.t.Error(err)
			return
		}
		if r.IntN(2) == 0 { // as where a handoff takes too long
			_, _ = w.published.Wait(w.ctx, number) // it comes
			w.pause()
		}
		g.Close()
	}
	if err := w.store.ReleaseLocks(w.ctx, metastore.Fence{}, task, nil); err != nil {
		w.t.Error(err)
	}
}

// replace is what a task does that reads the day and writes it anew, while others append to it.
func (w *world) replace(task string) {
	owner := tasklock.Owner{TaskID: task, GroupID: task, Priority: 50}
	lock, granted, err := w.store.TryLock(w.ctx, metastore.LockRequest{Request: tasklock.Request{
		Owner: owner, DataSource: source, Interval: day, Type: tasklock.Replace,
	}})
	if err != nil || !granted {
		w.t.Errorf("no lock to replace: %v", err)
		return
	}
	defer func() {
		if err := w.store.ReleaseLocks(w.ctx, metastore.Fence{}, task, nil); err != nil {
			w.t.Error(err)
		}
	}()
	number, err := w.store.Number(w.ctx)
	if err != nil {
		w.t.Error(err)
		return
	}
	state, err := w.published.Wait(w.ctx, number)
	if err != nil {
		w.t.Error(err)
		return
	}
	n := int64(0)
	var read []string
	for _, h := range state.Timeline(source).Lookup(day) {
		for _, s := range h.Segments() {
			n += s.Rows
			read = append(read, s.ID.String())
		}
	}
	if n == 0 {
		w.pause()
		return
	}
	if err := w.store.Absorb(w.ctx, task, read); err != nil {
		w.t.Error(err)
		return
	}
	path := w.files.path()
	out, err := segment.Create(path, segment.Options{Columns: columns, SortOrder: []string{segment.TimeColumn}})
	if err == nil {
		err = out.Append(w.ctx, rows(rand.New(rand.NewPCG(1, uint64(n))), int(n)))
	}
	if err != nil {
		w.t.Error(err)
		return
	}
	info, err := out.Finish(w.ctx)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.pause()
	id := timeline.SegmentID{DataSource: source, Interval: day, Version: lock.Version}
	s := w.describe(id, timeline.Numbered{Core: 1}, info, w.files.add(w.t, path))
	p := metastore.Publication{TaskID: task, DataSource: source, Action: metastore.PublishReplace, Segments: []*timeline.Segment{s}}
	if _, err := w.store.Publish(w.ctx, p); err != nil {
		w.t.Error(err)
	}
}

// The rows of a worker that dies are gone as soon as that is known, and no query fails. Those of a
// replica are there.
func TestWorkersThatDie(t *testing.T) {
	w := newWorld(t, 3, 4, 0)
	r := rand.New(rand.NewPCG(4, 4))
	alone := w.open("a", "a", w.workers[0])
	both := w.open("b", "b", w.workers[0], w.workers[1])
	other := w.open("c", "c", w.workers[2])
	for i, n := range []int{20, 30} { // the second is ahead, and not by so much that it is asked instead
		if err := both[i].Append(w.ctx, rows(r, n), columns); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range slices.Concat(alone, other) {
		if err := g.Append(w.ctx, rows(r, 100), columns); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range slices.Concat(alone, both, other) {
		w.known(g.ID())
	}
	w.seen(func() bool { return len(w.inventory.View().Find(both[0].ID()).Holders) >= 2 })
	if n, err := w.count(""); err != nil || n != 220 && n != 230 { // by which of both is known longer
		t.Fatalf("[%d] rows, %v", n, err)
	}
	began := w.clock.Now()
	w.workers[0].stop()
	n, err := w.count("")
	for ; err == nil && n != 130; n, err = w.count("") {
		if n != 230 && n != 220 {
			t.Fatalf("[%d] rows", n)
		}
	}
	if took := w.clock.Now().Sub(began); err != nil || took > 2*time.Second {
		t.Errorf("[%d] rows after [%s], %v", n, took, err)
	}
	w.workers[1].stop()
	for n, err = w.count(""); err == nil && n != 100; n, err = w.count("") {
	}
	if err != nil {
		t.Error(err)
	}
}
