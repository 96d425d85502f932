package why

import (
	"context"
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
)

// Task explains the state of a task. It returns nothing if the task does not exist.
func (e *Explainer) Task(ctx context.Context, id string) ([]Decision, error) {
	status, err := e.o.Tasks.Find(ctx, id)
	if err != nil || status == nil {
		return nil, err
	}
	d, err := e.task(ctx, status)
	return []Decision{d}, err
}

func (e *Explainer) task(ctx context.Context, s *task.Status) (Decision, error) {
	t := s.Task
	d := Decision{Subject: "task", ID: t.ID, DataSource: t.DataSource, Topic: Task, Details: map[string]any{"type": t.Type, "priority": t.Priority}}
	if s.State.Done() {
		d.Outcome, d.Reason = "ended", "it ended with status ["+s.State.StatusCode()+"]"
		if s.Error != "" {
			d.Reason += ": " + s.Error
		}
		return d, nil
	}
	held, err := e.o.Store.TaskLocks(ctx, t.ID)
	if err != nil {
		return d, err
	}
	d.Details["locks"] = shown(held)
	if s.State == task.Pending {
		d.Outcome, d.Reason = "waiting", fmt.Sprintf("all [%d] task slots are taken; tasks of higher priority, then older ones, go first", e.o.Tasks.Capacity())
		if !e.o.Tasks.Enabled() {
			d.Reason = "the worker is disabled and takes no new tasks"
		}
		d.Details["slots"], d.Details["slotsUsed"] = e.o.Tasks.Capacity(), e.o.Tasks.Used()
		return d, nil
	}
	others, err := e.othersLocks(ctx, s, held)
	if err != nil {
		return d, err
	}
	if len(others) > 0 {
		d.Details["heldByOthers"] = shown(others)
	}
	switch {
	case s.State == task.Running && (len(held) > 0 || len(others) == 0):
		d.Outcome, d.Reason = "running", "it is running"
	case len(others) > 0:
		d.Outcome, d.Reason = "waiting", "it waits for a lock, and there are other locks on its datasource: "+words(others)
	default:
		d.Outcome, d.Reason = "waiting", "it is about to be given its locks"
	}
	return d, nil
}

// othersLocks returns the locks of other groups that a task may be waiting for: those of equal or
// higher priority on its datasource.
func (e *Explainer) othersLocks(ctx context.Context, s *task.Status, held []tasklock.Lock) ([]tasklock.Lock, error) {
	all, err := e.o.Store.Locks(ctx, s.Task.DataSource)
	if err != nil {
		return nil, err
	}
	own := map[int64]bool{}
	for _, l := range held {
		own[l.ID] = true
	}
	var out []tasklock.Lock
	for _, l := range all {
		if !own[l.ID] && !l.Revoked && l.Priority >= s.Task.Priority && l.GroupID != s.Task.GroupID {
			out = append(out, l)
		}
	}
	return out, nil
}

type lock struct {
	Interval chrono.Interval `json:"interval"`
	Type     tasklock.Type   `json:"type"`
	Group    string          `json:"groupId"`
	Priority int             `json:"priority"`
	Revoked  bool            `json:"revoked"`
}

func shown(locks []tasklock.Lock) []lock {
	out := make([]lock, len(locks))
	for i, l := range locks {
		out[i] = lock{l.Interval, l.Type, l.GroupID, l.Priority, l.Revoked}
	}
	return out
}

// maxWords is how many locks a sentence names.
const maxWords = 3

func words(locks []tasklock.Lock) string {
	var parts []string
	for i, l := range locks {
		if i == maxWords {
			parts = append(parts, fmt.Sprintf("and [%d] more", len(locks)-maxWords))
			break
		}
		parts = append(parts, fmt.Sprintf("[%s] on [%s] of [%s], priority [%d]", l.Type, l.Interval, l.GroupID, l.Priority))
	}
	return strings.Join(parts, ", ")
}
