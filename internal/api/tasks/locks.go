package tasks

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/tasklock"
)

// lockRoutes adds the endpoints about locks and promised segments.
func (a *API) lockRoutes(mux *edge.Mux) {
	mux.On("POST "+base+"/lockedIntervals", edge.JSONOnly(a.lockedByPriority))
	mux.On("POST "+base+"/lockedIntervals/v2", edge.JSONOnly(func(w http.ResponseWriter, r *http.Request) error {
		locks, err := a.chosenLocks(w, r)
		if locks == nil {
			return err
		}
		edge.WriteJSON(w, http.StatusOK, intervalsOf(locks))
		return nil
	}))
	mux.On("POST "+base+"/activeLocks", edge.JSONOnly(func(w http.ResponseWriter, r *http.Request) error {
		locks, err := a.chosenLocks(w, r)
		if locks == nil {
			return err
		}
		edge.WriteJSON(w, http.StatusOK, map[string]any{"datasourceToLocks": locks})
		return nil
	}))
	mux.On("DELETE "+base+"/pendingSegments/{dataSource}", a.deletePending)
}

// lockFilter chooses locks of one datasource.
type lockFilter struct {
	DataSource string            `json:"datasource"`
	Priority   int               `json:"priority"`
	Intervals  []chrono.Interval `json:"intervals"`
	Context    map[string]any    `json:"context"`

	besideAppends bool // its task would not wait for those that append
}

// read reads what the context says.
func (f *lockFilter) read() error {
	c := querycontext.Reader{Values: f.Context}
	f.besideAppends = querycontext.ConcurrentLocks.From(&c) || querycontext.TaskLockType.From(&c) == string(tasklock.Replace)
	return c.Err()
}

// keeps reports whether a task of the filter's kind would have to wait for the lock. Tasks that
// replace beside appends don't wait for those.
func (f *lockFilter) keeps(l *tasklock.Lock) bool {
	if l.Revoked || l.Priority < f.Priority {
		return false
	}
	if f.besideAppends && l.Type == tasklock.Append {
		return false
	}
	if f.Intervals == nil {
		return true
	}
	for _, iv := range f.Intervals {
		if iv.Overlaps(l.Interval) {
			return true
		}
	}
	return false
}

// chosenLocks returns the locks that the filters of the body choose, by datasource; nil: the answer
// has been written, or there is an error.
func (a *API) chosenLocks(w http.ResponseWriter, r *http.Request) (map[string][]tasklock.Lock, error) {
	var filters []lockFilter
	if err := edge.ReadJSON(w, r, a.o.MaxRequestBytes, &filters); err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.Malformed("Body is not a list of lock filters: %v", err)
	}
	if len(filters) == 0 {
		edge.WriteText(w, http.StatusBadRequest, "No filter provided")
		return nil, nil
	}
	return a.locks(r, filters)
}

func (a *API) locks(r *http.Request, filters []lockFilter) (map[string][]tasklock.Lock, error) {
	out := map[string][]tasklock.Lock{}
	for _, f := range filters {
		if f.DataSource == "" {
			return nil, fault.InvalidInput("Lock filter has no [datasource]")
		}
		if err := f.read(); err != nil {
			return nil, err
		}
		all, err := a.o.Locks.Locks(r.Context(), f.DataSource)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if f.keeps(&all[i]) {
				out[f.DataSource] = append(out[f.DataSource], all[i])
			}
		}
	}
	return out, nil
}

func intervalsOf(locks map[string][]tasklock.Lock) map[string][]chrono.Interval {
	out := map[string][]chrono.Interval{}
	for name, list := range locks {
		for _, l := range list {
			out[name] = append(out[name], l.Interval)
		}
		out[name] = chrono.Condense(out[name])
	}
	return out
}

// lockedByPriority is the older form: the body maps datasources to the lowest priority that counts.
func (a *API) lockedByPriority(w http.ResponseWriter, r *http.Request) error {
	var body map[string]int
	if err := edge.ReadJSON(w, r, a.o.MaxRequestBytes, &body); err != nil && !errors.Is(err, io.EOF) {
		return fault.Malformed("Body does not map datasources to priorities: %v", err)
	}
	if len(body) == 0 {
		edge.WriteText(w, http.StatusBadRequest, "No Datasource provided")
		return nil
	}
	var filters []lockFilter
	for name, priority := range body {
		filters = append(filters, lockFilter{DataSource: name, Priority: priority})
	}
	locks, err := a.locks(r, filters)
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, intervalsOf(locks))
	return nil
}

// deletePending forgets the segments promised in an interval, or all; tasks that still want to
// publish them fail.
func (a *API) deletePending(w http.ResponseWriter, r *http.Request) error {
	var filter metastore.PendingFilter
	if text := r.URL.Query().Get("interval"); text != "" {
		iv, err := chrono.ParseInterval(strings.ReplaceAll(text, "_", "/"))
		if err != nil {
			return err
		}
		filter.Interval = &iv
	}
	n, err := a.o.Locks.DeletePending(r.Context(), metastore.Fence{}, r.PathValue("dataSource"), filter)
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, map[string]int64{"numDeleted": n})
	return nil
}
