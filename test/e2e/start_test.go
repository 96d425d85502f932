package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

func TestReadyLineNamesEveryRole(t *testing.T) {
	p := serve(t, t.TempDir())
	for _, role := range []string{"router", "coordinator", "broker", "historical", "overlord"} {
		status, _, err := p.Send(t.Context(), role, http.MethodGet, "/status/health", "")
		if err != nil || status != http.StatusOK {
			t.Errorf("the %s at [%s] answers %d, %v", role, p.Addresses[role], status, err)
		}
		if host := strings.TrimPrefix(p.Addresses[role], "http://"); !strings.HasPrefix(host, "localhost:") && !strings.HasPrefix(host, "127.0.0.1:") {
			t.Errorf("the %s is not on the loopback interface: %s", role, host)
		}
	}
	if n := strings.Count(p.out.String(), "\n"); n != 1 {
		t.Errorf("standard output has %d lines, want the ready line only:\n%s", n, p.out)
	}
}

func TestStopsOnTerm(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir)
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "a"), nil); err != nil {
		t.Fatal(err)
	}
	p.stop(t)
	if _, _, err := p.Send(t.Context(), "router", http.MethodGet, "/status/health", ""); err == nil {
		t.Error("a stopped server answers")
	}
	if p = serve(t, dir); values(t, &p.Client) != "a" {
		t.Error("the data is gone after a stop")
	}
}

// TestStopsWhileATaskRuns stops a server that is busy: it must not wait for the task's end, and
// nothing of the task may show.
func TestStopsWhileATaskRuns(t *testing.T) {
	dir := t.TempDir()
	events := filepath.Join(dir, "events.json")
	write(t, events, tool(t, "", "sample", "--rows", "150000").stdout)
	data := filepath.Join(dir, "data")
	p := serve(t, data)
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "old"), nil); err != nil {
		t.Fatal(err)
	}
	id, err := p.Submit(t.Context(), `REPLACE INTO t OVERWRITE ALL SELECT TIME_PARSE("time") AS __time, page AS v
FROM TABLE(EXTERN('{"type":"local","files":["`+events+`"]}', '{"type":"json"}')) EXTEND ("time" VARCHAR, page VARCHAR) PARTITIONED BY DAY`, nil)
	if err != nil {
		t.Fatal(err)
	}
	awaitReading(t, p, id)
	p.stop(t)
	p = serve(t, data)
	task, err := p.Await(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got, whole := count(t, p), task.StatusCode == "SUCCESS"; whole && got != 150000 || !whole && got != 1 {
		t.Errorf("after the stop the task is %s and %d rows are there", task.StatusCode, got)
	}
}

func TestRefusesToStart(t *testing.T) {
	t.Run("a directory in use", func(t *testing.T) {
		dir := t.TempDir()
		p := serve(t, dir)
		refused(t, append([]string{"--data", dir}, ports()...), dir, "in use", fmt.Sprint(p.cmd.Process.Pid), "--data")
		if _, err := p.Query(t.Context(), "SELECT 1"); err != nil {
			t.Errorf("the first server suffers from the second: %v", err)
		}
	})
	t.Run("a port in use", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
		dir := t.TempDir()
		refused(t, append(append([]string{"--data", dir}, ports()...), "--set", "service.broker.plaintextPort="+port),
			port, "broker", "service.broker.plaintextPort")
		serve(t, dir).stop(t) // nothing of the failed start is in the way
	})
	t.Run("a directory that can't be written to", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write everywhere")
		}
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		refused(t, append([]string{"--data", dir}, ports()...), dir, "can't be written to", "--data")
	})
	t.Run("a directory below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, "")
		refused(t, append([]string{"--data", filepath.Join(file, "data")}, ports()...), "can't be created", "not a directory")
	})
	t.Run("a directory of a newer release", func(t *testing.T) {
		dir := t.TempDir()
		serve(t, dir).stop(t)
		write(t, filepath.Join(dir, "version"), "999\n")
		refused(t, append([]string{"--data", dir}, ports()...), dir, "[999]", "newer release")
	})
	t.Run("a directory that is damaged", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "version"), "one")
		refused(t, append([]string{"--data", dir}, ports()...), dir, "damaged")
	})
	t.Run("an unknown property", func(t *testing.T) {
		refused(t, []string{"--data", t.TempDir(), "--set", "service.broker.plaintextPrt=1"}, "service.broker.plaintextPrt", "service.broker.plaintextPort")
	})
	t.Run("a value of a wrong type", func(t *testing.T) {
		refused(t, []string{"--data", t.TempDir(), "--set", "service.broker.plaintextPort=many"}, "service.broker.plaintextPort", "many")
	})
}

// TestMissingFileInDeepStorage takes a segment's file away: the answer is an error that names the
// segment, never a part of the rows.
func TestMissingFileInDeepStorage(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, dir)
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "a", "b"), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Ingest(t.Context(), strings.ReplaceAll(small("REPLACE INTO other OVERWRITE ALL", "x"), " t ", " other "), nil); err != nil {
		t.Fatal(err)
	}
	p.stop(t)
	if err := os.RemoveAll(filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	removed := 0
	err := filepath.WalkDir(filepath.Join(dir, "segments"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(path, string(filepath.Separator)+"t"+string(filepath.Separator)) {
			removed++
			return os.Remove(path)
		}
		return err
	})
	if err != nil || removed == 0 {
		t.Fatalf("removed %d files of t, %v", removed, err)
	}

	p = serve(t, dir)
	rows, err := p.Query(t.Context(), `SELECT MAX(v) FROM t`)
	refusal := &server.Refusal{}
	ok := errors.As(err, &refusal)
	if !ok {
		t.Fatalf("the answer without the file is %v, %v", rows, err)
	}
	for _, part := range []string{`"errorMessage"`, "t_2024-01-01", "deep storage"} {
		if !strings.Contains(string(refusal.Body), part) {
			t.Errorf("the error does not say %q: %v", part, refusal)
		}
	}
	if rows, err := p.Query(t.Context(), `SELECT COUNT(*) FROM other`); err != nil || fmt.Sprint(rows) != "[[1]]" {
		t.Errorf("another datasource answers %v, %v", rows, err)
	}
	if err := p.Ingest(t.Context(), small("REPLACE INTO t OVERWRITE ALL", "c"), nil); err != nil {
		t.Fatalf("replacing the lost data: %v", err)
	}
	if got := values(t, &p.Client); got != "c" {
		t.Errorf("after replacing the lost data the values are %q", got)
	}
}

// TestSecondSignalEndsAtOnce sends two: the first asks for a graceful stop, the second insists.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	p := serve(t, t.TempDir())
	for range 2 {
		if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
			break // it is gone already
		}
	}
	<-p.ended
	if strings.Contains(p.errors.String(), "panic") {
		t.Errorf("the server panics: %s", p.errors)
	}
}

// A process that can't reach what it needs says where it has looked, and why it was not there.
func TestWhyTheMetastoreCanNotBeReached(t *testing.T) {
	refused(t, []string{
		"broker", "--data", t.TempDir(), "--set", "service.broker.plaintextPort=0", "--set", "service.metadata.storage.type=postgresql",
		"--set", "service.metadata.storage.connector.connectURI=postgresql://henge:geheim@127.0.0.1:1/henge",
	}, "The metadata store can't be reached", "127.0.0.1", "refused")
}
