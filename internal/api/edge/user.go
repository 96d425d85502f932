package edge

import (
	"net/http"

	"github.com/hengedb/henge/internal/auth"
)

// UserOf returns whose a request is: the identity that was found out, or without security the user
// that the request claims.
func UserOf(r *http.Request) string {
	if a := auth.Find(r.Context()); a != nil && a.Known() {
		return a.Name()
	}
	return ClaimedUser(r)
}

// ClaimedUser returns the user that a request says it is of, by its basic credentials; "" if it
// does not say. Nobody has checked it: it tells apart those who tell the truth, and grants nothing.
func ClaimedUser(r *http.Request) string {
	name, _, _ := r.BasicAuth()
	return name
}
