// Package cluster runs whole clusters inside tests: processes of every role, with real HTTP between
// them, on one metastore and one deep storage. Requests go through the Router, like those of users.
package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// days ingests some days of rows, a segment each: day, n.
func days(t *testing.T, c *server.Cluster, table string, from, to int) {
	t.Helper()
	var rows []string
	for d := from; d < to; d++ {
		for n := range 10 {
			rows = append(rows, fmt.Sprintf("{\"t\":\"2024-01-%02d\",\"n\":%d}", d+1, n))
		}
	}
	data, err := json.Marshal(map[string]string{"type": "inline", "data": strings.Join(rows, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Ingest(t.Context(), fmt.Sprintf("INSERT INTO %s SELECT TIME_PARSE(t) AS __time, n FROM TABLE(EXTERN('%s','{\"type\":\"json\"}')) EXTEND (t VARCHAR, n BIGINT) "+
		"PARTITIONED BY DAY", table, data), nil)
	if err != nil {
		t.Fatal(err)
	}
}

// one returns the only value of a query.
func one(ctx context.Context, c *server.Cluster, sql string) (string, error) {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return "", fmt.Errorf("[%s] has the answer %v", sql, rows)
	}
	return fmt.Sprint(rows[0][0]), nil
}

func ask(t *testing.T, c *server.Cluster, sql string) string {
	t.Helper()
	v, err := one(t.Context(), c, sql)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func get(t *testing.T, client *http.Client, url string) (int, string, http.Header) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

func TestEveryRoleIsAProcess(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small})
	days(t, c, "wiki", 0, 9)
	if got := ask(t, c, "SELECT SUM(n) FROM wiki"); got != "405" {
		t.Errorf("the sum is %s", got)
	}
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	c.Until("all are seen", func() bool {
		rows, err := c.Query(t.Context(), "SELECT server_type, COUNT(*), SUM(is_leader) FROM sys.servers GROUP BY 1 ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(rows) == "[[broker 1 <nil>] [coordinator 1 1] [historical 3 <nil>] [indexer 1 <nil>] [overlord 1 1] [router 1 <nil>]]"
	})
	var servers []struct {
		Host     string `json:"host"`
		CurrSize int64  `json:"currSize"`
	}
	if err := c.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/servers?simple", nil, &servers); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, s := range servers {
		if s.CurrSize > 0 {
			held++
		}
	}
	if held != 3 {
		t.Errorf("[%d] servers hold something: %v", held, servers)
	}
	for _, p := range c.Nodes {
		for role, url := range p.Addresses {
			c.Until("the "+role+" sees itself", func() bool {
				status, text, _ := get(t, http.DefaultClient, url+"/status/selfDiscovered/status")
				return status == 200 && text == `{"selfDiscovered":true}`
			})
		}
	}
}

// TestFaultsFromServersHavePlaces asks for scalar subqueries with several rows, which servers find
// that hold segments.
func TestFaultsFromServersHavePlaces(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small})
	days(t, c, "wiki", 0, 2)
	for sql, place := range map[string]string{
		"SELECT n FROM wiki WHERE n < (SELECT n FROM wiki)":                                      `"column":"31"`,
		"SELECT SUM(n) FROM wiki AS o WHERE n = (SELECT 1) OR n <> (SELECT n FROM wiki LIMIT 3)": `"column":"60"`,
		"SELECT SUM((SELECT a.n + 1 FROM wiki AS a WHERE a.n = o.n)) FROM wiki AS o":             `"column":"13"`,
	} {
		_, err := c.Query(t.Context(), sql)
		if err == nil || !strings.Contains(err.Error(), "Subquery expression returned more than one row") || !strings.Contains(err.Error(), place) {
			t.Errorf("%s\nhas the error %v, without %s", sql, err, place)
		}
	}
}

// Where a request is sent on to is known by the cluster, whatever the request says of hosts.
// (spec/security.md, section 12, row 22)
func TestFollowersPointToTheLeader(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"router", "broker"}}})
	direct := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	first, second := c.Nodes[0].Addresses["coordinator"], c.Nodes[1].Addresses["coordinator"]
	c.Until("the second knows who leads", func() bool {
		_, text, _ := get(t, direct, second+"/service/coordinator/v1/leader")
		return text == first
	})
	if status, text, _ := get(t, direct, second+"/service/coordinator/v1/isLeader"); status != 404 || text != `{"leader":false}` {
		t.Errorf("isLeader of the second: %d %s", status, text)
	}
	if status, _, header := get(t, direct, second+"/service/coordinator/v1/rules?x=1"); status != 307 || header.Get("Location") != first+"/service/coordinator/v1/rules?x=1" {
		t.Errorf("rules of the second: %d %s", status, header.Get("Location"))
	}
	for _, head := range []string{
		"GET /service/coordinator/v1/rules HTTP/1.1\r\nHost: localhost:1\r\n", "GET //evil.example/v1 HTTP/1.1\r\nHost: localhost\r\n",
		"GET http://evil.example/service/coordinator/v1/rules HTTP/1.1\r\nHost: localhost\r\n",
		"GET /service/coordinator/v1/rules HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n",
		"GET /service/coordinator/v1/rules HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n",
	} {
		to := location(t, second, head)
		if here := strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//"); to != "" && !here && !strings.HasPrefix(to, first+"/") {
			t.Errorf("%q is sent on to %s", head, to)
		}
	}
	c.Kill(c.Nodes[0])
	began := time.Now()
	c.Until("the second leads", func() bool {
		status, _, _ := get(t, direct, second+"/service/coordinator/v1/isLeader")
		return status == 200
	})
	t.Logf("taking over took [%s]", time.Since(began))
	if status, text, _ := get(t, direct, c.Addresses["router"]+"/service/coordinator/v1/rules"); status != 200 {
		t.Errorf("rules through the Router: %d %s", status, text)
	}
}

// location returns where a request with that head is sent on to; "": it is answered.
func location(t *testing.T, address, head string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, head, "Connection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Header.Get("Location")
}

func TestAKilledHistoricalFailsNoQuery(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"historical"}, {"historical"}, {"historical"}, {"router", "broker"},
	}})
	days(t, c, "wiki", 0, 20)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var answered atomic.Int64
	queries := map[string]string{
		"SELECT SUM(n) FROM wiki": "900",
		"SELECT COUNT(*) FROM (SELECT n, COUNT(*) FROM wiki GROUP BY 1)":                              "10",
		"SELECT COUNT(*) FROM (SELECT __time, n FROM wiki ORDER BY n, __time LIMIT 100)":              "100",
		"SELECT COUNT(DISTINCT n) FROM wiki WHERE n > 3":                                              "6",
		"SELECT MAX(x) FROM (SELECT n + 1 AS x FROM wiki UNION ALL SELECT n FROM wiki WHERE n = 999)": "10",
	}
	for sql, want := range queries {
		asking.Go(func() {
			for ctx.Err() == nil {
				got, err := one(t.Context(), c, sql)
				if err != nil || got != want {
					t.Errorf("%s: %s instead of %s, %v", sql, got, want, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	more := func(n int64) {
		from := answered.Load()
		c.Until("more answers", func() bool { return t.Failed() || answered.Load() >= from+n })
	}
	more(20)
	c.Kill(c.Nodes[1])
	more(50)
	if err := c.Stop(c.Nodes[2]); err != nil { // as for an upgrade
		t.Error(err)
	}
	more(50)
	c.Start("historical")
	more(50)
	cancel()
	asking.Wait()
}
