package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	protocol "github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/testkit/server"
)

// did is an operator of EXPLAIN ANALYZE AS JSON.
type did struct {
	Operator    string
	Rows, Bytes int64
	MemoryBytes int64
	TimeMs      float64
	CPUMs       float64
	Segments    *struct{ Total, Scanned, Pruned, Rows int64 }
	Servers     []did
	Server      string
	SilentParts int
	Inputs      []did
}

func (d *did) find(operator string) *did {
	if d.Operator == operator {
		return d
	}
	for i := range d.Inputs {
		if in := d.Inputs[i].find(operator); in != nil {
			return in
		}
	}
	return nil
}

// What the servers of a query do counts, by operator, in all and for each of them.
func TestExplainAnalyzeCountsWhatAllServersDo(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord", "worker"}, {"historical"}, {"historical"}, {"router", "broker"},
	}})
	days(t, c, "wiki", 0, 12)
	c.Until("two copies of each segment", func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" })
	for query, want := range map[string]struct {
		out  map[string]int64 // rows by operator
		root string           // the uppermost operator that servers run
	}{
		"SELECT n, COUNT(*) FROM wiki WHERE __time >= TIMESTAMP '2024-01-03 00:00:00' AND n < 5 GROUP BY 1":   {map[string]int64{"Aggregate": 5, "Scan": 50}, "Aggregate"},
		"SELECT __time, n FROM wiki WHERE __time >= TIMESTAMP '2024-01-03 00:00:00' AND n < 5 ORDER BY n + 0": {map[string]int64{"Sort": 50, "Scan": 50}, "Sort"},
		"SELECT n + 1 FROM wiki WHERE __time >= TIMESTAMP '2024-01-03 00:00:00' AND n < 5":                    {map[string]int64{"Project": 50, "Scan": 50}, "Project"},
	} {
		var out struct {
			CPUMs float64
			Plan  did
		}
		if err := json.Unmarshal([]byte(ask(t, c, "EXPLAIN ANALYZE AS JSON "+query)), &out); err != nil {
			t.Fatal(err)
		}
		for name, rows := range want.out {
			op := out.Plan.find(name)
			if op == nil || op.Rows != rows || op.TimeMs <= 0 || op.SilentParts != 0 {
				t.Errorf("%s: %s is %+v", query, name, op)
			}
		}
		scan, root := out.Plan.find("Scan"), out.Plan.find(want.root)
		if scan == nil || root == nil || scan.Segments == nil {
			t.Fatalf("%s: %+v", query, out.Plan)
		}
		if s := scan.Segments; s.Total != 12 || s.Scanned != 10 || s.Pruned != 2 || s.Rows != 100 {
			t.Errorf("%s: segments %+v", query, s)
		}
		if len(scan.Servers) != 2 || len(root.Servers) != 2 {
			t.Fatalf("%s: servers %+v and %+v", query, scan.Servers, root.Servers)
		}
		rows, scanned := int64(0), int64(0)
		for _, s := range scan.Servers {
			if s.Server == "" || s.Rows == 0 || s.TimeMs <= 0 || s.Bytes <= 0 {
				t.Errorf("%s: %+v", query, s)
			}
			rows, scanned = rows+s.Rows, scanned+s.Segments.Scanned
		}
		if rows != 50 || scanned != 10 {
			t.Errorf("%s: the servers gave %d rows of %d segments", query, rows, scanned)
		}
		cpu := 0.0
		for _, s := range root.Servers {
			if s.CPUMs <= 0 {
				t.Errorf("%s: server [%s] has not computed", query, s.Server)
			}
			cpu += s.CPUMs
		}
		if out.CPUMs < cpu || out.CPUMs > cpu+10_000 || root.CPUMs < cpu*0.99 {
			t.Errorf("%s: cores have computed for %f ms, for %f on the servers, and for %f at their uppermost operator", query, out.CPUMs, cpu, root.CPUMs)
		}
		if want.root != "Scan" && scan.Servers[0].CPUMs != 0 {
			t.Errorf("%s: it counts twice", query)
		}
		if want.root == "Aggregate" && root.MemoryBytes <= 0 {
			t.Errorf("%s: no memory of %+v", query, root)
		}
	}
	text := fmt.Sprint(c.Query(t.Context(), "EXPLAIN ANALYZE SELECT SUM(n) FROM wiki"))
	if strings.Count(text, "  | ") < 2 || !strings.Contains(text, "segments=12 scanned=12 pruned=0 looked_at=120") {
		t.Error(text)
	}
}

// flat yields the server and those below it.
func (d *did) flat() []did {
	out := []did{*d}
	for i := range d.Servers {
		out = append(out, d.Servers[i].flat()...)
	}
	return out
}

// What is merged in a tree of servers is told along it: EXPLAIN ANALYZE runs as the query does, and
// each server counts once, below the one that merged what it gave. One of the release before merges
// too, and tells of itself only.
func TestExplainAnalyzeShowsTheTreeOfServers(t *testing.T) {
	const historicals, fanIn = 7, 2
	processes := [][]string{{"coordinator", "overlord", "worker"}, {"router", "broker"}}
	for range historicals {
		processes = append(processes, []string{"historical"})
	}
	c := server.StartCluster(t, server.ClusterOptions{Processes: processes, Settings: []string{fmt.Sprint("service.broker.mergeFanIn=", fanIn)}})
	days(t, c, "wiki", 0, 30)
	copies := func() bool { return ask(t, c, "SELECT MIN(num_replicas) FROM sys.segments") == "2" }
	c.Until("two copies of each segment", copies)
	queries := map[string]string{
		"SELECT n, COUNT(*) FROM wiki WHERE n < 5 GROUP BY 1 ORDER BY 1":     "Aggregate",
		"SELECT __time, n FROM wiki WHERE n < 5 ORDER BY n + 0 DESC LIMIT 9": "Sort",
	}
	for query, root := range queries {
		scan, top := analyzedTree(t, c, query, root)
		checkTree(t, query, scan, historicals, fanIn)
		if scan.SilentParts != 0 || scan.Rows != 150 || scan.Segments.Scanned != 30 || scan.Segments.Rows != 300 || depth(top) != 3 || depth(scan) != 3 {
			t.Errorf("%s: %d levels, %+v", query, depth(top), scan)
		}
		for _, s := range top.flat()[1:] {
			if s.CPUMs <= 0 || s.MemoryBytes <= 0 && root == "Aggregate" {
				t.Errorf("%s: %+v", query, s)
			}
		}
	}
	text := fmt.Sprint(c.Query(t.Context(), "EXPLAIN ANALYZE SELECT SUM(n) FROM wiki"))
	if !strings.Contains(text, "  | | | ") || !strings.Contains(text, "segments=30 scanned=30 pruned=0 looked_at=300") {
		t.Error(text)
	}
	if err := c.Stop(c.Nodes[len(c.Nodes)-1]); err != nil {
		t.Fatal(err)
	}
	before := strings.TrimPrefix(c.StartSpeaking(protocol.Protocol-1, "historical").Addresses["historical"], "http://")
	c.Until("it holds segments", func() bool {
		return copies() && ask(t, c, "SELECT COUNT(*) FROM sys.server_segments WHERE server = '"+before+"'") != "0"
	})
	for query, root := range queries {
		scan, _ := analyzedTree(t, c, query, root)
		checkTree(t, query, scan, historicals, fanIn)
		there := false
		for _, s := range scan.flat()[1:] {
			if there = there || s.Server == before; s.SilentParts > 0 && s.Server != before || s.Server == before && len(s.Servers) > 0 {
				t.Errorf("%s: %+v", query, s)
			}
		}
		if !there {
			t.Errorf("%s: the one of the release before is not told of", query)
		}
	}
}

// analyzedTree runs a query by EXPLAIN ANALYZE and returns its scan and its uppermost operator on
// servers.
func analyzedTree(t *testing.T, c *server.Cluster, query, root string) (scan, top *did) {
	t.Helper()
	var out struct {
		CPUMs float64
		Plan  did
	}
	if err := json.Unmarshal([]byte(ask(t, c, "EXPLAIN ANALYZE AS JSON "+query)), &out); err != nil {
		t.Fatal(err)
	}
	scan, top = out.Plan.find("Scan"), out.Plan.find(root)
	if scan == nil || top == nil {
		t.Fatalf("%s: %+v", query, out.Plan)
	}
	cpu := 0.0
	for _, s := range top.flat()[1:] {
		cpu += s.CPUMs
	}
	if out.CPUMs < cpu {
		t.Errorf("%s: cores have computed for %f ms, for %f on the servers", query, out.CPUMs, cpu)
	}
	return scan, top
}

// checkTree checks that every server is in the tree of a scan once or silent, that none merges more
// than the fan-in, and that the sums are theirs.
func checkTree(t *testing.T, query string, scan *did, servers, fanIn int) {
	t.Helper()
	all, seen := scan.flat(), map[string]bool{}
	rows, scanned, looked, silent := int64(0), int64(0), int64(0), 0
	for _, s := range all[1:] {
		if seen[s.Server] || s.TimeMs <= 0 || s.Rows <= 0 || s.Bytes <= 0 || s.Segments == nil || s.Segments.Scanned <= 0 {
			t.Errorf("%s: %+v", query, s)
		}
		seen[s.Server] = true
		rows, scanned, looked, silent = rows+s.Rows, scanned+s.Segments.Scanned, looked+s.Segments.Rows, silent+s.SilentParts
	}
	for _, s := range all {
		if len(s.Servers) > fanIn {
			t.Errorf("%s: server [%s] merges %d parts", query, s.Server, len(s.Servers))
		}
	}
	if len(all)-1+scan.SilentParts != servers || silent != scan.SilentParts {
		t.Errorf("%s: %d servers have told, %d are silent, %d of them below others", query, len(all)-1, scan.SilentParts, silent)
	}
	if scan.Rows != rows || scan.Segments.Scanned != scanned || scan.Segments.Rows != looked {
		t.Errorf("%s: the servers gave %d rows of %d in %d segments, in all %+v", query, rows, looked, scanned, scan)
	}
}

// depth is how many levels of servers are below an operator.
func depth(d *did) (n int) {
	for i := range d.Servers {
		n = max(n, 1+depth(&d.Servers[i]))
	}
	return n
}
