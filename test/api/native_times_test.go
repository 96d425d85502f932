package api

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// The earliest and the latest time of rolled-up rows are metrics, which queries combine further.
func TestTimesAsMetrics(t *testing.T) {
	s := server.Start(t, server.Options{})
	load := nativeLoad{
		lines: []string{
			`{"t":"2024-01-01T01:00:00Z","k":"a","at":"2023-05-05"}`, `{"t":"2024-01-01T02:00:00Z","k":"a","at":"2024-03-01T01:02:03Z"}`,
			`{"t":"2024-01-01T03:00:00Z","k":"b"}`, `{"t":"2024-01-02T03:00:00Z","k":"a","at":"2022-01-01"}`,
		},
		metrics: `[{"type":"timeMax","name":"last","fieldName":"at"},{"type":"timeMin","name":"first","fieldName":"at"},` +
			`{"type":"timeMax","name":"seen","fieldName":"t"}]`,
		granularity: `{"segmentGranularity":"DAY","queryGranularity":"DAY","rollup":true}`,
	}
	if task, _ := runNative(t, s, load.spec(t)); task.ErrorMsg != "" {
		t.Fatal(task.ErrorMsg)
	}
	const rows = "[[1 a 1709254923000 1683244800000] [1 b <nil> <nil>] [2 a 1640995200000 1640995200000]]"
	if got := asker(t, s)(`SELECT EXTRACT(DAY FROM __time), k, "last", "first" FROM x ORDER BY 1, 2`); got != rows {
		t.Errorf("the rows are %s", got)
	}
	_, _, got := post(t, s, "/service/v2", `{"queryType":"groupBy","dataSource":"x","intervals":["2024/2025"],"granularity":"all",`+
		`"dimensions":["k"],`+
		`"aggregations":[{"type":"timeMax","name":"l","fieldName":"last"},{"type":"timeMin","name":"f","fieldName":"first"},`+
		`{"type":"timeMax","name":"s","fieldName":"seen"}],"context":{"resultAsArray":true}}`)
	if !strings.Contains(got, `["a","2024-03-01T01:02:03.000Z","2022-01-01T00:00:00.000Z","2024-01-02T03:00:00.000Z"],["b",null,null,`) {
		t.Errorf("the query gives %s", got)
	}
}
