package api

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestCancelledQuery replays a query that another request cancels, on the Router and on the Broker.
func TestCancelledQuery(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := s.LoadGolden(t.Context(), t, shared)
	exchanges, err := golden.Load(filepath.Join(shared, "golden", "sql"))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*golden.Exchange{}
	for _, e := range exchanges {
		byName[e.Name] = e
	}
	for _, suffix := range []string{"", "-broker"} {
		t.Run("cancel"+suffix, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			query, stop, again := byName["cancelled-query"+suffix], byName["cancel-running"+suffix], byName["cancel-again"+suffix]
			if query == nil || stop == nil || again == nil {
				t.Fatal("the recordings of a cancelled query are not there")
			}
			query.SetMask("$.errorMessage", "text") // the recorded text is that of a Java class
			answered := make(chan golden.Result, 1)
			go func() { answered <- player.Play(ctx, query) }()
			// The query is known from some moment on; until then the answer is that it is not.
			var r golden.Result
			for ctx.Err() == nil {
				if r = player.Play(ctx, stop); r.Difference == "" {
					break
				}
				select {
				case early := <-answered:
					t.Fatalf("the query ended before it could be cancelled (%s): %s", r.Difference, early.Difference)
				case <-time.After(time.Millisecond):
				}
			}
			if r.Difference != "" {
				t.Errorf("%s: %s", stop.Name, r.Difference)
			}
			if r := <-answered; r.Difference != "" {
				t.Errorf("%s: %s", query.Name, r.Difference)
			}
			if r := player.Play(ctx, again); r.Difference != "" {
				t.Errorf("%s: %s", again.Name, r.Difference)
			}
		})
	}
}
