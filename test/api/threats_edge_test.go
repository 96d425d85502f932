package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/testkit/server"
)

// ask sends a request with headers and returns the answer with its body.
func ask(t *testing.T, s *server.Server, method, path, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.Addresses["router"]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// A page of another origin can't have a browser change anything, with or without a body; programs
// that name no origin can. (spec/security.md, section 12, row 21; spec/access.md, section 5)
func TestPagesOfOthersChangeNothing(t *testing.T) {
	s := withEvents(t)
	form := map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site",
		"Content-Type": "application/x-www-form-urlencoded"}
	old := map[string]string{"Referer": "http://evil.example/", "Content-Type": "text/plain"}
	tried := 0
	for _, role := range []string{"router", "coordinator", "overlord", "broker", "historical", "indexer"} {
		for _, pattern := range s.Routes(role) {
			method, path, found := strings.Cut(pattern, " ")
			if !found || method == http.MethodGet {
				continue
			}
			path = wildcard.ReplaceAllString(strings.ReplaceAll(path, "{$}", ""), "x")
			tried++
			if resp, text := ask(t, s, method, path, "", form); resp.StatusCode != http.StatusForbidden || !strings.Contains(text,
				"another origin") {
				t.Errorf("%s %s from a page: %d %s", method, path, resp.StatusCode, text)
			}
			if resp, _ := ask(t, s, method, path, "{}", old); resp.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("%s %s from a form of an old browser: %d", method, path, resp.StatusCode)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only [%d] endpoints that change something were tried", tried)
	}
	const mark = "/service/indexer/v1/datasources/nothing/markUsed"
	for name, header := range map[string]map[string]string{
		"curl": {"User-Agent": "curl/8.5"}, "curl -d ''": {"User-Agent": "curl/8.5", "Content-Type": "application/x-www-form-urlencoded"},
		"own page": {"Origin": s.Addresses["router"], "Sec-Fetch-Site": "same-origin", "User-Agent": "Mozilla/5.0"},
	} {
		if resp, text := ask(t, s, http.MethodPost, mark, "", header); resp.StatusCode == http.StatusForbidden ||
			resp.StatusCode == http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
}

// A name that somebody lets point to the loopback interface is not answered. (spec/access.md,
// section 5)
func TestOtherNamesOfTheLoopbackInterfaceAreNotAnswered(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.server.http.allowedHosts=henge.example"}})
	for host, want := range map[string]int{"evil.example": 403, "evil.example:8888": 403, "henge.example": 200, "localhost:1": 200,
		"127.0.0.1": 200} {
		resp, text := ask(t, s, http.MethodGet, "/status/properties", "", map[string]string{"Host": host})
		if resp.StatusCode != want {
			t.Errorf("%s: %d %s", host, resp.StatusCode, text)
		}
	}
}

// Answers can't be read as pages or shown in frames, and what they repeat of a request can't become
// a header or markup. (spec/security.md, section 12, row 11)
func TestAnswersAreNoPages(t *testing.T) {
	s := server.Start(t, server.Options{})
	const script = "<script>alert(1)</script>"
	for _, path := range []string{"/service/indexer/v1/task/%3Cscript%3Ealert(1)%3C%2Fscript%3E/status",
		"/service/indexer/v1/supervisor/%3Cscript%3E",
		"/service/v2/sql/statements/%3Cscript%3E", "/proxy/%3Cscript%3E", "/status"} {
		resp, text := ask(t, s, http.MethodGet, path, "", nil)
		media := resp.Header.Get("Content-Type")
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Content-Security-Policy") != "frame-ancestors 'none'" ||
			strings.Contains(media, "html") || media == "" && strings.Contains(text, script) {
			t.Errorf("%s: %v %s", path, resp.Header, text)
		}
	}
	resp, _ := ask(t, s, http.MethodPost, "/service/v2/sql",
		`{"query":"SELECT 1","context":{"sqlQueryId":"a\r\nSet-Cookie: b=c\r\n\r\n<html>"}}`,
		map[string]string{"Content-Type": "application/json"})
	if resp.Header.Get("Set-Cookie") != "" || resp.StatusCode != http.StatusOK {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	resp, _ = ask(t, s, http.MethodPost, "/service/v2/sql", `{"query":"SELECT 1","context":{"sqlQueryId":"naïve"}}`,
		map[string]string{"Content-Type": "application/json"})
	if id, ok := resp.Header["X-Service-Sql-Query-Id"]; ok || resp.StatusCode != http.StatusOK {
		t.Errorf("%d, the id is %q", resp.StatusCode, id)
	}
}

// What comes from outside ends no line of the log, and does not fill it. (spec/security.md, section
// 12, row 10)
func TestLogLinesAreLines(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		log := &syncBuffer{}
		logger, err := obs.NewLogger(log, obs.LogOptions{Level: "debug", Format: format})
		if err != nil {
			t.Fatal(err)
		}
		s := server.Start(t, server.Options{Log: logger})
		long := strings.Repeat("x", 100_000)
		forged := "q\nlevel=ERROR msg=forged\r\u2028\u001b[31m"
		for _, id := range []string{forged, long} {
			body, err := json.Marshal(map[string]any{"query": "SELECT * FROM \"" + id + "\"", "context": map[string]any{"sqlQueryId": id}})
			if err != nil {
				t.Fatal(err)
			}
			ask(t, s, http.MethodPost, "/service/v2/sql", string(body), map[string]string{"Content-Type": "application/json"})
		}
		ask(t, s, http.MethodGet, "/service/indexer/v1/task/a%0Alevel=ERROR%20msg=forged/status", "", nil)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for _, line := range lines {
			if strings.HasPrefix(line, "level=ERROR") || strings.ContainsAny(line, "\r\u001b\u2028") || len(line) > 16<<10 {
				t.Errorf("%s: %d bytes: %.300s", format, len(line), line)
			}
		}
		if !strings.Contains(log.String(), "forged") {
			t.Errorf("%s: the log has nothing of it in [%d] lines", format, len(lines))
		}
	}
}

// Headers and bodies have limits. (spec/security.md, section 12, rows 19 and 20)
func TestRequestsHaveLimits(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.server.http.maxRequestBytes=1MiB"}})
	if resp, _ := ask(t, s, http.MethodGet, "/status", "", map[string]string{"X-Long": strings.Repeat("x", 1<<20)}); resp.StatusCode != 431 {
		t.Errorf("a header of 1 MiB: %d", resp.StatusCode)
	}
	object := map[string]string{"Content-Type": "application/json"}
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := w.Write(bytes.Repeat([]byte(" "), 32<<20)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	wide := server.Start(t, server.Options{})
	for _, path := range []string{"/service/v2/sql", "/service/v2", "/service/indexer/v1/task", "/service/coordinator/v1/lookups/config",
		"/service/v2/ingest/t"} {
		packed := map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}
		if resp, text := ask(t, wide, http.MethodPost, path, bomb.String(), packed); resp.StatusCode != http.StatusRequestEntityTooLarge ||
			!strings.Contains(text, "decompresses to more than [200] times its size") {
			t.Errorf("%s: 32 MiB in [%d] bytes: %d %.200s", path, bomb.Len(), resp.StatusCode, text)
		}
	}
	for _, path := range []string{"/service/v2/sql", "/service/indexer/v1/task", "/service/indexer/v1/sampler",
		"/service/indexer/v1/supervisor"} {
		large := `{"query":"` + strings.Repeat("x", 2<<20) + `"}`
		if resp, text := ask(t, s, http.MethodPost, path, large, object); resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s of 2 MiB: %d %.200s", path, resp.StatusCode, text)
		}
		deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
		if resp, text := ask(t, s, http.MethodPost, path, deep, object); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s of depth 100,000: %d %.200s", path, resp.StatusCode, text)
		}
	}
}

// Nobody else reads what the server writes, whatever the umask. (spec/security.md, section 12, row
// 26)
func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	log := &syncBuffer{}
	logger, err := obs.NewLogger(log, obs.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := server.Start(t, server.Options{Dir: dir, Log: logger})
	if err := s.Ingest(t.Context(),
		`INSERT INTO t SELECT TIME_PARSE(a) AS __time, b FROM TABLE(EXTERN('{"type":"inline","data":"2026-01-01,x"}',
		'{"type":"csv","columns":["a","b"]}')) EXTEND (a VARCHAR, b VARCHAR) PARTITIONED BY DAY`, nil); err != nil {
		t.Fatal(err)
	}
	count := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		count++
		return err
	})
	if err != nil || count < 10 {
		t.Errorf("%d files, %v", count, err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "readable by other users") {
		t.Errorf("a warning of files that are private: %s", log)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t, server.Options{Dir: dir, Log: logger}).Stop(); err != nil || !strings.Contains(log.String(),
		"readable by other users") {
		t.Errorf("no warning of a directory that all can read: %v", err)
	}
}

// A specification that was shown, changed and sent back keeps its secrets; one that was given
// another address does not get them. (spec/security.md, section 10)
func TestMasksThatComeBackKeepSecrets(t *testing.T) {
	s := server.Start(t, server.Options{})
	const path = "/service/indexer/v1/supervisor"
	spec := `{"type":"kafka","suspended":true,"spec":{"dataSchema":{"dataSource":"k","timestampSpec":{"column":"t"},` +
		`"dimensionsSpec":{"dimensions":["a"]},"granularitySpec":{}},"ioConfig":{"topic":"t","inputFormat":{"type":"json"},` +
		`"consumerProperties":{"bootstrap.servers":"127.0.0.1:1",` +
		`"security.protocol":"SASL_PLAINTEXT","sasl.mechanism":"PLAIN","sasl.username":"u","sasl.password":"pl4nted-pw"}}}}`
	object := map[string]string{"Content-Type": "application/json"}
	if resp, text := ask(t, s, http.MethodPost, path, spec, object); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	_, shown := ask(t, s, http.MethodGet, path+"/k", "", nil)
	if !strings.Contains(shown, `"sasl.password":"********"`) {
		t.Fatalf("shown as %s", shown)
	}
	resp, text := ask(t, s, http.MethodPost, path, strings.Replace(shown, `"suspended":true`, `"suspended":true,"context":{"priority":3}`,
		1), object)
	if resp.StatusCode != http.StatusOK {
		t.Errorf("sent back: %d %s", resp.StatusCode, text)
	}
	resp, text = ask(t, s, http.MethodPost, path, strings.ReplaceAll(shown, "127.0.0.1:1", "127.0.0.1:2"), object)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "enter the secret itself") {
		t.Errorf("sent back with another address: %d %s", resp.StatusCode, text)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	found := filesBelow(t, s.Dir)
	if kept := strings.Count(found["metastore.db"], "pl4nted-pw"); kept < 2 || bytes.Contains([]byte(found["metastore.db"]),
		[]byte("********\"}")) {
		t.Errorf("the store has the password [%d] times", kept)
	}
}
