package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/vector"
)

// marked puts a segment whose only values are i under a key with its fingerprint, and returns its
// load spec and its file.
func (b *bench) marked(t *testing.T, i int) (spec json.RawMessage, path string) {
	t.Helper()
	var out bytes.Buffer
	w, err := segment.NewWriter(&out, segment.Options{Columns: []segment.ColumnSpec{{Name: "x", Type: vector.Long}, {Name: "y", Type: vector.Double}}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	xs, ys := make([]int64, n), make([]float64, n)
	for k := range xs {
		xs[k], ys[k] = int64(i)+int64(k)<<20, float64(i)+float64(k)/3
	}
	if err := w.Append(t.Context(), &vector.Batch{N: n, Cols: []*vector.Vector{vector.FromLongs(xs), vector.FromDoubles(ys)}}); err != nil {
		t.Fatal(err)
	}
	info, err := w.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := segment.FileName(fmt.Sprintf("marked/s%d_0_0123456789abcdef", i), info.Fingerprint)
	if err := b.local.Put(t.Context(), key, &out); err != nil {
		t.Fatal(err)
	}
	if path, err = b.local.Path(key); err != nil {
		t.Fatal(err)
	}
	return b.local.LoadSpec(key), path
}

// first returns the first value of x of a segment, reading all of y.
func first(t *testing.T, c *Cache, id string) (int64, error) {
	t.Helper()
	s, err := c.Acquire(t.Context(), id)
	if err != nil {
		return 0, err
	}
	defer s.Release()
	for _, name := range []string{"y", "x"} {
		col, err := s.Column(name)
		if err != nil {
			return 0, err
		}
		v, err := col.Read(nil, 0, s.Info().Rows)
		if err != nil {
			return 0, err
		}
		if name == "x" {
			return v.LongAt(0), nil
		}
	}
	return 0, nil
}

// timed returns a cache on a clock of the test, which verifies all it holds in an hour, over a deep
// storage that is far or on this machine.
func (b *bench) timed(t *testing.T, where string) (*Cache, *fakeclock.Clock) {
	t.Helper()
	var store deepstore.Store = b.local
	if where == "far" {
		store = b.far
	}
	times := fakeclock.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	c, err := Open(Options{Locations: []Location{{Dir: b.dir}}, Store: store, Clock: times, Scrub: ScrubOptions{Period: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, times
}

func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// damage changes a byte of a file in place, in what columns hold.
func damage(t *testing.T, path string, r *rand.Rand) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := 64 + r.Int64N(100_000)
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= byte(1 + r.IntN(255))
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// A file whose checksums are right, but which is that of another segment, is an error where there
// is no better one, and fetched anew where there is.
func TestTheFileOfAnotherSegmentIsNotRead(t *testing.T) {
	for _, where := range []string{"far", "local"} {
		t.Run(where, func(t *testing.T) {
			b := newBench(t, 0)
			specs, paths := [2]json.RawMessage{}, [2]string{}
			for i := range specs {
				specs[i], paths[i] = b.marked(t, i)
			}
			good := [2][]byte{read(t, paths[0]), read(t, paths[1])}
			replace(t, paths[1], good[0])
			c, _ := b.timed(t, where)
			if err := c.Load(t.Context(), "s0", specs[0]); err != nil {
				t.Fatal(err)
			}
			err := c.Load(t.Context(), "s1", specs[1])
			if err == nil || !errors.Is(err, segment.ErrCorrupt) || !strings.Contains(err.Error(), "the file of another segment") {
				t.Fatalf("loading the wrong file: %v", err)
			}
			replace(t, paths[1], good[1])
			if err := c.Load(t.Context(), "s1", specs[1]); err != nil {
				t.Fatal(err)
			}
			if where == "local" {
				return
			}
			// The copy is replaced while nobody has it open, as by a restart.
			copies, err := filepath.Glob(filepath.Join(b.dir, "??", "*.segment"))
			if err != nil || len(copies) != 2 {
				t.Fatalf("copies %v, %v", copies, err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			x, y := read(t, copies[0]), read(t, copies[1])
			replace(t, copies[0], y)
			replace(t, copies[1], x)
			c, _ = b.timed(t, where)
			for i := range 2 {
				if got, err := first(t, c, id(i)); err != nil || got != int64(i) {
					t.Errorf("segment s%d begins with [%d], %v", i, got, err)
				}
			}
			if stats, _ := c.ScrubStats(); stats.Damaged != 2 || stats.Mended != 2 {
				t.Errorf("%+v", stats)
			}
		})
	}
}

// Bytes that change after they were read once are found within the period, and had anew where there
// are better ones, all the time under queries.
func TestTheScrubFindsWhatChanged(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := newBench(t, 0)
		c, times := b.timed(t, "far")
		var specs []json.RawMessage
		for i := range 3 {
			spec, _ := b.marked(t, i)
			specs = append(specs, spec)
			if err := c.Load(t.Context(), id(i), spec); err != nil {
				t.Fatal(err)
			}
			if got, err := first(t, c, id(i)); err != nil || got != int64(i) {
				t.Fatalf("[%d], %v", got, err)
			}
		}
		key, err := b.far.Key(specs[1])
		if err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		path := c.mu.byKey[key].path()
		c.mu.Unlock()
		damage(t, path, r)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.RunScrub(ctx)
		}()
		for range 60 {
			if err := times.BlockUntil(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			times.Advance(time.Minute)
		}
		if err := times.BlockUntil(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-done
		for i := range 3 {
			if got, err := first(t, c, id(i)); err != nil || got != int64(i) {
				t.Errorf("seed %d: segment s%d begins with [%d], %v", seed, i, got, err)
			}
		}
		stats, _ := c.ScrubStats()
		if stats.Damaged != 1 || stats.Mended != 1 || stats.Files < 3 || stats.Bytes < 3*100_000 {
			t.Errorf("seed %d: %+v", seed, stats)
		}
		if what, ok := c.Copy("s1"); !ok || what.Damaged == 0 || what.Mended < what.Damaged || !strings.Contains(what.Reason, "checksum") || what.Failure != "" {
			t.Errorf("seed %d: %+v", seed, what)
		}
		if what, _ := c.Copy("s0"); what.Damaged != 0 || what.Verified == 0 {
			t.Errorf("seed %d: %+v", seed, what)
		}
	}
}

// When both copies are damaged queries fail with the reason; they recover within seconds when deep
// storage is whole again, with no restart.
func TestQueriesRecoverWhenDeepStorageDoes(t *testing.T) {
	for _, where := range []string{"far", "local"} {
		for _, how := range []string{"renamed", "in place"} {
			t.Run(where+" "+how, func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, 5))
				b := newBench(t, 0)
				spec, path := b.marked(t, 0)
				good := read(t, path)
				c, times := b.timed(t, where)
				if err := c.Load(t.Context(), "s0", spec); err != nil {
					t.Fatal(err)
				}
				damage(t, path, r)
				if where == "far" {
					copies, err := filepath.Glob(filepath.Join(b.dir, "??", "*.segment"))
					if err != nil {
						t.Fatal(err)
					}
					damage(t, copies[0], r)
					if err := c.Close(); err != nil { // what arrived was verified whole
						t.Fatal(err)
					}
					c, times = b.timed(t, where)
				}
				for range 20 { // each asks as often as it may
					if _, err := first(t, c, "s0"); !errors.Is(err, segment.ErrCorrupt) {
						t.Fatalf("%v", err)
					}
					times.Advance(300 * time.Millisecond)
				}
				if how == "renamed" {
					replace(t, path, good)
				} else if err := os.WriteFile(path, good, 0o600); err != nil {
					t.Fatal(err)
				}
				times.Advance(longestRest)
				_, _ = first(t, c, "s0") // may be the one that finds the damage, and whose query begins anew
				if got, err := first(t, c, "s0"); err != nil || got != 0 {
					t.Errorf("[%d], %v", got, err)
				}
			})
		}
	}
}
