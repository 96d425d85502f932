package security

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/testkit/server"
)

// usersPath and rolesPath are where the users and roles of stored are kept.
const (
	usersPath = "/service-ext/basic-security/authentication/db/meta/users/"
	rolesPath = "/service-ext/basic-security/authorization/db/az"
)

// storedSettings are those of a store of users in the metastore. All passwords are server.Password,
// and cheap to check.
var storedSettings = func() []string {
	var out []string
	for _, s := range server.Secured {
		if key, _, _ := strings.Cut(s, "="); strings.HasSuffix(strings.ToLower(key), "password") {
			s = key + "=" + server.Password
		}
		out = append(out, s)
	}
	return append(out, "service.auth.authenticator.meta.credentialIterations=1000")
}()

// startStored starts a server whose metastore has users with the permissions of people, each by a
// role of the user's name.
func startStored(t *testing.T, who server.People, more ...string) *server.Server {
	t.Helper()
	s := server.Start(t, server.Options{Settings: append(more, storedSettings...)})
	store(t, &s.Client, who)
	return s
}

// store creates users by the endpoints for them, as admin.
func store(t *testing.T, c *server.Client, who server.People) {
	t.Helper()
	post := func(path string, body any) {
		t.Helper()
		text := ""
		if body != nil {
			encoded, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		status, answer, err := c.As("admin").Send(t.Context(), "coordinator", http.MethodPost, path, text)
		if err != nil || status != http.StatusOK {
			t.Fatalf("POST %s: %d %s %v", path, status, answer, err)
		}
	}
	for user, grants := range who {
		if user == "admin" {
			continue // is there
		}
		name := url.PathEscape(user)
		post(usersPath+name, nil)
		post(usersPath+name+"/credentials", map[string]string{"password": server.Password})
		post(rolesPath+"/users/"+name, nil)
		post(rolesPath+"/roles/"+name, nil)
		post(rolesPath+"/roles/"+name+"/permissions", permissions(grants))
		post(rolesPath+"/users/"+name+"/roles/"+name, nil)
	}
}

// permissions returns what the endpoints take of grants as server.People have them.
func permissions(grants []string) []map[string]any {
	out := []map[string]any{}
	for _, g := range grants {
		part := strings.SplitN(g, " ", 3)
		actions, kinds, name := []auth.Action{auth.Action(part[0])}, []auth.Kind{auth.Kind(part[1])}, regexp.QuoteMeta(part[2])
		if part[0] == "*" {
			actions = []auth.Action{auth.Read, auth.Write}
		}
		if part[1] == "*" {
			kinds = auth.Kinds
		}
		if part[2] == "*" {
			name = ".*"
		}
		for _, action := range actions {
			for _, kind := range kinds {
				out = append(out, map[string]any{"action": action, "resource": map[string]any{"name": name, "type": kind}})
			}
		}
	}
	return out
}
