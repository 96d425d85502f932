package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/timeline"
)

// Every door through which the name of a datasource comes in has one rule, and gives one reason.
func TestNamesOfDatasourcesAtEveryDoor(t *testing.T) {
	s := server.Start(t, server.Options{})
	quoted := func(name string) string {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	sql := func(text string) func(string) (string, string) {
		return func(name string) (string, string) {
			return "/service/v2/sql/task", `{"query":` + quoted(strings.ReplaceAll(text, "NAME", `"`+strings.ReplaceAll(name, `"`,
				`""`)+`"`)) + `}`
		}
	}
	body := func(path, text string) func(string) (string, string) {
		return func(name string) (string, string) { return path, strings.ReplaceAll(text, "NAME", quoted(name)) }
	}
	path := func(prefix, suffix, text string) func(string) (string, string) {
		return func(name string) (string, string) {
			return prefix + url.PathEscape(name) + suffix, strings.ReplaceAll(text, "NAME", quoted(name))
		}
	}
	const tasks = "/service/indexer/v1/task"
	load := strings.ReplaceAll(strings.ReplaceAll(baseLoad, `"DS"`, "NAME"), "index_parallel", "KIND")
	doors := map[string]func(name string) (path, body string){
		"INSERT":               sql("INSERT INTO NAME SELECT TIMESTAMP '2024-01-01' AS __time PARTITIONED BY DAY"),
		"REPLACE":              sql("REPLACE INTO NAME OVERWRITE ALL SELECT TIMESTAMP '2024-01-01' AS __time PARTITIONED BY DAY"),
		"index_parallel":       body(tasks, strings.ReplaceAll(load, "KIND", "index_parallel")),
		"index":                body(tasks, strings.ReplaceAll(load, "KIND", "index")),
		"compact":              body(tasks, strings.ReplaceAll(baseCompaction, `"DS"`, "NAME")),
		"kill":                 body(tasks, `{"type":"kill","dataSource":NAME,"interval":"2024/2025"}`),
		"move":                 body(tasks, `{"type":"move","dataSource":NAME,"interval":"2024/2025","target":{"baseKey":"x"}}`),
		"archive":              body(tasks, `{"type":"archive","dataSource":NAME,"interval":"2024/2025"}`),
		"restore":              body(tasks, `{"type":"restore","dataSource":NAME,"interval":"2024/2025"}`),
		"supervisor":           body("/service/indexer/v1/supervisor", `{"type":"autocompact","spec":{"dataSource":NAME}}`),
		"compaction":           body("/service/coordinator/v1/config/compaction", `{"dataSource":NAME}`),
		"compaction, Overlord": path("/service/indexer/v1/compaction/config/datasources/", "", `{"dataSource":NAME}`),
		"rules":                path("/service/coordinator/v1/rules/", "", `[{"type":"loadForever"}]`),
	}
	for _, name := range []string{" ", "a/b", ".a", "a\tb", "a\nb", "a\u0001b", "a\u2028b", "\u00e4\u0000", strings.Repeat("x",
		256)} {
		reason := timeline.DataSourceRefusal("FIELD", name)
		_, reason, _ = strings.Cut(reason, ": ")
		reason = strings.Trim(quoted(reason), `"`)
		for door, at := range doors {
			path, body := at(name)
			status, answer, err := s.Send(t.Context(), "router", http.MethodPost, path, body)
			if err != nil {
				t.Fatal(err)
			}
			if status != http.StatusBadRequest || !strings.Contains(string(answer), reason) {
				t.Errorf("%q through %s: %d %s, want 400 with %s", name, door, status, answer, reason)
			}
		}
	}
	// Names that deep storage can hold are no matter of refusal, and leftovers of old rules can go.
	for door, at := range doors {
		if door == "kill" || door == "move" || door == "archive" || door == "restore" || door == "compact" {
			continue // of a datasource that is there
		}
		path, body := at("\u00e4 b'c\\d")
		if status, answer, err := s.Send(t.Context(), "router", http.MethodPost, path, body); err != nil || status/100 != 2 {
			t.Errorf("%s: %d %s %v", door, status, answer, err)
		}
	}
	old, _ := doors["rules"](`a/b`)
	if status, answer, err := s.Send(t.Context(), "router", http.MethodPost, old, "[]"); err != nil || status != http.StatusOK {
		t.Errorf("%d %s %v", status, answer, err)
	}
}
