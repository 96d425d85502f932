package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

const (
	userPath = "/service-ext/basic-security/authentication/db/meta/users/"
	roleBase = "/service-ext/basic-security/authorization/db/az"
	anyPath  = "/service-ext/basic-security/authentication/loadStatus"
)

// status asks a process as somebody. Zero: it did not answer.
func status(ctx context.Context, p *server.Process, role, user, password, path string) int {
	c := server.Client{Addresses: p.Addresses, HTTP: server.LoggedIn(user, password)}
	got, _, err := c.Send(ctx, role, http.MethodGet, path, "")
	if err != nil {
		return 0
	}
	return got
}

// manage changes users and roles at the leading Coordinator.
func manage(t *testing.T, c *server.Cluster, list ...string) {
	t.Helper()
	for _, x := range list {
		var method, path, body string
		if n, err := fmt.Sscanf(x, "%s %s %s", &method, &path, &body); n < 2 {
			t.Fatal(x, err)
		}
		got, answer, err := c.Send(t.Context(), "coordinator", method, path, body)
		if err != nil || got != 200 {
			t.Fatalf("%s: %d %s %v", x, got, answer, err)
		}
	}
}

var grantBob = []string{
	"POST " + userPath + "bob", "POST " + userPath + `bob/credentials {"password":"p"}`, "POST " + roleBase + "/users/bob",
	"POST " + roleBase + "/roles/boss", "POST " + roleBase + "/users/bob/roles/boss",
	"POST " + roleBase + `/roles/boss/permissions [{"resource":{"name":"security","type":"CONFIG"},"action":"READ"}]`,
}

// A change counts on every process before it is answered. (spec/security.md, section 12, row 28)
func TestUsersArePushed(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: server.Small, Settings: server.Secured, HTTP: server.LoggedIn("admin", "pw1"),
	})
	for _, p := range c.Nodes {
		for role := range p.Addresses {
			c.Until("the "+role+" has users", func() bool { return status(t.Context(), p, role, "admin", "pw1", anyPath) == 200 })
			if got := status(t.Context(), p, role, "bob", "p", anyPath); got != 401 {
				t.Errorf("%s: a user who does not exist: %d", role, got)
			}
		}
	}
	all := func(want int) (wrong string) {
		for _, p := range c.Nodes {
			for role := range p.Addresses {
				if got := status(t.Context(), p, role, "bob", "p", anyPath); got != want {
					wrong += fmt.Sprintf("%s answers %d instead of %d. ", role, got, want)
				}
			}
		}
		return wrong
	}
	manage(t, c, grantBob...)
	c.Until("the Coordinator sees all processes", func() bool {
		manage(t, c, "GET /service-ext/basic-security/authorization/refreshAll", "GET /service-ext/basic-security/authentication/refreshAll")
		return all(200) == ""
	})
	for _, step := range []struct {
		change string
		want   int
	}{ // the answer to a change comes when the others have it
		{"POST " + roleBase + "/roles/boss/permissions []", 403},
		{"POST " + roleBase + `/roles/boss/permissions [{"resource":{"name":".*","type":"CONFIG"},"action":"READ"}]`, 200},
		{"DELETE " + roleBase + "/users/bob/roles/boss", 403},
		{"POST " + userPath + `bob/credentials {"password":"q"}`, 401},
	} {
		began := time.Now()
		manage(t, c, step.change)
		if wrong := all(step.want); wrong != "" {
			t.Errorf("after %s: %s", step.change, wrong)
		}
		t.Logf("%s took %s", step.change, time.Since(began))
	}
}

// within are roles of processes of which one has the users, and the others get them from it.
var within = [][]string{{"coordinator", "overlord", "worker", "historical"}, {"router", "broker"}}

func TestUsersArePolled(t *testing.T) {
	settings := slices.Concat(server.Secured, []string{
		"service.auth.authenticator.meta.enableCacheNotifications=false", "service.auth.authorizer.az.enableCacheNotifications=false",
		"service.auth.basic.common.pollingPeriod=200", "service.auth.basic.common.maxRandomDelay=50",
	})
	c := server.StartCluster(t, server.ClusterOptions{Processes: within, Settings: settings, HTTP: server.LoggedIn("admin", "pw1")})
	broker := c.Nodes[1]
	c.Until("the Broker has users", func() bool { return status(t.Context(), broker, "broker", "admin", "pw1", anyPath) == 200 })
	manage(t, c, grantBob...)
	c.Until("a poll brings the user", func() bool {
		time.Sleep(500 * time.Millisecond) // more failures than ten a minute would keep the user out when it is known
		return status(t.Context(), broker, "broker", "bob", "p", anyPath) == 200
	})
	manage(t, c, "DELETE "+userPath+"bob")
	c.Until("a poll takes the user away", func() bool { return status(t.Context(), broker, "broker", "bob", "p", anyPath) == 401 })
}

func TestAStartWithoutACoordinator(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "users")
	kept := append(slices.Clone(server.Secured), "service.auth.basic.common.cacheDirectory="+dir)
	c := server.StartCluster(t, server.ClusterOptions{Processes: within, Settings: server.Secured, HTTP: server.LoggedIn("admin", "pw1")})
	manage(t, c, grantBob...)
	first := c.StartWith(kept[len(kept)-1:], "broker")
	c.Until("the new Broker has users", func() bool { return status(t.Context(), first, "broker", "bob", "p", anyPath) == 200 })
	for _, name := range []string{"meta.authenticator.cache", "az.authorizer.cache", "az.authorizer.groupMapping.cache"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	c.Kill(c.Nodes[0])
	second := c.StartWith(kept[len(kept)-1:], "broker")
	c.Until("the snapshot counts", func() bool { return status(t.Context(), second, "broker", "bob", "p", anyPath) == 200 })
	if got := status(t.Context(), second, "broker", "bob", "x", anyPath); got != 401 {
		t.Errorf("a wrong password: %d", got)
	}
	bare := c.StartWith(nil, "broker")
	if got := status(t.Context(), bare, "broker", "admin", "pw1", anyPath); got != 503 {
		t.Errorf("without a snapshot: %d", got)
	}
	if got := status(t.Context(), bare, "broker", "", "", "/status/health"); got != 200 {
		t.Errorf("its health: %d", got)
	}
	c.Start("coordinator", "overlord")
	c.Until("the new Coordinator is found", func() bool { return status(t.Context(), bare, "broker", "admin", "pw1", anyPath) == 200 })
}

// TestFollowersOfTheCoordinatorPointToIt asks a Coordinator that does not lead, which reads the
// store itself.
func TestFollowersOfTheCoordinatorPointToIt(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord"}, {"coordinator", "overlord"}, {"router", "broker"}}, Settings: server.Secured,
		HTTP: server.LoggedIn("admin", "pw1"),
	})
	manage(t, c, grantBob...)
	second := c.Nodes[1]
	c.Until("it reads the store", func() bool { return status(t.Context(), second, "coordinator", "bob", "p", anyPath) == 200 })
	c.Until("it knows who leads", func() bool { return status(t.Context(), second, "coordinator", "bob", "p", userPath+"bob") == 200 })
	if got := status(t.Context(), second, "coordinator", "bob", "q", anyPath); got != 401 {
		t.Errorf("a wrong password: %d", got)
	}
	c.Kill(c.Nodes[0])
	delete(c.Addresses, "coordinator")
	c.Addresses["coordinator"] = second.Addresses["coordinator"]
	c.Until("the second leads", func() bool {
		got, _, err := c.Send(t.Context(), "coordinator", http.MethodPost, userPath+"ann", "")
		return err == nil && got == 200
	})
	c.Until("and pushes", func() bool {
		manage(t, c, "GET /service-ext/basic-security/authentication/refreshAll")
		return status(t.Context(), c.Nodes[2], "broker", "bob", "p", anyPath) == 200
	})
}
