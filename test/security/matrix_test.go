// Package security tests permissions over the public endpoints.
package security

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/testkit/server"
)

// people are the users of the tests.
var people = server.People{
	"admin": {"* * *"}, "reader": {"READ * *"}, "writer": {"WRITE * *"}, "nobody": {},
	"wiki":   {"READ DATASOURCE wiki"},
	"editor": {"READ DATASOURCE wiki", "WRITE DATASOURCE wiki", "READ EXTERNAL EXTERNAL"},
	"stater": {"* STATE STATE"}, "configurer": {"* CONFIG CONFIG"},
}

var (
	ports    = []string{"router", "coordinator", "overlord", "broker", "historical", "indexer"}
	wildcard = regexp.MustCompile(`\{[^}]*\}`)
)

// strangers counts those who have tried to come in.
var strangers atomic.Uint64

// request returns a request of a pattern: method and path, about things that are not there.
func request(pattern string) (method, path string) {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = http.MethodGet, pattern
	}
	if pattern == "/" { // whatever has no route of its own: the console has the root
		path = "/nothing"
	}
	path = strings.ReplaceAll(path, "{$}", "")
	return method, wildcard.ReplaceAllString(path, "nothing")
}

// Every route of every port, of one process and of a cluster, is tried by somebody without
// credentials, by one with wrong ones, by users without a permission, with READ, with WRITE, and by
// an administrator. The process has them in its metastore, the cluster knows them by the test.
func TestEveryRouteAsksForItsPermission(t *testing.T) {
	s := startStored(t, people)
	seen := 0
	for _, role := range ports {
		for _, pattern := range s.Routes(role) {
			seen++
			everybodyTries(t, &s.Client, role, pattern, false)
		}
		for _, pattern := range s.RoutesBehind(role) {
			everybodyTries(t, &s.Client, role, pattern, true)
		}
	}
	if seen < 300 {
		t.Errorf("there are only [%d] routes", seen)
	}
	c := server.StartCluster(t, server.ClusterOptions{Processes: server.Small, People: people})
	for _, process := range c.Nodes {
		for role := range process.Addresses {
			client := &server.Client{Addresses: process.Addresses}
			for _, pattern := range process.Routes(role) {
				everybodyTries(t, client, role, pattern, false)
			}
			for _, pattern := range process.RoutesBehind(role) {
				everybodyTries(t, client, role, pattern, true)
			}
		}
	}
}

// everybodyTries sends a request of a pattern as each user. A pattern behind others may not be
// reached by the port.
func everybodyTries(t *testing.T, c *server.Client, role, pattern string, behind bool) {
	t.Helper()
	p := endpoints.PermissionOf(pattern)
	method, path := request(pattern)
	if method == http.MethodPost && strings.HasSuffix(path, "/disable") {
		return // the worker is needed by others
	}
	try := func(user string) int {
		status, answer, err := c.As(user).Send(t.Context(), role, method, path, body(method))
		if err != nil {
			t.Errorf("%s on the port of role [%s] as %q: %v", pattern, role, user, err)
		}
		if status == http.StatusInternalServerError && p.Rule != endpoints.Connection {
			t.Errorf("%s on the port of role [%s] as %q: %d %.300s", pattern, role, user, status, answer)
		}
		return status
	}
	refused := func(status int) bool { return status == http.StatusUnauthorized || status == http.StatusForbidden }
	expect := func(user string, wantRefused bool) {
		t.Helper()
		status := try(user)
		if refused(status) != wantRefused && !(behind && status == http.StatusNotFound) {
			t.Errorf("%s on the port of role [%s] as %q: got %d; refused should be %t", pattern, role, user, status, wantRefused)
		}
	}
	if p.Rule == endpoints.Refused {
		t.Errorf("%s on the port of role [%s] has no permission in the table of endpoints", pattern, role)
		return
	}
	if p.Rule == endpoints.Open || p.Rule == endpoints.Connection {
		expect("", false)
		expect("stranger-"+strconv.FormatUint(strangers.Add(1), 10), false)
		return
	}
	// A name that is wrong too often is only heard again after a while.
	for _, unknown := range []string{"", "stranger-" + strconv.FormatUint(strangers.Add(1), 10)} {
		if status := try(unknown); status != http.StatusUnauthorized {
			t.Errorf("%s on the port of role [%s] as %q: got %d", pattern, role, unknown, status)
		}
	}
	expect("admin", false)
	switch p.Rule {
	case endpoints.Authenticated:
		expect("nobody", false)
	case endpoints.Fixed:
		needs := p.Needs(&http.Request{Method: method})
		reads := slices.ContainsFunc(needs, func(n auth.Need) bool { return n.Action == "READ" })
		writes := slices.ContainsFunc(needs, func(n auth.Need) bool { return n.Action == "WRITE" })
		expect("nobody", true)
		expect("reader", writes)
		expect("writer", reads)
	}
}

// body is one that endpoints take or refuse, but understand.
func body(method string) string {
	if method == http.MethodPost || method == http.MethodPut {
		return "{}"
	}
	return ""
}
