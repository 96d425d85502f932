package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/metastore"
)

// The Overlord alone is killed at every step of publishing, while the worker that publishes goes
// on. Its work does not need the Overlord, and the next one finds the task's end in the record:
// what the task wrote is there once, whoever was asked meanwhile.
func TestTheOverlordIsKilledWhileAWorkerPublishes(t *testing.T) {
	k := startKillable(t, []string{"coordinator", "historical", "broker", "router"})
	overlord := k.run("overlord")
	for _, kind := range publishKinds {
		if !slices.Contains([]string{"insert", "concurrent replace", "native append", "compact"}, kind.name) {
			continue // what is done with these is done with the others too
		}
		for _, step := range metastore.PublishSteps() {
			if !strings.Contains(kind.steps, strings.Split(step, "-")[1]) {
				continue
			}
			name := kind.name + " at " + step
			k.awaitWorkers()
			if err := k.router.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "old1", "old2"), nil); err != nil {
				t.Fatal(err)
			}
			write(t, k.armed, step+" "+strconv.Itoa(overlord.cmd.Process.Pid))
			id, err := submit(t.Context(), &k.router.Client, kind.statement, kind.context)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			<-overlord.ended
			if got := values(t, &k.router.Client); got != "old1 old2" && got != kind.after {
				t.Errorf("%s: without an Overlord the values are %q", name, got)
			}
			overlord = k.run("overlord")
			k.awaitWorkers()
			k.succeeds(id, name)
			if got := values(t, &k.router.Client); got != kind.after {
				t.Errorf("%s: at the end the values are %q, want %q", name, got, kind.after)
			}
		}
	}
	for _, w := range k.workers {
		select {
		case <-w.ended:
			t.Error("a worker was killed too")
		default:
		}
	}
	k.nothingLeft()
}
