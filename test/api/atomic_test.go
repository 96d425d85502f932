package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// generation is rows over several days, all with the same n: the number of rows depends on it.
func generation(g int) (rows []string) {
	for i := range 5 + g%3 {
		rows = append(rows, fmt.Sprintf(`{"t":"2024-01-%02d","k":"k%d","n":%d}`, 1+i, i, g))
	}
	return rows
}

// TestReplaceIsSeenWholeOrNotAtAll reads while the datasource is replaced again and again, and
// expects rows of one generation only, all of them; and right after a task's success, its own.
func TestReplaceIsSeenWholeOrNotAtAll(t *testing.T) {
	s := server.Start(t, server.Options{})
	load := func(g int) error {
		return s.Ingest(t.Context(), inline("REPLACE INTO x OVERWRITE ALL", generation(g)...), nil)
	}
	if err := load(0); err != nil {
		t.Fatal(err)
	}
	const generations, readers = 12, 2
	done := make(chan struct{})
	var work sync.WaitGroup
	seen := make([]map[string]bool, readers)
	for i := range readers {
		seen[i] = map[string]bool{}
		work.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				rows, err := s.Query(t.Context(), "SELECT MIN(n), MAX(n), COUNT(*), COUNT(DISTINCT k) FROM x")
				if err != nil {
					t.Errorf("a reader: %v", err)
					return
				}
				n, err := rows[0][0].(json.Number).Int64()
				want := fmt.Sprintf("%d %d %d %d", n, n, 5+n%3, 5+n%3)
				if got := strings.Trim(fmt.Sprint(rows[0]), "[]"); err != nil || got != want {
					t.Errorf("a reader sees %s, want %s", got, want)
				}
				seen[i][fmt.Sprint(n)] = true
			}
		})
	}
	for g := 1; g <= generations; g++ {
		if err := load(g); err != nil {
			t.Error(err)
			break
		}
		rows, err := s.Query(t.Context(), "SELECT COUNT(*) FROM x WHERE n = "+fmt.Sprint(g))
		if want := fmt.Sprintf("[[%d]]", 5+g%3); err != nil || fmt.Sprint(rows) != want {
			t.Errorf("right after its success generation %d has %v rows (%v), want %s", g, rows, err, want)
		}
	}
	close(done)
	work.Wait()
	for i := range seen {
		if len(seen[i]) < 2 {
			t.Errorf("reader %d saw %d generations: the test shows nothing", i, len(seen[i]))
		}
	}
}

// TestTwoReplacesAtOnce runs two tasks on the same interval: one after the other, or one fails;
// never a mixture.
func TestTwoReplacesAtOnce(t *testing.T) {
	s := server.Start(t, server.Options{})
	for round := range 5 {
		var work sync.WaitGroup
		results := make([]server.Task, 2)
		for i := range results {
			work.Go(func() {
				id, err := s.Submit(t.Context(), inline("REPLACE INTO x OVERWRITE ALL", generation(2*round+i)...), nil)
				if err != nil {
					t.Errorf("submitting: %v", err)
					return
				}
				if results[i], err = s.Await(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		succeeded := 0
		for _, r := range results {
			if r.StatusCode == "SUCCESS" {
				succeeded++
			}
		}
		if succeeded == 0 {
			t.Fatalf("both failed: %v", results)
		}
		rows, err := s.Query(t.Context(), "SELECT MIN(n), MAX(n), COUNT(*) FROM x")
		if err != nil {
			t.Fatal(err)
		}
		n, err := rows[0][0].(json.Number).Int64()
		if want := fmt.Sprintf("[[%d %d %d]]", n, n, 5+n%3); err != nil || fmt.Sprint(rows) != want || n < int64(2*round) {
			t.Errorf("after two at once the datasource holds %v, want rows of one of them", rows)
		}
	}
}
