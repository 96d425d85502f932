package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/testkit/server"
)

// broker starts a broker of Kafka with records in a topic, and returns its address.
func broker(t *testing.T, topic string, records ...*kgo.Record) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return c.ListenAddrs()[0]
}

// previewStream samples a topic.
func previewStream(t *testing.T, s *server.Server, at, io, schema string, rows int) (p previewed, err error) {
	t.Helper()
	body := fmt.Sprintf(`{"type":"kafka","spec":{"type":"kafka","ioConfig":
		{"type":"kafka","consumerProperties":{"bootstrap.servers":"%s"},%s}%s},
		"samplerConfig":{"numRows":%d,"timeoutMs":5000}}`, at, io, schema, rows)
	err = s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/sampler?for=connect", json.RawMessage(body), &p)
	return p, err
}

func TestSamplerReadsKafka(t *testing.T) {
	s := server.Start(t, server.Options{})
	var records []*kgo.Record
	for _, value := range []string{
		`{"ts":"2025-03-04T10:00:00Z","sku":"A1","n":{"x":1}}`, `oops`,
		`{"ts":"never","sku":"C3"}`, "",
		`{"ts":"2025-03-04T10:00:01Z","sku":"B7"}{"ts":"2025-03-04T10:00:02Z"}`,
	} {
		records = append(records, &kgo.Record{Value: []byte(value), Key: []byte("k"), Timestamp: time.UnixMilli(1_741_082_400_000),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}})
	}
	records = append(records, &kgo.Record{Key: []byte("gone"), Timestamp: time.UnixMilli(1_741_082_400_001)})
	at := broker(t, "orders", records...)
	const schema = `,"dataSchema":{"dataSource":"x","timestampSpec":{"column":"ts","format":"iso"},
		"dimensionsSpec":{"useSchemaDiscovery":true},
		"granularitySpec":{"rollup":false}}`
	p, err := previewStream(t, s, at, `"topic":"orders","useEarliestOffset":true,"inputFormat":{"type":"json"}`, schema, 500)
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, d := range p.Data {
		if d.Error != "" {
			problems = append(problems, d.Error)
		}
	}
	want := []string{"Unable to parse row [oops] (Record: 1)",
		"Timestamp[never] is unparseable! Event: {ts=never, sku=C3} (Record: 1)",
		"Unable to parse [] as the intermediateRow resulted in empty input row (Record: 1)"}
	if diff := cmp.Diff(want, problems); diff != "" || p.Read != 6 || p.Indexed != 3 || p.Data[0].Parsed["sku"] != "A1" {
		t.Errorf("%s %+v", diff, p)
	}

	// The first step of a data loader shows each record as one text, at one time.
	raw := `,"dataSchema":{"dataSource":"sample",
		"timestampSpec":{"column":"!!!_no_such_column_!!!","missingValue":"1970-01-01T00:00:00Z"},
		"dimensionsSpec":{},"granularitySpec":{"rollup":false}}`
	p, err = previewStream(t, s, at, `"topicPattern":"ord.*","useEarliestOffset":true,
		"inputFormat":{"type":"regex","pattern":"([\\s\\S]*)","listDelimiter":"56616469-6de2-9da4-efb8-8f416e6e6965","columns":["raw"]}`, raw, 2)
	if err != nil || p.Read != 2 || p.Data[1].Input["raw"] != "oops" {
		t.Errorf("%v %+v", err, p)
	}

	// What the stream says of a record is among its fields; a record without a value is one of these.
	envelope := `,"dataSchema":{"dataSource":"x","timestampSpec":{"column":"kafka.timestamp","format":"millis"},
		"dimensionsSpec":{"dimensions":["sku","kafka.key","kafka.header.h","kafka.topic"]},"granularitySpec":{"rollup":false}}`
	p, err = previewStream(t, s, at, `"topic":"orders","useEarliestOffset":true,"inputFormat":{"type":"kafka","valueFormat":{"type":"json"},
		"headerFormat":{"type":"string"},"keyFormat":{"type":"tsv","findColumnsFromHeader":false,"columns":["x"]}}`, envelope, 500)
	if err != nil || len(p.Data) != 7 {
		t.Fatalf("%v %+v", err, p)
	}
	if got := p.Data[0]; got.Input["kafka.key"] != "k" || got.Input["kafka.topic"] != "orders" || got.Parsed["kafka.header.h"] != "v" ||
		fmt.Sprint(got.Parsed["__time"]) != "1741082400000" || got.Input["sku"] != "A1" {
		t.Errorf("%+v", got)
	}
	if got := p.Data[6]; got.Parsed["kafka.key"] != "gone" || got.Parsed["sku"] != nil {
		t.Errorf("%+v", got)
	}

	// From the end on, nothing comes: the time runs out.
	p, err = previewStream(t, s, at, `"topic":"orders","inputFormat":{"type":"json"}`, schema, 500)
	if err != nil || p.Read != 0 || p.Data == nil {
		t.Errorf("%v %+v", err, p)
	}

	const of = `"topic":"orders","inputFormat":{"type":"json"}`
	const unable = "Failed to sample data: Unable to create RecordSupplier: "
	for io, why := range map[string]string{
		`"inputFormat":{"type":"json"}`:                                "Either topic or topicPattern must be specified",
		`"topic":"a","topicPattern":"b","inputFormat":{"type":"json"}`: "Only one of topic [a] or topicPattern [b] must be specified",
		`"topic":"orders"`:                                             "inputFormat required",
		`"topic":"none","inputFormat":{"type":"json"}`:                 "Failed to sample data: Stream [none] has no partition",
		of + `,"consumerProperties":{"bootstrap.servers":"127.0.0.1:1"}`: unable +
			"Timeout expired while fetching topic metadata: connection refused",
		of + `,"consumerProperties":{"bootstrap.servers":null}`: unable +
			"consumerProperties must contain entry for [bootstrap.servers]",
	} {
		_, err := previewStream(t, s, at, io, schema, 500)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "400") {
			t.Errorf("%s: %v, want %s", io, err, why)
		}
	}
}
