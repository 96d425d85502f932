package overlord

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/task"
)

// Store stores the records of the task queue in the metastore.
type Store struct {
	meta  *metastore.Store
	ended *prometheus.CounterVec
	meter *obs.Meter
}

// NewStore returns the store of task records in meta. It counts the outcomes of tasks in metrics,
// if metrics is not nil, and reports their durations to meter.
func NewStore(meta *metastore.Store, metrics prometheus.Registerer, meter *obs.Meter) *Store {
	s := &Store{meta: meta, meter: meter, ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "henge_tasks_ended_total", Help: obs.Help("henge_tasks_ended_total")}, []string{"status"})}
	for _, state := range []task.State{task.Succeeded, task.Failed} {
		s.ended.WithLabelValues(state.StatusCode()) // shown from the start, so that rates have a beginning
	}
	if metrics != nil {
		metrics.MustRegister(s.ended)
	}
	return s
}

// ended is what the metastore keeps of an ended task beside its columns.
type ended struct {
	Duration int64  `json:"duration"`
	Host     string `json:"host,omitempty"`
	Port     int    `json:"port,omitempty"`
	TLSPort  int    `json:"tlsPort,omitempty"`
	Error    string `json:"error,omitempty"`
}

// stored is the payload with what the queue knows of a task beside the columns.
type stored struct {
	Owner   string          `json:"owner,omitempty"`
	Payload json.RawMessage `json:"payload"`
}

// InsertTask implements task.Store.
func (s *Store) InsertTask(ctx context.Context, t *task.Task) error {
	payload, err := jsontext.Marshal(stored{t.Owner, t.Payload})
	if err != nil {
		return fmt.Errorf("encoding task [%s]: %w", t.ID, err)
	}
	return s.meta.InsertTask(ctx, metastore.Fence{}, metastore.Task{
		ID: t.ID, GroupID: t.GroupID, Allocator: t.Allocator, Type: t.Type, DataSource: t.DataSource, Priority: t.Priority, Created: t.Created,
		Active: true, StatusCode: task.Waiting.StatusCode(), Payload: payload,
	}, nil)
}

// FinishTask implements task.Store.
func (s *Store) FinishTask(ctx context.Context, st task.Status) error {
	status, err := json.Marshal(ended{st.Duration, st.Location.Host, st.Location.Port, st.Location.TLSPort, st.Error})
	if err != nil {
		return fmt.Errorf("encoding the status of task [%s]: %w", st.Task.ID, err)
	}
	finished, err := s.meta.FinishTask(ctx, metastore.Fence{}, st.Task.ID, st.State.StatusCode(), status)
	if finished {
		s.ended.WithLabelValues(st.State.StatusCode()).Inc()
		s.meter.Time(obs.Occurrence{
			Service: "overlord", Metric: "task/run/time",
			Dims: []string{"dataSource", st.Task.DataSource, "taskType", st.Task.Type, "taskStatus", st.State.StatusCode()}, More: []string{"taskId", st.Task.ID},
		}, time.Duration(max(0, st.Duration))*time.Millisecond)
	}
	return err
}

// runner is what the metastore keeps of who runs a task.
type runner struct {
	Host    string `json:"host"`
	Port    int    `json:"port"`
	TLSPort int    `json:"tlsPort,omitempty"`
	Process string `json:"process,omitempty"`
	Started int64  `json:"started"`
}

// AssignTask implements task.Store.
func (s *Store) AssignTask(ctx context.Context, id string, r task.Runner) (int64, error) {
	text, err := json.Marshal(runner{r.Location.Host, r.Location.Port, r.Location.TLSPort, r.Process, r.Started})
	if err != nil {
		return 0, fmt.Errorf("encoding who runs task [%s]: %w", id, err)
	}
	return s.meta.AssignTask(ctx, metastore.Fence{}, id, text)
}

// ActiveTasks implements task.Store.
func (s *Store) ActiveTasks(ctx context.Context) ([]task.Active, error) {
	active := true
	rows, err := s.meta.Tasks(ctx, metastore.TaskFilter{Active: &active, Payload: true})
	if err != nil {
		return nil, err
	}
	out := make([]task.Active, len(rows))
	for i := range rows { // the metastore gives the newest first
		st, err := statusOf(&rows[i])
		if err != nil {
			return nil, err
		}
		a := task.Active{Task: st.Task, Run: rows[i].Run}
		if rows[i].Runner != nil {
			var r runner
			if err := json.Unmarshal(rows[i].Runner, &r); err != nil {
				return nil, fmt.Errorf("reading who runs task [%s]: %w", rows[i].ID, err)
			}
			a.Runner = task.Runner{
				Location: task.Location{Host: r.Host, Port: r.Port, TLSPort: r.TLSPort}, Process: r.Process, Started: r.Started,
			}
		}
		out[len(rows)-1-i] = a
	}
	return out, nil
}

// FindTask implements task.Store.
func (s *Store) FindTask(ctx context.Context, id string) (*task.Status, error) {
	rows, err := s.meta.Tasks(ctx, metastore.TaskFilter{IDs: []string{id}, Payload: true})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return statusOf(&rows[0])
}

// LockHolders implements task.LockStore.
func (s *Store) LockHolders(ctx context.Context) ([]string, error) { return s.meta.LockHolders(ctx) }

// ReleaseLocks implements task.LockStore.
func (s *Store) ReleaseLocks(ctx context.Context, id string) error {
	return s.meta.ReleaseLocks(ctx, metastore.Fence{}, id, nil)
}

// CheckFence returns the fault that a write under ctx would return if its fence is no longer valid.
func (s *Store) CheckFence(ctx context.Context) error { return s.meta.CheckFence(ctx) }

// FinishedTasks implements task.Store.
func (s *Store) FinishedTasks(ctx context.Context, since int64) ([]task.Status, error) {
	active := false
	rows, err := s.meta.Tasks(ctx, metastore.TaskFilter{Active: &active, CompletedSince: since, Payload: true})
	if err != nil {
		return nil, err
	}
	out := make([]task.Status, 0, len(rows))
	for i := range rows {
		st, err := statusOf(&rows[i])
		if err != nil {
			return nil, err
		}
		if st.Task.Created >= since {
			out = append(out, *st)
		}
	}
	return out, nil
}

func statusOf(row *metastore.Task) (*task.Status, error) {
	var p stored
	if err := json.Unmarshal(row.Payload, &p); err != nil {
		return nil, fmt.Errorf("reading the record of task [%s]: %w", row.ID, err)
	}
	st := &task.Status{
		Task: &task.Task{
			ID: row.ID, GroupID: row.GroupID, Type: row.Type, DataSource: row.DataSource, Created: row.Created, Priority: row.Priority,
			Owner: p.Owner, Payload: p.Payload,
		},
		State: task.Waiting, Queued: row.Created, Duration: -1,
	}
	if row.Active {
		return st, nil
	}
	var e ended
	if err := json.Unmarshal(row.Status, &e); err != nil {
		return nil, fmt.Errorf("reading the end of task [%s]: %w", row.ID, err)
	}
	st.State, st.Duration, st.Error = task.Failed, e.Duration, e.Error
	if row.StatusCode == task.Succeeded.StatusCode() {
		st.State = task.Succeeded
	}
	st.Location = task.Location{Host: e.Host, Port: e.Port, TLSPort: e.TLSPort}
	return st, nil
}
