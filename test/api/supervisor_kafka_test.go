package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestASupervisorReadsATopic: rows are in answers before and after they are published, each once,
// over a handoff, a suspension, a termination and a restart of the process.
func TestASupervisorReadsATopic(t *testing.T) {
	broker := kafkaFor(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	produced := 0
	produce := func(n int) {
		t.Helper()
		var records []*kgo.Record
		for range n {
			value := fmt.Sprintf(`{"time":"2026-03-01T00:00:00Z","id":%d}`, produced)
			records = append(records, &kgo.Record{Topic: "g_events", Partition: int32(produced % 2), Value: []byte(value)})
			produced++
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	options := server.Options{Dir: t.TempDir(), Settings: []string{"service.ingest.http.allowPrivate=true"}}
	s := server.Start(t, options)
	const base = "/service/indexer/v1/supervisor"
	call := func(method, path string, body, into any) error {
		return s.Call(context.Background(), method, base+path, body, into)
	}
	do := func(path string, body any) {
		t.Helper()
		if err := call(http.MethodPost, path, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(what string) {
		t.Helper()
		last := ""
		defer func() {
			if t.Failed() {
				t.Logf("%s: last %s", what, last)
			}
		}()
		server.Until(t, what, func() bool {
			var rows json.RawMessage
			err := s.Call(context.Background(), http.MethodPost, "/service/v2/sql",
				map[string]any{"query": "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS d FROM kafka_e2e",
					"context": map[string]any{"useApproximateCountDistinct": false}}, &rows)
			last = fmt.Sprintf("%s %v", rows, err)
			return err == nil && string(rows) == fmt.Sprintf(`[{"n":%d,"d":%d}]`, produced, produced)
		})
	}
	var spec any
	text := fmt.Sprintf(`{"type":"kafka","spec":{"dataSchema":{"dataSource":"kafka_e2e","timestampSpec":{"column":"time"},"dimensionsSpec":
		{"dimensions":[{"type":"long","name":"id"}]},"granularitySpec":{"segmentGranularity":"day","rollup":false}},
		"ioConfig":{"topic":"g_events",
		"consumerProperties":{"bootstrap.servers":"%s"},"inputFormat":{"type":"json"},"useEarliestOffset":true,"taskCount":2,"period":"PT1S",
		"startDelay":"PT0.1S"},"tuningConfig":{"type":"kafka"}},"context":{"useConcurrentLocks":true}}`, broker)
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	produce(100)
	do("", spec)
	seen("live rows")
	produce(50)
	seen("more live rows")
	do("/kafka_e2e/taskGroups/handoff", map[string]any{"taskGroupIds": []int{0, 1}})
	produce(50)
	seen("rows over a handoff")
	published := func() {
		t.Helper()
		server.Until(t, "publication", func() bool {
			var rows json.RawMessage
			err := s.Call(context.Background(), http.MethodPost, "/service/v2/sql", map[string]any{"query": "SELECT COUNT(*) AS n FROM sys.tasks " +
				"WHERE datasource = 'kafka_e2e' AND runner_status IN ('RUNNING','PENDING','WAITING')"}, &rows)
			return err == nil && string(rows) == `[{"n":0}]`
		})
	}
	do("/kafka_e2e/suspend", nil)
	published()
	seen("published rows")
	produce(50)
	do("/kafka_e2e/resume", nil)
	seen("rows after resume")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	produce(50)
	s = server.Start(t, options)
	seen("rows after a restart")
	do("/kafka_e2e/terminate", nil)
	published()
	produce(50)
	do("", spec)
	seen("rows of a supervisor that was created again")
	var stats map[string]map[string]any
	if err := call(http.MethodGet, "/kafka_e2e/stats", nil, &stats); err != nil || len(stats) != 2 {
		t.Errorf("stats %v (%v)", stats, err)
	}
}
