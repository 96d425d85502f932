package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// large loads so many GB of input that is made up while it is read, by one statement under a limit
// of memory, and asks of it what needs more memory than there is: the groups of a key that nearly
// each row has for itself. It watches memory and disk all the time.
func (m *measurement) large(ctx context.Context, gigabytes int64, memory string, out io.Writer) error {
	g := generatedInput{files: gigabytes}
	g.rows = 1_000_000_000 / generatedInput{rows: 1}.width()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	source := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- source.Serve(listener) }()
	defer func() { _ = source.Close(); <-served }()
	var uris []string
	for n := range g.files {
		uris = append(uris, fmt.Sprintf(`"http://%s/%d.json"`, listener.Addr(), n))
	}
	want := g.sums()
	fmt.Fprintf(out, "%d files of %d rows, %d GB; memory limit %s\n", g.files, g.rows, gigabytes, memory)
	return m.withServer(ctx, func(s *server) error {
		load := `REPLACE INTO generated OVERWRITE ALL SELECT MILLIS_TO_TIMESTAMP(t) AS __time, region, country, campaign, session, url, ms, bytes, f
FROM TABLE(EXTERN('{"type":"http","uris":[` + strings.Join(uris, ",") + `]}', '{"type":"json"}')) EXTEND (t BIGINT, region VARCHAR, country VARCHAR,
  campaign VARCHAR, session VARCHAR, url VARCHAR, ms BIGINT, bytes BIGINT, f DOUBLE) PARTITIONED BY DAY`
		if err := s.watched(ctx, "load", out, func() error { return s.ingest(ctx, load) }); err != nil {
			return err
		}
		for _, q := range []struct{ name, sql, want string }{
			{"count and sums", `SELECT COUNT(*), SUM(ms), SUM(bytes) FROM generated`, fmt.Sprint([]int64{want.rows, want.millis, want.bytes})},
			{"groups by session", `SELECT COUNT(*), SUM(n), MAX(n), SUM(s) FROM (SELECT session, COUNT(*) AS n, SUM(ms) AS s FROM generated GROUP BY session)`,
				fmt.Sprint([]int64{want.sessions, want.rows, 2, want.millis})},
			{"groups by session and campaign, the first of them", `SELECT session, campaign, SUM(ms) AS s, COUNT(*) FROM generated GROUP BY session, campaign ORDER BY s DESC, session, campaign LIMIT 3`, ""},
		} {
			var rows [][]any
			err := s.watched(ctx, q.name, out, func() (err error) {
				rows, err = s.query(ctx, q.sql)
				return err
			})
			if err != nil {
				return err
			}
			if got := fmt.Sprint(rows); q.want != "" && got != "["+q.want+"]" {
				return fmt.Errorf("%s: the answer is %s, it should be %s", q.name, got, q.want)
			}
			fmt.Fprintf(out, "  %v\n", rows)
		}
		return nil
	}, "--set", "service.memory.limit="+memory)
}

// watched calls f and says how long it took, in time and time of processors, and how much memory
// and disk the server had at most meanwhile.
func (s *server) watched(ctx context.Context, name string, out io.Writer, f func() error) error {
	began, cpu := time.Now(), s.processorTime()
	done := make(chan error, 1)
	go func() { done <- f() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var resident, anonymous, disk int64
	note := func() error {
		r, a, err := s.memory()
		if err != nil {
			return err
		}
		resident, anonymous, disk = max(resident, r), max(anonymous, a), max(disk, diskUsage(s.dir))
		return nil
	}
	for said := began; ; {
		select {
		case err := <-done:
			err = errors.Join(err, note())
			fmt.Fprintf(out, "%s: %.0f s, %.0f s of processors; at most %d MiB resident, %d MiB of them not mapped files; %.1f GB on disk\n", name,
				time.Since(began).Seconds(), (s.processorTime() - cpu).Seconds(), resident>>20, anonymous>>20, float64(disk)/1e9)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		case now := <-tick.C:
			if err := note(); err != nil {
				return err
			}
			if now.Sub(said) > time.Minute {
				said = now
				fmt.Fprintf(out, "  after %.0f s: at most %d MiB resident, %d MiB not mapped; %.1f GB on disk\n", now.Sub(began).Seconds(), resident>>20, anonymous>>20, float64(disk)/1e9)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// processorTime is what the process has used so far.
func (s *server) processorTime() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var user, system int64
	if len(fields) > 12 {
		_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory is the resident memory, and how much of it is the process's own and not mapped files,
// which the system takes back where it needs to.
func (s *server) memory() (resident, anonymous int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && (name == "VmRSS" || name == "RssAnon") {
			var kb int64
			if _, err := fmt.Sscan(value, &kb); err != nil {
				return 0, 0, err
			}
			if name == "VmRSS" {
				resident = kb << 10
			} else {
				anonymous = kb << 10
			}
		}
	}
	return resident, anonymous, nil
}

// diskUsage is what the files below dir take; a file with several names counts once.
func diskUsage(dir string) (total int64) {
	seen := map[uint64]bool{}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // files come and go while one looks
		}
		if info, err := d.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && !seen[stat.Ino] {
				seen[stat.Ino] = true
				total += stat.Blocks * 512
			}
		}
		return nil
	})
	return total
}
