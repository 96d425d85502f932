package sql

import (
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/secret"
)

// listed is a query as lists show it.
type listed struct {
	ID        string `json:"sqlQueryId"`
	SQL       string `json:"sql"`
	State     string `json:"state"`
	Engine    string `json:"engine"`
	StartTime string `json:"startTime"`
}

func listedOf(q *query.Info) listed {
	return listed{q.ID, secret.MaskSQL(q.SQL), q.State(), "native", chrono.FormatMillis(q.Started.UnixMilli(), chrono.UTC)}
}

// report is what is known of a query beside that. Rows are those that it has given, bytes those of
// its answer, memory the most that it held at once.
type report struct {
	DurationMillis int64    `json:"durationMs"`
	Rows           int64    `json:"rows"`
	Bytes          int64    `json:"bytes"`
	MemoryBytes    int64    `json:"memoryBytes"`
	DataSources    []string `json:"dataSources"`
	Identity       string   `json:"identity,omitempty"`
	Lane           string   `json:"lane,omitempty"`
	ErrorMessage   string   `json:"errorMessage,omitempty"`
}

func reportOf(q *query.Info) *report {
	out := &report{
		DurationMillis: q.Took.Milliseconds(), Rows: q.Rows, Bytes: q.Bytes, MemoryBytes: q.Memory, DataSources: q.DataSources, Identity: q.Identity, Lane: q.Lane,
	}
	if out.DataSources == nil {
		out.DataSources = []string{}
	}
	if q.Err != nil {
		out.ErrorMessage = fault.Classify(q.Err).Message
	}
	return out
}

// known returns the queries of all Brokers that the user may see, with selfOnly those of this one:
// own queries, and with STATE READ all.
func (a *API) known(r *http.Request) (list []query.Info) {
	if a.o.Known == nil || r.URL.Query().Has("selfOnly") {
		list = a.running.Recent()
	} else {
		list = a.o.Known(r.Context())
	}
	access := auth.Of(r.Context())
	if access.May(r.Context(), auth.Reads(auth.State, string(auth.State))) {
		return list
	}
	return slices.DeleteFunc(list, func(q query.Info) bool { return q.Identity == "" || q.Identity != access.Name() })
}

// list shows what runs, and with includeComplete what has run lately too. The presence of a
// parameter counts, whatever its value.
func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	ended := r.URL.Query().Has("includeComplete")
	queries := []listed{}
	for _, q := range a.known(r) {
		if ended || !q.Ended {
			queries = append(queries, listedOf(&q))
		}
	}
	edge.WriteJSON(w, http.StatusOK, map[string]any{"queries": queries})
	return nil
}

// report tells of one query that runs or has run lately: of several with an id the last one.
func (a *API) report(w http.ResponseWriter, r *http.Request) error {
	var answer struct {
		Query  *listed `json:"query"`
		Report *report `json:"report"`
	}
	status := http.StatusNotFound
	for _, q := range slices.Backward(a.known(r)) {
		if q.ID == r.PathValue("id") {
			query := listedOf(&q)
			status, answer.Query, answer.Report = http.StatusOK, &query, reportOf(&q)
			break
		}
	}
	edge.WriteJSON(w, status, answer)
	return nil
}
