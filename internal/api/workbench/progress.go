package workbench

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
)

// PartPath is where a server tells how far the parts of a query have come that it runs, and
// FollowPath where a Broker tells it of a query that it runs; the id of the query follows.
const (
	PartPath   = "/service-internal/v1/progress/"
	FollowPath = "/service-internal/v1/queries/"
)

// followPatience bounds how long other processes are asked: what does not answer is left out.
const followPatience = 2 * time.Second

// Followed is the progress of a query in messages between Brokers.
type Followed struct {
	Identity string `json:"identity"`
	Progress
}

// Progress is the progress of a query. Unknown members are null.
type Progress struct {
	ID      string `json:"sqlQueryId"`
	State   string `json:"state"`
	Elapsed int64  `json:"elapsedMs"`
	// Returned is the number of rows that the query has returned.
	Returned int64 `json:"rowsReturned"`
	progress.Done
	Memory  int64    `json:"memoryBytes"`
	Percent *float64 `json:"percent"`
	ETA     *int64   `json:"etaMs"`
}

// Peers sends requests to other processes. Its methods omit processes that do not respond.
type Peers interface {
	// Part returns the progress of the parts of a query on the server at a URL.
	Part(ctx context.Context, url, id string) progress.Done
	// Followed queries the other Brokers for a query that one of them runs.
	Followed(ctx context.Context, id string) (f Followed, found bool)
}

// PartRoutes adds the routes of a server with segments for Brokers.
func PartRoutes(mux *edge.Mux, done func(id string) progress.Done) {
	mux.On("GET "+PartPath+"{id}", func(w http.ResponseWriter, r *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, done(r.PathValue("id")))
		return nil
	})
}

// BrokerRoutes adds the routes of a Broker for other Brokers.
func (a *API) BrokerRoutes(mux *edge.Mux) {
	mux.On("GET "+FollowPath+"{id}", func(w http.ResponseWriter, r *http.Request) error {
		f, found := a.followed(r.Context(), r.PathValue("id"))
		if !found {
			return notRunning(r.PathValue("id"))
		}
		edge.WriteJSON(w, http.StatusOK, f)
		return nil
	})
}

func notRunning(id string) error { return fault.NotFound("Query [%s] does not run", id) }

// progress answers how far a query has come that runs.
func (a *API) progress(w http.ResponseWriter, r *http.Request) error {
	id, access := r.PathValue("id"), auth.Of(r.Context())
	f, found := a.followed(r.Context(), id)
	if !found && a.o.Peers != nil {
		ctx, cancel := context.WithTimeout(r.Context(), followPatience)
		defer cancel()
		f, found = a.o.Peers.Followed(ctx, id)
	}
	all := access.May(r.Context(), auth.Reads(auth.State, string(auth.State)))
	if !found || !all && (f.Identity == "" || f.Identity != access.Name()) {
		access.Pass()
		return notRunning(id) // whether there is one of somebody else is not told
	}
	w.Header().Set("Cache-Control", "no-store")
	edge.WriteJSON(w, http.StatusOK, f.Progress)
	return nil
}

// followed returns how far a query has come that runs in this process, with what other servers have
// read of their parts.
func (a *API) followed(ctx context.Context, id string) (Followed, bool) {
	f, found := a.running.Follow(id)
	if !found {
		return Followed{}, false
	}
	done := f.Done
	if a.o.Peers != nil && len(f.Asked) > 0 {
		ctx, cancel := context.WithTimeout(ctx, followPatience)
		defer cancel()
		parts := make([]progress.Done, len(f.Asked))
		var asked sync.WaitGroup
		for i, url := range f.Asked {
			asked.Go(func() { parts[i] = a.o.Peers.Part(ctx, url, id) })
		}
		asked.Wait()
		for _, part := range parts {
			done.Bytes += part.Bytes // of these nobody knows before
			done.Add(part)
		}
	}
	return Followed{Identity: f.Info.Identity, Progress: progressOf(&f, done)}, true
}

// least is the share of a query from which on its end is estimated.
const least = 0.02

func progressOf(f *query.Following, done progress.Done) Progress {
	p := Progress{
		ID: f.Info.ID, State: f.Info.State(), Elapsed: f.Info.Took.Milliseconds(), Returned: f.Info.Rows, Done: done, Memory: f.Info.Memory,
	}
	if done.Rows > 0 {
		share := min(1, float64(done.RowsRead)/float64(done.Rows))
		percent := float64(int(share*1000)) / 10
		p.Percent = &percent
		if share >= least {
			eta := int64(float64(f.Info.Took.Milliseconds()) * (1 - share) / share)
			p.ETA = &eta
		}
	}
	return p
}

// Best returns the response for the query that started last, from the responses of several Brokers.
func Best(found []Followed) (f Followed, ok bool) {
	if len(found) == 0 {
		return f, false
	}
	return slices.MinFunc(found, func(a, b Followed) int { return int(a.Elapsed - b.Elapsed) }), true
}
