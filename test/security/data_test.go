package security

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// exchange is a request, and what is expected of its answer.
type exchange struct {
	user, method, path, body string
	status                   int
	// has is in the answer, and lacks is not; empty: anything.
	has, lacks string
}

// run sends requests in order.
func run(t *testing.T, c *server.Client, list []exchange) {
	t.Helper()
	for _, x := range list {
		status, answer, err := c.As(x.user).Send(t.Context(), "router", x.method, x.path, x.body)
		if err != nil {
			t.Fatalf("%s %s as %q: %v", x.method, x.path, x.user, err)
		}
		text := string(answer)
		if status != x.status || !strings.Contains(text, x.has) || x.lacks != "" && strings.Contains(text, x.lacks) {
			t.Errorf("%s %s %.200s as %q: got %d %.500s\nwant %d with %q and without %q",
				x.method, x.path, x.body, x.user, status, text, x.status, x.has, x.lacks)
		}
	}
}

// statement is the body of a request for a statement.
func statement(text string, context ...string) string {
	body := map[string]any{"query": text}
	if len(context) > 0 {
		of := map[string]any{}
		for _, c := range context {
			key, value, _ := strings.Cut(c, "=")
			of[key] = value
		}
		body["context"] = of
	}
	out, _ := json.Marshal(body)
	return string(out)
}

// load fills a datasource through a task of the administrator.
func load(t *testing.T, c *server.Client, name string) {
	t.Helper()
	task(t, c, "admin",
		fmt.Sprintf(`REPLACE INTO %s OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, x FROM (VALUES ('2026-01-01', 'secret of %s')) AS v(t, x) `+
			`PARTITIONED BY ALL`, name, name))
}

// task runs a statement as a task and returns its id when it has succeeded.
func task(t *testing.T, c *server.Client, user, sql string) string {
	t.Helper()
	var submitted struct {
		Task string `json:"taskId"`
	}
	if err := c.As(user).Call(t.Context(), http.MethodPost, "/service/v2/sql/task", map[string]any{"query": sql}, &submitted); err != nil {
		t.Fatal(err)
	}
	await(t, c, submitted.Task)
	return submitted.Task
}

// await returns when a task has succeeded.
func await(t *testing.T, c *server.Client, id string) {
	t.Helper()
	for {
		var of struct {
			Status struct {
				Code  string `json:"statusCode"`
				Error string `json:"errorMsg"`
			} `json:"status"`
		}
		if err := c.As("admin").Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+id+"/status", nil, &of); err != nil {
			t.Fatal(err)
		}
		switch of.Status.Code {
		case "SUCCESS":
			return
		case "FAILED":
			t.Fatalf("task [%s] failed: %s", id, of.Status.Error)
		}
	}
}

const (
	sqlPath        = "/service/v2/sql"
	nativePath     = "/service/v2"
	statementsPath = "/service/v2/sql/statements"
	taskPath       = "/service/indexer/v1/task"
)

// extern is external data that is in the statement.
const extern = `TABLE(EXTERN('{"type":"inline","data":"a\n1"}', '{"type":"csv","findColumnsFromHeader":true}', ` +
	`'[{"name":"a","type":"string"}]'))`

func TestStatementsNeedWhatTheyTouch(t *testing.T) {
	s := server.Start(t, server.Options{People: people})
	c := &s.Client
	load(t, c, "wiki")
	load(t, c, "other")
	refused := `"Access-Check-Result":"Unauthorized"`
	list := []exchange{
		{"nobody", "POST", sqlPath, statement("SELECT 1 AS one"), 200, `"one":1`, ""},
		{"nobody", "POST", sqlPath, statement("SELECT * FROM nothing"), 400, "nothing", refused}, // a name that is not there comes first
		{"nobody", "POST", sqlPath, statement("SELECT * FROM wiki"), 403, refused, "secret"},
		{"wiki", "POST", sqlPath, statement("SELECT * FROM wiki"), 200, "secret of wiki", ""},
		{"writer", "POST", sqlPath, statement("SELECT * FROM wiki"), 403, refused, "secret"},
		{"nobody", "POST", sqlPath, statement("EXPLAIN PLAN FOR SELECT * FROM wiki"), 403, refused, ""},
		{"nobody", "POST", sqlPath, statement("EXPLAIN ANALYZE SELECT * FROM wiki"), 403, refused, ""},
	}
	// Every place of a statement in which a table can be.
	for _, text := range []string{
		"SELECT * FROM wiki JOIN other ON wiki.x = other.x", "SELECT * FROM wiki WHERE x IN (SELECT x FROM other)",
		"SELECT (SELECT MAX(x) FROM other) FROM wiki", "SELECT x FROM wiki UNION ALL SELECT x FROM other",
		"WITH o AS (SELECT * FROM other) SELECT * FROM wiki, o", "SELECT * FROM wiki WHERE EXISTS (SELECT 1 FROM other WHERE other.x = wiki.x)",
		"SELECT COUNT(*) FROM (SELECT * FROM other)", "SELECT * FROM wiki LEFT JOIN (SELECT x FROM other) o ON o.x = wiki.x",
		"SELECT * FROM TABLE(APPEND('wiki', 'other'))", "SET a = 1; SELECT * FROM other",
	} {
		list = append(list, exchange{"wiki", "POST", sqlPath, statement(text), 403, refused, "secret"},
			exchange{"reader", "POST", sqlPath, statement(text), 200, "", refused},
			exchange{"wiki", "POST", statementsPath, statement(text, "executionMode=ASYNC"), 403, `"error":"druidException"`, ""},
			exchange{"wiki", "POST", sqlPath + "/task", statement(text), 403, `"taskId":"forbidden"`, ""})
	}
	list = append(list,
		exchange{"wiki", "POST", sqlPath, statement("SELECT * FROM " + extern), 403, refused, ""},
		exchange{"editor", "POST", sqlPath, statement("SELECT * FROM " + extern), 200, `"a":"1"`, ""},
		exchange{"wiki", "POST", sqlPath + "/task", statement("INSERT INTO wiki SELECT * FROM wiki PARTITIONED BY ALL"), 403, "forbidden", ""},
		exchange{"editor", "POST", sqlPath + "/task", statement("INSERT INTO wiki SELECT * FROM other PARTITIONED BY ALL"), 403,
			"forbidden", ""},
		exchange{"editor", "POST", sqlPath + "/task", statement("INSERT INTO fresh SELECT * FROM wiki PARTITIONED BY ALL"), 403,
			"forbidden", ""},
		exchange{"writer", "POST", sqlPath + "/task",
			statement("REPLACE INTO wiki OVERWRITE ALL SELECT * FROM wiki PARTITIONED BY ALL"), 403, "forbidden", ""},
		exchange{"editor", "POST", sqlPath + "/task", statement("EXPLAIN PLAN FOR INSERT INTO other SELECT * FROM wiki PARTITIONED BY ALL"), 403,
			"forbidden", ""},
		exchange{"editor", "POST", sqlPath + "/task",
			statement("INSERT INTO EXTERN(local(exportPath => '/nowhere')) AS CSV SELECT * FROM wiki"), 403, "forbidden", ""},
	)
	run(t, c, list)
}

func TestSystemTablesShowWhatMayBeSeen(t *testing.T) {
	s := server.Start(t, server.Options{People: people})
	c := &s.Client
	load(t, c, "wiki")
	load(t, c, "other")
	refused := `"Access-Check-Result":"Unauthorized"`
	var list []exchange
	for _, table := range []string{"segments", "tasks"} {
		text := statement(`SELECT DISTINCT datasource FROM sys.` + table)
		list = append(list, exchange{"nobody", "POST", sqlPath, text, 200, "[]", ""}, exchange{"wiki", "POST", sqlPath, text, 200,
			"wiki", "other"},
			exchange{"reader", "POST", sqlPath, text, 200, "other", ""})
	}
	for _, table := range []string{"servers", "server_properties", "server_segments", "decisions"} {
		text := statement(`SELECT * FROM sys.` + table + " LIMIT 3")
		list = append(list, exchange{"wiki", "POST", sqlPath, text, 403, refused, ""}, exchange{"stater", "POST", sqlPath, text, 200, "", ""})
	}
	columns := statement("SELECT DISTINCT TABLE_NAME FROM INFORMATION_SCHEMA.COLUMNS")
	tables := statement("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES")
	queries := statement("SELECT * FROM sys.queries")
	list = append(list,
		exchange{"stater", "POST", sqlPath, statement("SELECT * FROM sys.server_segments"), 200, "[]", ""},
		exchange{"reader", "POST", sqlPath, statement("SELECT * FROM sys.server_segments"), 200, "other_", ""},
		exchange{"wiki", "POST", sqlPath, columns, 200, "wiki", "other"}, exchange{"nobody", "POST", sqlPath, columns, 200, "segments", "wiki"},
		exchange{"wiki", "POST", sqlPath, tables, 200, "wiki", "other"}, exchange{"reader", "POST", sqlPath, tables, 200, "other", ""},
		exchange{"reader", "POST", sqlPath, statement("SELECT 'mark of reader'"), 200, "", ""},
		exchange{"wiki", "POST", sqlPath, queries, 200, `"user":"wiki"`, "mark of reader"},
		exchange{"stater", "POST", sqlPath, queries, 200, "mark of reader", ""},
		exchange{"wiki", "GET", sqlPath + "/queries?includeComplete", "", 200, "sys.queries", "mark of reader"},
		exchange{"stater", "GET", sqlPath + "/queries?includeComplete", "", 200, "mark of reader", ""},
	)
	run(t, c, list)
}

func TestSystemTablesCanNeedPermissionsOfTheirOwn(t *testing.T) {
	s := server.Start(t, server.Options{
		People:   server.People{"one": {"READ SYSTEM_TABLE segments"}, "none": {"READ STATE STATE"}, "admin": {"* * *"}},
		Settings: []string{"service.sql.planner.authorizeSystemTablesDirectly=true"},
	})
	refused := `"Access-Check-Result":"Unauthorized"`
	tables := statement("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES")
	run(t, &s.Client, []exchange{
		{"none", "POST", sqlPath, statement("SELECT * FROM sys.servers"), 403, refused, ""},
		{"none", "POST", sqlPath, statement("SELECT * FROM sys.segments"), 403, refused, ""},
		{"one", "POST", sqlPath, statement("SELECT * FROM sys.segments"), 200, "[]", ""},
		{"one", "POST", sqlPath, statement("SELECT * FROM sys.tasks"), 403, refused, ""},
		{"admin", "POST", sqlPath, statement("SELECT * FROM sys.servers"), 200, "router", ""},
		{"one", "POST", sqlPath, tables, 200, "segments", "servers"},
	})
}

func TestContextKeysCanNeedPermissions(t *testing.T) {
	who := server.People{"plain": {"READ DATASOURCE *"}, "timer": {"READ DATASOURCE *", "WRITE QUERY_CONTEXT timeout"}}
	refused := "Unauthorized"
	timed, other := statement("SELECT 1", "timeout=1000"), statement("SELECT 1", "useCache=true")
	free := statement("SELECT 1", "sqlQueryId=a", "sqlStringifyArrays=false")
	native := `{"queryType":"timeBoundary","dataSource":"nothing","context":{"timeout":1000}}`
	for _, test := range []struct {
		settings []string
		list     []exchange
	}{
		{nil, []exchange{
			{"plain", "POST", sqlPath, timed, 403, refused, ""}, {"timer", "POST", sqlPath, timed, 200, "", ""},
			{"timer", "POST", sqlPath, other, 403, refused, ""}, {"plain", "POST", sqlPath, free, 200, "", ""},
			{"plain", "POST", sqlPath, statement("SET timeout = 1000; SELECT 1"), 403, refused, ""},
			{"plain", "POST", sqlPath, statement("SET timeout = NULL; SELECT 1"), 403, refused, ""},
			{"timer", "POST", sqlPath, statement("SET timeout = 1000; SELECT 1"), 200, "", ""},
			{"plain", "POST", nativePath, native, 403, refused, ""}, {"timer", "POST", nativePath, native, 200, "[]", ""},
		}},
		{[]string{`service.auth.unsecuredContextKeys=["useCache"]`}, []exchange{
			{"plain", "POST", sqlPath, other, 200, "", ""}, {"plain", "POST", sqlPath, timed, 403, refused, ""},
		}},
		{[]string{`service.auth.securedContextKeys=["timeout"]`}, []exchange{
			{"plain", "POST", sqlPath, other, 200, "", ""}, {"plain", "POST", sqlPath, timed, 403, refused, ""},
		}},
	} {
		s := server.Start(t, server.Options{People: who, Settings: append(test.settings, "service.auth.authorizeQueryContextParams=true")})
		run(t, &s.Client, test.list)
	}
}

func TestNativeQueriesNeedTheirDatasources(t *testing.T) {
	s := server.Start(t, server.Options{People: people})
	c := &s.Client
	load(t, c, "wiki")
	load(t, c, "other")
	const rest = `"intervals":"2000/3000","granularity":"all","aggregations":[{"type":"count","name":"n"}]`
	refused := `{"Access-Check-Result":"Unauthorized"}`
	var list []exchange
	for _, source := range []string{
		`"other"`, `{"type":"table","name":"other"}`, `{"type":"union","dataSources":["wiki","other"]}`,
		`{"type":"query","query":{"queryType":"scan","dataSource":"other","intervals":"2000/3000","columns":["x"],"resultFormat":"list"}}`,
		`{"type":"join","left":"wiki","right":{"type":"query","query":{"queryType":"groupBy","dataSource":"other","intervals":"2000/3000",` +
			`"granularity":"all","dimensions":["x"]}},"rightPrefix":"r.","condition":"x == \"r.x\"","joinType":"INNER"}`,
		`{"type":"filter","base":"other","filter":{"type":"true"}}`,
	} {
		body := `{"queryType":"timeseries","dataSource":` + source + `,` + rest + `}`
		list = append(list, exchange{"wiki", "POST", nativePath, body, 403, refused, ""}, exchange{"reader", "POST", nativePath,
			body, 200, "", ""})
	}
	for _, body := range []string{
		`{"queryType":"timeBoundary","dataSource":"other"}`, `{"queryType":"segmentMetadata","dataSource":"other","intervals":"2000/3000"}`,
		`{"queryType":"dataSourceMetadata","dataSource":"other"}`, `{"queryType":"scan","dataSource":"other","intervals":"2000/3000"}`,
		`{"queryType":"search","dataSource":"other","intervals":"2000/3000","granularity":"all","query":{"type":"contains","value":"s"}}`,
		`{"queryType":"topN","dataSource":"other","dimension":"x","metric":"n","threshold":1,` + rest + `}`,
	} {
		list = append(list, exchange{"wiki", "POST", nativePath, body, 403, refused, "secret"}, exchange{"reader", "POST",
			nativePath, body, 200, "", ""},
			exchange{"wiki", "POST", nativePath, strings.Replace(body, "other", "wiki", 1), 200, "", ""})
	}
	for _, role := range []string{"historical", "indexer"} { // which answer from what they hold
		run(t, &server.Client{Addresses: map[string]string{"router": c.Addresses[role]}, HTTP: c.HTTP}, list)
	}
	list = append(list, exchange{"nobody", "DELETE", nativePath + "/unknown", "", 202, "", ""},
		exchange{"nobody", "DELETE", sqlPath + "/unknown", "", 404, "", ""})
	run(t, c, list)
}

func TestListsAreFiltered(t *testing.T) {
	s := server.Start(t, server.Options{People: people})
	c := &s.Client
	load(t, c, "wiki")
	load(t, c, "other")
	const coordinator, overlord = "/service/coordinator/v1", "/service/indexer/v1"
	for _, name := range []string{"wiki", "other"} {
		spec := fmt.Sprintf(`{"type":"autocompact","spec":{"dataSource":"%s"}}`, name)
		if status, answer, err := c.As("admin").Send(t.Context(), "overlord", "POST", overlord+"/supervisor",
			spec); err != nil || status != 200 {
			t.Fatalf("%d %s %v", status, answer, err)
		}
	}
	var list []exchange
	for _, path := range []string{
		coordinator + "/datasources", coordinator + "/datasources?full", coordinator + "/datasources?simple", coordinator +
			"/metadata/datasources",
		coordinator + "/metadata/datasources?full", coordinator + "/metadata/datasources?includeUnused", coordinator + "/metadata/segments",
		coordinator + "/metadata/segments?includeOvershadowedStatus", coordinator + "/intervals",
		overlord + "/tasks", overlord + "/completeTasks", overlord + "/supervisor", overlord + "/supervisor?full", overlord +
			"/supervisor?system",
		overlord + "/supervisor/history", nativePath + "/datasources",
	} {
		list = append(list, exchange{"wiki", "GET", path, "", 200, "wiki", "other"}, exchange{"nobody", "GET", path, "", 200, "", "wiki"},
			exchange{"reader", "GET", path, "", 200, "other", ""}, exchange{"writer", "GET", path, "", 200, "", "wiki"})
	}
	list = append(list,
		exchange{"wiki", "GET", overlord + "/tasks?datasource=other", "", 403, "Unauthorized", ""},
		exchange{"wiki", "GET", overlord + "/tasks?datasource=wiki", "", 200, "wiki", ""},
		exchange{"wiki", "GET", overlord + "/supervisor/autocompact__other", "", 403, "Unauthorized", ""},
		exchange{"wiki", "GET", overlord + "/supervisor/autocompact__other/history", "", 404, "No history", ""},
		exchange{"wiki", "GET", overlord + "/supervisor/autocompact__wiki/history", "", 200, "wiki", ""},
		exchange{"wiki", "GET", overlord + "/supervisor/autocompact__wiki", "", 200, "wiki", ""},
		exchange{"wiki", "GET", overlord + "/supervisor/gone", "", 404, "Cannot find any supervisor", ""},
		exchange{"wiki", "POST", overlord + "/supervisor/autocompact__wiki/suspend", "", 403, "Unauthorized", ""},
		exchange{"editor", "POST", overlord + "/supervisor", `{"type":"autocompact","spec":{"dataSource":"other"}}`, 403, "Unauthorized", ""},
		exchange{"editor", "POST", overlord + "/supervisor", `{"type":"autocompact","spec":{"dataSource":"wiki"}}`, 200, "wiki", ""},
		exchange{"editor", "POST", overlord + "/supervisor/suspendAll", "", 200, "success", ""},
		exchange{"reader", "GET", overlord + "/supervisor/autocompact__other", "", 200, `"suspended":false`, ""},
		exchange{"reader", "GET", overlord + "/supervisor/autocompact__wiki", "", 200, `"suspended":true`, ""},
		exchange{"nobody", "POST", overlord + "/supervisor/terminateAll", "", 200, "success", ""},
		exchange{"reader", "GET", overlord + "/supervisor", "", 200, "autocompact__other", ""},
		exchange{"editor", "POST", overlord + "/supervisor",
			`{"type":"scheduled_batch","schedulerConfig":{"type":"unix","schedule":"* * * * *"},` +
				`"spec":{"query":"REPLACE INTO wiki OVERWRITE ALL SELECT * FROM other PARTITIONED BY ALL"}}`, 403, "Unauthorized", ""},
		exchange{"editor", "POST", overlord + "/supervisor", `{"type":"scheduled_batch","dataSource":"wiki","schedulerConfig":{"type":"unix",` +
			`"schedule":"* * * * *"},"spec":{"query":"REPLACE INTO other OVERWRITE ALL SELECT * FROM wiki PARTITIONED BY ALL"}}`,
			403, "Unauthorized", ""},
		exchange{"wiki", "GET", coordinator + "/why?datasource=other", "", 403, "Unauthorized", ""},
		exchange{"wiki", "GET", coordinator + "/why", "", 403, "Unauthorized", ""}, exchange{"stater", "GET", coordinator +
			"/why", "", 200, "", ""},
		exchange{"wiki", "GET", overlord + "/compaction/config/datasources", "", 200, "compactionConfigs", "other"},
		exchange{"wiki", "GET", overlord + "/compaction/status/datasources", "", 200, "latestStatus", "other"},
	)
	run(t, c, list)
}
