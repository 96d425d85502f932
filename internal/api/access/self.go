package access

import (
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
)

// shownSelf tells a client who it is to the server.
type shownSelf struct {
	// Secured is false where no security is configured: everybody may do everything.
	Secured bool   `json:"secured"`
	User    string `json:"user"`
	// Authenticator and Authorizer are the names of those that know the user and decide for it.
	Authenticator string              `json:"authenticator"`
	Authorizer    string              `json:"authorizer"`
	Roles         []string            `json:"roles"`
	Attributes    map[string][]string `json:"attributes"`
	// Logins are the authenticators of type oidc, at which a browser can log in.
	Logins []string `json:"logins"`
}

// self tells who sends the request, as the chain of authenticators has found it.
func (l *Login) self(w http.ResponseWriter, r *http.Request) error {
	access := auth.Of(r.Context())
	out := shownSelf{Roles: append([]string{}, access.Roles()...), Attributes: map[string][]string{}, Logins: []string{}}
	if id := access.Identity(); id != nil {
		out.Secured = id.By != auth.AllowAll || id.Authorizer != auth.AllowAll
		out.User, out.Authenticator, out.Authorizer = id.Name, id.By, id.Authorizer
		for name, values := range id.Attributes {
			out.Attributes[name] = append([]string{}, values...)
		}
	}
	for _, p := range l.Providers {
		out.Logins = append(out.Logins, p.Name())
	}
	w.Header().Set("Cache-Control", "no-store")
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}
