package security

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// audited returns the entries of the audit that meet a condition, when there are as many as wanted.
// They come with the next write, so that they are asked for until then.
func audited(t *testing.T, c *server.Client, wanted int, where string) []string {
	t.Helper()
	var last string
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for range 1500 {
		<-ticker.C
		rows, err := c.Query(t.Context(), "SELECT kind, \"identity\", door, statement, outcome, \"rows\", policies, "+
			"error, path, datasources, means "+
			"FROM __audit WHERE "+where+" ORDER BY __time")
		last = fmt.Sprint(rows, err)
		if err == nil && len(rows) >= wanted {
			var out []string
			for _, row := range rows {
				out = append(out, fmt.Sprint(row))
			}
			return out
		}
	}
	t.Fatalf("entries of the audit where %s: got %s, want %d", where, last, wanted)
	return nil
}

func TestTheAuditTellsWhoDidWhat(t *testing.T) {
	who := server.People{"stranger": {}}
	maps.Copy(who, sellers)
	check := func(t *testing.T, c *server.Client) {
		orders(t, c)
		const masked = `SELECT COUNT(*) AS c FROM orders WHERE card <> 'x' AND note IS NULL`
		run(t, c, []exchange{
			{"both", "POST", sqlPath, statement("SELECT region FROM orders WHERE n > 1"), 200, "north", ""},
			{"admin", "POST", sqlPath, statement(masked), 200, "c", ""},
			{"north", "POST", nativePath, `{"queryType":"timeBoundary","dataSource":"orders"}`, 200, "maxTime", ""},
			{"stranger", "POST", sqlPath, statement("SELECT card FROM orders"), 403, "", "1234"},
			{"stranger", "GET", "/service/coordinator/v1/config", "", 403, "", ""},
			{"admin", "POST", "/service/indexer/v1/taskStatus", `["none"]`, 200, "", ""},
			{"admin", "POST", "/service/coordinator/v1/rules/orders", `[{"type":"loadForever"}]`, 200, "", ""},
			{"admin", "POST", sqlPath, statement("SELECT * FROM TABLE(EXTERN('{\"type\":\"http\",\"uris\":[\"http://u:sesame77@127.0.0.1:1/x\"]," +
				"\"httpAuthenticationUsername\":\"u\",\"httpAuthenticationPassword\":\"sesame99\"}', '{\"type\":\"json\"}')) " +
				"EXTEND (n BIGINT)"), 403, "private", ""},
		})
		status, _, err := (&server.Client{Addresses: c.Addresses, HTTP: server.LoggedIn("admin", "wrong")}).Send(t.Context(), "router",
			http.MethodGet, "/status", "")
		if err != nil || status != 401 {
			t.Fatal(status, err)
		}
		admin := c.As("admin")
		for where, want := range map[string]string{
			`"identity" = 'both' AND kind = 'query'`:                           "query both sql SELECT region FROM orders WHERE n > 1 success 3",
			`"identity" = 'north' AND door = 'native' AND outcome = 'success'`: "role [north] on [orders]",
			`"identity" = 'stranger' AND door = 'sql'`:                         "denial stranger sql SELECT card FROM orders denied 0",
			`"identity" = 'stranger' AND door = 'http'`:                        "/service/coordinator/v1/config",
			`kind = 'change' AND path LIKE '%rules/orders'`:                    "change admin http <nil> success",
			`path LIKE '%/taskStatus'`:                                         "read admin http <nil> success",
			`kind = 'login'`:                                                   "login admin http <nil> refused",
			`kind = 'change' AND door = 'statement' AND outcome = 'success'`:   "REPLACE INTO orders",
			`statement LIKE '%httpAuthentication%'`:                            "********",
		} {
			got := audited(t, admin, 1, where)
			if !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("%s: got %s\nwant %s", where, got, want)
			}
		}
		if rows := audited(t, admin, 1, "TRUE"); slices.ContainsFunc(rows, func(r string) bool { return strings.Contains(r, "sesame") }) {
			t.Error("a secret stands in the audit")
		}
		run(t, c, []exchange{{"north", "POST", sqlPath, statement("SELECT COUNT(*) FROM __audit"), 403, "", ""}})
		// Writing the audit is nothing that the audit tells: nobody has sent rows to it.
		if rows, err := admin.Query(t.Context(), "SELECT COUNT(*) FROM __audit WHERE path LIKE '%ingest%' OR \"identity\" = '"+server.System+
			"'"); err != nil || fmt.Sprint(rows) != "[[0]]" {
			t.Error(rows, err)
		}
	}
	settings := []string{"service.audit.enabled=true"}
	t.Run("one process", func(t *testing.T) {
		s := server.Start(t, server.Options{People: who, Settings: settings})
		check(t, &s.Client)
	})
	t.Run("cluster", func(t *testing.T) {
		c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small, People: who, Settings: settings})
		check(t, &c.Client)
		addressed(t, &c.Client)
	})
}

// addressed tests that the audit has the client's address also where a Router has passed a request
// on, without any setting, and that nobody else says whom a request comes from.
func addressed(t *testing.T, c *server.Client) {
	t.Helper()
	from := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).DialContext}
	defer from.CloseIdleConnections()
	for _, sent := range []struct{ role, method, path, body string }{
		{"router", "POST", sqlPath, statement("SELECT 'by router' AS way")},
		{"router", "POST", "/service/coordinator/v1/rules/by_router", `[{"type":"loadForever"}]`},
		{"broker", "POST", sqlPath, statement("SELECT 'by broker' AS way")},
	} {
		r, err := http.NewRequestWithContext(t.Context(), sent.method, c.Addresses[sent.role]+sent.path, strings.NewReader(sent.body))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("admin", server.Password)
		for name, value := range map[string]string{
			"Content-Type": "application/json", "X-Forwarded-For": "192.0.2.1", "Henge-Client": "192.0.2.1",
		} {
			r.Header.Set(name, value)
		}
		resp, err := from.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(sent, resp, err)
		}
		_ = resp.Body.Close() // only its status counts
	}
	admin := c.As("admin")
	for _, where := range []string{
		"statement = 'SELECT ''by router'' AS way'", "path LIKE '%rules/by_router'", "statement = 'SELECT ''by broker'' AS way'",
	} {
		audited(t, admin, 1, where+" AND address LIKE '127.0.0.9%'")
	}
	if rows, err := admin.Query(t.Context(), "SELECT COUNT(*) FROM __audit WHERE address LIKE '192.0.2.1%'"); err != nil ||
		fmt.Sprint(rows) != "[[0]]" {
		t.Error(rows, err)
	}
}

func TestTheAuditKnowsEveryDoor(t *testing.T) {
	s := wired(t, "service.audit.enabled=true", "service.audit.required=true")
	const avatica = "/service/v2/sql/avatica/"
	for _, password := range []string{"wrong", "pw of reader"} {
		body := `{"request":"openConnection","connectionId":"c` + password + `","info":{"user":"reader","password":"` + password + `"}}`
		if _, _, err := (&server.Client{Addresses: s.Addresses}).Send(t.Context(), "broker", "POST", avatica, body); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{
		`{"request":"createStatement","connectionId":"cpw of reader"}`,
		`{"request":"prepareAndExecute","connectionId":"cpw of reader","statementId":1,"sql":"SELECT n FROM orders","maxRowCount":-1}`,
	} {
		if _, _, err := (&server.Client{Addresses: s.Addresses}).Send(t.Context(), "broker", "POST", avatica, text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := connect(t, s, "reader", "wrong"); err == nil {
		t.Error("a wrong password logs in")
	}
	c, err := connect(t, s, "north", "pw of north")
	if err != nil {
		t.Fatal(err)
	}
	has(t, "PostgreSQL", answer(t, c, "SELECT card FROM orders"), "*34")
	for where, want := range map[string]string{
		"kind = 'login' AND door = 'jdbc'":                   "login reader jdbc <nil> refused",
		"kind = 'login' AND door = 'postgresql'":             "login reader postgresql <nil> refused",
		"door = 'jdbc' AND outcome = 'success'":              "query reader jdbc SELECT n FROM orders success 3",
		"door = 'jdbc' AND outcome = 'begun'":                "query reader jdbc SELECT n FROM orders begun 0",
		"door = 'postgresql' AND outcome = 'success'":        "query north postgresql SELECT card FROM orders success 2 role [north] on [orders]",
		"path LIKE '%users/reader/credentials'":              "change admin",
		"kind = 'change' AND path LIKE '%roles/north/perm%'": "success",
	} {
		if got := audited(t, &s.Client, 1, where); !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s: got %s\nwant %s", where, got, want)
		}
	}
	if got := audited(t, &s.Client, 1, "TRUE"); strings.Contains(strings.Join(got, "\n"), "pw of") {
		t.Error("a password stands in the audit")
	}
}

// A query is answered while the audit can't be written, unless it is required.
func TestQueriesGoOnWithoutTheAudit(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers, Settings: []string{"service.audit.enabled=true"}})
	c := s.Client.As("admin")
	run(t, &s.Client, []exchange{{"admin", "POST", sqlPath, statement("SELECT 1 AS one"), 200, "one", ""}})
	audited(t, c, 1, "kind = 'query'")
	run(t, &s.Client, []exchange{
		{"admin", "POST", "/service/indexer/v1/supervisor/push___audit/suspend", "", 200, "", ""},
		{"admin", "POST", sqlPath, statement("SELECT 2 AS two"), 200, "two", ""},
		{"admin", "POST", "/service/indexer/v1/supervisor/push___audit/resume", "", 200, "", ""},
	})
	audited(t, c, 1, "statement = 'SELECT 2 AS two' AND outcome = 'success'")
}
