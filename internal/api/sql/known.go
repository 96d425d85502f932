package sql

import (
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/query"
)

// KnownPath is where a Broker tells others what it knows of its queries, as Known.
const KnownPath = "/service-internal/v1/queries"

// Known is the queries that a Broker ran lately, in the order in which they ended, and then those
// that it runs.
type Known struct {
	Queries []query.Info `json:"queries"`
}

// KnownRoute adds what other Brokers ask.
func (a *API) KnownRoute(mux *edge.Mux) {
	mux.On("GET "+KnownPath, func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, Known{a.running.Recent()})
		return nil
	})
}
