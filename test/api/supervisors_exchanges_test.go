package api

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// recordedBroker is the address of Kafka in the recordings.
const recordedBroker = "127.0.0.1:19092"

// kafkaFor starts brokers with the topics that the recordings had at their start.
func kafkaFor(t *testing.T) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "g_wiki", "g_events"), kfake.SeedTopics(1, "g_other", "g_late",
		"g_f1", "g_f2", "g_f3"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}

// suspendedSpec is a specification that the recordings made and did not keep.
func suspendedSpec(dataSource, io, schema string) string {
	return fmt.Sprintf(`{"type":"kafka","spec":{"ioConfig":{"type":"kafka","consumerProperties":{"bootstrap.servers":"%s"},"topic":"g_wiki",
		"inputFormat":{"type":"json"},"useEarliestOffset":true%s},"tuningConfig":{"type":"kafka"},"dataSchema":{"dataSource":"%s",
		"timestampSpec":{"column":"time","format":"iso"}%s}},"suspended":true}`, recordedBroker, io, dataSource, schema)
}

// madeBefore are the specifications that were posted before an exchange and not kept.
var madeBefore = map[string]string{
	"scaler-spec": suspendedSpec("g_scale", `,"autoScalerConfig":{"enableTaskAutoScaler":true,"taskCountMin":1,"taskCountMax":2}`,
		`,"dimensionsSpec":{"dimensions":["channel","page","user",{"type":"long","name":"added"}]},`+
			`"granularitySpec":{"queryGranularity":"none","rollup":false,"segmentGranularity":"day"}`),
	"discovery-spec": suspendedSpec("g_disc", "", `,"dimensionsSpec":{"useSchemaDiscovery":true}`),
}

// endedBefore are the supervisors that were ended before an exchange by a request that was not
// kept.
var endedBefore = map[string]string{"bad-left-behind": "terminateAll", "list-after-terminate-all": "terminateAll"}

// TestSupervisorExchanges replays the family supervisors with brokers in this process, at the times
// at which it was recorded.
func TestSupervisorExchanges(t *testing.T) {
	t.Parallel()
	shared := server.Shared(t)
	s := server.Start(t, server.Options{Settings: []string{"service.ingest.http.allowPrivate=true"}})
	broker := kafkaFor(t)
	player := &golden.Player{Addresses: s.Addresses, Replace: strings.NewReplacer(recordedBroker, broker), Wait: 10 * time.Second}
	list := pending.Read(t, "testdata/supervisors_pending.txt")
	differs := pending.Read(t, "testdata/supervisors_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	exchanges, err := golden.Load(filepath.Join(shared, "golden", "supervisors"))
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["overlord"]+"/service/indexer/v1/supervisor"+path,
			strings.NewReader(strings.ReplaceAll(body, recordedBroker, broker)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %d", path, body, resp.StatusCode)
		}
	}
	c, began := clock.System(), clock.System().Now()
	passed := 0
	for _, e := range exchanges {
		at := began.Add(time.Duration(e.At * float64(time.Second)))
		if err := c.Sleep(t.Context(), at.Sub(c.Now())); err != nil {
			t.Fatal(err)
		}
		if body, ok := madeBefore[e.Name]; ok {
			post("", body)
		}
		if path, ok := endedBefore[e.Name]; ok {
			post("/"+path, "")
		}
		if e.Name == "task-status-after-terminate" {
			player.Remember("t_min", taskOf(t, s, "g_min"))
		}
		r := player.Play(t.Context(), e)
		if r.Skipped != "" || r.Missing != "" {
			t.Logf("%s is not replayed: %s%s", e.Name, r.Skipped, r.Missing)
			continue
		}
		if r.Difference == "" {
			passed++
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = r.Difference
			continue
		}
		outcome[e.Name] = r.Difference
		if r.Difference != "" {
			t.Logf("%s: %s", e.Name, r.Difference)
		}
	}
	t.Logf("%d of %d exchanges answered like the recording", passed, len(exchanges))
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}

// taskOf returns a task of a datasource.
func taskOf(t *testing.T, s *server.Server, dataSource string) string {
	t.Helper()
	var tasks []struct{ ID string }
	if err := s.Call(context.Background(), http.MethodGet, "/service/indexer/v1/tasks?datasource="+dataSource, nil, &tasks); err != nil {
		t.Fatal(err)
	}
	if len(tasks) == 0 {
		t.Fatalf("datasource [%s] has no task", dataSource)
	}
	return tasks[0].ID
}
