package api

import (
	"path/filepath"
	"testing"

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
	exchanges, err := golden.Load(filepath.Join(shared, "golden", "native"))
	if err != nil {
		t.Fatal(err)
	}
	list := pending.Read(t, "testdata/native_pending.txt")
	differs := pending.Read(t, "testdata/native_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	passed := 0
	for _, e := range exchanges {
		r := player.Play(t.Context(), e)
		difference := r.Difference + r.Skipped + r.Missing
		if difference == "" {
			passed++
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = difference
			if differs.Reason(e.Name) == "" {
				t.Errorf("native_differs.txt gives no reason for [%s]", e.Name)
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
