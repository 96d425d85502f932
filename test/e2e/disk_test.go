package e2e

import (
	"compress/gzip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func gzipOf(t *testing.T, content []byte) string {
	t.Helper()
	var b strings.Builder
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNoRoomForFiles runs the server with a limit on the size of files, which makes writes fail in
// the middle as a full disk does: the load fails with a sentence, as does one that must copy its
// packed input; what was there stands, and smaller loads go on.
func TestNoRoomForFiles(t *testing.T) {
	dir := t.TempDir()
	events := filepath.Join(dir, "events.json")
	write(t, events, tool(t, "", "sample", "--rows", "150000").stdout)
	args := append([]string{"-c", `ulimit -f 2048; exec "$0" "$@"`, henge, "server", "--data", filepath.Join(dir, "data")}, ports()...)
	p := launch(t, exec.Command("sh", args...))
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "old"), nil); err != nil {
		t.Fatal(err)
	}
	id, err := p.Submit(t.Context(), `REPLACE INTO t OVERWRITE ALL SELECT TIME_PARSE("time") AS __time, page || session AS v, "user", page, session
FROM TABLE(EXTERN('{"type":"local","files":["`+events+`"]}', '{"type":"json"}')) EXTEND ("time" VARCHAR, page VARCHAR, session VARCHAR, "user" VARCHAR)
PARTITIONED BY ALL`, nil)
	if err != nil {
		t.Fatal(err)
	}
	task, err := p.Await(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if task.StatusCode != "FAILED" || !strings.Contains(task.ErrorMsg, "Writing") {
		t.Errorf("the task is %s: %s", task.StatusCode, task.ErrorMsg)
	}
	if got := values(t, &p.Client); got != "old" {
		t.Errorf("after the failure the values are %q", got)
	}
	packed := filepath.Join(dir, "packed")
	write(t, packed, gzipOf(t, make([]byte, 9<<20)))
	if id, err = p.Submit(t.Context(), `REPLACE INTO t OVERWRITE ALL SELECT TIMESTAMP '2024-01-01' AS __time, v
FROM TABLE(EXTERN('{"type":"local","files":["`+packed+`"]}', '{"type":"parquet"}')) EXTEND (v VARCHAR) PARTITIONED BY ALL`, nil); err != nil {
		t.Fatal(err)
	}
	if task, err = p.Await(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if task.StatusCode != "FAILED" || !strings.Contains(task.ErrorMsg, "must be copied to a temporary file") {
		t.Errorf("the task is %s: %s", task.StatusCode, task.ErrorMsg)
	}
	if got := values(t, &p.Client); got != "old" {
		t.Errorf("after the failure the values are %q", got)
	}
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "new"), nil); err != nil {
		t.Fatal(err)
	}
	if got := values(t, &p.Client); got != "new" {
		t.Errorf("after a smaller load the values are %q", got)
	}
	p.stop(t)
}
