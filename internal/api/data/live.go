package data

import (
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/live"
)

// LivePath is where a worker says how many rows its live segments have: a JSON object by id.
const LivePath = "/service-internal/v1/live"

// LiveRoutes adds what a worker says of its live segments: which they are, as a stream of changes
// that is polled, and how many rows they have.
func LiveRoutes(mux *edge.Mux, log *cluster.Log, set *live.Set, c clock.Clock) {
	mux.On("GET "+cluster.LogPath, func(w http.ResponseWriter, r *http.Request) error { return changes(w, r, log, nil, c) })
	mux.On("GET "+LivePath, func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, LiveRows(set))
		return nil
	})
}

// LiveRows returns how many rows the live segments of a process have, by id.
func LiveRows(set *live.Set) map[string]int64 {
	out := map[string]int64{}
	for _, a := range set.Announced() {
		out[a.ID.String()] = a.Rows
	}
	return out
}
