package role_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/server"
)

// Files that a loss of power has left empty, or full of zeros, are written anew, and the log says
// so. Others are not touched.
func TestMarkersThatPowerTook(t *testing.T) {
	dir := t.TempDir()
	n, c := started(t, role.Options{}, "service.data.dir="+dir)
	if err := c.Ingest(t.Context(), replaceAll("t", inline), nil); err != nil {
		t.Fatal(err)
	}
	stop(t, n, c)
	version := filepath.Join(dir, "version")
	for _, left := range []string{"", "\x00\x00", "\n"} {
		if err := os.WriteFile(version, []byte(left), 0o644); err != nil {
			t.Fatal(err)
		}
		var log lockedBuffer
		n, c := started(t, role.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, "service.data.dir="+dir)
		if rows, err := c.Query(t.Context(), `SELECT SUM(n) FROM t`); err != nil || fmt.Sprint(rows) != "[[3]]" {
			t.Errorf("with version %q: %v, %v", left, rows, err)
		}
		stop(t, n, c)
		if text, err := os.ReadFile(version); err != nil || string(text) != "1\n" || !strings.Contains(log.String(), "file=version") {
			t.Errorf("version %q became %q, %v; the log is %s", left, text, err, log.String())
		}
	}
	if err := os.WriteFile(version, []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if f := refused(t, server.Options{Settings: []string{"service.data.dir=" + dir}}); !strings.Contains(f.Message, "contains no number") {
		t.Error(f.Message)
	}
}

// A metastore that is missing or empty beside segments is not made anew unless the user says so.
func TestALostMetastore(t *testing.T) {
	dir := t.TempDir()
	n, c := started(t, role.Options{}, "service.data.dir="+dir)
	if err := c.Ingest(t.Context(), replaceAll("t", inline), nil); err != nil {
		t.Fatal(err)
	}
	stop(t, n, c)
	database := filepath.Join(dir, "metastore.db")
	kept, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	for _, lose := range []func() error{func() error { return os.Truncate(database, 0) }, func() error { return os.Remove(database) }} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		f := refused(t, server.Options{Settings: []string{"service.data.dir=" + dir}})
		for _, want := range []string{"missing or empty", "henge restore", "--new-metastore", database} {
			if !strings.Contains(f.Message, want) {
				t.Errorf("%q does not say %q", f.Message, want)
			}
		}
	}
	if err := os.WriteFile(database, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	n, c = started(t, role.Options{}, "service.data.dir="+dir)
	if rows, err := c.Query(t.Context(), `SELECT SUM(n) FROM t`); err != nil || fmt.Sprint(rows) != "[[3]]" {
		t.Errorf("with the file put back: %v, %v", rows, err)
	}
	stop(t, n, c)
	if err := os.Remove(database); err != nil {
		t.Fatal(err)
	}
	n, c = started(t, role.Options{}, "service.data.dir="+dir, "service.metadata.storage.startNew=true")
	if _, err := c.Query(t.Context(), `SELECT SUM(n) FROM t`); err == nil {
		t.Error("the new metastore knows the old datasource")
	}
	stop(t, n, c)
}

// fill writes zeros until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, block := range []int{1 << 20, 64 << 10, 4 << 10, 1} {
		for err = error(nil); err == nil; {
			_, err = f.Write(make([]byte, block))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// A server starts on a disk that is full, answers queries, refuses loads, and runs the kill task
// that makes room.
func TestAFullDisk(t *testing.T) {
	for _, reserve := range []bool{true, false} {
		t.Run(fmt.Sprint("reserve=", reserve), func(t *testing.T) {
			disk := t.TempDir()
			if err := syscall.Mount("none", disk, "tmpfs", 0, "size=48m"); err != nil {
				t.Skip("this user may not mount a file system: ", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(disk, 0); err != nil {
					t.Error(err)
				}
			})
			dir := filepath.Join(disk, "data")
			n, c := started(t, role.Options{}, "service.data.dir="+dir)
			for _, name := range []string{"t", "old"} {
				if err := c.Ingest(t.Context(), replaceAll(name, inline), nil); err != nil {
					t.Fatal(err)
				}
			}
			stop(t, n, c)
			if !reserve {
				if err := os.Remove(filepath.Join(dir, "reserve")); err != nil {
					t.Fatal(err)
				}
			}
			fill(t, filepath.Join(disk, "filler"))
			n, c = started(t, role.Options{}, "service.data.dir="+dir)
			defer func() { stop(t, n, c) }()
			if rows, err := c.Query(t.Context(), `SELECT SUM(n) FROM t`); err != nil || fmt.Sprint(rows) != "[[3]]" {
				t.Errorf("on the full disk: %v, %v", rows, err)
			}
			err := c.Ingest(t.Context(), replaceAll("new", inline), nil)
			if err == nil || !strings.Contains(err.Error(), "full") {
				t.Errorf("a load on the full disk: %v", err)
			}
			if !reserve {
				return
			}
			if status, answer, err := c.Send(t.Context(), "coordinator", "DELETE", "/service/coordinator/v1/datasources/old", ""); err != nil || status != 200 {
				t.Fatalf("dropping: %d %s %v", status, answer, err)
			}
			status, answer, err := c.Send(t.Context(), "overlord", "POST", "/service/indexer/v1/task", `{"type":"kill","id":"k","dataSource":"old","interval":"1000/3000"}`)
			if err != nil || status != 200 {
				t.Fatalf("killing: %d %s %v", status, answer, err)
			}
			if task, err := c.Await(t.Context(), "k"); err != nil || task.StatusCode != "SUCCESS" {
				t.Errorf("the kill task: %+v, %v", task, err)
			}
		})
	}
}

// What a process that was killed has left behind is removed at the next start, and counted.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	n, c := started(t, role.Options{}, "service.data.dir="+dir)
	if err := c.Ingest(t.Context(), replaceAll("t", inline), nil); err != nil {
		t.Fatal(err)
	}
	stop(t, n, c)
	left := map[string]string{
		"work": "tasks/work/msq-1/stages/piece1.segment", "uploads": "segments/.henge-uploads/abc-4711",
		"cache": "cache/ab/abc.segment", "spill": "spill/henge-input-7",
	}
	for _, path := range left {
		at := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, make([]byte, 1000), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".version-1.henge-tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n, c = started(t, role.Options{}, "service.data.dir="+dir)
	defer func() { stop(t, n, c) }()
	for kind, path := range left {
		want := fmt.Sprintf(`henge_leftovers_removed_bytes_total{kind="%s"} 1000`, kind)
		metrics := ""
		for range 200 { // the cache is swept beside the start
			if _, metrics = get(t, c.Addresses["router"]+"/metrics"); strings.Contains(metrics, want) {
				break
			}
		}
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
		if _, err := os.Stat(filepath.Join(dir, path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("[%s] is still there: %v", path, err)
		}
	}
	if found, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(found) > 0 {
		t.Errorf("still there: %v, %v", found, err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "tasks/work")); err != nil || len(entries) > 0 {
		t.Errorf("still there: %v, %v", entries, err)
	}
}
