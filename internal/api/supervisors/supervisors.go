// Package supervisors serves the endpoints of the Overlord for supervisors: create, update,
// suspend, resume, reset and terminate, and their lists, states, reports and histories.
//
// The kinds of package supervisor interpret specifications and report progress; this package
// defines the shapes of responses and errors.
package supervisors

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/supervisor"
)

// Options are the settings of the endpoints.
type Options struct {
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
	// Audit returns the audit entry of a request.
	Audit func(r *http.Request, kind, key string) *metastore.AuditEntry
	// Needs returns the needs of a new specification in addition to writing its datasources; nil:
	// none.
	Needs func(ctx context.Context, access *auth.Access, s *supervisor.Supervisor) ([]auth.Need, error)
	Clock clock.Clock
	// Checkpoint handles the checkpoints of tasks that read streams (stream/chat); nil: there are no
	// such tasks.
	Checkpoint chat.Overlord
}

// API serves the endpoints.
type API struct {
	set *supervisor.Set
	o   Options
}

// New returns the endpoints of a set.
func New(set *supervisor.Set, o Options) *API { return &API{set, o} }

// auditKind is the kind of these changes in the audit history; the key is the supervisor.
const auditKind = "supervisor"

const base = "/service/indexer/v1/supervisor"

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("GET "+base, a.list)
	mux.On("POST "+base, edge.JSONOnly(a.put))
	mux.On("GET "+base+"/history", a.allHistory)
	mux.On("GET "+base+"/{id}", a.known(func(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
		return write(w, r, s.Spec)
	}))
	mux.On("GET "+base+"/{id}/status", a.known(a.status))
	mux.On("GET "+base+"/{id}/health", a.known(a.health))
	mux.On("GET "+base+"/{id}/stats", a.known(func(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
		return answer(w, r, s.Stats)
	}))
	mux.On("GET "+base+"/{id}/parseErrors", a.known(func(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
		return answer(w, r, s.ParseErrors)
	}))
	mux.On("GET "+base+"/{id}/offsets", a.known(a.positions))
	mux.On("GET "+base+"/{id}/history", a.history)
	for path, on := range map[string]bool{"suspend": true, "resume": false} {
		mux.On("POST "+base+"/{id}/"+path, a.known(func(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
			return a.suspend(w, r, s, on)
		}))
	}
	mux.On("POST "+base+"/{id}/reset", a.known(a.reset))
	mux.On("POST "+base+"/{id}/resetOffsets", jsonIfAny(a.known(a.resetOffsets)))
	mux.On("POST "+base+"/{id}/resetToLatestAndBackfill", a.known(a.backfill))
	for _, path := range []string{"terminate", "shutdown"} {
		mux.On("POST "+base+"/{id}/"+path, a.known(a.terminate))
	}
	mux.On("POST "+base+"/{id}/taskGroups/handoff", jsonIfAny(a.known(a.handOff)))
	if a.o.Checkpoint != nil {
		mux.On("POST "+chat.CheckpointPath, a.checkpoint)
	}
	mux.On("POST "+base+"/suspendAll", a.every(func(ctx context.Context, _ *http.Request, s *supervisor.Supervisor) error {
		return a.flip(ctx, s, true)
	}))
	mux.On("POST "+base+"/resumeAll", a.every(func(ctx context.Context, _ *http.Request, s *supervisor.Supervisor) error {
		return a.flip(ctx, s, false)
	}))
	mux.On("POST "+base+"/terminateAll", a.every(func(ctx context.Context, r *http.Request, s *supervisor.Supervisor) error {
		_, err := a.set.Terminate(ctx, s.ID(), a.o.Audit(r, auditKind, s.ID()))
		return err
	}))
	for _, name := range []string{"suspendAll", "resumeAll", "terminateAll"} { // these are no ids
		mux.On("GET "+base+"/"+name, func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return nil
		})
	}
}

// jsonIfAny is edge.JSONOnly for an endpoint that also takes requests without a body.
func jsonIfAny(h edge.Handler) edge.Handler {
	strict := edge.JSONOnly(h)
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
			return h(w, r)
		}
		return strict(w, r)
	}
}

// answer writes what a question gives.
func answer(w http.ResponseWriter, r *http.Request, ask func(context.Context) (any, error)) error {
	v, err := ask(r.Context())
	if err != nil {
		return err
	}
	return write(w, r, v)
}

// write answers with what may have parts of specifications.
func write(w http.ResponseWriter, r *http.Request, v any) error {
	return edge.WriteMasked(r.Context(), w, http.StatusOK, v)
}

func refuse(w http.ResponseWriter, status int, format string, args ...any) error {
	edge.WriteJSON(w, status, map[string]string{"error": fault.Sprintf(format, args...)})
	return nil
}

// refuseInput answers {"error": ..} to what a caller did wrong; other errors are returned.
func refuseInput(w http.ResponseWriter, err error) error {
	if f := fault.Find(err); f != nil && (f.Category == fault.CategoryInvalidInput) {
		return refuse(w, http.StatusBadRequest, "%s", f.Message)
	}
	return err
}

// known makes a handler of one for the supervisor of the path. If there is none, the answer is 404.
func (a *API) known(h func(http.ResponseWriter, *http.Request, *supervisor.Supervisor) error) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		s, err := a.set.Find(r.Context(), id)
		if err != nil {
			return err
		}
		if s == nil {
			edge.WriteText(w, http.StatusNotFound, fmt.Sprintf("Cannot find any supervisor with id: [%s]", id))
			return nil
		}
		if err := permit(r.Context(), endpoints.ActionOf(r.Method), s.DataSources()); err != nil {
			return err
		}
		hold(r, s)
		return h(w, r, s)
	}
}

// hold has what is said of a supervisor masked by its secrets.
func hold(r *http.Request, s *supervisor.Supervisor) {
	if text, err := json.Marshal(s.Spec); err == nil {
		secret.Hold(r.Context(), string(text))
	}
}

// permit refuses what is about datasources that the user may not read or write. A supervisor
// without any is a part of the cluster.
func permit(ctx context.Context, action auth.Action, dataSources []string) error {
	return auth.Of(ctx).Check(ctx, needsOf(action, dataSources)...)
}

func needsOf(action auth.Action, dataSources []string) []auth.Need {
	var out []auth.Need
	for _, name := range dataSources {
		out = append(out, auth.Need{Resource: auth.Resource{Name: name, Kind: auth.Datasource}, Action: action})
	}
	if len(out) == 0 {
		out = []auth.Need{{Resource: auth.Resource{Name: string(auth.State), Kind: auth.State}, Action: action}}
	}
	return out
}

// permitted leaves out the supervisors whose datasources the user may not all read or write.
func permitted(ctx context.Context, action auth.Action, list []*supervisor.Supervisor) []*supervisor.Supervisor {
	access := auth.Of(ctx)
	access.Pass()
	return slices.DeleteFunc(list, func(s *supervisor.Supervisor) bool {
		return slices.ContainsFunc(needsOf(action, s.DataSources()), func(n auth.Need) bool { return !access.May(ctx, n) })
	})
}

// listed is a supervisor in a list.
type listed struct {
	ID         string          `json:"id"`
	DataSource string          `json:"dataSource,omitempty"`
	State      string          `json:"state"`
	Detailed   string          `json:"detailedState"`
	Healthy    bool            `json:"healthy"`
	Spec       supervisor.Spec `json:"spec,omitempty"`
	Text       *string         `json:"specString,omitempty"`
	Type       string          `json:"type,omitempty"`
	Source     string          `json:"source,omitempty"`
	Suspended  bool            `json:"suspended"`
}

// list answers ids, or with full, state=true or system what each of them asks for; full and system
// are flags with any value.
func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	all, err := a.set.List(r.Context())
	if err != nil {
		return err
	}
	all = permitted(r.Context(), auth.Read, all)
	query := r.URL.Query()
	full, system := query.Has("full"), query.Has("system")
	if !full && !system && query.Get("state") != "true" {
		ids := make([]string, len(all))
		for i, s := range all {
			ids[i] = s.ID()
		}
		return write(w, r, ids)
	}
	out := make([]listed, len(all))
	for i, s := range all {
		hold(r, s)
		state, err := s.State(r.Context())
		if err != nil {
			return err
		}
		out[i] = listed{ID: s.ID(), DataSource: strings.Join(s.DataSources(), ","), State: state.State, Detailed: state.Detailed,
			Healthy: state.Healthy, Suspended: s.Suspended()}
		if full {
			out[i].Spec = s.Spec
		}
		if system {
			text, err := jsontext.Marshal(s.Spec)
			if err != nil {
				return err
			}
			shown := string(text)
			out[i].Text, out[i].Type, out[i].Source = &shown, s.Type, s.Source()
		}
	}
	return write(w, r, out)
}

// put creates a supervisor or updates one.
func (a *API) put(w http.ResponseWriter, r *http.Request) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		return fault.Malformed("The request could not be read").WithCause(err)
	}
	secret.Hold(r.Context(), string(text))
	if len(text) == 0 || string(text) == "null" {
		return refuse(w, http.StatusBadRequest, "The body must be a supervisor specification")
	}
	if err := a.permitSpec(r.Context(), text); err != nil {
		return refuseInput(w, err)
	}
	keep := r.URL.Query().Get("skipRestartIfUnmodified") == "true"
	s, change, err := a.set.Put(r.Context(), text, keep, func(id string) *metastore.AuditEntry { return a.o.Audit(r, auditKind, id) })
	if err != nil {
		return refuseInput(w, err)
	}
	return write(w, r, struct {
		ID        string `json:"id"`
		Modified  bool   `json:"modified"`
		Restarted bool   `json:"restarted"`
	}{s.ID(), change.Modified, change.Restarted})
}

// permitSpec refuses a specification whose user may not write its datasources, or those of the
// supervisor that it replaces, or read what it reads.
func (a *API) permitSpec(ctx context.Context, text []byte) error {
	access := auth.Of(ctx)
	if !access.Limited() {
		return nil
	}
	s, err := a.set.Read(text)
	if err != nil {
		return err
	}
	needs := needsOf(auth.Write, s.DataSources())
	if before, err := a.set.Find(ctx, s.ID()); err == nil && before != nil {
		needs = append(needs, needsOf(auth.Write, before.DataSources())...)
	}
	if a.o.Needs != nil {
		more, err := a.o.Needs(ctx, access, s)
		if err != nil {
			return err
		}
		needs = append(needs, more...)
	}
	return access.Check(ctx, needs...)
}

func (a *API) status(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	report, ok, err := s.Report(r.Context())
	switch {
	case err != nil:
		return err
	case !ok:
		return refuse(w, http.StatusNotFound, "[%s] does not exist", s.ID())
	}
	return write(w, r, struct {
		ID      string `json:"id"`
		Time    string `json:"generationTime"`
		Payload any    `json:"payload"`
	}{s.ID(), chrono.FormatMillis(clock.Millis(a.o.Clock), chrono.UTC), report})
}

func (a *API) health(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	if _, ok, err := s.Report(r.Context()); err != nil {
		return err
	} else if !ok {
		return refuse(w, http.StatusNotFound, "[%s] does not exist or health check not implemented", s.ID())
	}
	state, err := s.State(r.Context())
	if err != nil {
		return err
	}
	status := http.StatusOK
	if !state.Healthy {
		status = http.StatusServiceUnavailable
	}
	edge.WriteJSON(w, status, map[string]bool{"healthy": state.Healthy})
	return nil
}

func (a *API) suspend(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor, on bool) error {
	next, err := a.set.Suspend(r.Context(), s.ID(), on)
	switch {
	case err != nil:
		return refuseInput(w, err)
	case next == nil:
		return refuse(w, http.StatusNotFound, "[%s] does not exist", s.ID())
	}
	return write(w, r, next.Spec)
}

// flip suspends or resumes a supervisor that is not yet so.
func (a *API) flip(ctx context.Context, s *supervisor.Supervisor, on bool) error {
	if s.Suspended() == on {
		return nil
	}
	_, err := a.set.Suspend(ctx, s.ID(), on)
	return err
}

func (a *API) reset(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	if err := s.Reset(r.Context()); err != nil {
		return refuseInput(w, err)
	}
	return write(w, r, map[string]string{"id": s.ID()})
}

func (a *API) terminate(w http.ResponseWriter, r *http.Request, s *supervisor.Supervisor) error {
	ended, err := a.set.Terminate(r.Context(), s.ID(), a.o.Audit(r, auditKind, s.ID()))
	switch {
	case err != nil:
		return err
	case !ended:
		return refuse(w, http.StatusNotFound, "[%s] does not exist", s.ID())
	}
	return write(w, r, map[string]string{"id": s.ID()})
}

// every makes a handler that does something to all supervisors.
func (a *API) every(do func(ctx context.Context, r *http.Request, s *supervisor.Supervisor) error) edge.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		all, err := a.set.List(r.Context())
		if err != nil {
			return err
		}
		for _, s := range permitted(r.Context(), auth.Write, all) {
			if err := do(r.Context(), r, s); err != nil {
				return err
			}
		}
		return write(w, r, map[string]string{"status": "success"})
	}
}

// record is a version in a history.
type record struct {
	Spec    json.RawMessage `json:"spec"`
	Version string          `json:"version"`
}

func records(versions []supervisor.Version) []record {
	out := make([]record, len(versions))
	for i, v := range versions {
		out[i] = record{v.Spec, chrono.FormatMillis(v.Created, chrono.UTC)}
	}
	return out
}

func (a *API) history(w http.ResponseWriter, r *http.Request) error {
	versions, err := a.set.History(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	access := auth.Of(r.Context())
	if versions = a.readable(r.Context(), access, versions); len(versions) == 0 {
		return refuse(w, http.StatusNotFound, "No history for [%s].", r.PathValue("id"))
	}
	if text := r.URL.Query().Get("count"); text != "" {
		count, err := strconv.ParseInt(text, 10, 32)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusNotFound) // as for any number that can't be read
			return nil
		case count < 1:
			return refuse(w, http.StatusBadRequest, "Count must be greater than zero if set (count was %d)", count)
		}
		versions = versions[:min(int(count), len(versions))]
	}
	return write(w, r, records(versions))
}

func (a *API) allHistory(w http.ResponseWriter, r *http.Request) error {
	all, err := a.set.AllHistory(r.Context())
	if err != nil {
		return err
	}
	out := make(map[string][]record, len(all))
	access := auth.Of(r.Context())
	access.Pass()
	for id, versions := range all {
		if versions = a.readable(r.Context(), access, versions); len(versions) > 0 {
			out[id] = records(versions)
		}
	}
	return write(w, r, out)
}

// readable leaves out the versions of datasources that the user may not read. An end of a
// supervisor is of the version before it; what can't be read any more is part of the state of the
// cluster.
func (a *API) readable(ctx context.Context, access *auth.Access, versions []supervisor.Version) []supervisor.Version {
	access.Pass()
	if !access.Limited() {
		return versions
	}
	var out []supervisor.Version
	var dataSources []string
	for _, v := range slices.Backward(versions) { // the oldest first
		if of, ok := a.set.DataSourcesOf(v.Spec); ok {
			dataSources = of
		}
		if !slices.ContainsFunc(needsOf(auth.Read, dataSources), func(n auth.Need) bool { return !access.May(ctx, n) }) {
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}
