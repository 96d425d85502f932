package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hengedb/henge/internal/testkit/kafkaserver"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// storyTime is how long ids are produced: HENGE_STORY, or a short time.
func storyTime(t *testing.T, short time.Duration) time.Duration {
	text := os.Getenv("HENGE_STORY")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEachIdIsCountedOnce produces ids to a real Kafka while the server and Kafka are killed.
func TestEachIdIsCountedOnce(t *testing.T) {
	arguments := append([]string{"server", "--data", t.TempDir()}, ports()...)
	story(t, []*actor{{arguments: arguments}})
}

// TestEachIdIsCountedOnceByProcesses does so with Overlords, workers, a Historical and a Broker in
// processes of their own, that have their metadata in a PostgreSQL.
func TestEachIdIsCountedOnceByProcesses(t *testing.T) {
	store, dir := postgres.URL(t), t.TempDir()
	var cast []*actor
	for i, roles := range [][]string{
		{"router", "broker"}, {"coordinator", "overlord"}, {"coordinator", "overlord"}, {"worker"}, {"worker"}, {"historical"},
	} {
		arguments := append([]string{"server", "--data", filepath.Join(dir, fmt.Sprint("node", i))}, roles...)
		for _, set := range []string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store,
			"service.leader.leaseDuration=PT2S", "service.discovery.leaseDuration=PT3S", "service.memory.limit=256MiB",
			"service.coordinator.startDelay=PT0S", "service.storage.storageDirectory=" + filepath.Join(dir, "deep"),
			"service.ingest.http.allowPrivate=true",
		} {
			arguments = append(arguments, "--set", set)
		}
		cast = append(cast, &actor{arguments: append(arguments, ports()...)})
	}
	story(t, cast)
}

// actor is a process that is killed, and started again with the same arguments.
type actor struct {
	*process
	arguments []string
}

func (a *actor) enter(t *testing.T) { a.process = launch(t, exec.Command(henge, a.arguments...)) }

// story produces ids while Kafka and the cast are killed, by a seed that is printed. No answer has
// an id twice, or one that was not produced yet, and in the end there is each id once. The first of
// the cast is asked.
func story(t *testing.T, cast []*actor) {
	seed := rand.Uint64()
	if text := os.Getenv("HENGE_STORY_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HENGE_STORY_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	kafka := kafkaserver.Start(t, "")
	address := kafka.Address("PLAINTEXT")
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("ids"), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 3, 1, nil, "ids"); err != nil {
		t.Fatal(err)
	}
	for _, a := range cast {
		a.enter(t)
	}
	p := cast[0]
	var spec any
	if err := json.Unmarshal([]byte(`{"type":"kafka","spec":{"dataSchema":{"dataSource":"ids","timestampSpec":{"column":"t","format":"millis"},
		"dimensionsSpec":{"useSchemaDiscovery":true},"granularitySpec":{"segmentGranularity":"hour","rollup":false}},
		"ioConfig":{"topic":"ids","inputFormat":{"type":"json"},"consumerProperties":{"bootstrap.servers":"`+address+`"},"taskCount":2,
		"replicas":`+fmt.Sprint(min(2, (len(cast)+1)/2))+`,
		"useEarliestOffset":true,"startDelay":"PT0.1S","period":"PT1S","taskDuration":"PT5S"}}}`), &spec); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; { // the processes may not know each other yet
		err := p.Call(t.Context(), http.MethodPost, "/service/indexer/v1/supervisor", spec, nil)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}

	// What was begun may be in an answer, what was acknowledged must be in the last one.
	var begun, acknowledged atomic.Int64
	producing, stop := context.WithTimeout(t.Context(), storyTime(t, 20*time.Second))
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for producing.Err() == nil {
			for range 10 {
				id := begun.Add(1) - 1
				record := &kgo.Record{Value: fmt.Appendf(nil, `{"t":%d,"id":%d}`, 1_700_000_000_000+id, id)}
				client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Errorf("id %d: %v", id, err)
					}
					acknowledged.Add(1)
				})
			}
			select {
			case <-tick.C:
			case <-producing.Done():
			}
		}
	}()
	// look returns how many rows and ids an answer has; false: there is none at the moment.
	look := func() (rows, ids int64, ok bool) {
		var out []struct{ N, D int64 }
		err := p.Call(t.Context(), http.MethodPost, "/service/v2/sql", map[string]any{
			"query":   "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS d FROM ids",
			"context": map[string]any{"useApproximateCountDistinct": false}}, &out)
		if err != nil || len(out) != 1 {
			return 0, 0, false
		}
		return out[0].N, out[0].D, true
	}
	check := func() bool {
		rows, ids, ok := look()
		if ok && (rows != ids || rows > begun.Load()) {
			t.Errorf("an answer has %d rows of %d ids, %d were produced", rows, ids, begun.Load())
		}
		return ok && rows == begun.Load() && acknowledged.Load() == begun.Load()
	}
	kills := 0
	for producing.Err() == nil {
		next := time.After(time.Duration(1000+random.IntN(4000)) * time.Millisecond)
	waiting:
		for {
			select {
			case <-next:
				break waiting
			case <-producing.Done():
				break waiting
			default:
				check()
			}
		}
		kills++
		if random.IntN(3) == 0 {
			kafka.Kill()
			if err := kafka.Begin(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		a := cast[random.IntN(len(cast))]
		a.kill()
		a.enter(t)
	}
	<-ended
	t.Logf("%d ids, %d kills", begun.Load(), kills)
	deadline := time.After(patience)
	for !check() {
		select {
		case <-deadline:
			rows, ids, ok := look()
			t.Fatalf("at the end there are %d rows of %d ids (%v); %d were produced, %d acknowledged",
				rows, ids, ok, begun.Load(), acknowledged.Load())
		default:
		}
	}
}
