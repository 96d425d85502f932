package tasks

import (
	"net/http"
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
	enabled := func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]bool{a.o.Worker: a.queue.Enabled()})
		return nil
	}
	enable := func(on bool) edge.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error {
			a.queue.Enable(on)
			edge.WriteJSON(w, http.StatusOK, map[string]string{a.o.Worker: stateWord(on)})
			return nil
		}
	}
	mux.On("GET "+worker+"/enabled", enabled)
	mux.On("POST "+worker+"/enable", enable(true))
	mux.On("POST "+worker+"/disable", enable(false))
	mux.On("GET "+worker+"/tasks", func(w http.ResponseWriter, _ *http.Request) error {
		running, _ := a.running()
		edge.WriteJSON(w, http.StatusOK, running)
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
		if _, err := a.queue.Stop(r.Context(), id, shutdownReason); err != nil {
			return err
		}
		edge.WriteJSON(w, http.StatusOK, map[string]string{"task": id})
		return nil
	})
}

func stateWord(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

// steer lets a worker take tasks or not.
func (a *API) steer(w http.ResponseWriter, r *http.Request, on bool) error {
	host := r.PathValue("host")
	if host != a.o.Worker {
		return fault.NotFound("Worker [%s] is not known; known are [%s]", host, a.o.Worker)
	}
	a.queue.Enable(on)
	edge.WriteJSON(w, http.StatusOK, map[string]string{host: stateWord(on)})
	return nil
}

// running returns the ids of the tasks that run, and how many of each type.
func (a *API) running() (ids []string, byType map[string]int) {
	ids, byType = []string{}, map[string]int{}
	for _, s := range a.queue.Active() {
		if s.State == task.Running {
			ids = append(ids, s.Task.ID)
			byType[s.Task.Type]++
		}
	}
	return ids, byType
}

func (a *API) workers(w http.ResponseWriter, _ *http.Request) error {
	running, byType := a.running()
	groups := []string{}
	for _, s := range a.queue.Active() {
		if s.State == task.Running {
			groups = append(groups, s.Task.GroupID)
		}
	}
	host, _, _ := strings.Cut(a.o.Worker, ":")
	version := "0"
	if !a.queue.Enabled() {
		version = "" // the lowest: none that a task asks for is below it
	}
	edge.WriteJSON(w, http.StatusOK, []any{map[string]any{
		"worker": map[string]any{
			"scheme": "http", "host": a.o.Worker, "ip": host, "capacity": a.queue.Capacity(), "version": version, "category": "_default_worker_category",
		},
		"currCapacityUsed": len(running), "currParallelIndexCapacityUsed": byType["index_parallel"], "currCapacityUsedByTaskType": byType,
		"availabilityGroups": groups, "runningTasks": running,
		"lastCompletedTaskTime": chrono.FormatMillis(a.queue.LastEnded(), chrono.UTC), "blacklistedUntil": nil,
	}})
	return nil
}
