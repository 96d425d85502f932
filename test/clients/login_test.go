package clients

import (
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestPydruidLogsIn lets pydruid ask a secured server, as a user who reads one of two datasources.
func TestPydruidLogsIn(t *testing.T) {
	t.Parallel()
	const password = "p@ss: /%+" // which URLs have to quote; python-requests sends ASCII and Latin-1 only
	cmd := python(t, "pydruid", "pydruid_login.py", "", "ann", password)
	p, err := start(t.TempDir(), server.Secured...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	p.HTTP = server.LoggedIn("admin", "pw1")
	if err := p.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Ingest(t.Context(), "REPLACE INTO hidden OVERWRITE ALL SELECT * FROM visits PARTITIONED BY ALL", nil); err != nil {
		t.Fatal(err)
	}
	const base, users, roles = "/proxy/coordinator/druid-ext/basic-security", "/authentication/db/meta/users/ann", "/authorization/db/az"
	for _, change := range [][2]string{
		{users, ""}, {users + "/credentials", `{"password":"` + password + `"}`}, {roles + "/users/ann", ""}, {roles + "/roles/reader", ""},
		{roles + "/roles/reader/permissions", `[{"resource":{"name":"visits","type":"DATASOURCE"},"action":"READ"}]`},
		{roles + "/users/ann/roles/reader", ""},
	} {
		status, answer, err := p.Send(t.Context(), "router", http.MethodPost, base+change[0], change[1])
		if err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s %v", change[0], status, answer, err)
		}
	}
	cmd.Args[2] = p.Addresses["router"]
	steps(t, cmd, 10)
}
