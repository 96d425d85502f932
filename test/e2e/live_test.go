package e2e

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestLiveRowsOfACluster sends what `henge sample --rate` prints by `henge ingest --live` to the
// Router of a cluster, while the Router is killed and starts again: the rows are in the answers
// while they come, and in the end each is there once. A channel that was named goes on where it
// ended.
func TestLiveRowsOfACluster(t *testing.T) {
	t.Parallel()
	store, dir := postgres.URL(t), t.TempDir()
	launched := func(i int, addresses []string, roles ...string) *process {
		t.Helper()
		arguments := append([]string{"server", "--data", filepath.Join(dir, fmt.Sprint("node", i))}, roles...)
		for _, set := range []string{
			"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + store,
			"service.leader.leaseDuration=PT2S", "service.discovery.leaseDuration=PT3S", "service.memory.limit=256MiB",
			"service.coordinator.startDelay=PT0S", "service.storage.storageDirectory=" + filepath.Join(dir, "deep"),
		} {
			arguments = append(arguments, "--set", set)
		}
		return launch(t, exec.Command(henge, append(append(arguments, ports()...), addresses...)...))
	}
	for i, roles := range [][]string{{"coordinator", "overlord"}, {"worker"}, {"worker"}, {"broker", "historical"}} {
		launched(i, nil, roles...)
	}
	router := launched(4, nil, "router")
	door := router.Addresses["router"]
	rows := func(table string) (n int64) {
		found, err := router.Query(t.Context(), "SELECT COUNT(*) FROM "+table)
		if err == nil {
			_, _ = fmt.Sscan(strings.Trim(fmt.Sprint(found), "[]"), &n) // none are 0
		}
		return n
	}
	server.Until(t, "all processes are seen", func() bool { return rows("sys.servers") == 7 })

	sample := exec.Command(henge, "sample", "--rate", "1000")
	ingest := exec.Command(henge, "ingest", "-", "--into", "events", "--live", "--server", door)
	between, end := io.Pipe()
	sample.Stdout, ingest.Stdin = end, between
	said := newOutput()
	ingest.Stdout, ingest.Stderr = said, said
	for _, cmd := range []*exec.Cmd{ingest, sample} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill() //nolint:errcheck // it has ended if all is well
	}
	server.Until(t, "the first rows are in answers", func() bool { return rows("events") > 500 })
	router.kill()
	_, port, _ := strings.Cut(strings.TrimPrefix(door, "http://"), ":")
	router = launched(4, []string{"--set", "service.router.plaintextPort=" + port}, "router")
	before := rows("events")
	server.Until(t, "rows come again", func() bool { return rows("events") > before+500 })
	if err := sample.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = sample.Wait() // it was interrupted
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ingest.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	case <-time.After(patience):
		t.Fatalf("henge ingest does not end\n%s", said)
	}
	told := regexp.MustCompile(`([\d,]+) rows of standard input`).FindStringSubmatch(said.String())
	if told == nil {
		t.Fatalf("it does not say how many rows it has sent:\n%s", said)
	}
	if got := fmt.Sprint(rows("events")); got != strings.ReplaceAll(told[1], ",", "") {
		t.Errorf("there are %s rows\n%s", got, said)
	}

	var text strings.Builder
	for n, want := range []int64{100, 150} {
		for i := n * 100; int64(i) < want; i++ {
			fmt.Fprintf(&text, "{\"t\":\"2024-01-01T00:00:00Z\",\"i\":%d}\n", i)
		}
		r := tool(t, text.String(), "ingest", "-", "--into", "lines", "--live", "--channel", "file", "--server", door)
		if r.code != 0 || rows("lines") != want {
			t.Errorf("run %d ended with %d, and there are %d rows, want %d\n%s", n, r.code, rows("lines"), want, r.stderr)
		}
	}
	r := tool(t, "{\"t\":\"2024-01-01T00:00:00Z\"}\nnull\n", "ingest", "-", "--into", "lines", "--live", "--server", door)
	if r.code == 0 || !strings.Contains(r.stderr, "line [2]: it is not a JSON object") || rows("lines") != 150 {
		t.Errorf("a record that is no row ended with %d, and there are %d rows\n%s", r.code, rows("lines"), r.stderr)
	}
}
