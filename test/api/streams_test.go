package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/testkit/server"
)

// kafkaTopic is a topic of two partitions in a broker of the test.
type kafkaTopic struct {
	servers  string
	producer *kgo.Client
	produced int
}

func startKafka(t *testing.T) *kafkaTopic {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	k := &kafkaTopic{servers: strings.Join(c.ListenAddrs(), ",")}
	if k.producer, err = kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.producer.Close)
	return k
}

// produce adds n rows, whose ids go on.
func (k *kafkaTopic) produce(t *testing.T, n int) {
	t.Helper()
	var records []*kgo.Record
	for range n {
		records = append(records, &kgo.Record{
			Topic: "orders", Partition: int32(k.produced % 2), Value: fmt.Appendf(nil, `{"t":"2024-01-01T%02d:00:00Z","id":%d,"k":"k%d"}`,
				k.produced%3, k.produced, k.produced%7),
		})
		k.produced++
	}
	if err := k.producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// supervise creates or updates the supervisor of datasource orders.
func (k *kafkaTopic) supervise(t *testing.T, s *server.Server, io, tuning, context map[string]any) {
	t.Helper()
	ioConfig := map[string]any{
		"type": "kafka", "topic": "orders", "inputFormat": map[string]any{"type": "json"}, "useEarliestOffset": true,
		"startDelay": "PT0S", "period": "PT1S",
		"consumerProperties": map[string]any{"bootstrap.servers": k.servers}, "taskCount": 1, "taskDuration": "PT1H",
	}
	maps.Copy(ioConfig, io)
	tuningConfig := map[string]any{"type": "kafka"}
	maps.Copy(tuningConfig, tuning)
	spec := map[string]any{"type": "kafka", "context": context, "spec": map[string]any{
		"dataSchema": map[string]any{
			"dataSource": "orders", "timestampSpec": map[string]any{"column": "t", "format": "iso"},
			"dimensionsSpec":  map[string]any{"dimensions": []any{map[string]any{"type": "long", "name": "id"}, "k"}},
			"granularitySpec": map[string]any{"segmentGranularity": "HOUR", "queryGranularity": "NONE", "rollup": false},
		}, "ioConfig": ioConfig, "tuningConfig": tuningConfig,
	}}
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/supervisor", spec, nil); err != nil {
		t.Fatal(err)
	}
}

// counted returns how many rows and how many different ids there are.
func counted(t *testing.T, s *server.Server) (rows, ids int) {
	t.Helper()
	out, err := s.Query(t.Context(), "SELECT COALESCE(SUM(n), 0), COUNT(*) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY id)")
	if err != nil {
		if strings.Contains(err.Error(), "not found") {
			return 0, 0
		}
		t.Fatal(err)
	}
	return number(t, out[0][0]), number(t, out[0][1])
}

// comes waits until something is so.
func comes(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.After(40 * time.Second)
	for !so() {
		select {
		case <-deadline:
			t.Fatalf("%s: it never was so", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// segmentsOf counts segments of orders by a condition.
func segmentsOf(t *testing.T, s *server.Server, condition string) int {
	t.Helper()
	out, err := s.Query(t.Context(), "SELECT COUNT(*) FROM sys.segments WHERE datasource = 'orders' AND "+condition)
	if err != nil {
		t.Fatal(err)
	}
	return number(t, out[0][0])
}

// TestRowsOfATopicAreSeenAtOnceAndCountOnce follows rows from a topic to segments of Historicals,
// over a handoff and a checkpoint by rows, while the number of rows is polled: it never falls, and
// never is more than there are.
func TestRowsOfATopicAreSeenAtOnceAndCountOnce(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.worker.capacity=2"}})
	k := startKafka(t)
	k.supervise(t, s, nil, map[string]any{"maxRowsPerSegment": 400}, nil)
	k.produce(t, 300)
	comes(t, "rows are seen before they are published", func() bool { rows, _ := counted(t, s); return rows == 300 })
	if n := segmentsOf(t, s, "is_published = 1"); n != 0 {
		t.Errorf("[%d] segments are published already", n)
	}
	var most atomic.Int64
	most.Store(int64(k.produced))
	stop := make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		last := 0
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			rows, ids := counted(t, s)
			if rows < last || rows != ids || int64(rows) > most.Load() {
				t.Errorf("[%d] rows with [%d] ids after [%d], of [%d]", rows, ids, last, most.Load())
				return
			}
			last = rows
		}
	})
	for range 20 {
		most.Add(100)
		k.produce(t, 100)
		if t.Failed() {
			break
		}
	}
	comes(t, "all rows are seen", func() bool { rows, _ := counted(t, s); return rows == k.produced })
	comes(t, "the limit of rows has them published", func() bool { return segmentsOf(t, s, "is_published = 1") > 0 })
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/supervisor/orders/taskGroups/handoff",
		map[string]any{"taskGroupIds": []int{0}}, nil); err != nil {
		t.Fatal(err)
	}
	comes(t, "all segments are handed off", func() bool {
		return segmentsOf(t, s, "is_published = 1 AND is_available = 1 AND is_realtime = 0") > 3 && segmentsOf(t, s, "is_realtime = 1") == 0
	})
	close(stop)
	polling.Wait()
	if rows, ids := counted(t, s); rows != k.produced || ids != k.produced {
		t.Errorf("[%d] rows with [%d] ids of [%d]", rows, ids, k.produced)
	}
	var tasks []struct {
		ID         string `json:"id"`
		StatusCode string `json:"statusCode"`
	}
	comes(t, "the task has ended", func() bool {
		err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/tasks?state=complete&datasource=orders", nil, &tasks)
		return err == nil && len(tasks) > 0
	})
	for _, task := range tasks {
		if task.StatusCode != "SUCCESS" {
			var report json.RawMessage
			_ = s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+task.ID+"/reports", nil, &report)
			t.Errorf("task [%s] ended with [%s]: %s", task.ID, task.StatusCode, report)
		}
	}
}

func number(t *testing.T, v any) int {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
