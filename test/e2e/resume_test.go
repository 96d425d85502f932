package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// killable is a cluster with three worker processes, each of which may be killed, also at a step of
// what it does.
type killable struct {
	t       *testing.T
	dir     string
	armed   string // a file with the step
	started int
	router  *process
	workers []*process
}

// startKillable starts the cluster, with the other roles in as many processes as there are lists.
func startKillable(t *testing.T, others ...[]string) *killable {
	dir := t.TempDir()
	k := &killable{t: t, dir: dir, armed: filepath.Join(dir, "armed")}
	settings := []string{
		"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + postgres.URL(t),
		"service.leader.leaseDuration=PT1S", "service.discovery.leaseDuration=PT2S", "service.memory.limit=256MiB", "service.coordinator.startDelay=PT0S", "service.ingest.http.allowPrivate=true",
		"service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.msq.intermediate.storage.enable=true",
	}
	write(t, filepath.Join(dir, "settings"), strings.Join(settings, "\n"))
	for _, roles := range others {
		k.router = k.run(roles...)
	}
	for range 3 {
		k.workers = append(k.workers, k.run("worker"))
	}
	return k
}

// run starts a process of the cluster.
func (k *killable) run(roles ...string) *process {
	k.t.Helper()
	k.started++
	settings, err := os.ReadFile(filepath.Join(k.dir, "settings"))
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+filepath.Join(k.dir, fmt.Sprintf("node%d", k.started)), crashArmed+"="+k.armed,
		crashRoles+"="+strings.Join(roles, " "), crashSettings+"="+string(settings))
	return launch(k.t, cmd)
}

func (k *killable) until(what string, ok func() bool) {
	k.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			k.t.Fatalf("it never came to this: %s\n%s", what, k.router.errors)
		}
		if err := clock.System().Sleep(k.t.Context(), 20*time.Millisecond); err != nil {
			k.t.Fatal(err)
		}
	}
}

// awaitWorkers waits until the Overlord knows the workers that there are, and no others.
func (k *killable) awaitWorkers() {
	k.t.Helper()
	k.until("three workers are seen", func() bool {
		var list []struct{ Worker struct{ Host string } }
		if err := k.router.Call(k.t.Context(), http.MethodGet, "/service/indexer/v1/workers", nil, &list); err != nil {
			return false
		}
		found := 0
		for _, w := range k.workers {
			for _, l := range list {
				if w.Addresses["indexer"] == "http://"+l.Worker.Host {
					found++
				}
			}
		}
		return found == 3 && len(list) == 3
	})
}

// files returns three files to load, of which no row comes before they are released, once all
// workers are there to read them.
func (k *killable) files() *server.Gate {
	k.t.Helper()
	k.awaitWorkers()
	g := server.NewGate(k.t, 1000)
	g.Files = 3
	return g
}

// arm returns files to load whose rows come at once; the process that comes to the step while it
// loads them kills itself.
func (k *killable) arm(step string) *server.Gate {
	k.t.Helper()
	g := k.files()
	g.Release()
	write(k.t, k.armed, step)
	return g
}

// replaceKilled waits until a worker has killed itself, and starts another one.
func (k *killable) replaceKilled(between func()) {
	k.t.Helper()
	killed := -1
	k.until("a worker is gone", func() bool {
		for i, w := range k.workers {
			select {
			case <-w.ended:
				killed = i
			default:
			}
		}
		return killed >= 0
	})
	between()
	k.workers[killed] = k.run("worker")
}

// succeeds waits for the end of a task.
func (k *killable) succeeds(id, what string) {
	k.t.Helper()
	if task, err := k.router.Await(k.t.Context(), id); err != nil || task.StatusCode != "SUCCESS" {
		k.t.Fatalf("%s: %+v %v", what, task, err)
	}
}

// nothingLeft fails if tasks have left something behind for their next runs.
func (k *killable) nothingLeft() {
	k.t.Helper()
	left, err := filepath.Glob(filepath.Join(k.dir, "deep", "s[th]*", "*", "*"))
	if err != nil || len(left) > 0 {
		k.t.Errorf("left behind: %v %v", left, err)
	}
}

// The controller of a task is killed between its stages, and at every step of publishing, with the
// worker that it runs in. The next run of the task takes up what is done: of stages whose outputs
// are in deep storage nothing is read again, else only what the killed process itself had. No row
// is lost, none is there twice.
func TestAControllerIsKilled(t *testing.T) {
	k := startKillable(t, []string{"coordinator", "overlord", "historical", "broker", "router"})
	for _, durable := range []bool{true, false} {
		steps := []string{"stage-0", "stage-1", "segments"}
		if durable { // publishing is the same without
			for _, step := range metastore.PublishSteps() {
				if strings.Contains("1467", strings.Split(step, "-")[1]) { // those of an INSERT
					steps = append(steps, step)
				}
			}
		}
		for _, step := range steps {
			name := fmt.Sprintf("%s, durable %t", step, durable)
			g := k.arm(step)
			table := strings.ReplaceAll(step, "-", "") + fmt.Sprint(durable)
			statement := strings.Replace(g.Statement("INSERT INTO "+table), "TIME_PARSE(t) AS __time, n FROM", "TIME_PARSE(t) AS __time, n, COUNT(*) AS c FROM", 1)
			statement = strings.Replace(statement, "PARTITIONED", "GROUP BY 1, 2 PARTITIONED", 1)
			id, err := k.router.Submit(t.Context(), statement, map[string]any{"maxNumTasks": 4, "durableShuffleStorage": durable})
			if err != nil {
				t.Fatal(err)
			}
			k.goesOn(g, id, name, durable)
			rows, err := k.router.Query(t.Context(), "SELECT COUNT(*), SUM(c), MIN(c), MAX(c) FROM "+table)
			if err != nil || fmt.Sprint(rows) != "[[1000 3000 3 3]]" {
				t.Errorf("%s: %v %v", name, rows, err)
			}
		}
	}
	k.nothingLeft()
}

// goesOn waits for a task that reads three files, each once until its controller is killed.
func (k *killable) goesOn(g *server.Gate, id, name string, durable bool) {
	k.t.Helper()
	read := 0
	k.replaceKilled(func() { read = len(g.Reading) })
	k.succeeds(id, name)
	again := len(g.Reading) - read
	// Of three files the controller has read one itself, or two if it has not seen the newest worker.
	if durable && again != 0 || !durable && again != 1 && again != 2 || read != 3 {
		k.t.Errorf("%s: [%d] files were read, and [%d] again", name, read, again)
	}
}

// Native loads go on as statements do.
func TestTheWorkerOfANativeLoadIsKilled(t *testing.T) {
	k := startKillable(t, []string{"coordinator", "overlord", "historical", "broker", "router"})
	load := func(g *server.Gate, table string, durable bool) string {
		t.Helper()
		spec := g.Load(table, "", `"dimensionsSpec":{"dimensions":[{"type":"long","name":"n"}]},"granularitySpec":{"segmentGranularity":"DAY","rollup":false}`,
			`"maxNumConcurrentSubTasks":3`)
		id, err := submit(t.Context(), &k.router.Client, strings.TrimSuffix(spec, "}")+fmt.Sprintf(`,"context":{"durableShuffleStorage":%t}}`, durable), nil)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	rows := func(table, what string) {
		t.Helper()
		got, err := k.router.Query(t.Context(), "SELECT COUNT(*), COUNT(DISTINCT __time), SUM(n) FROM "+table)
		if err != nil || fmt.Sprint(got) != "[[3000 5 1498500]]" {
			t.Errorf("%s: %v %v", what, got, err)
		}
	}
	for _, durable := range []bool{true, false} {
		for _, step := range []string{"stage-0", "segments"} {
			name := fmt.Sprintf("%s, durable %t", step, durable)
			g := k.arm(step)
			table := strings.ReplaceAll(step, "-", "") + fmt.Sprint(durable)
			k.goesOn(g, load(g, table, durable), name, durable)
			rows(table, name)
		}
	}

	// A worker that only helps is killed in the middle of what it reads.
	g := k.files()
	id := load(g, "helped", false)
	for range 3 {
		<-g.Reading
	}
	var status struct {
		Status struct{ Location struct{ Port int } }
	}
	if err := k.router.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+id+"/status", nil, &status); err != nil {
		t.Fatal(err)
	}
	killed, again := 0, (chan struct{})(nil)
	for i, w := range k.workers {
		if again != nil || strings.HasSuffix(w.Addresses["indexer"], fmt.Sprintf(":%d", status.Status.Location.Port)) {
			continue
		}
		w.kill()
		k.workers[i] = k.run("worker")
		killed++
		select {
		case again = <-g.Reading:
		case <-time.After(patience / 2): // it had no part, if the controller had not seen it yet; then the other one has
		}
	}
	if again == nil {
		t.Fatalf("what [%d] lost workers had read is read by nobody", killed)
	}
	close(again)
	g.Release()
	k.succeeds(id, "with a helper that is lost")
	rows("helped", "with a helper that is lost")
	if len(g.Reading) >= killed {
		t.Errorf("[%d] parts more than those of [%d] lost workers were read again", len(g.Reading), killed)
	}
	k.nothingLeft()
}
