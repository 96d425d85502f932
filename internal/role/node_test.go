package role_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/server"
)

func TestMain(m *testing.M) {
	// The library of Kerberos keeps what it has seen of tickets for as long as the process runs.
	goleak.VerifyTestMain(m, // the name depends on whether the function around it is inlined
		goleak.IgnoreAnyFunction("github.com/jcmturner/gokrb5/v8/service.GetReplayCache.func1.1"),
		goleak.IgnoreAnyFunction("github.com/jcmturner/gokrb5/v8/service.VerifyAPREQ.GetReplayCache.func1.1"))
}

// get asks a server that is not pooled, so that no connection outlives the test.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// refused starts a node that must not start, and returns what the user is told.
func refused(t *testing.T, o server.Options) *fault.Error {
	t.Helper()
	s, err := server.Open(t.Context(), o)
	if err == nil {
		_ = s.Stop() // the test has failed anyway
		t.Fatal("the server started")
	}
	f := fault.Find(err)
	if f == nil {
		t.Fatalf("not a fault: %v", err)
	}
	return f
}

const inline = `TABLE(EXTERN('{"type":"inline","data":"{\"n\":1}\n{\"n\":2}"}', '{"type":"json"}')) EXTEND (n BIGINT)`

func replaceAll(dataSource, from string) string {
	return `REPLACE INTO ` + dataSource + ` OVERWRITE ALL SELECT TIMESTAMP '2020-01-01 00:00:00' AS __time, n FROM ` + from + ` PARTITIONED BY DAY`
}

func TestEveryRoleAnswers(t *testing.T) {
	s := server.Start(t, server.Options{})
	if len(s.Addresses) != 6 {
		t.Errorf("addresses %v", s.Addresses)
	}
	for role, url := range s.Addresses {
		for _, path := range []string{"/status/health", "/status/ready"} {
			if status, body := get(t, url+path); status != http.StatusOK || body != "true" {
				t.Errorf("%s of the %s: %d %s", path, role, status, body)
			}
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if status, body := get(t, url+path); status != http.StatusOK || body != "ok\n" {
				t.Errorf("%s of the %s: %d %s", path, role, status, body)
			}
		}
		if !strings.HasPrefix(url, "http://localhost:") {
			t.Errorf("the %s is at %s", role, url)
		}
	}
	for role, path := range map[string]string{"broker": "/service/v2/sql/engines", "router": "/service/v2/sql/engines", "overlord": "/service/indexer/v1/tasks", "coordinator": "/service/indexer/v1/tasks"} {
		if status, _ := get(t, s.Addresses[role]+path); status != http.StatusOK {
			t.Errorf("%s of the %s: %d", path, role, status)
		}
	}
	if status, _ := get(t, s.Addresses["historical"]+"/service/v2/sql/engines"); status != http.StatusNotFound {
		t.Errorf("SQL on the Historical: %d", status)
	}
}

// started is a node of this process, stopped at the latest with the test.
func started(t *testing.T, o role.Options, settings ...string) (*role.Node, *server.Client) {
	t.Helper()
	var err error
	if o.Settings, err = config.Load(config.Sources{Flags: append(append(server.FreePorts(), "service.data.dir="+t.TempDir()), settings...)}); err != nil {
		t.Fatal(err)
	}
	if o.Version = "test"; o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n, err := role.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := &server.Client{Addresses: map[string]string{}}
	for _, a := range n.Addresses() {
		c.Addresses[a.Role] = a.URL()
	}
	return n, c
}

func stop(t *testing.T, n *role.Node, c *server.Client) {
	t.Helper()
	c.CloseIdle()
	if err := n.Stop(context.Background()); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestOnlyLoopbackUnlessToldOtherwise(t *testing.T) {
	n, c := started(t, role.Options{})
	defer stop(t, n, c)
	_, port, err := net.SplitHostPort(n.Addresses()[0].HostPort)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range machineAddresses(t) {
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort(address, port)); err == nil {
			conn.Close()
			t.Errorf("it listens on %s", address)
		}
	}
	if n.StartTook() <= 0 {
		t.Errorf("it started in %s", n.StartTook())
	}
}

// machineAddresses are the addresses of this machine that are not loopback.
func machineAddresses(t *testing.T) []string {
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			out = append(out, n.IP.String())
		}
	}
	return out
}

func TestASecondStartOnADirectoryIsRefused(t *testing.T) {
	s := server.Start(t, server.Options{})
	f := refused(t, server.Options{Dir: s.Dir})
	want := fmt.Sprintf("Data directory [%s] is in use by process %d. Stop it, or choose another directory with --data or service.data.dir.", s.Dir, os.Getpid())
	if f.Message != want || f.Category != fault.CategoryConflict {
		t.Errorf("%s", f.Message)
	}
	if status, _ := get(t, s.Addresses["router"]+"/status/health"); status != http.StatusOK {
		t.Error("the first does not answer any more")
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	server.Start(t, server.Options{Dir: s.Dir}) // free again
}

func TestAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	dir := t.TempDir()
	f := refused(t, server.Options{Dir: dir, Settings: []string{"service.overlord.plaintextPort=" + port}})
	if f.Message != "Port ["+port+"] of the overlord is in use by another program. Stop it, or choose another port with service.overlord.plaintextPort (0 takes a free one)." {
		t.Error(f.Message)
	}
	server.Start(t, server.Options{Dir: dir}) // nothing was left behind
}

func TestDirectoriesThatCanNotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "")
	newer, damaged := t.TempDir(), t.TempDir()
	write(filepath.Join(newer, "version"), "2\n")
	write(filepath.Join(damaged, "version"), "x")
	for dir, want := range map[string]string{
		newer:                     "Data directory [" + newer + "] has version [2] and was written by a newer release; this release reads versions up to [1]. Use the newer release.",
		damaged:                   "Data directory [" + damaged + "] is damaged: its file [version] contains no number",
		file:                      "Data directory [" + file + "] can't be created: not a directory. Choose another with --data or service.data.dir.",
		filepath.Join(file, "in"): "Data directory [" + filepath.Join(file, "in") + "] can't be created: not a directory. Choose another with --data or service.data.dir.",
	} {
		if f := refused(t, server.Options{Dir: dir}); f.Message != want {
			t.Errorf("%s\nwant %s", f.Message, want)
		}
	}
	if got, err := os.ReadFile(filepath.Join(newer, "version")); err != nil || string(got) != "2\n" {
		t.Errorf("the newer directory's version is now %q, %v", got, err)
	}
	if list, err := os.ReadDir(newer); err != nil || len(list) != 2 { // version and lock
		t.Errorf("the newer directory holds %v, %v", list, err)
	}
}

func TestAReadOnlyDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the super user may write to read-only directories")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if f := refused(t, server.Options{Dir: dir}); f.Message != "Data directory ["+dir+"] can't be written to: permission denied. Choose another with --data or service.data.dir." {
		t.Error(f.Message)
	}
}

func TestSettingsThatCanNotBe(t *testing.T) {
	for setting, want := range map[string]string{
		"service.metadata.storage.type=oracle":        "[service.metadata.storage.type] is unknown; use sqlite or postgresql",
		"service.storage.type=tape":                   "Value [tape] of setting [service.storage.type] is unknown; use local",
		"service.storage.type=s3":                     "Deep storage in S3 needs a bucket: set [service.storage.bucket]",
		"service.metadata.storage.type=postgresql":    "needs its address: set [service.metadata.storage.connector.connectURI]",
		"service.processing.tmpDir=/dev/null/x":       "Folder [/dev/null/x] (service.processing.tmpDir) can't be",
		"service.sql.planner.sqlTimeZone=Mars/Utopia": "Mars/Utopia",
		"service.server.http.errorFormat=old":         "Value [old] of setting [service.server.http.errorFormat] is unknown; use union or modern",
		"service.api.aliasVersion=latest":             "Value [latest] of setting [service.api.aliasVersion] is not a release, such as 33.0.0",
	} {
		if f := refused(t, server.Options{Dir: t.TempDir(), Settings: []string{setting}}); !strings.Contains(f.Message, want) {
			t.Errorf("%s: %s", setting, f.Message)
		}
	}
	const key = "service.metadata.storage.connector.password"
	for password, want := range map[string]string{
		`{"type":"environment","variable":"NOT_THERE"}`: "Variable [NOT_THERE] of the environment, which setting [" + key + "] names, is not set",
		`{"type":"vault"}`: "Setting [" + key + "] is neither a text nor an object with a type [default] or [environment]",
		`{`:                "Setting [" + key + "] is neither",
	} {
		f := refused(t, server.Options{Dir: t.TempDir(), Settings: []string{"service.metadata.storage.type=postgresql", key + "=" + password}})
		if !strings.Contains(f.Message, want) {
			t.Errorf("%s: %s", password, f.Message)
		}
	}
}

// Wrong settings are named although ports are taken, and hosts that can't be listened on by their
// setting.
func TestWhatIsCheckedBeforePorts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := "service.router.plaintextPort=" + strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct{ setting, want string }{
		{"service.metadata.storage.type=oracle", "[service.metadata.storage.type]"},
		{"service.metadata.storage.type=postgresql", "[service.metadata.storage.connector.connectURI]"},
		{"service.storage.type=tape", "[service.storage.type]"},
		{"service.storage.type=s3", "[service.storage.bucket]"},
		{"service.processing.tmpDir=/dev/null", "(service.processing.tmpDir)"},
		{"service.labels={}", "is in use by another program"},
	} {
		if f := refused(t, server.Options{Dir: t.TempDir(), Settings: []string{port, c.setting}}); !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %s", c.setting, f.Message)
		}
	}
	for host, want := range map[string]string{
		"192.0.2.1":      "Host [192.0.2.1] (service.host) is not an address of this machine", // reserved for documentation
		"nosuch.invalid": "Host [nosuch.invalid] (service.host) has no address",
	} {
		f := refused(t, server.Options{Dir: t.TempDir(), Settings: []string{"service.host=" + host, "service.bindOnHost=true"}})
		if !strings.Contains(f.Message, want) || strings.Contains(f.Error(), "listen tcp") {
			t.Errorf("%s: %s", host, f.Message)
		}
	}
}

// Duties are taken out of the groups that there are anyhow, and run with the period of their new
// one.
func TestGroupsOfDuties(t *testing.T) {
	const prefix = "service.coordinator."
	s := server.Start(t, server.Options{Settings: []string{
		prefix + "dutyGroups=often,old", prefix + "often.duties=compactSegments", prefix + "often.period=PT1S",
		prefix + "old.duties=killSupervisors", prefix + "old.period=PT1S", prefix + "old.duty.killSupervisors.durationToRetain=PT0S",
	}})
	for _, r := range [][2]string{{"/service/indexer/v1/supervisor", `{"type":"noop","id":"ended"}`}, {"/service/indexer/v1/supervisor/ended/terminate", ""}} {
		if status, body, err := s.Send(t.Context(), "overlord", http.MethodPost, r[0], r[1]); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", r[0], status, body, err)
		}
	}
	type group struct {
		Name, Period, LastRunStart string
		DutyNames                  []string
	}
	groups := func() map[string]group {
		var answer struct{ DutyGroups []group }
		if status, body := get(t, s.Addresses["coordinator"]+"/service/coordinator/v1/duties"); status != http.StatusOK || json.Unmarshal([]byte(body), &answer) != nil {
			t.Fatalf("%d %s", status, body)
		}
		out := map[string]group{}
		for _, g := range answer.DutyGroups {
			out[g.Name] = g
		}
		return out
	}
	found := groups()
	if g := found["often"]; g.Period != "PT1S" || fmt.Sprint(g.DutyNames) != "[compactSegments]" {
		t.Errorf("group [often] is %+v", g)
	}
	if _, there := found["IndexingServiceDuties"]; there {
		t.Error("compaction is in two groups")
	}
	server.Until(t, "both groups have run", func() bool {
		now := groups()
		return now["often"].LastRunStart != "" && now["old"].LastRunStart != ""
	})
	server.Until(t, "the ended supervisor is forgotten", func() bool {
		status, _ := get(t, s.Addresses["overlord"]+"/service/indexer/v1/supervisor/ended/history")
		return status == http.StatusNotFound
	})
}

func TestGroupsOfDutiesThatCanNotBe(t *testing.T) {
	const prefix = "service.coordinator."
	for _, test := range []struct {
		settings []string
		want     string
	}{
		{[]string{prefix + "dutyGroups=a"}, "Group [a] of setting [service.coordinator.dutyGroups] has no duties: set [service.coordinator.a.duties]"},
		{[]string{prefix + "dutyGroups=a", prefix + "a.duties=dust"}, "Duty [dust] of setting [service.coordinator.a.duties] is unknown: it must be [compactSegments] or [killSupervisors]"},
		{[]string{prefix + "dutyGroups=a", prefix + "a.duties=compactSegments", prefix + "a.period=PT0S"}, "Value [PT0S] of setting [service.coordinator.a.period] is not above zero"},
		{
			[]string{prefix + "dutyGroups=a,b", prefix + "a.duties=killSupervisors", prefix + "b.duties=killSupervisors"},
			"Duty [killSupervisors] of setting [service.coordinator.b.duties] is also in group [a]",
		},
	} {
		if f := refused(t, server.Options{Dir: t.TempDir(), Settings: test.settings}); f.Message != test.want {
			t.Errorf("%v: %s", test.settings, f.Message)
		}
	}
}

func TestARestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	first := server.Start(t, server.Options{Dir: dir})
	if err := first.Ingest(t.Context(), replaceAll("kept", inline), map[string]any{"sqlQueryId": "load"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := server.Start(t, server.Options{Dir: dir})
	if rows, err := second.Query(t.Context(), "SELECT COUNT(*), SUM(n) FROM kept"); err != nil || fmt.Sprint(rows) != "[[2 3]]" {
		t.Errorf("%v, %v", rows, err)
	}
	if end, err := second.Await(t.Context(), "query-load"); err != nil || end.StatusCode != "SUCCESS" {
		t.Errorf("the task: %+v, %v", end, err)
	}
	if status, body := get(t, second.Addresses["overlord"]+"/service/indexer/v1/task/query-load/log"); status != http.StatusOK || !strings.Contains(body, "task succeeded") {
		t.Errorf("its log: %d %s", status, body)
	}
}

// TestLookupsAreThereAfterARestart: the first query after a start finds what is read from outside,
// also where that is slow: it takes many requests to make.
func TestLookupsAreThereAfterARestart(t *testing.T) {
	var readings atomic.Int64
	parts := httptest.NewServer(http.NotFoundHandler())
	defer parts.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if readings.Add(1) > 1 {
			for range 500 {
				if resp, err := http.Get(parts.URL); err == nil {
					_ = resp.Body.Close() // nothing is in it
				}
			}
		}
		_, _ = io.WriteString(w, "a,b\n")
	}))
	defer web.Close()
	dir := t.TempDir()
	first := server.Start(t, server.Options{Dir: dir})
	resp, err := http.Post(first.Addresses["coordinator"]+"/service/coordinator/v1/lookups/config/__default/l", "application/json", strings.NewReader(
		`{"version":"1","lookupExtractorFactory":{"type":"cachedNamespace","extractionNamespace":{"type":"uri","uri":"`+web.URL+`","namespaceParseSpec":{"format":"csv","columns":["k","v"]}}}}`))
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp, err)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := server.Start(t, server.Options{Dir: dir})
	if rows, err := second.Query(t.Context(), "SELECT LOOKUP('a', 'l')"); err != nil || fmt.Sprint(rows) != "[[b]]" {
		t.Errorf("%v, %v", rows, err)
	}
}

// source answers with a row, but only after it is let go.
func source(t *testing.T) (extern string, asked chan struct{}, let func()) {
	asked, free := make(chan struct{}, 10), make(chan struct{})
	let = sync.OnceFunc(func() { close(free) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-free:
			_, _ = io.WriteString(w, `{"n":5}`+"\n") // the task may be gone
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { let(); s.Close() })
	return fmt.Sprintf(`TABLE(EXTERN('{"type":"http","uris":["%s"]}', '{"type":"json"}')) EXTEND (n BIGINT)`, s.URL), asked, let
}

// A stop interrupts tasks, and does not end them: they go on after the next start.
func TestTasksGoOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	extern, asked, let := source(t)
	one := []string{"service.worker.capacity=1"}
	first := server.Start(t, server.Options{Dir: dir, Settings: one})
	running, err := first.Submit(t.Context(), replaceAll("a", extern), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	waiting, err := first.Submit(t.Context(), replaceAll("b", inline), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := server.Start(t, server.Options{Dir: dir, Settings: one})
	<-asked
	let()
	for id, want := range map[string]string{running: "SELECT SUM(n) FROM a", waiting: "SELECT SUM(n) + 2 FROM b"} {
		if end, err := second.Await(t.Context(), id); err != nil || end.StatusCode != "SUCCESS" {
			t.Fatalf("%s: %+v, %v", id, end, err)
		}
		if rows, err := second.Query(t.Context(), want); err != nil || fmt.Sprint(rows) != "[[5]]" {
			t.Errorf("%s: %v, %v", want, rows, err)
		}
	}
}

// wrong is a clock that goes wrong by some time.
type wrong struct {
	clock.Clock
	by time.Duration
}

func (w wrong) Now() time.Time { return w.Clock.Now().Add(w.by) }

// What is written after the clock was set back replaces what was written before.
func TestAClockThatIsSetBack(t *testing.T) {
	dir := "service.data.dir=" + t.TempDir()
	const one, two = `TABLE(EXTERN('{"type":"inline","data":"{\"n\":1}"}', '{"type":"json"}')) EXTEND (n BIGINT)`, inline
	for i, step := range []struct {
		by   time.Duration
		from string
		want string
	}{{0, one, "[[1 1]]"}, {-48 * time.Hour, two, "[[2 3]]"}, {-96 * time.Hour, one, "[[1 1]]"}} {
		n, c := started(t, role.Options{Clock: wrong{clock.System(), step.by}}, dir)
		if err := c.Ingest(t.Context(), replaceAll("ds", step.from), nil); err != nil {
			t.Fatal(err)
		}
		if rows, err := c.Query(t.Context(), "SELECT COUNT(*), SUM(n) FROM ds"); err != nil || fmt.Sprint(rows) != step.want {
			t.Errorf("step %d: %v, %v", i, rows, err)
		}
		stop(t, n, c)
	}
}

// A segment whose bytes are gone is an error that names it, never a part of an answer.
func TestAFileThatIsGoneFromDeepStorage(t *testing.T) {
	dir := t.TempDir()
	setting := "service.data.dir=" + dir
	n, c := started(t, role.Options{}, setting)
	if err := c.Ingest(t.Context(), replaceAll("ds", inline), nil); err != nil {
		t.Fatal(err)
	}
	stop(t, n, c)
	removed := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "ds"+string(filepath.Separator)) {
			removed++
			return os.Remove(path)
		}
		return err
	})
	if err != nil || removed == 0 {
		t.Fatalf("%d files removed, %v", removed, err)
	}
	n, c = started(t, role.Options{}, setting)
	defer stop(t, n, c)
	var told *server.Refusal
	if rows, err := c.Query(t.Context(), "SELECT SUM(n) FROM ds"); !errors.As(err, &told) || told.Status != http.StatusInternalServerError || !strings.Contains(string(told.Body), "ds_2020-01-01") {
		t.Errorf("%v, %v", rows, err)
	}
	if err := c.Ingest(t.Context(), replaceAll("ds", inline), nil); err != nil {
		t.Errorf("loading again: %v", err)
	}
	if rows, err := c.Query(t.Context(), "SELECT COUNT(*) FROM ds"); err != nil || fmt.Sprint(rows) != "[[2]]" {
		t.Errorf("after that: %v, %v", rows, err)
	}
}

func TestSystemTables(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.metadata.storage.connector.password=sesame"}})
	if err := s.Ingest(t.Context(), replaceAll("ds", inline), map[string]any{"sqlQueryId": "load"}); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		`SELECT datasource, "start", "end", partition_num, num_replicas, num_rows, is_active, is_published, is_available,
		is_realtime, is_overshadowed, dimensions,
		metrics FROM sys.segments`: `[[ds 2020-01-01T00:00:00.000Z 2020-01-02T00:00:00.000Z 0 1 2 1 1 1 0 0 ["n"] []]]`,
		`SELECT COUNT(*) FROM sys.segments s JOIN sys.server_segments l ON s.segment_id = l.segment_id JOIN sys.servers v ON v.server = l.server WHERE v.server_type = 'historical' AND v.curr_size = s.size`: `[[1]]`,
		`SELECT server_type,
		is_leader FROM sys.servers ORDER BY 1`: `[[broker <nil>] [coordinator 1] [historical <nil>] [indexer <nil>] [overlord 1] [router <nil>]]`,
		`SELECT task_id, type, datasource, status, runner_status, tls_port,
		error_msg FROM sys.tasks`: `[[query-load query_controller ds SUCCESS NONE -1 <nil>]]`,
		`SELECT engine,
		state FROM sys.queries WHERE info LIKE '%FROM sys.queries%'`: `[[native RUNNING]]`,
		`SELECT COUNT(*) FROM sys.supervisors`: `[[0]]`,
		`SELECT COUNT(*),
		SUM(shown) FROM (SELECT server, COUNT(*) FILTER (WHERE "value" LIKE '%sesame%') AS shown FROM sys.server_properties GROUP BY 1)`: `[[6 0]]`,
	} {
		if rows, err := s.Query(t.Context(), sql); err != nil || fmt.Sprint(rows) != want {
			t.Errorf("%s\n got %v, %v\nwant %s", sql, rows, err, want)
		}
	}
}

func TestWaitStopsWithItsContext(t *testing.T) {
	n, _ := started(t, role.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Wait(ctx); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", n.Addresses()[0].HostPort); err == nil {
		conn.Close()
		t.Error("it listens still")
	}
}

func TestSQLCanBeTurnedOff(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.sql.enable=false"}})
	for _, path := range []string{"/service/v2/sql", "/service/v2/sql/statements/x", "/service/v2/sql/task/enabled"} {
		if status, body := get(t, s.Addresses["router"]+path); status != http.StatusNotFound && status != http.StatusMethodNotAllowed || !strings.Contains(body, path) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := get(t, s.Addresses["router"]+"/service/indexer/v1/tasks"); status != http.StatusOK {
		t.Errorf("tasks: %d", status)
	}
}

func TestMetricsOfEveryPart(t *testing.T) {
	clock := server.NewStepped(t)
	s := server.Start(t, server.Options{Clock: clock})
	if err := s.Ingest(t.Context(), replaceAll("m", inline), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Query(t.Context(), "SELECT COUNT(*) FROM m"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Query(t.Context(), "SELECT"); err == nil {
		t.Fatal("half a statement was run")
	}
	kill := map[string]string{"type": "kill", "id": "k", "dataSource": "m", "interval": "1970-01-01/2100-01-01"}
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/service/coordinator/v1/config", map[string]int{"maxSegmentsToMove": 7}},
		{http.MethodDelete, "/service/coordinator/v1/datasources/m", nil}, {http.MethodPost, "/service/indexer/v1/task", kill},
	} {
		if err := s.Call(t.Context(), call.method, call.path, call.body, nil); err != nil {
			t.Fatal(err)
		}
	}
	if task, err := s.Await(t.Context(), "k"); err != nil || task.StatusCode != "SUCCESS" {
		t.Fatal(task, err)
	}
	for text := ""; t.Context().Err() == nil && !(strings.Contains(text, `service_segment_unneeded_count_total{`) &&
		strings.Contains(text, `service_coordinator_global_time_count{dutyGroup="HistoricalManagementDuties"`)); {
		_, text = get(t, s.Addresses["broker"]+"/metrics") // when what is gone is dropped, and the rules have been asked
	}
	if err := s.Ingest(t.Context(), replaceAll("m", inline), nil); err != nil {
		t.Fatal(err)
	}
	clock.Advance(10 * time.Second) // a scrape gets what was measured of late
	_, text := get(t, s.Addresses["broker"]+"/metrics")
	for _, want := range []string{
		`henge_queries_total{outcome="success"} 1`, `henge_queries_total{outcome="invalid"} 1`, `henge_query_seconds_count 1`,
		`henge_queries_running 0`,
		`henge_segments_loaded 1`, `henge_datasources 1`, `henge_memory_limit_bytes `, `henge_memory_reserved_bytes `, `henge_spill_bytes 0`,
		`henge_tasks_active{state="running"} 0`, `henge_tasks_ended_total{status="SUCCESS"} 3`, `henge_task_slots `,
		`henge_http_requests_total{role="router",route="POST /service/v2/sql",status="200"} 1`,
		`henge_build_info{revision="",version="test"} 1`, `go_goroutines `,
		`service_segment_count{dataSource="m",service="service/coordinator"} 1`,
		`service_segment_unavailable_count{dataSource="m",service="service/coordinator"} 0`,
		`service_tier_historical_count{service="service/coordinator",tier="_default_tier"} 1`,
		`service_compact_task_count_total{service="service/coordinator"} 0`,
		`service_task_success_count_total{dataSource="m",service="service/overlord",taskType="query_controller"} 2`,
		`service_taskSlot_total_count{service="service/overlord"} `,
		`service_segment_used{priority="0",service="service/historical",tier="_default_tier"} `,
		`service_config_audit_total{key="coordinator.config",service="service/coordinator",type="coordinator.config"} 1`,
		`service_segment_assigned_count_total{server="`,
		`service_segment_dropped_count_total{server="`, `service_segment_loadQueue_assigned_total{server="`, `service_coordinator_time_count{duty="runRules"`,
		`service_segment_killed_metadataStore_count_total{dataSource="m",service="service/overlord"} 1`,
		`service_serverview_sync_healthy{server="`, `service_taskSlot_lazy_count{service="service/overlord"} 0`, `service_segment_pendingDelete{priority="0",service="service/historical",tier="_default_tier"} 0`,
		`service_task_waiting_time_count{dataSource="m",service="service/overlord",taskType="query_controller"} 2`,
		`service_task_pending_time_count{dataSource="m",service="service/overlord",taskType="query_controller"} 2`,
		`service_sqlQuery_planningTimeMs_count{service="service/broker"} 1`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// The log of a whole life, at its most talkative, holds no secret.
func TestLogsHoldNoSecrets(t *testing.T) {
	var log lockedBuffer
	n, c := started(t, role.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
		"service.metadata.storage.connector.password=sesame")
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	broken := fmt.Sprintf(`TABLE(EXTERN('{"type":"http","uris":["http://u:sesame@%s/x"],"httpAuthenticationUsername":"u","httpAuthenticationPassword":"sesame"}', '{"type":"json"}')) EXTEND (n BIGINT)`,
		strings.TrimPrefix(gone.URL, "http://"))
	if err := c.Ingest(t.Context(), replaceAll("a", broken), nil); err == nil {
		t.Error("it succeeded")
	} else if strings.Contains(err.Error(), "sesame") {
		t.Errorf("told the user: %v", err)
	}
	if _, err := c.Query(t.Context(), `SELECT 1 FROM `+broken); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("told the user: %v", err)
	}
	stop(t, n, c)
	if text := log.String(); strings.Contains(text, "sesame") || !strings.Contains(text, "msg=request role=router method=POST path=/service/v2/sql") {
		t.Errorf("the log: %s", text)
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// crossed runs until it is told not to: it has no rows to answer and very many to look at.
const crossed = `SELECT COUNT(*) FROM INFORMATION_SCHEMA.COLUMNS a, INFORMATION_SCHEMA.COLUMNS b,
INFORMATION_SCHEMA.COLUMNS c, INFORMATION_SCHEMA.COLUMNS d,
  INFORMATION_SCHEMA.COLUMNS e WHERE a.ORDINAL_POSITION + b.ORDINAL_POSITION + c.ORDINAL_POSITION + d.ORDINAL_POSITION + e.ORDINAL_POSITION < 0`

// A stop waits for queries under way, and interrupts what does not end in time.
func TestQueriesUnderWayAtAStop(t *testing.T) {
	n, c := started(t, role.Options{}, "service.server.http.gracefulShutdownTimeout=PT0.01S")
	answers := make(chan error, 1)
	go func() {
		_, err := c.Query(context.WithoutCancel(t.Context()), crossed)
		answers <- err
	}()
	for running := ""; !strings.Contains(running, "RUNNING"); {
		_, running = get(t, c.Addresses["router"]+"/service/v2/sql/queries")
	}
	stop(t, n, c)
	var told *server.Refusal
	if err := <-answers; !errors.As(err, &told) || !strings.Contains(string(told.Body), `"error":"Query interrupted"`) {
		t.Errorf("the query was told %v", err)
	}
}

// A connection on which no request comes is closed after the time that the settings say.
func TestIdleConnectionsAreClosed(t *testing.T) {
	n, c := started(t, role.Options{}, "service.server.http.maxIdleTime=PT0.05S")
	defer stop(t, n, c)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.Addresses["router"], "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /status/health HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200") {
		t.Errorf("what came before it was closed is [%s], %v", text, err)
	}
}
