package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/fault"
)

func TestTopic(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "countries"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("countries"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	put := func(key, value string) {
		t.Helper()
		r := &kgo.Record{Key: []byte(key), Value: []byte(value)}
		switch {
		case key == "":
			r.Key = nil
		case value == "":
			r.Value = nil
		}
		if err := p.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf(`{"type":"kafka","kafkaTopic":"countries","kafkaProperties":{"bootstrap.servers":"%s"}}`, c.ListenAddrs()[0])
	f, err := parse(json.RawMessage(text))
	if err != nil || f.period == 0 {
		t.Fatal(f, err)
	}
	mark := ""
	reading := func() (map[string]string, bool) {
		t.Helper()
		out := map[string]string{}
		changed, next, err := f.source.read(context.Background(), nil, mark, func(k, v string) error {
			out[k] = v
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		mark = next
		return out, changed
	}
	if got, changed := reading(); !changed || len(got) != 0 {
		t.Fatal(got, changed)
	}
	put("de", "Germany")
	put("fr", "Gaul")
	put("fr", "France")
	put("", "nobody")
	if got, changed := reading(); !changed || !maps.Equal(got, map[string]string{"de": "Germany", "fr": "France"}) {
		t.Fatal(got, changed)
	}
	if got, changed := reading(); changed || len(got) != 0 {
		t.Fatal(got, changed)
	}
	put("de", "")
	put("it", "Italy")
	if got, changed := reading(); !changed || !maps.Equal(got, map[string]string{"fr": "France", "it": "Italy"}) {
		t.Fatal(got, changed)
	}
}

func TestTopicsThatAreWrong(t *testing.T) {
	for text, why := range map[string]string{
		`{"type":"kafka","kafkaProperties":{"bootstrap.servers":"a:1"}}`: "needs a [kafkaTopic]",
		`{"type":"kafka","kafkaTopic":"t"}`:                              "needs [kafkaProperties]",
		`{"type":"kafka","kafkaTopic":[]}`:                               "is not readable",
	} {
		if _, err := parse(json.RawMessage(text)); fault.Find(err) == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for servers, why := range map[string]string{
		c.ListenAddrs()[0]: "Topic [none] of a lookup has no partition", "127.0.0.1:1": "Timeout expired while fetching topic metadata",
		"x": "Property [bootstrap.servers] of consumerProperties can't be used",
	} {
		f, err := parse(json.RawMessage(`{"type":"kafka","kafkaTopic":"none","kafkaProperties":{"bootstrap.servers":"` + servers + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = f.source.read(context.Background(), nil, "", nil)
		if found := fault.Find(err); found == nil || !strings.Contains(found.Message, why) {
			t.Errorf("%s: %v, want %s", servers, err, why)
		}
	}
}
