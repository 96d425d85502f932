package api

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/hengedb/henge/internal/testkit/server"
)

// What rules keep in deep storage only is asked for by column: a query costs what it reads, and the
// next one over the same columns nothing.
func TestColumnsOfSegmentsInS3(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("deep"); err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	objects := gofakes3.New(backend).Server()
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		objects.ServeHTTP(&countedBody{w, &sent}, r)
	}))
	defer bucket.Close()
	s := server.Start(t, server.Options{Settings: []string{"service.storage.type=s3", "service.storage.bucket=deep",
		"service.s3.endpoint.url=" + bucket.URL, "service.s3.endpoint.signingRegion=us-east-1", "service.s3.accessKey=a", "service.s3.secretKey=s"}})
	err := s.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/rules/_default",
		[]map[string]any{{"type": "loadForever", "tieredReplicants": map[string]int{}, "useDefaultTierForNull": false}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const columns, rows = 40, 20_000
	r, sums := rand.New(rand.NewPCG(1, 2)), make([]int64, columns)
	var csv strings.Builder
	signature := make([]string, columns)
	for c := range columns {
		signature[c] = fmt.Sprintf("c%d BIGINT", c)
	}
	for range rows {
		for c := range columns {
			n := r.Int64N(1 << 40)
			sums[c] += n
			fmt.Fprintf(&csv, "%d%s", n, map[bool]string{true: "\n", false: ","}[c == columns-1])
		}
	}
	path := filepath.Join(t.TempDir(), "wide.csv")
	if err := os.WriteFile(path, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	names := strings.ReplaceAll(strings.Join(signature, ","), " BIGINT", "")
	err = s.Ingest(t.Context(), fmt.Sprintf(`INSERT INTO wide SELECT TIMESTAMP '2026-01-01' AS __time, %s FROM TABLE(EXTERN('{"type":"local","files":[%q]}',`+
		`'{"type":"csv","columns":["%s"]}')) EXTEND (%s) PARTITIONED BY DAY`, names, path, strings.ReplaceAll(names, ",", `","`), strings.Join(signature, ",")), nil)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := s.Query(t.Context(), `SELECT "size" FROM sys.segments WHERE datasource = 'wide'`)
	if err != nil || len(sizes) != 1 {
		t.Fatalf("%v %v", sizes, err)
	}
	size, err := strconv.ParseInt(fmt.Sprint(sizes[0][0]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(column int) (bytes int64) {
		t.Helper()
		before := sent.Load()
		got, err := s.Query(t.Context(), fmt.Sprintf(`SELECT SUM(c%d) FROM "wide"`, column))
		if err != nil || len(got) != 1 || fmt.Sprint(got[0][0]) != fmt.Sprint(sums[column]) {
			t.Errorf("the sum of column [%d] is %v instead of [%d] (%v)", column, got, sums[column], err)
		}
		return sent.Load() - before
	}
	if n := ask(7); n > size/10 {
		t.Errorf("one of [%d] columns: [%d] bytes were asked for of a file of [%d]", columns, n, size)
	}
	if n := ask(7); n != 0 {
		t.Errorf("[%d] bytes were asked for again", n)
	}
	if n := ask(8); n == 0 || n > size/20 {
		t.Errorf("another column: [%d] bytes", n)
	}
	loaded := 0
	for _, held := range listServers(t, s) {
		loaded += len(held)
	}
	if loaded > 0 {
		t.Errorf("[%d] segments are loaded, which no rule wants", loaded)
	}
}

// listServers returns the segments that each server holds.
func listServers(t *testing.T, s *server.Server) map[string]map[string]any {
	t.Helper()
	var list []struct {
		Host     string         `json:"host"`
		Segments map[string]any `json:"segments"`
	}
	if err := s.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/servers?full", nil, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, one := range list {
		out[one.Host] = one.Segments
	}
	return out
}

// countedBody counts the bytes of answers.
type countedBody struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c *countedBody) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}
