package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/kafkaserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		kafkaserver.StopAll()
		os.Exit(code)
	}), goleak.IgnoreAnyFunction("github.com/hengedb/henge/internal/testkit/kafkaserver.(*Server).Begin.func2"))
}

// brokers starts a cluster in the process.
func brokers(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// open opens a source of a topic, or of the topics of a pattern between slashes.
func open(t testing.TB, servers []string, name string, pairs ...string) *Source {
	t.Helper()
	config := stream.Config{Type: "kafka", Name: name, Properties: map[string]json.RawMessage{}}
	if pattern, ok := strings.CutPrefix(name, "/"); ok {
		config.Name, config.Pattern = "", strings.TrimSuffix(pattern, "/")
	}
	config.Properties["bootstrap.servers"], _ = json.Marshal(strings.Join(servers, ","))
	for i := 0; i < len(pairs); i += 2 {
		config.Properties[pairs[i]], _ = json.Marshal(pairs[i+1])
	}
	s, err := Open(config, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// producer returns a client that produces to the partitions that records name.
func producer(t testing.TB, servers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(servers...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func produce(t testing.TB, c *kgo.Client, topic string, partition int32, values ...string) {
	t.Helper()
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
	if err := c.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s *Source, positions stream.Positions) stream.Reader {
	t.Helper()
	r, err := s.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.Assign(context.Background(), positions); err != nil {
		t.Fatal(err)
	}
	return r
}

// until polls until every partition is at its position, and returns the values of each.
func until(t testing.TB, r stream.Reader, ends stream.Positions) map[stream.Partition][]string {
	t.Helper()
	out := map[stream.Partition][]string{}
	at := stream.Positions{}
	for range 300 {
		if all := func() bool {
			for p, end := range ends {
				if number(at[p]) < number(end) {
					return false
				}
			}
			return true
		}(); all {
			return out
		}
		batches, err := r.Poll(context.Background(), 100*time.Millisecond)
		if err != nil {
			if _, ok := errors.AsType[*stream.ConnectionError](err); ok {
				continue
			}
			t.Fatal(err)
		}
		for _, b := range batches {
			for _, record := range b.Records {
				if number(record.Position) != record.Offset || record.Offset < number(at[b.Partition]) || record.Offset >= number(b.Next) {
					t.Fatalf("record at %d (%s) between %s and %s", record.Offset, record.Position, at[b.Partition], b.Next)
				}
				value := string(record.Value)
				if record.Value == nil {
					value = "<nil>"
				}
				out[b.Partition] = append(out[b.Partition], value)
			}
			if at[b.Partition] != "" && number(b.Next) <= number(at[b.Partition]) {
				t.Fatalf("position %s of [%s] does not move on from %s", b.Next, b.Partition, at[b.Partition])
			}
			at[b.Partition] = b.Next
		}
	}
	t.Fatalf("at %v, want %v; read %v", at, ends, out)
	return nil
}

func latest(t testing.TB, s *Source) stream.Positions {
	t.Helper()
	partitions, err := s.Partitions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Latest(context.Background(), partitions)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadsPartitionsInOrder(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(3, "t"))
	p := producer(t, c.ListenAddrs())
	want := map[stream.Partition][]string{}
	for i := range int32(3) {
		for n := range 500 {
			want[stream.Partition(fmt.Sprint(i))] = append(want[stream.Partition(fmt.Sprint(i))], fmt.Sprintf("%d-%d", i, n))
		}
		produce(t, p, "t", i, want[stream.Partition(fmt.Sprint(i))]...)
	}
	s := open(t, c.ListenAddrs(), "t")
	partitions, err := s.Partitions(context.Background())
	if err != nil || !slices.Equal(partitions, []stream.Partition{"0", "1", "2"}) {
		t.Fatal(partitions, err)
	}
	starts, err := s.Earliest(context.Background(), partitions)
	if want := (stream.Positions{"0": "0", "1": "0", "2": "0"}); err != nil || !cmp.Equal(starts, want) {
		t.Fatal(starts, err)
	}
	r := read(t, s, starts)
	if diff := cmp.Diff(want, until(t, r, latest(t, s))); diff != "" {
		t.Fatal(diff)
	}
	// What is assigned already goes on, what is not is left.
	produce(t, p, "t", 1, "later", "last")
	produce(t, p, "t", 2, "never")
	if err := r.Assign(context.Background(), stream.Positions{"1": "500", "0": "499"}); err != nil {
		t.Fatal(err)
	}
	got := until(t, r, stream.Positions{"1": "502", "0": "500"})
	if diff := cmp.Diff(map[stream.Partition][]string{"0": {"0-499"}, "1": {"later", "last"}}, got); diff != "" {
		t.Fatal(diff)
	}
	if batches, err := r.Poll(context.Background(), 0); err != nil || len(batches) != 0 {
		t.Fatal(batches, err)
	}
	if s.Compare("9", "10") >= 0 || s.Compare("10", "10") != 0 || s.Distance("7", "10") != 3 || s.Compare(stream.Unbounded, "10") <= 0 {
		t.Fatal("positions are numbers")
	}
}

func TestFieldsOfRecords(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, "t"))
	p := producer(t, c.ListenAddrs())
	at := time.UnixMilli(1_700_000_000_123)
	for _, r := range []*kgo.Record{
		{Topic: "t", Key: []byte("k"), Value: []byte("v"), Timestamp: at,
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: []byte("2")}}},
		{Topic: "t", Key: []byte("k"), Timestamp: at},
		{Topic: "t", Value: []byte{}, Timestamp: at},
	} {
		if err := p.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	r := read(t, open(t, c.ListenAddrs(), "t"), stream.Positions{"0": "0"})
	var got []stream.Record
	for len(got) < 3 {
		batches, err := r.Poll(context.Background(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			got = append(got, b.Records...)
		}
	}
	want := []stream.Record{
		{Position: "0", Topic: "t", Offset: 0, Time: at.UnixMilli(), Key: []byte("k"), Value: []byte("v"),
			Headers: []stream.Header{{Name: "h", Value: []byte("1")}, {Name: "h", Value: []byte("2")}}},
		{Position: "1", Topic: "t", Offset: 1, Time: at.UnixMilli(), Key: []byte("k")},
		{Position: "2", Topic: "t", Offset: 2, Time: at.UnixMilli(), Value: []byte{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestTransactions(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, "t"))
	p := producer(t, c.ListenAddrs(), kgo.TransactionalID("tx"))
	transactions(t, p, "t")
	s := open(t, c.ListenAddrs(), "t")
	end := latest(t, s)
	// Two commits, three aborts of two records each, and a marker for each of the five.
	if want := (stream.Positions{"0": "15"}); !cmp.Equal(end, want) {
		t.Fatalf("latest is %v, want %v", end, want)
	}
	got := until(t, read(t, s, stream.Positions{"0": "0"}), end)
	if want := []string{"a1", "a2", "c1", "c2"}; !slices.Equal(got["0"], want) {
		t.Fatalf("read %v, want %v", got["0"], want)
	}
	all := open(t, c.ListenAddrs(), "t", "isolation.level", "read_uncommitted")
	got = until(t, read(t, all, stream.Positions{"0": "0"}), latest(t, all))
	if want := []string{"a1", "a2", "x1", "x2", "x1", "x2", "c1", "c2", "x1", "x2"}; !slices.Equal(got["0"], want) {
		t.Fatalf("read %v, want %v", got["0"], want)
	}
}

// transactions commits two transactions of two records, and aborts some between and behind them.
func transactions(t *testing.T, p *kgo.Client, topic string) {
	t.Helper()
	for _, name := range []string{"a", "", "", "c", ""} {
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		prefix := name
		if prefix == "" {
			prefix = "x"
		}
		produce(t, p, topic, 0, prefix+"1", prefix+"2")
		if err := p.EndTransaction(context.Background(), kgo.TransactionEndTry(name != "")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenTransactionHoldsTheEnd(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, "t"))
	p := producer(t, c.ListenAddrs(), kgo.TransactionalID("tx"))
	produce(t, producer(t, c.ListenAddrs()), "t", 0, "before")
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce(t, p, "t", 0, "held")
	s := open(t, c.ListenAddrs(), "t")
	if end := latest(t, s); end["0"] != "1" {
		t.Fatalf("latest is %v while a transaction is open, want 1", end)
	}
	r := read(t, s, stream.Positions{"0": "0"})
	if got := until(t, r, stream.Positions{"0": "1"}); !slices.Equal(got["0"], []string{"before"}) {
		t.Fatal(got)
	}
	if batches, err := r.Poll(context.Background(), 50*time.Millisecond); err != nil || len(batches) > 0 {
		t.Fatalf("%v, %v of an open transaction", batches, err)
	}
	if err := p.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got := until(t, r, stream.Positions{"0": "3"}); !slices.Equal(got["0"], []string{"held"}) {
		t.Fatal(got)
	}
}

func TestPatternMatchesWholeNames(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(2, "orders-eu", "orders-us"), kfake.SeedTopics(1, "all-orders-eu", "orders-eu-2"))
	s := open(t, c.ListenAddrs(), "/orders-(?=..$)\\p{javaLowerCase}+/")
	partitions, err := s.Partitions(context.Background())
	if want := []stream.Partition{"orders-eu:0", "orders-eu:1", "orders-us:0", "orders-us:1"}; err != nil || !slices.Equal(partitions, want) {
		t.Fatalf("%v, %v, want %v", partitions, err, want)
	}
	p := producer(t, c.ListenAddrs())
	produce(t, p, "orders-us", 1, "u")
	produce(t, p, "orders-eu", 0, "e")
	r := read(t, s, stream.Positions{"orders-eu:0": "0", "orders-us:1": "0"})
	got := until(t, r, stream.Positions{"orders-eu:0": "1", "orders-us:1": "1"})
	if diff := cmp.Diff(map[stream.Partition][]string{"orders-eu:0": {"e"}, "orders-us:1": {"u"}}, got); diff != "" {
		t.Fatal(diff)
	}
	// A topic that is added is part of the stream.
	admin := kadm.NewClient(p)
	if _, err := admin.CreateTopic(context.Background(), 1, 1, nil, "orders-jp"); err != nil {
		t.Fatal(err)
	}
	partitions, err = s.Partitions(context.Background())
	if err != nil || !slices.Contains(partitions, "orders-jp:0") {
		t.Fatal(partitions, err)
	}
}

func TestMissingTopicHasNoPartitions(t *testing.T) {
	c := brokers(t)
	s := open(t, c.ListenAddrs(), "none")
	if partitions, err := s.Partitions(context.Background()); err != nil || len(partitions) != 0 {
		t.Fatal(partitions, err)
	}
	if at, err := s.Latest(context.Background(), []stream.Partition{"0"}); err != nil || len(at) != 0 {
		t.Fatal(at, err)
	}
	r := read(t, s, stream.Positions{"0": "0"})
	err := trouble(t, r)
	if class, message := stream.ClassOf(err); class != errorClasses+"UnknownTopicOrPartitionException" ||
		!strings.Contains(message, "topic [none]") {
		t.Fatal(class, message)
	}
}

// trouble polls until there is an error.
func trouble(t testing.TB, r stream.Reader) error {
	t.Helper()
	for range 300 {
		if _, err := r.Poll(context.Background(), 100*time.Millisecond); err != nil {
			return err
		}
	}
	t.Fatal("no error came")
	return nil
}

func TestPositionThatIsNotThere(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(2, "t"))
	p := producer(t, c.ListenAddrs())
	produce(t, p, "t", 0, "a", "b", "c", "d")
	produce(t, p, "t", 1, "other")
	admin := kadm.NewClient(p)
	if _, err := admin.DeleteRecords(context.Background(), kadm.Offsets{"t": {0: {Topic: "t", Partition: 0, At: 2}}}); err != nil {
		t.Fatal(err)
	}
	s := open(t, c.ListenAddrs(), "t")
	r := read(t, s, stream.Positions{"0": "1", "1": "0"})
	var lost *stream.OffsetError
	var ok, other bool
	for range 100 { // the other partition is read all the same
		batches, err := r.Poll(context.Background(), 100*time.Millisecond)
		if err != nil {
			if lost, ok = errors.AsType[*stream.OffsetError](err); !ok {
				t.Fatal(err)
			}
		}
		for _, b := range batches {
			other = other || string(b.Records[0].Value) == "other"
		}
		if other && ok {
			break
		}
	}
	if want := (&stream.OffsetError{Partition: "0", Wanted: "1", Earliest: "2", Latest: "4"}); !other || !cmp.Equal(lost, want) {
		t.Fatal(lost, other)
	}
	// Who then says where to go on gets the rest.
	if err := r.Assign(context.Background(), stream.Positions{"0": "2"}); err != nil {
		t.Fatal(err)
	}
	if got := until(t, r, stream.Positions{"0": "4"}); !slices.Equal(got["0"], []string{"c", "d"}) {
		t.Fatal(got)
	}
	// Behind the end it is told, and read as soon as records are there.
	if err := r.Assign(context.Background(), stream.Positions{"0": "6"}); err != nil {
		t.Fatal(err)
	}
	lost, ok = errors.AsType[*stream.OffsetError](trouble(t, r))
	if want := (&stream.OffsetError{Partition: "0", Wanted: "6", Earliest: "2", Latest: "4"}); !ok || !cmp.Equal(lost, want) {
		t.Fatal(lost)
	}
	produce(t, p, "t", 0, "e", "f", "g")
	for range 100 {
		batches, err := r.Poll(context.Background(), 100*time.Millisecond)
		if _, lost := errors.AsType[*stream.OffsetError](err); err != nil && !lost {
			t.Fatal(err)
		}
		if len(batches) > 0 {
			if string(batches[0].Records[0].Value) != "g" || batches[0].Next != "7" {
				t.Fatal(batches)
			}
			return
		}
	}
	t.Fatal("records behind the end never came")
}

func TestLeadersChange(t *testing.T) {
	c := brokers(t, kfake.NumBrokers(3), kfake.SeedTopics(4, "t"))
	p := producer(t, c.ListenAddrs())
	s := open(t, c.ListenAddrs(), "t")
	r := read(t, s, stream.Positions{"0": "0", "1": "0", "2": "0", "3": "0"})
	want := map[stream.Partition][]string{}
	got := map[stream.Partition][]string{}
	for round := range 12 {
		ends := stream.Positions{}
		for i := range int32(4) {
			name, value := stream.Partition(fmt.Sprint(i)), fmt.Sprint(round)
			produce(t, p, "t", i, value)
			want[name] = append(want[name], value)
			ends[name] = position(int64(round + 1))
		}
		for partition, values := range until(t, r, ends) {
			got[partition] = append(got[partition], values...)
		}
		c.ShufflePartitionLeaders()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestBrokersThatAreAway(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, "t"))
	addresses := c.ListenAddrs()
	s := open(t, addresses, "t", "default.api.timeout.ms", "2000")
	produce(t, producer(t, addresses), "t", 0, "a")
	r := read(t, s, stream.Positions{"0": "0"})
	until(t, r, stream.Positions{"0": "1"})
	c.Close()
	err := trouble(t, r)
	if class, message := stream.ClassOf(err); class != errorClasses+"TimeoutException" && class != errorClasses+"NetworkException" ||
		!strings.HasPrefix(message, "Broker does not answer: ") &&
			!strings.HasPrefix(message, "Timeout expired while fetching topic metadata: ") ||
		!strings.Contains(message, "connection") {
		t.Fatal(class, message)
	}
	_, err = s.Partitions(context.Background())
	if class, _ := stream.ClassOf(err); !strings.HasPrefix(class, "org.apache.kafka.common.errors.") {
		t.Fatal(err)
	}
}

func TestMaxPollRecords(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, "t"))
	produce(t, producer(t, c.ListenAddrs()), "t", 0, "a", "b", "c", "d", "e")
	r := read(t, open(t, c.ListenAddrs(), "t", "max.poll.records", "2"), stream.Positions{"0": "0"})
	var sizes []int
	var ends []stream.Position
	for len(sizes) < 3 {
		batches, err := r.Poll(context.Background(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			sizes, ends = append(sizes, len(b.Records)), append(ends, b.Next)
		}
	}
	if !slices.Equal(sizes, []int{2, 2, 1}) || !slices.Equal(ends, []stream.Position{"2", "4", "5"}) {
		t.Fatal(sizes, ends)
	}
}

func TestCloseEndsPoll(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, "t"))
	r := read(t, open(t, c.ListenAddrs(), "t"), stream.Positions{"0": "0"})
	ended := make(chan error)
	go func() {
		_, err := r.Poll(context.Background(), time.Hour)
		ended <- err
	}()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r = read(t, open(t, c.ListenAddrs(), "t"), stream.Positions{"0": "0"})
	if _, err := r.Poll(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
