package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/kafkaserver"
)

// The records of benchmarks.
const (
	benchRecords    = 400_000
	benchPartitions = 2
	benchBytes      = 280
)

// BenchmarkPoll reads records of 280 bytes.
func BenchmarkPoll(b *testing.B) {
	b.Run("kfake", func(b *testing.B) {
		c := brokers(b, kfake.SeedTopics(benchPartitions, "bench"))
		benchmarkPoll(b, c.ListenAddrs())
	})
	b.Run("kafka", func(b *testing.B) {
		s := kafkaserver.Shared(b)
		addresses := []string{s.Address("PLAINTEXT")}
		admin := kadm.NewClient(producer(b, addresses))
		if _, err := admin.DeleteTopics(context.Background(), "bench"); err != nil {
			b.Fatal(err)
		}
		for range 100 {
			if _, err := admin.CreateTopic(context.Background(), benchPartitions, 1, nil, "bench"); err == nil {
				break
			}
		}
		benchmarkPoll(b, addresses)
	})
}

func benchmarkPoll(b *testing.B, addresses []string) {
	p := producer(b, addresses)
	ends := stream.Positions{}
	for partition := range int32(benchPartitions) {
		for from := 0; from < benchRecords/benchPartitions; from += 1000 {
			var records []*kgo.Record
			for n := range 1000 {
				text := fmt.Sprintf(`{"id":%d,"text":"%s"}`, from+n, strings.Repeat("x", benchBytes-30))
				records = append(records, &kgo.Record{Topic: "bench", Partition: partition, Value: []byte(text)})
			}
			if err := p.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
				b.Fatal(err)
			}
		}
		ends[stream.Partition(fmt.Sprint(partition))] = position(benchRecords / benchPartitions)
	}
	s := open(b, addresses, "bench")
	b.ResetTimer()
	for b.Loop() {
		r, err := s.Open(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Assign(context.Background(), stream.Positions{"0": "0", "1": "0"}); err != nil {
			b.Fatal(err)
		}
		for left := benchRecords; left > 0; {
			batches, err := r.Poll(context.Background(), time.Second)
			if err != nil {
				b.Fatal(err)
			}
			for _, batch := range batches {
				left -= len(batch.Records)
			}
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(benchRecords)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
