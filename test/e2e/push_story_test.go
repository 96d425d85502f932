package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/postgres"
)

// sender sends rows of a channel, each once, whatever becomes of the processes it sends to.
type sender struct {
	channel int
	// begun rows may be in an answer; those that are acknowledged must be, once all is well.
	begun, acknowledged *atomic.Int64
}

// run sends rows until ctx is done; what was begun is sent to its end.
func (s *sender) run(ctx context.Context, t *testing.T, doors func() []string, random *rand.Rand) {
	client := &http.Client{Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; {
		var body bytes.Buffer
		rows := 1 + random.IntN(20)
		for range rows {
			n++
			fmt.Fprintf(&body, "{\"t\":%d,\"id\":\"%d-%d\"}\n", 1_700_000_000_000+n, s.channel, n)
		}
		s.begun.Add(int64(rows))
		for deadline := time.Now().Add(2 * patience); ; {
			of := doors()
			if s.send(t, client, of[random.IntN(len(of))], n, body.Bytes()) {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("row %d of channel %d is not taken", n, s.channel)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		s.acknowledged.Add(int64(rows))
	}
}

// send sends rows up to number n to a process; false: they are to be sent again.
func (s *sender) send(t *testing.T, client *http.Client, door string, n int, body []byte) bool {
	to := fmt.Sprintf("%s/service/v2/ingest/sent?channel=c%d&offset=%d", door, s.channel, n)
	resp, err := client.Post(to, "application/x-ndjson", bytes.NewReader(body))
	if err != nil {
		return false // the process was killed
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return false
	}
	switch resp.StatusCode {
	case http.StatusOK:
		var a struct{ CommittedOffset string }
		if json.Unmarshal(text, &a) != nil || a.CommittedOffset != strconv.Itoa(n) {
			t.Errorf("row %d of channel %d: %s", n, s.channel, text)
		}
		return true
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if resp.Header.Get("Retry-After") == "" {
			t.Errorf("row %d of channel %d: status %d without Retry-After: %s", n, s.channel, resp.StatusCode, text)
		}
	case http.StatusInternalServerError, http.StatusGatewayTimeout: // a process that ends, or waits for one
	default:
		t.Errorf("row %d of channel %d: status %d: %s", n, s.channel, resp.StatusCode, text)
	}
	return false
}

// TestEachSentRowIsCountedOnce sends rows by some channels to a cluster of processes that are
// killed, by a seed that is printed: Router, Broker, Overlords, workers. No answer has an id twice,
// or more than was sent. What was acknowledged is in the answers as soon as the killed process is
// back, and in the end each id is there once.
func TestEachSentRowIsCountedOnce(t *testing.T) {
	seed := rand.Uint64()
	if text := os.Getenv("HENGE_STORY_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HENGE_STORY_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	store, dir := postgres.URL(t), t.TempDir()
	var cast []*actor
	roles := [][]string{
		{"router", "broker"}, {"coordinator", "overlord"}, {"coordinator", "overlord"}, {"worker"}, {"worker"}, {"worker", "historical"},
	}
	const workers = 3 // the first of them
	for i, of := range roles {
		arguments := append([]string{"server", "--data", filepath.Join(dir, fmt.Sprint("node", i))}, of...)
		for _, set := range []string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store,
			"service.leader.leaseDuration=PT2S", "service.discovery.leaseDuration=PT3S", "service.memory.limit=256MiB",
			"service.coordinator.startDelay=PT0S", "service.storage.storageDirectory=" + filepath.Join(dir, "deep"),
		} {
			arguments = append(arguments, "--set", set)
		}
		cast = append(cast, &actor{arguments: append(arguments, ports()...)})
	}
	var stage sync.RWMutex // held to change who is in the cast
	for _, a := range cast {
		a.enter(t)
	}
	// doors are the addresses that rows are sent to: the Router's, and now and then a worker's.
	doors := func() []string {
		stage.RLock()
		defer stage.RUnlock()
		router := cast[0].Addresses["router"]
		return []string{router, router, router, cast[workers].Addresses["indexer"]}
	}
	configureSent(t, cast[0])

	var begun, acknowledged atomic.Int64
	sending, stop := context.WithTimeout(t.Context(), storyTime(t, 10*time.Second))
	defer stop()
	var senders sync.WaitGroup
	for c := range 4 {
		s := &sender{channel: c, begun: &begun, acknowledged: &acknowledged}
		own := rand.New(rand.NewPCG(seed, uint64(10+c)))
		senders.Go(func() { s.run(sending, t, doors, own) })
	}
	look := func() (rows, ids int64, ok bool) {
		var out []struct{ N, D int64 }
		err := cast[0].Call(t.Context(), http.MethodPost, "/service/v2/sql", map[string]any{
			"query":   "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS d FROM sent",
			"context": map[string]any{"useApproximateCountDistinct": false}}, &out)
		if err != nil || len(out) != 1 {
			return 0, 0, false
		}
		return out[0].N, out[0].D, true
	}
	// check looks at an answer, which has to have at least some rows.
	check := func(least int64) bool {
		rows, ids, ok := look()
		if ok && (rows != ids || rows > begun.Load()) {
			t.Errorf("an answer has %d rows of %d ids, %d were sent", rows, ids, begun.Load())
		}
		return ok && rows >= least
	}
	kills, slowest := 0, time.Duration(0)
	for sending.Err() == nil && !t.Failed() {
		victim := random.IntN(len(cast))
		stage.Lock()
		cast[victim].kill()
		cast[victim].enter(t)
		stage.Unlock()
		kills++
		// All that was acknowledged comes back.
		least, began := acknowledged.Load(), time.Now()
		for !check(least) {
			if time.Since(began) > patience {
				rows, ids, ok := look()
				t.Fatalf("after the loss of %v there are %d rows of %d ids (%v); %d were acknowledged", roles[victim], rows, ids, ok, least)
			}
		}
		slowest = max(slowest, time.Since(began))
		for calm := time.Now().Add(time.Duration(random.IntN(1500)) * time.Millisecond); time.Now().Before(calm) && sending.Err() == nil; {
			check(0)
		}
	}
	senders.Wait()
	t.Logf("%d rows, %d kills, the slowest answer with all came after [%s]", begun.Load(), kills, slowest)
	if begun.Load() != acknowledged.Load() {
		t.Errorf("%d rows were sent, %d acknowledged", begun.Load(), acknowledged.Load())
	}
	for deadline := time.Now().Add(patience); !check(begun.Load()); {
		if time.Now().After(deadline) {
			rows, ids, ok := look()
			t.Fatalf("at the end there are %d rows of %d ids (%v); %d were sent", rows, ids, ok, begun.Load())
		}
	}
}

// configureSent says how the rows of the story are read, as soon as the processes know each other,
// and has tasks publish often.
func configureSent(t *testing.T, router *actor) {
	t.Helper()
	settings := map[string]any{
		"replicas": 2, "timestampSpec": map[string]string{"column": "t", "format": "millis"},
		"dimensionsSpec": map[string]any{"useSchemaDiscovery": true},
	}
	until := func(what string, try func() error) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; {
			err := try()
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	until("settings", func() error {
		return router.Call(t.Context(), http.MethodPut, "/service/v2/ingest/sent/config", settings, nil)
	})
	var spec map[string]any
	until("the supervisor", func() error {
		return router.Call(t.Context(), http.MethodGet, "/service/indexer/v1/supervisor/push_sent", nil, &spec)
	})
	of, ok := spec["spec"].(map[string]any)
	io, is := of["ioConfig"].(map[string]any)
	if !ok || !is {
		t.Fatalf("the supervisor is %v", spec)
	}
	io["taskDuration"] = "PT5S"
	until("the supervisor", func() error {
		return router.Call(t.Context(), http.MethodPost, "/service/indexer/v1/supervisor", map[string]any{
			"type": "push", "id": "push_sent", "spec": of, "context": spec["context"]}, nil)
	})
}
