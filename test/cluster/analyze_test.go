package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

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
