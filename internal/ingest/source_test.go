package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

func write(t *testing.T, path, data string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func names(t *testing.T, s Source, access *Access) []string {
	t.Helper()
	list, err := s.List(t.Context(), access)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, filepath.Base(e.Name()))
	}
	return out
}

func TestLocalFilesAreFoundByFilter(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"b.json", "a.json", "c.csv", "sub/d.json", "sub/deep/e.json", "x,y.json"} {
		write(t, filepath.Join(dir, f), "{}")
	}
	write(t, filepath.Join(dir, "empty.json"), "")
	for filter, want := range map[string][]string{
		"*.json":        {"a.json", "b.json", "d.json", "e.json", "x,y.json"},
		"?.json":        {"a.json", "b.json", "d.json", "e.json"},
		"[ab].json":     {"a.json", "b.json"},
		"[!ab].json":    {"d.json", "e.json"},
		"{a,c}.*":       {"a.json", "c.csv"},
		"sub/*.json":    {"d.json"},
		"sub/**/*.json": {"d.json", "e.json"},
		"*,y.json":      {"x,y.json"},
	} {
		if d := cmp.Diff(want, names(t, &Local{BaseDir: dir, Filter: filter}, nil)); d != "" {
			t.Errorf("%s: %s", filter, d)
		}
	}
	for filter, want := range map[string]string{
		"none": "has no file that matches filter [none]", "../*": "matches filter [../*]", "empty.json": "",
	} {
		_, err := (&Local{BaseDir: dir, Filter: filter}).List(t.Context(), &Access{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want [%s]", filter, err, want)
		}
	}
}

func TestLocalFaultsNameThePath(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "a.json"), "{}")
	for _, c := range []struct {
		source *Local
		want   string
	}{
		{&Local{Files: []string{filepath.Join(dir, "nosuch.json")}}, "Input file [" + dir + "/nosuch.json] does not exist"},
		{&Local{Files: []string{dir}}, "Input file [" + dir + "] is a directory"},
		{&Local{Files: []string{os.DevNull}}, "Input file [" + os.DevNull + "] is not a regular file"},
		{&Local{BaseDir: filepath.Join(dir, "nosuch"), Filter: "*"}, "Input directory [" + dir + "/nosuch] does not exist"},
		{&Local{BaseDir: file, Filter: "*"}, "Input directory [" + file + "] is a file"},
	} {
		_, err := c.source.List(t.Context(), nil)
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput || !strings.Contains(f.Message, c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// A device or socket may never end, or never begin.
func TestLocalFoldersHaveRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.json"), "{}")
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "b.json")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.json"}, names(t, &Local{BaseDir: dir, Filter: "*.json"}, nil)); d != "" {
		t.Error(d)
	}
}

// A record whose end is not in sight is looked for within one read of the file, as far as the
// reader of rows can see.
func TestLocalReadsStopWithTheirContext(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "a.json"), strings.Repeat(" ", 1<<20))
	list, err := (&Local{Files: []string{file}}).List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := list[0].Open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if n, err := r.Read(make([]byte, 1<<10)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestLocalAllowList(t *testing.T) {
	root := t.TempDir()
	inside := write(t, filepath.Join(root, "in", "a.json"), "{}")
	outside := write(t, filepath.Join(root, "out", "b.json"), "{}")
	link := filepath.Join(root, "in", "link.json")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	access := &Access{LocalDirs: []string{filepath.Join(root, "in")}}
	if got := names(t, &Local{Files: []string{inside}}, access); len(got) != 1 {
		t.Errorf("inside: %v", got)
	}
	for _, s := range []*Local{
		{Files: []string{outside}},
		{Files: []string{filepath.Join(root, "in", "..", "out", "b.json")}},
		{Files: []string{link}},
		{BaseDir: filepath.Join(root, "in"), Filter: "*.json"},
		{BaseDir: root, Filter: "*.json"},
	} {
		_, err := s.List(t.Context(), access)
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryForbidden {
			t.Errorf("%+v: got %v", s, err)
		}
	}
}

// A link that is changed after it was listed leads nowhere else.
func TestLocalLinkThatChanges(t *testing.T) {
	root := t.TempDir()
	inside := write(t, filepath.Join(root, "in", "a.json"), "{}")
	outside := write(t, filepath.Join(root, "out", "b.json"), "{}")
	link := filepath.Join(root, "in", "link.json")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	access := &Access{LocalDirs: []string{filepath.Join(root, "in")}}
	list, err := (&Local{Files: []string{link}}).List(t.Context(), access)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	for _, to := range []string{inside, outside} {
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		r, err := list[0].Open(t.Context(), 0)
		if err == nil {
			err = r.Close()
		}
		if f := fault.Find(err); (f != nil && f.Category == fault.CategoryForbidden) != (to == outside) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestSystemFields(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a b.json"), `{"n":1}`)
	source, err := ParseSource(json.RawMessage(fmt.Sprintf(`{"type":"local","files":[%q],"systemFields":["__file_uri","__file_path"]}`, path)))
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{Source: source, Format: &JSON{}, Fields: fields(t, "__file_path string n long __file_uri string")}
	rows, _, err := readTable(t, table, Options{}, 0)
	want := [][]any{{path, int64(1), "file:" + strings.ReplaceAll(path, " ", "%20")}}
	if d := cmp.Diff(want, rows); d != "" || err != nil {
		t.Error(d, err)
	}
}

// httpRows reads one URI with a clock that never waits.
func httpRows(t *testing.T, uri, more string, access *Access) ([][]any, error) {
	t.Helper()
	source, err := ParseSource(json.RawMessage(`{"type":"http","uris":["` + uri + `"]` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if access == nil {
		access = &Access{}
	}
	access.Clock = impatient{clock.System()}
	rows, _, err := readTable(t, &Table{Source: source, Format: &JSON{}, Fields: fields(t, "n long")}, Options{Access: access}, 0)
	return rows, err
}

func TestHTTPSource(t *testing.T) {
	body := strings.Repeat("{\"n\":1}\n", 5000)
	var failures, breaks atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body) })
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != "joe" || p != "pass" || r.Header.Get("X-Extra") != "1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, body)
	})
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, r *http.Request) {
		if failures.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, body)
	})
	broken := func(etags ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			n := int(breaks.Add(1)) - 1
			var from int
			w.Header().Set("ETag", etags[n%len(etags)])
			if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
				if from >= len(body) {
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				w.WriteHeader(http.StatusPartialContent)
			}
			if n < 2 {
				w.Write([]byte(body[from : from+10000]))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			fmt.Fprint(w, body[from:])
		}
	}
	mux.HandleFunc("/breaks", broken(`"v1"`))
	mux.HandleFunc("/changes", broken(`"v1"`, `"v2"`))
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) })
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, c := range []struct{ path, more, want string }{
		{"/plain", "", ""},
		{"/away", "", ""},
		{"/flaky", "", ""},
		{"/auth", `,"httpAuthenticationUsername":"joe","httpAuthenticationPassword":{"type":"default","password":"pass"},"requestHeaders":{"X-Extra":"1"}`, ""},
		{"/auth", "", "its server answered [401]"},
		{"/nosuch", "", "does not exist: its server answered [404]"},
		{"/breaks", "", ""},
		{"/changes", "", "changed while it was read"},
	} {
		breaks.Store(0)
		rows, err := httpRows(t, server.URL+c.path, c.more, nil)
		if c.want == "" {
			if err != nil || len(rows) != 5000 {
				t.Errorf("%s: %d rows, %v", c.path, len(rows), err)
			}
			continue
		}
		if fault.Find(err) == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.path, err, c.want)
		}
	}
}

func TestHTTPGuards(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"n":1}`) }))
	defer server.Close()
	refuse := func(a netip.AddrPort) error {
		if a.Addr().IsLoopback() {
			return fault.Forbidden("Address [%s] is private", a.Addr())
		}
		return nil
	}
	for name, c := range map[string]struct {
		uri, more string
		access    *Access
		want      string
	}{
		"address":  {server.URL, "", &Access{CheckAddress: refuse}, "is private"},
		"protocol": {server.URL, "", &Access{HTTPProtocols: []string{"https"}}, "Only protocols [https] are allowed"},
		"header":   {server.URL, `,"requestHeaders":{"X-A":"1"}`, &Access{HTTPHeaders: []string{"x-b"}}, "Request header [X-A]"},
		"env":      {server.URL, `,"httpAuthenticationPassword":{"type":"environment","variable":"P"}`, nil, "not allowed here"},
		"env unset": {server.URL, `,"httpAuthenticationPassword":{"type":"environment","variable":"P"}`,
			&Access{Getenv: func(string) (string, bool) { return "", false }}, "'P' is not set"},
	} {
		_, err := httpRows(t, c.uri, c.more, c.access)
		if fault.Find(err) == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestConnectionRefused(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := httpRows(t, server.URL+"/secret?token=abc", "", nil)
	f := fault.Find(err)
	if f == nil || f.Category != fault.CategoryServiceUnavailable {
		t.Fatalf("got %v", err)
	}
}

// impatient is a clock whose sleeps are over at once.
type impatient struct{ clock.Clock }

func (impatient) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// A redirect leads to allowed addresses only, and takes no header of the source to another host.
func TestHTTPRedirectsAreChecked(t *testing.T) {
	var headers http.Header
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers = r.Header.Clone()
		fmt.Fprint(w, `{"n":1}`)
	}))
	defer inner.Close()
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner.URL, http.StatusFound) }))
	defer outer.Close()
	const secret = `,"requestHeaders":{"X-Token":"secret"},"httpAuthenticationUsername":"joe","httpAuthenticationPassword":"pass"`
	rows, err := httpRows(t, outer.URL, secret, nil)
	if err != nil || len(rows) != 1 || headers.Get("X-Token") != "" || headers.Get("Authorization") != "" {
		t.Errorf("%v %v, headers %v", rows, err, headers)
	}
	private := strings.TrimPrefix(inner.URL, "http://")
	_, err = httpRows(t, outer.URL, "", &Access{CheckAddress: func(a netip.AddrPort) error {
		if a.String() == private {
			return fault.Forbidden("Address [%s] is private", a)
		}
		return nil
	}})
	if f := fault.Find(err); f == nil || f.Category != fault.CategoryForbidden {
		t.Errorf("got %v", err)
	}
}

// A million records that do not parse are told one by one, in their order, and don't pile up.
func TestAMillionBadRecords(t *testing.T) {
	data := strings.Repeat("x\n", 999_999) + "{\"n\":1}\n"
	reader, err := (&Table{Source: &Inline{Data: data}, Format: &JSON{}, Fields: fields(t, "n long")}).Open(t.Context(), Split{Entity: inlineEntity{data}, End: -1}, &Options{
		ChunkBytes: 64 << 10, OnParseError: func(e *ParseError) error {
			if e.Record%100_000 == 0 && e.Line != e.Record {
				t.Errorf("record %d is on line %d", e.Record, e.Line)
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for err == nil {
		_, err = reader.Next(t.Context())
	}
	if s := reader.Stats(); s.Rows != 1 || s.Records != 1_000_000 {
		t.Errorf("%+v %v", s, err)
	}
}

// One record of a million that does not parse is told with its place, and the others are rows.
func TestOneBadRecordInAMillion(t *testing.T) {
	const records, bad = 1_000_000, 654_321
	data := strings.Repeat("{\"n\":1}\n", bad-1) + "{\"n\":\n" + strings.Repeat("{\"n\":1}\n", records-bad)
	var told []ParseError
	reader, err := (&Table{Source: &Inline{Data: data}, Format: &JSON{}, Fields: fields(t, "n long")}).Open(t.Context(), Split{Entity: inlineEntity{data}, End: -1}, &Options{
		Decoders: 2, OnParseError: func(e *ParseError) error {
			told = append(told, *e)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for err == nil {
		_, err = reader.Next(t.Context())
	}
	if s := reader.Stats(); s.Rows != records-1 || s.Records != records || !errors.Is(err, io.EOF) {
		t.Errorf("%+v %v", s, err)
	}
	if len(told) != 1 || told[0].Line != bad || told[0].Record != bad {
		t.Errorf("told: %+v", told)
	}
}

// What is read is what was listed: a file that came later is left out, one that is gone or cut
// since then is a fault.
func TestListingThatChanges(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.json", "b.json", "c.json"} {
		write(t, filepath.Join(dir, name), strings.Repeat("{\"id\":1}\n", 1000))
	}
	table := &Table{Source: &Local{BaseDir: dir, Filter: "*.json"}, Format: &JSON{}, Fields: fields(t, "id long")}
	splits, err := table.Splits(t.Context(), &Options{}, 2000)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "aa.json"), `{"id":2}`)
	write(t, filepath.Join(dir, "c.json"), `{"id":3}`)
	if err := os.Remove(filepath.Join(dir, "b.json")); err != nil {
		t.Fatal(err)
	}
	rows, failed := map[string]int{}, map[string]error{}
	for _, s := range splits {
		name := filepath.Base(s.Entity.Name())
		r, err := table.Open(t.Context(), s, &Options{})
		if err != nil {
			failed[name] = err
			continue
		}
		for {
			b, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				failed[name] = err
				break
			}
			rows[name] += b.Rows()
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if rows["a.json"] != 1000 || rows["aa.json"] != 0 || fault.Find(failed["b.json"]) == nil || fault.Find(failed["c.json"]) == nil || failed["a.json"] != nil {
		t.Errorf("%v %v", rows, failed)
	}
}
