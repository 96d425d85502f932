package api

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// sampled asks for a sample of a source, and a query of it, and returns both answers.
func sampled(t *testing.T, s *server.Server, source string) string {
	t.Helper()
	object := map[string]string{"Content-Type": "application/json"}
	_, one := ask(t, s, http.MethodPost, "/service/indexer/v1/sampler",
		`{"type":"index_parallel","spec":{"dataSchema":{"dataSource":"s","timestampSpec":`+
			`{"column":"t"},"dimensionsSpec":{}},"ioConfig":{"type":"index_parallel","inputSource":`+source+
			`,"inputFormat":{"type":"csv","columns":["t","a"]}}},"samplerConfig":{"timeoutMs":20000}}`, object)
	query := fmt.Sprintf("SELECT t FROM TABLE(EXTERN('%s', '{\"type\":\"csv\",\"columns\":[\"t\"]}')) EXTEND (t VARCHAR) LIMIT 5", source)
	_, two := ask(t, s, http.MethodPost, "/service/v2/sql", fmt.Sprintf(`{"query":%q}`, query), object)
	return one + "\n" + two
}

// Input over HTTP comes from where it may come from only, also by redirects. (spec/security.md,
// section 12, rows 1 and 2)
func TestInputOverHTTPComesFromAllowedPlaces(t *testing.T) {
	t.Parallel()
	var other, web *httptest.Server
	serve := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/to-localhost"):
			http.Redirect(w, r, strings.Replace(web.URL, "127.0.0.1", "localhost", 1)+"/ok", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/to-other"):
			http.Redirect(w, r, other.URL+"/headers", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/to-metadata"):
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/to-file"):
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/loop"):
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		case r.URL.Path == "/headers":
			_, _ = fmt.Fprintf(w, "seen:%s%s", r.Header.Get("X-Key"), r.Header.Get("Authorization"))
		default:
			_, _ = w.Write([]byte("reached"))
		}
	}
	web, other = httptest.NewServer(http.HandlerFunc(serve)), httptest.NewServer(http.HandlerFunc(serve))
	defer web.Close()
	defer other.Close()
	source := func(uri string, more ...string) string {
		return `{"type":"http","uris":["` + uri + `"]` + strings.Join(more, "") + `}`
	}
	open := server.Start(t, server.Options{Settings: []string{"service.ingestion.http.allowedHeaders=X-Key"}})
	narrow := server.Start(t, server.Options{Settings: []string{"service.ingestion.http.allowedHosts=127.0.0.1",
		"service.ingestion.http.blockedNetworks=::1/128"}})
	private := server.Start(t, server.Options{Settings: []string{"service.ingestion.http.allowPrivate=false"}})
	for _, c := range []struct {
		name   string
		s      *server.Server
		source string
		want   string
	}{
		{"plain", open, source(web.URL + "/ok"), "reached"},
		{"redirect", open, source(web.URL + "/to-localhost"), "reached"},
		{"metadata of the machine", open, source("http://169.254.169.254/latest/"), "blockedNetworks"},
		{"redirect to the metadata of the machine", open, source(web.URL + "/to-metadata"), "blockedNetworks"},
		{"the same as IPv6", open, source("http://[::ffff:169.254.169.254]/"), "blockedNetworks"},
		{"another protocol", open, source("file:///etc/passwd"), "'file:///etc/passwd' is not an absolute URI"},
		{"ftp", open, source("ftp://h/x"), "Only [http, https] protocols are allowed"},
		{"protocol in capitals", open, source(strings.Replace(web.URL, "http", "HTTP", 1) + "/ok"), "reached"},
		{"redirect to another protocol", open, source(web.URL + "/to-file"), "protocol [file], which is not allowed"},
		{"too many redirects", open, source(web.URL + "/loop"), "more than 5 redirects"},
		{"a header", open, source(web.URL+"/headers", `,"requestHeaders":{"x-key":"v1"}`), "seen:v1"},
		{"a header that is not allowed", open, source(web.URL+"/headers", `,"requestHeaders":{"Host":"v1"}`),
			"Request header [Host] is not among"},
		{"two headers in one", open, source(web.URL+"/headers", `,"requestHeaders":{"X-Key":"v1\r\nX-Two: v2"}`), "that headers can't have"},
		{"a header for another host", open, source(web.URL+"/to-other", `,"requestHeaders":{"X-Key":"v1"}`), "seen:\""},
		{"an allowed host", narrow, source(web.URL + "/ok"), "reached"},
		{"a host that is not allowed", narrow, source(strings.Replace(web.URL, "127.0.0.1", "localhost", 1) + "/ok"),
			"Host [localhost] is not among"},
		{"redirect to such a host", narrow, source(web.URL + "/to-localhost"), "Host [localhost] is not among"},
		{"a private address", private, source(web.URL + "/ok"), "is private"},
		{"a name of a private address", private, source(strings.Replace(web.URL, "127.0.0.1", "localhost", 1) + "/ok"), "is private"},
		{"endpoint of an object store", private, `{"type":"s3","uris":["s3://b/k"],"endpointConfig":{"url":"` + web.URL +
			`"},"properties":{"accessKeyId":"aaaaaa","secretAccessKey":"bbbbbb"}}`, "is private"},
	} {
		if got := sampled(t, c.s, c.source); !strings.Contains(got, c.want) || c.want != "reached" && strings.Contains(got, "reached") {
			t.Errorf("%s: %.900s", c.name, got)
		}
	}
}

// Local input comes from allowed folders, wherever links lead, and never from the data directory.
// (spec/security.md, section 12, row 3)
func TestLocalInputComesFromAllowedFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "in")
	for _, name := range []string{"in/ok.csv", "in2/secret.csv", "out/secret.csv"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/link.csv": "out/secret.csv", "in/folder": "out"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	key := keyFile(t, 7)
	data := filepath.Join(dir, "data")
	narrow := server.Start(t, server.Options{Settings: []string{"service.ingestion.local.allowedPaths=" + in}})
	open := server.Start(t, server.Options{Dir: data, Settings: []string{"service.metadata.secrets.keyFile=" + key}})
	const outside = "is outside the directories"
	for _, c := range []struct {
		s          *server.Server
		path, want string
	}{
		{narrow, in + "/ok.csv", "content of in/ok.csv"},
		{narrow, in + "/link.csv", outside},
		{narrow, in + "/folder/secret.csv", outside},
		{narrow, in + "/../out/secret.csv", outside},
		{narrow, in + "2/secret.csv", outside},
		{narrow, "/etc/passwd", outside},
		{open, dir + "/out/secret.csv", "content of out/secret.csv"},
		{open, data + "/metastore.db", outside},
		{open, data + "/../data/version", outside},
		{open, key, outside},
	} {
		if got := sampled(t, c.s, `{"type":"local","files":["`+c.path+`"]}`); !strings.Contains(got, c.want) ||
			c.want == outside && strings.Contains(got, "content of") {
			t.Errorf("%s: %.900s", c.path, got)
		}
	}
	if got := sampled(t, narrow, `{"type":"local","baseDir":"`+in+`","filter":"*.csv"}`); strings.Contains(got, "secret") &&
		!strings.Contains(got, outside) {
		t.Errorf("a folder with a link: %.900s", got)
	}
}

// Ids and names that lead out of folders lead nowhere. (spec/security.md, section 12, row 3)
func TestNamesLeadOutOfNoFolder(t *testing.T) {
	s := server.Start(t, server.Options{})
	object := map[string]string{"Content-Type": "application/json"}
	for _, id := range []string{"../../x", "/etc/x", "a/../../b", `..\\..\\x`, "."} {
		ask(t, s, http.MethodPost, "/service/indexer/v1/task", `{"type":"noop","id":"`+id+`","runTime":1}`, object)
		ask(t, s, http.MethodPost, "/service/coordinator/v1/lookups/config", `{"__default":{"`+id+
			`":{"version":"v1","lookupExtractorFactory":{"type":"map","map":{}}}}}`, object)
	}
	for _, path := range []string{"/service/indexer/v1/task/..%2F..%2F..%2Fetc%2Fpasswd/log", "/service/indexer/v1/task/..%2Fversion/reports",
		"/service/indexer/v1/task/%2Fetc%2Fpasswd/deadLetters"} {
		if resp, text := ask(t, s, http.MethodGet, path, "", nil); resp.StatusCode < 400 || strings.Contains(text, "root:") {
			t.Errorf("%s: %d %.200s", path, resp.StatusCode, text)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(s.Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "x") || strings.HasPrefix(e.Name(), "b") {
			t.Errorf("file [%s] beside the data directory", e.Name())
		}
	}
}

// Archives of more than they seem to be are read as far as rows are wanted, and names within them
// are
// no paths. (spec/security.md, section 12, row 4)
func TestArchivesThatExpand(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	line := bytes.Repeat([]byte("a"), 1<<20)
	for range 200 {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var slipped bytes.Buffer
	z := zip.NewWriter(&slipped)
	entry, err := z.Create("../../slipped.csv")
	if err == nil {
		_, err = entry.Write([]byte("2026-01-01,x\n"))
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"bomb.csv.gz": packed.Bytes(), "slip.csv.zip": slipped.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := server.Start(t, server.Options{Dir: filepath.Join(dir, "data"), Settings: []string{"service.memory.limit=256MiB"}})
	if got := sampled(t, s, `{"type":"local","files":["`+dir+`/bomb.csv.gz"]}`); strings.Count(got, `"error"`) == 0 && len(got) > 10<<20 {
		t.Errorf("one line of 200 MiB: %d bytes", len(got))
	}
	sampled(t, s, `{"type":"local","files":["`+dir+`/slip.csv.zip"]}`)
	if found, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*slipped*")); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if rows, err := s.Query(t.Context(), "SELECT 1"); err != nil || len(rows) != 1 {
		t.Errorf("behind all that, a query has %v, %v", rows, err)
	}
}

// Parameters of database URIs that read files or run code are refused, as are scripts.
// (spec/security.md, section 12, rows 5 and 6)
func TestParametersOfDatabasesAndScripts(t *testing.T) {
	s := server.Start(t, server.Options{})
	for _, parameter := range []string{"allowLoadLocalInfile=true", "autoDeserialize=true", "socketFactory=x", "sslfactory=x",
		"sslkey=/etc/passwd"} {
		got := sampled(t, s, `{"type":"sql","sqls":["SELECT 1"],"database":{"type":"mysql",`+
			`"connectorConfig":{"connectURI":"jdbc:mysql://127.0.0.1:1/d?`+
			parameter+`"}}}`)
		name, _, _ := strings.Cut(parameter, "=")
		if !strings.Contains(got, "Property ["+name+"] of a connection URI is not among the allowed ones") {
			t.Errorf("%s: %.600s", parameter, got)
		}
	}
	_, text := ask(t, s, http.MethodPost, "/service/v2",
		`{"queryType":"timeseries","dataSource":"x","intervals":"2026/2027","granularity":"all","filter":`+
			`{"type":"javascript","dimension":"a","function":"function(x) { return true }"}}`, map[string]string{"Content-Type": "application/json"})
	if !strings.Contains(strings.ToLower(text), "javascript") {
		t.Errorf("a script: %s", text)
	}
}
