package ingest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// bucket is a store in memory with some objects; it returns its address and a client.
func bucket(t *testing.T, objects map[string]string) (url string, c *s3.Client) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	c, err := s3.Connect(t.Context(), s3.Options{Endpoint: server.URL, Region: "us-east-1",
		AccessKey: secret.NewText("a"), SecretKey: secret.NewText("s")})
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range objects {
		if err := c.Put(t.Context(), "b", key, strings.NewReader(text), int64(len(text)), false); err != nil {
			t.Fatal(err)
		}
	}
	return server.URL, c
}

func s3Source(t *testing.T, url, what string) Source {
	t.Helper()
	s, err := ParseSource(json.RawMessage(fmt.Sprintf(`{"type":"s3",%s,"endpointConfig":{"url":%q,"signingRegion":"us-east-1"},"systemFields":["__file_uri","__file_path","__file_bucket"],`+
		`"properties":{"accessKeyId":{"type":"environment","variable":"KEY"},"secretAccessKey":{"type":"default","password":"hidden-secret"}}}`, what, url)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var s3Access = &Access{Getenv: func(name string) (string, bool) { return "a", name == "KEY" }}

func TestS3Source(t *testing.T) {
	parquetFile := string(writeParquet(t, parquetRows(0, 5000), parquetRows(5000, 9000)))
	url, _ := bucket(t, map[string]string{"in/a.json": `{"id":1}`, "in/b.json": `{"id":2}`, "in/deep/c.json": `{"id":3}`, "in/empty.json": "", "x y.json": `{"id":4}`,
		"big.json": strings.Repeat("{\"id\":5}\n", 50_000), "f.parquet": parquetFile})
	for what, want := range map[string][]any{
		`"uris":["s3://b/in/b.json","s3://b/in/a.json"]`:                   {int64(1), int64(2)},
		`"prefixes":["s3://b/in/"]`:                                        {int64(1), int64(2), int64(3)},
		`"prefixes":["s3://b/in/"],"objectGlob":"in/*.json"`:               {int64(1), int64(2)},
		`"prefixes":["s3://b/in/"],"objectGlob":"**/c.json"`:               {int64(3)},
		`"objects":[{"bucket":"b","path":"x y.json"}]`:                     {int64(4)},
		`"prefixes":["s3://b/none/"]`:                                      nil,
		`"prefixes":["s3://b/in/a","s3://b/in/"],"objectGlob":"in/a.json"`: {int64(1)},
	} {
		table := &Table{Source: s3Source(t, url, what), Format: &JSON{}, Fields: fields(t, "id long")}
		rows, _, err := readTable(t, table, Options{Access: s3Access}, 0)
		var got []any
		for _, r := range rows {
			got = append(got, r[0])
		}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %s %v", what, d, err)
		}
	}
	table := &Table{Source: s3Source(t, url, `"uris":["s3://b/x%20y.json"]`), Format: &JSON{}, Fields: fields(t, "__file_uri string __file_bucket string __file_path string")}
	rows, _, err := readTable(t, table, Options{Access: s3Access}, 0)
	if d := cmp.Diff([][]any{{"s3://b/x y.json", "b", "x y.json"}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
	// Large text is split by ranges, Parquet by row groups.
	table = &Table{Source: s3Source(t, url, `"uris":["s3://b/big.json"]`), Format: &JSON{}, Fields: fields(t, "id long")}
	if rows, _, err = readTable(t, table, Options{Access: s3Access}, 100_000); err != nil || len(rows) != 50_000 {
		t.Errorf("%d rows of a split object, %v", len(rows), err)
	}
	format, err := ParseFormat(json.RawMessage(`{"type":"parquet"}`))
	if err != nil {
		t.Fatal(err)
	}
	table = &Table{Source: s3Source(t, url, `"uris":["s3://b/f.parquet"]`), Format: format, Fields: fields(t, "id long who string")}
	if rows, _, err = readTable(t, table, Options{Access: s3Access, Decoders: 2}, 20_000); err != nil || len(rows) != 9000 {
		t.Errorf("%d rows of Parquet, %v", len(rows), err)
	}
}

func TestS3SecretsAreNotShown(t *testing.T) {
	text, err := json.Marshal(s3Source(t, "http://localhost:1", `"uris":["s3://b/k"]`))
	if err != nil || strings.Contains(string(text), "hidden-secret") || !strings.Contains(string(text), `"variable":"KEY"`) {
		t.Errorf("%s %v", text, err)
	}
}

// An object that is replaced between its listing and its reading, or between two reads, is no mix
// of both.
func TestObjectThatChangesIsAFault(t *testing.T) {
	url, c := bucket(t, map[string]string{"o.json": strings.Repeat("{\"id\":1}\n", 1000)})
	table := &Table{Source: s3Source(t, url, `"uris":["s3://b/o.json"]`), Format: &JSON{}, Fields: fields(t, "id long")}
	splits, err := table.Splits(t.Context(), &Options{Access: s3Access}, 1000)
	if err != nil || len(splits) < 3 {
		t.Fatal(len(splits), err)
	}
	text := strings.Repeat("{\"id\":2}\n", 1000)
	if err := c.Put(t.Context(), "b", "o.json", strings.NewReader(text), int64(len(text)), false); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Open(t.Context(), splits[1], &Options{Access: s3Access}); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("got %v", err)
	}
	// One that is gone is a fault as well.
	if err := c.Delete(t.Context(), "b", "o.json"); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Open(t.Context(), splits[0], &Options{Access: s3Access}); fault.Find(err) == nil {
		t.Errorf("got %v", err)
	}
}

func TestObjectSourceGuards(t *testing.T) {
	url, _ := bucket(t, nil)
	refuse := &Access{Getenv: s3Access.Getenv, CheckAddress: func(a netip.AddrPort) error { return fault.Forbidden("Address [%s] is private", a.Addr()) }}
	if _, err := s3Source(t, url, `"prefixes":["s3://b/"]`).List(t.Context(), refuse); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryForbidden {
		t.Errorf("a private endpoint was asked: %v", err)
	}
	if _, err := s3Source(t, url, `"prefixes":["s3://b/"]`).List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "environment") {
		t.Errorf("a secret of the environment was used: %v", err)
	}
	for _, text := range []string{`{"type":"s3"}`, `{"type":"s3","uris":["s3://b/k"],"prefixes":["s3://b/"]}`, `{"type":"s3","uris":["http://b/k"]}`, `{"type":"s3","uris":["s3:///k"]}`,
		`{"type":"azureStorage","uris":["azureStorage://account"]}`, `{"type":"google","objects":[{"bucket":"b"}]}`} {
		if _, err := ParseSource(json.RawMessage(text)); fault.Find(err) == nil {
			t.Errorf("%s was taken: %v", text, err)
		}
	}
}

// azureServer is the little of Azure's protocol that reading needs: listing, properties and ranges
// of one container. Allowed is asked about the credentials of requests.
func azureServer(t *testing.T, allowed func(authorization string) bool) string {
	data := map[string]string{"in/a.json": `{"id":1}`, "in/b.json": `{"id":2}`}
	mux := http.NewServeMux()
	mux.HandleFunc("/c", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<?xml version="1.0"?><EnumerationResults><Blobs>`)
		for _, key := range []string{"in/a.json", "in/b.json"} {
			if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
				fmt.Fprintf(w, `<Blob><Name>%s</Name><Properties><Content-Length>%d</Content-Length><Etag>"e"</Etag></Properties></Blob>`, key, len(data[key]))
			}
		}
		fmt.Fprint(w, `</Blobs></EnumerationResults>`)
	})
	mux.HandleFunc("/c/", func(w http.ResponseWriter, r *http.Request) {
		text, ok := data[strings.TrimPrefix(r.URL.Path, "/c/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", `"e"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r.Header.Get("Authorization")) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// An app registration gets a token by its secret, uses it while it is good, and gets another one
// then.
func TestAzureAppRegistration(t *testing.T) {
	var mu sync.Mutex
	issued, broken := 0, false
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		want := map[string]string{"grant_type": "client_credentials", "client_id": "the-app", "client_secret": "hidden-secret", "scope": "https://storage.azure.com/.default"}
		for name, value := range want {
			if got := r.PostFormValue(name); got != value {
				t.Errorf("[%s] is [%s]", name, got)
			}
		}
		if r.Method != http.MethodPost || r.URL.Path != "/the-tenant/oauth2/v2.0/token" || broken {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"unauthorized_client","error_description":"AADSTS700016"}`)
			return
		}
		issued++
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3599,"access_token":"token-%d"}`, issued)
	}))
	t.Cleanup(tokens.Close)
	url := azureServer(t, func(authorization string) bool {
		mu.Lock()
		defer mu.Unlock()
		return authorization == fmt.Sprintf("Bearer token-%d", issued)
	})
	source := func(more string) Source {
		s, err := ParseSource(json.RawMessage(fmt.Sprintf(`{"type":"azureStorage","prefixes":["azureStorage://acc/c/in/"],"endpointConfig":{"url":%q},"properties":{`+
			`"authorityHost":%q,"tenantId":"the-tenant","appRegistrationClientId":"the-app"%s}}`, url, tokens.URL, more)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := fakeclock.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	access := &Access{Clock: now, Getenv: func(name string) (string, bool) { return "hidden-secret", name == "APP" }}
	s := source(`,"appRegistrationClientSecret":{"type":"environment","variable":"APP"}`)
	rows, _, err := readTable(t, &Table{Source: s, Format: &JSON{}, Fields: fields(t, "id long")}, Options{Access: access}, 0)
	if len(rows) != 2 || err != nil || issued != 1 {
		t.Errorf("%v, %v, by [%d] tokens", rows, err, issued)
	}
	splits, err := (&Table{Source: s, Format: &JSON{}, Fields: fields(t, "id long")}).Splits(t.Context(), &Options{Access: access}, 0)
	if err != nil {
		t.Fatal(err)
	}
	now.Advance(time.Hour) // the first token ends
	for _, split := range splits {
		body, err := split.Entity.Open(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	if issued != 3 { // one for the second listing, one after the hour
		t.Errorf("[%d] tokens", issued)
	}
	broken = true
	if _, err := source(`,"appRegistrationClientSecret":"hidden-secret"`).List(t.Context(), access); err == nil || !strings.Contains(err.Error(), "[the-app] of tenant [the-tenant]") ||
		!strings.Contains(err.Error(), "400 unauthorized_client") || strings.Contains(err.Error(), "hidden-secret") {
		t.Errorf("%v", err)
	}
	for _, wrong := range []string{"", `,"appRegistrationClientSecret":"s","key":"c2VjcmV0"`} {
		if _, err := source(wrong).List(t.Context(), access); err == nil || !strings.Contains(err.Error(), "appRegistrationClientSecret") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if text, err := json.Marshal(source(`,"appRegistrationClientSecret":"hidden-secret"`)); err != nil || strings.Contains(string(text), "hidden-secret") {
		t.Errorf("%s %v", text, err)
	}
}

func TestAzureSource(t *testing.T) {
	url := azureServer(t, func(authorization string) bool { return authorization != "" })
	for what, want := range map[string]int{`"prefixes":["azureStorage://acc/c/in/"]`: 2, `"uris":["azureStorage://acc/c/in/b.json"]`: 1, `"objects":[{"bucket":"acc","path":"c/in/a.json"}]`: 1} {
		s, err := ParseSource(json.RawMessage(fmt.Sprintf(`{"type":"azureStorage",%s,"endpointConfig":{"url":%q},"properties":{"key":"c2VjcmV0"}}`, what, url)))
		if err != nil {
			t.Fatal(err)
		}
		rows, _, err := readTable(t, &Table{Source: s, Format: &JSON{}, Fields: fields(t, "id long")}, Options{}, 0)
		if err != nil || len(rows) != want {
			t.Errorf("%s: %v, %v", what, rows, err)
		}
	}
	s, err := ParseSource(json.RawMessage(fmt.Sprintf(`{"type":"azureStorage","uris":["azureStorage://acc/c/none"],"endpointConfig":{"url":%q},"properties":{"key":"c2VjcmV0"}}`, url)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

func TestSQLSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"CREATE TABLE o (Id INTEGER, who TEXT, price REAL, raw BLOB)", "INSERT INTO o VALUES (1, 'joe', 1.5, x'6869'), (2, NULL, 2, NULL)"} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	source := func(statement string) Source {
		s, err := ParseSource(json.RawMessage(fmt.Sprintf(`{"type":"sql","sqls":[%q],"foldCase":true,"database":{"type":"sqlite","connectorConfig":{"connectURI":%q,"password":"pw"}}}`,
			statement, "jdbc:sqlite:"+path)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	get := func(statement string, access *Access) ([][]any, error) {
		rows, _, err := readTable(t, &Table{Source: source(statement), Fields: fields(t, "id long who string price double raw string")}, Options{Access: access}, 100)
		return rows, err
	}
	rows, err := get("SELECT * FROM o ORDER BY Id", nil)
	if d := cmp.Diff([][]any{{int64(1), "joe", 1.5, "aGk="}, {int64(2), nil, 2.0, nil}}, rows); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, statement := range []string{"SELECT nosuch FROM o", "DELETE FROM o", "ATTACH '" + path + ".2' AS x"} {
		rows, err := get(statement, nil)
		if fault.Find(err) == nil && statement != "ATTACH '"+path+".2' AS x" {
			t.Errorf("%s: %v %v", statement, rows, err)
		}
	}
	if rows, err = get("SELECT * FROM o", nil); len(rows) != 2 {
		t.Errorf("the database was changed: %v %v", rows, err)
	}
	if _, err := get("SELECT * FROM o", &Access{LocalDirs: []string{t.TempDir()}}); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryForbidden {
		t.Errorf("a file outside of the allowed folders was read: %v", err)
	}
	if text, err := json.Marshal(source("SELECT 1")); err != nil || strings.Contains(string(text), `"pw"`) {
		t.Errorf("%s %v", text, err)
	}
}

// rowsOf is an ObjectReader over constant rows.
type rowsOf struct{ rows []*record.Object }

func (r *rowsOf) Next(context.Context) (*record.Object, error) {
	if len(r.rows) == 0 {
		return nil, io.EOF
	}
	o := r.rows[0]
	r.rows = r.rows[1:]
	return o, nil
}

func (r *rowsOf) Close() error { return nil }

func TestDatasourceSource(t *testing.T) {
	for _, kind := range []string{"druid", "service"} {
		s, err := ParseSource(json.RawMessage(`{"type":"` + kind + `","dataSource":"w","interval":"2020/2021","filter":{"type":"true"}}`))
		if err != nil {
			t.Fatal(err)
		}
		access := &Access{OpenDatasource: func(_ context.Context, d *Datasource) (ObjectReader, error) {
			if d.Name != "w" || string(d.Filter) != `{"type":"true"}` {
				t.Errorf("%+v", d)
			}
			return &rowsOf{[]*record.Object{{Names: []string{"__time", "k"}, Values: []any{int64(5), "a"}}}}, nil
		}}
		rows, _, err := readTable(t, &Table{Source: s, Fields: fields(t, "k string __time long")}, Options{Access: access}, 0)
		if d := cmp.Diff([][]any{{"a", int64(5)}}, rows); d != "" || err != nil {
			t.Error(d, err)
		}
		if _, err := s.List(t.Context(), nil); fault.Find(err) == nil {
			t.Error("read without a datasource to read from", err)
		}
	}
}

// A listing of thousands of files takes no longer than asking for each of them once.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 3_000 {
		write(t, filepath.Join(dir, fmt.Sprintf("%02d", i%100), fmt.Sprintf("%05d.json", i)), `{"id":1}`)
	}
	table := &Table{Source: &Local{BaseDir: dir, Filter: "*.json"}, Format: &JSON{}, Fields: fields(t, "id long")}
	rows, _, err := readTable(t, table, Options{}, 1<<20)
	if err != nil || len(rows) != 3_000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
