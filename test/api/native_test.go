package api

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeExchanges replays the native queries. What is not answered yet is in testdata/native_pending.txt, what is answered otherwise
// by intent in testdata/native_differs.txt, with the reason.
func TestNativeExchanges(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := s.LoadGolden(t.Context(), t, shared)
	replayNative(t, player, filepath.Join(shared, "golden", "native"), "native")
}

// TestNativeSketches is the same for the native queries of sketches, whose datasources are those of the statements of golden/corpus.
func TestNativeSketches(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	if err := s.LoadCorpus(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	player := &golden.Player{Addresses: s.Addresses, Wait: time.Minute}
	replayNative(t, player, filepath.Join(shared, "golden", "native-sketches"), "native_sketches")
}

// replayNative plays the exchanges of a folder and compares with the lists of that name.
func replayNative(t *testing.T, player *golden.Player, dir, name string) {
	t.Helper()
	exchanges, err := golden.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := pending.Read(t, "testdata/"+name+"_pending.txt")
	differs := pending.Read(t, "testdata/"+name+"_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	passed := 0
	for _, e := range exchanges {
		if e.Setup {
			continue // loads of another kind of task: LoadCorpus and LoadGolden do the same
		}
		r := player.Play(t.Context(), e)
		difference := r.Difference + r.Skipped + r.Missing
		if difference == "" {
			passed++
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = difference
			if differs.Reason(e.Name) == "" {
				t.Errorf("%s_differs.txt gives no reason for [%s]", name, e.Name)
			}
			continue
		}
		outcome[e.Name] = difference
		if difference != "" {
			t.Logf("%s: %s", e.Name, difference)
		}
	}
	t.Logf("%d of %d exchanges answered like the recording", passed, len(exchanges))
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}
