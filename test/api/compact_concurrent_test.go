package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestCompactWhileRowsArrive compacts a datasource again and again while rows are appended to it:
// none is lost and none is there twice, whether the statements take the locks from the compactions
// or, with concurrent locks, both run at once.
func TestCompactWhileRowsArrive(t *testing.T) {
	whileRowsArrive(t, func(t *testing.T, s *server.Server, settings map[string]any, running bool) {
		task := map[string]any{"type": "compact", "dataSource": "x", "interval": "2024-01-01/2024-01-03", "context": settings}
		var submitted struct{ Task string }
		if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", task, &submitted); err != nil {
			t.Fatal(err)
		}
		ended, err := s.Await(t.Context(), submitted.Task)
		if err != nil || ended.StatusCode != "SUCCESS" && (!running || !strings.Contains(ended.ErrorMsg, "reempted") && !strings.Contains(ended.ErrorMsg, "lost its lock")) {
			t.Fatalf("%+v, %v", ended, err) // a statement has the higher priority and may take the lock
		}
	}, func(t *testing.T, s *server.Server) {
		segments, err := s.Query(t.Context(), "SELECT COUNT(*) FROM sys.segments WHERE datasource = 'x' AND is_overshadowed = 0 AND is_active = 1")
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(segments); string(text) != "[[2]]" {
			t.Errorf("the last compaction left the segments %s", text)
		}
	})
}

// whileRowsArrive calls round again and again while rows are appended to datasource x, and once
// more when all are there: each is there once then. It does so with locks that exclude each other,
// and with concurrent ones.
func whileRowsArrive(t *testing.T, round func(t *testing.T, s *server.Server, settings map[string]any, running bool), after func(*testing.T, *server.Server)) {
	for name, settings := range map[string]map[string]any{"exclusive": {}, "concurrent": {"useConcurrentLocks": true}} {
		t.Run(name, func(t *testing.T) {
			s := server.Start(t, server.Options{Settings: []string{"service.worker.capacity=4"}})
			const appends = 12
			if err := s.Ingest(t.Context(), inline("INSERT INTO x", `{"t":"2024-01-01","k":"k","n":1000}`), settings); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			var work sync.WaitGroup
			work.Go(func() {
				defer close(done)
				for i := range appends {
					if err := s.Ingest(t.Context(), inline("INSERT INTO x", fmt.Sprintf(`{"t":"2024-01-0%d","k":"k","n":%d}`, 1+i%2, i)), settings); err != nil {
						t.Error(err)
						return
					}
				}
			})
			rounds := 0
			for running := true; running; rounds++ {
				select {
				case <-done:
					running = false
				default:
				}
				round(t, s, settings, running)
			}
			work.Wait()
			rows, err := s.Query(t.Context(), "SELECT COUNT(*), COUNT(DISTINCT n), SUM(n) FROM x")
			if want := fmt.Sprintf("[[%d %d %d]]", appends+1, appends+1, 1000+appends*(appends-1)/2); err != nil || fmt.Sprint(rows) != want {
				t.Errorf("after %d rounds: %v, %v; want %s", rounds, rows, err, want)
			}
			after(t, s)
		})
	}
}
