package exec

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// readers knows how many goroutines read a segment. The first wait for each other, so that as many
// as there can be are there at once.
type readers struct {
	sync.Mutex
	now, most, wanted int
	all               chan struct{} // closed when as many are there as are wanted
}

func (w *readers) enter() {
	w.Lock()
	w.now++
	if w.most = max(w.most, w.now); w.most == w.wanted && w.now == w.wanted {
		select {
		case <-w.all:
		default:
			close(w.all)
		}
	}
	w.Unlock()
	select {
	case <-w.all:
	case <-time.After(10 * time.Second): // the test fails by the number
	}
}

func (w *readers) leave() {
	w.Lock()
	defer w.Unlock()
	w.now--
}

// watchedSegment tells readers who reads it.
type watchedSegment struct {
	segment.Reader
	readers *readers
}

func (s watchedSegment) Column(name string) (segment.Column, error) {
	c, err := s.Reader.Column(name)
	if err != nil || c == nil {
		return c, err
	}
	return watchedColumn{c, s.readers}, nil
}

type watchedColumn struct {
	segment.Column
	readers *readers
}

func (c watchedColumn) Read(buf *segment.Buffer, from, to int) (*vector.Vector, error) {
	c.readers.enter()
	defer c.readers.leave()
	return c.Column.Read(buf, from, to)
}

// One large segment is read by as many threads as a query may have, and never by more, whatever it
// does; several queries have no more of them.
func TestALargeSegmentIsReadByAllThreadsAndNoMore(t *testing.T) {
	const rows = 4 * morselRows
	s := visits(t, 1, rows)
	whole := s.leaves[0].Reader
	scan := &plan.Scan{DataSource: "visits", Limit: -1}
	types := []vector.Type{str, str, long}
	for i, name := range []string{"session", "campaign", "ms"} {
		scan.Out = append(scan.Out, plan.Column{Name: name, Type: expr.FromRuntime(types[i], false)})
	}
	union := &plan.Union{Ins: []plan.Node{scan, scan}, Out: scan.Out}
	few := &plan.Aggregate{Input: scan, Keys: []int{1}, Aggs: typed(types, call("SUM", long, 2))}
	for name, node := range map[string]plan.Node{
		"rows":        scan,
		"few groups":  few,
		"many groups": &plan.Aggregate{Input: scan, Keys: []int{0}, Aggs: typed(types, call("SUM", long, 2))},
		"sort":        &plan.Sort{Input: scan, Keys: []plan.SortKey{{Column: 2}, {Column: 0}}, Limit: -1},
		"top":         &plan.Sort{Input: scan, Keys: []plan.SortKey{{Column: 0}}, Limit: 5},
		"join":        &plan.Join{Left: scan, Right: few, Keys: []plan.EquiKey{{Left: 1, Right: 0}}},
		"union":       &plan.Aggregate{Input: union, Keys: []int{1}, Aggs: typed(types, call("SUM", long, 2))},
		"join of a union": &plan.Aggregate{
			Input: &plan.Join{Left: union, Right: few, Keys: []plan.EquiKey{{Left: 1, Right: 0}}}, Aggs: typed(types, call("SUM", long, 2)),
		},
	} {
		for _, c := range []struct{ threads, queries int }{{1, 1}, {3, 1}, {2, 3}} {
			t.Run(fmt.Sprintf("%s, %d threads, %d queries", name, c.threads, c.queries), func(t *testing.T) {
				w := &readers{wanted: c.threads, all: make(chan struct{})}
				sched := scheduler.New(c.threads, clock.System())
				var all sync.WaitGroup
				for range c.queries {
					all.Go(func() {
						tables := &store{t: t, leaves: []Leaf{{Reader: watchedSegment{whole, w}, Visible: s.leaves[0].Visible}}}
						env := &Env{Threads: c.threads, Expr: &expr.Context{}, Tables: tables, Share: sched.Join()}
						defer env.Share.Leave()
						op, err := Build(t.Context(), node, env)
						if err != nil {
							t.Error(err)
							return
						}
						defer op.Close()
						n := 0
						if err := Drain(t.Context(), op, func(b *vector.Batch) error { n += b.Rows(); return nil }); err != nil || n == 0 {
							t.Errorf("%d rows: %v", n, err)
						}
					})
				}
				all.Wait()
				if w.most != c.threads {
					t.Errorf("at most %d threads read at once, want %d", w.most, c.threads)
				}
			})
		}
	}
}

// What a small table gathers comes in the order of its segments, however many threads there are.
func TestSmallTablesAreGatheredInOrder(t *testing.T) {
	s := visits(t, 6, 60)
	scan := &plan.Scan{DataSource: "visits", Limit: -1, Out: []plan.Column{{Name: "ms", Type: expr.FromRuntime(long, false)}}}
	list := vector.ListOf(long)
	for _, in := range []plan.Node{scan, &plan.Union{Ins: []plan.Node{scan, scan}, Out: scan.Out}} {
		node := &plan.Aggregate{Input: in, Aggs: typed([]vector.Type{long}, call("ARRAY_AGG", list, 0))}
		want := ""
		for i := range 50 {
			sched := scheduler.New(4, clock.System())
			env := &Env{Threads: 1 + 3*min(i, 1), Expr: &expr.Context{}, Tables: &store{t: t, leaves: s.leaves}, Share: sched.Join()}
			got := fmt.Sprint(mustRows(t, node, env))
			env.Share.Leave()
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("%d threads: %s, want %s", env.Threads, got, want)
			}
		}
	}
}
