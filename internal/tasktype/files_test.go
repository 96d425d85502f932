package tasktype

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/deepstore"
)

func openFiles(t *testing.T) (*Files, string) {
	t.Helper()
	deep, err := deepstore.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deep.Close() })
	dir := t.TempDir()
	return NewFiles(FilesOptions{Store: deep, Dir: dir, Current: func(context.Context) error { return nil }}), dir
}

func content(t *testing.T, r io.ReadCloser, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return "none"
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLogsOfRunningAndEndedTasks(t *testing.T) {
	f, dir := openFiles(t)
	const id = "query-a b/../c" // ids may hold much; names of files may not
	log := func(offset int64) string {
		r, err := f.Log(t.Context(), id, offset)
		return content(t, r, err)
	}
	if got := log(0); got != "none" {
		t.Errorf("before it began: %q", got)
	}
	if err := os.WriteFile(f.logPath(id), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	offsets := map[int64]string{0: "0123456789", 4: "456789", -3: "789", 10: "", 99: "", -99: "0123456789"}
	for offset, want := range offsets {
		if got := log(offset); got != want {
			t.Errorf("running, from %d: %q", offset, got)
		}
	}
	if err := f.keepLog(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for offset, want := range offsets {
		if got := log(offset); got != want {
			t.Errorf("ended, from %d: %q", offset, got)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("the worker's folder holds %v, %v", list, err)
	}
	if err := f.keepLog(t.Context(), id); err == nil {
		t.Error("a log that is not there was kept")
	}
}

// Files of tasks are where earlier releases put them, as far as these could: ids whose escaped form
// is too long for a file had none.
func TestFileNames(t *testing.T) {
	seen := map[string]string{}
	for id, want := range map[string]string{
		"query-1": "query-1", "index_a b": "index_a%20b", `index_a\b`: "index_a%5Cb", strings.Repeat("x", 250): strings.Repeat("x", 250),
		strings.Repeat("x", 251): hashed, strings.Repeat("史", 30): hashed, strings.Repeat("史", 85) + "_2024-01-01T00:00:00.000Z": hashed,
		hashed + "ab": hashed,
	} {
		got := fileName(id)
		if !strings.HasPrefix(got, want) || want != hashed && got != want || len(got) > maxNameBytes || strings.Contains(got, "/") {
			t.Errorf("%s: %s", id, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s are both %s", id, other, got)
		}
		seen[got] = id
	}
	if id := strings.Repeat("x", 251); fileName(fileName(id)) == fileName(id) {
		t.Error("the id of a task may be the name of another's files")
	}
}

func TestReportsOfRunningAndEndedTasks(t *testing.T) {
	f, _ := openFiles(t)
	report := func(alias bool) string {
		r, err := f.Report(t.Context(), "a", alias)
		return content(t, r, err)
	}
	if got := report(false); got != "none" {
		t.Errorf("before it began: %q", got)
	}
	running := true
	f.AddLive(func(string, bool) []byte { return nil })
	f.AddLive(func(id string, alias bool) []byte {
		switch {
		case id != "a" || !running:
			return nil
		case alias:
			return []byte("live, alias")
		}
		return []byte("live")
	})
	if report(false) != "live" || report(true) != "live, alias" {
		t.Errorf("running: %q, %q", report(false), report(true))
	}
	running = false
	for _, text := range []string{"first", "second"} {
		if err := f.PutReport(t.Context(), "a", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := report(false); got != "first" {
		t.Errorf("the report of the first end is now %q", got)
	}
	for range 2 { // what is gone already is no error
		if err := f.Drop(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := report(false); got != "none" {
		t.Errorf("after it was dropped: %q", got)
	}
}
