package cache

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/deepstore"
)

// at returns a cache in places below the bench's directory, named 0, 1 and so on.
func (b *bench) at(t *testing.T, s Strategy, store deepstore.Store, locations ...Location) *Cache {
	t.Helper()
	for i := range locations {
		if locations[i].Dir == "" {
			locations[i].Dir = fmt.Sprint(i)
		}
		locations[i].Dir = filepath.Join(b.dir, locations[i].Dir)
	}
	c, err := Open(Options{Locations: locations, Strategy: s, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// copies counts the files in each location.
func (b *bench) copies(t *testing.T, locations int) string {
	t.Helper()
	var out []string
	for i := range locations {
		found, err := filepath.Glob(filepath.Join(b.dir, fmt.Sprint(i), "??", "*.segment"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(len(found)))
	}
	return strings.Join(out, " ")
}

func TestStrategiesChooseThePlace(t *testing.T) {
	probe := newBench(t, 1)
	c := probe.cache(t, probe.far, 0)
	if err := c.Load(t.Context(), id(0), probe.spec(0)); err != nil {
		t.Fatal(err)
	}
	one := c.Used() + c.Used()/8 // sizes of segments differ little
	for _, test := range []struct {
		strategy  Strategy
		locations []Location
		want      string // files in each after six
	}{
		{LeastBytesUsed, []Location{{}, {}, {}}, "2 2 2"},
		{"", []Location{{}, {MaxBytes: 8 * one}}, "3 3"},
		{RoundRobin, []Location{{}, {}, {}, {}}, "2 2 1 1"},
		{MostAvailableSize, []Location{{MaxBytes: 3 * one}, {MaxBytes: 7 * one}}, "1 5"},
		{LeastBytesUsed, []Location{{MaxBytes: one}, {MaxBytes: one}, {}}, "1 1 4"},
		{RoundRobin, []Location{{MaxBytes: one}, {}, {MaxBytes: one}}, "1 4 1"},
		{LeastBytesUsed, []Location{{FreePercent: 100}, {}}, "0 6"},
		{Random, []Location{{MaxBytes: one}, {MaxBytes: 5 * one}}, "1 5"},
	} {
		b := newBench(t, 6)
		c := b.at(t, test.strategy, b.far, test.locations...)
		for i := range 6 {
			if err := c.Load(t.Context(), id(i), b.spec(i)); err != nil {
				t.Fatalf("%s: %v", test.strategy, err)
			}
		}
		if got := b.copies(t, len(test.locations)); got != test.want {
			t.Errorf("%s of %v: %s instead of %s", test.strategy, test.locations, got, test.want)
		}
	}
}

// What makes room is what lies in the location where the room is wanted, and who finds none is told
// of all.
func TestRoomIsMadeInThePlaceThatHasIt(t *testing.T) {
	b := newBench(t, 5)
	c := b.at(t, LeastBytesUsed, b.far, Location{}, Location{})
	for i := range 2 {
		s, err := c.Fetch(t.Context(), id(i), func() json.RawMessage { return b.spec(i) })
		rows(t, s, err)
	}
	for _, p := range c.mu.locations {
		p.MaxBytes = p.used + p.used/8
	}
	for i := 2; i < 4; i++ {
		if err := c.Load(t.Context(), id(i), b.spec(i)); err != nil {
			t.Fatal(err)
		}
		if got := b.copies(t, 2); got != "1 1" {
			t.Errorf("copies are %s", got)
		}
	}
	err := c.Load(t.Context(), id(4), b.spec(4))
	for _, want := range []string{"Segment [s4]", "does not fit", "in [" + filepath.Join(b.dir, "0") + "]", "in [" + filepath.Join(b.dir, "1") + "]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for i := 2; i < 4; i++ {
		s, err := c.Acquire(t.Context(), id(i))
		rows(t, s, err)
	}
}

// A disk that is taken away takes its segments with it and no others; when it comes back, what is
// elsewhere by then stays there, and what is dropped does not come back.
func TestPlacesComeAndGo(t *testing.T) {
	b := newBench(t, 4)
	c := b.at(t, RoundRobin, b.far, Location{}, Location{})
	load := func() {
		t.Helper()
		for i := range 4 {
			if err := c.Load(t.Context(), id(i), b.spec(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	restart := func(want string, locations ...Location) {
		t.Helper()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = b.at(t, RoundRobin, b.far, locations...)
		if got := fmt.Sprint(c.Loaded()); got != want {
			t.Errorf("loaded are %s instead of %s", got, want)
		}
		if _, err := c.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range c.Loaded() {
			s, err := c.Acquire(t.Context(), id)
			rows(t, s, err)
		}
	}
	load()
	restart("[s0 s1 s2 s3]", Location{}, Location{})
	restart("[s0 s1 s2 s3]", Location{Dir: "1"}, Location{Dir: "0"}) // their order says nothing
	restart("[s1 s3]", Location{Dir: "1"})
	load()
	if got := b.copies(t, 2); got != "2 4" {
		t.Errorf("copies are %s", got)
	}
	used := c.Used()
	restart("[s0 s1 s2 s3]", Location{Dir: "1"}, Location{Dir: "0"})
	if got := b.copies(t, 2); got != "0 4" || c.Used() != used {
		t.Errorf("copies are %s, [%d] bytes instead of [%d]", got, c.Used(), used)
	}
	if err := c.Drop("s0"); err != nil {
		t.Fatal(err)
	}
	restart("[s1 s2 s3]", Location{}, Location{})
}
