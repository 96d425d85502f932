package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/testkit/collector"
	"github.com/hengedb/henge/internal/testkit/server"
)

const traceID = "0af7651916cd43dd8448eb211c80319c"

// traced is a cluster of five processes that send their spans to a collector.
type traced struct {
	*server.Cluster
	to *collector.Collector
}

func startTraced(t *testing.T) traced {
	t.Helper()
	to := collector.Start(t)
	return traced{to: to, Cluster: server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord"}, {"historical", "worker"}, {"worker"}, {"broker"}, {"router"}},
		Settings: []string{
			"service.tracing.otlp.endpoint=" + to.URL, "service.tracing.serviceName=cluster under test", "service.tracing.sampleRatio=0",
		},
	})}
}

// asks sends a request with a traceparent to the Router.
func (c traced) asks(t *testing.T, path, traceparent string, body map[string]any) (status int, answer string) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Addresses["router"]+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", traceparent)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}

// of returns the spans of a trace.
func (c traced) of(trace string) (out []collector.Span) {
	for _, s := range c.to.Spans() {
		if s.TraceID == trace {
			out = append(out, s)
		}
	}
	return out
}

// chain returns the names from a span up to the caller.
func chain(spans []collector.Span, s collector.Span) (names []string) {
	for {
		names = append(names, s.Name)
		up := slices.IndexFunc(spans, func(o collector.Span) bool { return o.ID == s.Parent })
		if up < 0 {
			return append(names, s.Parent)
		}
		s = spans[up]
	}
}

// A query is followed from the Router to the scans of segments, a task to the worker that runs it;
// failures are marked, and callers who don't record have nothing recorded.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := startTraced(t)
	days(t, c.Cluster, "wiki", 0, 4)
	loads(t, c.Cluster, "wiki", map[string]int{"_default_tier": 1})
	c.Until("all is loaded", func() bool { return ask(t, c.Cluster, "SELECT MIN(num_replicas) FROM sys.segments") == "1" })
	if n := len(c.to.Spans()); n != 0 {
		t.Errorf("[%d] spans came of what nobody records: %+v", n, c.to.Spans()[0])
	}

	const parent = "b7ad6b7169203331"
	const sql = "SELECT SUM(n) AS n FROM wiki WHERE n <> 77 AND CAST(n AS VARCHAR) <> 'a secret'"
	query := func(trace, flag, sql string, want int) {
		t.Helper()
		status, said := c.asks(t, "/service/v2/sql", "00-"+trace+"-"+parent+"-"+flag, map[string]any{"query": sql})
		if status != want {
			t.Fatalf("%d %s", status, said)
		}
	}
	query(traceID, "01", sql, http.StatusOK)
	var spans []collector.Span
	named := func(name string) (out []collector.Span) {
		for _, s := range spans {
			if s.Name == name {
				out = append(out, s)
			}
		}
		return out
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range c.to.Spans() {
				t.Logf("%s %s of %s: %s %v %s", s.TraceID, s.ID, s.Parent, s.Name, s.Attributes, s.Resource["henge.roles"])
			}
		}
	})
	c.Until("the spans have come", func() bool {
		spans = c.of(traceID)
		return len(named("scan")) >= 4 && len(named("POST /service/v2/sql")) == 2 && len(named("run")) == 1
	})
	for _, s := range named("scan") {
		got := chain(spans, s)
		want := []string{"scan", "POST " + dispatch.Path, "fragment", "run", "POST /service/v2/sql", "proxy", "POST /service/v2/sql", parent}
		if !slices.Equal(got, want) {
			t.Errorf("a scan is of %q, not of %q", got, want)
		}
		if s.Attributes["henge.datasource"] != "wiki" || s.Attributes["henge.segment"] == "" ||
			s.Resource["henge.roles"] != "historical,indexer" || s.Resource["service.name"] != "cluster under test" {
			t.Errorf("scan %+v", s)
		}
	}
	if len(named("plan")) != 1 || chain(spans, named("plan")[0])[1] != "POST /service/v2/sql" {
		t.Errorf("plan %+v", named("plan"))
	}
	for _, s := range spans {
		for key, value := range s.Attributes {
			if strings.Contains(value, "secret") {
				t.Errorf("span [%s] has the statement in [%s]", s.Name, key)
			}
		}
		if s.Failed {
			t.Errorf("span [%s] failed: %v", s.Name, s.Attributes)
		}
	}

	other := strings.Replace(traceID, "0", "1", 1)
	query(other, "00", sql, http.StatusOK)
	bad := strings.Replace(traceID, "0", "2", 1)
	query(bad, "01", "SELECT secret FROM wiki", http.StatusBadRequest)
	c.Until("the failure has come", func() bool {
		spans = c.of(bad)
		return len(named("plan")) == 1 && len(named("POST /service/v2/sql")) == 2
	})
	if p := named("plan")[0]; !p.Failed || p.Attributes["error.type"] != "INVALID_INPUT" || p.Message != "" {
		t.Errorf("plan %+v", p)
	}

	task := strings.Replace(traceID, "0", "3", 1)
	status, said := c.asks(t, "/service/indexer/v1/task", "00-"+task+"-"+parent+"-01", map[string]any{"type": "noop", "runTime": 0})
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	c.Until("the task has ended", func() bool {
		spans = c.of(task)
		return len(named("task noop")) == 1 && len(named("POST /service/indexer/v1/task")) == 2
	})
	run := named("task noop")[0]
	if !strings.HasSuffix(run.Resource["henge.roles"], "indexer") {
		t.Errorf("the task ran in %v", run.Resource)
	}
	if got := chain(spans, run); got[len(got)-1] != parent || !slices.Contains(got, "proxy") {
		t.Errorf("the task is of %q", got)
	}
	stages := strings.Replace(traceID, "0", "4", 1)
	traceOfStages(t, c, stages, parent)
	if n := len(c.of(other)); n != 0 {
		t.Errorf("[%d] spans came of a trace that its caller does not record", n)
	}
}

// traceOfStages follows a SQL task from the request to its stages, their workers in two processes,
// and the transaction that publishes.
func traceOfStages(t *testing.T, c traced, trace, parent string) {
	t.Helper()
	status, said := c.asks(t, "/service/v2/sql/task", "00-"+trace+"-"+parent+"-01", map[string]any{
		"query":   "REPLACE INTO copied OVERWRITE ALL SELECT * FROM wiki WHERE CAST(n AS VARCHAR) <> 'a secret' PARTITIONED BY DAY",
		"context": map[string]any{"maxNumTasks": 3},
	})
	if status != http.StatusAccepted {
		t.Fatalf("%d %s", status, said)
	}
	var spans []collector.Span
	named := func(name string) (out []collector.Span) {
		for _, s := range spans {
			if s.Name == name {
				out = append(out, s)
			}
		}
		return out
	}
	var far collector.Span // what a worker did in another process
	c.Until("the SQL task has ended", func() bool {
		spans = c.of(trace)
		for _, s := range spans {
			if strings.HasSuffix(s.Name, "/run") {
				far = s
			}
		}
		return len(named("task query_controller")) == 1 && far.ID != "" && len(named("POST /service/v2/sql/task")) == 2
	})
	task := named("task query_controller")[0]
	if names := chain(spans, task); names[len(names)-1] != parent || !slices.Contains(names, "POST /service/v2/sql/task") {
		t.Errorf("the task is of %q", names)
	}
	processors := map[string]int{}
	for _, s := range named("stage") {
		processors[s.Attributes["henge.stage.processor"]]++
		if s.Parent != task.ID || s.Attributes["henge.stage.number"] == "" {
			t.Errorf("stage %+v", s)
		}
	}
	if processors["scan"] != 1 || processors["segmentGenerator"] != 1 {
		t.Errorf("stages of %v", processors)
	}
	workers := map[string]bool{}
	for _, s := range named("worker") {
		workers[s.Attributes["henge.worker.id"]] = true
		if names := chain(spans, s); len(names) < 3 || names[1] != "stage" || names[2] != "task query_controller" {
			t.Errorf("a worker is of %q", names)
		}
	}
	if len(workers) != 2 {
		t.Errorf("workers %v", workers)
	}
	if names := chain(spans, far); len(names) < 3 || names[1] != "worker" || names[2] != "stage" ||
		far.Resource["service.instance.id"] == task.Resource["service.instance.id"] {
		t.Errorf("what another process does is of %q", names)
	}
	published := named("metastore Publish")
	if len(published) != 1 || chain(spans, published[0])[1] != "task query_controller" ||
		published[0].Attributes["db.operation.name"] != "Publish" ||
		published[0].Attributes["db.system.name"] != "sqlite" {
		t.Errorf("transactions that publish: %+v", published)
	}
	for _, s := range spans {
		if strings.Contains(s.Name, "/outputs/") {
			t.Errorf("a frame has a span: %+v", s)
		}
		for key, value := range s.Attributes {
			if strings.Contains(value, "secret") {
				t.Errorf("span [%s] has the statement in [%s]", s.Name, key)
			}
		}
		if s.Failed {
			t.Errorf("span [%s] failed: %v", s.Name, s.Attributes)
		}
	}
}
