package edge

import "net/http"

// ClaimedUser returns the user that a request says it is of, by its basic credentials; "" if it
// does not say. Nobody has checked it: it tells apart those who tell the truth, and grants nothing.
func ClaimedUser(r *http.Request) string {
	name, _, _ := r.BasicAuth()
	return name
}
