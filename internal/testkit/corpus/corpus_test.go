package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	rows := `{"id":"a","sql":"SELECT x, y FROM t","columns":["x","y"],"types":["LONG","DOUBLE"],"sqlTypes":["BIGINT","DOUBLE"],"rows":[[1,0.1],[2,null]]}`
	untyped := `{"id":"d","sql":"SELECT NULL","columns":["x"],"types":[null],"sqlTypes":["NULL"],"rows":[[null]]}`
	loose := strings.Replace(rows, `"rows"`, `"unordered":true,"rows"`, 1)
	const head = `["x","y"],["LONG","DOUBLE"],["BIGINT","DOUBLE"]`
	refused := `{"id":"b","sql":"SELEC","error":{"status":400,"body":{"category":"INVALID_INPUT","errorCode":"invalidInput"}}}`
	broken := `{"id":"c","sql":"SELECT 1/0","error":{"status":500,"body":{"category":"RUNTIME_FAILURE"}}}`
	for _, c := range []struct {
		name, record string
		status       int
		body         string
		differs      string
	}{
		{"same", rows, 200, `[` + head + `,[1,0.1],[2,null]]`, ""},
		{"nine digits", rows, 200, `[` + head + `,[1,0.10000000000001],[2,null]]`, ""},
		{"value", rows, 200, `[` + head + `,[1,0.2],[2,null]]`, "row 0 column 1: 0.2, want 0.1"},
		{"order", rows, 200, `[` + head + `,[2,null],[1,0.1]]`, "row 0 column 0"},
		{"order means nothing", loose, 200, `[` + head + `,[2,null],[1,0.1]]`, ""},
		{"rows", rows, 200, `[` + head + `,[1,0.1]]`, "1 rows, want 2"},
		{"name", rows, 200, `[["x","z"],["LONG","DOUBLE"],["BIGINT","DOUBLE"],[1,0.1],[2,null]]`, "columns"},
		{"more columns", rows, 200, `[["x","y","z"],["LONG","DOUBLE","LONG"],["BIGINT","DOUBLE","BIGINT"],[1,0.1,1],[2,null,1]]`, "columns"},
		{"type", rows, 200, `[["x","y"],["LONG","DOUBLE"],["INTEGER","DOUBLE"],[1,0.1],[2,null]]`, "SQL types"},
		{"no type", untyped, 200, `[["x"],[null],["NULL"],[null]]`, ""},
		{"a type where there is none", untyped, 200, `[["x"],["STRING"],["NULL"],[null]]`, "runtime types"},
		{"header only", rows, 200, `[["x","y"]]`, "header rows are missing"},
		{"error instead", rows, 400, `{}`, "status 400"},
		{"error", refused, 400, `{"category":"INVALID_INPUT","errorCode":"invalidInput"}`, ""},
		{"other code", refused, 400, `{"category":"INVALID_INPUT","errorCode":"general"}`, "error INVALID_INPUT/general"},
		{"answer instead of error", refused, 200, `[]`, "status 200, want status 400 invalidInput"},
		{"answer instead of a failure", broken, 200, `[["a"],["LONG"],["BIGINT"],[1]]`, ""},
		{"failure", broken, 500, `{}`, "status 500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Record{}
			if err := json.Unmarshal([]byte(c.record), r); err != nil {
				t.Fatal(err)
			}
			got := r.Compare(c.status, []byte(c.body))
			if (got == "") != (c.differs == "") || !strings.Contains(got, c.differs) {
				t.Errorf("difference is %q, want %q", got, c.differs)
			}
		})
	}
}

func TestTallyCountsKindsTogether(t *testing.T) {
	var tally Tally
	for i, d := range []string{
		"", "row 1 column 0: 3, want null", "row 7 column 2: 5, want null", `status 400: {"errorMessage":"Column 'x' not found"}`,
		`status 400: {"errorMessage":"Column 'yy' not found"}`, `status 500: {"errorMessage":"Column 'x' not found"}`,
	} {
		tally.Add(&Record{ID: "id", SQL: strings.Repeat("x", 10-i), Topic: "casts"}, d)
	}
	summary := tally.Summary(10)
	for _, want := range []string{"2  a value is an integer, want null", "2  status 400", "1  status 500"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary has no %q:\n%s", want, summary)
		}
	}
	if counts := tally.Counts(); !strings.Contains(counts, "1 of      6") {
		t.Errorf("counts are\n%s", counts)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.jsonl": `{"id":"a-1","sql":"SELECT 1"}` + "\n", "skipped.jsonl": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	records, err := Load(dir, func(topic string) bool { return topic == "skipped" })
	if err != nil || len(records) != 1 || records[0].Topic != "a" || records[0].ID != "a-1" {
		t.Errorf("Load gives %v, %v", records, err)
	}
	if _, err := Load(dir, nil); err == nil {
		t.Error("a broken file is not refused")
	}
}
