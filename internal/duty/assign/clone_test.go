package assign

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// held returns the ids that a server holds.
func (w *world) held(address string) []string {
	return slices.Sorted(maps.Keys(w.servers[address].held))
}

func TestClonesHoldWhatTheirSourcesHold(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d")
	for day := 1; day <= 12; day++ {
		w.segment(day, "1", 0)
	}
	const once = `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`
	same := func(when string) {
		t.Helper()
		if diff := cmp.Diff(w.held("a:1"), w.held("c:1")); diff != "" {
			t.Errorf("%s: the clone holds other segments than its source: %s", when, diff)
		}
	}
	if err := w.visit(true, once); err != nil {
		t.Fatal(err)
	}
	w.settings = `{"cloneServers":{"c:1":"a:1","d:1":"nobody:1"}}`
	before := w.held("d:1")
	for range 3 { // what the clone held alone is loaded elsewhere, which its source may be
		if err := w.visit(true, once); err != nil {
			t.Fatal(err)
		}
		if err := w.duty.followSources(t.Context(), w.Stocks(true)); err != nil {
			t.Fatal(err)
		}
	}
	same("at first")
	if got := w.held("d:1"); !slices.Equal(got, before) {
		t.Errorf("the clone of a server that is not there holds %v, and held %v", got, before)
	}
	both := map[string]bool{}
	for _, id := range append(w.held("a:1"), w.held("b:1")...) {
		if both[id] {
			t.Errorf("segment [%s] is on both servers: one copy is wanted", id)
		}
		both[id] = true
	}
	if len(both) != 12 {
		t.Errorf("[%d] of 12 segments are on servers that are no clones", len(both))
	}
	// What the source loads, moves away or drops, the clone does.
	w.segment(13, "1", 0)
	w.segments = w.segments[3:]
	for range 2 {
		if err := w.visit(true, once); err != nil {
			t.Fatal(err)
		}
		if err := w.duty.followSources(t.Context(), w.Stocks(true)); err != nil {
			t.Fatal(err)
		}
	}
	same("after changes")
	// Without its source it stays as it is.
	kept := w.held("c:1")
	w.servers["a:1"].server.SetDown(true)
	if err := w.visit(true, once); err != nil {
		t.Fatal(err)
	}
	if got := w.held("c:1"); len(kept) == 0 || !slices.Equal(got, kept) {
		t.Errorf("without its source the clone holds %v, and held %v", got, kept)
	}
	// One that is none any more is a server like the others.
	w.settings = `{}`
	w.servers["a:1"].server.SetDown(false)
	for range 3 {
		if err := w.visit(true, once); err != nil {
			t.Fatal(err)
		}
	}
	for day, copies := range w.copies() {
		if copies != 1 {
			t.Errorf("[%d] copies of %s", copies, day)
		}
	}
}

func TestACloneThatIsTooSmall(t *testing.T) {
	w := newWorld(t, "a")
	w.add("small", "hot", 250)
	for day := 1; day <= 5; day++ {
		w.segment(day, "1", 0)
	}
	w.settings = `{"cloneServers":{"small:1":"a:1"}}`
	for range 2 {
		if err := w.visit(true, `[{"type":"loadForever","tieredReplicants":{"hot":2}}]`); err != nil {
			t.Fatal(err)
		}
		if err := w.duty.followSources(t.Context(), w.Stocks(true)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.held("small:1")); n != 2 {
		t.Errorf("a server of 250 bytes holds [%d] segments of 100", n)
	}
	if n := len(w.held("a:1")); n != 5 {
		t.Errorf("its source holds [%d]", n)
	}
}
