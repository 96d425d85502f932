package api

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestSamplerExchanges replays the previews of input.
func TestSamplerExchanges(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := &golden.Player{Addresses: s.Addresses, Wait: time.Minute} // the one datasource that is read has no rows in the interval
	list := pending.Read(t, "testdata/sampler_pending.txt")
	differs := pending.Read(t, "testdata/sampler_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	exchanges, err := golden.Load(filepath.Join(shared, "golden", "sampler"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exchanges {
		r := player.Play(t.Context(), e)
		if r.Skipped+r.Missing != "" {
			t.Errorf("%s is not replayed: %s%s", e.Name, r.Skipped, r.Missing)
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = r.Difference
			continue
		}
		outcome[e.Name] = r.Difference
		if r.Difference != "" {
			t.Logf("%s: %s", e.Name, r.Difference)
		}
	}
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}
