package security

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// An upload is of who has sent it: nobody else samples, queries, loads, sees or deletes it, by
// whatever way, in one process and in a cluster.
func TestUploadsBelongToTheirUsers(t *testing.T) {
	grants := []string{"* DATASOURCE *", "READ EXTERNAL EXTERNAL", "* STATE STATE"}
	who := server.People{"admin": {"* * *"}, "ann": grants, "bob": grants, "writer": {"* DATASOURCE *"}, "watcher": {"READ STATE STATE"}}
	const path, internal = "/service/indexer/v1/uploads", "/service-internal/v1/uploads/"
	check := func(t *testing.T, c *server.Client) {
		status, answer, err := c.As("ann").Send(t.Context(), "router", http.MethodPost, path+"?name=a.json", `{"t":1,"x":"secret"}`)
		var sent struct {
			ID     string          `json:"id"`
			Source json.RawMessage `json:"inputSource"`
		}
		if err != nil || status != 200 || json.Unmarshal(answer, &sent) != nil {
			t.Fatal(status, string(answer), err)
		}
		source := string(sent.Source)
		combined := `{"type":"combining","delegates":[{"type":"inline","data":"{}"},` + source + `]}`
		sample := func(source string) string {
			return `{"type":"index","spec":{"ioConfig":{"type":"index","inputSource":` + source + `,"inputFormat":{"type":"json"}},` +
				`"dataSchema":{"dataSource":"s","timestampSpec":{"column":"t","format":"millis"},"dimensionsSpec":{}}}}`
		}
		selected := "SELECT x FROM TABLE(EXTERN('" + source + `', '{"type":"json"}')) EXTEND (x VARCHAR)`
		load := func(source string) string {
			return `{"type":"index_parallel","spec":{"dataSchema":{"dataSource":"wiki","timestampSpec":{"column":"t","format":"millis"},` +
				`"dimensionsSpec":{"dimensions":["x"]},"granularitySpec":{"segmentGranularity":"ALL"}},` +
				`"ioConfig":{"type":"index_parallel","inputSource":` + source + `,"inputFormat":{"type":"json"}}}}`
		}
		const gone = "does not exist"
		run(t, c, []exchange{
			{"writer", "POST", path, "x", 403, "Unauthorized", ""}, {"", "POST", path, "x", 401, "", ""},
			{"ann", "GET", path, "", 200, sent.ID, ""}, {"bob", "GET", path, "", 200, `"uploads":[]`, sent.ID},
			{"ann", "POST", sqlPath, statement(selected), 200, "secret", ""},
			{"bob", "POST", sqlPath, statement(selected), 404, gone, "secret"},
			{"bob", "POST", statementsPath, statement(selected, "executionMode=ASYNC"), 404, gone, "secret"},
			{"bob", "POST", "/service/v2/sql/task", statement("INSERT INTO wiki SELECT TIMESTAMP '2024-01-01' AS __time, x FROM (" +
				selected + ") PARTITIONED BY ALL"), 404, gone, "secret"},
			{"ann", "POST", "/service/indexer/v1/sampler", sample(source), 200, "secret", ""},
			{"bob", "POST", "/service/indexer/v1/sampler", sample(source), 404, gone, "secret"},
			{"bob", "POST", "/service/indexer/v1/sampler", sample(combined), 404, gone, "secret"},
			{"bob", "POST", taskPath, load(source), 404, gone, ""}, {"bob", "POST", taskPath, load(combined), 404, gone, ""},
			{"bob", "DELETE", path + "/" + sent.ID, "", 404, gone, ""}, {"admin", "DELETE", path + "/" + sent.ID, "", 404, gone, ""},
			{"ann", "POST", taskPath, load(combined), 200, "task", ""},
		})
		for _, role := range []string{"router", "overlord"} {
			for _, at := range []string{internal + sent.ID, internal + sent.ID + "/content"} {
				status, answer, err := c.As("watcher").Send(t.Context(), role, http.MethodGet, at, "")
				if err != nil || status < 400 || strings.Contains(string(answer), "secret") || strings.Contains(string(answer), "a.json") {
					t.Errorf("%s of the %s: %d %s %v", at, role, status, answer, err)
				}
			}
		}
	}
	t.Run("one process", func(t *testing.T) {
		s := server.Start(t, server.Options{People: who})
		load(t, &s.Client, "wiki")
		check(t, &s.Client)
	})
	t.Run("cluster", func(t *testing.T) {
		c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small, People: who})
		load(t, &c.Client, "wiki")
		check(t, &c.Client)
	})
}
