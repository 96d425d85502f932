// Package data serves the endpoints of a Historical for other processes: its segments, as a stream
// of changes that clients poll, and the commands that it executes. Package fragments serves
// fragments of queries.
package data

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/timeline"
)

// maxWait bounds how long a request waits for a change.
const maxWait = 5 * time.Minute

// Historical is what the endpoints are about.
type Historical interface {
	Changes() *cluster.Log
	Command(ctx context.Context, c cluster.Command) (cluster.QueueState, error)
	LoadingThreads() (usual, turbo int)
	Change(ctx context.Context, changes []historical.Change, turbo bool, wait time.Duration) []historical.Outcome
}

// API serves the endpoints of a Historical.
type API struct {
	historical Historical
	published  *timeline.Published
	clock      clock.Clock
}

// New returns the endpoints. Descriptors of segments are those of the published timeline.
func New(h Historical, published *timeline.Published, c clock.Clock) *API {
	return &API{h, published, c}
}

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("GET "+cluster.LogPath, func(w http.ResponseWriter, r *http.Request) error {
		return changes(w, r, a.historical.Changes(), a.published, a.clock)
	})
	mux.On("POST "+cluster.CommandPath, a.command)
	mux.On("GET /service-internal/v1/segments/loadCapabilities", a.capabilities)
	mux.On("POST /service-internal/v1/segments/changeRequests", a.change)
}

// changes waits for something new and answers with it, or with 204. With the flag ids changes name
// segments and do not describe them. So they do where no published timeline describes them.
func changes(w http.ResponseWriter, r *http.Request, log *cluster.Log, published *timeline.Published, c clock.Clock) error {
	q := r.URL.Query()
	var numbers [3]int64
	for i, name := range []string{"counter", "hash", "timeout"} {
		n, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil {
			return fault.InvalidInput("Parameter [%s] is not a whole number", name)
		}
		numbers[i] = n
	}
	if numbers[2] <= 0 {
		return fault.InvalidInput("Parameter [timeout] must be positive")
	}
	at := cluster.Counter{Number: numbers[0], Hash: numbers[1]}
	if at.Number < 0 {
		at = cluster.Beginning
	}
	wait := maxWait
	if numbers[2] < maxWait.Milliseconds() {
		wait = time.Duration(numbers[2]) * time.Millisecond
	}
	d, err := log.Since(r.Context(), at, wait, c)
	if err != nil {
		return nil // the asker has gone
	}
	if d == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if q.Has("ids") || published == nil {
		edge.WriteJSON(w, http.StatusOK, d)
		return nil
	}
	state := published.Pin()
	described := struct {
		*cluster.Delta
		Changes []json.RawMessage `json:"requests"`
	}{d, make([]json.RawMessage, len(d.Changes))}
	for i, c := range d.Changes {
		if described.Changes[i], err = describe(state, c); err != nil {
			return err
		}
	}
	edge.WriteJSON(w, http.StatusOK, described)
	return nil
}

// describe is a change with the members of the segment's descriptor, if that is still published.
func describe(state *timeline.State, c cluster.Change) (json.RawMessage, error) {
	plain, err := jsontext.Marshal(c)
	if err != nil {
		return nil, err
	}
	for _, id := range timeline.ParseAnyID(c.ID) {
		s := state.Timeline(id.DataSource).Segment(id)
		if s == nil {
			continue
		}
		text, err := jsontext.Marshal(s)
		if err != nil {
			return nil, err
		}
		action, err := jsontext.Marshal(map[string]string{"action": c.Action})
		if err != nil {
			return nil, err
		}
		return bytes.Join([][]byte{action[:len(action)-1], text[1:]}, []byte(",")), nil
	}
	return plain, nil
}

// capabilities says how many segments are loaded at once.
func (a *API) capabilities(w http.ResponseWriter, _ *http.Request) error {
	usual, turbo := a.historical.LoadingThreads()
	edge.WriteJSON(w, http.StatusOK, map[string]int{"numLoadingThreads": usual, "numTurboLoadingThreads": turbo})
	return nil
}

// status is what became of a request to load or to drop a segment.
type status struct {
	State string  `json:"state"`
	Cause *string `json:"failureCause"`
	Mode  string  `json:"loadingMode"`
}

// change takes segments to load and to drop, each with its descriptor, and answers when one of them
// has ended, or after the timeout with 204. A batch that is sent again goes on.
func (a *API) change(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	wait, err := strconv.ParseInt(q.Get("timeout"), 10, 64)
	if err != nil || wait <= 0 {
		return fault.InvalidInput("Parameter [timeout] [%s] is not a positive number of milliseconds", q.Get("timeout"))
	}
	mode := cmp.Or(q.Get("loadingMode"), "NORMAL")
	if mode != "NORMAL" && mode != "TURBO" {
		return fault.InvalidInput("Parameter [loadingMode] [%s] is neither NORMAL nor TURBO", mode)
	}
	var requests []json.RawMessage
	if err := edge.ReadJSON(w, r, maxCommandBytes, &requests); err != nil {
		return fault.Malformed("The list of change requests could not be read: %v", err)
	}
	if len(requests) == 0 {
		return fault.InvalidInput("No change requests provided")
	}
	changes := make([]historical.Change, len(requests))
	for i, text := range requests {
		if changes[i], err = readChange(text); err != nil {
			return fmt.Errorf("change request [%d]: %w", i, err)
		}
	}
	outcomes := a.historical.Change(r.Context(), changes, mode == "TURBO", time.Duration(min(wait, maxWait.Milliseconds()))*time.Millisecond)
	if outcomes == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	type answer struct {
		Request json.RawMessage `json:"request"`
		Status  status          `json:"status"`
	}
	out := make([]answer, len(outcomes))
	for i, o := range outcomes {
		out[i] = answer{requests[i], status{State: "PENDING", Mode: mode}}
		switch {
		case o.Failed != "":
			out[i].Status.State, out[i].Status.Cause = "FAILED", &o.Failed
		case o.Done:
			out[i].Status.State = "SUCCESS"
		}
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// readChange reads one request: an action, and the members of a segment's descriptor.
func readChange(text json.RawMessage) (c historical.Change, err error) {
	var kind struct {
		Action string `json:"action"`
	}
	var of timeline.Segment
	if err := jsontext.Read(text, &kind); err != nil {
		return c, fault.Malformed("It is not an object with an [action]: %v", err)
	}
	if kind.Action != "load" && kind.Action != "drop" {
		return c, fault.InvalidInput("Action [%s] is neither load nor drop", kind.Action)
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return c, err
	}
	c = historical.Change{Drop: kind.Action == "drop", LoadItem: cluster.LoadItem{ID: of.ID.String(), LoadSpec: of.LoadSpec(), Size: of.Size}}
	if !c.Drop && c.LoadSpec == nil {
		return c, fault.InvalidInput("Segment [%s] has no [loadSpec]", c.ID)
	}
	return c, nil
}

// maxCommandBytes bounds a command: a hundred thousand segments.
const maxCommandBytes = 64 << 20

func (a *API) command(w http.ResponseWriter, r *http.Request) error {
	var c cluster.Command
	if err := edge.ReadJSON(w, r, maxCommandBytes, &c); err != nil {
		return fault.Malformed("The command could not be read: %v", err)
	}
	state, err := a.historical.Command(r.Context(), c)
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, state)
	return nil
}
