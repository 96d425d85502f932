package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestDatasourceOfTombstones empties a datasource. What is left of it is published and has no
// columns: SQL does not know it, as it does not know one that was never written, native queries
// find no rows in it, and the next INSERT makes it known again.
func TestDatasourceOfTombstones(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := func(sql string) string {
		t.Helper()
		rows, err := s.Query(t.Context(), sql)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(rows)
	}
	load := func(sql string) {
		t.Helper()
		if err := s.Ingest(t.Context(), sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	load(inline("INSERT INTO x", `{"t":"2024-01-01","k":"a","n":1}`, `{"t":"2024-01-02","k":"b","n":2}`))
	load("REPLACE INTO x OVERWRITE ALL SELECT __time, k FROM x WHERE k = 'c' PARTITIONED BY DAY")
	const names = "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'x'"
	for _, sql := range []string{"SELECT COUNT(*) FROM x", "SELECT k FROM x", "SELECT * FROM x"} {
		if got := ask(sql); !strings.Contains(got, "'x' not found") {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if got := ask(names); got != "[]" {
		t.Errorf("the tables are %s", got)
	}
	if got := ask("SELECT COUNT(*), SUM(num_rows) FROM sys.segments WHERE datasource = 'x' AND is_active = 1"); got != "[[2 0]]" {
		t.Errorf("the segments are %s", got)
	}
	const native = `{"queryType":"timeseries","dataSource":"x","intervals":"2024/2025","granularity":"all","aggregations":[{"type":"count","name":"n"}]}`
	status, answer, err := s.Send(t.Context(), "router", http.MethodPost, "/service/v2", native)
	if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"n":0`) {
		t.Errorf("a native query: %d, %s, %v", status, answer, err)
	}
	load(inline("INSERT INTO x", `{"t":"2024-01-01","k":"d","n":4}`))
	if got := ask("SELECT k, n FROM x"); got != "[[d 4]]" {
		t.Errorf("after another INSERT: %s", got)
	}
}
