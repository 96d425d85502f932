package streaming

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/kafka"
	"github.com/hengedb/henge/internal/stream/shared"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
)

// ofKafka has the tasks of a world read a topic of two partitions with real readers and rows.
func ofKafka(t *testing.T, w *world) *kgo.Client {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	servers, err := json.Marshal(strings.Join(c.ListenAddrs(), ","))
	if err != nil {
		t.Fatal(err)
	}
	sources := shared.New(func(_ context.Context, config stream.Config) (stream.Source, error) {
		config.Properties = map[string]json.RawMessage{"bootstrap.servers": servers}
		return kafka.Open(config, nil, nil)
	}, clock.System(), slog.New(slog.DiscardHandler))
	t.Cleanup(sources.Close)
	w.kind.o.Source = sources.Open
	w.kind.o.Maker = func(o MakerOptions) (Maker, error) {
		format, err := ingest.ParseFormat(o.IO.Format)
		if err != nil {
			return nil, err
		}
		return intake.New(intake.Options{Schema: o.Schema, Format: format, MinTime: o.IO.MinTime, MaxTime: o.IO.MaxTime, OnBad: o.OnBad})
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	return producer
}

// rows produces records with ids from up to, not including, to.
func rows(t *testing.T, c *kgo.Client, from, to int) {
	t.Helper()
	var records []*kgo.Record
	for id := from; id < to; id++ {
		records = append(records, &kgo.Record{
			Topic: "t", Partition: int32(id % 2), Value: fmt.Appendf(nil, `{"t":%d,"id":%d}`, hours(3)(id), id),
		})
	}
	if err := c.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// read waits until a task has read up to positions.
func (w *world) read(id string, at stream.Positions) {
	w.t.Helper()
	w.wait("all is read", func() bool {
		r := w.running.find(id)
		return r != nil && covers(r.ctl.Status().Current, at, w.topic.Compare)
	})
}

func TestATopicOfKafkaIsReadPublishedAndHandedOff(t *testing.T) {
	w := newWorld(t, 2)
	w.tuning["maxSavedParseExceptions"] = 5
	producer := ofKafka(t, w)
	rows(t, producer, 0, 400)
	bad := &kgo.Record{Topic: "t", Partition: 1, Value: []byte("no JSON")}
	if err := producer.ProduceSync(t.Context(), bad).FirstErr(); err != nil {
		t.Fatal(err)
	}
	g := w.newGroup()
	first, firstDone := w.start(g)
	w.read(first.ID, stream.Positions{"0": "200", "1": "201"})
	w.once("before publishing", w.visible(), 400)
	ends, err := w.rollOver(g, true, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	// The next group reads on from the ends before the first has published.
	next := &group{"index_kafka_s_next", map[int]stream.Positions{0: ends}}
	second, secondDone := w.start(next)
	rows(t, producer, 400, 600)
	w.read(second.ID, stream.Positions{"0": "300", "1": "301"})
	w.once("while both run", w.visible(), 600)
	if err := <-firstDone; err != nil {
		t.Fatal(err)
	}
	if _, err := w.rollOver(next, true, second.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-secondDone; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 600)
	w.stored(stream.Positions{"0": "300", "1": "301"})

	report := w.report(first.ID)
	payload := report["ingestionStatsAndErrors"].Payload
	if got := fmt.Sprint(payload["rowStats"]); !strings.Contains(got, "processed:400") || !strings.Contains(got, "unparseable:1") {
		t.Errorf("rowStats are %s", got)
	}
	want := "map[KafkaTopicPartition{partition=0, topic='null', multiTopicPartition=false}:200 " +
		"KafkaTopicPartition{partition=1, topic='null', multiTopicPartition=false}:200]"
	if got := fmt.Sprint(payload["recordsProcessed"]); got != want {
		t.Errorf("recordsProcessed are %s", got)
	}
	if payload["segmentAvailabilityConfirmed"] != true || payload["ingestionState"] != "COMPLETED" {
		t.Errorf("the report is %v", payload)
	}
	letters, err := w.kind.o.Files.DeadLetters(t.Context(), first.ID)
	if err != nil || letters == nil {
		t.Fatalf("dead letters: %v, %v", letters, err)
	}
	text, err := io.ReadAll(letters)
	if err != nil || !strings.Contains(string(text), `"value":"no JSON"`) {
		t.Errorf("dead letters are %s, %v", text, err)
	}
	if err := letters.Close(); err != nil {
		t.Error(err)
	}
}
