package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/testkit/faulty"
	"github.com/hengedb/henge/internal/vector"
)

// bench is a deep storage with segments s0, s1, ... of as many rows as their number, plus one.
type bench struct {
	local *deepstore.Local
	far   *faulty.Store // the same, not on this machine
	dir   string
}

func newBench(t *testing.T, n int) *bench {
	t.Helper()
	local, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	b := &bench{local: local, far: faulty.New(local, 1, faulty.Plan{}), dir: filepath.Join(t.TempDir(), "cache")}
	for i := range n {
		var out bytes.Buffer
		w, err := segment.NewWriter(&out, segment.Options{Columns: []segment.ColumnSpec{{Name: "x", Type: vector.Long}}})
		if err != nil {
			t.Fatal(err)
		}
		values := make([]int64, i+1)
		for k := range values {
			values[k] = int64(k) * 1000
		}
		if err := w.Append(context.Background(), &vector.Batch{N: len(values), Cols: []*vector.Vector{vector.FromLongs(values)}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := local.Put(context.Background(), key(i), &out); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func key(i int) string { return fmt.Sprintf("wiki/s%d/index", i) }

func id(i int) string { return fmt.Sprintf("s%d", i) }

func (b *bench) spec(i int) json.RawMessage { return b.local.LoadSpec(key(i)) }

func (b *bench) cache(t *testing.T, store deepstore.Store, maxBytes int64) *Cache {
	t.Helper()
	c, err := Open(Options{Locations: []Location{{Dir: b.dir, MaxBytes: maxBytes}}, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func rows(t *testing.T, s *segment.Segment, err error) int {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	c, err := s.Column("x")
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Read(nil, 0, s.Info().Rows)
	if err != nil {
		t.Fatal(err)
	}
	return v.Len
}

func TestLoadedSegmentsSurviveARestart(t *testing.T) {
	for _, where := range []string{"local", "far"} {
		t.Run(where, func(t *testing.T) {
			ctx, b := context.Background(), newBench(t, 4)
			var store deepstore.Store = b.local
			if where == "far" {
				store = b.far
			}
			c := b.cache(t, store, 0)
			for i := range 4 {
				if err := c.Load(ctx, id(i), b.spec(i)); err != nil {
					t.Fatal(err)
				}
				if err := c.Load(ctx, id(i), b.spec(i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Drop("s1"); err != nil {
				t.Fatal(err)
			}
			if err := c.Drop("s1"); err != nil {
				t.Fatal(err)
			}
			used, opened := c.Used(), b.far.Calls(faulty.Open)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			// A crash in the middle of a line.
			f, err := os.OpenFile(filepath.Join(b.dir, "manifest"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(`{"id":"s1","key":"wiki/s`); err != nil {
				t.Fatal(err)
			}
			f.Close()

			c = b.cache(t, store, 0)
			if diff := cmp.Diff([]string{"s0", "s2", "s3"}, c.Loaded()); diff != "" {
				t.Fatal(diff)
			}
			if c.Used() != used {
				t.Errorf("used %d, before %d", c.Used(), used)
			}
			for _, i := range []int{0, 2, 3} {
				s, err := c.Acquire(ctx, id(i))
				if n := rows(t, s, err); n != i+1 {
					t.Errorf("s%d has %d rows", i, n)
				}
			}
			if _, err := c.Acquire(ctx, "s1"); err == nil || !strings.Contains(err.Error(), "[s1]") {
				t.Errorf("dropped segment: %v", err)
			}
			if again := b.far.Calls(faulty.Open); again != opened {
				t.Errorf("fetched %d files again", again-opened)
			}
		})
	}
}

func TestIdsShareAFile(t *testing.T) {
	ctx, b := context.Background(), newBench(t, 1)
	c := b.cache(t, b.far, 0)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := c.Load(ctx, id(i), b.spec(0)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := b.far.Calls(faulty.Open); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	s, err := c.Acquire(ctx, "s3")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if err := c.Drop(id(i)); err != nil {
			t.Fatal(err)
		}
		if want := i < 7; (c.Used() > 0) != want {
			t.Errorf("after %d drops %d bytes are used", i+1, c.Used())
		}
	}
	if n := rows(t, s, nil); n != 1 { // a query keeps what was dropped
		t.Error(n)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "??", "*")); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestFetchedFilesMakeRoom(t *testing.T) {
	ctx, b := context.Background(), newBench(t, 4)
	info, err := b.local.Stat(ctx, key(3))
	if err != nil {
		t.Fatal(err)
	}
	c := b.cache(t, b.far, 2*info.Size+info.Size/2) // two fit
	if err := c.Load(ctx, "s0", b.spec(0)); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 2, 2, 3} {
		s, err := c.Fetch(ctx, id(i), func() json.RawMessage { return b.spec(i) })
		if n := rows(t, s, err); n != i+1 {
			t.Errorf("s%d has %d rows", i, n)
		}
	}
	if n := b.far.Calls(faulty.Open); n != 4 {
		t.Errorf("fetched %d times", n)
	}
	if err := c.Load(ctx, "s1", b.spec(1)); err != nil {
		t.Fatal(err)
	}
	if err := c.Load(ctx, "s2", b.spec(2)); err == nil || !strings.Contains(err.Error(), "Segment [s2]") {
		t.Errorf("a third segment fits: %v", err)
	}
	if diff := cmp.Diff([]string{"s0", "s1"}, c.Loaded()); diff != "" {
		t.Error(diff)
	}
	if c.Used() > 2*info.Size {
		t.Errorf("%d bytes are used", c.Used())
	}
}

func TestMissingFileNamesTheSegment(t *testing.T) {
	ctx, b := context.Background(), newBench(t, 2)
	for _, store := range []deepstore.Store{b.local, b.far} {
		b.dir = t.TempDir()
		c := b.cache(t, store, 0)
		err := c.Load(ctx, "gone", b.local.LoadSpec("wiki/gone"))
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "Segment [gone] can't be loaded: deep storage has no object [wiki/gone]") {
			t.Errorf("missing: %v", err)
		}
		if err := c.Load(ctx, "s0", json.RawMessage(`{"type":"s3_zip"}`)); err == nil || !strings.Contains(err.Error(), "[s0]") {
			t.Errorf("foreign load spec: %v", err)
		}
		if len(c.Loaded()) != 0 || c.Used() != 0 {
			t.Errorf("holds %v, %d bytes", c.Loaded(), c.Used())
		}
	}
	c := b.cache(t, b.local, 0)
	if err := c.Load(ctx, "s1", b.spec(1)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := b.local.Delete(ctx, key(1)); err != nil {
		t.Fatal(err)
	}
	c = b.cache(t, b.local, 0)
	if _, err := c.Acquire(ctx, "s1"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "[s1]") {
		t.Errorf("missing after a restart: %v", err)
	}
}

func TestDamagedCopiesAreFetchedAgain(t *testing.T) {
	ctx, b := context.Background(), newBench(t, 3)
	c := b.cache(t, b.far, 0)
	if err := c.Load(ctx, "s2", b.spec(2)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	copies, err := filepath.Glob(filepath.Join(b.dir, "??", "*.segment"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("%v %v", copies, err)
	}
	for _, damage := range []func() error{
		func() error { return os.Remove(copies[0]) },
		func() error { return os.Truncate(copies[0], 20) },
		func() error {
			return os.WriteFile(copies[0], []byte("something else that is long enough to be looked at"), 0o600)
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		c = b.cache(t, b.far, 0)
		s, err := c.Acquire(ctx, "s2")
		if n := rows(t, s, err); n != 3 {
			t.Errorf("%d rows", n)
		}
		c.Close()
	}
	// What arrives damaged is not kept.
	b.far = faulty.New(b.local, 5, faulty.Plan{Flip: 1})
	c = b.cache(t, b.far, 0)
	damaged := 0
	for range 20 { // a bit in the gaps between parts does no harm
		if err := c.Load(ctx, "s1", b.spec(1)); err != nil {
			if !errors.Is(err, segment.ErrCorrupt) {
				t.Fatal(err)
			}
			damaged++
		}
		if err := c.Drop("s1"); err != nil {
			t.Fatal(err)
		}
	}
	if damaged == 0 {
		t.Error("no damage was noticed")
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, arriving, "*")); len(left) != 0 {
		t.Errorf("half copies left: %v", left)
	}
}

// A copy that a query finds to be damaged is fetched again when it is next asked for, once for each
// time that it is found to be so; where deep storage has nothing better the copy stays.
func TestCopiesThatQueriesFindDamagedAreFetchedAgain(t *testing.T) {
	ctx, b := context.Background(), newBench(t, 3)
	whole := b.cache(t, b.far, 0)
	if err := whole.Load(ctx, id(2), b.spec(2)); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(filepath.Join(b.dir, "??", "*.segment"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("%v %v", copies, err)
	}
	good, err := os.ReadFile(copies[0])
	if err != nil {
		t.Fatal(err)
	}
	flip := func(name string) {
		t.Helper()
		bad := bytes.Clone(good)
		bad[70] ^= 1 // among the values, whose first is at 64
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// read opens the segment anew, as after a restart: bytes that were found good once are not looked
	// at again.
	read := func(c *Cache) error {
		t.Helper()
		s, err := c.Acquire(ctx, id(2))
		if err != nil {
			return err
		}
		defer s.Release()
		x, err := s.Column("x")
		if err != nil {
			return err
		}
		v, err := x.Read(nil, 0, 3)
		if err == nil && v.LongAt(2) != 2000 {
			t.Errorf("row 2 is %d", v.LongAt(2))
		}
		return err
	}
	for range 2 {
		whole.Close()
		flip(copies[0])
		whole = b.cache(t, b.far, 0)
		fetched := b.far.Calls(faulty.Open)
		var corrupt *segment.CorruptError
		if err := read(whole); !errors.As(err, &corrupt) || corrupt.File != copies[0] || corrupt.Column != "x" || corrupt.Offset != 64 {
			t.Fatalf("%v (%+v)", err, corrupt)
		}
		for range 3 {
			if err := read(whole); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.far.Calls(faulty.Open) - fetched; n != 1 {
			t.Errorf("it was fetched %d times", n)
		}
	}
	whole.Close()
	flip(copies[0])
	bad, err := os.ReadFile(copies[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := b.local.Delete(ctx, key(2)); err != nil {
		t.Fatal(err)
	}
	if err := b.local.Put(ctx, key(2), bytes.NewReader(bad)); err != nil {
		t.Fatal(err)
	}
	whole = b.cache(t, b.far, 0)
	fetched := b.far.Calls(faulty.Open)
	for range 4 {
		if err := read(whole); !errors.Is(err, segment.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if n := b.far.Calls(faulty.Open) - fetched; n != 1 {
		t.Errorf("what is no better in deep storage was fetched %d times", n)
	}
}

func TestSweepRemovesWhatNobodyLoads(t *testing.T) {
	ctx, b := context.Background(), newBench(t, 2)
	c := b.cache(t, b.far, 0)
	if err := c.Load(ctx, "s0", b.spec(0)); err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(b.dir, "ab", "abcdef.segment")
	if err := os.MkdirAll(filepath.Dir(orphan), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(orphan, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(orphan); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the orphan stays")
	}
	s, err := c.Acquire(ctx, "s0")
	if n := rows(t, s, err); n != 1 {
		t.Error(n)
	}
}

func TestManifestIsWrittenAnew(t *testing.T) {
	ctx, b := context.Background(), newBench(t, 1)
	c := b.cache(t, b.local, 0)
	if err := c.Load(ctx, "stays", b.spec(0)); err != nil {
		t.Fatal(err)
	}
	for range 800 {
		if err := c.Load(ctx, "comes and goes", b.spec(0)); err != nil {
			t.Fatal(err)
		}
		if err := c.Drop("comes and goes"); err != nil {
			t.Fatal(err)
		}
	}
	if c.mu.locations[0].log.lines > 1100 {
		t.Errorf("manifest has %d lines", c.mu.locations[0].log.lines)
	}
	c.Close()
	if diff := cmp.Diff([]string{"stays"}, b.cache(t, b.local, 0).Loaded()); diff != "" {
		t.Error(diff)
	}
}
