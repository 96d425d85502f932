// Package tasks serves the task endpoints of the Overlord: submit, status, payload, reports, log,
// shut down, and the lists (tasks.go), locks and promised segments (locks.go), and the workers with
// their endpoints (workers.go).
//
// This package defines the shapes of responses; package task supplies the facts. The interface
// Files reads the reports and logs that tasks leave, and the live reports of running tasks.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sort"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
)

// Files returns files of running and finished tasks. A nil reader means that the file does not
// exist.
type Files interface {
	// Report returns the report of a task as JSON, in the shapes of the given product name.
	Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error)
	// Log returns the log of a task from offset; a negative offset counts from the end.
	Log(ctx context.Context, id string, offset int64) (io.ReadCloser, error)
	// DeadLetters returns the records that a task could not parse, one per line.
	DeadLetters(ctx context.Context, id string) (io.ReadCloser, error)
}

// Local is a worker of a cluster, which runs the tasks of an Overlord.
type Local interface {
	Enabled() bool
	Enable(on bool)
	// Tasks returns the ids of running tasks.
	Tasks() []string
	// Stop ends a task; it ignores tasks that are not running.
	Stop(ctx context.Context, id, reason string) error
}

// Locks is the interface of the endpoints to the metastore.
type Locks interface {
	Locks(ctx context.Context, dataSource string) ([]tasklock.Lock, error)
	DeletePending(ctx context.Context, fence metastore.Fence, dataSource string, filter metastore.PendingFilter) (deleted int64, err error)
}

// Options are the settings of the endpoints.
type Options struct {
	// Locks stores the locks of tasks and their allocated segments.
	Locks Locks
	// Needs returns the permissions that a submitted task requires in addition to writing its
	// datasource; nil: none. The access determines the checks of its statement.
	Needs func(ctx context.Context, access *auth.Access, t *task.Task) ([]auth.Need, error)
	// Audit, if not nil, records the submission of a task.
	Audit func(r *http.Request, t *task.Task) error
	// Worker is the address of this process as a worker.
	Worker task.Location

	// Local are the tasks of this process as a worker of a cluster; nil: the tasks of the queue.
	Local Local
	// Recent is the time, in milliseconds, for which finished tasks stay in lists.
	Recent int64
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
	Clock           clock.Clock
}

// API serves the endpoints.
type API struct {
	queue *task.Queue
	files Files
	o     Options
}

// New returns the endpoints on queue.
func New(queue *task.Queue, files Files, o Options) *API {
	return &API{queue: queue, files: files, o: o}
}

// base is where the Overlord's endpoints are.
const base = "/service/indexer/v1"

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("POST "+base+"/task", edge.JSONOnly(a.submit))
	mux.On("GET "+base+"/task/{id}", a.payload)
	mux.On("GET "+base+"/task/{id}/status", a.status)
	mux.On("GET "+base+"/task/{id}/reports", a.reports)
	mux.On("GET "+base+"/task/{id}/log", a.log)
	mux.On("GET "+base+"/task/{id}/deadLetters", a.deadLetters)
	mux.On("GET "+base+"/task/{id}/segments", a.segments)
	mux.On("POST "+base+"/task/{id}/shutdown", a.shutdown)
	mux.On("POST "+base+"/datasources/{dataSource}/shutdownAllTasks", a.shutdownAll)
	mux.On("POST "+base+"/taskStatus", edge.JSONOnly(a.statuses))
	mux.On("GET "+base+"/tasks", a.list)
	for path, l := range map[string]listing{
		"runningTasks": {state: "running"}, "pendingTasks": {state: "pending"}, "waitingTasks": {state: "waiting"}, "completeTasks": {state: "complete", limit: "n"},
	} {
		mux.On("GET "+base+"/"+path, func(w http.ResponseWriter, r *http.Request) error { return a.listState(w, r, l) })
	}
	a.workerRoutes(mux)
	a.lockRoutes(mux)
}

type location struct {
	Host    *string `json:"host"`
	Port    int     `json:"port"`
	TLSPort int     `json:"tlsPort"`
}

// shownPort returns a port as the interface shows it, where -1 is none.
func shownPort(port int) int {
	if port <= 0 {
		return -1
	}
	return port
}

type statusObject struct {
	ID                 string   `json:"id"`
	GroupID            string   `json:"groupId"`
	Type               string   `json:"type"`
	CreatedTime        string   `json:"createdTime"`
	QueueInsertionTime string   `json:"queueInsertionTime"`
	StatusCode         string   `json:"statusCode"`
	Status             string   `json:"status"`
	RunnerStatusCode   string   `json:"runnerStatusCode"`
	Duration           int64    `json:"duration"`
	Location           location `json:"location"`
	DataSource         string   `json:"dataSource"`
	ErrorMsg           *string  `json:"errorMsg"`
}

// object gives a status as the interface shows it. The time of queueing is shown for active tasks
// in lists only.
func object(s *task.Status, inList bool) statusObject {
	o := statusObject{
		ID: s.Task.ID, GroupID: s.Task.GroupID, Type: s.Task.Type, CreatedTime: chrono.FormatMillis(s.Task.Created, chrono.UTC),
		StatusCode: s.State.StatusCode(), Status: s.State.StatusCode(), RunnerStatusCode: s.State.RunnerStatusCode(),
		Duration: s.Duration, Location: location{Port: -1, TLSPort: -1}, DataSource: s.Task.DataSource,
	}
	queued := int64(0)
	if inList && !s.State.Done() {
		queued = s.Queued
	}
	o.QueueInsertionTime = chrono.FormatMillis(queued, chrono.UTC)
	if s.Location.Host != "" {
		o.Location = location{Host: &s.Location.Host, Port: shownPort(s.Location.Port), TLSPort: shownPort(s.Location.TLSPort)}
	}
	if s.Error != "" {
		o.ErrorMsg = &s.Error
	}
	return o
}

// find returns the task named in the path; when it is unknown the answer has been written and s is
// nil.
func (a *API) find(w http.ResponseWriter, r *http.Request) (s *task.Status, err error) {
	id := r.PathValue("id")
	s, err = a.queue.Find(r.Context(), id)
	if err == nil && s == nil {
		edge.WriteText(w, http.StatusNotFound, fmt.Sprintf("Cannot find any task with id: [%s]", id))
	}
	if s == nil || err != nil {
		return nil, err
	}
	need := auth.Need{Resource: auth.Resource{Name: s.Task.DataSource, Kind: auth.Datasource}, Action: endpoints.ActionOf(r.Method)}
	if err := auth.Of(r.Context()).Check(r.Context(), need); err != nil {
		return nil, err
	}
	return s, nil
}

func (a *API) status(w http.ResponseWriter, r *http.Request) error {
	s, err := a.find(w, r)
	if s == nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, struct {
		Task   string       `json:"task"`
		Status statusObject `json:"status"`
	}{s.Task.ID, object(s, false)})
	return nil
}

func (a *API) payload(w http.ResponseWriter, r *http.Request) error {
	s, err := a.find(w, r)
	if s == nil {
		return err
	}
	secret.Hold(r.Context(), string(s.Task.Payload))
	return edge.WriteMasked(r.Context(), w, http.StatusOK, struct {
		Task    string          `json:"task"`
		Payload json.RawMessage `json:"payload"`
	}{s.Task.ID, s.Task.Payload})
}

func (a *API) reports(w http.ResponseWriter, r *http.Request) error {
	s, err := a.find(w, r)
	if s == nil {
		return err
	}
	secret.Hold(r.Context(), string(s.Task.Payload))
	report, err := a.files.Report(r.Context(), r.PathValue("id"), edge.DialectOf(r.Context()).IsAlias())
	if err != nil {
		return err
	}
	if report == nil { // the sentence is not quoted, though the endpoint's type is JSON
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "No task reports were found for this task. The task may not exist, or it may not have completed yet.") // the caller is gone if it fails
		return nil
	}
	defer report.Close()
	return copyBody(w, "application/json", secret.HeldBy(r.Context()).Reader(report))
}

func (a *API) log(w http.ResponseWriter, r *http.Request) error {
	if s, err := a.find(w, r); s == nil {
		return err
	}
	return a.writeLog(w, r)
}

// deadLetters answers with the records that a task could not read.
func (a *API) deadLetters(w http.ResponseWriter, r *http.Request) error {
	if s, err := a.find(w, r); s == nil {
		return err
	}
	letters, err := a.files.DeadLetters(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if letters == nil {
		edge.WriteText(w, http.StatusNotFound, "This task has read all its records.")
		return nil
	}
	defer letters.Close() // it was only read
	return copyBody(w, "application/x-ndjson", letters)
}

// writeLog answers with the log of the task named in the path.
func (a *API) writeLog(w http.ResponseWriter, r *http.Request) error {
	offset := int64(0)
	if text := r.URL.Query().Get("offset"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusNotFound) // quirk Q014: as Druid does for any number it can't read
			return nil
		}
		offset = n
	}
	log, err := a.files.Log(r.Context(), r.PathValue("id"), offset)
	if err != nil {
		return err
	}
	if log == nil {
		edge.WriteText(w, http.StatusNotFound, "No log was found for this task. The task may not exist, or it may not have begun running yet.")
		return nil
	}
	defer log.Close()
	return copyBody(w, "text/plain; charset=utf-8", log)
}

// copyBody streams an answer; when it fails midway the connection breaks off.
func copyBody(w http.ResponseWriter, contentType string, from io.Reader) error {
	w.Header().Set("Content-Type", contentType)
	if _, err := io.Copy(w, from); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (a *API) segments(w http.ResponseWriter, r *http.Request) error {
	if s, err := a.find(w, r); s == nil {
		return err
	}
	edge.WriteJSON(w, http.StatusNotFound, map[string]string{
		"error": "Segment IDs committed by a task action are not persisted anymore. Use the metric 'segment/added/bytes' to identify the segments created by a task.",
	})
	return nil
}

// shutdownReason is the text by which clients tell a cancelled task from a failed one.
const shutdownReason = "Shutdown request from user"

func (a *API) shutdown(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if s, err := a.find(w, r); s == nil {
		return err
	}
	found, err := a.queue.Stop(r.Context(), id, shutdownReason)
	if err != nil {
		return err
	}
	if !found {
		edge.WriteText(w, http.StatusNotFound, fmt.Sprintf("Cannot find any task with id: [%s]", id))
		return nil
	}
	edge.WriteJSON(w, http.StatusOK, map[string]string{"task": id})
	return nil
}

func (a *API) shutdownAll(w http.ResponseWriter, r *http.Request) error {
	dataSource := r.PathValue("dataSource")
	n, err := a.queue.StopAll(r.Context(), dataSource, shutdownReason)
	if err != nil {
		return err
	}
	if n == 0 {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	edge.WriteJSON(w, http.StatusOK, map[string]string{"dataSource": dataSource})
	return nil
}

// audited are the types of tasks that change data by themselves, and so are in the audit history.
var audited = map[string]bool{
	"index_parallel": true, "index": true, "compact": true, "kill": true, "move": true, "archive": true, "restore": true,
}

// permit refuses a task whose user may not write its datasource, or read what it reads.
func (a *API) permit(ctx context.Context, t *task.Task) error {
	access := auth.Of(ctx)
	if !access.Limited() {
		return nil
	}
	needs := []auth.Need{auth.Writes(auth.Datasource, t.DataSource)}
	if a.o.Needs != nil {
		more, err := a.o.Needs(ctx, access, t)
		if err != nil {
			return err
		}
		needs = append(needs, more...)
	}
	return access.Check(ctx, needs...)
}

// submit takes a task as JSON.
func (a *API) submit(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		return fault.Malformed("Task could not be read: %v", err)
	}
	secret.Hold(r.Context(), string(body))
	if err := secret.Check(body); err != nil {
		return err
	}
	t, err := a.queue.Read(body)
	if err != nil {
		return err
	}
	if err := a.permit(r.Context(), t); err != nil {
		return err
	}
	if err := a.queue.Submit(r.Context(), t); err != nil {
		return err
	}
	if a.o.Audit != nil && audited[t.Type] {
		if err := a.o.Audit(r, t); err != nil {
			return err
		}
	}
	edge.WriteJSON(w, http.StatusOK, map[string]string{"task": t.ID})
	return nil
}

func (a *API) statuses(w http.ResponseWriter, r *http.Request) error {
	var ids []string
	if err := edge.ReadJSON(w, r, a.o.MaxRequestBytes, &ids); err != nil && !errors.Is(err, io.EOF) {
		return fault.Malformed("Body is not a list of task ids: %v", err)
	}
	if len(ids) == 0 {
		edge.WriteText(w, http.StatusBadRequest, "No Task IDs provided.")
		return nil
	}
	type brief struct {
		ID       string   `json:"id"`
		Status   string   `json:"status"`
		Duration int64    `json:"duration"`
		ErrorMsg *string  `json:"errorMsg"`
		Location location `json:"location"`
	}
	out := map[string]brief{}
	for _, id := range ids {
		s, err := a.queue.Find(r.Context(), id)
		if err != nil {
			return err
		}
		if s != nil {
			o := object(s, false)
			out[id] = brief{o.ID, o.StatusCode, o.Duration, o.ErrorMsg, o.Location}
		}
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

var listStates = []string{"pending", "waiting", "running", "complete"}

func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	state := r.URL.Query().Get("state")
	if r.URL.Query().Has("state") {
		known := false
		for _, s := range listStates {
			known = known || strings.EqualFold(s, state)
		}
		if !known {
			edge.WriteText(w, http.StatusBadRequest, fmt.Sprintf("Invalid task state[%s]. Must be one of [pending, waiting, running, complete].", state))
			return nil
		}
	}
	return a.listState(w, r, listing{state: strings.ToLower(state), limit: "max", byTime: true})
}

// listing is what an endpoint lists, and which parameters it reads besides the filters.
type listing struct {
	// state is the tasks' state; "": all.
	state string
	// limit names the parameter with the number of complete tasks; "": none does.
	limit string
	// byTime says that createdTimeInterval is read.
	byTime bool
}

// listState writes tasks, complete ones first and newest first, under the filters of the query
// string.
func (a *API) listState(w http.ResponseWriter, r *http.Request, l listing) error {
	q, state := r.URL.Query(), l.state
	limit := math.MaxInt
	if text := q.Get(l.limit); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return nil
		}
		limit = int(n)
	}
	access := auth.Of(r.Context())
	access.Pass()
	if name := q.Get("datasource"); name != "" {
		if err := access.Check(r.Context(), auth.Reads(auth.Datasource, name)); err != nil {
			return err
		}
	}
	keep := func(s *task.Status) bool {
		return (q.Get("datasource") == "" || q.Get("datasource") == s.Task.DataSource) && (q.Get("type") == "" || q.Get("type") == s.Task.Type) &&
			access.MayRead(r.Context(), s.Task.DataSource)
	}
	out := []statusObject{}
	var active []task.Status
	if state == "" || state == "complete" {
		since, until := clock.Millis(a.o.Clock)-a.o.Recent, int64(math.MaxInt64)
		if text := q.Get("createdTimeInterval"); l.byTime && text != "" {
			iv, err := chrono.ParseInterval(strings.ReplaceAll(text, "_", "/"))
			if err != nil {
				return err
			}
			since, until = iv.Start, iv.End
		}
		done, rest, err := a.queue.Known(r.Context(), since)
		if err != nil {
			return err
		}
		active = rest
		sort.SliceStable(done, func(i, j int) bool { return done[i].Task.Created > done[j].Task.Created })
		for i := range done {
			if len(out) < limit && done[i].Task.Created < until && keep(&done[i]) {
				out = append(out, object(&done[i], true))
			}
		}
	} else {
		active = a.queue.Active()
	}
	for _, s := range active {
		if keep(&s) && (state == "" || strings.EqualFold(state, s.State.RunnerStatusCode())) {
			out = append(out, object(&s, true))
		}
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}
