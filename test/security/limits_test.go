package security

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// as returns a client of a user of wired.
func as(s *server.Server, user string) *server.Client {
	return &server.Client{Addresses: s.Addresses, HTTP: server.LoggedIn(user, "pw of "+user)}
}

// said sends a request and returns the status, the header Retry-After and the body of its answer.
func said(t *testing.T, s *server.Server, user, method, path, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.Addresses["router"]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := server.LoggedIn(user, "pw of "+user).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text := make([]byte, 4096)
	n, _ := resp.Body.Read(text) // the beginning is enough
	return fmt.Sprintf("%d retry=%s %s", resp.StatusCode, resp.Header.Get("Retry-After"), text[:n])
}

func limit(t *testing.T, s *server.Server, of, limits string) {
	t.Helper()
	change(t, &s.Client, http.MethodPost, allowed+"/"+of+"/limits", limits)
}

func has(t *testing.T, what, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s\nwant %s", what, got, want)
		}
	}
}

// Each limit stops a query at each door, says whose it is, and lets all through when it is gone.
func TestLimitsHoldAtEveryDoor(t *testing.T) {
	s := wired(t)
	const scan = `{"queryType":"scan","dataSource":"orders","intervals":"2000/3000","columns":["region"]}`
	const count = "SELECT region, COUNT(*) FROM orders GROUP BY 1"
	over := statement("SELECT region FROM orders")
	jdbc := func(what string) string {
		open := `{"request":"openConnection","connectionId":"` + what + `","info":{"user":"reader","password":"pw of reader"}}`
		run := `{"request":"prepareAndExecute","connectionId":"` + what + `","statementId":1,"sql":"SELECT region FROM orders","maxRowCount":-1}`
		close := `{"request":"closeConnection","connectionId":"` + what + `"}`
		create := `{"request":"createStatement","connectionId":"` + what + `"}`
		var answer []byte
		for _, text := range []string{open, create, run, close} {
			_, got, err := as(s, "reader").Send(t.Context(), "broker", "POST", "/service/v2/sql/avatica/", text)
			if err != nil {
				t.Fatal(err)
			}
			answer = append(answer, got...)
		}
		return string(answer)
	}
	doors := func(name string, wanted ...string) {
		t.Helper()
		has(t, name+" SQL", said(t, s, "reader", "POST", sqlPath, over), append(wanted, "400 ")...)
		has(t, name+" native", said(t, s, "reader", "POST", nativePath, scan), append(wanted, "400 ")...)
		has(t, name+" JDBC", jdbc(name), wanted...)
		c, err := connect(t, s, "reader", "pw of reader")
		if err != nil {
			t.Fatal(err)
		}
		has(t, name+" PostgreSQL", answer(t, c, "SELECT region FROM orders"), wanted...)
	}
	limit(t, s, "roles/reader", `{"rows":2}`)
	doors("rows", "Limit [rows] of role [reader] is reached: one query of user [reader] may return [2] rows")
	var kept struct {
		ID string `json:"queryId"`
	}
	if err := as(s, "reader").Call(t.Context(), "POST", statementsPath, json.RawMessage(statement("SELECT region FROM orders",
		"executionMode=ASYNC")), &kept); err != nil {
		t.Fatal(err)
	}
	await(t, &s.Client, kept.ID)
	has(t, "kept rows", said(t, s, "reader", "GET", statementsPath+"/"+kept.ID+"/results", ""), "400 ", "Limit [rows] of role [reader]")
	has(t, "kept sample", said(t, s, "reader", "GET", statementsPath+"/"+kept.ID, ""), `"numTotalRows":3`)
	has(t, "fewer rows", said(t, s, "reader", "POST", sqlPath, statement(count)), "200 ")
	has(t, "somebody else", said(t, s, "north", "POST", sqlPath, over), "200 ")

	limit(t, s, "roles/reader", `{"bytes":1}`)
	doors("bytes", "Limit [bytes] of role [reader] is reached: one query of user [reader] may read segments of [1] bytes")
	has(t, "task", said(t, s, "reader", "POST", statementsPath, statement("SELECT region FROM orders", "executionMode=ASYNC")), "400 ",
		"Limit [bytes] of role [reader]")
	has(t, "no segments", said(t, s, "reader", "POST", sqlPath, statement("SELECT 1 AS one")), "200 ")

	limit(t, s, "users/reader", `{"bytes":1000000000,"rows":2}`) // the user's own stand before those of the role
	doors("own", "Limit [rows] of user [reader] is reached")

	limit(t, s, "users/reader", `{"cpuSeconds":0.000000001,"bytes":1000000000}`)
	doors("cpu", "Limit [cpuSeconds] of user [reader] is reached: one query of user [reader] may compute for [0.000000001] seconds")

	limit(t, s, "users/reader", `{}`)
	limit(t, s, "roles/reader", `{}`)
	has(t, "no limits", said(t, s, "reader", "POST", sqlPath, over), "200 ")
}

func TestQueriesAtATimeAreLimited(t *testing.T) {
	s := wired(t, "service.sql.avatica.minRowsPerFrame=1", "service.sql.avatica.maxRowsPerFrame=1")
	crossed := ""
	for i := range 9 {
		crossed += fmt.Sprintf(" CROSS JOIN orders b%d", i)
	}
	const avatica = "/service/v2/sql/avatica/"
	limit(t, s, "roles/reader", `{"concurrentQueries":1}`)
	send := func(text string) string {
		t.Helper()
		_, got, err := as(s, "reader").Send(t.Context(), "broker", "POST", avatica, text)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	send(`{"request":"openConnection","connectionId":"c","info":{"user":"reader","password":"pw of reader"}}`)
	send(`{"request":"createStatement","connectionId":"c"}`)
	// The driver has fetched one row of many batches: its query runs until it has fetched the others.
	has(t, "the first", send(`{"request":"prepareAndExecute","connectionId":"c","statementId":1,"sql":"SELECT a.region FROM orders a`+
		crossed+`","maxRowCount":-1}`), "south")
	refused := "Limit [concurrentQueries] of role [reader] is reached: user [reader] may run [1] queries at a time."
	has(t, "SQL", said(t, s, "reader", "POST", sqlPath, statement("SELECT 1 AS one")), "429 retry=1", refused)
	has(t, "native", said(t, s, "reader", "POST", nativePath, `{"queryType":"timeBoundary","dataSource":"orders"}`), "429 retry=1", refused)
	c, err := connect(t, s, "reader", "pw of reader")
	if err != nil {
		t.Fatal(err)
	}
	has(t, "PostgreSQL", answer(t, c, "SELECT region FROM orders"), refused)
	has(t, "somebody else", said(t, s, "north", "POST", sqlPath, statement("SELECT 1 AS one")), "200 ")
	send(`{"request":"closeConnection","connectionId":"c"}`)
	has(t, "afterwards", said(t, s, "reader", "POST", sqlPath, statement("SELECT 1 AS one")), "200 ")
}

func TestRequestsASecondAreLimited(t *testing.T) {
	s := wired(t)
	limit(t, s, "roles/reader", `{"requestsPerSecond":0.01}`)
	refused := "Limit [requestsPerSecond] of role [reader] is reached: user [reader] may send [0.01] requests a second. Try again in ["
	has(t, "the first", said(t, s, "reader", "GET", "/service/v2/datasources", ""), "200 ")
	has(t, "the second", said(t, s, "reader", "GET", "/service/v2/datasources", ""), "429 retry=100", refused)
	has(t, "SQL", said(t, s, "reader", "POST", sqlPath, statement("SELECT 1 AS one")), "429 retry=100", refused)
	has(t, "somebody else", said(t, s, "north", "GET", "/service/v2/datasources", ""), "200 ")
	has(t, "without credentials", func() string {
		status, _, err := (&server.Client{Addresses: s.Addresses}).Send(context.Background(), "router", "GET", "/status/health", "")
		return fmt.Sprint(status, err)
	}(), "200")
	_, got, err := as(s, "reader").Send(t.Context(), "broker", "POST", "/service/v2/sql/avatica/",
		`{"request":"closeConnection","connectionId":"none"}`)
	if err != nil {
		t.Fatal(err)
	}
	has(t, "JDBC without a connection", string(got), "closeConnection")
	c, err := connect(t, s, "reader", "pw of reader")
	if err != nil {
		t.Fatal(err)
	}
	has(t, "PostgreSQL", answer(t, c, "SELECT region FROM orders"), refused)
}

func TestLimitsAreSet(t *testing.T) {
	s := wired(t)
	for _, x := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"GET", "/roles/reader/limits", "", 200, "{}"},
		{"POST", "/roles/reader/limits", `{"rows":5}`, 200, ""},
		{"GET", "/roles/reader/limits", "", 200, `{"rows":5}`},
		{"GET", "/roles/reader", "", 200, `"limits":{"rows":5}`},
		{"GET", "/roles/reader?full&simplifyPermissions", "", 200, `"limits":{"rows":5}`},
		{"GET", "/users/reader?full", "", 200, `"limits":{"rows":5}`},
		{"GET", "/users/reader/limits", "", 200, "{}"},
		{"POST", "/roles/reader/limits", "", 400, "{} clears those of role [reader]"},
		{"POST", "/roles/reader/limits", `{"rows":-5}`, 400, "Limit [rows] must be a number above 0"},
		{"POST", "/roles/reader/limits", `{"speed":5}`, 400, "Limit [speed] is unknown"},
		{"POST", "/roles/reader/limits", `[`, 400, "JSON object"},
		{"POST", "/roles/gone/limits", `{}`, 400, "Role [gone] does not exist"},
		{"POST", "/users/gone/limits", `{}`, 400, "User [gone] does not exist"},
		{"GET", "/roles/gone/limits", "", 400, "Role [gone] does not exist"},
	} {
		status, text, err := s.Send(t.Context(), "coordinator", x.method, allowed+x.path, x.body)
		if err != nil || status != x.status || !strings.Contains(string(text), x.has) {
			t.Errorf("%s %s %s: got %d %s %v", x.method, x.path, x.body, status, text, err)
		}
	}
	status, _, err := as(s, "reader").Send(t.Context(), "coordinator", "POST", allowed+"/users/reader/limits", "{}")
	if err != nil || status != 403 {
		t.Errorf("somebody's own limits: %d %v", status, err)
	}
}
