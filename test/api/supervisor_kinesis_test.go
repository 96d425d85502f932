package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/hengedb/henge/internal/testkit/kinesalite"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestASupervisorReadsAStreamOfKinesis: rows are in answers before and after they are published,
// each once, over a handoff, a split of a shard, a suspension and a restart of the
// process.
func TestASupervisorReadsAStreamOfKinesis(t *testing.T) {
	t.Cleanup(kinesalite.Stop)
	endpoint := kinesalite.Endpoint(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "stones")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "stones")
	client := kinesis.New(kinesis.Options{BaseEndpoint: &endpoint, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	name := "clicks"
	if _, err := client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &name, ShardCount: aws.Int32(2)}); err != nil {
		t.Fatal(err)
	}
	active := func() {
		t.Helper()
		server.Until(t, "the stream is active", func() bool {
			d, err := client.DescribeStreamSummary(context.Background(), &kinesis.DescribeStreamSummaryInput{StreamName: &name})
			return err == nil && d.StreamDescriptionSummary.StreamStatus == "ACTIVE"
		})
	}
	active()
	produced := 0
	produce := func(n int) {
		t.Helper()
		for range n {
			_, err := client.PutRecord(t.Context(), &kinesis.PutRecordInput{StreamName: &name, PartitionKey: aws.String(fmt.Sprint(produced)),
				Data: fmt.Appendf(nil, `{"time":"2026-03-01T00:00:00Z","id":%d}`, produced)})
			if err != nil {
				t.Fatal(err)
			}
			produced++
		}
	}
	options := server.Options{Dir: t.TempDir(), Settings: []string{"service.ingest.http.allowPrivate=true"}}
	s := server.Start(t, options)
	do := func(path string, body any) {
		t.Helper()
		if err := s.Call(context.Background(), http.MethodPost, "/service/indexer/v1/supervisor"+path, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(what string) {
		t.Helper()
		last := ""
		defer func() {
			if t.Failed() {
				t.Logf("%s: [%d] rows were produced, last %s", what, produced, last)
			}
		}()
		server.Until(t, what, func() bool {
			var rows json.RawMessage
			err := s.Call(context.Background(), http.MethodPost, "/service/v2/sql", map[string]any{
				"query":   "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS d FROM clicks",
				"context": map[string]any{"useApproximateCountDistinct": false}}, &rows)
			last = fmt.Sprintf("%s %v", rows, err)
			return err == nil && string(rows) == fmt.Sprintf(`[{"n":%d,"d":%d}]`, produced, produced)
		})
	}
	var spec any
	if err := json.Unmarshal(fmt.Appendf(nil, `{"type":"kinesis","spec":{"dataSchema":{"dataSource":"clicks","timestampSpec":{"column":"time"},
		"dimensionsSpec":{"dimensions":[{"type":"long","name":"id"}]},"granularitySpec":{"segmentGranularity":"day","rollup":false}},
		"ioConfig":{"stream":"clicks","endpoint":"%s","inputFormat":{"type":"json"},"useEarliestSequenceNumber":true,"taskCount":2,
		"period":"PT1S","startDelay":"PT0.1S"},"tuningConfig":{"type":"kinesis","repartitionTransitionDuration":"PT1S"}},
		"context":{"useConcurrentLocks":true}}`, endpoint), &spec); err != nil {
		t.Fatal(err)
	}
	produce(40)
	do("", spec)
	seen("live rows")
	do("/clicks/taskGroups/handoff", map[string]any{"taskGroupIds": []int{0, 1}})
	produce(20)
	seen("rows over a handoff")
	shards, err := client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: &name})
	if err != nil {
		t.Fatal(err)
	}
	// The hash keys of the first shard are the lower half of all.
	if _, err := client.SplitShard(t.Context(), &kinesis.SplitShardInput{StreamName: &name, ShardToSplit: shards.Shards[0].ShardId,
		NewStartingHashKey: aws.String("85070591730234615865843651857942052864")}); err != nil {
		t.Fatal(err)
	}
	active()
	produce(40)
	seen("rows of the shards that one became")
	do("/clicks/suspend", nil)
	server.Until(t, "the tasks have ended", func() bool {
		rows, err := s.Query(context.Background(), "SELECT COUNT(*) FROM sys.tasks WHERE datasource = 'clicks' AND status = 'RUNNING'")
		return err == nil && fmt.Sprint(rows) == "[[0]]"
	})
	seen("published rows")
	produce(20)
	do("/clicks/resume", nil)
	seen("rows after resume")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	produce(20)
	s = server.Start(t, options)
	seen("rows after a restart")
	var status struct {
		Payload struct {
			Stream     string
			Partitions int
			State      string
		}
	}
	server.Until(t, "the supervisor runs again and knows the shards", func() bool {
		err := s.Call(context.Background(), http.MethodGet, "/service/indexer/v1/supervisor/clicks/status", nil, &status)
		return err == nil && status.Payload.Stream == "clicks" && status.Payload.Partitions >= 3 && status.Payload.State == "RUNNING"
	})
}
