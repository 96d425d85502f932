package kinesis

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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/kinesalite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		kinesalite.Stop()
		os.Exit(code)
	}))
}

func environment(name string) (string, bool) {
	return "stones", strings.HasPrefix(name, "AWS_") && name != "AWS_SESSION_TOKEN"
}

// open makes a stream of shards and opens it.
func open(t *testing.T, name string, shards int32) *Source {
	t.Helper()
	s := openAt(t, kinesalite.Endpoint(t), name)
	if _, err := s.api.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &name, ShardCount: &shards}); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	return s
}

func openAt(t *testing.T, endpoint, name string) *Source {
	t.Helper()
	io, _ := json.Marshal(map[string]string{"endpoint": endpoint})
	s, err := Open(t.Context(), stream.Config{Type: "kinesis", Name: name, IO: io}, &ingest.Access{Getenv: environment}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// settled waits until the stream can be used.
func settled(t *testing.T, s *Source) {
	t.Helper()
	for range 100 {
		d, err := s.api.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &s.name})
		if err == nil && d.StreamDescriptionSummary.StreamStatus == types.StreamStatusActive {
			return
		}
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the stream does not become active")
}

func put(t *testing.T, s *Source, key string, values ...string) {
	t.Helper()
	for _, v := range values {
		if _, err := s.api.PutRecord(t.Context(), &kinesis.PutRecordInput{StreamName: &s.name, PartitionKey: &key, Data: []byte(v)}); err != nil {
			t.Fatal(err)
		}
	}
}

func positions(t *testing.T, s *Source, of func(context.Context, []stream.Partition) (stream.Positions, error)) stream.Positions {
	t.Helper()
	partitions, err := s.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := of(t.Context(), partitions)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, s *Source, at stream.Positions) stream.Reader {
	t.Helper()
	r, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.Assign(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	return r
}

// until polls until each shard is at its position.
func until(
	t *testing.T, s *Source, r stream.Reader, ends stream.Positions,
) (values []string, at stream.Positions, records []stream.Record) {
	t.Helper()
	at = stream.Positions{}
	for range 300 {
		left := false
		for p, end := range ends {
			left = left || s.Compare(at[p], end) < 0
		}
		if !left {
			slices.Sort(values)
			return values, at, records
		}
		batches, err := r.Poll(t.Context(), 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			for _, k := range b.Records {
				if s.Compare(k.Position, at[b.Partition]) < 0 || s.Compare(k.Position, b.Next) >= 0 {
					t.Fatalf("record at %s between %s and %s", k.Position, at[b.Partition], b.Next)
				}
				values, records = append(values, string(k.Value)), append(records, k)
			}
			at[b.Partition] = b.Next
		}
	}
	t.Fatalf("at %v, want %v; read %v", at, ends, values)
	return nil, nil, nil
}

func TestReadsShards(t *testing.T) {
	s := open(t, "two", 2)
	partitions, err := s.Partitions(t.Context())
	if err != nil || len(partitions) != 2 {
		t.Fatal(partitions, err)
	}
	starts := positions(t, s, s.Earliest)
	if empty := positions(t, s, s.Latest); !cmp.Equal(starts, empty) {
		t.Fatalf("an empty stream is from %v to %v", starts, empty)
	}
	var want []string
	for i := range 20 {
		put(t, s, fmt.Sprint("key", i), fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
	}
	slices.Sort(want)
	r := read(t, s, starts)
	ends := positions(t, s, s.Latest)
	got, at, records := until(t, s, r, ends)
	if !slices.Equal(got, want) || !cmp.Equal(at, ends) {
		t.Fatal(got, at, ends)
	}
	if string(records[0].Key) != "key"+string(records[0].Value) || records[0].Time == 0 || records[0].Topic != "two" {
		t.Fatalf("%+v", records[0])
	}
	lag, err := s.TimeLag(t.Context(), at)
	if err != nil || len(lag) != 2 || lag[partitions[0]] != 0 {
		t.Fatal(lag, err)
	}

	// A reader goes on behind its position, also where that is before a record and none of a
	// record.
	again := read(t, s, at)
	put(t, s, "key1", "later")
	var of stream.Partition
	last, now := stream.Positions{}, positions(t, s, s.Latest)
	for p := range ends {
		if now[p] != ends[p] {
			of, last[p] = p, shifted(string(now[p]), -1)
		}
	}
	if got, _, _ := until(t, s, again, stream.Positions{of: now[of]}); !slices.Equal(got, []string{"later"}) {
		t.Fatal(got)
	}
	if got, _, _ := until(t, s, read(t, s, last), stream.Positions{of: now[of]}); !slices.Equal(got, []string{"later"}) {
		t.Fatal(got)
	}
	if s.Compare("9", "10") >= 0 || s.Compare(EOS, "10") <= 0 || s.Compare(EOS, stream.Unbounded) >= 0 || s.Compare(stream.Unset, "1") >= 0 {
		t.Fatal("positions are numbers, then the end of the shard")
	}
	if s.Distance("1", "2") != -1 {
		t.Fatal("positions have no distance")
	}
}

func TestShardsThatAreSplit(t *testing.T) {
	s := open(t, "split", 1)
	put(t, s, "a", "1", "2")
	partitions, _ := s.Partitions(t.Context())
	parent := partitions[0]
	r := read(t, s, positions(t, s, s.Earliest))
	if _, err := s.api.SplitShard(t.Context(), &kinesis.SplitShardInput{
		StreamName: &s.name, ShardToSplit: aws.String(string(parent)), NewStartingHashKey: aws.String("170141183460469231731687303715884105728"),
	}); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	if got, _, _ := until(t, s, r, stream.Positions{parent: EOS}); !slices.Equal(got, []string{"1", "2"}) {
		t.Fatal(got)
	}
	put(t, s, "a", "3")
	put(t, s, "b", "4")
	partitions, err := s.Partitions(t.Context())
	if err != nil || len(partitions) != 3 {
		t.Fatal(partitions, err)
	}
	starts, ends := positions(t, s, s.Earliest), positions(t, s, s.Latest)
	if ends[parent] != EOS {
		t.Fatal(ends)
	}
	starts[parent] = EOS
	if err := r.Assign(t.Context(), starts); err != nil {
		t.Fatal(err)
	}
	delete(ends, parent)
	if got, _, _ := until(t, s, r, ends); !slices.Equal(got, []string{"3", "4"}) {
		t.Fatal(got)
	}
}

func TestStreamThatIsNotThere(t *testing.T) {
	s := openAt(t, kinesalite.Endpoint(t), "none")
	if partitions, err := s.Partitions(t.Context()); err != nil || len(partitions) != 0 {
		t.Fatal(partitions, err)
	}
	r := read(t, s, stream.Positions{"shardId-000000000000": "7"})
	for range 100 {
		_, err := r.Poll(t.Context(), 100*time.Millisecond)
		if lost, ok := errors.AsType[*stream.OffsetError](err); ok {
			if lost.Wanted != "7" || lost.Partition != "shardId-000000000000" {
				t.Fatal(lost)
			}
			return
		}
	}
	t.Fatal("a shard that is not there is not missed")
}

func TestServiceThatIsAway(t *testing.T) {
	s := openAt(t, "http://127.0.0.1:1", "away")
	_, err := s.Partitions(t.Context())
	class, message := stream.ClassOf(err)
	if class != clientError || !strings.HasSuffix(message, "no connection to [127.0.0.1:1]") {
		t.Fatal(class, message)
	}
	r := read(t, s, stream.Positions{"shardId-000000000000": "7"})
	for range 100 {
		if _, err := r.Poll(t.Context(), 100*time.Millisecond); err != nil {
			if class, _ := stream.ClassOf(err); class != clientError {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("nobody says that the service is away")
}

func TestSettings(t *testing.T) {
	for io, why := range map[string]string{
		`{"fetchDelayMillis":-1}`: "[fetchDelayMillis] must not be negative",
		`{"endpoint":{}}`:         "is not readable",
	} {
		_, err := Open(t.Context(), stream.Config{Name: "a", IO: json.RawMessage(io)}, nil, nil)
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, why) {
			t.Errorf("%s: %v", io, err)
		}
	}
	for endpoint, want := range map[string]string{
		"kinesis.eu-central-1.amazonaws.com": "eu-central-1", "https://vpce-1.kinesis.us-gov-west-1.vpce.amazonaws.com": "us-gov-west-1",
		"kinesis-fips.us-east-2.amazonaws.com": "us-east-2",
	} {
		if m := hostRegion.FindStringSubmatch(endpoint); m == nil || m[1] != want {
			t.Errorf("%s: %v", endpoint, m)
		}
	}
	s := &Source{}
	r, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Assign(t.Context(), stream.Positions{"a": "LATEST"}); fault.Find(err) == nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
