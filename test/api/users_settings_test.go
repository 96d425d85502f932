package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

func TestSettingsOfUsersThatAreRefused(t *testing.T) {
	const in, by = "service.auth.authenticator.meta.", "service.auth.authorizer.az."
	for setting, want := range map[string]string{
		in + "credentialIterations=999":       "Value [999] of setting [" + in + "credentialIterations] is not between [1000] and [10000000]",
		in + "credentialsValidator.type=file": "Value [file] of setting [" + in + "credentialsValidator.type] is not a known type",
		in + "authorizerName=":                "Setting [" + in + "authorizerName] is missing",
		by + "roleProvider.type=x":            "Value [x] of setting [" + by + "roleProvider.type] is not a known type",

		by + `roleProvider.groupFilters=["*"]`:      "Configuration problem - Invalid groupMapping '*'",
		by + "initialAdminGroupMapping=*":           "Configuration problem - Invalid groupMapping '*'",
		"service.auth.basic.common.pollingPeriod=0": "Value [0] of setting [service.auth.basic.common.pollingPeriod] is not a time",

		in + `initialAdminPassword={"type":"environment","variable":"HENGE_TEST_ABSENT"}`: in + "initialAdminPassword] names, is not set",
	} {
		s, err := server.Open(t.Context(), server.Options{Dir: t.TempDir(), Settings: slices.Concat(server.Secured, []string{setting})})
		if err == nil {
			_ = s.Stop() // it should not have started
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestInitialUsersAndRoles(t *testing.T) {
	s := server.Start(t, server.Options{Settings: slices.Concat(server.Secured, []string{
		"service.auth.authorizer.az.initialAdminUser=boss", "service.auth.authorizer.az.initialAdminRole=chiefs",
		"service.auth.authorizer.az.initialAdminGroupMapping=CN=admins,DC=corp", `service.api.aliases=["druid"]`,
		"service.escalator.internalClientUsername=druid_system",
	}), HTTP: server.LoggedIn("admin", "pw1")})
	playUsers(t, s, usersBase, []userExchange{
		{"GET /authentication/db/meta/users", 200, `["admin","druid_system"]`},
		{"GET /authorization/db/az/users", 200, `["admin","boss","druid_system"]`},
		{"GET /authorization/db/az/users/boss", 200, `{"name":"boss","roles":["chiefs"]}`},
		{"GET /authorization/db/az/roles", 200, `["admin","chiefs","druid_system"]`},
		{"GET /authorization/db/az/groupMappings/adminGroupMapping", 200,
			`{"name":"adminGroupMapping","groupPattern":"CN=admins,DC=corp","roles":["chiefs"]}`},
	})
	status, answer, err := s.Send(t.Context(), "coordinator", "GET", "/druid-ext/basic-security/authorization/db/az/users/boss", "")
	if err != nil || status != 200 || string(answer) != `{"name":"boss","roles":["chiefs"]}` {
		t.Errorf("by the other name of the product: %d %s %v", status, answer, err)
	}
}

// TestUsersOutliveARestart starts again with other initial passwords, which change nothing.
func TestUsersOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	first := server.Start(t, server.Options{Dir: dir, Settings: server.Secured, HTTP: server.LoggedIn("admin", "pw1")})
	playUsers(t, first, usersBase, []userExchange{
		{"POST /authorization/db/az/roles/reader", 200, ""}, {`POST /authentication/db/meta/users/admin/credentials {"password":"new"}`, 200, ""},
	})
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	changed := slices.Concat(server.Secured, []string{"service.auth.authenticator.meta.initialAdminPassword=other"})
	second := server.Start(t, server.Options{Dir: dir, Settings: changed, HTTP: server.LoggedIn("admin", "new")})
	playUsers(t, second, usersBase, []userExchange{{"GET /authorization/db/az/roles", 200, `["admin","reader","service_system"]`}})
	if status, _, _ := loginWith(t, second, usersBase+"/authentication/loadStatus", basicHeader("admin:other")); status != 401 {
		t.Errorf("the changed setting: %d", status)
	}
}
