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
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// A cluster is upgraded process by process, in any order: those of this protocol and of the one
// before answer exactly together, load, and lead. One that is a protocol further is refused, and
// says why.
func TestProcessesOfTwoProtocolsAreOneCluster(t *testing.T) {
	store, dir := postgres.URL(t), t.TempDir()
	started := 0
	command := func(node string, protocol int, roles ...string) *exec.Cmd {
		settings := []string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store, "service.leader.leaseDuration=PT1S",
			"service.discovery.leaseDuration=PT2S", "service.storage.storageDirectory=" + filepath.Join(dir, "deep"), "service.memory.limit=256MiB", "service.coordinator.startDelay=PT0S",
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashDir+"="+filepath.Join(dir, node), crashArmed+"="+filepath.Join(dir, "never"),
			crashRoles+"="+strings.Join(roles, " "), crashSettings+"="+strings.Join(settings, "\n"), fmt.Sprintf("%s=%d", crashProtocol, protocol))
		return cmd
	}
	run := func(protocol int, roles ...string) *process {
		t.Helper()
		started++
		return launch(t, command(fmt.Sprintf("node%d", started), protocol, roles...))
	}
	const old, next = cluster.Protocol - 1, cluster.Protocol
	control := run(old, "coordinator", "overlord", "worker")
	historicals := []*process{run(old, "historical"), run(next, "historical")}
	router := run(next, "router")
	brokers := []*process{run(old, "broker"), run(next, "broker")}
	processes := 8
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !ok(); {
			if time.Now().After(deadline) {
				t.Fatalf("it never came to this: %s\n%s", what, control.errors)
			}
			if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(p *process, sql string) string {
		for role := range p.Addresses {
			if role == "broker" {
				p.Addresses["router"] = p.Addresses[role]
			}
		}
		rows, err := p.Query(t.Context(), sql)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(rows)
	}
	var values []string
	for i := range 100 {
		values = append(values, fmt.Sprint(i%10))
	}
	loads := 0
	check := func(when string) {
		t.Helper()
		until("all are seen "+when, func() bool {
			return ask(router, "SELECT COUNT(*) FROM sys.servers") == fmt.Sprintf("[[%d]]", processes)
		})
		if err := router.Ingest(t.Context(), small("INSERT INTO t", values...), nil); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		loads++
		until("two copies", func() bool { return ask(router, "SELECT MIN(num_replicas) FROM sys.segments") == "[[2]]" })
		for i, b := range brokers {
			for sql, want := range map[string]string{
				"SELECT COUNT(*), COUNT(DISTINCT v) FROM t":                        fmt.Sprintf("[[%d 10]]", 100*loads),
				"SELECT v, COUNT(*) FROM t GROUP BY v ORDER BY v LIMIT 2":          fmt.Sprintf("[[0 %d] [1 %d]]", 10*loads, 10*loads),
				"SELECT COUNT(*) FROM (SELECT v || 'x' AS w FROM t WHERE v > '4')": fmt.Sprintf("[[%d]]", 50*loads),
			} {
				for range 3 { // either of the Historicals may be asked
					if got := ask(b, sql); got != want {
						t.Fatalf("%s, Broker %d: %s: %s, want %s", when, i, sql, got, want)
					}
				}
			}
		}
	}
	check("two protocols")
	for i := range historicals { // each Broker with each Historical alone
		historicals[i].stop(t)
		processes--
		for j, b := range brokers {
			if got, want := ask(b, "SELECT COUNT(*) FROM t"), fmt.Sprintf("[[%d]]", 100*loads); got != want {
				t.Errorf("Broker %d without Historical %d: %s", j, i, got)
			}
		}
		historicals[i] = run(map[int]int{0: next, 1: old}[i], "historical") // upgraded, and taken back
		processes++
		check(fmt.Sprintf("Historical %d is of another release", i))
	}
	far := command("far", next+1, "historical")
	text, err := far.CombinedOutput()
	if err == nil || !strings.Contains(string(text), fmt.Sprintf("This release speaks the protocols [%d] and [%d]", next, next+1)) ||
		!strings.Contains(string(text), fmt.Sprintf("speaks protocol [%d]", old)) {
		t.Errorf("a process of protocol [%d]: %v %s", next+1, err, text)
	}
	// The one that leads is upgraded too.
	control.stop(t)
	control = run(next, "coordinator", "overlord", "worker")
	until("it leads", func() bool {
		status, _, err := router.Send(t.Context(), "router", http.MethodGet, "/service/coordinator/v1/leader", "")
		return err == nil && status == http.StatusOK
	})
	check("the leader is of the next release")
}
