package security

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// tricks are ways to write a path so that a pattern of an open path seems to cover it, or that the
// Router and the process behind it read it differently.
var tricks = []string{
	"/status/properties", "//status/properties", "/status//properties", "/./status/properties", "/status/./properties",
	"/status/%2e/properties",
	"/status/health/../properties", "/status/health/..%2fproperties", "/status/health/..%2Fproperties", "/status/health/%2e%2e/properties",
	"/status/health/.%2e/properties", "/status/health%2f..%2fproperties", "/status/health%252f..%252fproperties",
	"/status/health/..;/properties",
	"/status/health;/../properties", "/status/health;x=/properties", "/status/properties;x=/status/health", "/status/properties;jsessionid=1",
	"/status/properties;", "/status/properties/", "/status/properties%00", "/status/properties%20", "/status/properties%0a",
	"/status/properties%3f",
	"/status/propert%69es", "/STATUS/properties", "/Status/Properties", `/status\properties`, "/status%5cproperties",
	`/status/health/..\properties`,
	"/status/health/..%5cproperties", "/status/properties#/status/health", "/status/properties?/status/health",
	"/status/properties?x=/../health",
	"/status\u2215properties", "/status\uff0fproperties", "/status%ef%bc%8fproperties", "/status%c0%afproperties",
	"/status/health/%c0%ae%c0%ae/properties",
	"/status/health/%uff0e%uff0e/properties", "/status/\u202eseitreporp", "/status/health/\u2024\u2024/properties", "/status/propert\u0131es",
	"/assets/../status/properties", "/assets/..%2fstatus/properties", "/public/..%5cstatus/properties", "/public/%2e%2e/status/properties",
	"/console-config.js/../status/properties", "/favicon.png/..;/status/properties", "/unified-console.html/../status/properties",
	"/service/v2/sql/avatica/../engines", "/service/v2/sql/avatica/%2e%2e/engines", "/service/v2/sql/avatica;/../engines",
	"/service/v2/sql/avatica/..%2fengines", "/service/coordinator/v1/isLeader/../servers", "/service/coordinator/v1/isLeader/%2e%2e/servers",
	"/service/coordinator/v1/isLeader%2f..%2fservers", "/proxy/coordinator/../../status/properties", "/proxy/coordinator//status/properties",
	"/proxy/coordinator/%2e%2e/status/properties", "/proxy/coordinator/service/coordinator/v1/isLeader/..%2fservers",
	"/PROXY/coordinator/service/coordinator/v1/servers", "/proxy/Coordinator/service/coordinator/v1/servers",
	"/proxy/coordinator;x=/service/coordinator/v1/servers", "/proxy/overlord/..%2f..%2fstatus%2fproperties", "/service/coordinator/V1/servers",
	// Below and beside the patterns that the settings leave open.
	"/service/coordinator/v1/lookups/../servers", "/service/coordinator/v1/lookups/%2e%2e/servers",
	"/service/coordinator/v1/lookups/..%2fservers",
	"/service/coordinator/v1/lookups/;/../servers", "/service/coordinator/v1/lookupsx", "/service/coordinator/v1/lookups%2f..%2fservers",
	"/service/coordinator/v1/lookups//../servers", "/service/v2/sql/engines/../queries", "/service/v2/sql/engines%2f..%2fqueries",
	"/service/v2/sql/engines;/../queries", "/service/v2/sql//engines/../queries",
}

// absolute are request targets that are no paths.
var absolute = []string{"http://evil.example/status/properties", "http://localhost/status/health/../properties", "*", "localhost:1",
	"http:/status/properties", "status/properties"}

// Nobody gets to a secured path by writing it in another way, at any port, in one process and
// through a Router. (spec/security.md, section 12, row 23)
func TestPathsHaveOneMeaning(t *testing.T) {
	settings := []string{`service.auth.unsecuredPaths=["/service/v2/sql/engines","/service/coordinator/v1/lookups/*"]`}
	check := func(t *testing.T, addresses map[string]string) {
		t.Helper()
		for role, address := range addresses {
			for _, target := range append(absolute, tricks...) {
				for _, user := range []string{"", "nobody", "admin"} {
					status := sent(t, address, http.MethodGet, target, user, "")
					refused := status == 400 || status == 401 || status == 403 || status == 404 || status == 405
					if !refused && user != "admin" || status >= 500 {
						t.Errorf("%q at the port of role [%s] as %q: got %d", target, role, user, status)
					}
				}
			}
		}
	}
	s := server.Start(t, server.Options{People: people, Settings: settings})
	check(t, s.Addresses)
	// The settings do open what they name.
	for target, want := range map[string]int{"/service/v2/sql/engines": 200, "/service/coordinator/v1/lookups/config": 200, "/status": 401} {
		if got := sent(t, s.Addresses["router"], http.MethodGet, target, "", ""); got != want && !(want == 200 && got == 404) {
			t.Errorf("%s: got %d, want %d", target, got, want)
		}
	}
	two := [][]string{{"coordinator", "overlord", "worker", "historical"}, {"broker", "router"}}
	c := server.StartCluster(t, server.ClusterOptions{Processes: two, People: people, Settings: settings})
	check(t, c.Addresses)
}

// A method is what the first line says, whatever headers say of it.
func TestMethodsAreNotOverridden(t *testing.T) {
	s := server.Start(t, server.Options{People: people})
	load(t, &s.Client, "wiki")
	const path = "/service/coordinator/v1/datasources/wiki"
	for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-Method"} {
		for _, user := range []string{"wiki", "admin"} {
			if got := sent(t, s.Addresses["router"], http.MethodGet, path, user, name+": DELETE\r\n"); got != http.StatusOK {
				t.Errorf("GET with %s: DELETE as %s: %d", name, user, got)
			}
		}
		if got := sent(t, s.Addresses["router"], http.MethodDelete, path, "wiki", name+": GET\r\n"); got != http.StatusForbidden {
			t.Errorf("DELETE with %s: GET: %d", name, got)
		}
		empty := name + ": GET\r\nContent-Length: 0\r\n"
		if got := sent(t, s.Addresses["router"], http.MethodPost, path+"?_method=GET", "wiki", empty); got != http.StatusForbidden {
			t.Errorf("POST with %s: GET: %d", name, got)
		}
	}
	for _, name := range []string{"X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"} {
		if got := sent(t, s.Addresses["router"], http.MethodGet, "/status/health", "", name+": /status/properties\r\n"); got != http.StatusOK {
			t.Errorf("/status/health with %s: %d", name, got)
		}
		if got := sent(t, s.Addresses["router"], http.MethodGet, "/status/properties", "", name+": /status/health\r\n"); got != 401 {
			t.Errorf("/status/properties with %s: %d", name, got)
		}
	}
	run(t, &s.Client, []exchange{{"wiki", "POST", sqlPath, statement("SELECT COUNT(*) AS n FROM wiki"), 200, `"n":1`, ""}})
}

// Credentials that are large or come twice let nobody in and harm nothing.
func TestOddCredentials(t *testing.T) {
	s := server.Start(t, server.Options{People: people})
	right := "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+server.Password))
	wrong := "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:x"))
	for name, c := range map[string]struct {
		headers string
		want    []int
	}{
		"1 MB of credentials":     {"Authorization: Basic " + strings.Repeat("QUFB", 1<<18) + "\r\n", []int{431}},
		"1 MB of another header":  {"X-A: " + strings.Repeat("a", 1<<20) + "\r\n", []int{431}},
		"1 MB of a header's name": {strings.Repeat("a", 1<<20) + ": x\r\n", []int{431}},
		"many headers":            {strings.Repeat("X-A: b\r\n", 1<<17), []int{431}},
		"1 MB of a cookie":        {"Cookie: hadoop.auth=" + strings.Repeat("a", 1<<20) + "\r\n", []int{431}},
		"wrong, then right":       {"Authorization: " + wrong + "\r\nAuthorization: " + right + "\r\n", []int{400, 401}},
		"folded":                  {"Authorization: Basic\r\n " + right[6:] + "\r\n", []int{200, 400, 401}},
		"with a NUL":              {"Authorization: " + right + "\x00\r\n", []int{400, 401}},
		"of a proxy":              {"Proxy-Authorization: " + right + "\r\n", []int{401}},
		"with spaces around":      {"Authorization:   " + right + "  \r\n", []int{200}},
		"a space before colon":    {"Authorization : " + right + "\r\n", []int{400, 401}},
		"marked as authenticated": {"X-Authenticated: true\r\nDruid-Authentication-Result: admin\r\n", []int{401}},
	} {
		got := sent(t, s.Addresses["router"], http.MethodGet, "/status/properties", "", c.headers)
		ok := false
		for _, want := range c.want {
			ok = ok || got == want
		}
		if !ok {
			t.Errorf("%s: got %d, want one of %v", name, got, c.want)
		}
	}
	if got := sent(t, s.Addresses["router"], http.MethodGet, "/status/properties", "admin", ""); got != http.StatusOK {
		t.Errorf("behind all that: %d", got)
	}
}

// sent returns the status of a request that is sent as it is written.
func sent(t *testing.T, address, method, target, user, headers string) int {
	t.Helper()
	if user != "" {
		headers += "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+server.Password)) + "\r\n"
	}
	return raw(t, address, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", method, target, headers)).StatusCode
}
