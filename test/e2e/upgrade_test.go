package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the metadata store is made one of a newer release

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// A metadata store that a newer release has migrated is refused, by the server, by a restart of it,
// and by check-config; nothing is changed in it.
func TestDowngradeIsRefused(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir).stop(t)
	path := filepath.Join(dir, "metastore.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)",
		"UPDATE store_info SET value = '9.9.9' WHERE name = 'release'",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	wants := []string{path, "newer release", "release [9.9.9]", "schema version [9999]", "restore a backup"}
	for range 2 {
		refused(t, append([]string{"--data", dir}, ports()...), wants...)
	}
	r := tool(t, "", append([]string{"check-config", "--connect", "--data", dir}, ports()...)...)
	if r.code != 1 || !strings.Contains(r.stdout, "problem  metadata store: ") {
		t.Errorf("check-config: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for _, w := range wants {
		if !strings.Contains(r.stdout, w) {
			t.Errorf("check-config does not say %q:\n%s", w, r.stdout)
		}
	}
}

// oldBinary returns the binary of the release before: HENGE_OLD, or what is built of the commit in
// testdata/old_release.
func oldBinary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("HENGE_OLD"); path != "" {
		return path
	}
	commit, err := os.ReadFile("testdata/old_release")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := `git -C ../.. archive "$1" | tar -x -C "$2" && cd "$2" && go build -trimpath -ldflags="-s -w" -o "$2/henge" ./cmd/henge`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", strings.TrimSpace(string(commit)), dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the old release: %v\n%s", err, out)
	}
	return filepath.Join(dir, "henge")
}

// newRevision is what the new binary of the test says that it was built of.
const newRevision = "feedfacefeedfacefeedfacefeedfacefeedface"

// rolling is a cluster whose processes are replaced one by one.
type rolling struct {
	t        *testing.T
	dir      string
	settings []string

	mu      sync.Mutex
	routers []string // where clients go
	acked   int      // loads that were acknowledged
	began   int      // loads that began
	asked   int
	faults  []string
}

func (f *rolling) start(binary, node string, roles ...string) *process {
	f.t.Helper()
	args := append(append([]string{"server"}, roles...), "--data", filepath.Join(f.dir, node))
	for _, s := range f.settings {
		args = append(args, "--set", s)
	}
	for _, s := range server.FreePorts() {
		if strings.Contains(s, ".plaintextPort=") { // the old release may not know others
			args = append(args, "--set", s)
		}
	}
	return launch(f.t, exec.Command(binary, args...))
}

// gone reports whether an error says that the process which was asked is stopped.
func gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// client returns a client of the router of a number, as a balancer gives clients one or another.
func (f *rolling) client(n int) *server.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &server.Client{Addresses: map[string]string{"router": f.routers[n%len(f.routers)]}}
}

func (f *rolling) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

const rowsOfLoad = 100

// read asks until ctx is done: no query fails, no answer has less than was acknowledged before it,
// more than was begun, or a part of a load.
func (f *rolling) read(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		f.mu.Lock()
		least := f.acked
		f.mu.Unlock()
		rows, err := f.client(n).Query(context.WithoutCancel(ctx), "SELECT COUNT(*), COUNT(DISTINCT v) FROM t")
		if err != nil {
			if !gone(err) {
				f.fault("a query failed: %v", err)
			}
			continue
		}
		f.mu.Lock()
		most := f.began
		f.asked++
		f.mu.Unlock()
		var count, distinct int
		if _, err := fmt.Sscan(fmt.Sprint(rows[0][0], " ", rows[0][1]), &count, &distinct); err != nil {
			f.fault("an answer is %v: %v", rows, err)
		}
		if count%rowsOfLoad != 0 || count < least*rowsOfLoad || count > most*rowsOfLoad || distinct != 10 {
			f.fault("an answer has [%d] rows with [%d] values; [%d] loads were acknowledged and [%d] begun", count, distinct, least, most)
		}
	}
}

// load loads until ctx is done, one load after the other, each acknowledged.
func (f *rolling) load(ctx context.Context) {
	var values []string
	for i := range rowsOfLoad {
		values = append(values, fmt.Sprint(i%10))
	}
	for n := 0; ctx.Err() == nil; n++ {
		free := context.WithoutCancel(ctx)
		f.mu.Lock()
		f.began++
		f.mu.Unlock()
		id, err := f.client(n).Submit(free, small("INSERT INTO t", values...), nil)
		if err != nil {
			if !gone(err) {
				f.fault("a load was not accepted: %v", err)
			}
			if !errors.Is(err, syscall.ECONNREFUSED) {
				return // nobody knows whether it was accepted
			}
			f.mu.Lock()
			f.began--
			f.mu.Unlock()
			continue
		}
		for m := n; ; m++ {
			task, err := f.client(m).Await(free, id)
			if err != nil && gone(err) {
				continue
			}
			if err != nil || task.StatusCode != "SUCCESS" {
				f.fault("load [%s] ended with %v %+v", id, err, task)
			}
			break
		}
		f.mu.Lock()
		f.acked++
		f.mu.Unlock()
	}
}

// until waits for a query to have an answer.
func (f *rolling) until(query, want string) {
	f.t.Helper()
	last := ""
	for deadline := time.Now().Add(2 * patience); ; {
		rows, err := f.client(0).Query(f.t.Context(), query)
		if last = fmt.Sprint(rows, err); last == want+" <nil>" {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s never was %s: %s; faults: %q", query, want, last, f.faults)
		}
		if err := clock.System().Sleep(f.t.Context(), 50*time.Millisecond); err != nil {
			f.t.Fatal(err)
		}
	}
}

// TestUpgradeUnderLoad replaces the binary of every process of a cluster, one after the other,
// while rows are loaded and read.
func TestUpgradeUnderLoad(t *testing.T) {
	if os.Getenv("HENGE_UPGRADE") == "" {
		t.Skip("behind a flag: building the old release takes a minute; HENGE_UPGRADE=1 runs it")
	}
	store, old := postgres.URL(t), oldBinary(t)
	dir := t.TempDir()
	next := filepath.Join(dir, "henge")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X main.commit="+newRevision, "-o", next, "./cmd/henge")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the new release: %v\n%s", err, out)
	}
	f := &rolling{t: t, dir: dir, settings: []string{
		"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store,
		"service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.memory.limit=256MiB", "service.coordinator.startDelay=PT0S",
	}}
	nodes := [][]string{{"historical"}, {"worker"}, {"broker"}, {"coordinator", "overlord"}, {"router"}}
	running := map[string]*process{}
	for _, roles := range nodes {
		for i := range 2 {
			running[fmt.Sprint(roles[0], i)] = f.start(old, fmt.Sprint(roles[0], i), roles...)
		}
	}
	f.routers = []string{running["router0"].Addresses["router"], running["router1"].Addresses["router"]}
	const members = 12
	f.until("SELECT COUNT(*) FROM sys.servers", fmt.Sprintf("[[%d]]", members))
	var work sync.WaitGroup
	loading, stopLoading := context.WithCancel(t.Context())
	work.Go(func() { f.load(loading) })
	defer work.Wait()
	defer stopLoading()
	f.until("SELECT COUNT(*) > 0, MIN(num_replicas) FROM sys.segments", "[[true 2]]")
	work.Go(func() { f.read(loading) })
	for _, roles := range nodes {
		for i := range 2 {
			node := fmt.Sprint(roles[0], i)
			if roles[0] == "router" { // as a balancer does
				f.mu.Lock()
				f.routers = []string{running[fmt.Sprint("router", 1-i)].Addresses["router"]}
				f.mu.Unlock()
			}
			running[node].stop(t)
			running[node] = f.start(next, node, roles...)
			if roles[0] == "router" {
				f.mu.Lock()
				f.routers = append(f.routers, running[node].Addresses["router"])
				f.mu.Unlock()
			}
			f.until("SELECT COUNT(*) FROM sys.servers", fmt.Sprintf("[[%d]]", members))
			if roles[0] == "historical" { // as docs/upgrading.md says: the next one when there are two copies again
				f.until("SELECT COUNT(*) FROM sys.segments WHERE num_replicas < 1", "[[0]]")
			}
		}
	}
	f.until(fmt.Sprintf("SELECT COUNT(*) FROM sys.servers WHERE build_revision = '%s'", newRevision), fmt.Sprintf("[[%d]]", members))
	f.mu.Lock()
	soFar := f.acked
	f.mu.Unlock()
	for deadline := time.Now().Add(patience); ; { // the new release loads, too
		f.mu.Lock()
		done := f.acked > soFar+1
		f.mu.Unlock()
		if done {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the new release loads nothing; faults: %q", f.faults)
		}
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	stopLoading()
	work.Wait()
	f.until("SELECT COUNT(*) FROM t", fmt.Sprintf("[[%d]]", f.acked*rowsOfLoad))
	for _, fault := range f.faults {
		t.Error(fault)
	}
	t.Logf("[%d] loads and [%d] queries while ten processes were replaced", f.acked, f.asked)
}
