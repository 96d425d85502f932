package coordinator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/metastore"
)

// dynamicConfig is a configuration that changes while processes run. Validate refuses what can't
// be, and fills in what is not there.
type dynamicConfig[C any] interface {
	*C
	Validate() error
}

// dynamicRoutes adds the endpoints of a dynamic configuration: to read it, over its defaults, to
// set it, and its history. With merge, what a body does not name stays as it is; otherwise it is
// the default again.
func dynamicRoutes[C any, P dynamicConfig[C]](a *API, mux routes, path, name string, defaults func() C, merge bool) {
	mux.On("GET "+path, func(w http.ResponseWriter, r *http.Request) error {
		c := defaults()
		if err := a.setting(r, name, &c); err != nil {
			return err
		}
		if err := P(&c).Validate(); err != nil {
			return err
		}
		return write(w, c)
	})
	mux.On("POST "+path, func(w http.ResponseWriter, r *http.Request) error {
		return a.takeSettings(w, r, func(text []byte) error {
			_, err := a.store.UpdateSetting(r.Context(), metastore.Fence{}, name, Audit(r, name, name), func(stored json.RawMessage) (json.RawMessage, error) {
				c := defaults()
				if merge && stored != nil {
					if err := json.Unmarshal(stored, &c); err != nil {
						return nil, fmt.Errorf("reading setting [%s]: %w", name, err)
					}
				}
				if err := decode(text, &c); err != nil {
					return nil, err
				}
				if err := P(&c).Validate(); err != nil {
					return nil, err
				}
				return json.Marshal(c)
			})
			return err
		})
	})
	mux.On("GET "+path+"/history", func(w http.ResponseWriter, r *http.Request) error { return a.history(w, r, name, name) })
}

// takeSettings answers a body of settings, which store writes: nothing is refused, and so is what
// store finds wrong with it.
func (a *API) takeSettings(w http.ResponseWriter, r *http.Request, store func(text []byte) error) error {
	text, err := a.body(w, r)
	switch {
	case err != nil:
		return err
	case isNothing(text):
		return refuse(w, http.StatusBadRequest, "The body must be an object of settings")
	}
	if err := store(text); err != nil {
		return refuseInput(w, err)
	}
	return empty(w, http.StatusOK)
}

// isNothing reports whether a body is absent or null.
func isNothing(text []byte) bool { return text == nil || strings.TrimSpace(string(text)) == "null" }
