package push

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/secret"
	stream "github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/worker/pushlog"
)

// Config returns the configuration for the rows of a datasource.
func (a *API) Config(w http.ResponseWriter, r *http.Request) error {
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
		Schema map[string]json.RawMessage `json:"dataSchema"`
		IO     struct {
			Replicas json.RawMessage `json:"replicas"`
			Tasks    json.RawMessage `json:"taskCount"`
		} `json:"ioConfig"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return err
	}
	shown.Schema["replicas"], shown.Schema["taskCount"] = shown.IO.Replicas, shown.IO.Tasks
	edge.WriteJSON(w, http.StatusOK, shown.Schema)
	return nil
}

// wanted is what settings say beside the dataSchema.
type wanted struct {
	replicas, tasks int
}

// readWanted takes out of settings what is none of a dataSchema, and puts what they say in short
// where a dataSchema has it.
func (a *API) readWanted(members map[string]json.RawMessage) (wanted, error) {
	out := wanted{1, 1}
	for _, m := range []struct {
		name string
		into *int
		most int
	}{{"replicas", &out.replicas, pushlog.MaxReplicas}, {"taskCount", &out.tasks, 1000}} {
		text, ok := members[m.name]
		if !ok {
			continue
		}
		delete(members, m.name)
		if err := json.Unmarshal(text, m.into); err != nil || *m.into < 1 || *m.into > m.most {
			return out, fault.InvalidInput("Member [%s] is a number from [1] to [%d], not [%s]", m.name, m.most, text)
		}
	}
	if out.replicas > 1 && a.o.Replicate == nil {
		return out, fault.InvalidInput("Member [replicas] is [%d], and this is a process with all roles: there is no other worker",
			out.replicas)
	}
	if _, ok := members["keys"]; ok {
		return out, fault.Unsupported("Member [keys] is not supported: rows that are sent are appended, and replace no others")
	}
	short := map[string]json.RawMessage{}
	for _, name := range []string{"segmentGranularity", "rollup"} {
		if text, ok := members[name]; ok {
			short[name] = text
			delete(members, name)
		}
	}
	if len(short) == 0 {
		return out, nil
	}
	granularity := map[string]json.RawMessage{"segmentGranularity": json.RawMessage(`"HOUR"`), "rollup": json.RawMessage("false")}
	if text, ok := members["granularitySpec"]; ok && json.Unmarshal(text, &granularity) != nil {
		return out, fault.InvalidInput("Member [granularitySpec] is not a JSON object")
	}
	maps.Copy(granularity, short)
	text, err := json.Marshal(granularity)
	members["granularitySpec"] = text
	return out, err
}

// Configure replaces the configuration for the rows of a datasource, a dataSchema.
func (a *API) Configure(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("datasource")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxBytes))
	if err != nil {
		return fault.Malformed("Request body could not be read").WithCause(err)
	}
	secret.Hold(r.Context(), string(body))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return fault.Malformed("The settings are not a JSON object: %s", fault.JSONProblem(err))
	}
	if members == nil {
		return fault.Malformed("The settings are not a JSON object, but null")
	}
	given, ok := members["dataSource"]
	var other string
	if ok && (json.Unmarshal(given, &other) != nil || other != name) {
		return fault.InvalidInput("Member [dataSource] must be [%s], or absent", name)
	}
	members["dataSource"], _ = json.Marshal(name) // texts are JSON
	want, err := a.readWanted(members)
	if err != nil {
		return err
	}
	schema, err := json.Marshal(members)
	if err != nil {
		return err
	}
	put, _, err := a.o.Supervisors.Put(r.Context(), specification(name, schema, want), true, a.entry(r))
	if err != nil {
		return err
	}
	if a.o.Replicate != nil {
		if err := a.o.Replicate(r.Context(), name, want.replicas); err != nil {
			return err
		}
	}
	a.mu.Lock()
	delete(a.tables, name)
	a.mu.Unlock()
	edge.WriteJSON(w, http.StatusOK, map[string]string{"id": put.ID()})
	return nil
}

// specification is that of the supervisor of a datasource.
func specification(name string, schema json.RawMessage, want wanted) json.RawMessage {
	text, _ := json.Marshal(map[string]any{ // of JSON values
		"type": spec.Push, "id": SupervisorOf(name),
		"spec": map[string]any{
			"dataSchema": schema,
			"ioConfig": map[string]any{
				"type": spec.Push, "inputFormat": map[string]any{"type": "json", "keepNullColumns": true},
				"taskCount": want.tasks, "replicas": want.replicas,
				"useEarliestSequenceNumber": true, "startDelay": "PT0.001S", "period": "PT5S", "taskDuration": "PT15M",
			},
			"tuningConfig": map[string]any{"type": spec.Push, "maxSavedParseExceptions": 10,
				// What is not published is in the logs, whether their workers answer now or not.
				"skipSequenceNumberAvailabilityCheck": true},
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
		rows, err := a.read(r.Context(), body, input, nil)
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
			return nil, fault.InvalidInput("No column has a time in every row; set it with timeColumn, "+
				"and how it does by timeFormat (iso, millis, posix or a pattern). Datasource [%s] was not made", name)
		}
		column, format = found.Time, found.TimeFormat
	}
	if format == "" || format == "iso" && q.Get("timeFormat") == "" {
		// What a survey calls iso may have a blank for the T, as in statements.
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
	return specification(name, schema, wanted{1, 1}), nil
}
