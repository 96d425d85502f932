package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/server"
)

// shapes are bodies that take much more memory than their size, by what they are, of at least n
// bytes.
var shapes = map[string]func(n int) string{
	"objects": func(n int) string { return "[" + strings.Repeat(`{},`, n/3) + "{}]" },
	"members": func(n int) string {
		var b strings.Builder
		b.WriteString(`{"context":{"a":1`)
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, `,"k%d":%d`, i, i)
		}
		return b.String() + "}}"
	},
	"statement": func(n int) string { return `{"query":"SELECT 1 IN (` + strings.Repeat("7,", n/2) + `7)"}` },
	"text":      func(n int) string { return `{"query":"SELECT '` + strings.Repeat("x", n) + `'"}` },
}

// configured are parts of the paths of endpoints that take a megabyte.
var configured = []string{"/rules/", "/config/compaction", "/coordinator/v1/config", "/taskStatus"}

// Bodies of every endpoint of every role, large and many at a time, plain and compressed, are
// refused for their size or for want of memory, or are answered, while the process keeps to its
// memory and says that it is well at once.
func TestBodiesOfEveryEndpointKeepToTheMemory(t *testing.T) {
	const limit, beside = 128 << 20, 96 << 20
	s := server.Start(t, server.Options{Settings: []string{"service.memory.limit=128MiB"}})
	var patterns []string
	for _, role := range []string{"router", "indexer", "historical"} {
		for _, pattern := range s.Routes(role) {
			method, path, _ := strings.Cut(pattern, " ")
			if (method == http.MethodPost || method == http.MethodPut) && !strings.HasSuffix(path, "/") {
				patterns = append(patterns, role+" "+method+" "+wildcard.ReplaceAllString(strings.ReplaceAll(path, "{$}", ""), "x"))
			}
		}
	}
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	if len(patterns) < 40 {
		t.Fatalf("only [%d] endpoints take bodies", len(patterns))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	peak, slowest := watchHeap(ctx, t, s)
	statuses := map[int]int{}
	var mu sync.Mutex
	send := func(pattern, body string, zipped bool) {
		role, rest, _ := strings.Cut(pattern, " ")
		method, path, _ := strings.Cut(rest, " ")
		status, answer := sendBody(t, s.Addresses[role]+path, method, body, zipped)
		mu.Lock()
		defer mu.Unlock()
		statuses[status]++
		if !avatica500(path, status) && (status == http.StatusInternalServerError || status == http.StatusBadGateway) {
			t.Errorf("%s: [%d] bytes have the answer %d %.300s", pattern, len(body), status, answer)
		}
		if path != "/service/coordinator/v1/config/compaction/taskslots" && // which reads no body
			slices.ContainsFunc(configured, func(part string) bool { return strings.Contains(path, part) }) && len(body) > 2<<20 &&
			status != http.StatusRequestEntityTooLarge && status != http.StatusTooManyRequests {
			t.Errorf("%s: [%d] bytes have the answer %d %.300s", pattern, len(body), status, answer)
		}
	}
	many := shapes["objects"](5 << 19)
	for i, pattern := range patterns {
		send(pattern, many, i%2 == 0)
	}
	for name, shape := range shapes {
		huge := shape(10 << 20)
		for _, pattern := range []string{"router POST /service/v2/sql", "router POST /service/v2", "router POST /service/indexer/v1/task", "router POST /service/indexer/v1/sampler",
			"router POST /service/coordinator/v1/lookups/config", "router POST /service/coordinator/v1/rules/x"} {
			var at sync.WaitGroup
			for i := range 3 {
				at.Go(func() { send(pattern, huge, i%2 == 0) })
			}
			at.Wait()
		}
		t.Logf("%s: heap peak [%d] MiB, slowest health [%v], statuses %v", name, peak.Load()>>20, time.Duration(slowest.Load()), statuses)
	}
	if p := peak.Load(); p > limit+beside+64<<20 { // the test's own bodies are in the heap too
		t.Errorf("the heap had [%d] MiB", p>>20)
	}
	if statuses[http.StatusRequestEntityTooLarge] == 0 {
		t.Errorf("none was refused for its size: %v", statuses)
	}
	if rows, err := s.Query(t.Context(), "SELECT 1 AS n"); err != nil || len(rows) != 1 {
		t.Errorf("behind all that, a query has %v, %v", rows, err)
	}
}

// sendBody sends a body as it is, or compressed.
func sendBody(t *testing.T, url, method, body string, zipped bool) (int, []byte) {
	t.Helper()
	var reader io.Reader = strings.NewReader(body)
	if zipped {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		_, _ = io.WriteString(w, body) // to memory
		_ = w.Close()                  // likewise
		reader = &b
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if zipped {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("%s: %v", url, err)
		return 0, nil
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body) // what is cut shows
	return resp.StatusCode, answer
}

// watchHeap follows how large the heap is, and how long the process takes to say that it is well.
func watchHeap(ctx context.Context, t *testing.T, s *server.Server) (peak, slowest *atomic.Int64) {
	t.Helper()
	peak, slowest = &atomic.Int64{}, &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := clock.System()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for c.Sleep(ctx, 20*time.Millisecond) == nil {
			metrics.Read(sample)
			peak.Store(max(peak.Load(), int64(sample[0].Value.Uint64())))
			began := c.Now()
			if status, _, err := s.Send(ctx, "router", http.MethodGet, "/status/health", ""); err == nil && status == http.StatusOK {
				slowest.Store(max(slowest.Load(), int64(c.Now().Sub(began))))
			}
		}
	}()
	t.Cleanup(func() { <-done })
	return peak, slowest
}
