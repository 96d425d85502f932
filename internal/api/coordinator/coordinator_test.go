package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/store"
	"github.com/hengedb/henge/internal/timeline"
)

// fixture is the endpoints on a store of the test, with one historical on h:8083 that holds what
// the test puts there.
type fixture struct {
	t         *testing.T
	clock     *fakeclock.Clock
	store     *metastore.Store
	handler   http.Handler
	api       *API
	loaded    []string
	queues    map[string]Queue
	submitted []*task.Task
	deep      *far
}

// Servers returns the historical, and a worker, which holds no segments.
func (f *fixture) Servers() []Server {
	return []Server{
		{Host: "h:8083", Type: "historical", Tier: "_default_tier", MaxSize: 1000, Loaded: f.loaded, UsedSize: int64(100 * len(f.loaded))},
		{Host: "w:8091", Type: "indexer-executor", Tier: "_default_tier"},
	}
}

// Submit keeps the task.
func (f *fixture) Submit(_ context.Context, t *task.Task) error {
	f.submitted = append(f.submitted, t)
	return nil
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))}
	f.store = store.Open(t, f.clock)
	ctx, stop := context.WithCancel(context.Background())
	deep, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.deep = &far{Store: deep}
	published, ended := timeline.NewPublished(), make(chan error, 1)
	go func() { ended <- f.store.Follow(ctx, published) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("following: %v", err)
		}
		if err := f.store.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	number := int64(0)
	for day := 1; day <= 3; day++ {
		iv := chrono.Interval{Start: millis(2026, 3, day), End: millis(2026, 3, day+1)}
		number = f.publish("wiki", iv, 2)
	}
	if _, err := published.Wait(t.Context(), number); err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), f.store, published, f, f, Options{
		Leader: func(role string) (string, bool) {
			return map[string]string{"coordinator": "http://h:8081", "overlord": "http://h:8090"}[role], true
		},
		LookupNodes: func() []LookupNode { return nil }, DefaultReplicas: 1, AuditWindow: 7 * chrono.Day, MaxRequestBytes: 1 << 20, Clock: f.clock,
		Duties: func() []*duty.Runs {
			r := &duty.Runs{Name: "HistoricalManagementDuties", Duties: []string{"runRules"}, Period: time.Minute, Clock: f.clock}
			r.Begin()()
			return []*duty.Runs{r, {Name: "never", Duties: []string{}, Period: time.Hour, Clock: f.clock}}
		},
		Deep:       f.deep,
		Log:        slog.New(slog.DiscardHandler),
		History:    30 * 24 * 3600 * 1000,
		Compaction: compact.New(f.store, published, task.NewQueue(nil, nil, task.Options{Clock: f.clock}), compact.Options{Clock: f.clock, Log: slog.New(slog.DiscardHandler)}),
		Queues:     func() map[string]Queue { return f.queues },
		Nodes: func() []Node {
			return []Node{
				{Role: "coordinator", Service: "service/coordinator", Host: "h", Port: 8081},
				{
					Role: "historical", Service: "service/historical", Host: "h", Port: 8083, Data: &DataService{Type: "dataNodeService", Tier: "_default_tier"},
					Version: "1.2.3", Revision: "abc", Labels: `{"rack":"r1"}`, Bound: true, LookupTier: "__default",
				},
				{Role: "router", Service: "service/router", Host: "h", Port: 8888},
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.api = a
	mux := edge.NewMux(&edge.Errors{Host: "h:8081"})
	a.Routes(mux)
	a.BrokerRoutes(mux)
	f.handler = mux.Handler([]string{"druid"}, f.clock, nil)
	return f
}

func millis(year, month, day int) int64 {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).UnixMilli()
}

// publish replaces an interval by partitions, which are loaded at once, and returns the number of
// the change.
func (f *fixture) publish(dataSource string, iv chrono.Interval, partitions int) int64 {
	f.t.Helper()
	owner := tasklock.Owner{TaskID: "t" + iv.String() + dataSource, GroupID: "g" + iv.String() + dataSource, Priority: 50}
	l, granted, err := f.store.TryLock(f.t.Context(), metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: dataSource, Interval: iv, Type: tasklock.Exclusive}})
	if err != nil || !granted {
		f.t.Fatalf("lock: %v, %v", granted, err)
	}
	schema := timeline.NewSchema([]timeline.Column{{Name: "__time", Type: "LONG"}, {Name: "page", Type: "STRING"}, {Name: "n", Type: "LONG", Metric: true}})
	var list []*timeline.Segment
	for p := range partitions {
		id := timeline.SegmentID{DataSource: dataSource, Interval: iv, Version: l.Version, Partition: p}
		f.loaded = append(f.loaded, id.String())
		s := &timeline.Segment{
			ID: id, Shard: timeline.Numbered{Partition: p, Core: partitions}, Schema: schema, Size: 100, Rows: 10, BinaryVersion: timeline.BinaryVersion,
		}
		list = append(list, s.Locate(json.RawMessage(fmt.Sprintf(`{"type":"local","path":"/deep/%s"}`, id))))
	}
	slices.Sort(f.loaded)
	out, err := f.store.Publish(f.t.Context(), metastore.Publication{TaskID: owner.TaskID, DataSource: dataSource, Segments: list})
	if err != nil {
		f.t.Fatal(err)
	}
	return out.Number
}

// send returns status and body of an answer.
func (f *fixture) send(method, path, body string) (int, string) {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Service-Author", "ann")
	r.Header.Set("X-Service-Comment", "why not")
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// expect sends a request and compares status and body; a body that begins with ~ is a part of what
// must come.
func (f *fixture) expect(method, path, body string, status int, want string) {
	f.t.Helper()
	path = strings.NewReplacer("C/", "/service/coordinator/v1/", "I/", "/service/indexer/v1/").Replace(path)
	code, got := f.send(method, path, body)
	if code != status {
		f.t.Errorf("%s %s: status %d, want %d: %s", method, path, code, status, got)
		return
	}
	if part, ok := strings.CutPrefix(want, "~"); ok {
		if !strings.Contains(got, part) {
			f.t.Errorf("%s %s:\n got %s\nwant %s somewhere", method, path, got, part)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		f.t.Errorf("%s %s: %s", method, path, d)
	}
}

const (
	day1 = "2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z"
	day2 = "2026-03-02T00:00:00.000Z/2026-03-03T00:00:00.000Z"
	day3 = "2026-03-03T00:00:00.000Z/2026-03-04T00:00:00.000Z"
)

func TestServedView(t *testing.T) {
	f := open(t)
	f.expect("GET", "C/datasources", "", 200, `["wiki"]`)
	f.expect("GET", "C/datasources/wiki?simple", "", 200,
		`{"tiers":{"_default_tier":{"segmentCount":6,"size":600,"replicatedSize":600}},"segments":{"count":6,"size":600,"replicatedSize":600,`+
			`"minTime":"2026-03-01T00:00:00.000Z","maxTime":"2026-03-04T00:00:00.000Z"}}`)
	f.expect("GET", "C/datasources/wiki/intervals", "", 200, `["`+day3+`","`+day2+`","`+day1+`"]`)
	f.expect("GET", "C/datasources/wiki/intervals/2026-03-01_2026-03-03?simple=false", "", 200,
		`{"`+day2+`":{"size":200,"count":2},"`+day1+`":{"size":200,"count":2}}`)
	f.expect("GET", "C/datasources/wiki/intervals/2026-03-01T12_2026-03-03?simple", "", 200, `{"`+day2+`":{"size":200,"count":2}}`)
	f.expect("GET", "C/datasources/wiki/intervals/banana", "", 400, `~"errorCode":"invalidInput"`)
	f.expect("GET", "C/datasources/wiki/tiers", "", 200, `["_default_tier"]`)
	f.expect("GET", "C/datasources/wiki/segments/"+f.loaded[1], "", 200, `~"servers":["h:8083"]}`)
	f.expect("GET", "C/datasources/wiki/segments/nosuch", "", 204, "")
	f.expect("GET", "C/datasources/wiki/intervals/2026-03-01_2026-03-02/serverview", "", 200, `~{"`+day1+`":[{"segment":{"dataSource":"wiki"`)
	f.expect("GET", "/druid/coordinator/v1/datasources/wiki/intervals/2026-03-01_2026-03-02/serverview", "", 200, `~[{"segment":{"dataSource":"wiki"`)
	for _, path := range []string{"", "?full", "/intervals", "/intervals?full", "/intervals/2026-03-01_2026-03-03", "/segments", "/segments/x"} {
		f.expect("GET", "C/datasources/nosuch"+path, "", 204, "")
	}
	f.expect("GET", "C/datasources/nosuch/tiers", "", 200, "[]")
	f.expect("GET", "C/datasources/nosuch/intervals/2026-03-01_2026-03-03/serverview", "", 200, "{}")
}

func TestLayout(t *testing.T) {
	f := open(t)
	f.expect("GET", "C/intervals/2026-03-01_2026-03-03", "", 200, `{"size":400,"count":4}`)
	f.expect("GET", "C/intervals/1999-01-01_2000-01-01", "", 200, `{}`)
	f.expect("GET", "C/intervals/2026-03-01_2026-03-02?full&simple", "", 200, `{"`+day1+`":{"wiki":{"size":200,"count":2}}}`)
	f.expect("GET", "C/servers", "", 200, `["h:8083","w:8091"]`)
	f.expect("GET", "C/servers/h:8083?simple", "", 200,
		`{"host":"h:8083","tier":"_default_tier","type":"historical","priority":0,"currSize":600,"maxSize":1000}`)
	f.expect("GET", "C/servers/nosuch:1", "", 404, "")
	f.expect("GET", "C/servers/h:8083/segments", "", 200, `["`+strings.Join(f.loaded, `","`)+`"]`)
	f.expect("GET", "C/servers/w:8091/segments", "", 200, `[]`)
	f.expect("GET", "C/servers/h:8083/segments/nosuch", "", 404, "")
	f.expect("GET", "C/tiers", "", 200, `["_default_tier"]`)
	f.expect("GET", "C/tiers?simple", "", 200, `{"_default_tier":{"currSize":600,"maxSize":1000}}`)
	f.expect("GET", "C/tiers/_DEFAULT_tier", "", 200, `["wiki"]`)
	f.expect("GET", "C/tiers/nosuch", "", 200, `[]`)
	f.expect("GET", "C/cluster", "", 200, `{"coordinator":[{"host":"h","service":"service/coordinator","plaintextPort":8081}],"overlord":[],"broker":[],`+
		`"historical":[{"host":"h","service":"service/historical","plaintextPort":8083}],"router":[{"host":"h","service":"service/router","plaintextPort":8888}]}`)
	f.expect("GET", "C/cluster/nosuch", "", 200, `[]`)
	f.expect("GET", "C/cluster/router?full=true", "", 200, `[{"serviceNode":{"service":"service/router","host":"h","bindOnHost":false,"plaintextPort":8888,"port":-1,`+
		`"tlsPort":-1,"enablePlaintextPort":true,"enableTlsPort":false,"labels":null,"version":"","buildRevision":""},"nodeType":"router","services":{},`+
		`"startTime":"1970-01-01T00:00:00.000Z"}]`)
	f.expect("GET", "C/cluster/historical?full=true", "", 200, `~"bindOnHost":true`)
	f.expect("GET", "C/cluster/historical?full=true", "", 200, `~"labels":{"rack":"r1"},"version":"1.2.3","buildRevision":"abc"`)
	f.expect("GET", "C/cluster/historical?full=true", "", 200, `~"lookupNodeService":{"type":"lookupNodeService","lookupTier":"__default"}`)
	f.expect("GET", "C/leader", "", 200, "http://h:8081")
	f.expect("GET", "I/leader", "", 200, "http://h:8090")
	f.expect("GET", "I/isLeader", "", 200, `{"leader":true}`)
}

func TestMetadata(t *testing.T) {
	f := open(t)
	f.expect("GET", "C/metadata/datasources", "", 200, `["wiki"]`)
	f.expect("GET", "C/metadata/datasources/nosuch", "", 404, "")
	f.expect("GET", "C/metadata/datasources/nosuch/segments?full", "", 404, "")
	f.expect("POST", "C/metadata/datasources/nosuch/segments", `["2026/2027"]`, 200, `[]`)
	f.expect("POST", "C/metadata/datasources/wiki/segments", `["2026-03-01T23/2026-03-02"]`, 200, `["`+f.loaded[0]+`","`+f.loaded[1]+`"]`)
	f.expect("GET", "C/metadata/datasources/wiki/segments", `["2026-03-01T23/2026-03-02"]`, 200, `["`+f.loaded[0]+`","`+f.loaded[1]+`"]`)
	f.expect("POST", "C/metadata/datasources/wiki/segments", `["x"]`, 400, `~{"error":"Invalid interval [x]`)
	f.expect("GET", "C/metadata/datasources/wiki/segments/"+f.loaded[1], "", 200, `~"identifier":"`+f.loaded[1]+`"`)
	f.expect("GET", "C/metadata/datasources/wiki/segments/"+f.loaded[0]+"_7", "", 404, "")
	f.expect("GET", "C/metadata/datasources/wiki/segments/nosuch", "", 400, `Could not parse Segment ID[nosuch] for DataSource[wiki]`)
	f.expect("GET", "C/metadata/segments?includeRealtimeSegments", "", 400, "")
	f.expect("GET", "C/metadata/segments?datasources=nosuch", "", 200, "[]")
	f.expect("GET", "C/metadata/segments?includeOvershadowedStatus&includeRealtimeSegments", "", 200,
		`~[{"overshadowed":false,"replicationFactor":1,"numRows":10,"realtime":false,"dataSource":"wiki"`)
	f.expect("GET", "C/metadata/datasources/wiki/unusedSegments?limit=-1", "", 400, `~"invalidInput"`)
	f.expect("GET", "C/metadata/datasources/wiki/unusedSegments?limit=x", "", 404, "")
	f.expect("GET", "C/metadata/datasources/wiki/unusedSegments?lastSegmentId=x", "", 400, `~"invalidInput"`)
	f.expect("GET", "C/metadata/datasources/wiki/unusedSegments?sortOrder=up", "", 400, `~"invalidInput"`)
}

func TestMarkedSegmentsShowAtOnce(t *testing.T) {
	f := open(t)
	none, all := `{"numChangedSegments":0,"segmentStateChanged":false}`, `{"numChangedSegments":6,"segmentStateChanged":true}`
	for _, base := range []string{"C", "I"} {
		f.expect("POST", base+"/datasources/wiki/markUnused", `{"interval":"2026-03-01T12/2026-03-03"}`, 200, `{"numChangedSegments":2,"segmentStateChanged":true}`)
		f.expect("GET", "C/datasources/wiki/intervals", "", 200, `["`+day3+`","`+day1+`"]`)
		f.expect("POST", base+"/datasources/wiki/markUsed", `{"interval":"2026-03-01/2026-03-03","versions":[]}`, 200, none)
		f.expect("POST", base+"/datasources/wiki/markUsed", `{"interval":"2026-03-01/2026-03-03"}`, 200, `{"numChangedSegments":2,"segmentStateChanged":true}`)
		f.expect("DELETE", base+"/datasources/wiki", "", 200, all)
		f.expect("GET", "C/metadata/datasources", "", 200, `[]`)
		f.expect("GET", "C/metadata/datasources?includeUnused", "", 200, `["wiki"]`)
		f.expect("GET", "C/metadata/datasources/wiki/segments/"+f.loaded[0], "", 404, "")
		f.expect("GET", "C/metadata/datasources/wiki/segments/"+f.loaded[0]+"?includeUnused=true", "", 200, `~"dataSource":"wiki"`)
		f.expect("GET", "C/metadata/datasources/wiki/unusedSegments?limit=1&sortOrder=desc", "", 200, `~"identifier":"`+f.loaded[5]+`"`)
		f.expect("DELETE", base+"/datasources/wiki", "", 200, none)
		f.expect("POST", base+"/datasources/wiki", "", 200, all)
		f.expect("DELETE", base+"/datasources/wiki/segments/"+f.loaded[0], "", 200, `{"numChangedSegments":1,"segmentStateChanged":true}`)
		f.expect("POST", base+"/datasources/wiki/segments/"+f.loaded[0], "", 200, `{"numChangedSegments":1,"segmentStateChanged":true}`)
		f.expect("POST", base+"/datasources/wiki/segments/nosuch", "", 400, `Could not parse Segment ID[nosuch] for DataSource[wiki]`)
		f.expect("POST", base+"/datasources/nosuch", "", 200, none)
		f.expect("POST", base+"/datasources/nosuch/markUnused", `{"segmentIds":["x"]}`, 200, none)
		f.expect("POST", base+"/datasources/wiki/markUsed", `{"segmentIds":["`+f.loaded[0]+`","x"]}`, 400, `~Could not find segment IDs[[x]] for datasource[wiki]`)
		for _, bad := range []string{"", "null", "{}", `{"segmentIds":[]}`, `{"segmentIds":["x"],"interval":"2026/2027"}`, `{"segmentIds":["x"],"versions":["1"]}`} {
			f.expect("POST", base+"/datasources/wiki/markUnused", bad, 400, badSelection)
		}
		f.expect("POST", base+"/datasources/wiki/markUnused", `{"interval":"x"}`, 400, `~{"error":"`)
		f.expect("POST", base+"/datasources/wiki/markUnused", `[]`, 400, `~{"error":"`)
		f.expect("GET", base+"/datasources/wiki/markUnused", "", 405, `~"errorMessage":"Method [GET] is not allowed at [`)
	}
	entries, err := f.store.AuditHistory(t.Context(), metastore.AuditFilter{Type: auditMarkUnused, Key: "wiki", Count: 1})
	if err != nil || len(entries) != 1 || entries[0].Author != "ann" || entries[0].Comment != "why not" || entries[0].IP == "" {
		t.Errorf("audit: %+v, %v", entries, err)
	}
}

func TestKillIsATask(t *testing.T) {
	f := open(t)
	f.expect("DELETE", "C/datasources/wiki/intervals/2026-03-01_2026-03-02", "", 200, "")
	f.expect("DELETE", "C/datasources/wiki?kill=true&interval=2026-03-01/2026-03-02", "", 200, "")
	f.expect("DELETE", "C/datasources/wiki?kill=true&interval=x", "", 400, `~"invalidInput"`)
	f.expect("DELETE", "C/datasources/wiki?kill=true", "", 400, `~"invalidInput"`)
	if len(f.submitted) != 2 || !strings.HasPrefix(f.submitted[0].ID, "api-issued_kill_wiki_") {
		t.Fatalf("submitted %+v", f.submitted)
	}
	var payload map[string]string
	if err := json.Unmarshal(f.submitted[0].Payload, &payload); err != nil || payload["interval"] != day1 || payload["type"] != "kill" {
		t.Errorf("payload %s, %v", f.submitted[0].Payload, err)
	}
	f.expect("GET", "C/metadata/datasources/wiki/segments", "", 200, `["`+strings.Join(f.loaded, `","`)+`"]`)
}

func TestLoadStatus(t *testing.T) {
	f := open(t)
	f.expect("GET", "C/loadstatus", "", 200, `{"wiki":100.0}`)
	f.expect("GET", "C/loadstatus?simple&full", "", 200, `{"wiki":0}`)
	f.expect("GET", "C/loadstatus?full", "", 200, `{"_default_tier":{"wiki":0}}`)
	lost := f.loaded[0]
	f.loaded = f.loaded[1:]
	f.expect("GET", "C/loadstatus?simple", "", 200, `{"wiki":1}`)
	f.expect("GET", "C/datasources/wiki/loadstatus?forceMetadataRefresh=true&interval=2026-03-01/2026-03-02", "", 200, `{"wiki":50.0}`)
	const idle = `"w:8091":{"segmentsToLoad":[],"segmentsToDrop":[]}}`
	f.expect("GET", "C/loadqueue", "", 200, `{"h:8083":{"segmentsToLoad":[],"segmentsToDrop":[]},`+idle)
	f.queues = map[string]Queue{"h:8083": {Load: []string{lost}, Drop: []string{"z_gone", f.loaded[0]}, Kbps: 2}, "unknown:1": {}}
	f.expect("GET", "C/loadqueue", "", 200, `{"h:8083":{"segmentsToLoad":["`+lost+`"],"segmentsToDrop":["`+f.loaded[0]+`","z_gone"]},`+idle)
	f.expect("GET", "C/loadqueue?simple", "", 200, `{"h:8083":{"segmentsToLoad":1,"segmentsToDrop":2,"segmentsToLoadSize":100,"segmentsToDropSize":100,"expectedLoadTimeMillis":400},`+
		`"w:8091":{"segmentsToLoad":0,"segmentsToDrop":0,"segmentsToLoadSize":0,"segmentsToDropSize":0,"expectedLoadTimeMillis":0}}`)
	if status, text := f.send("GET", "/service/coordinator/v1/loadqueue?full", ""); status != 200 || strings.Count(text, `"identifier"`) != 2 || !strings.Contains(text, lost) {
		t.Errorf("in full: %d %s", status, text)
	}
	f.expect("POST", "C/rules/wiki", `[{"type":"loadForever","tieredReplicants":{"_default_tier":3,"hot":1}}]`, 200, "")
	f.expect("GET", "C/loadstatus?full", "", 200, `{"_default_tier":{"wiki":13},"hot":{"wiki":6}}`)
	f.expect("GET", "C/loadstatus?full&computeUsingClusterView", "", 200, `{"_default_tier":{"wiki":1},"hot":{"wiki":0}}`)
	f.expect("POST", "C/rules/wiki", `[{"type":"loadForever","tieredReplicants":{},"useDefaultTierForNull":false}]`, 200, "")
	f.expect("GET", "C/loadstatus", "", 200, `{"wiki":100.0}`)
	f.expect("GET", "C/datasources/wiki/loadstatus", "", 400, "Invalid request. forceMetadataRefresh must be specified")
	f.expect("GET", "C/datasources/wiki/loadstatus?forceMetadataRefresh=false&interval=1999/2000", "", 204, "")
	f.expect("GET", "C/datasources/nosuch/loadstatus?forceMetadataRefresh=false", "", 204, "")
	f.expect("GET", "C/datasources/wiki/handoffComplete?interval="+day1+"&partitionNumber=0&version=1", "", 200, "true")
	f.expect("POST", "C/rules/wiki", `[{"type":"loadForever"}]`, 200, "")
	f.expect("GET", "C/datasources/wiki/handoffComplete?interval="+day1+"&partitionNumber=0&version=9", "", 200, "false")
	f.expect("GET", "C/datasources/wiki/handoffComplete", "", 200, "false")
}

func TestRules(t *testing.T) {
	f := open(t)
	def := `{"tieredReplicants":{"_default_tier":1},"useDefaultTierForNull":true,"type":"loadForever"}`
	f.expect("GET", "C/rules", "", 200, `{"_default":[`+def+`]}`)
	f.expect("GET", "C/rules/wiki", "", 200, `[]`)
	f.expect("GET", "C/rules/wiki?full=false", "", 200, `[`+def+`]`)
	f.expect("GET", "C/rules/_default?full", "", 200, `[`+def+`]`)
	drop := `[{"period":"P1Y","type":"dropBeforeByPeriod"}]`
	f.expect("POST", "C/rules/wiki", `[{"type":"dropBeforeByPeriod","period":"P1Y"}]`, 200, "")
	f.expect("POST", "C/rules/wiki", drop, 200, "")
	f.expect("GET", "C/rules/wiki", "", 200, drop)
	code, got := f.send("GET", "/service/coordinator/v1/rules/wiki/history", "")
	var history []struct {
		Key, Type, Payload, AuditTime string
		AuditInfo                     struct{ Author, Comment, IP string }
	}
	if err := json.Unmarshal([]byte(got), &history); err != nil || code != 200 || len(history) != 1 || history[0].Payload != drop ||
		history[0].AuditInfo.Author != "ann" || history[0].AuditTime != "2026-03-10T12:00:00.000Z" || history[0].Type != "rules" {
		t.Errorf("history %d: %s, %v: equal rules leave no trace", code, got, err)
	}
	f.expect("POST", "C/rules/_default", `[]`, 400, `{"error":"Cluster-level rules cannot be empty."}`)
	f.expect("POST", "C/rules/wiki", `null`, 400, `{"error":"Rules cannot be null."}`)
	f.expect("POST", "C/rules/wiki", `[{"type":"loadByPeriod"}]`, 400, `{"error":"period must be specified"}`)
	f.expect("POST", "C/rules/wiki", `[]`, 200, "")
	f.expect("GET", "C/rules", "", 200, `{"_default":[`+def+`],"wiki":[]}`)
	for path, status := range map[string]int{"count=0": 400, "count=-1": 400, "count=x": 404, "count=99999999999": 404, "interval=x": 400, "interval=2000/2001": 200} {
		f.expect("GET", "C/rules/history?"+path, "", status, "~")
	}
	f.expect("GET", "C/rules/history?count=1", "", 200, `~"payload":"[]"`)
	f.expect("DELETE", "C/rules/wiki", "", 405, `~Allowed are [GET, HEAD, POST]`)
	f.expect("POST", "C/rules", "[]", 405, `~Allowed are [GET, HEAD]`)
}

func TestDynamicConfig(t *testing.T) {
	f := open(t)
	f.expect("GET", "C/config", "", 200, `~"maxSegmentsToMove":100,"replicantLifetime":15`)
	f.expect("POST", "C/config", `{"maxSegmentsToMove":101,"frob":1,"decommissioningNodes":"a:1, b:2"}`, 200, "")
	f.expect("POST", "C/config", `{"replicantLifetime":"16"}`, 200, "")
	f.expect("GET", "C/config", "", 200, `~"maxSegmentsToMove":101,"replicantLifetime":16`)
	f.expect("GET", "C/config", "", 200, `~"decommissioningNodes":["a:1","b:2"]`)
	f.expect("GET", "C/config/history?count=1", "", 200, `~\"replicantLifetime\":16`)
	f.expect("POST", "C/config", `{"decommissioningNodes":null,"killDataSourceWhitelist":["b","a","b",""]}`, 200, "")
	f.expect("GET", "C/config", "", 200, `~"decommissioningNodes":["a:1","b:2"]`)
	f.expect("GET", "C/config", "", 200, `~"killDataSourceWhitelist":["b","a"]`)
	for _, bad := range []string{"", "null", "[]", "{", `{"replicantLifetime":"x"}`, `{"killTaskSlotRatio":2}`, `{"maxKillTaskSlots":-1}`,
		`{"decommissioningMaxPercentOfMaxSegmentsToMove":101}`} {
		f.expect("POST", "C/config", bad, 400, `~{"error":"`)
	}
	f.expect("GET", "I/worker", "", 200, `{"type":"default","selectStrategy":{"type":"equalDistribution","affinityConfig":null,`+
		`"taskLimits":{"maxSlotCountByType":{},"maxSlotRatioByType":{}}},"autoScaler":null}`)
	f.expect("POST", "I/worker", `{"type":"default","selectStrategy":{"type":"fillCapacity","affinityConfig":{"affinity":{"a":["h:1"]}}}}`, 200, "")
	f.expect("GET", "I/worker", "", 200, `~"affinityConfig":{"affinity":{"a":["h:1"]},"strong":false}`)
	f.expect("POST", "I/worker", `{"type":"default","selectStrategy":{"type":"javascript","function":"x"}}`, 400, "")
	f.expect("POST", "I/worker", `null`, 400, "")
	f.expect("GET", "I/worker/history?count=5", "", 200, `~"key":"worker.config"`)
}

func TestLookupTiers(t *testing.T) {
	const lookup = `"lookupExtractorFactory":{"type":"map","map":{"a":"A"}}}`
	f := open(t)
	f.expect("POST", "C/lookups/config", `{"empty":{},"t":{"l":{"version":2,`+lookup+`}}`, 202, `{"empty":{},"t":{"l":{"version":"2",`+lookup+`}}`)
	f.expect("GET", "C/lookups/config", "", 200, `["empty","t"]`)
	f.expect("GET", "C/lookups/config/empty", "", 200, `[]`)
	f.expect("GET", "C/lookups/status", "", 200, `{"empty":{},"t":{"l":{"loaded":true}}}`)
	f.expect("GET", "C/lookups/status/t/l?detailed=true", "", 200, `{"loaded":true,"pendingNodes":[]}`)
	const other = `"lookupExtractorFactory":{"type":"map","map":{"a":"B"}}}`
	f.expect("POST", "C/lookups/config/t/l", `{"version":2,`+lookup, 202, "") // as it is: no change
	for path, form := range map[string]string{"C/lookups/config/t/l": "%s", "C/lookups/config": `{"t":{"l":%s}}`} {
		for update, reason := range map[string]string{
			`{"version":10,` + lookup:                     `~{"error":"given update for lookup [t]:[l] can't replace existing spec`, // as texts, "10" < "2"
			`{"version":2,` + other:                       `~can't replace existing spec`,
			`{` + other:                                   `~{"error":"lookup [t]:[l] does not have version."}`,
			`{"version":null,` + other:                    `~does not have version`,
			`{"version":"",` + other:                      `~does not have version`,
			`{"version":"3"}`:                             `~lookupExtractorFactory`,
			`{"version":"3","lookupExtractorFactory":[]}`: `~lookupExtractorFactory`,
			`[]`:   `~{"error":"`,
			`{`:    `~{"error":"`,
			`null`: `~{"error":"`,
			``:     `~{"error":"`,
		} {
			f.expect("POST", path, fmt.Sprintf(form, update), 400, reason)
		}
	}
	f.expect("GET", "C/lookups/config/t/l", "", 200, `{"version":"2",`+lookup)
	f.expect("POST", "C/lookups/config", `{"t":null}`, 400, `~Tier [t] must be an object of lookups`)
	f.expect("POST", "C/lookups/config/t/l", `{"version":[],`+lookup, 400, `~{"error":"`)
	f.expect("POST", "C/lookups/config/t/redis", `{"version":"v1","lookupExtractorFactory":{"type":"redis"}}`, 400,
		`~lookupExtractorFactory type [redis] is unknown; known types are [`)
	f.expect("POST", "C/lookups/config",
		`{"t":{"x":{"version":"v1","lookupExtractorFactory":{"type":"cachedNamespace","extractionNamespace":{"type":"jdbcx"}}}}}`, 400,
		`~extractionNamespace type [jdbcx] is unknown`)
	f.expect("DELETE", "C/lookups/config/empty", "", 202, "")
	f.expect("GET", "C/lookups/config", "", 200, `["t"]`)
	f.expect("DELETE", "C/lookups/config/t/l", "", 202, "")
	f.expect("GET", "C/lookups/config", "", 200, `[]`)
}

func TestCompactionConfig(t *testing.T) {
	f := open(t)
	f.expect("GET", "C/config/compaction/wiki", "", 404, `~"errorCode":"notFound"`)
	f.expect("DELETE", "C/config/compaction/wiki", "", 404, `~Datasource compaction config does not exist`)
	f.expect("GET", "C/compaction/status", "", 200, `{"latestStatus":[]}`)
	f.expect("GET", "C/compaction/progress", "", 400, `{"error":"No DataSource specified"}`)
	f.expect("GET", "C/compaction/progress?dataSource=wiki", "", 404, `{"error":"Unknown DataSource"}`)
	f.expect("POST", "C/config/compaction", `{"dataSource":"wiki"}`, 200, "")
	f.clock.Advance(time.Second)
	empty := `{"dataSource":"wiki","taskPriority":25,"inputSegmentSizeBytes":100000000000000,"maxRowsPerSegment":null,"skipOffsetFromLatest":"P1D",` +
		`"tuningConfig":null,"granularitySpec":null,"dimensionsSpec":null,"metricsSpec":null,"transformSpec":null,"ioConfig":null,"engine":null,"taskContext":null}`
	f.expect("GET", "C/config/compaction/wiki", "", 200, empty)
	f.expect("GET", "I/compaction/config/datasources/wiki", "", 200, empty)
	f.expect("POST", "C/config/compaction", `{"dataSource":"wiki","skipOffsetFromLatest":"PT0S","granularitySpec":{"segmentGranularity":"day"},
		"dimensionsSpec":{"dimensions":["page",{"type":"long","name":"n"}]},"tuningConfig":{"partitionsSpec":{"type":"dynamic"}}}`, 200, "")
	f.clock.Advance(time.Second)
	for _, part := range []string{
		`"partitionsSpec":{"type":"dynamic","maxRowsPerSegment":5000000,"maxTotalRows":null}`, `"forceGuaranteedRollup":false`,
		`"granularitySpec":{"segmentGranularity":"DAY","queryGranularity":null,"rollup":null}`, `{"type":"string","name":"page",`,
		`{"type":"long","name":"n","multiValueHandling":"SORTED_ARRAY","createBitmapIndex":false}`, `"skipOffsetFromLatest":"PT0S"`,
	} {
		f.expect("GET", "C/config/compaction/wiki", "", 200, "~"+part)
	}
	f.expect("POST", "C/config/compaction", `{"dataSource":"full","tuningConfig":{"partitionsSpec":{"type":"hashed","numShards":-1},"indexSpec":{"longEncoding":"auto","stringDictionaryEncoding":{"type":"frontCoded"}},
		"splitHintSpec":{"type":"maxSize","maxNumFiles":3},"appendableIndexSpec":{}},"metricsSpec":[{"type":"hyperUnique","name":"h","fieldName":"u"},
		{"type":"stringLast","name":"s","fieldName":"u","maxStringBytes":9},{"type":"filtered","aggregator":{"type":"count","name":"c"},"filter":{"type":"selector","dimension":"a","value":"b"}}],
		"dimensionsSpec":{"dimensions":[{"type":"json","name":"j"},{"name":"a","multiValueHandling":"array"}]}}`, 200, "")
	for _, part := range []string{
		`"partitionsSpec":{"type":"hashed","numShards":null,"partitionDimensions":[],"partitionFunction":"murmur3_32_abs","maxRowsPerSegment":5000000}`,
		`"indexSpec":{"bitmap":{"type":"roaring"},"dimensionCompression":"lz4","longEncoding":"auto","metricCompression":"lz4",` +
			`"stringDictionaryEncoding":{"bucketSize":4,"formatVersion":0,"type":"frontCoded"}}`,
		`"splitHintSpec":{"maxNumFiles":3,"maxSplitSize":1073741824,"type":"maxSize"}`, `"appendableIndexSpec":{"preserveExistingMetrics":false,"type":"onheap"}`,
		`{"fieldName":"u","isInputHyperUnique":false,"name":"h","round":false,"type":"hyperUnique"}`,
		`{"fieldName":"u","maxStringBytes":9,"name":"s","timeColumn":"__time","type":"stringLast"}`, `"name":"c","type":"filtered"}`,
		`{"createBitmapIndex":true,"multiValueHandling":"SORTED_ARRAY","name":"j","type":"json"}`, `"multiValueHandling":"ARRAY"`,
	} {
		f.expect("GET", "C/config/compaction/full", "", 200, "~"+part)
	}
	for bad, want := range map[string]string{
		`"metricsSpec":[{"type":"nope","name":"h"}]`:                                `nope`,
		`"metricsSpec":[{"type":"count"}]`:                                          `A metric needs [name]`,
		`"metricsSpec":["x"]`:                                                       `A metric must be an object`,
		`"metricsSpec":[{"type":"longSum","name":"h"}]`:                             `fieldName`,
		`"metricsSpec":[{"type":"count","name":"h"},{"type":"count","name":"h"}]`:   `Two metrics of the metricsSpec have the name [h]`,
		`"dimensionsSpec":{"dimensions":["a","a"]}`:                                 `Two dimensions of the dimensionsSpec have the name [a]`,
		`"dimensionsSpec":{"dimensions":[{"name":"a","multiValueHandling":"zzz"}]}`: `multiValueHandling [ZZZ] of dimension [a] is unknown`,
		`"transformSpec":{"filter":{"type":"nope"}}`:                                `nope`,
		`"tuningConfig":{"partitionsSpec":{"type":"hashed","numShards":0}}`:         `numShards [0] must be positive`,
		`"tuningConfig":{"splitHintSpec":{"type":"nope"}}`:                          `splitHintSpec type [nope] is unknown; use maxSize or segments`,
		`"tuningConfig":{"indexSpec":3}`:                                            `The indexSpec must be an object, not [3]`,
		`"tuningConfig":{"appendableIndexSpec":{"type":3}}`:                         `must be text, not [3]`,
	} {
		f.expect("POST", "C/config/compaction", `{"dataSource":"full",`+bad+`}`, 400, "~"+want)
	}
	f.expect("DELETE", "C/config/compaction/full", "", 200, "")
	f.expect("GET", "C/config/compaction/taskslots", "", 405, "")
	f.expect("DELETE", "C/config/compaction/taskslots", "", 405, "")
	f.expect("POST", "C/config/compaction/taskslots?ratio=Infinity", "", 404, "")
	f.expect("POST", "C/config/compaction/taskslots?ratio=0.2&max=5", "", 200, "")
	f.clock.Advance(time.Second)
	f.expect("POST", "C/config/compaction/taskslots", "", 200, "")
	f.expect("POST", "C/config/compaction/taskslots?max=x", "", 404, "")
	f.expect("POST", "C/config/compaction/taskslots?max=0", "", 400, `~"invalidInput"`)
	f.expect("GET", "I/compaction/config/cluster", "", 200, `{"compactionTaskSlotRatio":0.2,"maxCompactionTaskSlots":5,"useAutoScaleSlots":false,`+
		`"compactionPolicy":{"type":"newestSegmentFirst"},"useSupervisors":false,"engine":"native"}`)
	f.expect("POST", "I/compaction/config/cluster", `{"engine":"msq"}`, 400, `~MSQ Compaction engine`)
	f.expect("GET", "C/compaction/status?dataSource=wiki", "", 200, `~"scheduleStatus":"RUNNING"`)
	f.expect("GET", "C/compaction/progress?dataSource=wiki", "", 200, `{"remainingSegmentSize":0}`)
	for _, bad := range []string{"", "null", "{}", `{"dataSource":"wiki","skipOffsetFromLatest":"x"}`, `{"dataSource":"wiki","taskPriority":"x"}`,
		`{"dataSource":"wiki","tuningConfig":{"partitionsSpec":{"type":"frob"}}}`, `{"dataSource":"wiki","tuningConfig":{"partitionsSpec":{"type":"range"}}}`} {
		f.expect("POST", "C/config/compaction", bad, 400, `~"error":"`)
	}
	f.expect("DELETE", "C/config/compaction/wiki", "", 200, "")
	f.expect("GET", "C/compaction/status?dataSource=wiki", "", 200, `~"scheduleStatus":"NOT_ENABLED"`)
	_, got := f.send("GET", "/service/coordinator/v1/config/compaction/wiki/history", "")
	var history []struct {
		Global struct{ MaxCompactionTaskSlots int }   `json:"globalConfig"`
		Config *struct{ SkipOffsetFromLatest string } `json:"compactionConfig"`
	}
	if err := json.Unmarshal([]byte(got), &history); err != nil || len(history) != 4 || history[1].Config.SkipOffsetFromLatest != "PT0S" ||
		history[2].Global.MaxCompactionTaskSlots != 5 || history[3].Config != nil {
		t.Errorf("history %s, %v", got, err)
	}
	f.expect("GET", "C/config/compaction/nosuch/history", "", 200, "[]")
	f.expect("GET", "C/config/compaction/nosuch/history?count=0", "", 400, `~"error"`)
}

func TestBrokerDescribesDataSources(t *testing.T) {
	f := open(t)
	f.expect("GET", "/service/v2/datasources", "", 200, `["wiki"]`)
	f.expect("GET", "/service/v2/datasources/wiki", "", 200, `{"dimensions":["page"],"metrics":["n"]}`)
	f.expect("GET", "/service/v2/datasources/wiki?interval=1999/2000", "", 200, `{"dimensions":[],"metrics":[]}`)
	f.expect("GET", "/service/v2/datasources/wiki?interval=2026_2027", "", 400, `~"invalidInput"`)
	f.expect("GET", "/service/v2/datasources/wiki?full", "", 200,
		`{"2026-03-01T00:00:00.000Z/2026-03-04T00:00:00.000Z":{"dimensions":["page"],"metrics":["n"]}}`)
	f.expect("GET", "/service/v2/datasources/nosuch?full", "", 200, `{}`)
	f.expect("GET", "/service/v2/datasources/nosuch/metrics", "", 200, `[]`)
	f.expect("GET", "/service/v2/datasources/wiki/candidates?intervals=2026-03-01/2026-03-02&numCandidates=0", "", 200, `~"partitionNumber":1,"size":100,"locations":[{`)
	f.expect("GET", "/service/v2/datasources/wiki/candidates?intervals=,", "", 200, `[]`)
	f.expect("GET", "/service/v2/datasources/wiki/candidates", "", 400, `~"invalidInput"`)
	f.expect("POST", "/service/v2/candidates", `{"queryType":"timeBoundary","dataSource":"wiki","intervals":"2026-03-02/2026-03-03"}`, 200,
		`~[{"interval":"`+day2+`","version":`)
	f.expect("POST", "/service/v2/candidates", `{"queryType":"x"}`, 400, `~"error"`)
	f.expect("POST", "/service/v2/candidates", "", 400, `~"error"`)
}

// What the Coordinator tells of its own work.
func TestDuties(t *testing.T) {
	f := open(t)
	f.expect("GET", "/service/coordinator/v1/duties", "", 200, `{"dutyGroups":[{"name":"HistoricalManagementDuties","period":"PT60S","dutyNames":["runRules"],`+
		`"lastRunStart":"2026-03-10T12:00:00.000Z","lastRunEnd":"2026-03-10T12:00:00.000Z","avgRuntimeMillis":0,"avgRunGapMillis":0},`+
		`{"name":"never","period":"PT3600S","dutyNames":[],"lastRunStart":null,"lastRunEnd":null,"avgRuntimeMillis":0,"avgRunGapMillis":0}]}`)
	f.expect("GET", "/service/coordinator/v1/config/syncedBrokers", "", 200, `{"syncedBrokers":[]}`)
	f.expect("GET", "/service/coordinator/v1/config/cloneStatus", "", 200, `{"cloneStatus":[]}`)
	f.expect("POST", "/service/coordinator/v1/config", `{"cloneServers":{"w:8091":"h:8083","x:1":"h:8083","h:8083":"y:1"}}`, 200, "")
	f.expect("GET", "/service/coordinator/v1/config/cloneStatus", "", 200, `{"cloneStatus":[`+
		`{"sourceServer":"y:1","targetServer":"h:8083","state":"SOURCE_SERVER_MISSING","segmentLoadsRemaining":0,"segmentDropsRemaining":0,"bytesToLoad":0},`+
		`{"sourceServer":"h:8083","targetServer":"w:8091","state":"IN_PROGRESS","segmentLoadsRemaining":6,"segmentDropsRemaining":0,"bytesToLoad":600},`+
		`{"sourceServer":"h:8083","targetServer":"x:1","state":"TARGET_SERVER_MISSING","segmentLoadsRemaining":0,"segmentDropsRemaining":0,"bytesToLoad":0}]}`)
	f.expect("GET", "/service/coordinator/v1/config/cloneStatus?targetServer=x:1", "", 200,
		`{"cloneStatus":[{"sourceServer":"h:8083","targetServer":"x:1","state":"TARGET_SERVER_MISSING","segmentLoadsRemaining":0,"segmentDropsRemaining":0,"bytesToLoad":0}]}`)
	f.expect("POST", "/service/coordinator/v1/metadata/bootstrapSegments", "", 200, `[]`)
	f.expect("POST", "/service/coordinator/v1/rules/wiki", `[{"type":"broadcastForever"}]`, 200, "")
	if status, answer := f.send("POST", "/service/coordinator/v1/metadata/bootstrapSegments", ""); status != 200 || strings.Count(answer, `"identifier":"wiki_`) != 6 {
		t.Errorf("%d %s", status, answer)
	}
}

// What is measured of segments, and what is worth an alert.
func TestMeasure(t *testing.T) {
	f := open(t)
	f.expect("POST", "/service/coordinator/v1/rules/wiki", `[{"type":"loadByInterval","interval":"2026-03-01/2026-03-03","tieredReplicants":{"_default_tier":2,"hot":1}}]`, 200, "")
	f.expect("POST", "/service/coordinator/v1/rules/_default", `[{"type":"dropByInterval","interval":"2020/2021"}]`, 200, "")
	got := map[string]float64{}
	var alerts []string
	err := f.api.Measure(t.Context(), func(s obs.Sample) {
		if s.Alert != "" {
			alerts = append(alerts, s.Alert)
			return
		}
		got[s.Metric+" "+strings.Join(s.Dims, ",")] = s.Value
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"segment/count dataSource,wiki": 6, "segment/size dataSource,wiki": 600, "segment/unavailable/count dataSource,wiki": 0,
		"segment/underReplicated/count tier,_default_tier,dataSource,wiki": 4, "segment/underReplicated/count tier,hot,dataSource,wiki": 4,
		"tier/historical/count tier,_default_tier": 1, "tier/required/capacity tier,_default_tier": 800, "tier/replication/factor tier,_default_tier": 2,
		"tier/total/capacity tier,_default_tier": 1000, "compact/task/count ": 0, "segment/overShadowed/count ": 0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	slices.Sort(alerts)
	if diff := cmp.Diff([]string{
		"Load rules for datasource[wiki] refer to invalid tiers[hot]", "No matching retention rule for [2] segments in datasource[wiki]",
	}, alerts); diff != "" {
		t.Error(diff)
	}
}

// onlyReads lets one datasource be read, and nothing else.
type onlyReads string

func (o onlyReads) Decide(_ context.Context, _ *auth.Identity, need auth.Need) (auth.Grant, error) {
	return auth.Grant{Allowed: need == auth.Reads(auth.Datasource, string(o))}, nil
}

// Datasources that only workers serve are listed to those who may read them, and a list of none is
// a list.
func TestLiveDataSourcesAreListedToTheirReaders(t *testing.T) {
	f := open(t)
	f.api.o.Live = func() []string { return []string{"live", "secret"} }
	for reader, want := range map[string]string{"live": `["live"]`, "wiki": `["wiki"]`, "none": `[]`} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/service/coordinator/v1/datasources", nil)
		r = r.WithContext(auth.With(r.Context(), auth.NewAccess(&auth.Identity{Name: "ann"}, onlyReads(reader))))
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r)
		if got := w.Body.String(); got != want {
			t.Errorf("a reader of [%s] sees %s, want %s", reader, got, want)
		}
	}
}

// A tier without servers or a datasource without segments may be a misspelt name, or come later:
// the change is made, and the answer warns.
func TestChangesWithUnknownNamesAreWarnedOf(t *testing.T) {
	f := open(t)
	for _, c := range []struct{ path, body, want string }{
		{"rules/wiki", `[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]`, ""},
		{"rules/wiki", `[{"type":"loadForever","tieredReplicants":{"hot":0}}]`, ""},
		{"rules/wiki", `[{"type":"loadForever","tieredReplicants":{"hot":1,"_default_tier":1}}]`,
			"Tier [hot] has no servers; tiers with servers are [_default_tier]. Segments of datasource [wiki] " +
				"are not loaded there until a server of the tier starts"},
		{"config/compaction", `{"dataSource":"wiki"}`, ""},
		{"config/compaction", `{"dataSource":"wikki"}`,
			"Datasource [wikki] has no segments yet; the settings take effect when it has some. Did you mean [wiki]?"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/service/coordinator/v1/"+c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r)
		if got := w.Header().Get(WarningHeader); w.Code != http.StatusOK || w.Body.Len() > 0 || got != c.want {
			t.Errorf("%s %s: %d, warning %q, want %q", c.path, c.body, w.Code, got, c.want)
		}
	}
}
