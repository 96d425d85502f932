package api

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNoticesOfInputs reads inputs that are not all that they seem to be: bytes that are no UTF-8,
// and archives of which only the first file is read. Reports of tasks of both kinds and the sampler
// say so.
func TestNoticesOfInputs(t *testing.T) {
	s := server.Start(t, server.Options{})
	dir := t.TempDir()
	latin := filepath.Join(dir, "latin.csv")
	if err := os.WriteFile(latin, []byte("t,k\n2024-01-01,a\n2024-01-01,M\xfcller \xe9\n2024-01-02,\xe2\x82\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "two.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"one.csv", "two.csv"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("t,k\n2024-01-01,a\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	const format = `{"type":"csv","findColumnsFromHeader":true}`
	for path, want := range map[string]string{
		latin:   "[3] byte sequences are not UTF-8 and were replaced by U+FFFD, the first on line [3]",
		archive: "only the first file of the zip archive was read; [two.csv] were skipped",
	} {
		source := `{"type":"local","files":["` + path + `"]}`
		want = "Input [file:" + path + "]: " + want
		for _, tasks := range []int{2, 3} {
			task, r := runTask(t, s, `REPLACE INTO x OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, k FROM TABLE(EXTERN('`+source+`','`+format+`')) `+
				`EXTEND (t VARCHAR, k VARCHAR) PARTITIONED BY DAY`, map[string]any{"maxNumTasks": tasks})
			warnings := r.MultiStageQuery.Payload.Status.Warnings
			if task.ErrorMsg != "" || len(warnings) != 1 || warnings[0].Error["errorMessage"] != want || warnings[0].Error["errorCode"] != "ExternalDataWarning" {
				t.Errorf("%s, SQL: %s%v", path, task.ErrorMsg, warnings)
			}
		}
		for _, dimensions := range []string{`{"dimensions":["k"]}`, `{"useSchemaDiscovery":true}`} {
			task, r := runNative(t, s, nativeLoad{source: source, format: format, dimensions: dimensions}.spec(t))
			if warnings := r.Stats.Payload.Warnings; task.ErrorMsg != "" || strings.Join(warnings, "|") != want {
				t.Errorf("%s, native: %s%v", path, task.ErrorMsg, warnings)
			}
		}
		if p := preview(t, s, source, format, `{"column":"t","format":"auto"}`); strings.Join(p.Warnings, "|") != want && path == latin {
			t.Errorf("%s, sampler: %v", path, p.Warnings)
		}
	}
}
