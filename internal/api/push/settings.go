package push

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/secret"
	stream "github.com/hengedb/henge/internal/stream/push"
)

// config answers how the rows of a datasource are read.
func (a *API) config(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("datasource")
	found, err := a.o.Supervisors.Find(r.Context(), SupervisorOf(name))
	if err != nil {
		return err
	}
	if found == nil {
		return fault.NotFound("Nothing was sent to datasource [%s], and it has no settings", name)
	}
	text, err := json.Marshal(found.Spec)
	if err != nil {
		return err
	}
	var shown struct {
		Schema json.RawMessage `json:"dataSchema"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, shown.Schema)
	return nil
}

// configure says how the rows of a datasource are read from now on: a dataSchema.
func (a *API) configure(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("datasource")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxBytes))
	if err != nil {
		return fault.Malformed("Request body could not be read").WithCause(err)
	}
	secret.Hold(r.Context(), string(body))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return fault.Malformed("The settings are no JSON object: %s", fault.JSONProblem(err))
	}
	if members == nil {
		return fault.Malformed("The settings are no JSON object, but null")
	}
	given, ok := members["dataSource"]
	var other string
	if ok && (json.Unmarshal(given, &other) != nil || other != name) {
		return fault.InvalidInput("Member [dataSource] must be [%s], or absent", name)
	}
	members["dataSource"], _ = json.Marshal(name) // texts are JSON
	schema, err := json.Marshal(members)
	if err != nil {
		return err
	}
	put, _, err := a.o.Supervisors.Put(r.Context(), specification(name, schema), true, a.entry(r))
	if err != nil {
		return err
	}
	a.mu.Lock()
	delete(a.tables, name)
	a.mu.Unlock()
	edge.WriteJSON(w, http.StatusOK, map[string]string{"id": put.ID()})
	return nil
}

// specification is that of the supervisor of a datasource.
func specification(name string, schema json.RawMessage) json.RawMessage {
	text, _ := json.Marshal(map[string]any{ // of JSON values
		"type": spec.Push, "id": SupervisorOf(name),
		"spec": map[string]any{
			"dataSchema": schema,
			"ioConfig": map[string]any{
				"type": spec.Push, "inputFormat": map[string]any{"type": "json", "keepNullColumns": true}, "taskCount": 1, "replicas": 1,
				"useEarliestSequenceNumber": true, "startDelay": "PT0.001S", "period": "PT5S", "taskDuration": "PT15M",
			},
			"tuningConfig": map[string]any{"type": spec.Push, "maxSavedParseExceptions": 10},
		},
		"context": map[string]any{"useConcurrentLocks": true},
	})
	return text
}

// discovered is the specification for a datasource that the first rows are sent to: the column of
// the time is the one that the client names, or that its rows have; all others are found while they
// come.
func (a *API) discovered(r *http.Request, name string, body []byte) (json.RawMessage, error) {
	q := r.URL.Query()
	column, format := q.Get("timeColumn"), q.Get("timeFormat")
	if column == "" {
		input, err := stream.FormatOf(r.Header.Get("Content-Type"))
		if err != nil {
			return nil, err
		}
		rows, err := stream.Read(r.Context(), body, input, nil)
		if err != nil {
			return nil, err
		}
		if rows.Bad > 0 && rows.Count == 0 {
			return nil, refusal(rows)
		}
		s, err := ingest.NewSurveyor(ingest.SurveyOptions{TimeFormat: format})
		if err != nil {
			return nil, err
		}
		entities, err := (&ingest.Inline{Data: string(rows.Lines)}).List(r.Context(), nil)
		if err != nil {
			return nil, err
		}
		for _, e := range entities {
			if err := s.Add(r.Context(), "", e); err != nil {
				return nil, err
			}
		}
		found, err := s.Result()
		if err != nil {
			return nil, err
		}
		if found.Time == "" {
			return nil, fault.InvalidInput("No column of the rows holds a time in all of them; name it by timeColumn, "+
				"and how it does by timeFormat (iso, millis, posix or a pattern). Datasource [%s] was not made", name)
		}
		column, format = found.Time, found.TimeFormat
	}
	if format == "" {
		format = "auto"
	}
	schema, err := json.Marshal(map[string]any{
		"dataSource": name, "timestampSpec": map[string]string{"column": column, "format": format},
		"dimensionsSpec":  map[string]any{"useSchemaDiscovery": true},
		"granularitySpec": map[string]any{"segmentGranularity": "HOUR", "queryGranularity": "NONE", "rollup": false},
	})
	if err != nil {
		return nil, err
	}
	return specification(name, schema), nil
}
