package cluster

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// The segments of a datasource are divided between the workers of a statement or a compaction,
// wherever those are, also when no Historical holds them.
func TestDatasourcesAreReadInParts(t *testing.T) {
	c := withWorkers(t)
	if status, answer, err := c.Send(t.Context(), "router", http.MethodPost, "/service/coordinator/v1/rules/_default",
		`[{"type":"loadForever","tieredReplicants":{},"useDefaultTierForNull":false}]`); err != nil || status != http.StatusOK {
		t.Fatalf("rules: %d %s %v", status, answer, err)
	}
	days(t, c, "t", 0, 6)
	days(t, c, "t", 0, 6)
	settings := map[string]any{"maxNumTasks": 5, "finalizeAggregations": true}
	id := submitTo(t, c, "REPLACE INTO copy OVERWRITE ALL SELECT __time, n FROM t PARTITIONED BY ALL", settings)
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Fatalf("%+v", task)
	}
	if got := rowsRead(t, c, id); len(got) != 4 || slices.Min(got) != 30 {
		t.Errorf("the workers have read %v", got)
	}
	id = submitTo(t, c, "REPLACE INTO groups OVERWRITE ALL SELECT TIME_FLOOR(__time, 'P1D') AS __time, n, COUNT(*) AS c FROM t GROUP BY 1, 2 PARTITIONED BY ALL", settings)
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Fatalf("%+v", task)
	}
	id = submit(t, c, `{"type":"compact","dataSource":"t","interval":"2024-01-01/2024-01-07","granularitySpec":{"segmentGranularity":"MONTH"},`+
		`"tuningConfig":{"type":"index_parallel","maxNumConcurrentSubTasks":4}}`)
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Fatalf("%+v", task)
	}
	for sql, want := range map[string]string{
		"SELECT COUNT(*), SUM(n) FROM t":                                             `[[120,540]]`,
		"SELECT COUNT(*), SUM(n) FROM copy":                                          `[[120,540]]`,
		"SELECT COUNT(*), SUM(n), MIN(c), MAX(c) FROM groups":                        `[[60,270,2,2]]`,
		"SELECT COUNT(*) FROM sys.segments WHERE datasource = 't' AND is_active = 1": `[[1]]`,
	} {
		rows, err := c.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(rows); string(got) != want {
			t.Errorf("%s: %s", sql, got)
		}
	}
}
