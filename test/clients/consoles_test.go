package clients

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/jsontext"
)

// consoleRequest is what a console of Druid asks for.
type consoleRequest struct {
	view, method, path, body string
	status                   int
	// shape has what the answer must be: list, object, text or nothing, with the members that the
	// console reads of an object, or of each element of a list.
	shape string
}

// sqlOf is the body of a console's SQL request.
func sqlOf(text string) string {
	body, err := jsontext.Marshal(map[string]any{
		"query": text, "resultFormat": "array", "header": true, "typesHeader": true, "sqlTypesHeader": true,
		"context": map[string]any{"sqlOuterLimit": 1001},
	})
	if err != nil {
		panic(err) // a text can be encoded
	}
	return string(body)
}

// objectsOf is the body of a request whose rows are objects.
func objectsOf(text string) string { return `{"query":` + quoted(text) + `}` }

func quoted(text string) string {
	out, err := jsontext.Marshal(text)
	if err != nil {
		panic(err) // a text can be encoded
	}
	return string(out)
}

const (
	sql, coordinator, indexer = "/druid/v2/sql", "/druid/coordinator/v1", "/druid/indexer/v1"

	supervised = `{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":{"type":"inline",` +
		`"data":"{\"t\":\"2024-01-01\",\"k\":\"a\"}"},` +
		`"inputFormat":{"type":"json"}},"dataSchema":{"dataSource":"sample","timestampSpec":{"column":"t","format":"auto"},"dimensionsSpec":{},` +
		`"granularitySpec":{"rollup":false}},"tuningConfig":{"type":"index_parallel"}},"samplerConfig":{"numRows":500,"timeoutMs":15000}}`
)

// consoleRequests are those that the consoles of releases 27 and 39 send at their start and on
// each view.
var consoleRequests = []consoleRequest{
	{"start", "GET", "/status", "", 200, "object version modules memory"},
	{"start", "GET", "/status/properties", "", 200, "object druid.router.managementProxy.enabled druid.extensions.loadList"},
	{"start", "POST", sql, `{"query":"SELECT 1337","context":{"timeout":15000}}`, 200, "list EXPR$0"},
	{"start", "GET", "/proxy/enabled", "", 200, "object enabled"},
	{"start", "GET", sql + "/task/enabled", "", 200, "object enabled"},
	{"start", "GET", sql + "/engines", "", 200, "object engines"},
	{"start", "GET", sql + "/statements/enabled", "", 200, "object enabled"},
	{"start", "GET", "/proxy/coordinator/status", "", 200, "object version"},
	{"start", "GET", "/proxy/overlord/status", "", 200, "object version"},
	{"start", "GET", indexer + "/totalWorkerCapacity", "", 200, "object currentClusterCapacity maximumCapacityWithAutoScale"},
	{"start", "POST", sql, objectsOf("SELECT ROUTINE_NAME, SIGNATURES, IS_AGGREGATOR FROM INFORMATION_SCHEMA.ROUTINES WHERE SIGNATURES IS " +
		"NOT NULL"), 200,
		"list ROUTINE_NAME SIGNATURES IS_AGGREGATOR"},
	{"home", "GET", "/status/health", "", 200, "true"},
	{"home", "POST", sql, objectsOf(`SELECT COUNT(*) AS "active", COUNT(*) FILTER (WHERE is_available = 1) AS "cached_on_historical", ` +
		`COUNT(*) FILTER (WHERE is_available = 0 AND replication_factor > 0) AS "unavailable", COUNT(*) FILTER (WHERE is_realtime = 1) AS ` +
		`"realtime" FROM sys.segments WHERE is_active = 1`),
		200, "list active cached_on_historical unavailable realtime"},
	{"home", "POST", sql, objectsOf(`SELECT server_type AS "service_type", COUNT(*) AS "count" FROM sys.servers GROUP BY 1`), 200,
		"list service_type count"},
	{"home", "POST", sql, objectsOf(`SELECT CASE WHEN "status" = 'RUNNING' THEN "runner_status" ELSE "status" END AS "status", COUNT(*) AS ` +
		`"count" FROM sys.tasks GROUP BY 1`),
		200, "list status count"},
	{"home", "POST", sql, objectsOf(`SELECT COUNT(*) FILTER (WHERE "suspended" = 0) AS "running", COUNT(*) FILTER (WHERE "suspended" = 1) ` +
		`AS "suspended" FROM sys.supervisors`),
		200, "list running suspended"},
	{"home", "GET", coordinator + "/lookups/status?discover=true", "", 404, "any"},
	{"datasources", "POST", sql, objectsOf(`SELECT datasource, COUNT(*) FILTER (WHERE is_active = 1) AS num_segments, COUNT(*) FILTER ` +
		`(WHERE is_published = 1 AND is_overshadowed = 0 ` +
		`AND replication_factor = 0) AS num_zero_replica_segments, COUNT(*) FILTER (WHERE is_active = 1 AND "start" LIKE '%T00:00:00.000Z' ` +
		`AND "end" LIKE '%T00:00:00.000Z') AS day_aligned, ` +
		`SUM("size") FILTER (WHERE is_active = 1) AS total_data_size, SUM("size" * "num_replicas") FILTER (WHERE is_active = 1) AS ` +
		`replicated_size, SUM("num_rows") FILTER (WHERE is_active = 1) ` +
		`AS total_rows, AVG("num_rows") FILTER (WHERE is_active = 1) AS avg_segment_rows FROM sys.segments GROUP BY datasource`), 200,
		"list datasource num_segments total_data_size replicated_size total_rows avg_segment_rows"},
	{"datasources", "GET", coordinator + "/datasources?simple", "", 200, "list name properties"},
	{"datasources", "GET", coordinator + "/metadata/datasources?includeUnused", "", 200, "list"},
	{"datasources", "GET", coordinator + "/rules", "", 200, "object _default"},
	{"datasources", "GET", coordinator + "/config/compaction", "", 200, "object compactionConfigs"},
	{"datasources", "GET", coordinator + "/compaction/status", "", 200, "object latestStatus"},
	{"datasources", "GET", indexer + "/compaction/status/datasources", "", 200, "object"},
	{"datasources", "GET", indexer + "/compaction/config/datasources", "", 200, "object"},
	{"datasources", "GET", coordinator + "/loadstatus", "", 200, "object visits"},
	{"datasources", "GET", coordinator + "/loadstatus?simple", "", 200, "object visits"},
	{"datasources", "GET", coordinator + "/tiers", "", 200, "list"},
	{"datasources", "GET", coordinator + "/rules/visits/history?count=200", "", 200, "list"},
	{"datasources", "GET", coordinator + "/config/compaction/visits/history?count=200", "", 200, "list"},
	{"segments", "POST", sql, objectsOf(`WITH s AS (SELECT "segment_id", "datasource", "start", "end", "version", "partition_num", ` +
		`"shard_spec", "size", "num_rows", "num_replicas", ` +
		`"replication_factor", "is_active", "is_published", "is_available", "is_realtime", "is_overshadowed" FROM sys.segments) SELECT * FROM ` +
		`s ORDER BY "start" DESC, "version" DESC LIMIT 50`),
		200, "list segment_id datasource start end version partition_num shard_spec size num_rows num_replicas replication_factor is_active " +
			"is_published is_available is_realtime is_overshadowed"},
	{"segments", "POST", sql, objectsOf(`SELECT "datasource" FROM sys.segments GROUP BY 1`), 200, "list datasource"},
	{"services", "POST", sql, objectsOf(`SELECT "server" AS "service", "server_type" AS "service_type", "tier", "host", "plaintext_port", ` +
		`"tls_port", "curr_size", "max_size", ` +
		`"is_leader", "start_time", "version", "labels", "available_processors", "total_memory" FROM sys.servers ORDER BY 2 DESC, 1 DESC`), 200,
		"list service service_type tier host plaintext_port tls_port curr_size max_size is_leader start_time version labels " +
			"available_processors total_memory"},
	{"services", "GET", coordinator + "/loadqueue?simple", "", 200, "object"},
	{"services", "GET", indexer + "/workers", "", 200, "list worker currCapacityUsed"},
	{"services", "GET", coordinator + "/config", "", 200, "object maxSegmentsToMove"},
	{"services", "GET", coordinator + "/config/history?count=100", "", 200, "list"},
	{"services", "GET", coordinator + "/config/cloneStatus", "", 200, "object"},
	{"services", "GET", coordinator + "/broker/config", "", 200, "object"},
	{"services", "GET", coordinator + "/broker/config/history?count=100", "", 200, "list"},
	{"services", "GET", indexer + "/worker", "", 200, "any"},
	{"services", "GET", indexer + "/worker/history?count=100", "", 200, "list"},
	{"services", "GET", coordinator + "/servers?simple", "", 200, "list host"},
	{"tasks", "POST", sql, objectsOf(`WITH tasks AS (SELECT "task_id", "group_id", "type", "datasource", "created_time", "location", ` +
		`"duration", "error_msg", ` +
		`CASE WHEN "error_msg" LIKE '%shutdown%' THEN 'CANCELED' WHEN "status" = 'RUNNING' THEN "runner_status" ELSE "status" END AS "status" ` +
		`FROM sys.tasks) ` +
		`SELECT * FROM tasks ORDER BY (CASE "status" WHEN 'RUNNING' THEN 4 WHEN 'PENDING' THEN 3 WHEN 'WAITING' THEN 2 ELSE 1 END) DESC, ` +
		`"created_time" DESC`), 200,
		"list task_id group_id type datasource created_time location duration error_msg status"},
	{"tasks", "GET", indexer + "/tasks", "", 200, "list id status"},
	{"supervisors", "POST", sql, objectsOf(`SELECT "supervisor_id", "type", "source", "state", "detailed_state", "healthy", "suspended" ` +
		`FROM sys.supervisors ORDER BY 1`), 200, "list"},
	{"supervisors", "GET", indexer + "/supervisor?full", "", 200, "list"},
	{"supervisors", "GET", indexer + "/supervisor?system", "", 200, "list"},
	{"supervisors", "GET", indexer + "/supervisor/history", "", 200, "object"},
	{"lookups", "GET", coordinator + "/lookups/config?discover=true", "", 200, "list"},
	{"lookups", "GET", coordinator + "/lookups/config/all", "", 404, "any"},
	{"lookups", "POST", coordinator + "/lookups/config", `{}`, 202, "any"},
	{"lookups", "GET", coordinator + "/lookups/config/all", "", 200, "object"},
	{"lookups", "GET", coordinator + "/lookups/status?discover=true", "", 200, "object"},
	{"workbench", "POST", sql, objectsOf("SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS"), 200,
		"list TABLE_SCHEMA TABLE_NAME COLUMN_NAME DATA_TYPE"},
	{"workbench", "POST", sql, sqlOf("SELECT channel, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 2 DESC"), 200, "list"},
	{"workbench", "POST", sql, sqlOf("EXPLAIN PLAN FOR SELECT channel, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 2 DESC"), 200, "list"},
	{"workbench", "POST", sql, sqlOf("SELECT nope FROM visits"), 400, "object error errorCode persona category errorMessage context"},
	{"workbench", "DELETE", sql + "/never-seen", "", 404, "any"},
	{"workbench", "GET", sql + "/queries", "", 200, "object queries"},
	{"load data", "POST", indexer + "/sampler?for=connect", supervised, 200, "object numRowsRead numRowsIndexed data"},
	{"load data", "POST", sql, sqlOf(`SELECT * FROM TABLE(EXTERN('{"type":"inline","data":"{\"a\":1}"}', '{"type":"json"}')) EXTEND (a ` +
		`BIGINT)`), 200, "list"},
	{"explore", "POST", sql, sqlOf(`SELECT * FROM visits WHERE (TIMESTAMP '2024-01-01' <= __time AND __time < TIMESTAMP '2024-01-03') ` +
		`LIMIT 0`), 200, "list"},
	{"explore", "POST", sql, sqlOf(`SELECT MAX(__time) AS t FROM visits`), 200, "list"},
	{"explore", "POST", sql, sqlOf(`SELECT TIME_FLOOR(__time, 'PT1H') AS "time", COUNT(*) AS "measure" FROM visits GROUP BY 1 ORDER BY ` +
		`"time" DESC`), 200, "list"},
}

// TestConsoles sends what the consoles of Druid send. They are not part of this project; those of
// releases 27 and 39 were run against it by hand.
func TestConsoles(t *testing.T) {
	t.Parallel()
	p, err := start(t.TempDir()) // one without lookups, as at the first start of a console
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := p.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range consoleRequests {
		status, _, body := get(t, r.method, p.Addresses["router"]+r.path, r.body)
		if problem := shaped(body, r.shape); status != r.status || problem != "" {
			t.Errorf("%s: %s %s %.300s: %d, want %d; %s\n%.500s", r.view, r.method, r.path, r.body, status, r.status, problem, body)
		}
	}
	t.Run("rows of a segment", func(t *testing.T) { rowsOfSegments(t, p) })
	t.Run("a task", func(t *testing.T) { viewOfTask(t, p) })
}

// shaped says what an answer lacks of a shape.
func shaped(body []byte, shape string) string {
	kind, members, _ := strings.Cut(shape, " ")
	if kind == "any" {
		return ""
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return "it is no JSON"
	}
	lacks := func(v any) string {
		object, ok := v.(map[string]any)
		if !ok && members != "" {
			return "it is no object"
		}
		for member := range strings.FieldsSeq(members) {
			if _, there := object[member]; !there {
				return "it lacks " + member
			}
		}
		return ""
	}
	switch v := value.(type) {
	case map[string]any:
		if kind != "object" {
			return "it is an object"
		}
		return lacks(v)
	case []any:
		if kind != "list" {
			return "it is a list"
		}
		if members != "" && len(v) == 0 {
			return "it is empty"
		}
		for _, element := range v {
			if problem := lacks(element); problem != "" {
				return problem
			}
		}
		return ""
	}
	if fmt.Sprint(value) != kind {
		return "it is " + fmt.Sprint(value)
	}
	return ""
}

// rowsOfSegments asks for what the view of a segment shows, its rows by a native query.
func rowsOfSegments(t *testing.T, p *process) {
	rows, err := p.Query(t.Context(), `SELECT "start", "end", "version", partition_num, segment_id FROM sys.segments WHERE datasource = `+
		`'visits' ORDER BY 1`)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v %v", rows, err)
	}
	for _, row := range rows {
		segment := fmt.Sprintf(`{"itvl":"%v/%v","ver":"%v","part":%v}`, row[0], row[1], row[2], row[3])
		body := `{"queryType":"scan","dataSource":"visits","intervals":{"type":"segments","segments":[` + segment +
			`]},"resultFormat":"compactedList","limit":1001,` +
			`"columns":[],"granularity":"all"}`
		status, _, text := get(t, http.MethodPost, p.Addresses["router"]+"/druid/v2", body)
		var parts []struct {
			SegmentID string
			Events    []any
		}
		if err := json.Unmarshal(text, &parts); err != nil || status != http.StatusOK || len(parts) != 1 || len(parts[0].Events) != 24 ||
			parts[0].SegmentID != row[4] {
			t.Errorf("%v: %d %.300s %v", row[4], status, text, err)
		}
		path := fmt.Sprintf("%s/metadata/datasources/visits/segments/%v", coordinator, row[4])
		if status, _, text := get(t, http.MethodGet, p.Addresses["router"]+path, ""); status != http.StatusOK || shaped(text,
			"object dimensions metrics shardSpec size") != "" {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// viewOfTask asks for what the view of a task shows.
func viewOfTask(t *testing.T, p *process) {
	rows, err := p.Query(t.Context(), `SELECT task_id FROM sys.tasks`)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%v %v", rows, err)
	}
	for rest, shape := range map[string]string{
		"": "object task payload", "/status": "object task status", "/reports": "object multiStageQuery", "/log?offset=-1000": "any",
	} {
		path := fmt.Sprintf("%s/task/%v%s", indexer, rows[0][0], rest)
		if status, _, text := get(t, http.MethodGet, p.Addresses["router"]+path, ""); status != http.StatusOK || shaped(text, shape) != "" {
			t.Errorf("%s: %d %.300s", path, status, text)
		}
	}
}
