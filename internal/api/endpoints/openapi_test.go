package endpoints

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Every row of the table has an operation, and every operation a row; what an operation refers to
// is there.
func TestEveryRouteStandsInTheAPIDocument(t *testing.T) {
	w, err := readOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	rows, ids := map[string]bool{}, map[string]string{}
	for _, e := range Table {
		rows[e.Pattern] = true
		o := w.of(e.Pattern)
		if o == nil {
			t.Errorf("route [%s] has no operation in %s", e.Pattern, fileOf(e.Family))
			continue
		}
		if o.Summary == "" || !strings.HasSuffix(o.Summary, ".") || len(o.Answers) == 0 {
			t.Errorf("operation [%s] of %s has no summary that is a sentence, or no answers", e.Pattern, fileOf(e.Family))
		}
		if id := operationID(e.Pattern); ids[id] != "" {
			t.Errorf("operations [%s] and [%s] have the same id %s", e.Pattern, ids[id], id)
		} else {
			ids[id] = e.Pattern
		}
		for _, place := range placesOf(e.Pattern) {
			if o.Path[place] == "" && w.shared.Paths[place] == "" {
				t.Errorf("operation [%s] does not say what {%s} is", e.Pattern, place)
			}
		}
		if name, ok := o.Query.(string); ok && w.shared.Queries[name] == nil {
			t.Errorf("operation [%s] names a set of parameters [%s] that is not in components.json", e.Pattern, name)
		}
	}
	for pattern := range w.operations {
		if !rows[pattern] {
			t.Errorf("operation [%s] has no row in the table of endpoints", pattern)
		}
	}
	text, err := OpenAPI("service", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if w.shared.Schemas[name] == nil {
			t.Errorf("schema [%s] is not in components.json", name)
		}
	}
}

func TestOpenAPIHasTheNameOfTheRequest(t *testing.T) {
	text, err := OpenAPI("druid", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/druid/v2/sql", "/druid-ext/access/keys/{id}", "/status", "/druid/v2/sql/", "/druid/worker/v1/chat/{id}/{path}",
	} {
		if d.Paths[path] == nil {
			t.Errorf("path [%s] is missing", path)
		}
	}
	if strings.Contains(string(text), `"/service`) || !strings.Contains(string(text), "X-Druid-SQL-Query-Id") {
		t.Error("the document has the name service in it")
	}
}

func TestReferenceIsGenerated(t *testing.T) {
	const path = "../../../docs/api.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	if want != string(page) {
		t.Errorf("%s is out of date: run go generate ./internal/api/endpoints", path)
	}
}
