package api

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestRequireTimeCondition wants a condition on the time where the operator does; the context of a
// query has no say in it, as in Druid.
func TestRequireTimeCondition(t *testing.T) {
	const refusal = "requireTimeCondition is enabled, all queries must include a filter condition on the __time column"
	for _, c := range []struct{ setting, sql, refused string }{
		{"true", "SELECT COUNT(*) FROM x", refusal},
		{"true", "SET requireTimeCondition = false; SELECT COUNT(*) FROM x", refusal},
		{"true", "EXPLAIN ANALYZE SELECT COUNT(*) FROM x", refusal},
		{"true", "SELECT COUNT(*) FROM x WHERE __time >= TIMESTAMP '2024-01-01 00:00:00'", ""},
		{"true", "SELECT 1", ""},
		{"false", "SET requireTimeCondition = true; SELECT COUNT(*) FROM x", ""},
	} {
		s := server.Start(t, server.Options{Settings: []string{"service.sql.planner.requireTimeCondition=" + c.setting}})
		if err := s.Ingest(t.Context(), inline("REPLACE INTO x OVERWRITE ALL", generation(0)...), nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.Query(t.Context(), c.sql)
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("with %s, %s: %v", c.setting, c.sql, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("with %s, %s: %v, want %s", c.setting, c.sql, err, c.refused)
		}
	}
}
