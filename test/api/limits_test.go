package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// While a query of a user reads a datasource, another of that user or of that datasource is
// refused, and told why; others are answered.
func TestLimitsOfUsersAndDataSources(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{
		"service.query.scheduler.limits.users.ann=1", "service.query.scheduler.limits.perDataSource=1", "service.query.scheduler.limits.dataSources.free=0",
		"service.ingest.http.allowPrivate=true",
	}})
	for _, name := range []string{"events", "free"} {
		if err := s.Ingest(t.Context(), inline("REPLACE INTO "+name+" OVERWRITE ALL", `{"t":"2024-01-01","k":"a","n":1}`), nil); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(user, path, body string) (status int, answer string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Addresses["router"]+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if user != "" {
			r.SetBasicAuth(user, "x")
		}
		return answered(t, r)
	}
	const sql, native = "/service/v2/sql", "/service/v2"
	count := func(name string) string { return `{"query":"SELECT COUNT(*) AS n FROM ` + name + `"}` }
	g := server.NewGate(t, 10)
	external := strings.TrimPrefix(g.Statement(""), " SELECT TIME_PARSE(t) AS __time, n ")
	external, _, _ = strings.Cut(external, " PARTITIONED BY")
	held, err := json.Marshal(map[string]string{"query": "SELECT COUNT(*) AS n FROM (SELECT n FROM events UNION ALL SELECT n " + external + ")"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		defer close(ended)
		_, answer := ask("ann", sql, string(held))
		ended <- answer
	}()
	<-g.Reading // it runs, and stays until the file has its end
	const ofEvents = "Too many concurrent queries for datasource 'events', query capacity of 1 exceeded. Please try your query again later."
	for _, c := range []struct {
		user, path, body string
		refusal          string
	}{
		{"ann", sql, count("free"), "Too many concurrent queries for user 'ann', query capacity of 1 exceeded. Please try your query again later."},
		{"bob", sql, count("events"), ofEvents},
		{"", native, `{"queryType":"timeBoundary","dataSource":"events"}`, ofEvents},
		{"bob", sql, count("free"), ""},
		{"", sql, `{"query":"SELECT 1 AS n"}`, ""},
		{"", native, `{"queryType":"timeBoundary","dataSource":"free"}`, ""},
	} {
		status, answer := ask(c.user, c.path, c.body)
		if c.refusal == "" {
			if status != http.StatusOK {
				t.Errorf("%s %s: %d %s", c.user, c.body, status, answer)
			}
			continue
		}
		var body struct {
			Error, ErrorMessage, ErrorClass, Host, ErrorCode, Category string
		}
		if err := json.Unmarshal([]byte(answer), &body); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusTooManyRequests || body.Error != "Query capacity exceeded" || body.ErrorMessage != c.refusal || body.Host == "" ||
			body.ErrorClass != "org.apache.druid.query.QueryCapacityExceededException" || body.ErrorCode != "legacyQueryException" || body.Category != "CAPACITY_EXCEEDED" {
			t.Errorf("%s %s: %d %s", c.user, c.body, status, answer)
		}
	}
	_, metrics, err := s.Send(t.Context(), "router", http.MethodGet, "/status/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`limit="user",service="service/broker"} 1`, `limit="dataSource",service="service/broker"} 2`} {
		if !strings.Contains(string(metrics), "service_query_overLimit_count_total{"+line) {
			t.Errorf("no %s in the metrics", line)
		}
	}
	g.Release()
	if answer := <-ended; strings.TrimSpace(answer) != `[{"n":11}]` {
		t.Errorf("the first query: %s", answer)
	}
	// It leaves behind its last byte.
	for status := 0; status != http.StatusOK && t.Context().Err() == nil; {
		var answer string
		if status, answer = ask("ann", sql, count("events")); status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Fatalf("afterwards: %d %s", status, answer)
		}
	}
}

// A limit that can't be meant keeps the server from starting.
func TestLimitsThatCanNotBe(t *testing.T) {
	for _, setting := range []string{
		"service.query.scheduler.limits.perUser=-1", "service.query.scheduler.limits.users.ann=many", "service.query.scheduler.limits.dataSources.wiki=-2",
	} {
		if s, err := server.Open(t.Context(), server.Options{Dir: t.TempDir(), Settings: []string{setting}}); err == nil {
			t.Errorf("%s: the server starts", setting)
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
}
