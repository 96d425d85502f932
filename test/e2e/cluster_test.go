package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/testkit/versitygw"
)

// A cluster of processes on a PostgreSQL loads, answers, and goes on while some of them are killed;
// its deep storage is a folder, then an S3 server.
func TestAClusterOfProcesses(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		clusterOfProcesses(t, "service.storage.storageDirectory="+filepath.Join(t.TempDir(), "deep"))
	})
	t.Run("s3", func(t *testing.T) {
		clusterOfProcesses(t, "service.storage.type=s3", "service.storage.bucket=segments", "service.storage.baseKey=henge",
			"service.s3.endpoint.url="+versitygw.Start(t, "segments"), "service.s3.endpoint.signingRegion=us-east-1",
			"service.s3.accessKey="+versitygw.AccessKey, "service.s3.secretKey="+versitygw.SecretKey)
	})
}

func clusterOfProcesses(t *testing.T, deep ...string) {
	store, dir := postgres.URL(t), t.TempDir()
	started := 0
	run := func(roles ...string) *process {
		t.Helper()
		started++
		arguments := append([]string{"server", "--data", filepath.Join(dir, fmt.Sprintf("node%d", started))}, roles...)
		for _, set := range append([]string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store,
			"service.leader.leaseDuration=PT2S", "service.discovery.leaseDuration=PT3S",
			"service.memory.limit=256MiB", "service.coordinator.startDelay=PT0S", "service.ingest.http.allowPrivate=true",
		}, deep...) {
			arguments = append(arguments, "--set", set)
		}
		return launch(t, exec.Command(henge, append(arguments, ports()...)...))
	}
	leader := run("coordinator", "overlord")
	follower := run("coordinator", "overlord")
	workers := map[string]*process{}
	for range 2 {
		p := run("worker")
		workers[p.Addresses["indexer"]] = p
	}
	historicals := []*process{run("historical"), run("historical"), run("historical")}
	first := run("broker")
	run("broker")
	router := run("router")
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !ok(); {
			if time.Now().After(deadline) {
				t.Fatalf("it never came to this: %s\n%s", what, leader.errors)
			}
			if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(sql string) string {
		rows, err := router.Query(t.Context(), sql)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(rows)
	}
	until("all processes are seen", func() bool { return ask("SELECT COUNT(*) FROM sys.servers") == "[[12]]" })
	if err := router.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "1", "2", "3"), nil); err != nil {
		t.Fatal(err)
	}
	count := "SELECT COUNT(*) FROM t"
	if got := ask(count); got != "[[3]]" {
		t.Fatalf("rows: %s", got)
	}
	until("two copies", func() bool { return ask("SELECT MIN(num_replicas) FROM sys.segments") == "[[2]]" })
	historicals[0].kill()
	for range 50 {
		if got := ask(count); got != "[[3]]" {
			t.Fatalf("after a Historical was killed: %s", got)
		}
	}
	first.stop(t)
	if got := ask(count); got != "[[3]]" {
		t.Errorf("after a Broker was stopped: %s", got)
	}

	// The worker is killed in the middle of a load, then the leader: a worker does the load from the
	// start, and goes on without a leader.
	g := server.NewGate(t, 1000)
	id, err := router.Submit(t.Context(), g.Statement("INSERT INTO t"), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-g.Reading
	runner := ""
	until("the worker of the task is known", func() bool {
		var status struct {
			Status struct{ Location struct{ Port int } }
		}
		if err := router.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+id+"/status", nil, &status); err != nil {
			return false
		}
		for address := range workers {
			if strings.HasSuffix(address, fmt.Sprint(":", status.Status.Location.Port)) {
				runner = address
			}
		}
		return runner != ""
	})
	workers[runner].kill()
	<-g.Reading
	leader.kill()
	until("another leads", func() bool {
		coordinator, _, err := follower.Send(t.Context(), "coordinator", http.MethodGet, "/service/coordinator/v1/isLeader", "")
		overlord, _, again := follower.Send(t.Context(), "overlord", http.MethodGet, "/service/indexer/v1/isLeader", "")
		return err == nil && again == nil && coordinator == http.StatusOK && overlord == http.StatusOK
	})
	g.Release()
	if task, err := router.Await(t.Context(), id); err != nil || task.StatusCode != "SUCCESS" {
		t.Errorf("the load that lost its worker and its leader: %+v %v", task, err)
	}
	if len(g.Reading) != 0 {
		t.Error("the load began once more with the new leader")
	}
	if got := ask(count); got != "[[1003]]" {
		t.Errorf("rows after the load: %s", got)
	}
	if err := router.Ingest(t.Context(), small("INSERT INTO t", "4"), nil); err != nil {
		t.Fatal(err)
	}
	if got := ask(count); got != "[[1004]]" {
		t.Errorf("rows loaded by the new leader: %s", got)
	}
}
