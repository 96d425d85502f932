package coordinator

import (
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
)

// SecurityRoutes adds the endpoints of users and roles as they answer where no authenticator or
// authorizer is configured: none of any name is known (spec/security.md, section 9).
func (a *API) SecurityRoutes(mux *edge.Mux) {
	const base = "/service-ext/basic-security"
	for path, kind := range map[string]string{"/authentication/db/": "authenticator", "/authorization/db/": "authorizer"} {
		mux.On(base+path+"{name}/{rest...}", func(w http.ResponseWriter, r *http.Request) error {
			return refuse(w, http.StatusBadRequest, "Basic "+kind+" with name ["+r.PathValue("name")+"] does not exist.")
		})
	}
}
