package security

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// Statements belong to who sent them, in one process and in a cluster, whose Router passes the
// credentials on. (spec/security.md, section 12, row 17)
func TestStatementsBelongToTheirUsers(t *testing.T) {
	who := server.People{"admin": {"* * *"}, "ann": {"READ DATASOURCE wiki"}, "bob": {"READ DATASOURCE *"}, "stater": {"* STATE STATE"},
		"watcher": {"READ STATE STATE"}}
	check := func(t *testing.T, c *server.Client) {
		load(t, c, "wiki")
		var submitted struct {
			ID string `json:"queryId"`
		}
		body := json.RawMessage(statement("SELECT * FROM wiki", "executionMode=ASYNC"))
		if err := c.As("ann").Call(t.Context(), http.MethodPost, statementsPath, body, &submitted); err != nil {
			t.Fatal(err)
		}
		await(t, c, submitted.ID)
		at := statementsPath + "/" + submitted.ID
		const refused = `"errorMessage":"Unauthorized"`
		run(t, c, []exchange{
			{"ann", "GET", at, "", 200, "SUCCESS", ""}, {"ann", "GET", at + "/results", "", 200, "secret of wiki", ""},
			{"bob", "GET", at, "", 403, refused, "secret"}, {"bob", "GET", at + "/results", "", 403, refused, "secret"},
			{"bob", "DELETE", at, "", 403, refused, ""}, {"watcher", "GET", at, "", 200, "SUCCESS", ""},
			{"watcher", "DELETE", at, "", 403, refused, ""}, {"stater", "GET", at + "/results", "", 403, refused, "secret"},
			{"admin", "GET", at + "/results", "", 403, refused, "secret"}, {"stater", "DELETE", at, "", 200, "", ""},
			{"bob", "GET", statementsPath + "/query-none", "", 404, "", ""}, {"", "GET", at, "", 401, "Unauthorized request", ""},
			// The report of the task has the rows, too: it is of the datasource of queries.
			{"ann", "GET", taskPath + "/" + submitted.ID + "/reports", "", 403, "Unauthorized", "secret"},
			{"bob", "GET", taskPath + "/" + submitted.ID + "/status", "", 200, "SUCCESS", ""},
			{"ann", "POST", sqlPath, statement("SELECT COUNT(*) AS n FROM wiki"), 200, `"n":1`, ""},
			{"stater", "POST", sqlPath, statement("SELECT * FROM wiki"), 403, "Unauthorized", "secret"},
		})
	}
	t.Run("one process", func(t *testing.T) {
		s := server.Start(t, server.Options{People: who})
		check(t, &s.Client)
	})
	t.Run("cluster", func(t *testing.T) {
		c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small, People: who})
		check(t, &c.Client)
	})
}

// Who may write a datasource reads no other one by a task. (spec/security.md, section 12, row 16)
func TestTasksNeedWhatTheyRead(t *testing.T) {
	load := func(source string) string {
		return `{"type":"index_parallel","spec":{"dataSchema":{"dataSource":"wiki","timestampSpec":{"column":"t","format":"auto"},` +
			`"dimensionsSpec":{"dimensions":["x"]},"granularitySpec":{"segmentGranularity":"ALL"}},` +
			`"ioConfig":{"type":"index_parallel","inputSource":` +
			source + `,"inputFormat":{"type":"json"}}}}`
	}
	const inline, other = `{"type":"inline","data":"{\"t\":\"2026\"}"}`, `{"type":"druid","dataSource":"other","interval":"2000/3000"}`
	combined := `{"type":"combining","delegates":[` + inline + `,` + other + `]}`
	const refused = "Unauthorized"
	controller := `{"type":"query_controller","dataSource":"wiki",` +
		`"sqlQuery":"REPLACE INTO wiki OVERWRITE ALL SELECT * FROM other PARTITIONED BY ALL"}`
	sampled := `{"type":"index","spec":{"ioConfig":{"type":"index","inputSource":` + inline + `,"inputFormat":{"type":"json"}},` +
		`"dataSchema":{"dataSource":"s","timestampSpec":{"column":"t","format":"auto"},"dimensionsSpec":{}}}}`
	s := server.Start(t, server.Options{People: people})
	loadBoth := func(c *server.Client) {
		for _, name := range []string{"wiki", "other"} {
			task(t, c, "admin", `REPLACE INTO `+name+` OVERWRITE ALL SELECT TIMESTAMP '2026-01-01' AS __time, 'x' AS x PARTITIONED BY ALL`)
		}
	}
	loadBoth(&s.Client)
	run(t, &s.Client, []exchange{
		{"wiki", "POST", taskPath, load(inline), 403, refused, ""}, {"editor", "POST", taskPath, load(inline), 200, `"task"`, ""},
		{"editor", "POST", taskPath, load(other), 403, refused, ""}, {"editor", "POST", taskPath, load(combined), 403, refused, ""},
		{"editor", "POST", taskPath, `{"type":"kill","dataSource":"other","interval":"2000/3000"}`, 403, refused, ""},
		{"writer", "POST", taskPath, `{"type":"compact","dataSource":"wiki","interval":"2000/3000"}`, 403, refused, ""},
		{"editor", "POST", taskPath, controller, 403, refused, ""},
		{"editor", "POST", "/service/indexer/v1/sampler", sampled, 403, refused, ""},
		{"stater", "POST", "/service/indexer/v1/sampler", sampled, 200, "data", ""},
		{"stater", "POST", "/service/indexer/v1/sampler", strings.Replace(sampled, inline, other, 1), 403, refused, ""},
	})
	// With input source security, each type of input source needs a permission.
	secured := server.Start(t, server.Options{Settings: []string{"service.auth.enableInputSourceSecurity=true"}, People: server.People{
		"admin": {"* * *"}, "all": {"* DATASOURCE *", "* STATE STATE", "READ EXTERNAL EXTERNAL"},
		"inliner": {"* DATASOURCE *", "* STATE STATE", "READ EXTERNAL inline"}}})
	run(t, &secured.Client, []exchange{
		{"all", "POST", taskPath, load(inline), 403, refused, ""}, {"inliner", "POST", taskPath, load(inline), 200, `"task"`, ""},
		{"inliner", "POST", taskPath, load(other), 403, refused, ""},
		{"all", "POST", sqlPath, statement("SELECT * FROM " + extern), 403, refused, ""},
		{"inliner", "POST", sqlPath, statement("SELECT * FROM " + extern), 200, `"a":"1"`, ""},
		{"all", "POST", "/service/indexer/v1/sampler", sampled, 403, refused, ""},
		{"inliner", "POST", "/service/indexer/v1/sampler", sampled, 200, "data", ""},
	})
}

func TestConnectionsOfDriversAreOfTheirUsers(t *testing.T) {
	s := server.Start(t, server.Options{People: people})
	load(t, &s.Client, "wiki")
	const path = "/service/v2/sql/avatica/"
	open := func(id, user, password string) string {
		return `{"request":"openConnection","connectionId":"` + id + `","info":{"user":"` + user + `","password":"` + password + `"}}`
	}
	execute := func(id string) string {
		return `{"request":"prepareAndExecute","connectionId":"` + id + `","statementId":1,"sql":"SELECT x FROM wiki","maxRowCount":-1}`
	}
	create := func(id string) string { return `{"request":"createStatement","connectionId":"` + id + `"}` }
	run(t, &s.Client, []exchange{
		{"", "POST", path, `{"request":"openConnection","connectionId":"a","info":{}}`, 500, "Authentication failed", ""},
		{"", "POST", path, open("a", "wiki", "wrong"), 500, "authentication failed", ""},
		{"", "POST", path, create("a"), 500, "NoSuchConnection", ""},
		{"", "POST", path, open("b", "wiki", server.Password), 200, "openConnection", ""},
		{"", "POST", path, create("b"), 200, "createStatement", ""}, {"", "POST", path, execute("b"), 200, "secret of wiki", ""},
		{"", "POST", path, open("c", "nobody", server.Password), 200, "openConnection", ""},
		{"", "POST", path, create("c"), 200, "createStatement", ""}, {"", "POST", path, execute("c"), 500, "ForbiddenException", "secret"},
		// Credentials may come with each request instead; then nobody else uses the connection.
		{"wiki", "POST", path, `{"request":"openConnection","connectionId":"d","info":{}}`, 200, "openConnection", ""},
		{"wiki", "POST", path, create("d"), 200, "createStatement", ""}, {"wiki", "POST", path, execute("d"), 200, "secret of wiki", ""},
		{"nobody", "POST", path, execute("d"), 500, "ForbiddenException", "secret"},
		{"", "POST", path, execute("d"), 500, "Authentication", "secret"},
		{"nobody", "POST", path, `{"request":"closeConnection","connectionId":"d"}`, 500, "ForbiddenException", ""},
	})
}
