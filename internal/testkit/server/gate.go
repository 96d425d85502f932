package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Gate is a file over HTTP whose end comes when the test says so, to be loaded into datasource t:
// rows of five days with a column n. Servers that read it need service.ingest.http.allowPrivate.
type Gate struct {
	// Reading gets a channel for each reader that has the first half; it gets the rest when that is
	// closed.
	Reading chan chan struct{}
	// Files is how many such files a statement loads; 0: one.
	Files int

	server *httptest.Server
	open   chan struct{} // closed: all readers get the end
	once   sync.Once
}

// NewGate serves a file of so many rows until the test ends.
func NewGate(t testing.TB, rows int) *Gate {
	g := &Gate{Reading: make(chan chan struct{}, 100), open: make(chan struct{})}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			return
		}
		for n := range rows {
			if n == rows/2 {
				_ = http.NewResponseController(w).Flush() // the reader may be gone
				own := make(chan struct{})
				g.Reading <- own
				select {
				case <-own:
				case <-g.open:
				case <-r.Context().Done():
					return
				}
			}
			if _, err := fmt.Fprintf(w, "{\"t\":\"2024-01-%02d\",\"n\":%d}\n", 1+n%5, n); err != nil {
				return
			}
		}
	}))
	t.Cleanup(func() {
		g.Release()
		g.server.Close()
	})
	return g
}

// Release gives all readers the end, also those that come later.
func (g *Gate) Release() { g.once.Do(func() { close(g.open) }) }

// uris names the files.
func (g *Gate) uris() string {
	uris := make([]string, max(1, g.Files))
	for i := range uris {
		uris[i] = fmt.Sprintf("\"%s/rows%d\"", g.server.URL, i)
	}
	return strings.Join(uris, ",")
}

// Statement loads the file; verb is INSERT INTO t or REPLACE INTO t with what it replaces.
func (g *Gate) Statement(verb string) string {
	return fmt.Sprintf("%s SELECT TIME_PARSE(t) AS __time, n FROM TABLE(EXTERN('{\"type\":\"http\",\"uris\":[%s]}','{\"type\":\"json\"}')) "+
		"EXTEND (t VARCHAR, n BIGINT) PARTITIONED BY DAY", verb, g.uris())
}

// Native is a task that appends the file.
func (g *Gate) Native() string {
	return g.Load("t", `"appendToExisting":true`, `"dimensionsSpec":{"dimensions":[{"type":"long","name":"n"}]},"granularitySpec":{"segmentGranularity":"DAY","rollup":false}`, "")
}

// Load is a task of type index_parallel that loads the file into a datasource: with more of the
// ioConfig, the rest of the dataSchema, and a tuningConfig.
func (g *Gate) Load(dataSource, io, schema, tuning string) string {
	if io != "" {
		io = "," + io
	}
	if tuning != "" {
		tuning = fmt.Sprintf(`,"tuningConfig":{"type":"index_parallel",%s}`, tuning)
	}
	return fmt.Sprintf(`{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":{"type":"http","uris":[%s]},`+
		`"inputFormat":{"type":"json"}%s},"dataSchema":{"dataSource":"%s","timestampSpec":{"column":"t","format":"auto"},%s}%s}}`, g.uris(), io, dataSource, schema, tuning)
}
