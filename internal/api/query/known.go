package query

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
)

// KnownPath is where a Broker tells others what it knows of its queries, as Known.
const KnownPath = "/service-internal/v1/queries"

// Known is the queries that a Broker ran lately, in the order in which they ended, and then those that it runs.
type Known struct {
	Queries []Info `json:"queries"`
}

// KnownRoute adds what other Brokers ask.
func (a *API) KnownRoute(mux *edge.Mux) {
	mux.On("GET "+KnownPath, func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, Known{a.running.Recent()})
		return nil
	})
}

// wireInfo is an Info between processes: of an error there is what users are told.
type wireInfo struct {
	ID          string        `json:"id"`
	SQL         string        `json:"sql"`
	Identity    string        `json:"identity,omitempty"`
	Started     time.Time     `json:"started"`
	Took        time.Duration `json:"took"`
	Rows        int64         `json:"rows"`
	Memory      int64         `json:"memory"`
	Kind        string        `json:"kind"`
	DataSources []string      `json:"dataSources,omitempty"`
	Bytes       int64         `json:"bytes"`
	Lane        string        `json:"lane,omitempty"`
	State       string        `json:"state"`
	Error       string        `json:"error,omitempty"`
}

// MarshalJSON writes the form that Brokers exchange.
func (i Info) MarshalJSON() ([]byte, error) {
	w := wireInfo{i.ID, edge.RedactSQL(i.SQL), i.Identity, i.Started, i.Took, i.Rows, i.Memory, i.Kind, i.DataSources, i.Bytes, i.Lane, i.State(), ""}
	if i.Err != nil {
		w.Error = edge.Classify(i.Err).Message
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the form that Brokers exchange.
func (i *Info) UnmarshalJSON(text []byte) error {
	var w wireInfo
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*i = Info{
		ID: w.ID, SQL: w.SQL, Identity: w.Identity, Started: w.Started, Took: w.Took, Rows: w.Rows, Memory: w.Memory, Kind: w.Kind,
		DataSources: w.DataSources, Bytes: w.Bytes, Lane: w.Lane, Ended: w.State != stateRunning,
	}
	switch w.State {
	case stateCanceled:
		i.Err = fault.Canceled("%s", w.Error)
	case stateFailed:
		i.Err = fault.Runtime("%s", w.Error)
	}
	return nil
}
