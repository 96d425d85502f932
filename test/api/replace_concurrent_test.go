package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestReplaceWhileRowsArrive replaces a datasource by itself again and again while rows are
// appended to it: none is lost and none is there twice, whether the statements exclude each other
// or, with concurrent locks, run at once.
func TestReplaceWhileRowsArrive(t *testing.T) {
	whileRowsArrive(t, func(t *testing.T, s *server.Server, settings map[string]any, _ bool) {
		for _, overwrite := range []string{"ALL", "WHERE __time >= TIMESTAMP '2024-01-01' AND __time < TIMESTAMP '2024-01-02'"} {
			where := strings.TrimPrefix(overwrite, "ALL")
			statement := fmt.Sprintf("REPLACE INTO x OVERWRITE %s SELECT * FROM x %s PARTITIONED BY DAY", overwrite, where)
			if err := s.Ingest(t.Context(), statement, settings); err != nil {
				t.Fatal(err)
			}
		}
	}, func(*testing.T, *server.Server) {})
}
