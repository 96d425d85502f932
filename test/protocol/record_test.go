// Package protocol replays recorded messages between processes of older releases against the
// current code.
//
// A recording is one file of testdata for each protocol: the announcements of the processes of a
// small cluster, the segments that it held, and the requests and answers between a Broker, a
// Coordinator and two Historicals, byte for byte. The code of that release records it, with this
// file:
//
//	git worktree add ../old COMMIT                # the last one of that protocol
//	cp test/protocol/record_test.go ../old/test/protocol/
//	cd ../old && go test ./test/protocol -run Record -record FILE
//
// protocol1.json was recorded at 8cdff39 and protocol2.json at 6a37382. Before a change of
// cluster.Protocol, the last commit of the current protocol is recorded likewise. A recording is
// never repeated: only the code of its commit can produce the messages of that release.
package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/server"
)

var record = flag.String("record", "", "the `file` for a recording of what processes of this release say to each other")

// recording is what a release says.
type recording struct {
	Protocol int `json:"protocol"`
	// Members are the announcements of all processes.
	Members []metastore.Member `json:"members"`
	// Segments are the files of what the Historicals hold, by id.
	Segments map[string][]byte `json:"segments"`
	// Queries are the statements that were run, in order, each with what the Broker asked for it.
	Queries []recordedQuery `json:"queries"`
	// Others are further exchanges: each path once.
	Others []exchange `json:"others"`
}

type recordedQuery struct {
	SQL string `json:"sql"`
	// Rows is what the client got, as JSON; of EXPLAIN ANALYZE nothing.
	Rows      json.RawMessage `json:"rows,omitempty"`
	Exchanges []exchange      `json:"exchanges"`
}

// exchange is a request of one process and the answer of another.
type exchange struct {
	// Server is the host and port of the one that answers.
	Server string `json:"server"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	// Request and Answer are the bodies.
	Request []byte `json:"request,omitempty"`
	Answer  []byte `json:"answer,omitempty"`
}

// partsPath is how the path of parts of queries ends.
const partsPath = "/fragments"

// tap stands in front of a process and notes what is said to it.
type tap struct {
	asking sync.WaitGroup // parts of queries under way
	mu     sync.Mutex
	heard  []exchange
}

// taken returns what was heard since the last call.
func (p *tap) taken() []exchange {
	p.asking.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.heard
	p.heard = nil
	return out
}

// before returns the address at which an address is reached through the tap.
func (p *tap) before(t *testing.T, address string) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // the process is being stopped
	own := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, partsPath) {
			p.asking.Add(1)
			defer p.asking.Done()
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the asker is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := &teed{ResponseWriter: w}
		defer func() { // also when the asker has gone with all it wanted, before the last chunk
			p.mu.Lock()
			defer p.mu.Unlock()
			p.heard = append(p.heard, exchange{own, r.Method, r.URL.RequestURI(), answer.status, body, answer.body.Bytes()})
		}()
		proxy.ServeHTTP(answer, r)
	}))
	own = strings.TrimPrefix(s.URL, "http://")
	t.Cleanup(func() {
		s.CloseClientConnections() // others wait for news
		s.Close()
	})
	return own
}

// teed keeps what it passes on.
type teed struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (w *teed) WriteHeader(status int) { w.status = status; w.ResponseWriter.WriteHeader(status) }

func (w *teed) Write(p []byte) (int, error) { w.body.Write(p); return w.ResponseWriter.Write(p) }

// Unwrap lets http.ResponseController reach the connection.
func (w *teed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

const insert = `INSERT INTO t SELECT TIME_PARSE(t) AS __time, k, n, x, MV_TO_ARRAY(m) AS m FROM TABLE(EXTERN('{"type":"inline","data":"%s"}', '{"type":"json"}'))
	EXTEND (t VARCHAR, k VARCHAR, n BIGINT, x DOUBLE, m VARCHAR ARRAY) PARTITIONED BY DAY`

// statements are what is asked: groups, groups by several dimensions, sketches, first rows, rows as
// they come, and joins that run beside the segments.
var statements = []string{
	"SELECT k, COUNT(*), SUM(n), MIN(x), AVG(x) FROM t GROUP BY k ORDER BY k",
	"SELECT k, FLOOR(__time TO DAY), MAX(n), APPROX_COUNT_DISTINCT(n) FROM t WHERE n > 1 OR x IS NULL GROUP BY 1, 2 ORDER BY 1, 2",
	"SELECT COUNT(DISTINCT k), COUNT(*) FILTER (WHERE k LIKE 'a%'), APPROX_QUANTILE_DS(n, 0.5) FROM t",
	"SELECT n, k, x FROM t ORDER BY n + 0 DESC, k LIMIT 4",
	"SELECT COUNT(*), SUM(z) FROM (SELECT n + 1 AS y, x * 2 AS z FROM t WHERE CASE WHEN k IS NULL THEN TRUE ELSE k <> 'b' END)",
	"SELECT y, UPPER(k) FROM (SELECT n + 1 AS y, k FROM t WHERE n BETWEEN 2 AND 7) ORDER BY 1",
	"SELECT v.w, COUNT(*) FROM t JOIN (VALUES ('a', 1), ('c', 2)) AS v(name, w) ON t.k = v.name GROUP BY 1 ORDER BY 1",
	"EXPLAIN ANALYZE SELECT k, COUNT(*) FROM t WHERE n > 1 GROUP BY k",
}

// TestRecord makes a recording. It compiles with the code of every recorded release, and so uses
// little of it.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("no -record")
	}
	dir := t.TempDir()
	store, err := metastore.Open(t.Context(), metastore.Options{Path: filepath.Join(dir, "metastore.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nobody reads it any more
	heard := &tap{}
	client := server.Client{Addresses: map[string]string{}}
	for i, roles := range [][]string{{"coordinator", "overlord", "indexer"}, {"historical"}, {"historical"}, {"router", "broker"}} {
		flags := append(server.FreePorts(), "service.data.dir="+filepath.Join(dir, fmt.Sprint("node", i)), "service.storage.storageDirectory="+filepath.Join(dir, "deep"))
		if cluster.Protocol > 1 {
			flags = append(flags, "service.broker.mergeFanIn=1") // one of the two Historicals merges for the other
		}
		settings, err := config.Load(config.Sources{Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		n, err := role.Start(t.Context(), role.Options{
			Settings: settings, Roles: roles, Version: "recorded", Store: store, Clock: clock.System(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Stop(context.Background()) }) // what is recorded is recorded
		for _, a := range n.Addresses() {
			client.Addresses[a.Role] = "http://" + a.HostPort
			if a.Role == "historical" {
				announceAt(t, store, a.HostPort, heard.before(t, a.HostPort))
			}
		}
	}
	var rows []string
	for i := range 24 {
		k, x := fmt.Sprintf(`\"%c\"`, 'a'+i%3), fmt.Sprint(float64(i)/4)
		if i%7 == 3 {
			k, x = "null", "null"
		}
		rows = append(rows, fmt.Sprintf(`{\"t\":\"2024-01-0%d\",\"k\":%s,\"n\":%d,\"x\":%s,\"m\":[\"p%d\",\"q\"]}`, 1+i%4, k, i%10, x, i%2))
	}
	until(t, "a Historical is seen", func() bool {
		return asks(t, &client, "SELECT COUNT(*) FROM sys.servers WHERE server_type = 'historical'") == "[[2]]"
	})
	if err := client.Ingest(t.Context(), fmt.Sprintf(insert, strings.Join(rows, `\n`)), nil); err != nil {
		t.Fatal(err)
	}
	until(t, "two copies of each segment", func() bool { return asks(t, &client, "SELECT MIN(num_replicas) FROM sys.segments") == "[[2]]" })
	loading := heard.taken()
	out := recording{Protocol: cluster.Protocol, Segments: segmentFiles(t, loading)}
	seen := map[string]bool{}
	for _, e := range loading {
		path, _, _ := strings.Cut(e.Path, "?")
		// Of what a Historical holds the answer that says most, of commands one that loads.
		if kind := e.Method + path; e.Status == http.StatusOK && !seen[kind] && (bytes.Contains(e.Answer, []byte(`"load"`)) || bytes.Contains(e.Request, []byte(`"load":[`))) {
			seen[kind] = true
			e.Request = bytes.ReplaceAll(e.Request, []byte(dir), []byte("/recorded"))
			out.Others = append(out.Others, e)
		}
	}
	for _, sql := range statements {
		heard.taken()
		got, err := client.Query(t.Context(), sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		q := recordedQuery{SQL: sql}
		if !strings.HasPrefix(sql, "EXPLAIN") {
			if q.Rows, err = json.Marshal(got); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range heard.taken() {
			if strings.HasSuffix(e.Path, partsPath) {
				q.Exchanges = append(q.Exchanges, e)
				if e.Status != http.StatusOK {
					t.Fatalf("%s: [%d] %s", sql, e.Status, e.Answer)
				}
			}
		}
		if len(q.Exchanges) < 2 {
			t.Fatalf("%s: the Historicals were asked %+v", sql, q.Exchanges)
		}
		out.Queries = append(out.Queries, q)
	}
	if out.Members, err = store.Members(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err == nil {
		err = os.WriteFile(*record, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// announceAt announces a Historical at another address than its own.
func announceAt(t *testing.T, store *metastore.Store, own, other string) {
	t.Helper()
	members, err := store.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if m.Address != own {
			continue
		}
		m.Address = other
		m.Payload = bytes.Replace(m.Payload, []byte(`"port":`+own[strings.LastIndexByte(own, ':')+1:]), []byte(`"port":`+other[strings.LastIndexByte(other, ':')+1:]), 1)
		m.Payload = bytes.Replace(m.Payload, []byte(`"host":"localhost"`), []byte(`"host":"127.0.0.1"`), 1)
		if err := store.Announce(t.Context(), m.Holder, []metastore.Member{m}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}

// segmentFiles returns the files that Historicals were told to load, by the ids of their segments.
func segmentFiles(t *testing.T, heard []exchange) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, e := range heard {
		var command cluster.Command
		if !strings.HasPrefix(e.Path, cluster.CommandPath) || json.Unmarshal(e.Request, &command) != nil {
			continue
		}
		for _, l := range command.Load {
			var spec struct{ Path string }
			text, err := []byte(nil), json.Unmarshal(l.LoadSpec, &spec)
			if err == nil {
				text, err = os.ReadFile(spec.Path)
			}
			if err != nil {
				t.Fatal(err)
			}
			out[l.ID] = text
		}
	}
	return out
}

func asks(t *testing.T, client *server.Client, sql string) string {
	t.Helper()
	rows, err := client.Query(t.Context(), sql)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(rows)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 3000 {
		if ok() {
			return
		}
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("it never came to this: %s", what)
}
