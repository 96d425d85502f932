package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// When `henge import` has ended, every Broker of a cluster answers with what it has brought: also
// those that only look into the metastore now and then.
func TestWhatIsImportedCanBeAskedForAtOnce(t *testing.T) {
	store, dir := postgres.URL(t), t.TempDir()
	started := 0
	run := func(roles ...string) *process {
		t.Helper()
		started++
		arguments := append([]string{"server", "--data", filepath.Join(dir, fmt.Sprintf("node%d", started))}, roles...)
		for _, set := range []string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store, "service.discovery.leaseDuration=PT2S",
			"service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.memory.limit=256MiB", "service.coordinator.startDelay=PT0S",
		} {
			arguments = append(arguments, "--set", set)
		}
		return launch(t, exec.Command(henge, append(arguments, ports()...)...))
	}
	router := run("coordinator", "overlord", "historical", "worker", "router")
	brokers := []*process{run("broker"), run("broker"), run("broker")}
	for deadline := time.Now().Add(patience); ; {
		rows, err := router.Query(t.Context(), "SELECT COUNT(*) FROM sys.servers WHERE server_type = 'broker'")
		if err == nil && fmt.Sprint(rows) == "[[3]]" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Brokers are not seen: %v %v", rows, err)
		}
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{27, 46, 63, 64} { // rows in all
		year := 2020 + i
		old := filepath.Join(dir, fmt.Sprint("old", year))
		data, err := os.ReadFile(fmt.Sprintf("../../internal/segment/v9/testdata/types_%d.zip", year))
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(old, "kinds", fmt.Sprintf("%d-01-01T00:00:00.000Z_%d-01-01T00:00:00.000Z", year, year+1), "2026-01-01T00:00:00.000Z", "0")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "index.zip"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if r := tool(t, "", "import", "--folder", old, "--datasource", "kinds", "--server", router.Addresses["router"]); r.code != 0 {
			t.Fatalf("%s%s", r.stdout, r.stderr)
		}
		for n, b := range brokers {
			b.Addresses["router"] = b.Addresses["broker"]
			rows, err := b.Query(t.Context(), "SELECT COUNT(*), MAX(TIME_EXTRACT(__time, 'YEAR')) FROM kinds")
			if err != nil || fmt.Sprint(rows) != fmt.Sprintf("[[%d %d]]", want, year) {
				t.Errorf("Broker %d after the import of %d: %v %v", n, year, rows, err)
			}
		}
	}
}
