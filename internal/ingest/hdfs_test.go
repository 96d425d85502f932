package ingest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// hadoop is the two servers of a small file system. They speak as the documentation of WebHDFS has
// it: the name node answers about files, and sends those that read on to the data node.
type hadoop struct {
	name, data *httptest.Server

	mu sync.Mutex
	// files are contents by path.
	files map[string]string
	times map[string]int64
	// failures are exceptions that the name node answers next.
	failures []string
	// broken makes the data node hang up in the middle of that many bodies.
	broken int
	users  map[string]bool
	opens  int
}

func startHadoop(t *testing.T, files map[string]string) *hadoop {
	h := &hadoop{files: files, times: map[string]int64{}, users: map[string]bool{}}
	h.name = httptest.NewServer(http.HandlerFunc(h.nameNode))
	h.data = httptest.NewServer(http.HandlerFunc(h.dataNode))
	t.Cleanup(h.name.Close)
	t.Cleanup(h.data.Close)
	return h
}

// status is a FileStatus with the members that a name node of Hadoop 3 gives; nil: there is no such
// path.
func (h *hadoop) status(at, suffix string) map[string]any {
	kind, length := "FILE", len(h.files[at])
	if _, ok := h.files[at]; !ok {
		if len(h.children(at)) == 0 {
			return nil
		}
		kind, length = "DIRECTORY", 0
	}
	return map[string]any{"accessTime": 1320171722771, "blockSize": 33554432, "childrenNum": 0, "fileId": 16387 + len(at), "group": "supergroup", "length": length,
		"modificationTime": 1320171722771 + h.times[at], "owner": "webuser", "pathSuffix": suffix, "permission": "644", "replication": 1, "storagePolicy": 0, "type": kind}
}

func (h *hadoop) children(dir string) []string {
	var out []string
	for at := range h.files {
		if rest, ok := strings.CutPrefix(at, strings.TrimRight(dir, "/")+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func exception(w http.ResponseWriter, status int, name, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"RemoteException": map[string]string{"exception": name, "javaClassName": "org.apache.hadoop." + name, "message": message}})
}

func (h *hadoop) nameNode(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users[r.URL.Query().Get("user.name")] = true
	at, ok := strings.CutPrefix(r.URL.Path, "/webhdfs/v1")
	if !ok {
		http.NotFound(w, r)
		return
	}
	if len(h.failures) > 0 {
		name := h.failures[0]
		h.failures = h.failures[1:]
		exception(w, http.StatusForbidden, name, "Operation category READ is not supported in state standby")
		return
	}
	s := h.status(at, "")
	if s == nil {
		exception(w, http.StatusNotFound, "FileNotFoundException", "File does not exist: "+at)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Query().Get("op") {
	case "GETFILESTATUS":
		_ = json.NewEncoder(w).Encode(map[string]any{"FileStatus": s})
	case "LISTSTATUS":
		list := []any{}
		for _, name := range h.children(at) {
			list = append(list, h.status(path.Join(at, name), name))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"FileStatuses": map[string]any{"FileStatus": list}})
	case "OPEN":
		w.Header().Set("Location", h.data.URL+r.URL.EscapedPath()+"?"+r.URL.RawQuery+"&namenoderpcaddress=nn:8020")
		w.WriteHeader(http.StatusTemporaryRedirect)
	default:
		exception(w, http.StatusBadRequest, "UnsupportedOperationException", r.URL.RawQuery)
	}
}

func (h *hadoop) dataNode(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens++
	text := h.files[strings.TrimPrefix(r.URL.Path, "/webhdfs/v1")]
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	text = text[min(offset, len(text)):]
	if n, err := strconv.Atoi(r.URL.Query().Get("length")); err == nil {
		text = text[:min(n, len(text))]
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	if h.broken > 0 && len(text) > 10 {
		h.broken--
		_, _ = w.Write([]byte(text[:len(text)/2]))
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write([]byte(text))
}

// address is host:port of the name node.
func (h *hadoop) address() string { return strings.TrimPrefix(h.name.URL, "http://") }

// access makes hdfs://nn:8020 the name node.
func (h *hadoop) access() *Access {
	return &Access{Clock: impatient{clock.System()}, HDFS: HDFSAccess{NameNodes: []string{"nn:8020=" + h.name.URL}, DefaultFS: "hdfs://nn:8020/", User: "reader"}}
}

func hdfsTable(t *testing.T, paths ...string) *Table {
	t.Helper()
	text, err := json.Marshal(map[string]any{"type": "hdfs", "paths": paths, "systemFields": []string{"__file_uri", "__file_path"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSource(text)
	if err != nil {
		t.Fatal(err)
	}
	return &Table{Source: s, Format: &JSON{}, Fields: fields(t, "id long")}
}

func TestHDFSPaths(t *testing.T) {
	h := startHadoop(t, map[string]string{
		"/in/a.json": `{"id":1}`, "/in/b.json": `{"id":2}`, "/in/deep/c.json": `{"id":3}`, "/in/deep/er/d.json": `{"id":4}`, "/in/_SUCCESS": "x", "/in/.part": "x",
		"/in/empty.json": "", "/x y/ü%20.json": `{"id":5}`, "/big.json": strings.Repeat("{\"id\":6}\n", 50_000),
	})
	for paths, want := range map[string][]any{
		"hdfs://nn:8020/in/a.json":                          {1},
		"/in/b.json":                                        {2},
		"hdfs:///in/b.json":                                 {2},
		"webhdfs://" + h.address() + "/in/a.json":           {1},
		"hdfs://nn:8020/in":                                 {1, 2},
		"hdfs://nn:8020/in/*":                               {1, 2, 3},
		"hdfs://nn:8020/in/*.json":                          {1, 2},
		"hdfs://nn:8020/in/{a,b}.json,/in/deep/c.json":      {1, 2, 3},
		"hdfs://nn:8020/in/deep/*/d.json":                   {4},
		"hdfs://nn:8020/i?/[b].json":                        {2},
		"hdfs://nn:8020/in/**":                              {1, 2, 3, 4},
		"hdfs://nn:8020/**/d*.json":                         {4},
		"hdfs://nn:8020/x y/ü%20.json":                      {5},
		"hdfs://nn:8020/in/a.json, hdfs://nn:8020/in/a.js*": {1},
		"hdfs://nn:8020/in/empty.json":                      nil,
	} {
		rows, _, err := readTable(t, hdfsTable(t, paths), Options{Access: h.access()}, 0)
		var got []any
		for _, r := range rows {
			got = append(got, int(r[0].(int64)))
		}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %s %v", paths, d, err)
		}
	}
	if !h.users["reader"] || len(h.users) != 1 {
		t.Errorf("the users were %v", h.users)
	}
	// Large text is split by offsets.
	h.opens = 0
	if rows, _, err := readTable(t, hdfsTable(t, "/big.json"), Options{Access: h.access()}, 100_000); err != nil || len(rows) != 50_000 || h.opens < 4 {
		t.Errorf("%d rows of a split file by [%d] reads, %v", len(rows), h.opens, err)
	}
	table := hdfsTable(t, "/in/deep")
	table.Fields = fields(t, "__file_uri string __file_path string")
	rows, _, err := readTable(t, table, Options{Access: h.access()}, 0)
	if d := cmp.Diff([][]any{{"hdfs://nn:8020/in/deep/c.json", "/in/deep/c.json"}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestHDFSParquet(t *testing.T) {
	h := startHadoop(t, map[string]string{"/f.parquet": string(writeParquet(t, parquetRows(0, 5000), parquetRows(5000, 9000)))})
	format, err := ParseFormat(json.RawMessage(`{"type":"parquet"}`))
	if err != nil {
		t.Fatal(err)
	}
	table := hdfsTable(t, "/f.parquet")
	table.Format, table.Fields = format, fields(t, "id long who string")
	if rows, _, err := readTable(t, table, Options{Access: h.access(), Decoders: 2}, 20_000); err != nil || len(rows) != 9000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestHDFSFailures(t *testing.T) {
	h := startHadoop(t, map[string]string{"/in/a.json": strings.Repeat("{\"id\":1}\n", 1000)})
	read := func(access *Access, paths string) (int, error) {
		rows, _, err := readTable(t, hdfsTable(t, paths), Options{Access: access}, 0)
		return len(rows), err
	}
	for paths, want := range map[string]string{
		"/none.json": "matches no file", "/in/*.csv": "matches no file", "/none/*": "matches no file", "/in/{a": "not a valid pattern",
		"s3://b/k": "Only protocols [hdfs, webhdfs, swebhdfs]", "webhdfs:///in": "names no name node",
	} {
		if _, err := read(h.access(), paths); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", paths, err, want)
		}
	}
	if _, err := read(&Access{}, "/in/a.json"); err == nil || !strings.Contains(err.Error(), "service.ingestion.hdfs.defaultFS") {
		t.Errorf("%v", err)
	}
	if _, err := ParseSource(json.RawMessage(`{"type":"hdfs","paths":[]}`)); err == nil {
		t.Error("a source without paths")
	}
	// A body that breaks off is continued, a name node in standby is asked again, and so is the other
	// one.
	h.broken, h.failures = 2, []string{"StandbyException", "StandbyException"}
	both := h.access()
	both.HDFS.NameNodes = append([]string{"nn:8020=http://127.0.0.1:1"}, both.HDFS.NameNodes...)
	if n, err := read(both, "/in/a.json"); n != 1000 || err != nil || h.broken != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
	h.failures = []string{"AccessControlException"}
	if _, err := read(h.access(), "/in/a.json"); err == nil || !strings.Contains(err.Error(), "403 AccessControlException") {
		t.Errorf("%v", err)
	}
	// The redirect to a data node is asked about when it is dialed, as the name node is.
	guarded := h.access()
	guarded.CheckAddress = func(to netip.AddrPort) error {
		if to.String() == strings.TrimPrefix(h.data.URL, "http://") {
			return fault.Forbidden("Address [%s] is private", to)
		}
		return nil
	}
	if _, err := read(guarded, "/in/a.json"); err == nil || !strings.Contains(err.Error(), "is private") {
		t.Errorf("%v", err)
	}
}

// A file that is replaced between its listing and its reading is no mix of both.
func TestHDFSFileThatChangesIsAFault(t *testing.T) {
	h := startHadoop(t, map[string]string{"/a.json": strings.Repeat("{\"id\":1}\n", 1000)})
	table := hdfsTable(t, "/a.json")
	splits, err := table.Splits(t.Context(), &Options{Access: h.access()}, 1000)
	if err != nil || len(splits) < 3 {
		t.Fatal(len(splits), err)
	}
	h.times["/a.json"] = 1
	if _, err := table.Open(t.Context(), splits[1], &Options{Access: h.access()}); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("%v", err)
	}
	delete(h.files, "/a.json")
	if _, err := table.Open(t.Context(), splits[1], &Options{Access: h.access()}); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("%v", err)
	}
}
