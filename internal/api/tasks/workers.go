package tasks

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/task"
)

// workerRoutes adds the endpoints by which the Overlord tells of its workers and steers them.
func (a *API) workerRoutes(mux *edge.Mux) {
	mux.On("GET "+base+"/totalWorkerCapacity", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]int{
			"currentClusterCapacity": a.queue.Capacity(), "maximumCapacityWithAutoScale": -1, "usedClusterCapacity": a.queue.Used(),
		})
		return nil
	})
	mux.On("GET "+base+"/workers", a.workers)
	mux.On("POST "+base+"/worker/{host}/enable", func(w http.ResponseWriter, r *http.Request) error { return a.steer(w, r, true) })
	mux.On("POST "+base+"/worker/{host}/disable", func(w http.ResponseWriter, r *http.Request) error { return a.steer(w, r, false) })
}

// WorkerRoutes adds the endpoints of a worker itself.
func (a *API) WorkerRoutes(mux *edge.Mux) {
	const worker = "/service/worker/v1"
	local := a.o.Local
	if local == nil {
		local = ofQueue{a}
	}
	enabled := func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]bool{a.o.Worker.Address(): local.Enabled()})
		return nil
	}
	enable := func(on bool) edge.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error {
			local.Enable(on)
			edge.WriteJSON(w, http.StatusOK, map[string]string{a.o.Worker.Address(): stateWord(on)})
			return nil
		}
	}
	mux.On("GET "+worker+"/enabled", enabled)
	mux.On("POST "+worker+"/enable", enable(true))
	mux.On("POST "+worker+"/disable", enable(false))
	mux.On("GET "+worker+"/tasks", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, local.Tasks())
		return nil
	})
	mux.On("GET "+worker+"/task/{id}/log", func(w http.ResponseWriter, r *http.Request) error {
		log, err := a.files.Log(r.Context(), r.PathValue("id"), 0)
		if err != nil {
			return err
		}
		if log == nil {
			w.WriteHeader(http.StatusNotFound)
			return nil
		}
		defer log.Close()
		return copyBody(w, "text/plain; charset=utf-8", log)
	})
	mux.On("POST "+worker+"/task/{id}/shutdown", func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if err := local.Stop(r.Context(), id, shutdownReason); err != nil {
			return err
		}
		edge.WriteJSON(w, http.StatusOK, map[string]string{"task": id})
		return nil
	})
}

// ofQueue is the worker of a process that runs its own queue.
type ofQueue struct{ a *API }

// Enabled implements Local.
func (q ofQueue) Enabled() bool { return q.a.queue.Enabled() }

// Enable implements Local.
func (q ofQueue) Enable(on bool) { q.a.queue.Enable(on) }

// Tasks implements Local.
func (q ofQueue) Tasks() []string {
	ids := []string{}
	for _, s := range q.a.running() {
		ids = append(ids, s.Task.ID)
	}
	return ids
}

// Stop implements Local.
func (q ofQueue) Stop(ctx context.Context, id, reason string) error {
	_, err := q.a.queue.Stop(ctx, id, reason)
	return err
}

func stateWord(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

// workersNow returns the workers, the one of this process where there are no others.
func (a *API) workersNow() []task.Worker {
	if workers := a.queue.Workers(); len(workers) > 0 {
		return workers
	}
	return []task.Worker{{
		Location: a.o.Worker, Capacity: a.queue.Capacity(), Category: "_default_worker_category",
		Enabled: a.queue.Enabled(), LastEnded: a.queue.LastEnded(),
	}}
}

// steer lets a worker take tasks or not.
func (a *API) steer(w http.ResponseWriter, r *http.Request, on bool) error {
	host := r.PathValue("host")
	workers := a.queue.Workers()
	found := host == a.o.Worker.Address()
	if len(workers) > 0 {
		var err error
		if found, err = a.queue.EnableWorker(r.Context(), host, on); err != nil {
			return err
		}
	} else if found {
		a.queue.Enable(on)
	}
	if !found {
		var known []string
		for _, worker := range a.workersNow() {
			known = append(known, worker.Address())
		}
		return fault.NotFound("Worker [%s] is not known; known are [%s]", host, strings.Join(known, ", "))
	}
	edge.WriteJSON(w, http.StatusOK, map[string]string{host: stateWord(on)})
	return nil
}

// running returns the tasks that run.
func (a *API) running() []task.Status {
	return slices.DeleteFunc(a.queue.Active(), func(s task.Status) bool { return s.State != task.Running })
}

func (a *API) workers(w http.ResponseWriter, _ *http.Request) error {
	running := a.running()
	out := []any{}
	for _, worker := range a.workersNow() {
		ids, groups, byType := []string{}, []string{}, map[string]int{}
		for _, s := range running {
			if s.Location == worker.Location {
				ids, groups = append(ids, s.Task.ID), append(groups, s.Task.GroupID)
				byType[s.Task.Type]++
			}
		}
		version := "0"
		if !worker.Enabled {
			version = "" // the lowest: none that a task asks for is below it
		}
		scheme, _, _ := strings.Cut(worker.Location.URL(), ":")
		out = append(out, map[string]any{
			"worker": map[string]any{
				"scheme": scheme, "host": worker.Address(), "ip": worker.Location.Host, "capacity": worker.Capacity, "version": version,
				"category": worker.Category,
			},
			"currCapacityUsed": len(ids), "currParallelIndexCapacityUsed": byType["index_parallel"], "currCapacityUsedByTaskType": byType,
			"availabilityGroups": groups, "runningTasks": ids,
			"lastCompletedTaskTime": chrono.FormatMillis(worker.LastEnded, chrono.UTC), "blacklistedUntil": nil,
		})
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}
