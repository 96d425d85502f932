package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// wrong is a value of a parameter that can't be meant, and how it is answered: the status, and a
// part of the body ("": the body is empty).
type wrong struct {
	value  string
	status int
	want   string
}

// The kinds of parameters, with what is wrong for each.
var (
	wrongIntervals = []wrong{
		{"x", 400, "Invalid interval [x]"}, {"2026-01-02%2F2026-01-01", 400, "2026-01-02/2026-01-01"}, {"2026-01-01%2F", 400, "Invalid interval"},
		{"2026-13-01%2FP1D", 400, "2026-13-01"}, {"%2F", 400, "Invalid interval"}, {"2026-01-01%2FP1X", 400, "P1X"},
	}
	// noIntervals are wrongIntervals of endpoints that take an empty one for one that can't be read.
	noIntervals        = append([]wrong{{"", 400, "Invalid interval"}}, wrongIntervals...)
	wrongPathIntervals = []wrong{
		{"x", 400, "Invalid interval [x]"}, {"2026-01-02_2026-01-01", 400, "2026-01-02/2026-01-01"}, {"2026-01-01_", 400, "Invalid interval"},
	}
	wrongNumbers = []wrong{{"x", 404, ""}, {"99999999999", 404, ""}, {"1.5", 404, ""}, {"%20", 404, ""}, {"0x10", 404, ""}}
	wrongCounts  = append([]wrong{{"0", 400, "Limit must be greater than zero!"}, {"-5", 400, "Limit must be greater than zero!"}}, wrongNumbers...)
	anyFlags     = []wrong{{"x", 0, ""}} // any value of a flag means that it is set
)

// parameters are the endpoints with each of their parameters; * in a path stands for the value.
var parameters = []struct {
	request string
	kinds   []wrong
}{
	{"GET /service/coordinator/v1/intervals/*", wrongPathIntervals},
	{"GET /service/coordinator/v1/intervals/*?simple", wrongPathIntervals},
	{"GET /service/coordinator/v1/intervals/*?full", wrongPathIntervals},
	{"GET /service/coordinator/v1/datasources/events/intervals/*", wrongPathIntervals},
	{"GET /service/coordinator/v1/datasources/nosuch/intervals/*", wrongPathIntervals},
	{"GET /service/coordinator/v1/datasources/events/intervals/*/serverview", wrongPathIntervals},
	{"DELETE /service/coordinator/v1/datasources/events/intervals/*", wrongPathIntervals},
	{"DELETE /service/indexer/v1/datasources/events/intervals/*", wrongPathIntervals},
	{"DELETE /service/coordinator/v1/datasources/events?kill=true&interval=*", wrongIntervals},
	{"GET /service/coordinator/v1/datasources/events/loadstatus?forceMetadataRefresh=true&interval=*", noIntervals},
	{"GET /service/coordinator/v1/datasources/events/loadstatus?interval=*", []wrong{{"2026-01-01%2FP1D", 400, "forceMetadataRefresh must be specified"}}},
	{"GET /service/coordinator/v1/datasources/events/handoffComplete?version=1&partitionNumber=0&interval=*", wrongIntervals},
	{"GET /service/coordinator/v1/metadata/datasources/events/unusedSegments?interval=*", wrongIntervals},
	{"GET /service/coordinator/v1/metadata/datasources/events/unusedSegments?limit=*", append([]wrong{{"-1", 400, "Limit must be greater than 0"}}, wrongNumbers...)},
	{"GET /service/coordinator/v1/metadata/datasources/events/unusedSegments?sortOrder=*", []wrong{{"up", 400, "sortOrder"}}},
	{"GET /service/coordinator/v1/metadata/datasources/events/unusedSegments?lastSegmentId=*", []wrong{{"x", 400, "lastSegmentId"}}},
	{"GET /service/coordinator/v1/metadata/datasources/events/segments/*", []wrong{{"x", 400, "Could not parse Segment ID[x] for DataSource[events]"}}},
	{"GET /service/coordinator/v1/metadata/datasources/*", []wrong{{"nosuch", 404, ""}}},
	{"GET /service/coordinator/v1/metadata/datasources/*/segments", []wrong{{"nosuch", 404, ""}}},
	{"POST /service/coordinator/v1/datasources/events/segments/*", []wrong{{"x", 400, "Could not parse Segment ID[x] for DataSource[events]"}}},
	{"DELETE /service/coordinator/v1/datasources/events/segments/*", []wrong{{"x", 400, "Could not parse Segment ID[x] for DataSource[events]"}}},
	{"POST /service/indexer/v1/datasources/events/segments/*", []wrong{{"x", 400, "Could not parse Segment ID[x] for DataSource[events]"}}},
	{"GET /service/coordinator/v1/datasources/*", []wrong{{"nosuch", 204, ""}}},
	{"GET /service/coordinator/v1/datasources/*/intervals", []wrong{{"nosuch", 204, ""}}},
	{"GET /service/coordinator/v1/datasources/events/segments/*", []wrong{{"x", 204, ""}}},
	{"GET /service/coordinator/v1/servers/*", []wrong{{"h:1", 404, ""}}},
	{"GET /service/coordinator/v1/servers/*/segments", []wrong{{"h:1", 404, ""}}},
	{"GET /service/coordinator/v1/rules/history?count=*", wrongCounts},
	{"GET /service/coordinator/v1/rules/history?interval=*", noIntervals},
	{"GET /service/coordinator/v1/rules/events/history?count=*", wrongCounts},
	{"GET /service/coordinator/v1/rules/events/history?interval=*", noIntervals},
	{"GET /service/coordinator/v1/config/history?count=*", wrongCounts},
	{"GET /service/coordinator/v1/config/history?interval=*", noIntervals},
	{"GET /service/indexer/v1/worker/history?count=*", wrongCounts},
	{"GET /service/indexer/v1/worker/history?interval=*", noIntervals},
	{"GET /service/coordinator/v1/config/compaction/events/history?count=*", wrongCounts},
	{"GET /service/coordinator/v1/config/compaction/events/history?interval=*", noIntervals},
	{"GET /service/indexer/v1/compaction/config/datasources/events/history?count=*", wrongCounts},
	{"GET /service/coordinator/v1/config/compaction/*", []wrong{{"nosuch", 404, "does not exist"}}},
	{"DELETE /service/coordinator/v1/config/compaction/*", []wrong{{"nosuch", 404, "does not exist"}}},
	{"POST /service/coordinator/v1/config/compaction/taskslots?max=*", append([]wrong{{"0", 400, "at least 1 task slot"}, {"-1", 400, "at least 1 task slot"}}, wrongNumbers...)},
	{"POST /service/coordinator/v1/config/compaction/taskslots?ratio=*", []wrong{{"x", 404, ""}, {"NaN", 404, ""}, {"-0.1", 400, "not negative"}}},
	{"GET /service/coordinator/v1/compaction/progress?dataSource=*", []wrong{{"", 400, "No DataSource specified"}, {"nosuch", 404, "Unknown DataSource"}}},
	{"GET /service/coordinator/v1/compaction/status?dataSource=*", []wrong{{"nosuch", 404, "unknown dataSource"}}},
	{"GET /service/indexer/v1/compaction/status/datasources/*", []wrong{{"nosuch", 404, "does not exist"}}},
	{"GET /service/coordinator/v1/why?segment=*", []wrong{{"", 400, "Give at most one of"}, {"nosuch", 404, "There is no segment [nosuch]"}}},
	{"GET /service/coordinator/v1/why?datasource=*", []wrong{{"nosuch", 404, "There is no datasource [nosuch]"}}},
	{"GET /service/coordinator/v1/why?task=*", []wrong{{"nosuch", 404, "There is no task " +
		"[nosuch]"}, {"a&segment=b", 400, "Give at most one of"}}},
	{"GET /service/v2/datasources/events?interval=*", wrongIntervals},
	{"GET /service/v2/datasources/events?full&interval=*", wrongIntervals},
	{"GET /service/v2/datasources/events/dimensions?interval=*", wrongIntervals},
	{"GET /service/v2/datasources/events/candidates?intervals=*", append([]wrong{{"", 400, "[intervals] is missing"}}, wrongIntervals...)},
	{"GET /service/v2/datasources/events/candidates?intervals=2026%2F2027&numCandidates=*", wrongNumbers},
	{"GET /service/coordinator/v1/lookups/config/*", []wrong{{"nosuch", 404, "error"}}},
	{"GET /service/coordinator/v1/lookups/config/__default/*", []wrong{{"nosuch", 404, "error"}}},
	{"GET /service/coordinator/v1/broker/config/history?count=*", wrongCounts},
	{"GET /service/coordinator/v1/broker/config/history?interval=*", noIntervals},
	{"GET /service/coordinator/v1/config/cloneStatus?targetServer=*", []wrong{{"nosuch", 200, `{"cloneStatus":[]}`}, {"", 200, `{"cloneStatus":[]}`}}},
	{"GET /service/coordinator/v1/datasources/events/handoffComplete?interval=2024-01-01%2FP1D&version=1&partitionNumber=*", append([]wrong{{"", 200, "false"}}, wrongNumbers...)},
	{"GET /service/coordinator/v1/datasources/events/handoffComplete?interval=2024-01-01%2FP1D&partitionNumber=0&version=*", []wrong{{"", 200, "false"}}},
	{"GET /service/coordinator/v1/datasources/*/handoffComplete?interval=2024-01-01%2FP1D&partitionNumber=0&version=1", []wrong{{"nosuch", 200, "false"}}},
	{"GET /service/coordinator/v1/datasources/*/tiers", []wrong{{"nosuch", 200, "[]"}}},
	{"GET /service/coordinator/v1/datasources/*/loadstatus?forceMetadataRefresh=false", []wrong{{"nosuch", 204, ""}}},
	{"GET /service/coordinator/v1/datasources/events/loadstatus?forceMetadataRefresh=*&interval=2024-01-01%2FP1D", []wrong{{"x", 200, "events"}}},
	{"GET /service/coordinator/v1/metadata/datasources/events/segments/*?includeUnused=x", []wrong{{"events_2024-01-01T00:00:00.000Z_2024-01-02T00:00:00.000Z_v", 404, ""}}},
	{"GET /service/coordinator/v1/metadata/segments?datasources=*", []wrong{{"nosuch", 200, "[]"}}},
	{"GET /service/coordinator/v1/rules/*", []wrong{{"nosuch", 200, "[]"}}},
	{"GET /service/coordinator/v1/rules/*?full", []wrong{{"nosuch", 200, "["}}},
	{"GET /service/coordinator/v1/servers/h:1/segments/*", []wrong{{"x", 404, ""}}},
	{"GET /service/coordinator/v1/tiers/*", []wrong{{"nosuch", 200, "[]"}}},
	{"GET /service/coordinator/v1/cluster/*", []wrong{{"nosuch", 200, "[]"}}},
	{"GET /service/coordinator/v1/cluster?full=*", anyFlags},
	{"GET /service/coordinator/v1/lookups/status/*", []wrong{{"nosuch", 404, "error"}}},
	{"GET /service/coordinator/v1/lookups/status/__default/*", []wrong{{"nosuch", 404, "error"}}},
	{"GET /service/coordinator/v1/lookups/nodeStatus/*", []wrong{{"nosuch", 200, "{}"}}},
	{"GET /service/coordinator/v1/lookups/nodeStatus/__default/*", []wrong{{"nosuch", 404, "error"}}},
	{"DELETE /service/coordinator/v1/lookups/config/*", []wrong{{"nosuch", 404, ""}}},
	{"DELETE /service/coordinator/v1/lookups/config/__default/*", []wrong{{"nosuch", 404, ""}}},
	{"GET /service/v1/lookups/introspect/*", []wrong{{"nosuch", 405, ""}}},
	{"GET /service/v2/datasources/*", []wrong{{"nosuch", 200, `{"dimensions":[],"metrics":[]}`}}},
	{"GET /service/v2/datasources/*/metrics", []wrong{{"nosuch", 200, "[]"}}},
	{"GET /service/indexer/v1/tasks?state=*", []wrong{{"frob", 400, "Invalid task state[frob]"}}},
	{"GET /service/indexer/v1/tasks?state=complete&createdTimeInterval=*", wrongIntervals},
	{"GET /service/indexer/v1/tasks?max=*", wrongNumbers},
	{"GET /service/indexer/v1/tasks?datasource=*", []wrong{{"nosuch", 200, "[]"}}},
	{"GET /service/indexer/v1/task/*", []wrong{{"nosuch", 404, "Cannot find any task with id: [nosuch]"}}},
	{"GET /service/indexer/v1/task/*/status", []wrong{{"nosuch", 404, "Cannot find any task with id: [nosuch]"}}},
	{"GET /service/indexer/v1/task/*/reports", []wrong{{"nosuch", 404, "Cannot find any task with id: [nosuch]"}}},
	{"GET /service/indexer/v1/task/*/log", []wrong{{"nosuch", 404, "Cannot find any task with id: [nosuch]"}}},
	{"GET /service/indexer/v1/task/*/segments", []wrong{{"nosuch", 404, "Cannot find any task with id: [nosuch]"}}},
	{"POST /service/indexer/v1/task/*/shutdown", []wrong{{"nosuch", 404, "Cannot find any task with id: [nosuch]"}}},
	{"POST /service/indexer/v1/datasources/*/shutdownAllTasks", []wrong{{"nosuch", 404, ""}}},
	{"DELETE /service/indexer/v1/pendingSegments/*", []wrong{{"nosuch", 200, `{"numDeleted":0}`}}},
	{"DELETE /service/indexer/v1/pendingSegments/events?interval=*", wrongIntervals},
	{"GET /service/indexer/v1/supervisor/*", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"GET /service/indexer/v1/supervisor/*/status", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"GET /service/indexer/v1/supervisor/*/history", []wrong{{"nosuch", 404, "No history for [nosuch]."}}},
	{"GET /service/indexer/v1/supervisor/*/stats", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"GET /service/indexer/v1/supervisor/*/health", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"POST /service/indexer/v1/supervisor/*/suspend", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"POST /service/indexer/v1/supervisor/*/resume", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"POST /service/indexer/v1/supervisor/*/reset", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"POST /service/indexer/v1/supervisor/*/terminate", []wrong{{"nosuch", 404, "Cannot find any supervisor with id: [nosuch]"}}},
	{"GET /service/v2/sql/statements/*", []wrong{{"nosuch", 404, "Query [nosuch] was not found"}}},
	{"GET /service/v2/sql/statements/*/results", []wrong{{"nosuch", 404, "Query [nosuch] was not found"}}},
	{"DELETE /service/v2/sql/statements/*", []wrong{{"nosuch", 404, "Query [nosuch] was not found"}}},
	{"DELETE /service/v2/sql/*", []wrong{{"nosuch", 404, ""}}},
	{"DELETE /service/v2/*", []wrong{{"nosuch", 202, ""}}},
	{"GET /service/coordinator/v1/loadstatus?simple=*", anyFlags},
	{"GET /service/coordinator/v1/metadata/segments?includeOvershadowedStatus=*", anyFlags},
	{"GET /service/coordinator/v1/metadata/segments?*", []wrong{{"includeRealtimeSegments", 400, ""}}},
}

func TestParametersOfManagement(t *testing.T) {
	s := withEvents(t)
	for _, p := range parameters {
		method, path, _ := strings.Cut(p.request, " ")
		for _, v := range p.kinds {
			at := strings.Replace(path, "*", v.value, 1)
			status, answer := exchange(t, s, method, at, "application/json", "")
			if v.status == 0 {
				v.status, v.want = 200, answer
			}
			if status != v.status || !strings.Contains(answer, v.want) || v.want == "" && answer != "" {
				t.Errorf("%s %s: %d %.300s\nwant %d %q", method, at, status, answer, v.status, v.want)
			}
			if status == 400 && strings.HasPrefix(answer, "{") {
				checkBody(t, method+" "+at, answer)
			}
		}
	}
}

// withEvents is a server with the datasource events of one day.
func withEvents(t *testing.T) *server.Server {
	t.Helper()
	s := server.Start(t, server.Options{})
	if err := s.Ingest(t.Context(), inline("REPLACE INTO events OVERWRITE ALL", `{"t":"2024-01-01","k":"a","n":1}`), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// checkBody expects an error object: with an error at least, and with all members if it is a
// structured one.
func checkBody(t *testing.T, request, answer string) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(answer), &body); err != nil || body["error"] == nil {
		t.Errorf("%s: no error object: %s", request, answer)
		return
	}
	if body["error"] != "druidException" {
		return
	}
	for _, member := range []string{"errorCode", "persona", "category", "errorMessage", "context"} {
		if body[member] == nil {
			t.Errorf("%s: no [%s] in %s", request, member, answer)
		}
	}
}

// bodies are the endpoints that read a body, with bodies that say nothing they can take, beside
// those that no endpoint takes.
var bodies = []struct {
	request string
	// null is how a body of null, and one that is missing, are answered.
	null wrong
	// list is how a body of [] is answered, text one of "x".
	list, text wrong
	more       []wrong
}{
	{
		"POST /service/coordinator/v1/rules/events", wrong{"", 400, "Rules cannot be null."}, wrong{"", 200, ""}, wrong{"", 400, "error"},
		[]wrong{
			{`[{"type":"frob"}]`, 400, "frob"}, {`[{}]`, 400, "error"}, {`[5]`, 400, "error"}, {`[{"type":"loadByPeriod"}]`, 400, "period must be specified"},
			{`[{"type":"loadByPeriod","period":"x"}]`, 400, "x"}, {`[{"type":"loadByInterval","interval":"x"}]`, 400, "x"}, {`[{"type":"dropByInterval"}]`, 400, "interval must be specified"},
			{`[{"type":"loadForever","tieredReplicants":{"t":-1}}]`, 400, "Invalid number of replicas for tier [t]. Value [-1] must be positive."},
			{`[{"type":"loadForever","tieredReplicants":{"t":null}}]`, 400, "Invalid number of replicas for tier [t]. Value must not be null."},
			{`[{"type":"loadForever","tieredReplicants":{"t":"x"}}]`, 400, "error"}, {`[{"type":"loadForever","tieredReplicants":[]}]`, 400, "error"},
			{`[{"type":"loadForever","tieredReplicants":{"t":99999999999}}]`, 400, "error"},
		},
	},
	{"POST /service/coordinator/v1/rules/_default", wrong{"", 400, "Rules cannot be null."}, wrong{"", 400, "Cluster-level rules cannot be empty."}, wrong{"", 400, "error"}, nil},
	{
		"POST /service/coordinator/v1/config", wrong{"", 400, "must be an object"}, wrong{"", 400, "error"}, wrong{"", 400, "error"},
		[]wrong{
			{`{"killTaskSlotRatio":1.1}`, 400, "killTaskSlotRatio [1.1] is invalid"}, {`{"killTaskSlotRatio":"x"}`, 400, "error"}, {`{"maxKillTaskSlots":-1}`, 400, "maxKillTaskSlots [-1] is invalid"},
			{`{"decommissioningMaxPercentOfMaxSegmentsToMove":101}`, 400, "[0, 100]"}, {`{"pauseCoordination":"maybe"}`, 400, "error"}, {`{"killDataSourceWhitelist":5}`, 400, "error"},
			{`{"millisToWaitBeforeDeleting":99999999999999999999}`, 400, "error"}, {`{"cloneServers":[]}`, 400, "error"}, {`{"nosuch":1}`, 200, ""},
		},
	},
	{
		"POST /service/indexer/v1/worker", wrong{"", 400, ""}, wrong{"", 400, ""}, wrong{"", 400, ""},
		[]wrong{{`{"type":"frob"}`, 400, ""}, {`{"type":"default","selectStrategy":{"type":"javascript"}}`, 400, ""}, {`{"type":"default","selectStrategy":[]}`, 400, ""}},
	},
	{
		"POST /service/coordinator/v1/config/compaction", wrong{"", 400, "compaction configuration"}, wrong{"", 400, "error"}, wrong{"", 400, "error"},
		[]wrong{
			{`{}`, 400, "no [dataSource]"}, {`{"dataSource":[5]}`, 400, "dataSource"}, {`{"dataSource":"events","skipOffsetFromLatest":"x"}`, 400, "x"},
			{`{"dataSource":"events","taskPriority":"x"}`, 400, "taskPriority"}, {`{"dataSource":"events","inputSegmentSizeBytes":-1}`, 400, "inputSegmentSizeBytes [-1]"},
			{`{"dataSource":"events","maxRowsPerSegment":0}`, 400, "maxRowsPerSegment [0]"}, {`{"dataSource":"events","engine":"frob"}`, 400, "engine [frob]"},
			{`{"dataSource":"events","engine":"msq"}`, 400, "supported only with supervisor-based compaction"}, {`{"dataSource":"events","skipIntervals":["x"]}`, 400, "x"},
			{`{"dataSource":"events","granularitySpec":{"segmentGranularity":"FROB"}}`, 400, "FROB"}, {`{"dataSource":"events","granularitySpec":[]}`, 400, "error"},
			{`{"dataSource":"events","dimensionsSpec":{"dimensions":[5]}}`, 400, "dimension"}, {`{"dataSource":"events","dimensionsSpec":{"dimensions":[{}]}}`, 400, "dimension"},
			{`{"dataSource":"events","metricsSpec":[5]}`, 400, "metric"}, {`{"dataSource":"events","metricsSpec":[{"type":"longSum"}]}`, 400, "[name]"},
			{`{"dataSource":"events","transformSpec":{"filter":5}}`, 400, "filter"}, {`{"dataSource":"events","tuningConfig":{"type":"frob"}}`, 400, "frob"},
			{`{"dataSource":"events","tuningConfig":{"partitionsSpec":{}}}`, 400, "no [type]"}, {`{"dataSource":"events","tuningConfig":{"partitionsSpec":{"type":"frob"}}}`, 400, "frob"},
			{`{"dataSource":"events","tuningConfig":{"partitionsSpec":{"type":"range"}}}`, 400, "exactly one"}, {`{"dataSource":"events","tuningConfig":{"maxNumConcurrentSubTasks":0}}`, 400, "maxNumConcurrentSubTasks"},
			{`{"dataSource":"events","taskContext":5}`, 400, "taskContext"}, {`{"dataSource":"events","ioConfig":{"dropExisting":"x"}}`, 400, "error"},
		},
	},
	{
		"POST /service/coordinator/v1/config/compaction/cluster", wrong{"", 400, "must be an object"}, wrong{"", 400, "error"}, wrong{"", 400, "error"},
		[]wrong{
			{`{"compactionTaskSlotRatio":-1}`, 400, "compactionTaskSlotRatio [-1]"}, {`{"maxCompactionTaskSlots":-1}`, 400, "maxCompactionTaskSlots [-1]"}, {`{"engine":"frob"}`, 400, "engine [frob]"},
			{`{"engine":"msq"}`, 400, "only with compaction supervisors"}, {`{"compactionPolicy":{"type":"frob"}}`, 400, "frob"}, {`{"compactionPolicy":5}`, 400, "compactionPolicy"},
			{`{"compactionPolicy":{"type":"fixedIntervalOrder"}}`, 400, "eligibleCandidates"}, {`{"compactionPolicy":{"type":"mostFragmentedFirst","minUncompactedCount":-1}}`, 400, "not be negative"},
		},
	},
	{"POST /service/indexer/v1/compaction/config/datasources/other", wrong{"", 400, "compaction configuration"}, wrong{"", 400, "error"}, wrong{"", 400, "error"},
		[]wrong{{`{"dataSource":"events"}`, 400, "DataSource in spec[events] does not match DataSource in path[other]"}}},
	{"POST /service/coordinator/v1/compaction/simulate", wrong{"", 200, "compactionStates"}, wrong{"", 400, "error"}, wrong{"", 400, "error"}, []wrong{{`{"engine":"frob"}`, 400, "engine [frob]"}}},
	{
		"POST /service/coordinator/v1/datasources/events/markUsed", wrong{"", 400, "Invalid request payload"}, wrong{"", 400, "error"}, wrong{"", 400, "error"},
		[]wrong{
			{`{}`, 400, "Invalid request payload"}, {`{"segmentIds":[]}`, 400, "Invalid request payload"}, {`{"interval":"2024/2025","segmentIds":["a"]}`, 400, "Invalid request payload"},
			{`{"segmentIds":["a"],"versions":["1"]}`, 400, "Invalid request payload"}, {`{"interval":"x"}`, 400, "x"}, {`{"interval":5}`, 400, "error"}, {`{"segmentIds":5}`, 400, "error"},
			{`{"segmentIds":["nosuch"]}`, 400, "Could not find segment IDs[[nosuch]] for datasource[events]"}, {`{"interval":"2024/2025","versions":"x"}`, 400, "error"},
		},
	},
	{
		"POST /service/indexer/v1/datasources/events/markUnused", wrong{"", 400, "Invalid request payload"}, wrong{"", 400, "error"}, wrong{"", 400, "error"},
		[]wrong{{`{"interval":"x"}`, 400, "x"}, {`{"segmentIds":["nosuch"]}`, 200, `{"numChangedSegments":0,"segmentStateChanged":false}`}, {`{"interval":"2024/2025","versions":[]}`, 200, `"numChangedSegments":0`}},
	},
	{"POST /service/coordinator/v1/metadata/datasources/events/segments", wrong{"", 400, "intervals"}, wrong{"", 200, "[]"}, wrong{"", 400, "error"}, []wrong{{`["x"]`, 400, "x"}, {`[5]`, 400, "error"}, {`{}`, 400, "error"}}},
	{
		"POST /service/coordinator/v1/broker/config", wrong{"", 400, "must be an object"}, wrong{"", 400, "error"}, wrong{"", 400, "error"},
		[]wrong{
			{`{"queryBlocklist":5}`, 400, "error"}, {`{"queryBlocklist":[{"type":"frob","ruleName":"a"}]}`, 400, "frob"}, {`{"queryBlocklist":[{"type":"default"}]}`, 400, "ruleName"},
			{`{"queryBlocklist":[{"type":"default","ruleName":"all"}]}`, 400, "[all]"}, {`{"queryContext":[]}`, 400, "error"}, {`{"nosuch":1}`, 200, ""},
		},
	},
	{"POST /service/coordinator/v1/lookups/config/__default/l", wrong{"", 400, "error"}, wrong{"", 400, "error"}, wrong{"", 400, "error"}, []wrong{{`{"version":"v1"}`, 400, "error"}}},
	{"POST /service/indexer/v1/supervisor", wrong{"", 400, "specification"}, wrong{"", 400, "error"}, wrong{"", 400, "error"}, []wrong{{`{"type":"frob"}`, 400, "frob"}}},
}

func TestBodiesOfManagement(t *testing.T) {
	s := withEvents(t)
	deep := strings.Repeat("[", 20_000)
	for _, b := range bodies {
		method, path, _ := strings.Cut(b.request, " ")
		try := func(media, body string, want wrong) {
			t.Helper()
			status, answer := exchange(t, s, method, path, media, body)
			if status != want.status || !strings.Contains(answer, want.want) || want.want == "" && answer != "" {
				t.Errorf("%s %.100s: %d %.300s\nwant %d %q", b.request, body, status, answer, want.status, want.want)
			}
			if status == 400 && strings.HasPrefix(answer, "{") {
				checkBody(t, fmt.Sprintf("%s %.100s", b.request, body), answer)
			}
		}
		garbled := wrong{"", 400, "error"}
		if b.text.want == "" {
			garbled.want = ""
		}
		try("application/json", "", b.null)
		try("application/json", "null", b.null)
		try("application/json", "[]", b.list)
		try("application/json", `"x"`, b.text)
		try("application/json", "{", garbled)
		try("application/json", "{}}", garbled)
		try("application/json", "\xff\xfe", garbled)
		try("application/json", deep, garbled)
		for _, body := range []string{"[]", `"x"`, "5", "true", `{"type":[]}`, `{"dataSource":[],"dataSources":5,"type":{},"config":"x"}`, "[[]]", "[5]"} {
			if _, answer := exchange(t, s, method, path, "application/json", body); strings.Contains(answer, "json: ") || strings.Contains(answer, " Go ") {
				t.Errorf("%s %s: the message names types of the program: %.300s", b.request, body, answer)
			}
		}
		try("text/plain", "{}", wrong{"", 415, ""})
		try("", "{}", wrong{"", 415, ""})
		for _, m := range b.more {
			try("application/json", m.value, m)
		}
	}
}

// Paths and methods that are not there.
func TestPathsOfManagement(t *testing.T) {
	s := withEvents(t)
	for _, c := range []struct {
		request string
		status  int
	}{
		{"GET /service/coordinator/v1/nosuch", 404}, {"GET /service/indexer/v1/nosuch", 404}, {"POST /service/coordinator/v1/datasources", 405},
		{"DELETE /service/coordinator/v1/config", 405}, {"DELETE /service/coordinator/v1/rules/events", 405}, {"PUT /service/coordinator/v1/rules/events", 405},
		{"GET /service/coordinator/v1/datasources/events/markUsed", 405}, {"GET /service/coordinator/v1/compaction/compact", 405}, {"POST /service/coordinator/v1/why", 405},
		{"POST /service/coordinator/v1/intervals", 405}, {"DELETE /service/coordinator/v1/servers", 405}, {"PATCH /service/coordinator/v1/config/compaction", 405},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		if status, answer := exchange(t, s, method, path, "", ""); status != c.status || !strings.Contains(answer, `"errorMessage":"`) {
			t.Errorf("%s: %d %.200s, want %d and what is wrong", c.request, status, answer, c.status)
		}
	}
}

// What the Router answers itself it answers behind /proxy too.
func TestManagementBehindTheProxy(t *testing.T) {
	s := withEvents(t)
	for path, want := range map[string]string{
		"/proxy/overlord/service/indexer/v1/supervisor": "[]", "/proxy/coordinator/service/coordinator/v1/metadata/datasources": `["events"]`,
		"/proxy/coordinator/service-ext/basic-security/authentication/db/x/users": `{"error":"Basic authenticator with name [x] does not exist."}`,
	} {
		if _, answer := exchange(t, s, http.MethodGet, path, "", ""); answer != want {
			t.Errorf("%s: %s, want %s", path, answer, want)
		}
	}
}

// exchange sends a request to the Router and returns status and body.
func exchange(t *testing.T, s *server.Server, method, path, media, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.Addresses["router"]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	return answered(t, r)
}

// answered sends a request and returns status and body.
func answered(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
