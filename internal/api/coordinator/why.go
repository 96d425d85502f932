package coordinator

import (
	"context"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/fault"
)

// why answers why a segment, a datasource, a task or a supervisor is as it is; without any of them,
// all that is not as it should be.
func (a *API) why(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if err := edge.OnlyParameters(r, "segment", "datasource", "task", "supervisor"); err != nil {
		return err
	}
	var list []why.Decision
	var err error
	asked, kind := "", ""
	for _, k := range []string{"segment", "datasource", "task", "supervisor"} {
		if !query.Has(k) {
			continue
		}
		if kind != "" || query.Get(k) == "" {
			return fault.InvalidInput("Give at most one of the parameters [segment], [datasource], [task] and [supervisor]")
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
	if err := permitWhy(r.Context(), kind, list); err != nil {
		return err
	}
	return write(w, map[string]any{"decisions": list})
}

// permitWhy refuses decisions about what the user may not read: of one thing its datasource, of all
// the state of the cluster.
func permitWhy(ctx context.Context, kind string, list []why.Decision) error {
	var needs []auth.Need
	for _, d := range list {
		if kind != "" && d.DataSource != "" {
			needs = append(needs, auth.Reads(auth.Datasource, d.DataSource))
		}
	}
	if len(needs) == 0 {
		needs = []auth.Need{auth.Reads(auth.State, string(auth.State))}
	}
	return auth.Of(ctx).Check(ctx, needs...)
}
