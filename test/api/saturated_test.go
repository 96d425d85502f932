package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// told is a body that tells when all of it was read.
type told struct {
	io.Reader
	sent func()
}

// Read implements io.Reader.
func (b *told) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.sent()
	}
	return n, err
}

// While large bodies with inline data wait to be decoded, and are, the process says that it is well
// before the last of them is answered. A statement whose timeout runs out meanwhile is answered
// with that.
func TestHealthIsAnsweredWhileBodiesAreDecoded(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.memory.limit=8GiB"}})
	var rows strings.Builder
	for n := range 150_000 {
		fmt.Fprintf(&rows, `{"t":"2024-01-01","a":%d,"b":"x%d","c":{"d":[1,2,%d]}}`+"\n", n, n, n)
	}
	data, err := json.Marshal(map[string]string{"type": "inline", "data": rows.String()})
	if err != nil {
		t.Fatal(err)
	}
	spec := `{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":` + string(data) +
		`,"inputFormat":{"type":"json"}},"dataSchema":{"dataSource":"t","timestampSpec":{"column":"t","format":"auto"},` +
		`"granularitySpec":{"segmentGranularity":"DAY"},"dimensionsSpec":{"dimensions":["a","b"]}}}`
	statement, err := json.Marshal(map[string]any{"context": map[string]any{"timeout": 1}, "query": "SELECT MAX(a) FROM TABLE(EXTERN('" +
		string(data) + `','{"type":"json"}')) EXTEND (t VARCHAR, a BIGINT, b VARCHAR)`})
	if err != nil {
		t.Fatal(err)
	}
	type kind struct {
		path, body string
		status     int
		want       string
	}
	sampler := kind{"/service/indexer/v1/sampler", spec + `,"samplerConfig":{"numRows":10}}`, http.StatusOK, `"numRowsRead":10,`}
	task := kind{"/service/indexer/v1/task", spec + "}", http.StatusOK, `"task":"index_parallel_t_`}
	late := kind{"/service/v2/sql", string(statement), http.StatusGatewayTimeout, "within configured timeout period"}
	var all, sent sync.WaitGroup
	var answered atomic.Int64
	heavy := []kind{sampler, task, late, sampler, late, sampler}
	for _, k := range heavy {
		sent.Add(1)
		all.Go(func() {
			body := &told{strings.NewReader(k.body), sync.OnceFunc(sent.Done)}
			defer body.sent() // also if it was refused
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["router"]+k.path, body)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Errorf("%s: %v", k.path, err)
				return
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			answered.Add(1)
			if err != nil || resp.StatusCode != k.status || !strings.Contains(string(answer), k.want) {
				t.Errorf("%s: status [%d], %.300s, %v", k.path, resp.StatusCode, answer, err)
			}
		})
	}
	sent.Wait()
	for range 10 {
		if status, _, err := s.Send(t.Context(), "router", http.MethodGet, "/status/health", ""); err != nil || status != http.StatusOK {
			t.Fatalf("the health is [%d], %v", status, err)
		}
	}
	if n := answered.Load(); n == int64(len(heavy)) {
		t.Errorf("[%d] large bodies were answered before ten questions for the health", n)
	}
	all.Wait()
}
