package coordinator

import (
	"encoding/json"
	"net/http"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/metastore"
)

// supervisedRoutes adds the Overlord's endpoints for datasources' settings. They edit the same
// settings as the Coordinator's, or, when the cluster's settings take them from supervisors, those.
func (a *API) supervisedRoutes(mux routes, base string) {
	mux.On("GET "+base, func(w http.ResponseWriter, r *http.Request) error {
		c, err := a.compaction(r.Context())
		if err == nil && c.UseSupervisors {
			c.Configs, err = a.supervised(r)
		}
		if err != nil {
			return err
		}
		c.Configs = auth.Readable(r.Context(), auth.Of(r.Context()), c.Configs, func(c compact.Config) string { return c.DataSource })
		return write(w, map[string]any{"compactionConfigs": c.Configs})
	})
	either := func(plain, supervised func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
		return func(w http.ResponseWriter, r *http.Request) error {
			c, err := a.compaction(r.Context())
			switch {
			case err != nil:
				return err
			case c.UseSupervisors:
				return supervised(w, r)
			}
			return plain(w, r)
		}
	}
	mux.On("GET "+base+"/{dataSource}", either(a.compactionOf, a.supervisedOf))
	mux.On("POST "+base+"/{dataSource}", either(a.setCompaction, a.setSupervised))
	mux.On("DELETE "+base+"/{dataSource}", either(a.deleteCompaction, a.deleteSupervised))
}

// supervised returns the settings that supervisors hold.
func (a *API) supervised(r *http.Request) ([]compact.Config, error) {
	list, err := a.o.Supervisors.List(r.Context())
	if err != nil {
		return nil, err
	}
	out := []compact.Config{}
	for _, s := range list {
		if spec, ok := s.Spec.(compact.Spec); ok {
			out = append(out, spec.Config)
		}
	}
	return out, nil
}

func (a *API) supervisedOf(w http.ResponseWriter, r *http.Request) error {
	configs, err := a.supervised(r)
	if err != nil {
		return err
	}
	all := compact.Settings{Configs: configs}
	i := all.Find(r.PathValue("dataSource"))
	if i < 0 {
		return errNoCompaction
	}
	return write(w, configs[i])
}

func (a *API) setSupervised(w http.ResponseWriter, r *http.Request) error {
	config, answered, err := a.readCompaction(w, r)
	if answered || err != nil {
		return err
	}
	text, err := json.Marshal(compact.Spec{Config: config})
	if err != nil {
		return err
	}
	_, _, err = a.o.Supervisors.Put(r.Context(), text, false, func(id string) *metastore.AuditEntry { return Audit(r, auditSupervisor, id) })
	if err != nil {
		return refuseInput(w, err)
	}
	a.warnOfDataSource(w, config.DataSource)
	return empty(w, http.StatusOK)
}

// auditSupervisor is the kind of changes of supervisors in the audit history; the key is the
// supervisor.
const auditSupervisor = "supervisor"

func (a *API) deleteSupervised(w http.ResponseWriter, r *http.Request) error {
	id := compact.SupervisorID(r.PathValue("dataSource"))
	ended, err := a.o.Supervisors.Terminate(r.Context(), id, Audit(r, auditSupervisor, id))
	switch {
	case err != nil:
		return err
	case !ended:
		return errNoCompaction
	}
	return empty(w, http.StatusOK)
}
