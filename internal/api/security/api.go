package security

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// Authenticator is the part of an authenticator of type basic that the endpoints use.
type Authenticator struct {
	Users *basic.Users
	// Iterations is the default number of iterations for a new password.
	Iterations int
	Parts      []*basic.Part
}

// Authorizer is the part of an authorizer of type basic that the endpoints use.
type Authorizer struct {
	Roles *basic.Roles
	Parts []*basic.Part
}

// Options are the dependencies and settings of the endpoints.
type Options struct {
	Authenticators map[string]Authenticator
	Authorizers    map[string]Authorizer
	// Follower loads the maps of this process; nil: it has none.
	Follower *basic.Follower
	// Coordinator says that the process reads the store itself, so that changes need not be pushed to
	// it.
	Coordinator bool
	// Lead makes a handler that runs on the leading Coordinator; nil: this process leads.
	Lead func(edge.Handler) edge.Handler
	// Changed is called after maps were written. It loads them here and makes other processes load
	// them.
	Changed func(ctx context.Context, parts []*basic.Part)
	// Refresh loads and pushes all maps.
	Refresh func(ctx context.Context) error
	// Internal is the user of requests between processes; "": there is none.
	Internal string
	// ExposeHashes includes salts and hashes in responses to clients that may read users.
	ExposeHashes bool
	// MaxBytes is the maximum size of request bodies of clients.
	MaxBytes int64
}

// API serves the endpoints. It is safe for concurrent use.
type API struct{ o Options }

// New returns the endpoints.
func New(o Options) *API { return &API{o} }

const (
	users = basic.Base + "/authentication"
	roles = basic.Base + "/authorization"
)

// LocalRoutes adds the endpoints that every process serves itself.
func (a *API) LocalRoutes(mux *edge.Mux) {
	mux.On("GET "+users+"/loadStatus", func(w http.ResponseWriter, _ *http.Request) error { return a.status(w, a.authenticators()) })
	mux.On("GET "+roles+"/loadStatus", func(w http.ResponseWriter, _ *http.Request) error { return a.status(w, a.authorizers()) })
	mux.On("POST "+users+"/listen/{name}", a.listen("authenticator", a.authenticators(), 0))
	mux.On("POST "+roles+"/listen/{name}", a.listen("authorizer", a.authorizers(), 0))
	mux.On("POST "+roles+"/listen/users/{name}", a.listen("authorizer", a.authorizers(), 0))
	mux.On("POST "+roles+"/listen/groupMappings/{name}", a.listen("authorizer", a.authorizers(), 1))
}

// Routes adds all endpoints.
func (a *API) Routes(mux *edge.Mux) {
	a.LocalRoutes(mux)
	a.userRoutes(mux)
	a.roleRoutes(mux)
	for _, base := range []string{users, roles} {
		a.on(mux, "GET "+base+"/refreshAll", func(w http.ResponseWriter, r *http.Request) error {
			if a.o.Refresh != nil {
				if err := a.o.Refresh(r.Context()); err != nil {
					return err
				}
			}
			w.WriteHeader(http.StatusOK)
			return nil
		})
	}
}

// on adds a route that the leading Coordinator answers.
func (a *API) on(mux *edge.Mux, pattern string, h edge.Handler) {
	field := "authorizerName"
	if strings.Contains(pattern, users+"/") {
		field = "authenticatorName"
	}
	checked := func(w http.ResponseWriter, r *http.Request) error {
		for _, part := range []struct{ parameter, field string }{
			{"name", field}, {"user", "userName"}, {"role", "roleName"}, {"group", "groupMappingName"},
		} {
			if problem := nameProblem(part.field, r.PathValue(part.parameter)); problem != "" {
				return fault.InvalidInput("%s", problem).WithLegacy("druidException") // as of other management endpoints
			}
		}
		return refuseInput(w, h(w, r))
	}
	if a.o.Lead != nil {
		checked = a.o.Lead(checked)
	}
	mux.On(pattern, checked)
}

// nameProblem is the sentence for a part of the path that can't be a name, or "". Names of
// directories may have backslashes.
func nameProblem(field, name string) string {
	if name == "" { // the path has no such part
		return ""
	}
	plain := strings.ReplaceAll(name, `\`, "_")
	return strings.Replace(timeline.DataSourceRefusal(field, plain), "["+plain+"]", "["+name+"]", 1)
}

// refuseInput answers {"error": ..} to what a caller did wrong, and to a change that lost against
// others; other errors are returned.
func refuseInput(w http.ResponseWriter, err error) error {
	f := fault.Find(err)
	switch {
	case f == nil:
		return err
	case f.Category == fault.CategoryInvalidInput:
		return refuse(w, http.StatusBadRequest, f.Message)
	case f.Category == fault.CategoryRuntimeFailure && strings.HasSuffix(f.Message, "due to concurrent update contention."):
		return refuse(w, http.StatusInternalServerError, f.Message)
	}
	return err
}

func refuse(w http.ResponseWriter, status int, message string) error {
	edge.WriteJSON(w, status, map[string]string{"error": message})
	return nil
}

// done answers a change that was made, when those whom it concerns were told.
func (a *API) done(w http.ResponseWriter, r *http.Request, parts []*basic.Part) error {
	if a.o.Changed != nil {
		a.o.Changed(r.Context(), parts)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// author says who sends a request, for the audit history.
func author(r *http.Request) *basic.Author {
	e := coordinator.Audit(r, "", "")
	return &basic.Author{Identity: auth.Of(r.Context()).Name(), Name: e.Author, Comment: e.Comment, Address: e.IP, Request: e.Request}
}

// body reads a JSON body; nil: there is none.
func (a *API) body(w http.ResponseWriter, r *http.Request) (text []byte, answered bool, err error) {
	text, err = io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxBytes))
	switch {
	case err != nil:
		return nil, false, err
	case len(strings.TrimSpace(string(edge.WithoutMark(text)))) == 0:
		return nil, false, nil
	}
	if err := edge.CheckMedia(r); err != nil {
		return nil, false, err
	}
	if !edge.IsJSON(r) {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return nil, true, nil
	}
	return edge.WithoutMark(text), false, nil
}

func (a *API) authenticators() map[string][]*basic.Part {
	out := map[string][]*basic.Part{}
	for name, x := range a.o.Authenticators {
		out[name] = x.Parts
	}
	return out
}

func (a *API) authorizers() map[string][]*basic.Part {
	out := map[string][]*basic.Part{}
	for name, x := range a.o.Authorizers {
		out[name] = x.Parts
	}
	return out
}

// status tells which maps are loaded.
func (a *API) status(w http.ResponseWriter, of map[string][]*basic.Part) error {
	out := map[string]bool{}
	for name, parts := range of {
		out[name] = true
		for _, p := range parts {
			_, tag := p.Text()
			out[name] = out[name] && tag != ""
		}
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// listen takes a map that the leading Coordinator pushes.
func (a *API) listen(noun string, of map[string][]*basic.Part, part int) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if a.o.Coordinator {
			w.WriteHeader(http.StatusNotFound)
			return nil
		}
		name := r.PathValue("name")
		parts, found := of[name]
		if !found {
			return refuse(w, http.StatusBadRequest, "Basic "+noun+" with name ["+name+"] does not exist.")
		}
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, basic.MaxMapBytes))
		if err != nil {
			return fault.InvalidInput("The map of %s [%s] could not be read", noun, name).WithCause(err)
		}
		if err := a.o.Follower.Take(r.Context(), parts[part], text); err != nil {
			return refuse(w, http.StatusBadRequest, "The map of "+noun+" ["+name+"] is not readable.")
		}
		w.WriteHeader(http.StatusOK)
		return nil
	}
}

// loaded answers with a map as it is loaded, or 204 without.
func loaded(w http.ResponseWriter, r *http.Request, p *basic.Part, shown func(text []byte) ([]byte, error)) error {
	text, tag := p.Text()
	if tag == "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	mark := `"` + tag + `"`
	w.Header().Set("ETag", mark)
	if r.Header.Get("If-None-Match") == mark {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if shown != nil {
		w.Header().Del("ETag")
		var err error
		if text, err = shown(text); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(text) // the client may be gone
	return nil
}
