package supervisors

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/supervisor"
)

// body reads the body of a request; nil: it is empty.
func (a *API) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		return nil, fault.Malformed("The request could not be read").WithCause(err)
	}
	secret.Hold(r.Context(), string(text))
	if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	return text, nil
}

// positions tells where a supervisor is in its stream, and what a reset would make of that.
func (a *API) positions(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	positions, ok, err := s.Positions(r.Context())
	switch {
	case err != nil:
		return err
	case !ok:
		return refuse(w, http.StatusBadRequest, "Supervisor [%s] reads no stream: it has no offsets", s.ID())
	}
	return write(w, r, positions)
}

// resetOffsets makes a supervisor go on elsewhere. Without a body it begins anew.
func (a *API) resetOffsets(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	text, err := a.body(w, r)
	switch {
	case err != nil:
		return err
	case text == nil:
		return a.reset(w, r, s)
	}
	if err := s.ResetOffsets(r.Context(), text); err != nil {
		return refuseInput(w, err)
	}
	return write(w, r, map[string]string{"id": s.ID()})
}

// handOff has groups of tasks publish what they have.
func (a *API) handOff(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	text, err := a.body(w, r)
	if err != nil {
		return err
	}
	if !s.CanHandOff() {
		return refuse(w, http.StatusBadRequest, "Supervisor [%s] does not support early handoff", s.ID())
	}
	var given struct {
		Groups []json.RawMessage `json:"taskGroupIds"`
	}
	if text != nil {
		if err := jsontext.Read(text, &given); err != nil {
			return refuse(w, http.StatusBadRequest, "The groups are not readable: [%s]", fault.JSONProblem(err))
		}
	}
	if len(given.Groups) == 0 {
		return refuse(w, http.StatusBadRequest, "List of task groups to handoff can't be empty")
	}
	groups := make([]int, len(given.Groups))
	for i, g := range given.Groups {
		if jsontext.Read(g, &groups[i]) != nil {
			return refuse(w, http.StatusBadRequest, "Cannot deserialize value of type `int` from String %s: not a valid `int` value", g)
		}
	}
	if err := s.HandOff(r.Context(), groups); err != nil {
		return refuseInput(w, err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// backfill has a supervisor go on at the end of its stream, and another one read what lies between.
func (a *API) backfill(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	tasks := 0
	if text := r.URL.Query().Get("backfillTaskCount"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return refuse(w, http.StatusBadRequest, "backfillTaskCount must be greater than 0, it is [%s]", text)
		}
		tasks = n
	}
	made, err := a.set.Backfill(r.Context(), s, tasks, func(id string) *metastore.AuditEntry { return a.o.Audit(r, auditKind, id) })
	if err != nil {
		return refuseInput(w, err)
	}
	return write(w, r, map[string]string{"id": s.ID(), "backfillSupervisorId": made.ID()})
}

// checkpoint takes what a task asks for whose sequence is long enough.
func (a *API) checkpoint(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	if err != nil {
		return err
	}
	var given chat.CheckpointRequest
	if err := json.Unmarshal(text, &given); err != nil {
		return refuse(w, http.StatusBadRequest, "The request for a checkpoint is not readable: [%s]", fault.JSONProblem(err))
	}
	if err := a.o.Checkpoint.Checkpoint(r.Context(), given.Supervisor, given.Group, given.Starts); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
