package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

func idOf(partition int) timeline.SegmentID {
	return timeline.SegmentID{DataSource: "s", Interval: chrono.Interval{Start: 0, End: 1 << 40}, Version: "v1", Partition: partition}
}

func newSet(t testing.TB, o Options) *Set {
	t.Helper()
	o.Dir = t.TempDir()
	s, err := NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t testing.TB, s *Set, o segment.Options) *Segment {
	t.Helper()
	g, err := s.Open(SegmentOptions{ID: idOf(0), Shard: timeline.Numbered{}, TaskID: "task", Segment: o})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sums combines values of metrics of type LONG and DOUBLE.
func sums(c segment.ColumnSpec) (segment.Fold, error) {
	return func(v *vector.Vector, starts []uint32) (*vector.Vector, error) {
		b := vector.NewBuilder(c.Type, len(starts)-1)
		for g := range len(starts) - 1 {
			sum, some := 0.0, false
			for i := starts[g]; i < starts[g+1]; i++ {
				if !v.IsNull(int(i)) {
					some = true
					sum += number(v, int(i))
				}
			}
			switch {
			case !some:
				b.AppendNull()
			case c.Type == vector.Long:
				b.AppendLong(int64(sum))
			default:
				b.AppendDouble(sum)
			}
		}
		return b.Build(), nil
	}, nil
}

// table is rows as tests write them.
type table struct {
	columns []segment.ColumnSpec
	rows    [][]any
}

func (tb table) batch() *vector.Batch {
	b := &vector.Batch{N: len(tb.rows)}
	for i, c := range tb.columns {
		v := vector.NewBuilder(c.Type, len(tb.rows))
		for _, r := range tb.rows {
			v.Append(r[i])
		}
		b.Cols = append(b.Cols, v.Build())
	}
	return b
}

func (tb table) appendTo(t testing.TB, g *Segment) {
	t.Helper()
	if err := g.Append(t.Context(), tb.batch(), tb.columns); err != nil {
		t.Fatal(err)
	}
}

// read returns the values of some columns of all rows, as text; columns that a part lacks are null.
func read(t testing.TB, readers []segment.Reader, names ...string) []string {
	t.Helper()
	var out []string
	for _, r := range readers {
		n := r.Info().Rows
		cols := make([]*vector.Vector, len(names))
		for i, name := range names {
			c, err := r.Column(name)
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				cols[i] = vector.Nulls(vector.String, n)
			} else if cols[i], err = c.Read(nil, 0, n); err != nil {
				t.Fatal(err)
			}
		}
		for row := range n {
			text := ""
			for _, c := range cols {
				text += fmt.Sprint(c.ValueAt(row)) + " "
			}
			out = append(out, text[:max(len(text)-1, 0)])
		}
	}
	return out
}

func acquire(t testing.TB, s *Set, pinned int64) []segment.Reader {
	t.Helper()
	readers, err := s.Acquire(context.Background(), idOf(0).String(), pinned)
	if err != nil {
		t.Fatal(err)
	}
	return readers
}

func want(t testing.TB, got []string, rows ...string) {
	t.Helper()
	if !slices.Equal(got, rows) {
		t.Errorf("rows are %q, want %q", got, rows)
	}
}

var (
	timeSpec = segment.ColumnSpec{Name: segment.TimeColumn, Type: vector.Long}
	keySpec  = segment.ColumnSpec{Name: "k", Type: vector.String}
	sumSpec  = segment.ColumnSpec{Name: "n", Type: vector.Long, Metric: "longSum"}
)

// Rows can be read at once; a reader keeps what it has; new columns are null in the rows before.
func TestRowsAreReadAsTheyCome(t *testing.T) {
	s := newSet(t, Options{})
	g := open(t, s, segment.Options{SortOrder: []string{segment.TimeColumn, "k"}})
	table{[]segment.ColumnSpec{timeSpec, keySpec}, [][]any{{int64(5), "b"}, {int64(3), "a"}}}.appendTo(t, g)
	before := acquire(t, s, 0)
	more := segment.ColumnSpec{Name: "m", Type: vector.Double}
	table{[]segment.ColumnSpec{timeSpec, more, keySpec}, [][]any{{int64(4), 1.5, nil}}}.appendTo(t, g)
	table{[]segment.ColumnSpec{keySpec, timeSpec}, [][]any{{"c", int64(1)}}}.appendTo(t, g)
	want(t, read(t, before, segment.TimeColumn, "k", "m"), "5 b <nil>", "3 a <nil>")
	release(before)
	all := []string{"5 b <nil>", "3 a <nil>", "4 <nil> 1.5", "1 c <nil>"}
	now := acquire(t, s, 0)
	want(t, read(t, now, segment.TimeColumn, "k", "m"), all...)
	release(now)
	if g.Rows() != 4 || g.RowsInMemory() != 4 || g.Bytes() == 0 {
		t.Errorf("it has [%d] rows, [%d] in [%d] bytes of memory", g.Rows(), g.RowsInMemory(), g.Bytes())
	}
	if err := g.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.Rows() != 4 || g.RowsInMemory() != 0 || g.Bytes() != 0 {
		t.Errorf("persisted it has [%d] rows, [%d] in [%d] bytes of memory", g.Rows(), g.RowsInMemory(), g.Bytes())
	}
	now = acquire(t, s, 0)
	want(t, read(t, now, segment.TimeColumn, "k", "m"), "1 c <nil>", "3 a <nil>", "4 <nil> 1.5", "5 b <nil>")
	release(now)
}

// Parts whose columns have different types become one file of the least restrictive type, in its
// order.
func TestTypesWidenWhenPartsBecomeOneFile(t *testing.T) {
	long, text := segment.ColumnSpec{Name: "x", Type: vector.Long}, segment.ColumnSpec{Name: "x", Type: vector.String}
	double := segment.ColumnSpec{Name: "x", Type: vector.Double}
	multi := segment.ColumnSpec{Name: "x", Type: vector.ListOf(vector.String), Multi: true}
	array := segment.ColumnSpec{Name: "x", Type: vector.ListOf(vector.Long)}
	nested := segment.ColumnSpec{Name: "x", Type: vector.JSON}
	tests := map[string]struct {
		parts []segment.ColumnSpec
		value []any
		typ   vector.Type
		rows  []string
	}{
		"numbers": {[]segment.ColumnSpec{long, double}, []any{int64(7), 2.5}, vector.Double, []string{"2.5", "7"}},
		"texts":   {[]segment.ColumnSpec{long, text, double}, []any{int64(10), "9", 1.0}, vector.String, []string{"1.0", "10", "9"}},
		"several": {[]segment.ColumnSpec{text, multi}, []any{"b", []any{"a", "c"}}, multi.Type, []string{"[a c]", "[b]"}},
		"arrays":  {[]segment.ColumnSpec{array, double}, []any{[]any{int64(3)}, 2.5}, vector.ListOf(vector.Double), []string{"[2.5]", "[3]"}},
		"nested": {[]segment.ColumnSpec{text, nested, array}, []any{"a\"", `{"b":1}`, []any{int64(1), nil}}, vector.JSON,
			[]string{`"a\""`, `[1,null]`, `{"b":1}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, Options{})
			g := open(t, s, segment.Options{SortOrder: []string{"x", segment.TimeColumn}})
			for i, spec := range test.parts {
				table{[]segment.ColumnSpec{timeSpec, spec}, [][]any{{int64(1), test.value[i]}}}.appendTo(t, g)
			}
			if n := len(acquire(t, s, 0)); n != len(test.parts) {
				t.Errorf("rows of [%d] types lie in [%d] parts", len(test.parts), n)
			}
			path := filepath.Join(t.TempDir(), "out.segment")
			info, err := g.Finish(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Column("x").Type; got != test.typ {
				t.Errorf("type is [%s], want [%s]", got, test.typ)
			}
			want(t, read(t, acquire(t, s, 0), "x"), test.rows...)
		})
	}
}

// Rollup combines rows as they come; what a reader has does not change.
func TestRollupInMemory(t *testing.T) {
	s := newSet(t, Options{})
	g := open(t, s, segment.Options{Rollup: true, Fold: sums, SortOrder: []string{segment.TimeColumn}})
	columns := []segment.ColumnSpec{timeSpec, keySpec, sumSpec}
	table{columns, [][]any{{int64(1), "a", int64(1)}, {int64(1), "a", int64(2)}, {int64(1), nil, nil}}}.appendTo(t, g)
	first := acquire(t, s, 0)
	table{columns, [][]any{{int64(2), "b", int64(5)}}}.appendTo(t, g) // only new rows
	table{columns, [][]any{{int64(1), "a", int64(10)}, {int64(1), nil, int64(7)}}}.appendTo(t, g)
	second := acquire(t, s, 0)
	other := segment.ColumnSpec{Name: "d", Type: vector.String}
	rate := segment.ColumnSpec{Name: "r", Type: vector.Double, Metric: "doubleSum"}
	table{[]segment.ColumnSpec{timeSpec, keySpec, sumSpec, other, rate},
		[][]any{{int64(1), "a", int64(100), nil, 0.5}, {int64(1), "a", int64(1000), "x", nil}}}.appendTo(t, g)
	want(t, read(t, first, segment.TimeColumn, "k", "n"), "1 a 3", "1 <nil> <nil>")
	want(t, read(t, second, segment.TimeColumn, "k", "n"), "1 a 13", "1 <nil> 7", "2 b 5")
	third := acquire(t, s, 0)
	all := []string{"1 a 113 <nil> 0.5", "1 <nil> 7 <nil> <nil>", "2 b 5 <nil> <nil>", "1 a 1000 x <nil>"}
	want(t, read(t, third, segment.TimeColumn, "k", "n", "d", "r"), all...)
	if err := g.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	table{columns, [][]any{{int64(1), "a", int64(1)}}}.appendTo(t, g)
	if g.Rows() != 5 {
		t.Errorf("[%d] rows in two parts, want 5", g.Rows())
	}
	if info, err := g.Finish(t.Context(), filepath.Join(t.TempDir(), "f")); err != nil || info.Rows != 4 || !info.Rollup {
		t.Fatalf("finished as %v, %v", info, err)
	}
	want(t, read(t, acquire(t, s, 0), segment.TimeColumn, "k", "n", "d", "r"),
		"1 <nil> 7 <nil> <nil>", "1 a 114 <nil> 0.5", "1 a 1000 x <nil>", "2 b 5 <nil> <nil>")
	want(t, read(t, third, segment.TimeColumn, "k", "n", "d", "r"), all...)
}

// Rows of a published segment are for queries that pin a state before it, and no others.
func TestPublishedRowsAreForOlderStates(t *testing.T) {
	clock := fakeclock.New(time.Unix(0, 0))
	s := newSet(t, Options{Number: func() int64 { return 10 }, Clock: clock})
	g := open(t, s, segment.Options{})
	id := g.ID().String()
	table{[]segment.ColumnSpec{timeSpec}, [][]any{{int64(1)}}}.appendTo(t, g)
	if _, err := s.AcquireUsed(id); err == nil {
		t.Error("a segment that grows is read as a used one")
	}
	if _, err := g.Finish(t.Context(), filepath.Join(t.TempDir(), "f")); err != nil {
		t.Fatal(err)
	}
	committing, commit := make(chan struct{}), make(chan error)
	done := make(chan error)
	publish := func() {
		done <- g.Publish(func() (int64, error) { close(committing); return 12, <-commit })
	}
	for _, outcome := range []error{errors.New("conflict"), nil} {
		committing = make(chan struct{})
		go publish()
		<-committing
		if n := len(acquire(t, s, 10)); n != 1 { // no publication in flight can be in state 10
			t.Errorf("[%d] readers for an older state", n)
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Acquire(cut, id, 12); !errors.Is(err, context.Canceled) {
			t.Errorf("a query that may stand behind the publication did not wait: %v", err)
		}
		waited := make(chan int)
		go func() { waited <- len(acquire(t, s, 12)) }()
		commit <- outcome
		if err := <-done; !errors.Is(err, outcome) {
			t.Errorf("publishing returned %v", err)
		}
		if n := <-waited; (n == 1) != (outcome != nil) {
			t.Errorf("[%d] readers for state 12 after %v", n, outcome)
		}
	}
	for pinned, readers := range map[int64]int{0: 1, 11: 1, 12: 0, 13: 0} {
		if n := len(acquire(t, s, pinned)); n != readers {
			t.Errorf("[%d] readers for state [%d], want [%d]", n, pinned, readers)
		}
	}
	if used, err := s.AcquireUsed(id); err != nil || len(used) != 1 {
		t.Errorf("as a used segment: %v, %v", used, err)
	}
	g.Close()
	for pinned, readers := range map[int64]int{11: 1, 12: 0} {
		if n := len(acquire(t, s, pinned)); n != readers {
			t.Errorf("[%d] readers of a closed segment for state [%d], want [%d]", n, pinned, readers)
		}
	}
	clock.Advance(leavingFor + 1)
	open(t, s, segment.Options{}).Close() // whoever uses the set lets go what has left
	var gone *Gone
	if _, err := s.Acquire(t.Context(), id, 11); !errors.As(err, &gone) || gone.Number != 12 {
		t.Errorf("a closed segment for an older state: %v", err)
	}
	if _, err := s.Acquire(t.Context(), "other", 11); !errors.As(err, &gone) || gone.Number != 0 {
		t.Errorf("a segment that never was: %v", err)
	}
}

// log is an Announcer that keeps what it is told.
type log struct {
	mu   sync.Mutex
	said []string
}

func (l *log) Announce(a Announcement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("%d rows %d", a.Rows, a.Number)
	for _, c := range a.Columns {
		text += " " + c.Name
	}
	l.said = append(l.said, text)
}

func (l *log) Withdraw(_ timeline.SegmentID, number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprint("gone ", number))
}

// A segment is announced with its first rows, with new columns, and when its rows have doubled; two
// of one id are one.
func TestAnnouncements(t *testing.T) {
	l := &log{}
	s := newSet(t, Options{Announcer: l})
	g, again := open(t, s, segment.Options{}), open(t, s, segment.Options{})
	one := table{[]segment.ColumnSpec{timeSpec}, [][]any{{int64(1)}}}
	table{one.columns, nil}.appendTo(t, g)
	for range 4 {
		one.appendTo(t, g)
	}
	table{[]segment.ColumnSpec{timeSpec, keySpec}, [][]any{{int64(1), "a"}}}.appendTo(t, g)
	one.appendTo(t, again)
	if err := g.Publish(func() (int64, error) { return 3, nil }); err != nil {
		t.Fatal(err)
	}
	g.Close()
	g.Close()
	again.Close()
	want(t, l.said, "1 rows 0 __time", "2 rows 0 __time", "4 rows 0 __time", "5 rows 0 __time k", "5 rows 0 __time k",
		"5 rows 3 __time k", "1 rows 0 __time", "gone 3")
}

// What does not fit in memory is refused as a whole, and fits after the largest segment was
// persisted.
func TestMemoryIsBounded(t *testing.T) {
	for _, rollup := range []bool{false, true} {
		memory := budget.Root(16 << 20)
		s := newSet(t, Options{Memory: memory})
		g := open(t, s, segment.Options{Rollup: rollup, Fold: sums})
		rows := 0
		refused := 0
		for refused < 3 {
			tb := table{columns: []segment.ColumnSpec{timeSpec, keySpec, sumSpec}}
			for range 2000 {
				tb.rows = append(tb.rows, []any{int64(rows), fmt.Sprintf("key-%d", rows), int64(1)})
				rows++
			}
			err := g.Append(t.Context(), tb.batch(), tb.columns)
			if errors.Is(err, ErrMemory) {
				refused++
				if had := g.Rows(); had != int64(rows-2000) {
					t.Fatalf("[%d] rows after a refusal, want [%d]", had, rows-2000)
				}
				if did, err := s.Relieve(t.Context()); !did || err != nil {
					t.Fatalf("nothing was persisted: %v", err)
				}
				err = g.Append(t.Context(), tb.batch(), tb.columns)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		info, err := g.Finish(t.Context(), filepath.Join(t.TempDir(), "f"))
		if err != nil || info.Rows != rows {
			t.Fatalf("finished as %v, %v", info, err)
		}
		if used := memory.Used(); used != 0 {
			t.Errorf("[%d] bytes are held after all is on disk", used)
		}
		if did, err := s.Relieve(t.Context()); did || err != nil {
			t.Errorf("there was something to persist: %v", err)
		}
		g.Close()
		if left, _ := os.ReadDir(s.o.Dir); len(left) != 0 {
			t.Errorf("files are left: %v", left)
		}
	}
}

// What an earlier process left is removed.
func TestDirectoryIsCleaned(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"live-7.segment", "live-8.segment.partial", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := NewSet(Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 1 || left[0].Name() != "other" {
		t.Errorf("left are %v", left)
	}
}

// While one goroutine appends, others persist, finish and publish, and others read: every reader
// sees whole batches, as many as were appended before it asked at least, and each once.
func TestSnapshotsAreExact(t *testing.T) {
	for seed := range uint64(20) {
		rollup := seed%2 == 1
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 31))
			s := newSet(t, Options{Memory: budget.Root(64 << 20)})
			g := open(t, s, segment.Options{Rollup: rollup, Fold: sums, SortOrder: []string{segment.TimeColumn}})
			const batches, size = 150, 7
			var appended, done sync.WaitGroup
			total := make(chan int64, 1)
			total <- 0
			now := func() int64 { n := <-total; total <- n; return n }
			over := make(chan struct{})
			for range 3 {
				done.Go(func() {
					last := int64(0)
					for more := true; more; {
						select {
						case <-over:
							more = false
						default:
						}
						least := now()
						readers, err := s.Acquire(context.Background(), g.id, 0)
						most := now() + size // one may be under way
						if err != nil {
							t.Error(err)
							return
						}
						sum := sumOf(t, readers)
						release(readers)
						if least > 0 && (sum < least || sum > most || sum < last || sum%size != 0) {
							t.Errorf("sum [%d] after [%d], of [%d] to [%d]", sum, last, least, most)
							return
						}
						last = sum
					}
				})
			}
			pauses := make([]int, 6)
			for i := range pauses {
				pauses[i] = r.IntN(batches)
			}
			appended.Go(func() {
				for b := range batches {
					tb := table{columns: []segment.ColumnSpec{timeSpec, keySpec, sumSpec}}
					if b > batches/2 {
						tb.columns = append(tb.columns, segment.ColumnSpec{Name: "more", Type: vector.String})
					}
					for i := range size {
						row := []any{int64(b % 5), fmt.Sprint(i % 3), int64(1), "x"}
						tb.rows = append(tb.rows, row[:len(tb.columns)])
					}
					if err := g.Append(context.Background(), tb.batch(), tb.columns); err != nil {
						t.Error(err)
						return
					}
					total <- <-total + size
				}
			})
			for _, pause := range pauses {
				appended.Go(func() {
					for now() < int64(pause*size) && !t.Failed() {
						_ = g.Rows()
					}
					if err := g.Persist(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			appended.Wait()
			if _, err := g.Finish(t.Context(), filepath.Join(t.TempDir(), "f")); err != nil {
				t.Error(err)
			}
			if err := g.Publish(func() (int64, error) { return 1, nil }); err != nil {
				t.Error(err)
			}
			close(over)
			done.Wait()
			g.Close()
			if used := s.o.Memory.Used(); used != 0 {
				t.Errorf("[%d] bytes are held", used)
			}
		})
	}
}

func sumOf(t testing.TB, readers []segment.Reader) int64 {
	total := int64(0)
	for _, r := range readers {
		c, err := r.Column("n")
		if err != nil {
			t.Error(err)
			return 0
		}
		n := r.Info().Rows
		v, err := c.Read(nil, 0, n)
		if err != nil {
			t.Error(err)
			return 0
		}
		for i := range n {
			total += v.LongAt(i)
		}
	}
	return total
}
