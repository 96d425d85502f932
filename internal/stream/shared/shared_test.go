package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/kafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a topic with a Sources that reads it.
type world struct {
	t        *testing.T
	cluster  *kfake.Cluster
	sources  *Sources
	config   stream.Config
	producer *kgo.Client
	sent     atomic.Int64 // bytes that the brokers have sent
	made     map[int32]int
}

// counting counts what is written to connections.
type counting struct {
	net.Listener
	sent *atomic.Int64
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.sent}, err
}

type countingConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

func newWorld(t *testing.T, partitions int32) *world {
	w := &world{t: t, made: map[int32]int{}}
	var err error
	w.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "t"),
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			return counting{l, &w.sent}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.cluster.Close)
	servers, _ := json.Marshal(strings.Join(w.cluster.ListenAddrs(), ","))
	w.config = stream.Config{Type: "kafka", Name: "t", Committed: true, Properties: map[string]json.RawMessage{
		"bootstrap.servers": servers, "max.partition.fetch.bytes": json.RawMessage(`"65536"`),
	}}
	w.sources = New(func(_ context.Context, config stream.Config) (stream.Source, error) {
		return kafka.Open(config, nil, nil)
	}, clock.System(), slog.New(slog.DiscardHandler))
	t.Cleanup(w.sources.Close)
	w.producer, err = kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(16<<10), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.producer.Close)
	return w
}

// produce adds records to a partition, whose values begin with their offsets.
func (w *world) produce(partition int32, records int) {
	w.t.Helper()
	var list []*kgo.Record
	for range records {
		list = append(list, &kgo.Record{Topic: "t", Partition: partition, Value: fmt.Appendf(nil, "%d %0200d", w.made[partition], 0)})
		w.made[partition]++
	}
	if err := w.producer.ProduceSync(context.Background(), list...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// member is a reader that checks what it gets.
type member struct {
	w  *world
	r  *reader
	at map[stream.Partition]int
}

func (w *world) join(positions stream.Positions) *member {
	w.t.Helper()
	s, err := w.sources.Open(context.Background(), w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := s.Open(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	m := &member{w, r.(*reader), map[stream.Partition]int{}}
	var once sync.Once
	w.t.Cleanup(func() { once.Do(func() { m.leave(); _ = s.Close() }) })
	m.assign(positions)
	return m
}

func (m *member) leave() {
	if err := m.r.Close(); err != nil {
		m.w.t.Error(err)
	}
}

func (m *member) assign(positions stream.Positions) {
	m.w.t.Helper()
	if err := m.r.Assign(context.Background(), positions); err != nil {
		m.w.t.Fatal(err)
	}
	clear(m.at)
	for p, at := range positions {
		m.at[p], _ = strconv.Atoi(string(at))
	}
}

// poll polls once, and checks that records follow each other.
func (m *member) poll(wait time.Duration) (bool, error) {
	batches, err := m.r.Poll(context.Background(), wait)
	if err != nil {
		return false, err
	}
	for _, b := range batches {
		for _, k := range b.Records {
			number, _, _ := strings.Cut(string(k.Value), " ")
			if want := m.at[b.Partition]; number != strconv.Itoa(want) || k.Offset != int64(want) {
				return false, fmt.Errorf("partition [%s] has record [%s] at [%d], want [%d]", b.Partition, number, k.Offset, want)
			}
			m.at[b.Partition]++
		}
		if string(b.Next) != strconv.Itoa(m.at[b.Partition]) {
			return false, fmt.Errorf("partition [%s] goes on at [%s], want [%d]", b.Partition, b.Next, m.at[b.Partition])
		}
	}
	return len(batches) > 0, nil
}

// all polls until all is read.
func (m *member) all() error {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if m.done() {
			return nil
		}
		if _, err := m.poll(50 * time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("it has read %v of %v", m.at, m.w.made)
}

func (m *member) done() bool {
	for p, at := range m.at {
		n, _ := strconv.ParseInt(string(p), 10, 32)
		if at < m.w.made[int32(n)] {
			return false
		}
	}
	return true
}

// together has members read all at the same time.
func (w *world) together(members ...*member) {
	w.t.Helper()
	var wait sync.WaitGroup
	for _, m := range members {
		wait.Go(func() {
			if err := m.all(); err != nil {
				w.t.Error(err)
			}
		})
	}
	wait.Wait()
}

// follows is how many partitions a reader takes from the feed.
func (m *member) follows() int {
	m.r.feed.mu.Lock()
	defer m.r.feed.mu.Unlock()
	return len(m.r.following)
}

// TestSeveralReadersFetchOnce counts the bytes that the broker sends to one reader and to four.
func TestSeveralReadersFetchOnce(t *testing.T) {
	const partitions, records = 3, 4000
	begin := stream.Positions{"0": "0", "1": "0", "2": "0"}
	sent := map[int]int64{}
	for _, readers := range []int{1, 4} {
		w := newWorld(t, partitions)
		for p := range int32(partitions) {
			w.produce(p, records)
		}
		before := w.sent.Load()
		var members []*member
		for range readers {
			members = append(members, w.join(begin))
		}
		w.together(members...)
		sent[readers] = w.sent.Load() - before
	}
	t.Logf("one reader: %d bytes, four: %d", sent[1], sent[4])
	if sent[1] < partitions*records*200 || sent[4] > sent[1]*3/2 {
		t.Errorf("the broker sent [%d] bytes to one reader and [%d] to four", sent[1], sent[4])
	}
}

// TestASlowReaderHoldsNobody: who is behind the window reads by itself, and follows again when it
// has caught up.
func TestASlowReaderHoldsNobody(t *testing.T) {
	w := newWorld(t, 1)
	w.sources.limit = 256 << 10
	w.produce(0, 10_000)
	fast, slow := w.join(stream.Positions{"0": "0"}), w.join(stream.Positions{"0": "0"})
	if _, err := slow.poll(100 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	w.together(fast)
	f := fast.r.feed
	f.mu.Lock()
	for _, part := range f.mu.parts {
		if part.bytes > w.sources.limit+(64<<10)*3 { // records take more than their bytes
			t.Errorf("the window has [%d] bytes", part.bytes)
		}
	}
	f.mu.Unlock()
	w.together(slow)
	w.produce(0, 100)
	w.together(fast, slow)
	for name, m := range map[string]*member{"fast": fast, "slow": slow} {
		if m.follows() != 1 {
			t.Errorf("the %s reader reads by itself in the end", name)
		}
	}
	slow.leave()
	w.produce(0, 100)
	w.together(fast)
	if fast.follows() != 0 {
		t.Error("one reader alone follows")
	}
}

// TestReadersThatDoNotReadAlikeShareNothing: other settings, another isolation, another partition.
func TestReadersThatDoNotReadAlikeShareNothing(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.join(stream.Positions{"0": "0"}), w.join(stream.Positions{"1": "0"})
	w.config.Committed = false
	c := w.join(stream.Positions{"0": "0"})
	w.config.Properties["client.id"] = json.RawMessage(`"x"`)
	d := w.join(stream.Positions{"0": "0"})
	w.produce(0, 10)
	w.produce(1, 10)
	w.together(a, b, c, d)
	w.produce(0, 10)
	w.produce(1, 10)
	w.together(a, b, c, d)
	for i, m := range []*member{a, b, c, d} {
		if m.follows() > 0 {
			t.Errorf("reader [%d] follows", i)
		}
	}
}

// TestALostPositionIsToldToEach: and the other partitions are read on.
func TestALostPositionIsToldToEach(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(0, 100)
	w.produce(1, 100)
	admin := kadm.NewClient(w.producer)
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "t", Partition: 0, At: 50})
	if _, err := admin.DeleteRecords(t.Context(), offsets); err != nil {
		t.Fatal(err)
	}
	members := []*member{w.join(stream.Positions{"0": "10", "1": "0"}), w.join(stream.Positions{"0": "10", "1": "0"})}
	for i, m := range members {
		var told *stream.OffsetError
		for range 200 {
			if _, err := m.poll(20 * time.Millisecond); err != nil {
				if lost, ok := errors.AsType[*stream.OffsetError](err); ok {
					told = lost
				} else {
					t.Fatal(err)
				}
			}
			if told != nil && m.at["1"] == 100 {
				break
			}
		}
		if told == nil || told.Partition != "0" || told.Wanted != "10" || told.Earliest != "50" || m.at["1"] != 100 {
			t.Errorf("reader [%d] was told %+v and is at %v", i, told, m.at)
		}
		m.assign(stream.Positions{"0": "50", "1": "100"})
	}
	w.together(members...)
}

// TestReadersComeAndGo at random: each gets each record from its own position on once, in order.
func TestReadersComeAndGo(t *testing.T) {
	w := newWorld(t, 3)
	w.sources.limit = 128 << 10
	for p := range int32(3) {
		w.produce(p, 1000)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var wait sync.WaitGroup
	for n := range 5 {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		wait.Go(func() {
			for range 4 {
				positions := stream.Positions{}
				for p := range 3 {
					if len(positions) == 0 || random.IntN(3) > 0 {
						positions[stream.Partition(strconv.Itoa(p))] = stream.Position(strconv.Itoa(random.IntN(1000)))
					}
				}
				m := w.join(positions)
				for !m.done() && random.IntN(100) > 0 {
					if _, err := m.poll(time.Duration(random.IntN(20)) * time.Millisecond); err != nil {
						t.Error(err)
						return
					}
				}
				if random.IntN(2) > 0 {
					m.assign(stream.Positions{"1": stream.Position(strconv.Itoa(random.IntN(1000)))})
				}
				if err := m.all(); err != nil {
					t.Error(err)
				}
				if random.IntN(2) > 0 {
					m.leave()
				}
			}
		})
	}
	wait.Wait()
}

// TestAPollEndsWhenTheReaderIsClosed, or its context is done.
func TestAPollEndsWhenTheReaderIsClosed(t *testing.T) {
	w := newWorld(t, 1)
	a, b := w.join(stream.Positions{"0": "0"}), w.join(stream.Positions{"0": "0"})
	w.together(a, b)
	for range 2 {
		if _, err := a.poll(time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.r.Poll(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a poll whose context is done ends with %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := a.r.Poll(context.Background(), time.Hour)
		done <- err
	}()
	a.leave() // whether it polls already or not
	if err := <-done; err == nil {
		t.Error("a poll of a closed reader has no error")
	}
	if err := a.r.Assign(t.Context(), stream.Positions{"0": "x"}); err == nil {
		t.Error("a position that is no offset is taken")
	}
}
