package api

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// management are the families about metadata, rules and settings, with the paths of each that are
// replayed here; nil is all.
var management = []struct {
	family string
	paths  []string
}{
	{"metadata", nil},
	{"rules", nil},
	{"config", nil},
	{"compaction", nil},
	{"setup", nil},
	{"tasks", []string{"/service/indexer/v1/worker?", "/service/indexer/v1/worker/history", "/service/indexer/v1/isLeader", "/service/indexer/v1/leader", "/service/indexer/v1/scaling"}},
}

// before are requests that were sent before an exchange and not kept: method, path and body on the
// Router.
var before = map[string][3]string{
	"rules/get-drop-by-period-no-future": {
		http.MethodPost, "/service/coordinator/v1/rules/g_r", `[{"type":"dropByPeriod","period":"PT36H","includeFuture":false}]`,
	},
	"rules/get-many": {
		http.MethodPost, "/service/coordinator/v1/rules/g_r", `[{"type":"loadByInterval","interval":"2012/2013","tieredReplicants":{"_default_tier":1}},` +
			`{"type":"dropByInterval","interval":"2010/2011"},{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]`,
	},
	"config/config-after-lists": {
		http.MethodPost, "/service/coordinator/v1/config",
		`{"killDataSourceWhitelist":"g_a,g_b","decommissioningNodes":["localhost:1"],"killPendingSegmentsSkipList":"g_c"}`,
	},
	"compaction/status": {http.MethodPost, "/service/coordinator/v1/config/compaction", `{"dataSource":"g_compact"}`},
	"compaction/get-full": {
		http.MethodPost, "/service/coordinator/v1/config/compaction", `{"dataSource":"g_compact","taskPriority":30,"inputSegmentSizeBytes":1000000000,` +
			`"skipOffsetFromLatest":"PT0S","tuningConfig":{"partitionsSpec":{"type":"dynamic"},"maxNumConcurrentSubTasks":1},` +
			`"granularitySpec":{"segmentGranularity":"DAY","queryGranularity":"HOUR","rollup":true},"dimensionsSpec":{"dimensions":["channel","countryName"]},` +
			`"metricsSpec":[{"type":"longSum","name":"cnt","fieldName":"cnt"},{"type":"longSum","name":"added","fieldName":"added"}],` +
			`"transformSpec":{"filter":{"type":"selector","dimension":"channel","value":"#en.wikipedia"}},"ioConfig":{"dropExisting":true},"taskContext":{"priority":5}}`,
	},
	"compaction/get-range": {
		http.MethodPost, "/service/coordinator/v1/config/compaction",
		`{"dataSource":"g_compact","tuningConfig":{"partitionsSpec":{"type":"range","targetRowsPerSegment":100,"partitionDimensions":["channel"]}}}`,
	},
	// What the first, refused write would have set is set here, where a first write need not be empty.
	"config/lookups-after-init": {http.MethodDelete, "/service/coordinator/v1/lookups/config/__default", ""},
	"config/lookups-set-same-version": {
		http.MethodPost, "/service/coordinator/v1/lookups/config/__default/g_l", `{"version":"v2","lookupExtractorFactory":{"type":"map","map":{"a":"AA"},"isOneToOne":false}}`,
	},
	"tasks/worker-config-after": {http.MethodPost, "/service/indexer/v1/worker", `{"type":"default","selectStrategy":{"type":"equalDistribution"}}`},
}

// elsewhere are the parts of answers that are about datasources of other families too: their keys
// are not compared.
var elsewhere = map[string]string{
	"metadata/intervals": "$", "metadata/intervals-full": "$", "metadata/interval-2020-full": "$", "metadata/server": "$.segments",
	"metadata/loadstatus": "$", "metadata/loadstatus-simple": "$", "metadata/loadstatus-cluster-only": "$",
	"metadata/loadstatus-full-cluster": "$._default_tier", "config/lookups-nodeStatus": "$.__default", "config/lookups-nodeStatus-detailed-false": "$.__default",
}

func TestManagementExchanges(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := s.LoadGolden(t.Context(), t, shared)
	list := pending.Read(t, "testdata/coordinator_pending.txt")
	differs := pending.Read(t, "testdata/coordinator_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	for _, m := range management {
		exchanges, err := golden.Load(filepath.Join(shared, "golden", m.family))
		if err != nil {
			t.Fatal(err)
		}
		passed, played := 0, 0
		for _, e := range exchanges {
			if !selected(e, m.paths) {
				continue
			}
			name := m.family + "/" + e.Name
			fillSegments(t, s, e)
			if _, ok := e.Vars["autoc"]; ok {
				player.Remember("autoc", compactionTask(t, s))
			}
			e.Request.Path = strings.Replace(e.Request.Path, "/localhost:8083", "/"+strings.TrimPrefix(s.Addresses["historical"], "http://"), 1)
			if path := elsewhere[name]; path != "" {
				e.SetMask(path, "keys")
			}
			if e.Mask["$.~"] == "keys" {
				e.SetMask("$", "keys")
			}
			if b, ok := before[name]; ok {
				if status, answer, err := s.Send(t.Context(), "router", b[0], b[1], b[2]); err != nil || status/100 != 2 {
					t.Errorf("before %s: %d, %s, %v", name, status, answer, err)
				}
			}
			r := player.Play(t.Context(), e)
			if r.Skipped != "" {
				t.Logf("%s is not replayed: %s", name, r.Skipped)
				continue
			}
			if r.Missing != "" {
				r.Difference = "no exchange gives " + r.Missing
			}
			played++
			if r.Difference == "" {
				passed++
			} else {
				t.Logf("%s: %s", name, r.Difference)
			}
			if differs.Has(name) {
				wanted[name] = r.Difference
			} else {
				outcome[name] = r.Difference
			}
		}
		t.Logf("%s: %d of %d exchanges answered like the recording", m.family, passed, played)
	}
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
	for _, name := range differs.Names() {
		if differs.Reason(name) == "" {
			t.Errorf("coordinator_differs.txt gives no reason for [%s]: say what the specification wants, and where it says so", name)
		}
	}
}

// selected reports whether an exchange asks one of the paths.
func selected(e *golden.Exchange, paths []string) bool {
	path := e.Request.Path
	if !strings.Contains(path, "?") {
		path += "?"
	}
	for _, p := range paths {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return paths == nil
}

// fillSegments replaces ids of segments, which no recorded answer gives, by those of this server:
// the same datasource and interval.
func fillSegments(t *testing.T, s *server.Server, e *golden.Exchange) {
	t.Helper()
	for name, recorded := range e.Vars {
		start, dataSource := strings.Index(recorded, "_20"), ""
		if start < 0 {
			continue
		}
		dataSource = recorded[:start]
		var ids []string
		if err := s.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/metadata/datasources/"+dataSource+"/segments", nil, &ids); err != nil {
			ids = unused(t, s, dataSource)
		} else {
			ids = append(ids, unused(t, s, dataSource)...)
		}
		parts := strings.SplitN(recorded[start+1:], "_", 3)
		for _, id := range ids {
			if strings.HasPrefix(id, dataSource+"_"+parts[0]+"_"+parts[1]) {
				fill := strings.NewReplacer("{{"+name+"}}", id)
				e.Request.Path = fill.Replace(e.Request.Path)
				e.Request.Body = []byte(fill.Replace(string(e.Request.Body)))
				break
			}
		}
	}
}

// compactionTask returns the id of the last compaction task, "" if there is none: the list that
// gave it was not kept.
func compactionTask(t *testing.T, s *server.Server) string {
	t.Helper()
	var list []struct {
		ID string `json:"id"`
	}
	if err := s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/tasks?type=compact", nil, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return ""
	}
	return list[0].ID
}

// unused returns the ids of the unused segments of a datasource.
func unused(t *testing.T, s *server.Server, dataSource string) []string {
	t.Helper()
	var list []struct {
		Segment struct {
			ID string `json:"identifier"`
		} `json:"dataSegment"`
	}
	if err := s.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/metadata/datasources/"+dataSource+"/unusedSegments", nil, &list); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.Segment.ID
	}
	return ids
}
