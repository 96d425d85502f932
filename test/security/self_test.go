package security

import (
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

const selfPath = "/service-ext/access/self"

// Everybody is told who they are, and nobody else is.
func TestAClientIsToldWhoItIs(t *testing.T) {
	s := server.Start(t, server.Options{People: sellers})
	run(t, &s.Client, []exchange{
		{"north", "GET", selfPath, "", 200, `{"secured":true,"user":"north"`, "admin"},
		{"north", "GET", selfPath, "", 200, `"attributes":{},"logins":[]`, ""},
		{"admin", "GET", selfPath, "", 200, `"user":"admin"`, ""},
		{"", "GET", selfPath, "", 401, "", "roles"},
		{"north", "POST", selfPath, "{}", 405, "", ""},
	})
	open := server.Start(t, server.Options{})
	run(t, &open.Client, []exchange{{"", "GET", selfPath, "", 200, `"secured":false`, ""}})
}
