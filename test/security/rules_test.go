package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// sellers see a part of the datasource orders: what the datasource north has (load orders).
var sellers = server.People{
	"admin": {"* * *"},
	"north": {
		`READ DATASOURCE orders {"rows":"region = 'north'","columns":{"card":{"mask":"'*' || SUBSTRING(card, 3)"},"note":{"hide":true}}}`,
		"WRITE DATASOURCE copy", "WRITE DATASOURCE orders", "WRITE EXTERNAL *", "READ EXTERNAL *", "WRITE STATE STATE",
	},
	"both": {
		`READ DATASOURCE orders {"rows":"region = 'north'","columns":{"note":{"hide":true}}}`,
		`READ DATASOURCE orders {"rows":"region = 'south'"}`,
	},
	"broken": {`READ DATASOURCE orders {"rows":"gone = 'north'"}`},
}

// orders fills the datasource orders, and north with what the seller of that name sees of it.
func orders(t *testing.T, c *server.Client) {
	t.Helper()
	task(t, c, "admin", `REPLACE INTO orders OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, region, card, n, note FROM (VALUES
		('2026-01-01', 'south', '9999', 0, 'hidden one'), ('2026-01-02', 'north', '1234', 1, 'kept one'),
		('2026-01-02', 'north', '1235', 2, 'kept two'), ('2026-01-03', 'south', '8888', 0, 'hidden two'),
		('2026-01-03', 'north', '4434', 3, NULL), ('2026-01-05', NULL, '7777', 0, 'hidden three'), ('2026-01-05', 'north', NULL, 4, 'kept four'),
		('2026-01-09', 'south', '6666', 0, 'hidden four')) AS v(t, region, card, n, note) PARTITIONED BY DAY CLUSTERED BY region`)
	task(t, c, "admin", `REPLACE INTO north OVERWRITE ALL SELECT __time, region, '*' || SUBSTRING(card, 3) AS card, n FROM orders
		WHERE region = 'north' PARTITIONED BY DAY CLUSTERED BY region`)
}

// shown are queries of {t} whose answers tell of its rows in every way the engine has.
var shown = []string{
	"SELECT * FROM {t} ORDER BY n",
	"SELECT COUNT(*) FROM {t}",
	"SELECT MIN(__time), MAX(__time) FROM {t}",
	"SELECT MIN(card), MAX(card), MAX(n) FROM {t}",
	"SELECT region, COUNT(*), SUM(n) FROM {t} GROUP BY region",
	"SELECT card, COUNT(*) FROM {t} GROUP BY card ORDER BY 1",
	"SELECT region, SUM(n) AS s FROM {t} GROUP BY region ORDER BY s DESC LIMIT 1",
	"SELECT APPROX_COUNT_DISTINCT(region), COUNT(DISTINCT card) FROM {t}",
	"SELECT COUNT(*) FROM {t} WHERE 12 / n > 2",
	"SELECT SUM(12 / n) FROM {t}",
	"SELECT 12 / n FROM {t} ORDER BY 1",
	"SELECT COUNT(*) FROM {t} WHERE card = '*34'",
	"SELECT COUNT(*) FROM {t} WHERE card = '1234'",
	"SELECT COUNT(*) FROM {t} WHERE card LIKE '%99'",
	"SELECT COUNT(*) FROM {t} WHERE region = 'south' OR n = 0",
	"SELECT COUNT(*) FROM {t} WHERE region IS NULL",
	"SELECT COUNT(*) FROM {t} WHERE __time < TIMESTAMP '2026-01-02'",
	"SELECT COUNT(*) FROM {t} WHERE __time >= TIMESTAMP '2026-01-06'",
	"SELECT FLOOR(__time TO DAY), COUNT(*) FROM {t} GROUP BY 1 ORDER BY 1",
	"SELECT DISTINCT region FROM {t}",
	"SELECT a.n FROM {t} a JOIN {t} b ON a.card = b.card ORDER BY 1",
	"SELECT a.n, b.n FROM {t} a LEFT JOIN {t} b ON a.n = b.n + 1 ORDER BY 1",
	"SELECT COUNT(*) FROM {t} WHERE n IN (SELECT n FROM {t} WHERE region = 'south')",
	"SELECT (SELECT MAX(card) FROM {t})",
	"SELECT COUNT(*) FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE b.n = 12 / a.n)",
	"WITH x AS (SELECT * FROM {t}) SELECT COUNT(*) FROM x",
	"SELECT card FROM {t} UNION ALL SELECT region FROM {t} ORDER BY 1",
	"SELECT n FROM {t} INTERSECT SELECT n FROM {t} ORDER BY 1",
	"SELECT region, GROUPING(region), COUNT(*) FROM {t} GROUP BY GROUPING SETS ((region), ()) ORDER BY 2",
	"SELECT n, SUM(n) OVER (ORDER BY n), RANK() OVER (PARTITION BY region ORDER BY n) FROM {t} ORDER BY n",
	"SELECT LATEST(card, 10), EARLIEST(n) FROM {t}",
	"SELECT ARRAY_AGG(card) FROM (SELECT card FROM {t} ORDER BY n)",
	"SELECT CASE WHEN n > 1 THEN 12 / n END FROM {t} ORDER BY 1",
	"SELECT SUM(n) FILTER (WHERE region = 'south') FROM {t}",
	"SELECT region FROM {t} GROUP BY region HAVING MIN(12 / n) > 0",
	"SELECT SUM(n), MAX(card) FROM (SELECT n, card FROM {t} LIMIT 100)",
	"SELECT COUNT(*) FROM (SELECT n FROM {t} LIMIT 5)",
	"SELECT LOOKUP(card, 'names'), COUNT(*) FROM {t} GROUP BY 1 ORDER BY 1",
	"SELECT l.v, a.n FROM {t} a JOIN lookup.names l ON a.card = l.k ORDER BY 2",
}

// native are native queries of {t}, alike. Their intervals begin with a time chunk that has rows
// for both: a bucket of all of time has the time of the first chunk, whoever sees its rows.
var native = []string{
	`{"queryType":"timeseries","dataSource":"{t}","granularity":"all","intervals":["2026-01-02/2026-02-01"],
		"aggregations":[{"type":"count","name":"c"},{"type":"longSum","name":"s","fieldName":"n"}]}`,
	`{"queryType":"topN","dataSource":"{t}","granularity":"all","intervals":["2026-01-02/2026-02-01"],
		"dimension":"region","metric":"c","threshold":9,"aggregations":[{"type":"count","name":"c"}]}`,
	`{"queryType":"groupBy","dataSource":"{t}","granularity":"day","intervals":["2026-01-02/2026-02-01"],
		"dimensions":["card"],"aggregations":[{"type":"count","name":"c"}]}`,
	`{"queryType":"groupBy","dataSource":{"type":"query","query":{"queryType":"scan","dataSource":"{t}",
		"intervals":["2026-01-02/2026-02-01"],"columns":["region"]}},"granularity":"all","intervals":["1000/3000"],
		"dimensions":["region"]}`,
	`{"queryType":"search","dataSource":"{t}","granularity":"all","intervals":["2026-01-02/2026-02-01"],
		"query":{"type":"insensitive_contains","value":""}}`,
	`{"queryType":"timeBoundary","dataSource":"{t}"}`,
	`{"queryType":"timeseries","dataSource":{"type":"union","dataSources":["{t}"]},"granularity":"all",
		"intervals":["2026-01-02/2026-02-01"],"filter":{"type":"selector","dimension":"region","value":"south"},
		"aggregations":[{"type":"count","name":"c"}]}`,
}

// TestRulesShowWhatAFilteredCopyHas compares the answers about a datasource that rules limit with
// those about a copy of the rows and columns shown, with and without caches that another user
// fills.
func TestRulesShowWhatAFilteredCopyHas(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers, Settings: []string{
		"service.broker.cache.useResultLevelCache=true", "service.broker.cache.populateResultLevelCache=true",
		"service.broker.cache.useCache=true", "service.broker.cache.populateCache=true",
	}})
	c := &s.Client
	orders(t, c)
	const at = "/service/coordinator/v1/lookups/config"
	for _, body := range []string{"{}", `{"__default":{"names":{"version":"v1","lookupExtractorFactory":{"type":"map","map":
		{"*34":"masked","1234":"clear","9999":"hidden"}}}}}`} {
		if status, answer, err := c.As("admin").Send(t.Context(), "coordinator", http.MethodPost, at, body); err != nil || status/100 != 2 {
			t.Fatal(status, string(answer), err)
		}
	}
	server.Until(t, "the lookup is there", func() bool {
		rows, err := c.As("admin").Query(t.Context(), "SELECT COUNT(*) FROM lookup.names")
		return err == nil && fmt.Sprint(rows) == "[[3]]"
	})
	ask := func(user, path, body string) string {
		t.Helper()
		status, answer, err := c.As(user).Send(t.Context(), "router", http.MethodPost, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", status, strings.ReplaceAll(string(answer), `"orders_`, `"north_`))
	}
	compare := func(path, text string) {
		t.Helper()
		on, copied := strings.ReplaceAll(text, "{t}", "orders"), strings.ReplaceAll(text, "{t}", "north")
		if path == sqlPath {
			on, copied = statement(on), statement(copied)
		}
		want := ask("admin", path, copied)
		for range 2 { // the second time from a cache, and after somebody who sees all
			ask("admin", path, on)
			if got := ask("north", path, on); got != want {
				t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
			}
		}
	}
	for _, text := range shown {
		compare(sqlPath, text)
	}
	for _, text := range native {
		compare(nativePath, text)
	}
}

func TestRulesOfSeveralRolesAreUnited(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers})
	c := &s.Client
	orders(t, c)
	run(t, c, []exchange{
		{"both", "POST", sqlPath, statement("SELECT COUNT(*) AS c FROM orders"), 200, `[{"c":7}]`, ""},
		{"both", "POST", sqlPath, statement("SELECT note FROM orders"), 200, "hidden one", "hidden three"},
		{"broken", "POST", sqlPath, statement("SELECT COUNT(*) FROM orders"), 403, "role [broken]", `"c":`},
		{"broken", "POST", nativePath, strings.ReplaceAll(native[0], "{t}", "orders"), 403, "role [broken]", `"c":`},
	})
}

// What tells of rows that are not shown is refused, and so is what would lose them.
func TestRulesCloseOtherDoors(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers})
	c := &s.Client
	orders(t, c)
	refused := "Unauthorized"
	table := func(name string) string { return "SELECT * FROM sys." + name + " WHERE datasource = 'orders'" }
	columns := "SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'orders'"
	list := []exchange{
		{"north", "POST", sqlPath, statement("SELECT note FROM orders"), 400, "note", "hidden"},
		{"north", "POST", sqlPath, statement(columns), 200, "card", "note"},
		{"north", "POST", sqlPath, statement(table("segments")), 200, "[]", "orders"},
		{"north", "POST", sqlPath, statement(table("tasks")), 200, "[]", "orders"},
		{"north", "POST", sqlPath, statement("EXPLAIN ANALYZE SELECT COUNT(*) FROM orders"), 403, "EXPLAIN ANALYZE describes", ""},
		{"north", "POST", sqlPath, statement("EXPLAIN PLAN FOR SELECT COUNT(*) FROM orders WHERE 1 / n > 0"), 200, "north", "hidden"},
		{"north", "POST", nativePath, `{"queryType":"segmentMetadata","dataSource":"orders"}`, 403, "segmentMetadata", "card"},
		{"north", "POST", nativePath, `{"queryType":"dataSourceMetadata","dataSource":"orders"}`, 403, "dataSourceMetadata", "2026"},
		{"north", "POST", taskPath, `{"type":"index_parallel","spec":{"dataSchema":{"dataSource":"copy",
			"timestampSpec":{"column":"__time","format":"millis"},"dimensionsSpec":{}},"ioConfig":{"type":"index_parallel",
			"inputSource":{"type":"druid","dataSource":"orders","interval":"2026/2027"}}}}`, 403, refused, ""},
		{"north", "POST", taskPath, `{"type":"compact","dataSource":"orders",
			"ioConfig":{"type":"compact","inputSpec":{"type":"interval","interval":"2026/2027"}}}`, 403, refused, ""},
	}
	const source = `TABLE(EXTERN('{"type":"druid","dataSource":"orders","interval":"2000/3000"}', '{"type":"json"}')) EXTEND (card VARCHAR)`
	for text, why := range map[string]string{
		"REPLACE INTO orders OVERWRITE ALL SELECT * FROM orders PARTITIONED BY ALL": "would delete the rest",

		"REPLACE INTO orders OVERWRITE ALL SELECT a.* FROM north a JOIN orders b ON a.n = b.n PARTITIONED BY ALL":                "",
		"REPLACE INTO orders OVERWRITE ALL SELECT (SELECT MAX(n) FROM orders) AS m FROM (VALUES (1)) AS v(x) PARTITIONED BY ALL": "role [north]",
		"INSERT INTO copy SELECT * FROM " + source + " PARTITIONED BY ALL":                                                       refused,
	} {
		list = append(list, exchange{"north", "POST", sqlPath + "/task", statement(text), 403, why, "1234"})
	}
	list = append(list, exchange{"north", "POST", sqlPath, statement("SELECT * FROM " + source), 403, refused, "1234"})
	for _, path := range []string{
		"/service/v2/datasources/orders", "/service/coordinator/v1/datasources/orders/segments",
		"/service/coordinator/v1/metadata/datasources/orders/segments",
	} {
		list = append(list, exchange{"north", "GET", path, "", 403, refused, "2026"})
	}
	run(t, c, list)
}

func TestAccessIsExplained(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers})
	c := &s.Client
	orders(t, c)
	of := func(user, text string) string { return statement("EXPLAIN ACCESS FOR USER " + user + " " + text) }
	const text = "SELECT * FROM orders JOIN north ON orders.n = north.n"
	run(t, c, []exchange{
		{"admin", "POST", sqlPath, of("north", "SELECT * FROM orders"), 200,
			`"ALLOWED":true,"RULES":"[{\"role\":\"north\",\"rows\":\"region = 'north'`, "1234"},
		{"admin", "POST", sqlPath, of("'north'", text), 200,
			`{"RESOURCE":"north","TYPE":"DATASOURCE","ACTION":"READ","ALLOWED":false,"RULES":null}`, ""},
		{"admin", "POST", sqlPath, of("admin", text), 200, `"ALLOWED":true,"RULES":null`, "false"},
		{"admin", "POST", sqlPath, of("stranger", text), 200, `"ALLOWED":false`, "true"},
		{"admin", "POST", sqlPath, of("broken", "SELECT * FROM orders"), 403, "role [broken]", "ALLOWED"},
		{"admin", "POST", sqlPath, of("north", "SELECT note FROM orders"), 400, "note", "hidden"}, // what the user would be told
		{"north", "POST", sqlPath, of("north", "SELECT * FROM orders"), 200, `"ALLOWED":true`, "1234"},
		{"north", "POST", sqlPath, of("admin", "SELECT * FROM orders"), 403, "Unauthorized", "ALLOWED"},
		{"admin", "POST", sqlPath, of("", "SELECT 1"), 400, "", "ALLOWED"},
		{"admin", "POST", statementsPath, statement("EXPLAIN ACCESS FOR USER admin SELECT * FROM orders", "executionMode=ASYNC"), 501,
			"EXPLAIN ACCESS is not supported", "ALLOWED"},
	})
	open := server.Start(t, server.Options{})
	run(t, &open.Client, []exchange{
		{"", "POST", sqlPath, of("north", "SELECT 1"), 400,
			"EXPLAIN ACCESS shows the permissions of users; without security everybody may do everything", ""},
	})
}

// Tasks that are submitted as statements read what the rules show, wherever they run; what they
// kept is their user's, and tells of no other rows.
func TestTasksReadByRules(t *testing.T) {
	who := server.People{"other": {"READ DATASOURCE *"}}
	maps.Copy(who, sellers)
	who["north"] = append([]string{"READ DATASOURCE copy"}, sellers["north"]...)
	dir := t.TempDir()
	settings := []string{"service.export.storage.baseDir=" + dir, `service.ingestion.local.allowedPaths=["` + dir + `"]`}
	check := func(t *testing.T, c *server.Client) {
		orders(t, c)
		id := task(t, c, "north", "REPLACE INTO copy OVERWRITE ALL SELECT * FROM orders WHERE 12 / n > 0 PARTITIONED BY ALL")
		run(t, c, []exchange{
			{"admin", "POST", sqlPath, statement("SELECT n, card, region FROM copy ORDER BY n"), 200,
				`[{"n":1,"card":"*34","region":"north"},{"n":2,"card":"*35","region":"north"},{"n":3,"card":"*34","region":"north"},` +
					`{"n":4,"card":null,"region":"north"}]`, ""},
			{"admin", "POST", sqlPath, statement("SELECT note FROM copy"), 400, "note", "kept"},
			{"admin", "GET", taskPath + "/" + id + "/reports", "", 200, "segmentGenerationProgress", `"input0"`},
		})
		var submitted struct {
			ID string `json:"queryId"`
		}
		body := json.RawMessage(statement("SELECT n, card FROM orders ORDER BY n", "executionMode=ASYNC"))
		if err := c.As("north").Call(t.Context(), http.MethodPost, statementsPath, body, &submitted); err != nil {
			t.Fatal(err)
		}
		await(t, c, submitted.ID)
		at := statementsPath + "/" + submitted.ID
		run(t, c, []exchange{
			{"north", "GET", at + "/results?resultFormat=array", "", 200, `[[1,"*34"],[2,"*35"],[3,"*34"],[4,null]]`, "9999"},
			{"north", "GET", at + "?detail=true", "", 200, "SUCCESS", `"input0"`},
			{"other", "GET", at + "/results", "", 403, "Unauthorized", "*34"},
			{"admin", "GET", at + "/results", "", 403, "Unauthorized", "*34"},
		})
		for user, want := range map[string]string{"both": "7", "broken": ""} {
			err := c.As(user).Call(t.Context(), http.MethodPost, statementsPath,
				json.RawMessage(statement("SELECT COUNT(*) AS c FROM orders", "executionMode=ASYNC")), &submitted)
			if user == "broken" {
				if err == nil || !strings.Contains(err.Error(), "role [broken]") {
					t.Error(err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			await(t, c, submitted.ID)
			run(t, c, []exchange{{user, "GET", statementsPath + "/" + submitted.ID + "/results?resultFormat=csv", "", 200, want, "8"}})
		}
		// What somebody sees is not for the client to say.
		run(t, c, []exchange{
			{"north", "POST", taskPath, `{"type":"query_controller","dataSource":"copy","sqlQuery":"REPLACE INTO copy OVERWRITE ALL SELECT * ` +
				`FROM orders PARTITIONED BY ALL","sqlSeen":{"rules":{}}}`, 403, "Unauthorized", ""},
			{"north", "POST", taskPath, `{"type":"query_controller","dataSource":"copy","sqlQuery":"REPLACE INTO copy OVERWRITE ALL SELECT * ` +
				`FROM orders PARTITIONED BY ALL"}`, 403, "submitted as SQL statements", ""},
		})
	}
	t.Run("one process", func(t *testing.T) {
		s := server.Start(t, server.Options{People: who, Settings: settings})
		check(t, &s.Client)
		c := &s.Client
		task(t, c, "north", "INSERT INTO EXTERN(local(exportPath => '"+dir+"/out')) AS CSV SELECT n, card FROM orders ORDER BY n")
		files, err := filepath.Glob(dir + "/out/*.csv")
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(text), "1,*34") || strings.Contains(string(text), "9999") {
			t.Errorf("%s %v", text, err)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small, People: who})
		check(t, &c.Client)
	})
}
