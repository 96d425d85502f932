package api

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// Names of datasources may be as long as those of directories, in any letters, and may have
// backslashes: all tasks work on them, though their ids hold the name and more.
func TestTasksOnLongAndOddNames(t *testing.T) {
	s := server.Start(t, server.Options{})
	for label, name := range map[string]string{
		"a backslash": `a\b`, "backslashes": `\\x\`, "Cyrillic": strings.Repeat("ж", 127), "Chinese": strings.Repeat("史", 85),
		"Latin": strings.Repeat("n", 255), "signs": `50% "of" {all}.~'+&?#` + strings.Repeat("%", 200),
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			quoted, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			// done runs a task to its end and reads what it has left.
			done := func(what, body string) {
				t.Helper()
				status, text, err := s.Send(t.Context(), "router", http.MethodPost, "/service/indexer/v1/task", body)
				var submitted struct{ Task string }
				if err != nil || status != http.StatusOK || json.Unmarshal(text, &submitted) != nil {
					t.Fatalf("%s: %d %s %v", what, status, text, err)
				}
				ended, err := s.Await(t.Context(), submitted.Task)
				if err != nil || ended.StatusCode != "SUCCESS" {
					t.Fatalf("%s: %+v %v", what, ended, err)
				}
				for _, left := range []string{"/log", "/reports", "/status"} {
					status, text, err := s.Send(t.Context(), "router", http.MethodGet, "/service/indexer/v1/task/"+url.PathEscape(submitted.Task)+left, "")
					if err != nil || status != http.StatusOK && !(status == http.StatusNotFound && left == "/reports") || left == "/log" &&
						!strings.Contains(string(text), "task succeeded") {
						t.Errorf("%s of %s: %d %s %v", left, what, status, text, err)
					}
				}
			}
			count := func(want string) {
				t.Helper()
				rows, err := s.Query(t.Context(), `SELECT COUNT(*) FROM "`+strings.ReplaceAll(name, `"`, `""`)+`"`)
				if err != nil || fmt.Sprint(rows) != want {
					t.Fatalf("%v %v, want %s", rows, err, want)
				}
			}
			load := nativeLoad{lines: []string{`{"t":"2024-01-01","k":"a"}`, `{"t":"2024-01-02","k":"b"}`}}
			done("a native load", strings.Replace(load.spec(t), `"dataSource":"x"`, `"dataSource":`+string(quoted), 1))
			count("[[2]]")
			into := `INSERT INTO "` + strings.ReplaceAll(name, `"`, `""`) + `" SELECT TIMESTAMP '2024-01-01' AS __time, 'c' AS k PARTITIONED BY DAY`
			if err := s.Ingest(t.Context(), into, nil); err != nil {
				t.Fatal(err)
			}
			count("[[3]]")
			done("a compaction", `{"type":"compact","dataSource":`+string(quoted)+`,"ioConfig":{"type":"compact","inputSpec":{"type":"interval",`+
				`"interval":"2024-01-01/2024-01-03"}},`+
				`"granularitySpec":{"segmentGranularity":"MONTH"}}`)
			count("[[3]]")
			load = nativeLoad{source: `{"type":"druid","dataSource":` + string(quoted) + `,"interval":"2024-01-01/2024-01-03"}`, format: "null",
				time: `{"column":"__time","format":"millis"}`, dimensions: `{}`}
			done("a load from itself", strings.Replace(load.spec(t), `"dataSource":"x"`, `"dataSource":`+string(quoted), 1))
			count("[[3]]")
			if status, text, err := s.Send(t.Context(), "router", http.MethodDelete, "/service/coordinator/v1/datasources/"+url.PathEscape(name),
				""); err != nil || status != http.StatusOK {
				t.Fatalf("marking it unused: %d %s %v", status, text, err)
			}
			done("a kill", `{"type":"kill","dataSource":`+string(quoted)+`,"interval":"2020-01-01/2030-01-01"}`)
			err = filepath.WalkDir(filepath.Join(s.Dir, "segments", name), func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					t.Errorf("file [%s] was not deleted", path)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
