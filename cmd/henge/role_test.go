package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Roles are the authorizer's: several authenticators don't matter to them, as they do to users.
func TestCommandsAboutRolesNeedNoAuthenticator(t *testing.T) {
	var asked []string
	mux := http.NewServeMux()
	answer := func(pattern string, body any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			_ = json.NewEncoder(w).Encode(body) // the client is this test
		})
	}
	const base = "/proxy/coordinator/service-ext/basic-security"
	answer(base+"/authentication/loadStatus", map[string]bool{"ldap": true, "meta": true})
	answer(base+"/authorization/loadStatus", map[string]bool{"az": true})
	answer(base+"/authorization/db/az/roles/analyst", nil)
	s := httptest.NewServer(mux)
	defer s.Close()
	run := func(cmd *cobra.Command, args ...string) error {
		asked = nil
		cmd.SetArgs(append(args, "--server", s.URL, "--user", "admin"))
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		return cmd.ExecuteContext(t.Context())
	}
	t.Setenv("HENGE_PASSWORD", "x")
	for _, args := range [][]string{{"add", "analyst"}, {"add", "analyst", "--authenticator", "meta"}} {
		if err := run(roleCommand(), args...); err != nil || !slices.Contains(asked, base+"/authorization/db/az/roles/analyst") ||
			slices.Contains(asked, base+"/authentication/loadStatus") {
			t.Errorf("%v: %v, asked %v", args, err, asked)
		}
	}
	if err := run(userCommand(), "list"); err == nil || !strings.Contains(err.Error(), "choose one with --authenticator: ldap, meta") {
		t.Errorf("users: %v", err)
	}
	if err := run(roleCommand(), "add", "analyst", "--authorizer", "other"); err == nil || !strings.Contains(err.Error(), "[other]") {
		t.Errorf("another authorizer: %v", err)
	}
}
