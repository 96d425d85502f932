package sql

import (
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/query"
)

// KnownPath is the path at which a Broker returns its queries to other Brokers, as Known.
const KnownPath = "/service-internal/v1/queries"

// Known contains the recently finished queries of a Broker in the order of their end, followed by
// its running queries.
type Known struct {
	Queries []query.Info `json:"queries"`
}

// KnownRoute adds the route for other Brokers.
func (a *API) KnownRoute(mux *edge.Mux) {
	mux.On("GET "+KnownPath, func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, Known{a.running.Recent()})
		return nil
	})
}
