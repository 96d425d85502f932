package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/kafkaserver"
	"github.com/hengedb/henge/internal/testkit/versitygw"
)

type departure struct {
	When   int64   `parquet:"when,timestamp(millisecond)"`
	Origin string  `parquet:"origin"`
	Delay  int64   `parquet:"delay"`
	Gate   *string `parquet:"gate,optional"`
}

// parquetFile is a file of 5,000 rows.
func parquetFile(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[departure](&b)
	for i := range 5000 {
		gate := fmt.Sprint("g", i%9)
		if _, err := w.Write([]departure{{1767225600000 + int64(i)*60_000, fmt.Sprint("A", i%5), int64(i), &gate}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "flights.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// soonEnough is how long somebody waits from nothing to a chart.
const soonEnough = 2 * time.Minute

// The browser loads what is no file of its own: from an empty directory to a chart of a file, a
// prefix of an object store, and a topic that becomes a supervisor.
func TestTheConsoleLoads(t *testing.T) {
	dir, browser := consoleTools(t), "HENGE_CHROMIUM="+chromium(t)
	began := time.Now()
	p := serve(t, t.TempDir())
	tell(t, dir, p, 1, "an own file becomes a chart", browser)
	took := time.Since(began)
	t.Logf("from an empty directory to a chart: %s", took.Round(100*time.Millisecond))
	if took > soonEnough {
		t.Errorf("it took %s", took)
	}
	t.Run("object store", func(t *testing.T) {
		tell(t, dir, p, 1, "a prefix of an object store", browser, "HENGE_S3="+storeOfVisits(t))
	})
	t.Run("topic", func(t *testing.T) {
		if os.Getenv("HENGE_CONSOLE_TOPIC") == "" {
			t.Skip("behind a flag: a Kafka of its own takes half a minute; HENGE_CONSOLE_TOPIC=1 runs it")
		}
		tell(t, dir, p, 1, "a topic becomes", browser, "HENGE_KAFKA="+topicOfClicks(t))
	})
}

// storeOfVisits starts a store with two objects, and says how it is reached.
func storeOfVisits(t *testing.T) string {
	t.Helper()
	url := versitygw.Start(t, "loads")
	c, err := s3.Connect(t.Context(), s3.Options{
		Endpoint: url, Region: "us-east-1", AccessKey: secret.NewText(versitygw.AccessKey), SecretKey: secret.NewText(versitygw.SecretKey),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, day := range []string{"2026-01-01", "2026-01-02"} {
		body := fmt.Sprintf("{\"t\":%q,\"n\":%d}\n", day, i)
		if err := c.Put(t.Context(), "loads", fmt.Sprintf("visits/%d.json", i), strings.NewReader(body), int64(len(body)), false); err != nil {
			t.Fatal(err)
		}
	}
	store, err := json.Marshal(map[string]string{"url": url, "key": versitygw.AccessKey, "secret": versitygw.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	return string(store)
}

// topicOfClicks starts Kafka with the topic clicks of 100 records, and returns its address.
func topicOfClicks(t *testing.T) string {
	t.Helper()
	address := kafkaserver.Shared(t).Address("PLAINTEXT")
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("clicks"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "clicks"); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		value := fmt.Appendf(nil, `{"ts":%d,"page":"p%d","n":%d}`, 1767225600000+int64(i)*60_000, i%5, i)
		client.Produce(t.Context(), &kgo.Record{Value: value}, nil)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return address
}
