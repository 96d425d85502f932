package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/testkit/server"
)

const uploadsPath = "/service/indexer/v1/uploads"

// sendFile sends a file, and returns the answer and its id.
func sendFile(t *testing.T, c *server.Client, name, body string) (status int, answer, id string) {
	t.Helper()
	status, text, err := c.Send(t.Context(), "router", http.MethodPost, uploadsPath+"?name="+name, body)
	if err != nil {
		t.Fatal(err)
	}
	var w struct{ ID string }
	_ = json.Unmarshal(text, &w) // a refusal has none
	return status, string(text), w.ID
}

type flight struct {
	When   int64  `parquet:"when,timestamp(millisecond)"`
	Origin string `parquet:"origin"`
	Delay  int64  `parquet:"delay"`
}

// flights is a file of Parquet with so many rows.
func flights(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[flight](&b)
	for i := range n {
		if _, err := w.Write([]flight{{1704067200000 + int64(i)*60_000, fmt.Sprintf("A%d", i%5), int64(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func uploadSource(id string) string { return `{"type":"upload","ids":["` + id + `"]}` }

func uploaded(id, format, columns string) string {
	return "TABLE(EXTERN('" + uploadSource(id) + `', '{"type":"` + format + `","findColumnsFromHeader":true}')) EXTEND (` + columns + ")"
}

func flightsLoad(into, source, format string) string {
	return `{"type":"index_parallel","spec":{"dataSchema":{"dataSource":"` + into + `","timestampSpec":{"column":"when","format":"auto"},` +
		`"dimensionsSpec":{"dimensions":["origin",{"type":"long","name":"delay"}]},"granularitySpec":{"segmentGranularity":"DAY"}},` +
		`"ioConfig":{"type":"index_parallel","inputSource":` + source + `,"inputFormat":{"type":"` +
		format + `","findColumnsFromHeader":true}}}}`
}

// A file that a client sends is sampled, queried and loaded by the user who sent it, and is gone
// then.
func TestUploadsAreLoaded(t *testing.T) {
	s := server.Start(t, server.Options{})
	status, answer, id := sendFile(t, &s.Client, "flights.parquet", flights(t, 100))
	for _, part := range []string{`"name":"flights.parquet"`, `"inputSource":` + uploadSource(id)} {
		if status != 200 || !strings.Contains(answer, part) {
			t.Fatal(status, answer)
		}
	}
	sample := `{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":` + uploadSource(id) +
		`,"inputFormat":{"type":"parquet"}},` +
		`"dataSchema":{"dataSource":"s","timestampSpec":{"column":"when","format":"millis"},"dimensionsSpec":{}}}}`
	var seen struct {
		Read int `json:"numRowsRead"`
	}
	err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/sampler", json.RawMessage(sample), &seen)
	if err != nil || seen.Read != 100 {
		t.Errorf("sample: %+v %v", seen, err)
	}
	from := uploaded(id, "parquet", `"when" BIGINT, origin VARCHAR, delay BIGINT`)
	if rows, err := s.Query(t.Context(), "SELECT COUNT(*), SUM(delay) FROM "+from); err != nil || fmt.Sprint(rows) != "[[100 4950]]" {
		t.Errorf("a query: %v %v", rows, err)
	}
	statement := func(what string) string {
		return "REPLACE INTO flights OVERWRITE ALL SELECT MILLIS_TO_TIMESTAMP(\"when\") AS __time, origin, " + what +
			" FROM " + from + " PARTITIONED BY DAY"
	}
	// A task that fails leaves the file for another attempt.
	if err := s.Ingest(t.Context(), statement("1 / (delay - delay) AS x"), nil); err == nil {
		t.Error("a division by zero succeeds")
	}
	if err := s.Ingest(t.Context(), statement("delay"), nil); err != nil {
		t.Error(err)
	}
	if rows, err := s.Query(t.Context(), "SELECT COUNT(*), SUM(delay) FROM flights"); err != nil || fmt.Sprint(rows) != "[[100 4950]]" {
		t.Errorf("what was loaded: %v %v", rows, err)
	}
	err = s.Ingest(t.Context(), statement("delay"), nil)
	if err == nil || !strings.Contains(err.Error(), "Upload ["+id+"] does not exist") {
		t.Errorf("once more: %v", err)
	}
	_, _, one := sendFile(t, &s.Client, "a.csv", "when,origin,delay\n2024-01-01,A,1\n")
	_, _, two := sendFile(t, &s.Client, "b.csv", "when,origin,delay\n2024-01-02,B,2\n")
	both := `{"type":"combining","delegates":[` + uploadSource(one) + "," + uploadSource(two) + `]}`
	var task struct{ Task string }
	native := json.RawMessage(flightsLoad("native", both, "csv"))
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", native, &task); err != nil {
		t.Fatal(err)
	}
	if end, err := s.Await(t.Context(), task.Task); err != nil || end.StatusCode != "SUCCESS" {
		t.Errorf("a native task: %+v %v", end, err)
	}
	if rows, err := s.Query(t.Context(), "SELECT COUNT(*), SUM(delay) FROM native"); err != nil || fmt.Sprint(rows) != "[[2 3]]" {
		t.Errorf("what a native task loaded: %v %v", rows, err)
	}
	var left struct {
		Uploads []any
		Used    json.Number `json:"usedBytes"`
	}
	if err := s.Call(t.Context(), http.MethodGet, uploadsPath, nil, &left); err != nil || len(left.Uploads) != 0 || left.Used != "0" {
		t.Errorf("left: %+v %v", left, err)
	}
}

// Uploads are refused with words of their own.
func TestUploadsAreRefused(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{
		"service.ingestion.uploads.maxBytes=100", "service.ingestion.uploads.maxTotalBytes=150",
	}})
	_, _, id := sendFile(t, &s.Client, "a", strings.Repeat("x", 90))
	for _, c := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"a", "", 400, "The file is empty"},
		{"a", strings.Repeat("x", 101), 413, "larger than [100] bytes, the limit of service.ingestion.uploads.maxBytes"},
		{"a", strings.Repeat("x", 91), 429, "uploads together may have [150] bytes"},
		{"a%01", "x", 400, "no control characters"},
	} {
		if status, answer, _ := sendFile(t, &s.Client, c.name, c.body); status != c.status || !strings.Contains(answer, c.says) {
			t.Errorf("%q of %d bytes: %d %s", c.name, len(c.body), status, answer)
		}
	}
	for _, c := range []struct {
		source, says string
	}{
		{`{"type":"upload"}`, "an upload source needs 'ids'"},
		{`{"type":"upload","ids":["../x"]}`, "is not the id of an upload"},
		{uploadSource(strings.Repeat("0", 32)), "Upload [" + strings.Repeat("0", 32) + "] does not exist"},
	} {
		sample := `{"type":"index","spec":{"ioConfig":{"type":"index","inputSource":` + c.source + `,"inputFormat":{"type":"json"}},` +
			`"dataSchema":{"dataSource":"s","timestampSpec":{"column":"t","format":"auto"},"dimensionsSpec":{}}}}`
		status, answer, err := s.Send(t.Context(), "router", http.MethodPost, "/service/indexer/v1/sampler", sample)
		if err != nil || status < 400 || !strings.Contains(string(answer), c.says) {
			t.Errorf("%s: %d %s %v", c.source, status, answer, err)
		}
	}
	for at, want := range map[string]int{"/" + id: 204, "/" + strings.Repeat("1", 32): 404} {
		if status, answer, err := s.Send(t.Context(), "router", http.MethodDelete, uploadsPath+at, ""); err != nil || status != want {
			t.Errorf("deleting %s: %d %s %v", at, status, answer, err)
		}
	}
	form, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["router"]+uploadsPath, strings.NewReader("--x\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	form.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	resp, err := http.DefaultClient.Do(form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %d", resp.StatusCode)
	}
}
