package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/kafkaserver"
)

// server returns the brokers of a real Kafka and a client that administers it.
func server(t testing.TB) (s *kafkaserver.Server, addresses []string, admin *kadm.Client) {
	t.Helper()
	s = kafkaserver.Shared(t)
	addresses = []string{s.Address("PLAINTEXT")}
	return s, addresses, kadm.NewClient(producer(t, addresses))
}

func create(t testing.TB, admin *kadm.Client, topic string, partitions int32, pairs ...string) {
	t.Helper()
	configs := map[string]*string{}
	for i := 0; i < len(pairs); i += 2 {
		configs[pairs[i]] = &pairs[i+1]
	}
	if _, err := admin.CreateTopic(context.Background(), partitions, 1, configs, topic); err != nil {
		t.Fatal(err)
	}
}

func TestServerTransactions(t *testing.T) {
	_, addresses, admin := server(t)
	create(t, admin, "transactions", 1)
	transactions(t, producer(t, addresses, kgo.TransactionalID("tx")), "transactions")
	s := open(t, addresses, "transactions")
	end := latest(t, s)
	if want := (stream.Positions{"0": "15"}); !cmp.Equal(end, want) {
		t.Fatalf("latest is %v, want %v", end, want)
	}
	got := until(t, read(t, s, stream.Positions{"0": "0"}), end)
	if want := []string{"a1", "a2", "c1", "c2"}; !slices.Equal(got["0"], want) {
		t.Fatalf("read %v, want %v", got["0"], want)
	}
	all := open(t, addresses, "transactions", "isolation.level", "read_uncommitted")
	if got := until(t, read(t, all, stream.Positions{"0": "0"}), end); len(got["0"]) != 10 {
		t.Fatalf("read %v", got["0"])
	}
}

func TestServerTruncation(t *testing.T) {
	_, addresses, admin := server(t)
	create(t, admin, "truncated", 2)
	p := producer(t, addresses)
	produce(t, p, "truncated", 0, "a", "b", "c", "d")
	r := read(t, open(t, addresses, "truncated"), stream.Positions{"0": "1"})
	until(t, r, stream.Positions{"0": "4"})
	if _, err := admin.DeleteRecords(context.Background(), kadm.Offsets{
		"truncated": {0: {Topic: "truncated", Partition: 0, At: 3}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.Assign(context.Background(), stream.Positions{"0": "1"}); err != nil {
		t.Fatal(err)
	}
	lost, ok := errors.AsType[*stream.OffsetError](trouble(t, r))
	if want := (&stream.OffsetError{Partition: "0", Wanted: "1", Earliest: "3", Latest: "4"}); !ok || !cmp.Equal(lost, want) {
		t.Fatal(lost)
	}
	if err := r.Assign(context.Background(), stream.Positions{"0": lost.Earliest}); err != nil {
		t.Fatal(err)
	}
	if got := until(t, r, stream.Positions{"0": "4"}); !slices.Equal(got["0"], []string{"d"}) {
		t.Fatal(got)
	}
}

func TestServerCompaction(t *testing.T) {
	_, addresses, admin := server(t)
	create(t, admin, "compacted", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.001", "segment.bytes", "4000",
		"delete.retention.ms", "0")
	p := producer(t, addresses)
	pad := strings.Repeat("x", 500)
	for i := range 200 {
		if err := p.ProduceSync(context.Background(), &kgo.Record{
			Topic: "compacted", Key: []byte{byte(i % 3)}, Value: []byte(pad),
		}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 { // the keys are deleted again
		if err := p.ProduceSync(context.Background(), &kgo.Record{Topic: "compacted", Key: []byte{byte(i % 3)}}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, addresses, "compacted")
	for range 100 {
		got := until(t, read(t, s, stream.Positions{"0": "0"}), latest(t, s))
		if len(got["0"]) < 100 {
			return // it was compacted, and the position came to the end
		}
		if err := s.clock.Sleep(context.Background(), 200*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Skip("the log was not compacted in time")
}

func TestServerRestarts(t *testing.T) {
	k, addresses, admin := server(t)
	create(t, admin, "restarted", 2)
	p := producer(t, addresses)
	s := open(t, addresses, "restarted")
	r := read(t, s, stream.Positions{"0": "0", "1": "0"})
	want, got := map[stream.Partition][]string{}, map[stream.Partition][]string{}
	for round := range 3 {
		ends := stream.Positions{}
		for partition := range int32(2) {
			name := stream.Partition(fmt.Sprint(partition))
			for n := range 100 {
				want[name] = append(want[name], fmt.Sprint(round, n))
			}
			produce(t, p, "restarted", partition, want[name][100*round:]...)
			ends[name] = position(int64(100 * (round + 1)))
		}
		for name, values := range until(t, r, ends) {
			got[name] = append(got[name], values...)
		}
		switch round {
		case 0:
			k.Stop()
		case 1:
			k.Kill()
		default:
			continue
		}
		class, _ := stream.ClassOf(trouble(t, r))
		away := []string{"NetworkException", "TimeoutException", "LeaderNotAvailableException",
			"FencedLeaderEpochException", "NotLeaderOrFollowerException"} // the last words of one that stops
		if !slices.Contains(away, strings.TrimPrefix(class, errorClasses)) {
			t.Fatalf("class %q of a broker that is away", class)
		}
		if err := k.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestServerAddsPartition(t *testing.T) {
	_, addresses, admin := server(t)
	create(t, admin, "grows", 1)
	s := open(t, addresses, "grows")
	p := producer(t, addresses)
	produce(t, p, "grows", 0, "a")
	r := read(t, s, stream.Positions{"0": "0"})
	until(t, r, stream.Positions{"0": "1"})
	if _, err := admin.UpdatePartitions(context.Background(), 3, "grows"); err != nil {
		t.Fatal(err)
	}
	partitions, err := s.Partitions(context.Background())
	if err != nil || !slices.Equal(partitions, []stream.Partition{"0", "1", "2"}) {
		t.Fatal(partitions, err)
	}
	produce(t, producer(t, addresses), "grows", 2, "b")
	if err := r.Assign(context.Background(), stream.Positions{"0": "1", "2": "0"}); err != nil {
		t.Fatal(err)
	}
	if got := until(t, r, stream.Positions{"2": "1"}); !slices.Equal(got["2"], []string{"b"}) {
		t.Fatal(got)
	}
}

func TestServerTopicIsMadeAnew(t *testing.T) {
	_, addresses, admin := server(t)
	create(t, admin, "anew", 1)
	produce(t, producer(t, addresses), "anew", 0, "a", "b", "c")
	r := read(t, open(t, addresses, "anew"), stream.Positions{"0": "0"})
	until(t, r, stream.Positions{"0": "3"})
	if _, err := admin.DeleteTopic(context.Background(), "anew"); err != nil {
		t.Fatal(err)
	}
	if class, _ := stream.ClassOf(trouble(t, r)); class != errorClasses+"UnknownTopicOrPartitionException" &&
		class != errorClasses+"UnknownTopicIdException" {
		t.Fatalf("class %q of a topic that is gone", class)
	}
	for range 100 { // until its name is free
		if _, err := admin.CreateTopic(context.Background(), 1, 1, nil, "anew"); err == nil {
			break
		}
	}
	produce(t, producer(t, addresses), "anew", 0, "d")
	for range 100 {
		_, err := r.Poll(context.Background(), 100*time.Millisecond)
		if lost, ok := errors.AsType[*stream.OffsetError](err); ok {
			if lost.Wanted != "3" || lost.Earliest != "0" {
				t.Fatal(lost)
			}
			return
		}
	}
	t.Fatal("the offsets of the old topic are not missed in the new one")
}

func TestServerNullsAndLargeValues(t *testing.T) {
	_, addresses, admin := server(t)
	create(t, admin, "large", 1, "max.message.bytes", "20000000")
	p := producer(t, addresses, kgo.ProducerBatchMaxBytes(15<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	value := bytes.Repeat([]byte("0123456789"), 1<<20)
	for _, v := range [][]byte{nil, value, {}} {
		if err := p.ProduceSync(context.Background(), &kgo.Record{Topic: "large", Key: []byte("k"), Value: v}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	got := until(t, read(t, open(t, addresses, "large"), stream.Positions{"0": "0"}), stream.Positions{"0": "3"})
	if !slices.Equal(got["0"], []string{"<nil>", string(value), ""}) {
		t.Fatalf("%d values", len(got["0"]))
	}
}

func TestServerCodecs(t *testing.T) {
	_, addresses, admin := server(t)
	create(t, admin, "codecs", 1)
	var want []string
	for i, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		var values []string
		for n := range 100 {
			values = append(values, fmt.Sprint(i, n))
		}
		produce(t, producer(t, addresses, kgo.ProducerBatchCompression(codec)), "codecs", 0, values...)
		want = append(want, values...)
	}
	got := until(t, read(t, open(t, addresses, "codecs"), stream.Positions{"0": "0"}), stream.Positions{"0": "400"})
	if !slices.Equal(got["0"], want) {
		t.Fatal(len(got["0"]))
	}
}

func TestServerLogins(t *testing.T) {
	k, addresses, admin := server(t)
	create(t, admin, "secured", 1)
	produce(t, producer(t, addresses), "secured", 0, "a")
	in := func(name string) string { return filepath.Join(k.Directory, name) }
	text := func(name string) string {
		data, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	plain := `org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="` + kafkaserver.Password + `";`
	scram := strings.Replace(plain, "plain.PlainLoginModule", "scram.ScramLoginModule", 1)
	bearer := `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";`
	own := func(mechanism, password string) []string {
		return []string{"sasl.mechanism", mechanism, "sasl.username", "alice", "sasl.password", password}
	}
	trust := []string{"ssl.truststore.location", in("trust.jks"), "ssl.truststore.password", kafkaserver.Secret}
	for _, c := range []struct {
		name, protocol string
		pairs          []string
		class          string // of the error; "": none
	}{
		{name: "plain", protocol: "SASL_PLAINTEXT", pairs: []string{"sasl.mechanism", "PLAIN", "sasl.jaas.config", plain}},
		{name: "plain, own words", protocol: "SASL_PLAINTEXT", pairs: own("PLAIN", kafkaserver.Password)},
		{name: "scram 256", protocol: "SASL_PLAINTEXT", pairs: []string{"sasl.mechanism", "SCRAM-SHA-256", "sasl.jaas.config", scram}},
		{name: "scram 512", protocol: "SASL_PLAINTEXT", pairs: []string{"sasl.mechanism", "SCRAM-SHA-512", "sasl.jaas.config", scram}},
		{name: "bearer", protocol: "SASL_PLAINTEXT", pairs: []string{"sasl.mechanism", "OAUTHBEARER", "sasl.jaas.config", bearer}},
		{name: "wrong password", protocol: "SASL_PLAINTEXT", pairs: own("PLAIN", "x"), class: "SaslAuthenticationException"},
		{name: "wrong password of scram", protocol: "SASL_PLAINTEXT", pairs: own("SCRAM-SHA-256", "x"), class: "SaslAuthenticationException"},
		{name: "jks", protocol: "SSL", pairs: trust},
		{name: "jks without a password", protocol: "SSL", pairs: trust[:2]},
		{name: "pkcs12", protocol: "SSL", pairs: []string{
			"ssl.truststore.location", in("trust.p12"), "ssl.truststore.password", kafkaserver.Secret, "ssl.truststore.type", "PKCS12"}},
		{name: "pem", protocol: "SSL", pairs: []string{"ssl.truststore.location", in("trust.pem"), "ssl.truststore.type", "PEM"}},
		{name: "pem in place", protocol: "SSL", pairs: []string{"ssl.truststore.certificates", text("trust.pem"), "ssl.truststore.type", "PEM"}},
		{name: "key of jks", protocol: "SSL", pairs: append([]string{
			"ssl.keystore.location", in("client.jks"), "ssl.keystore.password", kafkaserver.Secret, "ssl.key.password", "pebbles"}, trust...)},
		{name: "key of pkcs12", protocol: "SSL", pairs: append([]string{
			"ssl.keystore.location", in("client.p12"), "ssl.keystore.password", kafkaserver.Secret, "ssl.keystore.type", "PKCS12"}, trust...)},
		{name: "both", protocol: "SASL_SSL", pairs: append([]string{"sasl.mechanism", "SCRAM-SHA-512", "sasl.jaas.config", scram}, trust...)},
		{name: "nobody trusted", protocol: "SSL", class: "SslAuthenticationException"},
		{name: "in the clear to TLS", protocol: "SSL", pairs: []string{"security.protocol", "PLAINTEXT"}, class: "NetworkException"},
		{name: "no login", protocol: "SASL_PLAINTEXT", pairs: []string{"security.protocol", "PLAINTEXT"}, class: "NetworkException"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pairs := append([]string{"security.protocol", c.protocol, "default.api.timeout.ms", "10000"}, c.pairs...)
			s := open(t, []string{k.Address(c.protocol)}, "secured", pairs...)
			partitions, err := s.Partitions(context.Background())
			if c.class != "" {
				class, message := stream.ClassOf(err)
				if class != errorClasses+c.class || strings.Contains(message, kafkaserver.Password) {
					t.Fatalf("%s: %s (%v), want %s", class, message, err, c.class)
				}
				return
			}
			if err != nil || len(partitions) != 1 {
				t.Fatal(partitions, err)
			}
			if got := until(t, read(t, s, stream.Positions{"0": "0"}), stream.Positions{"0": "1"}); !slices.Equal(got["0"], []string{"a"}) {
				t.Fatal(got)
			}
		})
	}
}
