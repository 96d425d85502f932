package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/testkit/faulty"
	"github.com/hengedb/henge/internal/vector"
)

// metered counts the bytes that are read of its objects.
type metered struct {
	deepstore.Store
	bytes atomic.Int64
}

func (m *metered) Open(ctx context.Context, key string) (deepstore.Object, error) {
	o, err := m.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return &meteredObject{o, m}, nil
}

type meteredObject struct {
	deepstore.Object
	of *metered
}

func (o *meteredObject) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.Object.ReadAt(p, off)
	o.of.bytes.Add(int64(n))
	return n, err
}

const wideColumns, wideRows = 30, 20_000

// value is what column c has in a row of the wide segments.
func value(c, row int) int64 { return int64(row)*int64(c+1)*7919 ^ int64(c)<<40 }

// wide puts segments w0, w1, ... of many columns into the deep storage, and returns the size of
// one.
func (b *bench) wide(t *testing.T, n int) (size int64) {
	t.Helper()
	for i := range n {
		var out bytes.Buffer
		o := segment.Options{}
		batch := &vector.Batch{N: wideRows}
		for c := range wideColumns {
			o.Columns = append(o.Columns, segment.ColumnSpec{Name: fmt.Sprintf("c%02d", c), Type: vector.Long})
			values := make([]int64, wideRows)
			for row := range values {
				values[row] = value(c, row) + int64(i)
			}
			batch.Cols = append(batch.Cols, vector.FromLongs(values))
		}
		w, err := segment.NewWriter(&out, o)
		if err == nil {
			err = w.Append(t.Context(), batch)
		}
		if err == nil {
			_, err = w.Finish(t.Context())
		}
		size = int64(out.Len())
		if err == nil {
			err = b.local.Put(t.Context(), fmt.Sprintf("wiki/w%d/index", i), &out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return size
}

func (b *bench) fetchWide(t *testing.T, c *Cache, i int) *segment.Segment {
	t.Helper()
	s, err := c.Fetch(t.Context(), fmt.Sprintf("w%d", i), func() json.RawMessage { return b.local.LoadSpec(fmt.Sprintf("wiki/w%d/index", i)) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check compares all values of a column with what they are.
func check(t *testing.T, s *segment.Segment, column, i int) {
	t.Helper()
	c, err := s.Column(fmt.Sprintf("c%02d", column))
	if err != nil {
		t.Fatalf("column [%d] of segment [%d]: %v", column, i, err)
	}
	v, err := c.Read(nil, 0, wideRows)
	if err != nil {
		t.Fatalf("column [%d] of segment [%d]: %v", column, i, err)
	}
	for row, got := range v.Longs {
		if want := value(column, row) + int64(i); got != want {
			t.Fatalf("column [%d] of segment [%d] has [%d] in row [%d] instead of [%d]", column, i, got, row, want)
		}
	}
}

func TestOnlyTheColumnsThatAreAskedForAreFetched(t *testing.T) {
	b := newBench(t, 0)
	size := b.wide(t, 1)
	store := &metered{Store: faulty.New(b.local, 1, faulty.Plan{})}
	c := b.cache(t, store, 0)
	s := b.fetchWide(t, c, 0)
	if err := segment.Fetch(t.Context(), s, []string{"c07", "no such column"}); err != nil {
		t.Fatal(err)
	}
	fetched := store.bytes.Load()
	if fetched > size/10 {
		t.Errorf("one of [%d] columns: [%d] bytes of [%d] were read", wideColumns, fetched, size)
	}
	if used := c.Used(); used != fetched {
		t.Errorf("[%d] bytes count as held, [%d] were fetched", used, fetched)
	}
	check(t, s, 7, 0)
	if again := store.bytes.Load(); again != fetched {
		t.Errorf("[%d] bytes were read for a column that was there", again-fetched)
	}
	check(t, s, 8, 0) // without a word before
	for column := range wideColumns {
		check(t, s, column, 0)
	}
	if all := store.bytes.Load(); all > size {
		t.Errorf("[%d] bytes were read of a file of [%d]", all, size)
	}
	s.Release()
	// Loading it makes it whole, and it stays.
	before := store.bytes.Load()
	if err := c.Load(t.Context(), "w0", b.local.LoadSpec("wiki/w0/index")); err != nil {
		t.Fatal(err)
	}
	if more := store.bytes.Load() - before; more > size/10 {
		t.Errorf("loading a file that is nearly there read [%d] of [%d] bytes", more, size)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	before = store.bytes.Load()
	c = b.cache(t, store, 0)
	s, err := c.Acquire(t.Context(), "w0")
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, 29, 0)
	s.Release()
	if store.bytes.Load() != before {
		t.Error("a segment that was loaded is fetched again after a restart")
	}
}

func TestPartsMakeRoomForOthers(t *testing.T) {
	b := newBench(t, 0)
	size := b.wide(t, 6)
	store := &metered{Store: faulty.New(b.local, 1, faulty.Plan{})}
	c := b.cache(t, store, size/2)
	held := b.fetchWide(t, c, 0) // by a query, all the time
	check(t, held, 0, 0)
	for round := range 3 {
		for i := range 6 {
			s := b.fetchWide(t, c, i)
			for _, column := range []int{round, 10 + round, 20 + round} {
				check(t, s, column, i)
			}
			s.Release()
			if used := c.Used(); used > size/2 {
				t.Fatalf("[%d] of [%d] bytes are held", used, size/2)
			}
		}
	}
	files, err := os.ReadDir(filepath.Join(b.dir, partials))
	if err != nil || len(files) == 0 || len(files) >= 6 {
		t.Errorf("[%d] files are there in part (%v)", len(files), err)
	}
	check(t, held, 0, 0)
	check(t, held, 25, 0) // its place in the file is gone
	held.Release()
	if _, err := c.Fetch(t.Context(), "w9", func() json.RawMessage { return b.local.LoadSpec("wiki/w9/index") }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestPartsThatArriveDamagedAreFetchedAgain(t *testing.T) {
	b := newBench(t, 0)
	b.wide(t, 1)
	failures, corrupt := 0, 0
	for seed := range uint64(40) {
		c, err := Open(Options{Locations: []Location{{Dir: filepath.Join(t.TempDir(), "cache")}}, Store: faulty.New(b.local, seed, faulty.Plan{Before: 0.1, Short: 0.1, Flip: 0.2})})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		for range 10 {
			s, err := c.Fetch(t.Context(), "w0", func() json.RawMessage { return b.local.LoadSpec("wiki/w0/index") })
			if err != nil {
				failures++
				continue
			}
			column := r.IntN(wideColumns)
			if err := segment.Fetch(t.Context(), s, []string{fmt.Sprintf("c%02d", column)}); err == nil {
				check(t, s, column, 0)
			} else if failures++; errors.Is(err, segment.ErrCorrupt) {
				corrupt++
			}
			s.Release()
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if failures == 0 || failures > 300 {
		t.Errorf("[%d] of 400 failed, [%d] as damaged", failures, corrupt)
	}
}

func TestManyQueriesAskForPartsAtOnce(t *testing.T) {
	b := newBench(t, 0)
	size := b.wide(t, 4)
	c := b.cache(t, faulty.New(b.local, 1, faulty.Plan{}), 2*size)
	var working sync.WaitGroup
	for g := range 8 {
		working.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 2))
			for range 30 {
				i, column := r.IntN(4), r.IntN(wideColumns)
				s, err := c.Fetch(context.Background(), fmt.Sprintf("w%d", i), func() json.RawMessage { return b.local.LoadSpec(fmt.Sprintf("wiki/w%d/index", i)) })
				if err != nil {
					t.Errorf("fetching: %v", err)
					return
				}
				if r.IntN(2) == 0 {
					if err := segment.Fetch(context.Background(), s, []string{fmt.Sprintf("c%02d", column)}); err != nil {
						t.Errorf("fetching a column: %v", err)
					}
				}
				col, err := s.Column(fmt.Sprintf("c%02d", column))
				if err != nil {
					t.Errorf("a column: %v", err)
					return
				}
				v, err := col.Read(nil, 100, 200)
				if err != nil || v.Longs[5] != value(column, 105)+int64(i) {
					t.Errorf("a column has other values (%v)", err)
				}
				s.Release()
				if i == 0 && r.IntN(3) == 0 {
					if err := c.Load(context.Background(), "w0", b.local.LoadSpec("wiki/w0/index")); err != nil {
						t.Errorf("loading: %v", err)
					}
					if err := c.Drop("w0"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	working.Wait()
}

// stuck is a deep storage that does not answer any more, once it is told so.
type stuck struct {
	deepstore.Store
	now atomic.Bool
}

func (s *stuck) Open(ctx context.Context, key string) (deepstore.Object, error) {
	o, err := s.Store.Open(ctx, key)
	return &stuckObject{o, s, ctx}, err
}

type stuckObject struct {
	deepstore.Object
	of  *stuck
	ctx context.Context
}

func (o *stuckObject) Within(ctx context.Context) deepstore.Object {
	return &stuckObject{o.Object, o.of, ctx}
}

func (o *stuckObject) ReadAt(p []byte, off int64) (int, error) {
	if o.of.now.Load() {
		<-o.ctx.Done()
		return 0, o.ctx.Err()
	}
	return o.Object.ReadAt(p, off)
}

// TestADeepStorageThatDoesNotAnswer has queries ask for what it does not give: they end when they
// are told to, those that wait for another one's request too, and what is there can be read all the
// time.
func TestADeepStorageThatDoesNotAnswer(t *testing.T) {
	b := newBench(t, 0)
	b.wide(t, 1)
	store := &stuck{Store: faulty.New(b.local, 1, faulty.Plan{})}
	c := b.cache(t, store, 0)
	s := b.fetchWide(t, c, 0)
	defer s.Release()
	check(t, s, 3, 0)
	store.now.Store(true)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	failures := make(chan error, 3)
	for range 3 {
		go func() { failures <- segment.Fetch(ctx, s, []string{"c05"}) }()
	}
	check(t, s, 3, 0)
	cancel(enough)
	for range 3 {
		if err := <-failures; !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
			t.Errorf("a query that was cancelled: %v", err)
		}
	}
	store.now.Store(false)
	check(t, s, 5, 0)
}

// TestSegmentsSurviveAMoveOfDeepStorage has segments that were mapped in a directory come from far,
// and then from the directory again.
func TestSegmentsSurviveAMoveOfDeepStorage(t *testing.T) {
	b := newBench(t, 2)
	for i, store := range []deepstore.Store{b.local, b.far, b.local} {
		c := b.cache(t, store, 0)
		if i == 0 {
			for n := range 2 {
				if err := c.Load(t.Context(), fmt.Sprint("s", n), b.spec(n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for n := range 2 {
			s, err := c.Acquire(t.Context(), fmt.Sprint("s", n))
			if got := rows(t, s, err); got != n+1 {
				t.Errorf("%d: segment s%d has [%d] rows", i, n, got)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyLocalSegmentsAreReadyAtOnce opens a cache that holds ten thousand segments: their files
// are not looked at, and so need not be there.
func TestManyLocalSegmentsAreReadyAtOnce(t *testing.T) {
	const segments = 10_000
	b := newBench(t, 1)
	c := b.cache(t, b.far, 0)
	if err := c.Load(t.Context(), "s0", b.spec(0)); err != nil {
		t.Fatal(err)
	}
	for i := range segments {
		l := line{ID: fmt.Sprintf("wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_2026-03-01T00:00:00.000Z_%d", i), Key: fmt.Sprintf("wiki/many%d/index", i), Size: 1 << 20}
		if err := c.mu.locations[0].log.add(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	asked := b.far.Calls(faulty.Open)
	c = b.cache(t, b.far, 0)
	if n := len(c.Loaded()); n != segments+1 || b.far.Calls(faulty.Open) != asked {
		t.Errorf("[%d] segments are held, and deep storage was asked for [%d]", n, b.far.Calls(faulty.Open)-asked)
	}
	s, err := c.Acquire(t.Context(), "s0")
	if got := rows(t, s, err); got != 1 {
		t.Errorf("[%d] rows", got)
	}
}

func TestSpans(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var have spans
		var there [40]bool
		for range 15 {
			from := r.Int64N(40)
			to := from + r.Int64N(41-from)
			on := r.IntN(3) > 0
			if from == to {
				continue
			}
			if on {
				have.add(span{from, to})
			} else {
				have.remove(span{from, to})
			}
			for i := from; i < to; i++ {
				there[i] = on
			}
			var bytes int64
			for _, x := range there {
				if x {
					bytes++
				}
			}
			if have.bytes() != bytes {
				t.Fatalf("seed %d: %v has [%d] bytes, not [%d]", seed, have, have.bytes(), bytes)
			}
			from = r.Int64N(40)
			to = from + r.Int64N(41-from)
			lacks := have.missing(from, to)
			for i := from; i < to; i++ {
				if in := slices.ContainsFunc(lacks, func(s span) bool { return s.start <= i && i < s.end }); in == there[i] {
					t.Fatalf("seed %d: %v lacks %v of [%d, %d)", seed, have, lacks, from, to)
				}
			}
		}
	}
}
