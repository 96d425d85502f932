package coordinator

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// The kinds of data management in the audit history; the key is the datasource.
const (
	auditMarkUnused = "segment.markUnused"
	auditKill       = "segment.kill"
)

// killPriority is the priority of kill tasks: those of batch work give way.
const killPriority = 0

// markRoutes adds the endpoints that change which segments are used, below the path of datasources
// of either role.
func (a *API) markRoutes(mux routes, base string) {
	mux.On("POST "+base+"/{dataSource}", func(w http.ResponseWriter, r *http.Request) error {
		return a.markUsed(w, r, metastore.Selection{})
	})
	mux.On("DELETE "+base+"/{dataSource}", func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Query().Get("kill") == "true" {
			return a.kill(w, r, r.URL.Query().Get("interval"))
		}
		return a.markUnused(w, r, metastore.Selection{}, `{}`)
	})
	mux.On("DELETE "+base+"/{dataSource}/intervals/{interval}", func(w http.ResponseWriter, r *http.Request) error {
		return a.kill(w, r, r.PathValue("interval"))
	})
	mux.On("POST "+base+"/{dataSource}/segments/{segment}", a.segmentUsed)
	mux.On("DELETE "+base+"/{dataSource}/segments/{segment}", a.segmentUnused)
	mux.On("POST "+base+"/{dataSource}/markUsed", func(w http.ResponseWriter, r *http.Request) error {
		s, _, answered, err := a.selection(w, r)
		if answered || err != nil {
			return err
		}
		return a.markUsed(w, r, s)
	})
	mux.On("POST "+base+"/{dataSource}/markUnused", func(w http.ResponseWriter, r *http.Request) error {
		s, text, answered, err := a.selection(w, r)
		if answered || err != nil {
			return err
		}
		return a.markUnused(w, r, s, text)
	})
}

// badSelection is the answer to a selection that names neither or both.
const badSelection = "Invalid request payload. Specify either 'interval' or 'segmentIds', but not both. " +
	"Optionally, include 'versions' only when 'interval' is provided."

// selection reads which segments a body chooses, and returns its text too. If the body chooses
// none, the request has been answered.
func (a *API) selection(w http.ResponseWriter, r *http.Request) (s metastore.Selection, text string, answered bool, err error) {
	raw, err := a.body(w, r)
	switch {
	case err != nil:
		return s, "", false, err
	case raw == nil:
		raw = []byte("null")
	}
	var body struct {
		Interval *chrono.Interval `json:"interval"`
		IDs      []string         `json:"segmentIds"`
		Versions []string         `json:"versions"`
	}
	if err := decode(raw, &body); err != nil {
		return s, "", true, refuseInput(w, err)
	}
	if (body.Interval != nil) == (len(body.IDs) > 0) || body.Versions != nil && body.Interval == nil {
		writeText(w, http.StatusBadRequest, badSelection)
		return s, "", true, nil
	}
	return metastore.Selection{IDs: body.IDs, Interval: body.Interval, Versions: body.Versions}, string(raw), false, nil
}

// marked answers with what a mark did, in the members of old and new clients, once the published
// timeline has it.
func (a *API) marked(w http.ResponseWriter, r *http.Request, m metastore.Marked) error {
	if err := a.caught(r.Context(), m.Number); err != nil {
		return err
	}
	return write(w, object{{"numChangedSegments", m.Changed}, {"segmentStateChanged", m.Changed > 0}})
}

func (a *API) markUsed(w http.ResponseWriter, r *http.Request, s metastore.Selection) error {
	m, err := a.store.MarkUsed(r.Context(), metastore.Fence{}, r.PathValue("dataSource"), s)
	if err != nil {
		return err
	}
	return a.marked(w, r, m)
}

func (a *API) markUnused(w http.ResponseWriter, r *http.Request, s metastore.Selection, payload string) error {
	dataSource := r.PathValue("dataSource")
	entry := Audit(r, auditMarkUnused, dataSource)
	entry.Payload = payload
	m, err := a.store.MarkUnused(r.Context(), metastore.Fence{}, dataSource, s, entry)
	if err != nil {
		return err
	}
	return a.marked(w, r, m)
}

// segmentUsed makes one segment used even if others overshadow it.
func (a *API) segmentUsed(w http.ResponseWriter, r *http.Request) error {
	dataSource, id := r.PathValue("dataSource"), r.PathValue("segment")
	if len(timeline.ParseIDs(dataSource, id)) == 0 {
		return unparseable(w, dataSource, id)
	}
	m, err := a.store.MarkSegmentUsed(r.Context(), metastore.Fence{}, dataSource, id)
	if err != nil {
		return err
	}
	return a.marked(w, r, m)
}

func (a *API) segmentUnused(w http.ResponseWriter, r *http.Request) error {
	dataSource, id := r.PathValue("dataSource"), r.PathValue("segment")
	if len(timeline.ParseIDs(dataSource, id)) == 0 {
		return unparseable(w, dataSource, id)
	}
	payload, err := jsontext.Marshal(map[string][]string{"segmentIds": {id}})
	if err != nil {
		return err
	}
	return a.markUnused(w, r, metastore.Selection{IDs: []string{id}}, string(payload))
}

// kill starts a task that deletes the unused segments of an interval for good.
func (a *API) kill(w http.ResponseWriter, r *http.Request, interval string) error {
	if interval == "" {
		return fault.InvalidInput("Kill needs an interval")
	}
	iv, err := chrono.ParseInterval(strings.ReplaceAll(interval, "_", "/"))
	if err != nil {
		return err
	}
	dataSource, now := r.PathValue("dataSource"), a.now()
	random := make([]byte, 8)
	for i := range random {
		random[i] = byte('a' + rand.IntN(26))
	}
	t := &task.Task{Type: "kill", DataSource: dataSource, Created: now, Priority: killPriority}
	t.ID = fmt.Sprintf("api-issued_kill_%s_%s_%s_%s_%s", dataSource, random,
		chrono.FormatMillis(iv.Start, chrono.UTC), chrono.FormatMillis(iv.End, chrono.UTC), chrono.FormatMillis(now, chrono.UTC))
	t.GroupID = t.ID
	t.Payload, err = jsontext.Marshal(object{{"type", t.Type}, {"id", t.ID}, {"groupId", t.ID}, {"dataSource", dataSource}, {"interval", iv}})
	if err != nil {
		return err
	}
	if err := a.tasks.Submit(r.Context(), t); err != nil {
		edge.WriteJSON(w, http.StatusInternalServerError, object{
			{"error", "Exception occurred. Are you sure you have an indexing service?"}, {"message", fault.Classify(err).Message},
		})
		return nil
	}
	payload, err := jsontext.Marshal(object{{"killTaskId", t.ID}, {"interval", iv}})
	if err != nil {
		return err
	}
	entry := Audit(r, auditKill, dataSource)
	entry.Payload = string(payload)
	if err := a.store.Audit(r.Context(), *entry); err != nil {
		return err
	}
	return empty(w, http.StatusOK)
}
