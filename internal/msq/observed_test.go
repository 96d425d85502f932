package msq

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is asked of rows in another process must fit the rows that come there.
func TestWhatIsAskedOfRowsElsewhereFits(t *testing.T) {
	for name, c := range map[string]struct {
		write  partWrite
		hashed bool
		want   bool
	}{
		"nothing":              {partWrite{}, false, true},
		"hidden":               {partWrite{Hidden: 3}, false, false},
		"a hash":               {partWrite{Hash: &partHash{Buckets: 2, Columns: []int{1}, Sets: []bool{true}}}, true, true},
		"no hash to sort by":   {partWrite{}, true, false},
		"a hash of no column":  {partWrite{Hash: &partHash{Columns: []int{2}, Sets: []bool{true}}}, true, false},
		"a hash without sets":  {partWrite{Hash: &partHash{Columns: []int{1}}}, true, false},
		"names of others":      {partWrite{Hash: &partHash{Columns: []int{1}, Sets: []bool{true}, Names: []string{"a", "b"}}}, true, false},
		"buckets below none":   {partWrite{Hash: &partHash{Buckets: -1}}, true, false},
		"types by values":      {partWrite{Auto: &partAuto{Columns: []int{0}, Lists: []bool{false}}}, false, true},
		"types of no column":   {partWrite{Auto: &partAuto{Columns: []int{-1}, Lists: []bool{false}}}, false, false},
		"types without a kind": {partWrite{Auto: &partAuto{Columns: []int{0}}}, false, false},
	} {
		if got := c.write.fits(2, c.hashed); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWhatWasLearntElsewhereIsAsIfLearntHere(t *testing.T) {
	target := func() *writeTarget {
		w := &writeTarget{several: make([]bool, 2), hash: (&partHash{Buckets: 4}).hasher(-1), auto: (&partAuto{Columns: []int{1}, Lists: []bool{false}}).values()}
		return w
	}
	there, here := target(), target()
	there.several[1] = true
	there.hash.count(7, 3)
	there.auto.chunks[7] = []valueKinds{someLong | someText}
	text, err := json.Marshal(there.observed())
	if err != nil {
		t.Fatal(err)
	}
	var l observed
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	if err := here.adopt(&l); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(there.observed(), here.observed()); d != "" {
		t.Error(d)
	}
	l.Kinds[7] = nil
	for _, wrong := range []*observed{nil, {}, &l} {
		if here.adopt(wrong) == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

func TestNotesStayUntilTheTaskEnds(t *testing.T) {
	b := newBench(t)
	if text, err := Note(t.Context(), b.store, "t", "n"); text != nil || err != nil {
		t.Errorf("a note that is none: %s %v", text, err)
	}
	for _, text := range []string{"first", "second"} { // of a run that others believe lost
		if kept, err := PutNote(t.Context(), b.store, "t", "n", []byte(text)); err != nil || string(kept) != "first" {
			t.Errorf("%s %v", kept, err)
		}
	}
	if err := Clear(t.Context(), b.store, "t", func(string) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	if text, err := Note(t.Context(), b.store, "t", "n"); text != nil || err != nil {
		t.Errorf("a note of a task that has ended: %s %v", text, err)
	}
}
