package security

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A query goes on to its end with what its user was allowed when it began; what comes later is
// refused.
func TestARoleIsDeletedWhileItsUserRunsAQuery(t *testing.T) {
	s := startStored(t, server.People{"ann": {"READ DATASOURCE wiki", "READ EXTERNAL EXTERNAL"}},
		"service.ingestion.http.allowPrivate=true")
	load(t, &s.Client, "wiki")
	gate := server.NewGate(t, 10)
	slow := strings.TrimSuffix(gate.Statement("SELECT SUM(n) AS n FROM ("), " PARTITIONED BY DAY") + ") AS v CROSS JOIN wiki"
	type answer struct {
		status int
		text   string
		err    error
	}
	answers := make(chan answer, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		status, text, err := s.As("ann").Send(ctx, "router", http.MethodPost, sqlPath, statement(slow))
		answers <- answer{status, string(text), err}
	}()
	select {
	case <-gate.Reading:
	case a := <-answers:
		t.Fatalf("the query has ended before: %+v", a)
	}
	wiki := statement("SELECT COUNT(*) AS n FROM wiki")
	run(t, &s.Client, []exchange{
		{"ann", "POST", sqlPath, wiki, 200, `"n":1`, ""},
		{"admin", "DELETE", "/proxy/coordinator" + rolesPath + "/roles/ann", "", 200, "", ""},
		{"ann", "POST", sqlPath, wiki, 403, "Unauthorized", `"n"`},
		{"ann", "GET", "/service/v2/datasources", "", 200, "[]", "wiki"},
	})
	gate.Release()
	if a := <-answers; a.err != nil || a.status != http.StatusOK || !strings.Contains(a.text, `"n":45`) {
		t.Errorf("the query under way: %+v", a)
	}
}

// A rule whose column is dropped refuses queries; it shows all rows at no time.
func TestAColumnOfARuleIsDropped(t *testing.T) {
	s := startStored(t, server.People{"north": {"READ STATE STATE"}})
	c := &s.Client
	orders(t, c)
	const rule = `[{"resource":{"name":"orders","type":"DATASOURCE"},"action":"READ","policy":%s}]`
	count := statement("SELECT COUNT(*) AS c FROM orders")
	for _, policy := range []string{`{"rows":"region = 'north'"}`, `{"columns":{"n":{"mask":"CHAR_LENGTH(region)"}}}`} {
		run(t, c, []exchange{
			{"admin", "POST", "/proxy/coordinator" + rolesPath + "/roles/north/permissions", fmt.Sprintf(rule, policy), 200, "", ""},
			{"north", "POST", sqlPath, count, 200, `"c":`, ""},
		})
		task(t, c, "admin", "REPLACE INTO orders OVERWRITE ALL SELECT __time, n FROM orders PARTITIONED BY DAY")
		run(t, c, []exchange{
			{"north", "POST", sqlPath, count, 403, "role [north]", `"c":`},
			{"north", "POST", sqlPath, statement("SELECT n FROM orders"), 403, "role [north]", `"n":`},
			{"north", "POST", nativePath, strings.ReplaceAll(native[0], "{t}", "orders"), 403, "role [north]", `"c":`},
			{"admin", "POST", sqlPath, count, 200, `"c":8`, ""},
		})
		orders(t, c)
	}
}
