package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestReplaceWhileRowsArrive replaces a datasource by itself again and again while rows are appended to it: none is lost and none is there twice,
// whether the statements exclude each other or, with concurrent locks, run at once.
func TestReplaceWhileRowsArrive(t *testing.T) {
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
			replaces := 0
			for running := true; running; replaces++ {
				select {
				case <-done:
					running = false
				default:
				}
				for _, overwrite := range []string{"ALL", "WHERE __time >= TIMESTAMP '2024-01-01' AND __time < TIMESTAMP '2024-01-02'"} {
					where := strings.TrimPrefix(overwrite, "ALL")
					statement := fmt.Sprintf("REPLACE INTO x OVERWRITE %s SELECT * FROM x %s PARTITIONED BY DAY", overwrite, where)
					if err := s.Ingest(t.Context(), statement, settings); err != nil {
						t.Fatal(err)
					}
				}
			}
			work.Wait()
			rows, err := s.Query(t.Context(), "SELECT COUNT(*), COUNT(DISTINCT n), SUM(n) FROM x")
			if want := fmt.Sprintf("[[%d %d %d]]", appends+1, appends+1, 1000+appends*(appends-1)/2); err != nil || fmt.Sprint(rows) != want {
				t.Errorf("after %d rounds of REPLACE: %v, %v; want %s", replaces, rows, err, want)
			}
		})
	}
}
