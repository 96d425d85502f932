package cluster

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

func submit(t *testing.T, c *server.Cluster, statement string) string {
	t.Helper()
	if strings.HasPrefix(statement, "{") {
		status, answer, err := c.Send(t.Context(), "router", http.MethodPost, "/service/indexer/v1/task", statement)
		if err != nil || status != http.StatusOK {
			t.Fatalf("submitting: %d %s %v", status, answer, err)
		}
		return strings.TrimSuffix(strings.TrimPrefix(string(answer), `{"task":"`), `"}`)
	}
	id, err := c.Submit(t.Context(), statement, nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func await(t *testing.T, c *server.Cluster, id string) server.Task {
	t.Helper()
	task, err := c.Await(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// workersOf returns what the Overlord says of its workers, by address.
func workersOf(t *testing.T, c *server.Cluster) map[string]worker {
	t.Helper()
	var list []worker
	if err := c.Call(t.Context(), http.MethodGet, "/service/indexer/v1/workers", nil, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]worker{}
	for _, w := range list {
		out["http://"+w.Worker.Host] = w
	}
	return out
}

type worker struct {
	Worker struct {
		Host     string `json:"host"`
		Capacity int    `json:"capacity"`
		Version  string `json:"version"`
	} `json:"worker"`
	Used  int      `json:"currCapacityUsed"`
	Tasks []string `json:"runningTasks"`
}

// runnerOf returns the process that runs a task.
func runnerOf(t *testing.T, c *server.Cluster, id string) *server.Process {
	t.Helper()
	var found *server.Process
	c.Until("a worker has the task", func() bool {
		for address, w := range workersOf(t, c) {
			for _, task := range w.Tasks {
				for _, p := range c.Nodes {
					if task == id && p.Addresses["indexer"] == address {
						found = p
					}
				}
			}
		}
		return found != nil
	})
	return found
}

// withWorkers is a cluster of two Overlords, two workers of two slots and the rest.
func withWorkers(t *testing.T) *server.Cluster {
	return server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"worker"}, {"worker"}, {"historical", "router", "broker"}},
		Settings:  []string{"service.worker.capacity=2", "service.ingest.http.allowPrivate=true", "service.msq.intermediate.storage.enable=true"},
	})
}

func TestTasksSpreadOverWorkers(t *testing.T) {
	c := withWorkers(t)
	g := server.NewGate(t, 100)
	var ids []string
	for range 4 {
		ids = append(ids, submit(t, c, g.Statement("INSERT INTO t")))
	}
	waiting := submit(t, c, g.Statement("INSERT INTO t"))
	for range 4 {
		<-g.Reading
	}
	workers := workersOf(t, c)
	for address, w := range workers {
		if w.Used != 2 || len(w.Tasks) != 2 || w.Worker.Capacity != 2 {
			t.Errorf("worker [%s] has %+v", address, w)
		}
		status, text, _ := get(t, http.DefaultClient, address+"/service/worker/v1/tasks")
		if status != 200 || !strings.Contains(text, w.Tasks[0]) || !strings.Contains(text, w.Tasks[1]) {
			t.Errorf("worker [%s] says %d %s", address, status, text)
		}
	}
	if len(workers) != 2 {
		t.Errorf("workers: %v", workers)
	}
	overlord := c.Addresses["router"] + "/service/indexer/v1"
	if _, text, _ := get(t, http.DefaultClient, overlord+"/totalWorkerCapacity"); !strings.Contains(text, `"currentClusterCapacity":4`) ||
		!strings.Contains(text, `"usedClusterCapacity":4`) {
		t.Errorf("capacity: %s", text)
	}
	if _, text, _ := get(t, http.DefaultClient, overlord+"/task/"+waiting+"/status"); !strings.Contains(text, `"runnerStatusCode":"PENDING"`) {
		t.Errorf("the fifth task: %s", text)
	}
	if got := ask(t, c, "SELECT reason FROM sys.decisions WHERE subject_id = '"+waiting+"'"); !strings.Contains(got, "all [4] task slots are taken") {
		t.Errorf("why the fifth task waits: %s", got)
	}
	first := runnerOf(t, c, ids[0])
	if status, text, _ := get(t, http.DefaultClient, overlord+"/task/"+ids[0]+"/log"); status != 200 || !strings.Contains(text, "task started") {
		t.Errorf("the log of a running task: %d %s", status, text)
	}
	if status, text, _ := get(t, http.DefaultClient, overlord+"/task/"+ids[0]+"/reports"); status != 200 || !strings.Contains(text, `"status":"RUNNING"`) {
		t.Errorf("the report of a running task: %d %s", status, text)
	}
	if _, text, _ := get(t, http.DefaultClient, overlord+"/task/"+ids[0]+"/status"); !strings.Contains(first.Addresses["indexer"],
		strings.Trim(between(text, `"port":`, `,`), " ")) {
		t.Errorf("the location of a running task: %s", text)
	}

	// A worker that is turned off keeps what it has; what is shut down there ends, and the next task
	// waits for the other one.
	host := strings.TrimPrefix(first.Addresses["indexer"], "http://")
	if status, answer, err := c.Send(t.Context(), "router", http.MethodPost, "/service/indexer/v1/worker/"+host+"/disable", ""); status != 200 ||
		string(answer) != `{"`+host+`":"disabled"}` {
		t.Fatalf("disabling: %d %s %v", status, answer, err)
	}
	if status, answer, err := c.Send(t.Context(), "router", http.MethodPost, "/service/indexer/v1/task/"+ids[0]+"/shutdown", ""); status != 200 {
		t.Fatalf("shutting down: %d %s %v", status, answer, err)
	}
	if task := await(t, c, ids[0]); task.StatusCode != "FAILED" || task.ErrorMsg != "Shutdown request from user" {
		t.Errorf("the task that was shut down: %+v", task)
	}
	if status, text, _ := get(t, http.DefaultClient, overlord+"/task/"+ids[0]+"/reports"); status != 200 || !strings.Contains(text, "Canceled") {
		t.Errorf("the report of the task that was shut down: %d %s", status, text)
	}
	if w := workersOf(t, c)[first.Addresses["indexer"]]; w.Used != 1 || w.Worker.Version != "" {
		t.Errorf("the worker that is turned off: %+v", w)
	}
	g.Release()
	for _, id := range append(ids[1:], waiting) {
		if task := await(t, c, id); task.StatusCode != "SUCCESS" {
			t.Errorf("task [%s]: %+v", id, task)
		}
	}
	if status, text, _ := get(t, http.DefaultClient, overlord+"/task/"+waiting+"/log"); status != 200 || !strings.Contains(text, "task succeeded") {
		t.Errorf("the log of an ended task: %d %s", status, text)
	}
	if got := ask(t, c, "SELECT COUNT(*) FROM t"); got != "400" {
		t.Errorf("rows: %s", got)
	}
}

func between(text, after, before string) string {
	_, text, _ = strings.Cut(text, after)
	text, _, _ = strings.Cut(text, before)
	return text
}

// kinds are tasks that append or replace the rows of a gate.
var kinds = map[string]func(g *server.Gate) string{
	"insert":  func(g *server.Gate) string { return g.Statement("INSERT INTO t") },
	"replace": func(g *server.Gate) string { return g.Statement("REPLACE INTO t OVERWRITE ALL") },
	"native":  (*server.Gate).Native,
}

func TestATaskOfAKilledWorkerIsDoneByAnother(t *testing.T) {
	for name, statement := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, g := withWorkers(t), server.NewGate(t, 100)
			id := submit(t, c, statement(g))
			<-g.Reading
			first := runnerOf(t, c, id)
			c.Kill(first)
			<-g.Reading
			if second := runnerOf(t, c, id); second == first {
				t.Error("the killed worker still has the task")
			}
			g.Release()
			if task := await(t, c, id); task.StatusCode != "SUCCESS" {
				t.Errorf("the task: %+v", task)
			}
			if got := ask(t, c, "SELECT COUNT(*) FROM t"); got != "100" {
				t.Errorf("rows: %s", got)
			}
		})
	}
}

// A worker that others take for lost goes on and finishes the same partitions as the one that took
// over: only the latter publishes, also when it comes later.
func TestTwoWorkersFinishTheSamePartitions(t *testing.T) {
	for name, statement := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, g := withWorkers(t), server.NewGate(t, 100)
			days(t, c, "t", 0, 1) // ten rows
			id := submit(t, c, statement(g))
			zombie := <-g.Reading
			first := runnerOf(t, c, id)
			c.Mute(first)
			second := <-g.Reading
			close(zombie)
			c.Until("the first has ended", func() bool {
				_, text, _ := get(t, http.DefaultClient, first.Addresses["indexer"]+"/service/worker/v1/tasks")
				return text == "[]"
			})
			if got := ask(t, c, "SELECT COUNT(*) FROM t"); got != "10" {
				t.Errorf("rows after the first has ended: %s", got)
			}
			close(second)
			if task := await(t, c, id); task.StatusCode != "SUCCESS" {
				t.Errorf("the task: %+v", task)
			}
			if got, want := ask(t, c, "SELECT COUNT(*) FROM t"), map[bool]string{true: "100", false: "110"}[name == "replace"]; got != want {
				t.Errorf("rows: %s", got)
			}
			if status, text, _ := get(t, http.DefaultClient, c.Addresses["router"]+"/service/indexer/v1/task/"+id+"/reports"); status != 200 ||
				strings.Contains(text, `"FAILED"`) {
				t.Errorf("the report: %d %s", status, text)
			}
		})
	}
}

func TestTasksGoOnWithoutTheirOverlord(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 100)
	id := submit(t, c, g.Statement("INSERT INTO t"))
	<-g.Reading
	before := runnerOf(t, c, id)
	follower := c.Nodes[1].Addresses["overlord"]
	c.Kill(c.Nodes[0])
	c.Until("the second leads", func() bool {
		status, _, _ := get(t, http.DefaultClient, follower+"/service/indexer/v1/isLeader")
		return status == 200
	})
	if after := runnerOf(t, c, id); after != before {
		t.Error("the task did not stay where it was")
	}
	select {
	case <-g.Reading:
		t.Error("the task has begun again")
	default:
	}
	if status, text, _ := get(t, http.DefaultClient, c.Addresses["router"]+"/service/indexer/v1/task/"+id+"/reports"); status != 200 || !strings.Contains(text, `"RUNNING"`) {
		t.Errorf("the report under the new leader: %d %s", status, text)
	}
	g.Release()
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Errorf("the task: %+v", task)
	}
	if got := ask(t, c, "SELECT COUNT(*) FROM t"); got != "100" {
		t.Errorf("rows: %s", got)
	}
}
