package duty

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

//go:generate go run ./gendoc ../../docs/coordinator.md

// SettingDocs says what each member of the dynamic configuration means, in the order of Settings.
var SettingDocs = []struct{ Key, Doc string }{
	{"millisToWaitBeforeDeleting", "How long after its start a Coordinator keeps overshadowed segments in use, in milliseconds: " +
		"until then it may not know of all that happened before."},
	{"mergeBytesLimit", "No effect."},
	{"mergeSegmentsLimit", "No effect."},
	{"maxSegmentsToMove", "How many segments may be moved between the servers of a tier at once. " +
		"With `smartSegmentLoading` the Coordinator computes this number."},
	{"replicantLifetime", "After how many periods a warning is logged about a segment that a server has not loaded. With `smartSegmentLoading`: 60."},
	{"replicationThrottleLimit", "How many copies beyond the first of their segments a tier may load at once. " +
		"No effect with `smartSegmentLoading`."},
	{"balancerComputeThreads", "No effect: placing segments takes no threads of its own. The default is half the cores."},
	{"killDataSourceWhitelist", "Datasources whose unused segments are deleted; empty: all."},
	{"killTaskSlotRatio", "Share of the task slots, 0 to 1, that automatic kill tasks may take."},
	{"maxKillTaskSlots", "How many task slots automatic kill tasks may take."},
	{"killPendingSegmentsSkipList", "Datasources whose pending segments are never deleted."},
	{"maxSegmentsInNodeLoadingQueue", "How many segments may wait to be loaded by a server, 0: any number. No effect with `smartSegmentLoading`."},
	{"decommissioningNodes", "Historicals, by `host:port`, that give all their segments to other servers and get no new ones."},
	{"decommissioningMaxPercentOfMaxSegmentsToMove", "No effect."},
	{"pauseCoordination", "Stop all duties of the Coordinator."},
	{"replicateAfterLoadTimeout", "A server that is late with loading a segment continues while another server loads it, too; otherwise it stops."},
	{"maxNonPrimaryReplicantsToLoad", "No effect."},
	{"useRoundRobinSegmentAssignment", "Assign segments to the servers of a tier by turns, the emptiest first, instead of by the balancer strategy. " +
		"No effect with `smartSegmentLoading`."},
	{"smartSegmentLoading", "Let the Coordinator compute the limits of loading and moving."},
	{"debugDimensions", "Names and values of metric dimensions: what is counted with one of them is logged, too, as in `{\"server\":\"h:8083\"}`."},
	{"turboLoadingNodes", "Historicals, by `host:port`, that load with `service.segmentCache.numBootstrapThreads`."},
	{"cloneServers", "Historicals that hold exactly what another one holds: target to source, both as `host:port`."},
}

// Markdown returns the documentation of the dynamic configuration.
func Markdown() (string, error) {
	var b strings.Builder
	b.WriteString("# Dynamic configuration of the Coordinator\n")
	b.WriteString("Generated from `internal/duty/settings_doc.go` by `go generate ./...`; do not edit.\n\n")
	b.WriteString("`GET` and `POST /service/coordinator/v1/config` read and change these settings while the cluster runs. A `POST` keeps what its body does not\n")
	b.WriteString("name. Lists of names may also be text with commas. The Coordinator keeps and shows settings without effect, for clients that set them.\n\n")
	b.WriteString("| Setting | Default | Meaning |\n|---|---|---|\n")
	defaults := reflect.ValueOf(DefaultSettings())
	for i, d := range SettingDocs {
		text, err := json.Marshal(defaults.Field(i).Interface())
		if err != nil {
			return "", fmt.Errorf("encoding the default of [%s]: %w", d.Key, err)
		}
		shown := string(text)
		if d.Key == "balancerComputeThreads" { // depends on the machine
			shown = "cores / 2"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", d.Key, shown, d.Doc)
	}
	return b.String(), nil
}
