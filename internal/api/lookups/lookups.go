// Package lookups serves the endpoints for the lookups of a process: the loaded lookups and the
// lookups to load, which the Coordinator queries and sets, and the contents of a loaded table for
// users.
//
// The central type is API. The configuration of lookups in the cluster is in package coordinator;
// the tables are in package lookup.
package lookups

import (
	"maps"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/lookup"
)

// API serves the endpoints of one process.
type API struct {
	set *lookup.Set
	// maxRequestBytes bounds request bodies.
	maxRequestBytes int64
}

// New returns the endpoints of a set.
func New(set *lookup.Set, maxRequestBytes int64) *API { return &API{set, maxRequestBytes} }

// state is what a process has, in the form in which Coordinators exchange it.
type state struct {
	Current map[string]lookup.Container `json:"current"`
	ToLoad  map[string]lookup.Container `json:"toLoad"`
	ToDrop  []string                    `json:"toDrop"`
}

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	const listen, introspect = "/service/listen/v1/lookups", "/service/v1/lookups/introspect"
	mux.On("GET "+listen, func(w http.ResponseWriter, r *http.Request) error { return a.state(w, r, http.StatusOK) })
	mux.On("POST "+listen+"/updates", a.update)
	mux.On("GET "+listen+"/{lookup}", func(w http.ResponseWriter, r *http.Request) error {
		c, ok := a.set.Status().Current[r.PathValue("lookup")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return nil
		}
		return edge.WriteMasked(r.Context(), w, http.StatusOK, c)
	})
	mux.On("POST "+listen+"/{lookup}", func(w http.ResponseWriter, r *http.Request) error {
		var c lookup.Container
		if err := a.read(w, r, &c); err != nil {
			return err
		}
		a.set.Add(r.Context(), r.PathValue("lookup"), c)
		return a.state(w, r, http.StatusAccepted)
	})
	mux.On("DELETE "+listen+"/{lookup}", func(w http.ResponseWriter, r *http.Request) error {
		if !a.set.Drop(r.PathValue("lookup")) {
			edge.WriteJSON(w, http.StatusNotFound, map[string]string{"error": "lookup [" + r.PathValue("lookup") + "] not found"})
			return nil
		}
		return a.state(w, r, http.StatusAccepted)
	})

	mux.On("GET "+introspect, func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, append([]string{}, a.set.View().Names()...))
		return nil
	})
	mux.On("GET "+introspect+"/{lookup}", a.introspect)
	mux.On("GET "+introspect+"/{lookup}/{part}", a.introspect)
}

// state answers with what the process has. Coordinators read names and versions of it; what is
// secret in the rest is masked.
func (a *API) state(w http.ResponseWriter, r *http.Request, status int) error {
	s := a.set.Status()
	return edge.WriteMasked(r.Context(), w, status, state{s.Current, s.Next, []string{}})
}

// read reads a request's JSON.
func (a *API) read(w http.ResponseWriter, r *http.Request, v any) error {
	err := edge.ReadJSON(w, r, a.maxRequestBytes, v)
	if err == nil || fault.Find(err) != nil {
		return err
	}
	return fault.Malformed("The request could not be read: %v", err).WithCause(err)
}

// update loads and drops what a Coordinator says.
func (a *API) update(w http.ResponseWriter, r *http.Request) error {
	var s state
	if err := a.read(w, r, &s); err != nil {
		return err
	}
	for name, c := range s.ToLoad {
		a.set.Add(r.Context(), name, c)
	}
	for _, name := range s.ToDrop {
		a.set.Drop(name)
	}
	return a.state(w, r, http.StatusAccepted)
}

// introspect shows a loaded table: all of it, its keys, its values, or its version. Of what is not
// loaded there is nothing to show: 405 for the whole, as if it could only be written, and 404 for
// its parts; clients of Druid know both.
func (a *API) introspect(w http.ResponseWriter, r *http.Request) error {
	name, part := r.PathValue("lookup"), r.PathValue("part")
	table, err := a.set.View().Table(name)
	if err != nil {
		if part == "" {
			w.WriteHeader(http.StatusMethodNotAllowed)
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
		return nil
	}
	keys, values, all := []string{}, []string{}, map[string]string{}
	switch part {
	case "":
		maps.Insert(all, table.All())
		edge.WriteJSON(w, http.StatusOK, all)
	case "keys":
		for k := range table.All() {
			keys = append(keys, k)
		}
		edge.WriteJSON(w, http.StatusOK, keys)
	case "values":
		for _, v := range table.All() {
			values = append(values, v)
		}
		edge.WriteJSON(w, http.StatusOK, values)
	case "version":
		edge.WriteJSON(w, http.StatusOK, map[string]string{"version": a.set.Status().Current[name].Version})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	return nil
}
