package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/server"
)

const usersBase = "/service-ext/basic-security"

// securedServer starts a server with the users of server.Secured, asked as admin.
func securedServer(t *testing.T, more ...string) *server.Server {
	t.Helper()
	return server.Start(t, server.Options{Settings: slices.Concat(server.Secured, more), HTTP: server.LoggedIn("admin", "pw1")})
}

// userExchange is a request to the endpoints of users and roles, and its answer.
type userExchange struct {
	request string // method, path below the authenticator or authorizer, body
	status  int
	answer  string
}

func playUsers(t *testing.T, s *server.Server, base string, list []userExchange) {
	t.Helper()
	for _, x := range list {
		method, rest, _ := strings.Cut(x.request, " ")
		path, body, _ := strings.Cut(rest, " ")
		status, answer, err := s.Send(t.Context(), "coordinator", method, base+path, body)
		if err != nil || status != x.status || string(answer) != x.answer {
			t.Errorf("%s\n got %d %s %v\nwant %d %s", x.request, status, answer, err, x.status, x.answer)
		}
	}
}

// refused is the body of a refusal.
func refused(format string, args ...any) string {
	return fmt.Sprintf(`{"error":%q}`, fmt.Sprintf(format, args...))
}

func TestUsersOfAnAuthenticator(t *testing.T) {
	s := securedServer(t)
	const noUser = "User [ann] does not exist."
	playUsers(t, s, usersBase+"/authentication/db/meta", []userExchange{
		{"GET /users", 200, `["admin","service_system"]`},
		{"POST /users/bob", 200, ""},
		{"POST /users/bob", 400, refused("User [bob] already exists.")},
		{"GET /users", 200, `["admin","bob","service_system"]`},
		{"GET /users/bob", 200, `{"name":"bob","credentials":null}`},
		{"GET /users/ann", 400, refused(noUser)},
		{"DELETE /users/ann", 400, refused(noUser)},
		{`POST /users/ann/credentials {"password":"p"}`, 400, refused(noUser)},
		{`POST /users/bob/credentials`, 400, refused("Cannot assign null password.")},
		{`POST /users/bob/credentials {}`, 400, refused("Cannot assign null password.")},
		{`POST /users/bob/credentials {"password":null}`, 400, refused("Cannot assign null password.")},
		{`POST /users/bob/credentials {"password":""}`, 400, refused("Cannot assign empty password.")},
		{`POST /users/bob/credentials {"password":"p","iterations":999}`, 400,
			refused("Value [999] of [iterations] is not between [1000] and [10000000]")},
		{`POST /users/bob/credentials {"password":"p","iterations":10000001}`, 400,
			refused("Value [10000001] of [iterations] is not between [1000] and [10000000]")},
		{`POST /users/bob/credentials {"password":"p:ä","iterations":2000,"more":1}`, 200, ""},
		{"GET /users/bob", 200, `{"name":"bob","credentials":{"salt":null,"hash":null,"iterations":2000}}`},
		{"DELETE /users/service_system", 400,
			refused("User [service_system] is the internal user of the cluster (service.escalator.internalClientUsername) and can't be deleted.")},
		{"DELETE /users/bob", 200, ""},
		{"DELETE /users/bob", 400, refused("User [bob] does not exist.")},
		{"GET /nothing", 404, ""},
		{"PUT /users/bob", 404, ""},
	})
	absent := refused("Basic authenticator with name [x] does not exist.")
	playUsers(t, s, usersBase+"/authentication", []userExchange{
		{"GET /db/x/users", 400, absent}, {"GET /db/x/users/bob", 400, absent}, {"POST /db/x/users/bob", 400, absent},
		{"DELETE /db/x/users/bob", 400, absent}, {`POST /db/x/users/bob/credentials {"password":"p"}`, 400, absent},
		{"GET /db/x/cachedSerializedUserMap", 400, absent}, {"GET /db/x/anything", 400, absent},
		{"GET /loadStatus", 200, `{"meta":true}`}, {"GET /refreshAll", 200, ""}, {"POST /listen/meta {}", 404, ""},
		{"POST /listen/x {}", 404, ""},
	})
	for _, name := range []string{".bob", "a%20%09b", "a%01b"} {
		status, answer, err := s.Send(t.Context(), "coordinator", http.MethodPost, usersBase+"/authentication/db/meta/users/"+name, "")
		if err != nil || status != 400 || !strings.Contains(string(answer), `"category":"INVALID_INPUT"`) {
			t.Errorf("user [%s]: %d %s %v", name, status, answer, err)
		}
	}
	for _, body := range []string{`{`, `[]`, `{"password":1}`, `{"password":"p","iterations":"x"}`, `{"password":"p","iterations":1e99}`} {
		const path = usersBase + "/authentication/db/meta/users/admin/credentials"
		status, answer, err := s.Send(t.Context(), "coordinator", http.MethodPost, path, body)
		if err != nil || status != 400 || !strings.HasPrefix(string(answer), `{"error":"`) {
			t.Errorf("credentials %s: %d %s %v", body, status, answer, err)
		}
	}
}

const (
	plainRA  = `{"resource":{"name":"wiki.*","type":"DATASOURCE"},"action":"READ"}`
	plainOf  = `{"resourceAction":` + plainRA + `,"resourceNamePattern":"wiki.*"}`
	policyRA = `{"resource":{"name":"orders","type":"DATASOURCE"},"action":"READ",` +
		`"policy":{"rows":"region = 'eu'","columns":{"card":{"mask":"''"},"email":{"hide":true}}}}`
	policyOf = `{"resourceAction":` + policyRA + `,"resourceNamePattern":"orders"}`
)

func TestRolesOfAnAuthorizer(t *testing.T) {
	s := securedServer(t)
	const noRole, noUser, noGroup = "Role [gone] does not exist.", "User [ann] does not exist.", "Group mapping [none] does not exist."
	playUsers(t, s, usersBase+"/authorization/db/az", []userExchange{
		{"GET /users", 200, `["admin","service_system"]`},
		{"GET /users/admin", 200, `{"name":"admin","roles":["admin"]}`},
		{"GET /roles", 200, `["admin","service_system"]`},
		{"GET /groupMappings", 200, `[]`},
		{"POST /users/bob", 200, ""},
		{"POST /users/bob", 400, refused("User [bob] already exists.")},
		{"GET /users/bob", 200, `{"name":"bob","roles":[]}`},
		{"GET /users/ann", 400, refused(noUser)}, {"GET /users/ann?full", 400, refused(noUser)}, {"DELETE /users/ann", 400, refused(noUser)},
		{"POST /roles/reader", 200, ""},
		{"POST /roles/reader", 400, refused("Role [reader] already exists.")},
		{"GET /roles/reader", 200, `{"name":"reader","permissions":[]}`},
		{"GET /roles/gone", 400, refused(noRole)}, {"DELETE /roles/gone", 400, refused(noRole)},
		{"GET /roles/gone/permissions", 400, refused(noRole)}, {"POST /roles/gone/permissions []", 400, refused(noRole)},
		{"POST /users/ann/roles/gone", 400, refused(noRole)}, {"POST /users/ann/roles/reader", 400, refused(noUser)},
		{"DELETE /users/ann/roles/gone", 400, refused(noRole)}, {"DELETE /users/ann/roles/reader", 400, refused(noUser)},
		{"DELETE /users/bob/roles/reader", 400, refused("User [bob] does not have role [reader].")},
		{"POST /users/bob/roles/reader", 200, ""},
		{"POST /users/bob/roles/reader", 400, refused("User [bob] already has role [reader].")},
		{"POST /roles/reader/permissions [" + plainRA + "," + policyRA + "]", 200, ""},
		{"GET /roles/reader/permissions", 200, "[" + plainOf + "," + policyOf + "]"},
		{"GET /roles/reader", 200, `{"name":"reader","permissions":[` + plainOf + "," + policyOf + "]}"},
		{"GET /roles/reader?full", 200, `{"name":"reader","users":["bob"],"groups":[],"permissions":[` + plainOf + "," + policyOf + "]}"},
		{"GET /roles/reader?simplifyPermissions", 200, `{"name":"reader","users":null,"permissions":[` + plainRA + "," + policyRA + "]}"},
		{"GET /roles/reader?full&simplifyPermissions", 200, `{"name":"reader","users":["bob"],"permissions":[` + plainRA + "," + policyRA + "]}"},
		{"GET /users/bob?full", 200, `{"name":"bob","roles":[{"name":"reader","permissions":[` + plainOf + "," + policyOf + "]}]}"},
		{"GET /users/bob?full&simplifyPermissions", 200,
			`{"name":"bob","roles":[{"name":"reader","users":null,"permissions":[` + plainRA + "," + policyRA + "]}]}"},
		{"GET /users/bob?simplifyPermissions", 200, `{"name":"bob","roles":["reader"]}`},
		{`POST /roles/reader/permissions [{"resource":{"name":"(?!a)","type":"DATASOURCE"},"action":"READ"}]`, 400,
			refused("Invalid permission, resource name regex[(?!a)] does not compile.")},
		{"POST /roles/reader/permissions", 400, refused("The request has no permissions; [] clears those of role [reader].")},
		{`POST /roles/reader/permissions [{"resource":{"name":"a","type":"STATE"},"action":"DROP"}]`, 400,
			refused("Permission [0] can't be read: value [DROP] of [action] is unknown; use READ or WRITE")},
		{"GET /roles/reader/permissions", 200, "[" + plainOf + "," + policyOf + "]"},
		{`POST /groupMappings/none/roles/gone`, 400, refused(noRole)}, {`POST /groupMappings/none/roles/reader`, 400, refused(noGroup)},
		{`DELETE /groupMappings/none/roles/gone`, 400, refused(noRole)}, {`DELETE /groupMappings/none/roles/reader`, 400, refused(noGroup)},
		{`GET /groupMappings/none`, 400, refused(noGroup)}, {`DELETE /groupMappings/none`, 400, refused(noGroup)},
		{`POST /groupMappings/staff`, 400, refused("Group mapping [staff] has no [groupPattern].")},
		{`POST /groupMappings/staff {"groupPattern":"*"}`, 400, refused("Configuration problem - Invalid groupMapping '*'")},
		{`POST /groupMappings/staff {"name":"x","groupPattern":"*,dc=corp","roles":["later"]}`, 200, ""},
		{`POST /groupMappings/staff {"groupPattern":"dc=corp"}`, 400, refused("Group mapping [staff] already exists.")},
		{"GET /groupMappings", 200, `["staff"]`},
		{"DELETE /groupMappings/staff/roles/reader", 400, refused("Group mapping [staff] does not have role [reader].")},
		{"POST /groupMappings/staff/roles/reader", 200, ""},
		{"POST /groupMappings/staff/roles/reader", 400, refused("Group mapping [staff] already has role [reader].")},
		{"GET /groupMappings/staff", 200, `{"name":"staff","groupPattern":"*,dc=corp","roles":["later","reader"]}`},
		{"GET /groupMappings/staff?full", 200,
			`{"name":"staff","groupPattern":"*,dc=corp","roles":[{"name":"reader","permissions":[` + plainOf + "," + policyOf + "]}]}"},
		{"GET /roles/reader?full", 200, `{"name":"reader","users":["bob"],"groups":["staff"],"permissions":[` + plainOf + "," + policyOf + "]}"},
		{"POST /roles/reader/permissions null", 200, ""},
		{"GET /roles/reader/permissions", 200, "[]"},
		{"DELETE /roles/reader", 200, ""},
		{"GET /users/bob", 200, `{"name":"bob","roles":[]}`},
		{"GET /groupMappings/staff", 200, `{"name":"staff","groupPattern":"*,dc=corp","roles":["later"]}`},
		{"DELETE /groupMappings/staff/roles/later", 400, refused("Role [later] does not exist.")},
		{"DELETE /groupMappings/staff", 200, ""}, {"DELETE /users/bob", 200, ""},
		{"GET /nothing", 404, ""},
	})
	absent := refused("Basic authorizer with name [x] does not exist.")
	var list []userExchange
	for _, request := range []string{
		"GET /users", "GET /users/u", "POST /users/u", "DELETE /users/u", "GET /roles", "GET /roles/r", "POST /roles/r", "DELETE /roles/r",
		"POST /users/u/roles/r", "DELETE /users/u/roles/r", "GET /roles/r/permissions", "POST /roles/r/permissions []", "GET /groupMappings",
		"GET /groupMappings/g", `POST /groupMappings/g {"groupPattern":"dc=x"}`, "DELETE /groupMappings/g", "POST /groupMappings/g/roles/r",
		"DELETE /groupMappings/g/roles/r", "GET /cachedSerializedUserMap", "GET /cachedSerializedGroupMappingMap",
	} {
		list = append(list, userExchange{request, 400, absent})
	}
	playUsers(t, s, usersBase+"/authorization/db/x", list)
	playUsers(t, s, usersBase+"/authorization", []userExchange{
		{"GET /loadStatus", 200, `{"az":true}`}, {"GET /refreshAll", 200, ""}, {"POST /listen/az {}", 404, ""},
		{"POST /listen/users/az {}", 404, ""},
		{"POST /listen/groupMappings/az {}", 404, ""},
	})
}

func TestMapsOfUsersHideHashes(t *testing.T) {
	const users = usersBase + "/authentication/db/meta/cachedSerializedUserMap"
	const hidden = `"service_system":{"name":"service_system","credentials":{"salt":null,"hash":null,"iterations":10000}}`
	s := securedServer(t)
	ask := func(s *server.Server, client *http.Client, path string) string {
		t.Helper()
		c := server.Client{Addresses: s.Addresses, HTTP: client}
		status, answer, err := c.Send(t.Context(), "coordinator", http.MethodGet, path, "")
		if err != nil || status != 200 {
			t.Errorf("%s: %d %v", path, status, err)
		}
		return string(answer)
	}
	if got := ask(s, server.LoggedIn("admin", "pw1"), users); !strings.Contains(got, hidden) || strings.Contains(got, "scram") {
		t.Errorf("for an administrator: %s", got)
	}
	if got := ask(s, server.LoggedIn("service_system", "pw2"), users); strings.Contains(got, hidden) || !strings.Contains(got, `"scram"`) {
		t.Errorf("for the cluster: %s", got)
	}
	groups := ask(s, server.LoggedIn("admin", "pw1"), usersBase+"/authorization/db/az/cachedSerializedGroupMappingMap")
	if !strings.HasPrefix(groups, `{"groupMappingMap":{},"roleMap":{"admin":{"name":"admin","permissions":[`) {
		t.Errorf("group mappings: %s", groups)
	}
	exposed := securedServer(t, "service.auth.basic.exposeHashes=true")
	for _, path := range []string{users, usersBase + "/authentication/db/meta/users/admin"} {
		got := ask(exposed, server.LoggedIn("admin", "pw1"), path)
		if strings.Contains(got, `"hash":null`) || !strings.Contains(got, `"hash":"`) {
			t.Errorf("%s exposed: %s", path, got)
		}
	}
}

// loginWith sends a request with a header Authorization, "" for none.
func loginWith(t *testing.T, s *server.Server, path, header string) (status int, answer string, challenge []string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Addresses["coordinator"]+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header.Values("WWW-Authenticate")
}

func basicHeader(text string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(text))
}

func TestBasicCredentials(t *testing.T) {
	s := securedServer(t)
	playUsers(t, s, usersBase, []userExchange{
		{"POST /authentication/db/meta/users/b%C3%B6b", 200, ""},
		{`POST /authentication/db/meta/users/b%C3%B6b/credentials {"password":"p:w ж","iterations":1000}`, 200, ""},
		{"POST /authentication/db/meta/users/new", 200, ""},
	})
	const users = usersBase + "/authentication/db/meta/users"
	for header, want := range map[string]int{
		basicHeader("admin:pw1"): 200, strings.Replace(basicHeader("admin:pw1"), "Basic", "basic", 1): 200, basicHeader("böb:p:w ж"): 403,
		basicHeader("böb:p"): 401, basicHeader("böb:"): 401, basicHeader("new:"): 401, basicHeader("nobody:pw1"): 401, basicHeader("admin"): 401,
		"Basic !!!": 401, "Basic": 401, "": 401, "Bearer x": 401,
	} {
		status, answer, challenge := loginWith(t, s, users, header)
		if status != want {
			t.Errorf("%s: %d %s", header, status, answer)
		}
		if status == 401 && (!slices.Equal(challenge, []string{"Basic"}) || !strings.Contains(answer, `"error":"Unauthorized request"`)) {
			t.Errorf("%s: challenge %v, %s", header, challenge, answer)
		}
		if status == 403 && answer != "Access-Check-Result: Unauthorized" {
			t.Errorf("%s: %s", header, answer)
		}
	}
}

func TestSkipOnFailure(t *testing.T) {
	s := securedServer(t, `service.auth.authenticatorChain=["first","meta"]`, "service.auth.authenticator.first.type=basic",
		"service.auth.authenticator.first.authorizerName=az", "service.auth.authenticator.first.initialAdminPassword=other",
		"service.auth.authenticator.first.skipOnFailure=true")
	const path = usersBase + "/authentication/db/meta/users"
	for credentials, want := range map[string]int{
		"admin:other": 200, "admin:pw1": 401, "service_system:pw2": 200, "service_system:x": 401, "x:y": 401,
	} {
		if status, answer, _ := loginWith(t, s, path, basicHeader(credentials)); status != want {
			t.Errorf("%s: %d %s", credentials, status, answer)
		}
	}
}

// TestTwoClientsCreateOneUser sends pairs of requests at the same time, of which one succeeds.
func TestTwoClientsCreateOneUser(t *testing.T) {
	s := securedServer(t)
	for n := range 10 {
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				path := fmt.Sprintf("%s/authentication/db/meta/users/u%d", usersBase, n)
				status, answer, err := s.Send(context.Background(), "coordinator", http.MethodPost, path, "")
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprint(status, " ", string(answer), err))
			})
		}
		all.Wait()
		slices.Sort(got)
		if want := []string{"200 <nil>", fmt.Sprintf("400 %s<nil>", refused("User [u%d] already exists.", n))}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	playUsers(t, s, usersBase+"/authentication/db/meta", []userExchange{
		{"GET /users", 200, `["admin","service_system","u0","u1","u2","u3","u4","u5","u6","u7","u8","u9"]`},
	})
}

func TestSecurityWritesAreAudited(t *testing.T) {
	dir := t.TempDir()
	s := server.Start(t, server.Options{Dir: dir, Settings: server.Secured, HTTP: server.LoggedIn("admin", "pw1")})
	playUsers(t, s, usersBase, []userExchange{
		{"POST /authentication/db/meta/users/bob", 200, ""},
		{"POST /authentication/db/meta/users/bob", 400, refused("User [bob] already exists.")},
		{`POST /authentication/db/meta/users/bob/credentials {"password":"planted-secret"}`, 200, ""},
		{"POST /authorization/db/az/roles/reader", 200, ""}, {"POST /authorization/db/az/roles/reader/permissions [" + plainRA + "]", 200, ""},
	})
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	store, err := metastore.Open(t.Context(), metastore.Options{Path: filepath.Join(dir, "metastore.db"), Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var got []string
	for _, kind := range []string{"basic.authenticator", "basic.authorizer"} {
		entries, err := store.AuditHistory(t.Context(), metastore.AuditFilter{Type: kind})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			got = append(got, e.Type+" "+e.Key+" "+e.Identity+": "+e.Payload)
			if strings.Contains(fmt.Sprint(e), "planted-secret") {
				t.Error("the audit history has a password")
			}
		}
	}
	want := []string{
		"basic.authenticator meta admin: Create user[bob]", "basic.authenticator meta admin: Set credentials for user[bob]",
		"basic.authorizer az admin: Create role[reader]", "basic.authorizer az admin: Set permissions[" + plainRA + "] for role[reader]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
