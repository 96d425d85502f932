package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hengedb/henge/internal/testkit/server"
)

// numbers is a query with twelve rows.
const numbers = `SELECT n, 'k' || (n / 4) AS k FROM TABLE(INLINE(data => ARRAY['0','1','2','3','4','5','6','7','8','9','10','11'], format => 'csv')) EXTEND (n BIGINT)`

// An export goes from a statement to files, which come back as input, through the local disk and
// through an object store.
func TestExportAndReadAgain(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("out"); err != nil {
		t.Fatal(err)
	}
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	defer bucket.Close()
	base := filepath.Join(t.TempDir(), "exports")
	s := server.Start(t, server.Options{Settings: []string{"service.export.storage.baseDir=" + base, "service.s3.endpoint.url=" + bucket.URL,
		"service.s3.endpoint.signingRegion=us-east-1", "service.s3.accessKey=a", "service.s3.secretKey=s",
		`service.export.storage.s3.allowedExportPaths=["s3://out/x"]`}})
	store := `"properties":{"accessKeyId":"a","secretAccessKey":"s"},"endpointConfig":{"url":"` + bucket.URL + `","signingRegion":"us-east-1"}`
	for _, c := range []struct{ to, as, source, format string }{
		{"local(exportPath => '" + base + "/csv')", "CSV", `{"type":"local","baseDir":"` + base + `/csv","filter":"*.csv"}`, `{"type":"csv","findColumnsFromHeader":true}`},
		{"local(exportPath => '" + base + "/p')", "parquet", `{"type":"local","baseDir":"` + base + `/p","filter":"*.parquet"}`, `{"type":"parquet"}`},
		{"s3(bucket => 'out', prefix => 'x/y')", "JSON", `{"type":"s3","prefixes":["s3://out/x/y/query"],` + store + `}`, `{"type":"json"}`},
	} {
		err := s.Ingest(t.Context(), "INSERT INTO EXTERN("+c.to+") AS "+c.as+" "+numbers+" ORDER BY n DESC", map[string]any{"rowsPerPage": 5, "maxNumTasks": 3})
		if err != nil {
			t.Errorf("%s: %v", c.to, err)
			continue
		}
		rows, err := s.Query(t.Context(), fmt.Sprintf("SET useApproximateCountDistinct = FALSE; "+ // the names of files are random
			`SELECT COUNT(*), SUM(n), COUNT(DISTINCT k), COUNT(DISTINCT "__file_uri") FROM TABLE(EXTERN('%s', '%s')) `+
			`EXTEND (n BIGINT, k VARCHAR, "__file_uri" VARCHAR)`, strings.Replace(c.source, `{`, `{"systemFields":["__file_uri"],`, 1), c.format))
		if err != nil || fmt.Sprint(rows) != "[[12 66 3 3]]" {
			t.Errorf("%s: %v %v", c.to, rows, err)
		}
		if err := s.Ingest(t.Context(), "INSERT INTO EXTERN("+c.to+") AS "+c.as+" "+numbers, nil); err == nil || !strings.Contains(err.Error(), "Found files at provided export destination") {
			t.Errorf("%s: a second export went to the same place: %v", c.to, err)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(base, "csv", "_symlink_format_manifest", "manifest"))
	if lines := strings.Split(strings.TrimSpace(string(manifest)), "\n"); err != nil || len(lines) != 3 || !strings.HasPrefix(lines[2], "file:"+base+"/csv/query-") ||
		!strings.HasSuffix(lines[2], "-worker0-partition2.csv") {
		t.Errorf("%s %v", manifest, err)
	}
}

// What an export would be is shown without doing it, and its task says where it goes.
func TestExportIsExplainedAndDescribed(t *testing.T) {
	base := filepath.Join(t.TempDir(), "exports")
	s := server.Start(t, server.Options{Settings: []string{"service.export.storage.baseDir=" + base}})
	statement := "INSERT INTO EXTERN(local(exportPath => '" + base + "/a')) AS CSV " + numbers
	send := func(path string, body map[string]any) (int, string) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		status, answer, err := s.Send(t.Context(), "router", http.MethodPost, path, string(text))
		if err != nil {
			t.Fatal(err)
		}
		return status, string(answer)
	}
	status, answer := send("/service/v2/sql/task", map[string]any{"query": "EXPLAIN PLAN FOR " + statement, "resultFormat": "array"})
	var rows [][]string
	if err := json.Unmarshal([]byte(answer), &rows); err != nil || status != 200 || len(rows) != 1 {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	want := []string{`[{"name":"EXTERNAL","type":"EXTERNAL"},{"name":"local","type":"EXTERNAL"}]`, `{"statementType":"INSERT","targetDataSource":"EXTERN"}`}
	if d := cmp.Diff(want, rows[0][1:]); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(base); !os.IsNotExist(err) {
		t.Errorf("explaining wrote something: %v", err)
	}
	for statement, want := range map[string]string{
		"INSERT INTO EXTERN(local(exportPath => '/elsewhere')) AS CSV SELECT 1 AS x":                        "must be within the path configured by runtime property",
		"INSERT INTO EXTERN(local(exportPath => '" + base + "/../x')) AS CSV SELECT 1 AS x":                 "must be within the path configured by runtime property",
		"INSERT INTO EXTERN(s3(bucket => 'b', prefix => 'p')) AS CSV SELECT 1 AS x":                         "`service.export.storage.s3.allowedExportPaths` must be configured",
		"INSERT INTO EXTERN(local(exportPath => '" + base + "/a')) AS xls SELECT 1 AS x":                    "Export format [xls] is unknown",
		"INSERT INTO EXTERN(local(exportPath => '" + base + "/a')) AS CSV SELECT 1 AS x PARTITIONED BY ALL": "Export statements do not support a PARTITIONED BY or CLUSTERED BY clause.",
		"REPLACE INTO EXTERN(local(exportPath => '" + base + "/a')) AS CSV OVERWRITE ALL SELECT 1 AS x":     "REPLACE operations do no support EXTERN destinations.",
		"INSERT INTO EXTERN(local(exportPath => '" + base + "/a')) SELECT 1 AS x":                           "requires an AS clause to specify the format, but none was found.",
		"INSERT INTO EXTERN(ftp(exportPath => 'a')) AS CSV SELECT 1 AS x":                                   "Export destination [ftp] is unknown",
		"INSERT INTO EXTERN(local()) AS CSV SELECT 1 AS x":                                                  "Export destination [local] needs the argument [exportPath]",
		"INSERT INTO EXTERN(local(exportPath => 'a', mode => 'x')) AS CSV SELECT 1 AS x":                    "Function LOCAL has no argument [mode]",
		"INSERT INTO EXTERN(local(exportPath => '" + base + "/a')) AS CSV SELECT 1 AS x, 2 AS x":            "Duplicate field in SELECT: [x]",
	} {
		status, answer := send("/service/v2/sql/task", map[string]any{"query": statement})
		if status == 202 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", statement, status, answer)
		}
	}
	if status, answer := send("/service/v2/sql", map[string]any{"query": statement}); status != 400 || !strings.Contains(answer, "INSERT operations are not supported by requested SQL engine [native]") {
		t.Errorf("%d %s", status, answer)
	}
	status, answer = send("/service/v2/sql/task", map[string]any{"query": statement, "context": map[string]any{"sqlQueryId": "mine"}})
	if status != 202 {
		t.Fatalf("%d %s", status, answer)
	}
	status, body, err := s.Send(t.Context(), "router", http.MethodGet, "/service/indexer/v1/task/query-mine", "")
	var task struct {
		Payload struct {
			DataSource string
			Spec       struct {
				Destination json.RawMessage
			}
		}
	}
	if err != nil || status != 200 || json.Unmarshal(body, &task) != nil {
		t.Fatalf("%d %s %v", status, body, err)
	}
	destination := `{"type":"export","exportStorageProvider":{"exportPath":"` + base + `/a","type":"local"},"resultFormat":"csv"}`
	if task.Payload.DataSource != "__query_export" || string(task.Payload.Spec.Destination) != destination {
		t.Errorf("%s %s", task.Payload.DataSource, task.Payload.Spec.Destination)
	}
}
