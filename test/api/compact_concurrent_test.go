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

// TestCompactWhileRowsArrive compacts a datasource again and again while rows are appended to it: none is lost and none is there twice, whether
// the statements take the locks from the compactions or, with concurrent locks, both run at once.
func TestCompactWhileRowsArrive(t *testing.T) {
	for name, settings := range map[string]map[string]any{"exclusive": {}, "concurrent": {"useConcurrentLocks": true}} {
		t.Run(name, func(t *testing.T) {
			s := server.Start(t, server.Options{Settings: []string{"service.worker.capacity=4"}})
			const appends = 12
			first := inline("INSERT INTO x", `{"t":"2024-01-01","k":"k","n":1000}`)
			if err := s.Ingest(t.Context(), first, settings); err != nil {
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
			compactions := 0
			for running := true; running; compactions++ {
				select {
				case <-done:
					running = false
				default:
				}
				task := map[string]any{"type": "compact", "dataSource": "x", "interval": "2024-01-01/2024-01-03", "context": settings}
				var submitted struct{ Task string }
				if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", task, &submitted); err != nil {
					t.Fatal(err)
				}
				ended, err := s.Await(t.Context(), submitted.Task)
				if err != nil || ended.StatusCode != "SUCCESS" && (!running || !strings.Contains(ended.ErrorMsg, "reempted") && !strings.Contains(ended.ErrorMsg, "lost its lock")) {
					t.Fatalf("%+v, %v", ended, err) // a statement has the higher priority and may take the lock
				}
			}
			work.Wait()
			rows, err := s.Query(t.Context(), "SELECT COUNT(*), COUNT(DISTINCT n), SUM(n) FROM x")
			if want := fmt.Sprintf("[[%d %d %d]]", appends+1, appends+1, 1000+appends*(appends-1)/2); err != nil || fmt.Sprint(rows) != want {
				t.Errorf("after %d compactions: %v, %v; want %s", compactions, rows, err, want)
			}
			segments, err := s.Query(t.Context(), "SELECT COUNT(*) FROM sys.segments WHERE datasource = 'x' AND is_overshadowed = 0 AND is_active = 1")
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := json.Marshal(segments); string(text) != "[[2]]" {
				t.Errorf("the last compaction left the segments %s", text)
			}
		})
	}
}
