package cluster

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// submitTo submits a statement with so many tasks.
func submitTo(t *testing.T, c *server.Cluster, statement string, context map[string]any) string {
	t.Helper()
	id, err := c.Submit(t.Context(), statement, context)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// other returns the worker that does not run a task itself.
func other(t *testing.T, c *server.Cluster, id string) *server.Process {
	t.Helper()
	runner := runnerOf(t, c, id)
	for _, p := range c.Nodes {
		if p.Addresses["indexer"] != "" && p != runner {
			return p
		}
	}
	t.Fatal("there is no other worker")
	return nil
}

// rowsRead returns what each worker of stage 0 has read, by the report.
func rowsRead(t *testing.T, c *server.Cluster, id string) (out []int64) {
	t.Helper()
	var report struct {
		MultiStageQuery struct {
			Payload struct {
				Counters map[string]map[string]struct {
					Input0 struct{ Rows []int64 }
				}
			}
		}
	}
	if err := c.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+id+"/reports", nil, &report); err != nil {
		t.Fatal(err)
	}
	for _, w := range report.MultiStageQuery.Payload.Counters["0"] {
		n := int64(0)
		for _, rows := range w.Input0.Rows {
			n += rows
		}
		out = append(out, n)
	}
	return out
}

// goesOnWithout kills a peer whose part of a task is being read, and wants only that part read
// again, elsewhere, and every row once.
func goesOnWithout(t *testing.T, c *server.Cluster, g *server.Gate, helper *server.Process, id string) {
	t.Helper()
	c.Kill(helper)
	again := <-g.Reading
	close(again)
	g.Release()
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Errorf("the task: %+v", task)
	}
	if got := ask(t, c, "SELECT COUNT(*) FROM t"); got != "200" {
		t.Errorf("rows: %s", got)
	}
	if len(g.Reading) != 0 {
		t.Error("more than the part of the lost worker was read again")
	}
}

func TestAStageSpreadsOverWorkers(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 100)
	g.Files = 2
	id := submitTo(t, c, g.Statement("INSERT INTO t"), map[string]any{"maxNumTasks": 3})
	<-g.Reading
	<-g.Reading
	helper := other(t, c, id)
	goesOnWithout(t, c, g, helper, id)
}

func TestStatementsInPartsAreAnsweredAsWhole(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 1000)
	g.Files = 4
	g.Release()
	for name, extra := range map[string]map[string]any{
		"files":   {},
		"durable": {"durableShuffleStorage": true},
		"fault":   {"faultTolerance": true},
	} {
		settings := map[string]any{"maxNumTasks": 5}
		maps.Copy(settings, extra)
		id := submitTo(t, c, g.Statement("REPLACE INTO t OVERWRITE ALL"), settings)
		if task := await(t, c, id); task.StatusCode != "SUCCESS" {
			t.Fatalf("%s: %+v", name, task)
		}
		if got := rowsRead(t, c, id); len(got) != 4 || got[0] != 1000 || got[1] != 1000 || got[2] != 1000 || got[3] != 1000 {
			t.Errorf("%s: the workers have read %v", name, got)
		}
		rows, err := c.Query(t.Context(), "SELECT COUNT(*), SUM(n), MIN(__time) FROM t")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(rows); string(got) != `[[4000,1998000,"2024-01-01T00:00:00.000Z"]]` {
			t.Errorf("%s: %s", name, got)
		}

		// A grouping: groups move by their hashes between the workers.
		group := strings.Replace(g.Statement("REPLACE INTO g OVERWRITE ALL"), "TIME_PARSE(t) AS __time, n FROM", "TIME_PARSE(t) AS __time, n, COUNT(*) AS c FROM", 1)
		group = strings.Replace(group, "PARTITIONED", "GROUP BY 1, 2 PARTITIONED", 1)
		if task := await(t, c, submitTo(t, c, group, settings)); task.StatusCode != "SUCCESS" {
			t.Fatalf("%s: the grouping: %+v", name, task)
		}
		rows, err = c.Query(t.Context(), "SELECT COUNT(*), SUM(c), MIN(c), MAX(c) FROM g")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(rows); string(got) != `[[1000,4000,4,4]]` {
			t.Errorf("%s: the grouping: %s", name, got)
		}
	}
}

func TestATaskBeginsAnewWhenWhatAnotherWorkerWroteIsLost(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 100)
	g.Files = 2
	id := submitTo(t, c, g.Statement("INSERT INTO t"), map[string]any{"maxNumTasks": 3})
	first, second := <-g.Reading, <-g.Reading
	helper := other(t, c, id)
	done := func(n int) bool {
		read := 0
		for _, rows := range rowsRead(t, c, id) {
			if rows == 100 {
				read++
			}
		}
		return read == n
	}
	close(first)
	c.Until("one file is read", func() bool { return done(1) })
	c.Kill(helper)
	close(second)
	// Either the peer had the file that was read, and all begins anew, or the other one, and only
	// that is read again.
	g.Release()
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Errorf("the task: %+v", task)
	}
	if got := ask(t, c, "SELECT COUNT(*) FROM t"); got != "200" {
		t.Errorf("rows: %s", got)
	}
}

// A SELECT of a file's rows as they come needs no order between its workers.
func TestASelectIsReadInParts(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 100)
	g.Files = 3
	g.Release()
	rows, _, _ := strings.Cut(g.Statement(""), "PARTITIONED")
	var done struct {
		ID     string `json:"queryId"`
		State  string
		Result *struct{ NumTotalRows int }
	}
	body := map[string]any{"query": strings.TrimSpace(rows), "context": map[string]any{"executionMode": "ASYNC", "maxNumTasks": 3}}
	if err := c.Call(t.Context(), http.MethodPost, "/service/v2/sql/statements", body, &done); err != nil {
		t.Fatal(err)
	}
	if task := await(t, c, done.ID); task.StatusCode != "SUCCESS" {
		t.Fatalf("%+v", task)
	}
	if err := c.Call(t.Context(), http.MethodGet, "/service/v2/sql/statements/"+done.ID, nil, &done); err != nil || done.Result.NumTotalRows != 300 {
		t.Errorf("%+v %v", done, err)
	}
}
