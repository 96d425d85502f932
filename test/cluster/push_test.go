package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hengedb/henge/internal/testkit/server"
)

// sentAnswer is what is answered to rows that were sent.
type sentAnswer struct {
	Rows            int
	Duplicate       bool
	CommittedOffset string
	ErrorMessage    string
}

// sendRow sends a row of a channel to a process.
func sendRow(t *testing.T, address, table, channel string, n int) (status int, a sentAnswer, retry string) {
	t.Helper()
	at := fmt.Sprintf("%s/service/v2/ingest/%s?channel=%s&offset=%d", address, table, url.QueryEscape(channel), n)
	body := fmt.Sprintf(`{"t":"2024-01-01T00:00:%02d","c":%q,"i":%d}`, n%60, channel, n)
	resp, err := http.Post(at, "application/x-ndjson", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%d %s: %v", resp.StatusCode, text, err)
	}
	return resp.StatusCode, a, resp.Header.Get("Retry-After")
}

// TestSentRowsOfACluster sends rows by many channels to every process of a cluster: each comes to
// the worker that has the log of its channel, and is in the answer of the next query.
func TestSentRowsOfACluster(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord"}, {"historical"}, {"worker"}, {"worker"}, {"broker"}, {"router"},
	}, Settings: []string{"service.pgwire.plaintextPort=0"}})
	sent := 0
	for i := range 3 {
		for j, p := range c.Nodes {
			for role, address := range p.Addresses {
				if role == "pgwire" {
					continue
				}
				channel := fmt.Sprint("c", (i+j)%5)
				status, a, _ := sendRow(t, address, "sent", channel, i*10+j)
				if status != http.StatusOK || a.Rows != 1 || a.Duplicate && role != "overlord" && role != "coordinator" {
					t.Fatalf("row %d of channel %s sent to the %s: %d %+v", i*10+j, channel, role, status, a)
				}
				if !a.Duplicate {
					sent++
				}
				if got := ask(t, c, "SELECT COUNT(*) FROM sent"); got != fmt.Sprint(sent) {
					t.Fatalf("there are %s rows after %d were sent", got, sent)
				}
			}
		}
	}
	long := strings.Repeat("ж", 110)
	if status, a, _ := sendRow(t, c.Addresses["router"], url.PathEscape(long), "c", 1); status != http.StatusOK {
		t.Errorf("a datasource with a long name: %d %+v", status, a)
	}
	if status, a, _ := sendRow(t, c.Addresses["router"], url.PathEscape(long+long), "c", 1); status != http.StatusBadRequest {
		t.Errorf("a datasource with too long a name: %d %+v", status, a)
	}
	status, text, err := c.Send(t.Context(), "broker", http.MethodGet, "/service/v2/ingest/sent/channels/c2", "")
	if err != nil || status != http.StatusOK || !bytes.Contains(text, []byte(`"committedOffset":"2`)) {
		t.Errorf("%d %s, %v", status, text, err)
	}
	// So are rows of the PostgreSQL wire, from a Broker that has no log.
	_, wire, _ := strings.Cut(c.Nodes[4].Addresses["pgwire"], "://")
	pg, err := pgx.Connect(t.Context(), "postgres://ann@"+wire+"/henge?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Close(t.Context()) //nolint:errcheck // the test is over
	for i := range 6 {
		if _, err := pg.Exec(t.Context(), "insert into sent (__time, c, i) values (now(), 'wire', $1)", i); err != nil {
			t.Fatal(err)
		}
		sent++
		if got := ask(t, c, "SELECT COUNT(*) FROM sent"); got != fmt.Sprint(sent) {
			t.Fatalf("there are %s rows after %d were sent", got, sent)
		}
	}
}

// TestACopyTakesOver kills the workers that lead the logs of a datasource with two replicas, one
// after the other: nothing that was answered is lost, and each channel goes on.
func TestACopyTakesOver(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "historical", "broker", "router"}, {"worker"}, {"worker"}, {"worker"},
	}, Settings: []string{"service.worker.capacity=4"}})
	router := c.Addresses["router"]
	config := map[string]any{
		"replicas": 2, "timestampSpec": map[string]string{"column": "t"}, "dimensionsSpec": map[string]any{"useSchemaDiscovery": true},
	}
	if err := c.Call(t.Context(), http.MethodPut, "/service/v2/ingest/kept/config", config, nil); err != nil {
		t.Fatal(err)
	}
	const channels = 6
	var begun, answered atomic.Int64
	round := func(n int) {
		t.Helper()
		for ch := range channels {
			begun.Add(1)
			for began := time.Now(); ; {
				status, a, _ := sendRow(t, router, "kept", fmt.Sprint("c", ch), n)
				if status == http.StatusOK {
					answered.Add(1)
					break
				}
				if status != http.StatusServiceUnavailable || time.Since(began) > 20*time.Second {
					t.Fatalf("channel %d, row %d: %d %+v", ch, n, status, a)
				}
			}
		}
	}
	for n := range 5 {
		round(n)
	}
	// No answer has fewer rows than were acknowledged, or more than were sent.
	asking, stop := context.WithCancel(t.Context())
	var asks sync.WaitGroup
	defer asks.Wait()
	defer stop()
	asks.Go(func() {
		for n := 0; asking.Err() == nil; n++ {
			least := answered.Load()
			got, err := one(t.Context(), c, "SELECT COUNT(*) FROM kept")
			rows, _ := strconv.ParseInt(got, 10, 64)
			if most := begun.Load(); err != nil || rows < least || rows > most {
				t.Errorf("answer %d has %s rows, %v; between %d and %d were sent", n, got, err, least, most)
				return
			}
		}
	})
	for i := 1; i <= 2; i++ {
		c.Until("all logs have copies, and two tasks read them", func() bool {
			return copies(t, c, "kept") && reading(t, c, "kept", answered.Load()) == 2
		})
		c.Kill(c.Nodes[i])
		began := time.Now()
		round(5 * i)
		t.Logf("a round after the loss of a worker took [%s]", time.Since(began))
		for n := 5*i + 1; n < 5*i+5; n++ {
			round(n)
		}
		if i == 1 {
			c.Start("worker")
		}
	}
	once(t, c, "kept", channels*15)
}

// reading returns how many tasks have read so many requests to a datasource, which are all, as the
// Broker knows.
func reading(t *testing.T, c *server.Cluster, table string, all int64) (n int) {
	t.Helper()
	var ids []struct{ ID string }
	if err := c.Call(t.Context(), http.MethodGet, "/service/indexer/v1/runningTasks?datasource="+table, nil, &ids); err != nil {
		return 0
	}
	for _, p := range c.Nodes {
		if !p.Runs() || p.Addresses["indexer"] == "" {
			continue
		}
		for _, task := range ids {
			status, text, _ := get(t, http.DefaultClient, p.Addresses["indexer"]+"/service/worker/v1/chat/"+task.ID+"/offsets/current")
			var at map[string]int64
			if status != http.StatusOK || json.Unmarshal([]byte(text), &at) != nil {
				continue
			}
			read := int64(0)
			for _, of := range at {
				read += of
			}
			if read == all {
				n++
			}
		}
	}
	rows, err := c.Query(t.Context(), "SELECT MIN(num_replicas) FROM sys.segments WHERE datasource = '"+table+"'")
	if err != nil || fmt.Sprint(rows) != fmt.Sprintf("[[%d]]", n) {
		return 0
	}
	return n
}

// once waits until a table has a number of rows, each once.
func once(t *testing.T, c *server.Cluster, table string, n int) {
	t.Helper()
	last := ""
	defer func() {
		if t.Failed() {
			t.Logf("the last answer was %s", last)
		}
	}()
	c.Until(fmt.Sprintf("%s has %d rows, each once", table, n), func() bool {
		rows, err := c.Query(t.Context(), "SELECT SUM(n), COUNT(*) FROM (SELECT c, i, COUNT(*) AS n FROM "+table+" GROUP BY 1, 2)")
		last = fmt.Sprint(rows, err)
		return err == nil && fmt.Sprint(rows) == fmt.Sprintf("[[%d %d]]", n, n)
	})
}

// TestAWorkerComesBackWithItsRows kills the worker that has the only logs: their channels wait
// until it is back, and what was answered is back with it. Then it is disabled, and another one
// takes the logs over; in the end that is the only one.
func TestAWorkerComesBackWithItsRows(t *testing.T) {
	t.Parallel()
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "historical", "broker", "router"}, {"worker"},
	}, Settings: []string{"service.worker.capacity=4"}})
	router := c.Addresses["router"]
	send := func(n int) {
		t.Helper()
		c.Until(fmt.Sprintf("row %d is taken", n), func() bool {
			status, a, retry := sendRow(t, router, "back", fmt.Sprint("c", n%3), n)
			if status != http.StatusOK && (status != http.StatusServiceUnavailable || retry == "") {
				t.Fatalf("row %d: %d %+v, Retry-After [%s]", n, status, a, retry)
			}
			return status == http.StatusOK
		})
	}
	for n := range 10 {
		send(n)
	}
	first := c.Nodes[1]
	c.Kill(first)
	if status, a, retry := sendRow(t, router, "back", "c1", 10); status != http.StatusServiceUnavailable || retry == "" {
		t.Errorf("without its worker a channel is answered with %d %+v, Retry-After [%s]", status, a, retry)
	}
	first = c.StartAgain(first)
	for n := 9; n < 20; n++ { // 9 a second time
		send(n)
	}
	once(t, c, "back", 20)
	second := c.Start("worker")
	resp, err := http.Post(first.Addresses["indexer"]+"/service/worker/v1/disable", "", nil)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	c.Until("the other worker has all logs", func() bool {
		send(19)
		led := leaders(t, c, "back")
		return len(led) == 1 && !led[c.HolderOf(first)]
	})
	for n := 20; n < 30; n++ {
		send(n)
	}
	c.Kill(first)
	for n := 30; n < 40; n++ {
		send(n)
	}
	once(t, c, "back", 40)
	c.Kill(second)
	c.StartAgain(second)
	for n := 40; n < 50; n++ {
		send(n)
	}
	once(t, c, "back", 50)
}

// logs are those of a datasource with the workers that have them.
func logs(t *testing.T, c *server.Cluster, table string) []struct{ Leader, Copy string } {
	t.Helper()
	text, _, err := c.Setting(t.Context(), "push.logs")
	if err != nil {
		t.Fatal(err)
	}
	var tables map[string]struct {
		Logs []struct{ Leader, Copy string }
	}
	if err := json.Unmarshal(text, &tables); err != nil {
		t.Fatal(err)
	}
	return tables[table].Logs
}

func leaders(t *testing.T, c *server.Cluster, table string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, l := range logs(t, c, table) {
		out[l.Leader] = true
	}
	return out
}

// copies reports whether each log of a datasource is on two workers that run.
func copies(t *testing.T, c *server.Cluster, table string) bool {
	t.Helper()
	for _, l := range logs(t, c, table) {
		if l.Copy == "" || !c.Announced(l.Leader) || !c.Announced(l.Copy) {
			return false
		}
	}
	return true
}

// TestWhoMaySendRows sends rows to a cluster with security: who may write a datasource is asked
// where the request arrives, and processes ask each other as themselves.
func TestWhoMaySendRows(t *testing.T) {
	people := server.People{
		server.System: {"READ * *", "WRITE * *"},
		"writer":      {"WRITE DATASOURCE sent", "READ DATASOURCE sent"}, "reader": {"READ DATASOURCE sent"},
	}
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "historical", "broker", "router"}, {"worker"}, {"worker"},
	}, People: people, HTTP: server.LoggedIn(server.System, server.Password)})
	send := func(user, role, path, body string) int {
		as := server.Client{Addresses: c.Addresses, HTTP: server.LoggedIn(user, server.Password)}
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		status, text, err := as.Send(t.Context(), role, method, "/service/v2/ingest/"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %s %s: %d %s", user, role, path, status, text)
		return status
	}
	for _, x := range []struct {
		user, path string
		want       int
	}{
		{"reader", "sent?channel=a&offset=1", 403}, {"writer", "sent?channel=a&offset=1", 200}, {"writer", "other?channel=a&offset=1", 403},
		{"writer", "sent?channel=b&offset=1", 200}, {"writer", "sent?channel=c&offset=1", 200}, {"reader", "sent", 403},
	} {
		for _, role := range []string{"router", "indexer"} {
			if got := send(x.user, role, x.path, `{"t":"2024-01-01","v":1}`); got != x.want {
				t.Errorf("%s sends to %s at the %s: %d, want %d", x.user, x.path, role, got, x.want)
			}
		}
	}
	if got := send("reader", "router", "sent/channels/b", ""); got != 200 {
		t.Errorf("a reader asks for a channel: %d", got)
	}
	if got := ask(t, c, "SELECT COUNT(*) FROM sent"); got != "3" {
		t.Errorf("there are %s rows", got)
	}
}

// TestWhoIsTakenForLostCountsNothingTwice pauses workers, cuts connections between them, and has
// their announcements run out, by a seed that is printed, while rows are sent to any of them:
// copies take over from leaders that go on. No answer has more than was sent, and in the end each
// row is there once.
func TestWhoIsTakenForLostCountsNothingTwice(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "historical", "broker", "router"}, {"worker"}, {"worker"}, {"worker"},
	}})
	config := map[string]any{
		"replicas": 2, "timestampSpec": map[string]string{"column": "t"}, "dimensionsSpec": map[string]any{"useSchemaDiscovery": true},
	}
	if err := c.Call(t.Context(), http.MethodPut, "/service/v2/ingest/odd/config", config, nil); err != nil {
		t.Fatal(err)
	}
	doors := []string{c.Addresses["router"], c.Addresses["router"]}
	for _, p := range c.Nodes[1:] {
		doors = append(doors, p.Addresses["indexer"])
	}
	sending, stop := context.WithCancel(t.Context())
	defer stop()
	var begun atomic.Int64
	var senders sync.WaitGroup
	client := &http.Client{Timeout: 3 * time.Second}
	for ch := range 3 {
		own := rand.New(rand.NewPCG(seed, uint64(ch)+10))
		senders.Go(func() {
			for n := 1; sending.Err() == nil; n++ {
				begun.Add(1)
				for began := time.Now(); !trySend(client, doors[own.IntN(len(doors))], "odd", fmt.Sprint("c", ch), n); {
					if time.Since(began) > 30*time.Second {
						t.Errorf("row %d of channel %d is not taken", n, ch)
						return
					}
				}
			}
		})
	}
	c.Until("rows come", func() bool { return begun.Load() > 20 })
	for range 3 {
		a := 1 + random.IntN(3)
		b := 1 + (a+random.IntN(2))%3
		switch random.IntN(3) {
		case 0:
			c.Pause(c.Nodes[a])
		case 1:
			c.Cut(c.Nodes[a], c.Nodes[b])
		default:
			c.Mute(c.Nodes[a])
		}
		for until := time.Now().Add(time.Duration(500+random.IntN(1500)) * time.Millisecond); time.Now().Before(until); {
			got, err := one(t.Context(), c, "SELECT COUNT(*) FROM odd")
			if rows, _ := strconv.ParseInt(got, 10, 64); err == nil && rows > begun.Load() {
				t.Fatalf("an answer has %d rows, %d were sent", rows, begun.Load())
			}
		}
		c.Resume(c.Nodes[a])
		c.Heal()
	}
	stop()
	senders.Wait()
	t.Logf("%d rows", begun.Load())
	once(t, c, "odd", int(begun.Load()))
}

// trySend sends a row of a channel to a process, and reports whether it was taken.
func trySend(client *http.Client, door, table, channel string, n int) bool {
	to := fmt.Sprintf("%s/service/v2/ingest/%s?channel=%s&offset=%d", door, table, channel, n)
	body := fmt.Sprintf(`{"t":"2024-01-01","c":%q,"i":%d}`, channel, n)
	resp, err := client.Post(to, "application/x-ndjson", strings.NewReader(body))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close()) == nil && resp.StatusCode == http.StatusOK
}
