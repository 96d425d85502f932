package supervisors

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/store"
	"github.com/hengedb/henge/internal/timeline"
)

func open(t *testing.T) (http.Handler, *metastore.Store) {
	t.Helper()
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	store := store.Open(t, c)
	scheduler := compact.New(store, timeline.NewPublished(), task.NewQueue(nil, nil, task.Options{Clock: c}),
		compact.Options{Clock: c, Log: slog.New(slog.DiscardHandler)})
	set := supervisor.New(store, map[string]supervisor.Kind{
		supervisor.NoopType: supervisor.Noop{}, "noop": supervisor.Noop{}, compact.SupervisorType: compact.Kind{Scheduler: scheduler},
	})
	mux := edge.NewMux(&edge.Errors{Host: "h:8081"})
	New(set, Options{MaxRequestBytes: 10_000, Clock: c, Audit: func(r *http.Request, kind, key string) *metastore.AuditEntry {
		return &metastore.AuditEntry{Type: kind, Key: key, Author: r.Header.Get("X-Service-Author")}
	}}).Routes(mux)
	return mux.Handler(nil, c, nil), store
}

// A supervisor of automatic compaction goes through its life, and what is wrong with a request is
// said.
func TestSupervisors(t *testing.T) {
	h, store := open(t)
	cluster := func(setting string) {
		t.Helper()
		if _, err := store.SetSetting(t.Context(), metastore.Fence{}, compact.SettingName, []byte(setting), nil); err != nil {
			t.Fatal(err)
		}
	}
	const wiki = base + "/autocompact__wiki"
	for _, step := range []struct {
		request, body string
		status        int
		want          string
	}{
		{"GET " + base, "", 200, `[]`},
		{"POST " + base, `{"type":"autocompact","spec":{"dataSource":"wiki"},"suspended":false}`, 200,
			`{"id":"autocompact__wiki","modified":true,"restarted":true}`},
		{"GET " + base, "", 200, `["autocompact__wiki"]`},
		{"GET " + base + "?state=true", "", 200,
			`"state":"SCHEDULER_STOPPED","detailedState":"SCHEDULER_STOPPED","healthy":true,"suspended":false}]`},
		{"GET " + base + "?full", "", 200, `"spec":{"type":"autocompact","id":"autocompact__wiki","spec":{"dataSource":"wiki","taskPriority":25`},
		{"GET " + base + "?system", "", 200, `"type":"autocompact","suspended":false`},
		{"GET " + wiki, "", 200, `"suspended":false}`},
		{"GET " + wiki + "/status", "", 200, `"payload":{"dataSource":"wiki","scheduleStatus":"NOT_ENABLED"`},
		{"GET " + wiki + "/health", "", 200, `{"healthy":true}`},
		{"GET " + wiki + "/stats", "", 200, `{}`},
		{"GET " + wiki + "/parseErrors", "", 200, `[]`},
		{"GET " + wiki + "/offsets", "", 400, `reads no stream: it has no offsets`},
		{"cluster", `{"useSupervisors":true}`, 0, ""},
		{"GET " + base + "?state=true", "", 200, `"state":"RUNNING"`},
		{"GET " + wiki + "/status", "", 200, `"scheduleStatus":"RUNNING"`},
		{"POST " + wiki + "/resume", "", 400, `{"error":"[autocompact__wiki] is already running"}`},
		{"POST " + wiki + "/suspend", "", 200, `"suspended":true}`},
		{"POST " + wiki + "/suspend", "", 400, `{"error":"[autocompact__wiki] is already suspended"}`},
		{"GET " + base + "?state=true", "", 200, `"state":"SUSPENDED"`},
		{"POST " + base + "/resumeAll", "", 200, `{"status":"success"}`},
		{"POST " + base + "/suspendAll", "", 200, `{"status":"success"}`},
		{"POST " + base + "/resumeAll", "", 200, `{"status":"success"}`},
		{"cluster", `{"useSupervisors":true,"engine":"msq"}`, 0, ""},
		{"GET " + base + "?state=true", "", 200, `"state":"INVALID_SPEC","detailedState":"INVALID_SPEC","healthy":false`},
		{"GET " + wiki + "/health", "", 503, `{"healthy":false}`},
		{"POST " + base, `{"type":"autocompact","spec":{"dataSource":"wiki"}}`, 400,
			`Reason[Invalid config: MSQ: tuningConfig.partitionsSpec must be specified]`},
		{"POST " + base, `{"type":"autocompact","spec":{"dataSource":"wiki","maxRowsPerSegment":1000}}`, 200,
			`{"id":"autocompact__wiki","modified":true,"restarted":true}`},
		{"GET " + base + "?state=true", "", 200, `"state":"RUNNING"`},
		{"POST " + wiki + "/reset", "", 400, `has nothing to reset`},
		{"POST " + wiki + "/resetOffsets", "", 400, `has nothing to reset`},
		{"POST " + wiki + "/taskGroups/handoff", `{"taskGroupIds":[0]}`, 400, `Supervisor [autocompact__wiki] does not support early handoff`},
		{"GET " + wiki + "/history?count=1", "", 200, `"maxRowsPerSegment":1000`},
		{"GET " + wiki + "/history?count=0", "", 400, `{"error":"Count must be greater than zero if set (count was 0)"}`},
		{"GET " + wiki + "/history?count=x", "", 404, ``},
		{"GET " + base + "/history", "", 200, `{"autocompact__wiki":[{"spec":{`},
		{"POST " + wiki + "/terminate", "", 200, `{"id":"autocompact__wiki"}`},
		{"POST " + wiki + "/terminate", "", 404, `Cannot find any supervisor with id: [autocompact__wiki]`},
		{"GET " + wiki, "", 404, `Cannot find any supervisor with id: [autocompact__wiki]`},
		{"GET " + wiki + "/history", "", 200,
			`[{"spec":{"type":"noop","id":null,"dataSources":["wiki"],"suspended":false,"source":"noop"},"version":`},
		{"GET " + base + "/x/history", "", 404, `{"error":"No history for [x]."}`},
		{"DELETE " + wiki, "", 405, ""},
		{"GET " + base + "/suspendAll", "", 405, ""},
		{"GET " + base + "/resumeAll", "", 405, ""},
		{"GET " + base + "/terminateAll", "", 405, ""},
		{"POST " + base, ``, 400, `The body must be a supervisor specification`},
		{"POST " + base, `null`, 400, `The body must be a supervisor specification`},
		{"POST " + base, `{`, 400, `not readable`},
		{"POST " + base, `[]`, 400, `not readable`},
		{"POST " + base, `{"type":5}`, 400, `not readable`},
		{"POST " + base, `{}`, 400, `missing type id property 'type'"}`},
		{"POST " + base, `{"type":"frob"}`, 400, `known type ids = [NoopSupervisorSpec, autocompact, noop]`},
		{"POST " + base, `{"type":"autocompact"}`, 400, `needs a [spec]`},
		{"POST " + base, `{"type":"autocompact","spec":[]}`, 400, `not readable`},
		{"POST " + base, `{"type":"autocompact","spec":{}}`, 400, `Compaction configuration has no [dataSource]`},
		{"POST " + base, `{"type":"autocompact","spec":{"dataSource":"wiki","skipOffsetFromLatest":"x"}}`, 400, `x`},
		{"POST " + base, `{"type":"noop"}`, 400, `needs an [id] or [dataSources]`},
		{"POST " + base, `{"type":"noop","id":"n","spec":` + strings.Repeat("[", 250) + strings.Repeat("]", 250) + `}`, 400,
			`nested more than [200] deep`},
		{"POST " + base, `{"type":"noop","id":"` + strings.Repeat("x", 20_000) + `"}`, 400, `could not be read`},
		{"POST " + base, `{"type":"noop","dataSources":["d"]}`, 200, `{"id":"d","modified":true,"restarted":true}`},
		{"GET " + base + "/d/health", "", 404, `{"error":"[d] does not exist or health check not implemented"}`},
		{"POST " + base + "/terminateAll", "", 200, `{"status":"success"}`},
		{"GET " + base, "", 200, `[]`},
	} {
		method, path, _ := strings.Cut(step.request, " ")
		if method == "cluster" {
			cluster(step.body)
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(step.body))
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Service-Author", "ann")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("%s %s: %d %s\nwant %d %s", step.request, step.body, w.Code, w.Body, step.status, step.want)
		}
	}
	entries, err := store.AuditHistory(t.Context(), metastore.AuditFilter{Type: auditKind, Count: 100})
	if err != nil || len(entries) != 5 || entries[0].Author != "ann" {
		t.Errorf("audit %v, %v", entries, err)
	}
}
