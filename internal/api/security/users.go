package security

import (
	"encoding/json"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

// shownUser is a user as the endpoints show it.
type shownUser struct {
	Name        string           `json:"name"`
	Credentials *shownCredential `json:"credentials"`
}

type shownCredential struct {
	Salt       []byte `json:"salt"`
	Hash       []byte `json:"hash"`
	Iterations int    `json:"iterations"`
}

// shown hides what only processes of the cluster need.
func (a *API) shown(u basic.User) shownUser {
	out := shownUser{Name: u.Name}
	if c := u.Credential; c != nil {
		out.Credentials = &shownCredential{Iterations: c.Iterations}
		if a.o.ExposeHashes {
			out.Credentials.Salt, out.Credentials.Hash = c.Salt, c.Hash
		}
	}
	return out
}

type usersHandler func(w http.ResponseWriter, r *http.Request, of Authenticator) error

// userRoutes adds the endpoints of the users of authenticators.
func (a *API) userRoutes(mux *edge.Mux) {
	on := func(pattern string, h usersHandler) {
		onNamed(a, mux, users, "authenticator", a.o.Authenticators, pattern, h)
	}
	on("GET /users", func(w http.ResponseWriter, r *http.Request, of Authenticator) error {
		names, err := of.Users.Names(r.Context())
		return answer(w, names, err)
	})
	on("GET /users/{user}", func(w http.ResponseWriter, r *http.Request, of Authenticator) error {
		u, err := of.Users.Get(r.Context(), r.PathValue("user"))
		return answer(w, a.shown(u), err)
	})
	on("POST /users/{user}", func(w http.ResponseWriter, r *http.Request, of Authenticator) error {
		if err := of.Users.Create(r.Context(), author(r), r.PathValue("user")); err != nil {
			return err
		}
		return a.done(w, r, of.Parts)
	})
	on("DELETE /users/{user}", func(w http.ResponseWriter, r *http.Request, of Authenticator) error {
		if err := a.keepInternal(r.PathValue("user")); err != nil {
			return err
		}
		if err := of.Users.Delete(r.Context(), author(r), r.PathValue("user")); err != nil {
			return err
		}
		return a.done(w, r, of.Parts)
	})
	on("POST /users/{user}/credentials", a.setPassword)
	on("GET /cachedSerializedUserMap", func(w http.ResponseWriter, r *http.Request, of Authenticator) error {
		return loaded(w, r, of.Parts[0], a.shownTo(auth.Of(r.Context())))
	})
	// What has no path of its own says whether the authenticator exists, as before there are any.
	on(" /{rest...}", func(w http.ResponseWriter, _ *http.Request, _ Authenticator) error {
		w.WriteHeader(http.StatusNotFound)
		return nil
	})
}

// keepInternal refuses to delete the user by whom the processes know each other.
func (a *API) keepInternal(name string) error {
	if name != a.o.Internal || name == "" {
		return nil
	}
	return fault.InvalidInput("User [%s] is the internal user of the cluster (service.escalator.internalClientUsername) and can't be deleted.",
		name)
}

func (a *API) setPassword(w http.ResponseWriter, r *http.Request, of Authenticator) error {
	text, answered, err := a.body(w, r)
	if err != nil || answered {
		return err
	}
	var body struct {
		Password   *secret.Text `json:"password"`
		Iterations *int         `json:"iterations"`
	}
	if text != nil {
		if err := jsontext.Unmarshal(text, &body); err != nil {
			return fault.InvalidInput("The credentials can't be read: %s", fault.JSONProblem(err))
		}
	}
	if body.Password == nil {
		return fault.InvalidInput("Cannot assign null password.")
	}
	iterations := of.Iterations
	if body.Iterations != nil {
		iterations = *body.Iterations
	}
	if err := of.Users.SetPassword(r.Context(), author(r), r.PathValue("user"), body.Password.Reveal(), iterations); err != nil {
		return err
	}
	return a.done(w, r, of.Parts)
}

// shownTo returns what hides the hashes in the map of users; nil for the processes of the cluster,
// which need them.
func (a *API) shownTo(who *auth.Access) func([]byte) ([]byte, error) {
	if a.o.ExposeHashes || a.o.Internal != "" && who.Name() == a.o.Internal {
		return nil
	}
	return func(text []byte) ([]byte, error) {
		var all map[string]basic.User
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, err
		}
		out := make(map[string]shownUser, len(all))
		for name, u := range all {
			out[name] = a.shown(u)
		}
		return jsontext.Marshal(out)
	}
}

// answer answers with a value, or returns the error.
func answer(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, v)
	return nil
}
