package coordinator

import (
	"net/http"

	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/fault"
)

// why answers why a segment, a datasource, a task or a supervisor is as it is; without any of them,
// all that is not as it should be.
func (a *API) why(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	var list []why.Decision
	var err error
	asked, kind := "", ""
	for _, k := range []string{"segment", "datasource", "task", "supervisor"} {
		if !query.Has(k) {
			continue
		}
		if kind != "" || query.Get(k) == "" {
			return fault.InvalidInput("Ask for one of [segment], [datasource], [task] and [supervisor], by its name, or for none of them")
		}
		asked, kind = query.Get(k), k
	}
	switch kind {
	case "segment":
		list, err = a.o.Why.Segment(r.Context(), asked)
	case "datasource":
		list, err = a.o.Why.DataSource(r.Context(), asked)
	case "task":
		list, err = a.o.Why.Task(r.Context(), asked)
	case "supervisor":
		list = a.o.Why.Supervisor(asked)
	default:
		list, err = a.o.Why.All(r.Context())
		if list == nil {
			list = []why.Decision{}
		}
	}
	switch {
	case err != nil:
		return err
	case list == nil:
		return fault.NotFound("There is no %s [%s]", kind, asked)
	}
	return write(w, map[string]any{"decisions": list})
}
