package edge

import (
	"net/http"

	"github.com/hengedb/henge/internal/auth"
)

// UserOf returns the user of a request: the authenticated identity or, without security, the user
// that the request claims.
func UserOf(r *http.Request) string {
	if a := auth.Find(r.Context()); a != nil && a.Known() {
		return a.Name()
	}
	return ClaimedUser(r)
}

// ClaimedUser returns the user in the basic credentials of a request, or "". The credentials are
// not verified: the name distinguishes honest users, and does not grant permissions.
func ClaimedUser(r *http.Request) string {
	name, _, _ := r.BasicAuth()
	return auth.CredentialText(name)
}
