package api

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestORCLoads loads a file of ORC and what is in it as JSON, by SQL and by a native task that
// finds the columns out: both are the same.
func TestORCLoads(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	dir, err := filepath.Abs("../../internal/ingest/testdata/orc")
	if err != nil {
		t.Fatal(err)
	}
	var loaded []string
	for _, c := range []struct{ file, format string }{{"rows.json", "json"}, {"zstd.orc", "orc"}} {
		source, format := fmt.Sprintf(`{"type":"local","files":[%q]}`, filepath.Join(dir, c.file)), `{"type":"`+c.format+`"}`
		err := s.Ingest(t.Context(), `REPLACE INTO x OVERWRITE ALL SELECT MILLIS_TO_TIMESTAMP(COALESCE("at", 0)) AS __time, b, i64, d, w, l, o FROM TABLE(EXTERN('`+source+
			`', '`+format+`')) EXTEND ("at" BIGINT, b BIGINT, i64 BIGINT, d DOUBLE, w VARCHAR, l BIGINT ARRAY, o TYPE('COMPLEX<json>')) PARTITIONED BY ALL`, nil)
		if err != nil {
			t.Fatal(err)
		}
		const sums = "SELECT COUNT(*), SUM(b), SUM(i64), SUM(d), COUNT(w), SUM(ARRAY_LENGTH(l)), SUM(JSON_VALUE(o, '$.x' RETURNING BIGINT)), MIN(__time) FROM x"
		got := ask(sums)
		load := nativeLoad{source: source, format: format, dimensions: `{"useSchemaDiscovery":true}`, time: `{"column":"at","format":"millis","missingValue":"2000-01-01"}`,
			granularity: `{"segmentGranularity":"ALL","rollup":false}`}
		if task, _ := runNative(t, s, load.spec(t)); task.ErrorMsg != "" {
			t.Fatal(task.ErrorMsg)
		}
		got += ask("SELECT COUNT(*), SUM(i64), SUM(dec), COUNT(s), SUM(f), MAX(\"day\"), SUM(JSON_VALUE(o, '$.x' RETURNING BIGINT)), MIN(__time), MAX(raw) FROM x")
		loaded = append(loaded, got)
	}
	if loaded[0] != loaded[1] || len(loaded[0]) < 100 {
		t.Errorf("JSON gives\n%s, ORC\n%s", loaded[0], loaded[1])
	}
}
