package workers

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// ChatOptions are what answers for tasks that run in this process.
type ChatOptions struct {
	// Streams are the tasks that read streams.
	Streams Streams
	// Ask answers a question about any other task, by its id and the path of the question: a text, or
	// what is written as JSON.
	Ask func(id, path string) (any, error)
	// DataSource returns the datasource of a task; "": there is no such task.
	DataSource func(ctx context.Context, id string) (string, error)
}

// Streams are the tasks of a process that read streams.
type Streams interface {
	chat.Tasks
	// Report returns the report of a task so far; false: it does not run here.
	Report(id string) (json.RawMessage, bool)
	// RowStats shows the counters of a task.
	RowStats(s chat.Stats) any
}

// pauseWait is how long a request for a pause waits before it is answered that it is under way.
const pauseWait = 2 * time.Second

// ChatRoutes adds what is asked of running tasks.
func ChatRoutes(mux *edge.Mux, o ChatOptions) {
	c := &chats{o}
	mux.On("GET "+chat.Base+"{id}/{path...}", c.permitted(c.get))
	mux.On("POST "+chat.Base+"{id}/{path...}", c.permitted(func(w http.ResponseWriter, r *http.Request) error {
		return refused(w, c.post(w, r))
	}))
}

// permitted makes a handler of one for tasks whose datasource the user may read, or write.
func (c *chats) permitted(h edge.Handler) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		access := auth.Of(r.Context())
		if !access.Limited() {
			return h(w, r)
		}
		id := r.PathValue("id")
		name, err := c.o.DataSource(r.Context(), id)
		if err != nil {
			return err
		}
		if name == "" {
			return fault.NotFound("Task [%s] does not run here", id)
		}
		need := auth.Need{Resource: auth.Resource{Name: name, Kind: auth.Datasource}, Action: endpoints.ActionOf(r.Method)}
		if err := access.Check(r.Context(), need); err != nil {
			return err
		}
		return h(w, r)
	}
}

// refused answers what a task does not do in its state with a text.
func refused(w http.ResponseWriter, err error) error {
	f := fault.Find(err)
	switch {
	case f == nil:
		return err
	case f.Category == fault.CategoryConflict:
		edge.WriteText(w, http.StatusConflict, f.Message)
	case f.Category == fault.CategoryInvalidInput:
		edge.WriteText(w, http.StatusBadRequest, f.Message)
	default:
		return err
	}
	return nil
}

type chats struct{ o ChatOptions }

// get answers a question.
func (c *chats) get(w http.ResponseWriter, r *http.Request) error {
	id, path, full := r.PathValue("id"), r.PathValue("path"), r.URL.Query().Get("full") == "true"
	t := c.o.Streams.Find(id)
	if t == nil {
		answer, err := c.o.Ask(id, path)
		if err != nil {
			return err
		}
		if text, ok := answer.(string); ok {
			edge.WriteText(w, http.StatusOK, text)
			return nil
		}
		edge.WriteJSON(w, http.StatusOK, answer)
		return nil
	}
	answer, err := c.answer(r.Context(), t, id, path, full)
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// answer returns what a task that reads a stream says of itself.
func (c *chats) answer(ctx context.Context, t chat.Task, id, path string, full bool) (any, error) {
	switch path {
	case "liveReports":
		if report, ok := c.o.Streams.Report(id); ok {
			return report, nil
		}
		return nil, fault.NotFound("Task [%s] does not run here", id)
	case "rowStats":
		s, err := t.Stats(ctx)
		if err != nil || full {
			return s, err
		}
		return c.o.Streams.RowStats(s), nil
	case "unparseableEvents":
		return t.ParseErrors(ctx)
	}
	s, err := t.Status(ctx)
	if err != nil {
		return nil, err
	}
	switch path {
	case "status":
		if full {
			return s, nil
		}
		return s.State, nil
	case "offsets/current":
		return positions(s.Current), nil
	case "offsets/end":
		return positions(s.Ends), nil
	case "checkpoints":
		return s.Checkpoints, nil
	case "time/start":
		if s.Started == 0 {
			return nil, nil
		}
		return chrono.FormatMillis(s.Started, chrono.UTC), nil
	}
	return nil, fault.NotFound("Task [%s] has no [%s]", id, path)
}

// positions is never null.
func positions(p stream.Positions) stream.Positions {
	if p == nil {
		return stream.Positions{}
	}
	return p
}

// post steers a task.
func (c *chats) post(w http.ResponseWriter, r *http.Request) error {
	id, path := r.PathValue("id"), r.PathValue("path")
	t := c.o.Streams.Find(id)
	if t == nil {
		return fault.Unavailable("Can't find chatHandler for handler[%s]", id)
	}
	switch path {
	case "pause":
		return pause(w, r, t)
	case "resume":
		if err := t.Resume(r.Context()); err != nil {
			return err
		}
	case "stop":
		if err := t.Stop(r.Context(), r.URL.Query().Get("publish") == "true"); err != nil {
			return err
		}
	case "offsets/end":
		var ends stream.Positions
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&ends); err != nil || len(ends) == 0 {
			return fault.InvalidInput("Request body must contain a map of { partition:endOffset }").WithCause(err)
		}
		if err := t.SetEnds(r.Context(), ends, r.URL.Query().Get("finish") != "false"); err != nil {
			return err
		}
		edge.WriteJSON(w, http.StatusOK, ends)
		return nil
	case "pendingSegmentVersion": // what a replacement does to promised ids is found out when they are published
	default:
		return fault.NotFound("Task [%s] has no [%s]", id, path)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// pause answers where reading stands still, or that it is about to.
func pause(w http.ResponseWriter, r *http.Request, t chat.Task) error {
	ctx, cancel := context.WithTimeout(r.Context(), pauseWait)
	defer cancel()
	at, err := t.Pause(ctx)
	switch {
	case err == nil:
		edge.WriteJSON(w, http.StatusOK, at)
		return nil
	case ctx.Err() != nil && r.Context().Err() == nil:
		edge.WriteText(w, http.StatusAccepted, "Request accepted but task has not yet paused")
		return nil
	}
	return err
}
