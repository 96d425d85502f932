package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStreamCommand loads a topic by the command line alone: look, submit, follow, ask, manage.
func TestStreamCommand(t *testing.T) {
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.SeedTopics(1, "empty"))
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()
	address := strings.Join(kafka.ListenAddrs(), ",")
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range 100 {
		value := fmt.Sprintf(`{"sold":"2026-03-01T10:%02d:%02dZ","sku":"S%d","qty":%d}`, i/60, i%60, i%7, i)
		if i == 50 {
			value = "no JSON"
		}
		record := &kgo.Record{Value: []byte(value)}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	p := serve(t, filepath.Join(t.TempDir(), "data"))
	run := func(args ...string) result {
		return tool(t, "", append([]string{"stream", "--server", p.Addresses["router"]}, args...)...)
	}
	load := func(topic string, args ...string) result {
		return run(append([]string{"--kafka", address, "--topic", topic, "--into", "orders"}, args...)...)
	}

	has := func(r result, code int, parts ...string) {
		t.Helper()
		if r.code != code {
			t.Errorf("status %d, want %d\n%s%s", r.code, code, r.stdout, r.stderr)
		}
		for _, part := range parts {
			if !strings.Contains(r.stdout+r.stderr, part) {
				t.Errorf("no %q in\n%s%s", part, r.stdout, r.stderr)
			}
		}
	}
	has(run("list"), 0, "There are no supervisors")
	has(run("status", "orders"), 1, "There is no supervisor [orders]")
	has(load("missing"), 1, "[missing] does not exist")
	has(load("empty"), 1, "has no records")
	has(run("--kafka", "127.0.0.1:1", "--topic", "orders", "--into", "orders"), 1, "[127.0.0.1:1]", "advertised.listeners")
	dry := load("orders", "--dry-run", "--rollup", "minute", "--sum", "qty")
	has(dry, 0, "100 records sampled", `time in "sold" (iso)`, `"queryGranularity": "MINUTE"`, `"longSum"`, "1 of them can't be read")
	has(run("list"), 0, "There are no supervisors")

	has(load("orders"), 0, "RUNNING", "It reads.", "S3")
	has(load("orders"), 1, "Supervisor [orders] already exists")
	deadline := time.Now().Add(patience)
	var answer result
	for time.Now().Before(deadline) {
		answer = tool(t, "", "sql", "--server", p.Addresses["router"], "--format", "csv", "-q", "SELECT COUNT(*), SUM(qty) FROM orders")
		if strings.Contains(answer.stdout, "99,4900") {
			break
		}
	}
	has(answer, 0, "99,4900")
	has(run("list"), 0, "orders", "kafka", "RUNNING")
	has(run("status", "orders"), 0, "reads [orders], 2 partitions: RUNNING", "index_kafka_orders_")
	has(run("suspend", "orders"), 0, "is suspended")
	has(run("suspend", "orders"), 0, "is already suspended")
	has(run("resume", "orders"), 0, "is resumed")
	has(run("resume", "orders"), 0, "is already running")
	has(run("terminate", "orders"), 0, "ends")
	has(run("terminate", "nothing"), 1, "There is no supervisor [nothing]")
}
