package api

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
	_ "modernc.org/sqlite" // the database of the sql source

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/testkit/versitygw"
)

// externRow is what all inputs of these tests hold.
type externRow struct {
	T    string   `json:"t" parquet:"t"`
	K    string   `json:"k" parquet:"k"`
	N    int64    `json:"n" parquet:"n"`
	Tags []string `json:"tags" parquet:"tags,list"`
}

var externRows = []externRow{
	{"2024-01-01T00:00:00Z", "a", 1, []string{"x", "y"}},
	{"2024-01-01T01:00:00Z", "b", 2, []string{"x"}},
	{"2024-01-02T00:00:00Z", "c", 3, nil},
}

// externFiles are the rows in every format that is a file, with the wire form of the format.
func externFiles(t *testing.T) map[string][2]string {
	t.Helper()
	var lines, parquetFile, avroFile bytes.Buffer
	for _, r := range externRows {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	if err := parquet.Write(&parquetFile, externRows); err != nil {
		t.Fatal(err)
	}
	schema, err := avro.Parse(`{"type":"record","name":"r","fields":[{"name":"t","type":"string"},{"name":"k","type":"string"},{"name":"n","type":"long"},` +
		`{"name":"tags","type":{"type":"array","items":"string"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ocf.NewWriter(&avroFile, schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range externRows {
		tags := []any{}
		for _, tag := range r.Tags {
			tags = append(tags, tag)
		}
		if err := w.Encode(map[string]any{"t": r.T, "k": r.K, "n": r.N, "tags": tags}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := lines.String()
	csv := "t,k,n,tags\n2024-01-01T00:00:00Z,a,1,x|y\n2024-01-01T01:00:00Z,b,2,x\n2024-01-02T00:00:00Z,\"c\",3,\n"
	packed := func(w interface {
		Write([]byte) (int, error)
		Close() error
	}, b *bytes.Buffer) string {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var g, z, l bytes.Buffer
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][2]string{
		"json": {text, `{"type":"json"}`},
		"nested": {strings.NewReplacer(`"k":`, `"o":{"k":`, `,"n":`, `},"n":`).Replace(text),
			`{"type":"json","flattenSpec":{"fields":[{"type":"path","name":"k","expr":"$.o.k"}]}}`},
		"gzip":    {packed(gzip.NewWriter(&g), &g), `{"type":"json"}`},
		"zstd":    {packed(zw, &z), `{"type":"json"}`},
		"lz4":     {packed(lz4.NewWriter(&l), &l), `{"type":"json"}`},
		"csv":     {csv, `{"type":"csv","findColumnsFromHeader":true,"listDelimiter":"|"}`},
		"tsv":     {strings.ReplaceAll(strings.ReplaceAll(csv, "\"", ""), ",", "\t"), `{"type":"tsv","skipHeaderRows":1,"columns":["t","k","n","tags"],"listDelimiter":"|"}`},
		"regex":   {strings.SplitN(csv, "\n", 2)[1], `{"type":"regex","pattern":"([^,]*),\"?(\\w+)\"?,(\\d+),(.*)","columns":["t","k","n","tags"],"listDelimiter":"|"}`},
		"parquet": {parquetFile.String(), `{"type":"parquet"}`},
		"avro":    {avroFile.String(), `{"type":"avro_ocf"}`},
	}
}

// load ingests what a source holds and returns the rows of the datasource.
func load(t *testing.T, s *server.Server, name, source, format string) ([][]any, error) {
	t.Helper()
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	err := s.Ingest(t.Context(), fmt.Sprintf(`REPLACE INTO "%s" OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, k, n, ARRAY_TO_STRING(tags, '+') AS tags FROM TABLE(EXTERN(%s, %s)) `+
		`EXTEND (t VARCHAR, k VARCHAR, n BIGINT, tags VARCHAR ARRAY) PARTITIONED BY DAY`, name, quoted(source), quoted(format)), nil)
	if err != nil {
		return nil, err
	}
	return s.Query(t.Context(), fmt.Sprintf(`SELECT k, n, tags FROM "%s" ORDER BY __time`, name))
}

// Every format and every source works through EXTERN, in a task, up to the query.
func TestExternReadsEveryFormatAndSource(t *testing.T) {
	s := server.Start(t, server.Options{})
	want := [][]any{{"a", json.Number("1"), "x+y"}, {"b", json.Number("2"), "x"}, {"c", json.Number("3"), nil}}
	check := func(name, source, format string) {
		t.Helper()
		rows, err := load(t, s, "e_"+strings.ReplaceAll(name, " ", "_"), source, format)
		for _, r := range rows {
			if len(r) == 3 {
				if r[2] == "" {
					r[2] = nil
				}
				if f, ok := r[1].(float64); ok {
					r[1] = json.Number(fmt.Sprint(f))
				}
			}
		}
		if d := cmp.Diff(want, rows); d != "" || err != nil {
			t.Errorf("%s: %s %v", name, d, err)
		}
	}
	externInputs(t, check)
}

// externInputs calls check for each format, and each source, of the rows.
func externInputs(t *testing.T, check func(name, source, format string)) {
	t.Helper()
	dir := t.TempDir()
	files := externFiles(t)
	for name, f := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(f[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		check(name, fmt.Sprintf(`{"type":"local","files":[%q]}`, path), f[1])
	}

	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	check("http", `{"type":"http","uris":["`+web.URL+`/gzip"]}`, files["gzip"][1])
	check("http parquet", `{"type":"http","uris":["`+web.URL+`/parquet"]}`, files["parquet"][1])

	backend := s3mem.New()
	if err := backend.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	defer bucket.Close()
	for name, f := range files {
		if _, err := backend.PutObject("b", "in/"+name, nil, strings.NewReader(f[0]), int64(len(f[0])), nil); err != nil {
			t.Fatal(err)
		}
	}
	at := fmt.Sprintf(`"endpointConfig":{"url":%q,"signingRegion":"us-east-1"},"properties":{"accessKeyId":"a","secretAccessKey":"s"}`, bucket.URL)
	check("s3", `{"type":"s3","prefixes":["s3://b/in/js"],`+at+`}`, files["json"][1])
	check("s3 parquet", `{"type":"s3","uris":["s3://b/in/parquet"],`+at+`}`, files["parquet"][1])
	check("google", `{"type":"google","uris":["gs://b/in/csv"],`+at+`}`, files["csv"][1])

	data, err := json.Marshal(files["json"][0])
	if err != nil {
		t.Fatal(err)
	}
	check("inline", `{"type":"inline","data":`+string(data)+`}`, files["json"][1])
	check("combining", `{"type":"combining","delegates":[{"type":"local","baseDir":"`+dir+`","filter":"none*"},{"type":"inline","data":`+string(data)+`}]}`, files["json"][1])

	database := filepath.Join(dir, "rows.db")
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE r (t TEXT, k TEXT, n INTEGER, tags TEXT); INSERT INTO r VALUES `+
		`('2024-01-01T00:00:00Z','a',1,'x+y'),('2024-01-01T01:00:00Z','b',2,'x'),('2024-01-02T00:00:00Z','c',3,NULL)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	check("sql", fmt.Sprintf(`{"type":"sql","sqls":["SELECT * FROM r"],"database":{"type":"sqlite","connectorConfig":{"connectURI":"jdbc:sqlite:%s"}}}`, database), `{"type":"json"}`)
}

// The rows of a datasource are an input as well, and stay what they were when they are read into
// another.
func TestExternReadsADatasource(t *testing.T) {
	s := server.Start(t, server.Options{})
	f := externFiles(t)["csv"]
	data, err := json.Marshal(f[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, s, "first", `{"type":"inline","data":`+string(data)+`}`, f[1]); err != nil {
		t.Fatal(err)
	}
	err = s.Ingest(t.Context(), `REPLACE INTO "second" OVERWRITE ALL SELECT MILLIS_TO_TIMESTAMP("__time") AS __time, k, n FROM TABLE(EXTERN(`+
		`'{"type":"druid","dataSource":"first","interval":"2024-01-01/2024-01-02","filter":{"type":"selector","dimension":"k","value":"b"}}','{"type":"json"}')) `+
		`EXTEND ("__time" BIGINT, k VARCHAR, n BIGINT) PARTITIONED BY DAY`, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Query(t.Context(), `SELECT k, n FROM "second"`)
	if err != nil || len(rows) != 1 || rows[0][0] != "b" {
		t.Errorf("%v %v", rows, err)
	}
}

// Segments may lie in an object store: they are put there, and read again after a restart with an
// empty cache.
func TestSegmentsInS3(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("deep"); err != nil {
		t.Fatal(err)
	}
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	defer bucket.Close()
	o := server.Options{Dir: t.TempDir(), Settings: []string{"service.storage.type=s3", "service.storage.bucket=deep", "service.storage.baseKey=a/b",
		"service.s3.endpoint.url=" + bucket.URL, "service.s3.endpoint.signingRegion=us-east-1", "service.s3.accessKey=a", "service.s3.secretKey=s"}}
	f := externFiles(t)["csv"]
	data, err := json.Marshal(f[0])
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, s, "in_s3", `{"type":"inline","data":`+string(data)+`}`, f[1]); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(o.Dir, "cache")); err != nil {
		t.Fatal(err)
	}
	s = server.Start(t, o)
	rows, err := s.Query(t.Context(), `SELECT COUNT(*) FROM in_s3`)
	if err != nil || len(rows) != 1 || fmt.Sprint(rows[0][0]) != "3" {
		t.Errorf("%v %v", rows, err)
	}
}

// TestExternReadsARealS3Server reads rows from a server that keeps objects as files.
func TestExternReadsARealS3Server(t *testing.T) {
	url := versitygw.Start(t, "input")
	c, err := s3.Connect(t.Context(), s3.Options{Endpoint: url, Region: "us-east-1", AccessKey: secret.NewText(versitygw.AccessKey), SecretKey: secret.NewText(versitygw.SecretKey)})
	if err != nil {
		t.Fatal(err)
	}
	files := externFiles(t)
	for name, f := range files {
		if err := c.Put(t.Context(), "input", "in/"+name, strings.NewReader(f[0]), int64(len(f[0])), false); err != nil {
			t.Fatal(err)
		}
	}
	s := server.Start(t, server.Options{Settings: []string{"service.ingest.http.allowPrivate=true"}})
	at := fmt.Sprintf(`"endpointConfig":{"url":%q,"signingRegion":"us-east-1"},"properties":{"accessKeyId":%q,"secretAccessKey":%q}`, url, versitygw.AccessKey,
		versitygw.SecretKey)
	for name, source := range map[string]string{"json": `"prefixes":["s3://input/in/js"]`, "parquet": `"uris":["s3://input/in/parquet"]`, "gzip": `"objectGlob":"**gzip","prefixes":["s3://input/in/"]`} {
		rows, err := load(t, s, "real_"+name, `{"type":"s3",`+source+`,`+at+`}`, files[name][1])
		if err != nil || len(rows) != 3 {
			t.Errorf("%s: %v %v", name, rows, err)
		}
	}
	wrong := strings.Replace(at, versitygw.SecretKey, "not-the-key", 1)
	if _, err := load(t, s, "real_wrong", `{"type":"s3","uris":["s3://input/in/csv"],`+wrong+`}`, files["csv"][1]); err == nil || strings.Contains(err.Error(), "not-the-key") {
		t.Errorf("a wrong secret: %v", err)
	}
}
