package duty

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

//go:generate go run ./gendoc ../../docs/coordinator.md

// SettingDocs describes each member of the dynamic configuration, in the order of Settings.
var SettingDocs = []struct{ Key, Doc string }{
	{"millisToWaitBeforeDeleting", "How long after its start a Coordinator keeps overshadowed segments used, in milliseconds: " +
		"until then, its view of the cluster may be incomplete."},
	{"mergeBytesLimit", "No effect."},
	{"mergeSegmentsLimit", "No effect."},
	{"maxSegmentsToMove", "Maximum number of segments that move between the servers of a tier at the same time. " +
		"With `smartSegmentLoading` the Coordinator computes this number."},
	{"replicantLifetime", "Number of periods after which a warning is logged if a server has not loaded a segment. With " +
		"`smartSegmentLoading`: 60."},
	{"replicationThrottleLimit", "Maximum number of additional replicas that a tier loads at the same time; the first replica of a segment " +
		"does not count. " +
		"No effect with `smartSegmentLoading`."},
	{"balancerComputeThreads", "No effect: the Coordinator places segments without additional threads. The default is half the cores."},
	{"killDataSourceWhitelist", "Datasources whose unused segments are deleted; empty: all."},
	{"killTaskSlotRatio", "Maximum share of the task slots for automatic kill tasks, from 0 to 1."},
	{"maxKillTaskSlots", "Maximum number of task slots for automatic kill tasks."},
	{"killPendingSegmentsSkipList", "Datasources whose pending segments are never deleted."},
	{"maxSegmentsInNodeLoadingQueue", "Maximum number of segments in the load queue of a server; 0: no limit. No effect with " +
		"`smartSegmentLoading`."},
	{"decommissioningNodes", "Historicals, as `host:port`, whose segments move to other servers and which get no new segments."},
	{"decommissioningMaxPercentOfMaxSegmentsToMove", "No effect."},
	{"pauseCoordination", "True stops all duties of the Coordinator."},
	{"replicateAfterLoadTimeout", "If a server does not load a segment in time, another server loads it: true lets the first server " +
		"continue, false stops it."},
	{"maxNonPrimaryReplicantsToLoad", "No effect."},
	{"useRoundRobinSegmentAssignment", "Assign segments to the servers of a tier in turn, the emptiest first, instead of by the balancer " +
		"strategy. " +
		"No effect with `smartSegmentLoading`."},
	{"smartSegmentLoading", "Let the Coordinator compute the limits of loading and moving."},
	{"debugDimensions", "Dimensions of metrics and their values, as in `{\"server\":\"h:8083\"}`: metrics with one of them are also logged."},
	{"turboLoadingNodes", "Historicals, as `host:port`, that load segments with `service.segmentCache.numBootstrapThreads` threads."},
	{"cloneServers", "Historicals that hold the same segments as another Historical: target to source, both as `host:port`."},
}

// Markdown returns the documentation of the dynamic configuration.
func Markdown() (string, error) {
	var b strings.Builder
	b.WriteString("# Dynamic configuration of the Coordinator\n")
	b.WriteString("Generated from `internal/duty/settings_doc.go` by `go generate ./...`; do not edit.\n\n")
	b.WriteString("`GET` and `POST /service/coordinator/v1/config` read and change these settings while the cluster runs. A `POST` does " +
		"not change settings that\n")
	b.WriteString("its body omits. A list of names may also be a string separated by commas. Settings without effect are stored and " +
		"returned, for clients that set them.\n\n")
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
