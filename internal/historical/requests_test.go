package historical

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// Who asks for segments is told when the first of them has come, or could not, and goes on asking
// for the others.
func TestSegmentsThatAreAskedFor(t *testing.T) {
	s := &stuck{asked: make(chan struct{}, 10)}
	b := newBench(t, func(real deepstore.Store) deepstore.Store {
		s.Store = notHere(real)
		return s
	})
	good := b.file(100)
	load := func(id string) Change { return Change{LoadItem: b.item(id, good)} }
	ask := func(changes ...Change) string {
		t.Helper()
		var out []string
		for _, o := range b.Change(t.Context(), changes, false, time.Second) {
			switch {
			case o.Failed != "":
				out = append(out, "failed")
			case o.Done:
				out = append(out, "done")
			default:
				out = append(out, "waits")
			}
		}
		return strings.Join(out, " ")
	}
	quick, slow, bad := load("quick"), load("slow"), Change{LoadItem: b.item("bad", good[:len(good)/2])}
	for range 2 { // what is there is there
		if got := ask(slow, quick); got != "waits done" {
			t.Errorf("one of two: %s", got)
		}
	}
	for range 2 { // a failure is told, and then tried again
		if got := ask(bad); got != "failed" {
			t.Errorf("a damaged file: %s", got)
		}
	}
	<-s.asked
	silent := make(chan string)
	go func() { silent <- ask(slow) }()
	fake := b.clock.(*fakeclock.Clock)
	if err := fake.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	fake.Advance(time.Second)
	if got := <-silent; got != "" {
		t.Errorf("what does not come: %s", got)
	}
	go func() { silent <- ask(slow) }()
	if err := fake.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Command(t.Context(), cluster.Command{Epoch: 1, Drop: []string{"slow"}}); err != nil {
		t.Fatal(err)
	}
	if got := <-silent; got != "failed" {
		t.Errorf("what the Coordinator does not want: %s", got)
	}
	gone := Change{Drop: true, LoadItem: cluster.LoadItem{ID: "quick"}}
	for range 2 {
		if got := ask(gone, slow); got != "done waits" {
			t.Errorf("dropped: %s", got)
		}
	}
	if got := fmt.Sprint(b.Loaded()); got != "[]" {
		t.Errorf("loaded are %s", got)
	}
}
