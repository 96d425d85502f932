package streams

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

// mine returns the active tasks of the supervisor.
func (k *keeper) mine() []task.Status {
	kind := spec.StreamTaskType(k.spec().Type)
	group := kind + "_" + k.spec().ID()
	return slices.DeleteFunc(k.o.Queue.Active(), func(s task.Status) bool { return s.Task.Type != kind || s.Task.GroupID != group })
}

// groupOfTask returns the group that a task is of, and whether that is pending; nil: it is of none.
func (k *keeper) groupOfTask(id string) (g *group, isPending bool) {
	for _, g := range k.reading {
		if g.tasks[id] != nil {
			return g, false
		}
	}
	for _, g := range k.pending {
		if g.tasks[id] != nil {
			return g, true
		}
	}
	return nil, false
}

// strangerPatience is how long a task may not answer that runs and that nothing is known of, before
// it is ended.
const strangerPatience = 80_000

// adopt takes over the tasks that another version of the supervisor, or another leader, has made.
func (k *keeper) adopt(ctx context.Context) {
	found := map[string]bool{}
	for _, s := range k.mine() {
		found[s.Task.ID] = true
		if g, _ := k.groupOfTask(s.Task.ID); g != nil {
			continue
		}
		k.adoptOne(ctx, s)
	}
	for id := range k.strange {
		if !found[id] {
			delete(k.strange, id)
		}
	}
}

func (k *keeper) adoptOne(ctx context.Context, s task.Status) {
	id := s.Task.ID
	t, err := spec.ParseStreamTask(s.Task.Payload)
	if err != nil {
		k.kill(ctx, id, "its payload is not readable")
		return
	}
	var status *chat.Status
	if s.State == task.Running {
		status, err = k.statusOf(ctx, id)
		if err != nil || status.State == chat.NotStarted || status.State == chat.Starting {
			since, waits := k.strange[id]
			if !waits {
				since = k.now()
				k.strange[id] = since
			}
			if k.now()-since < strangerPatience {
				return
			}
			k.kill(ctx, id, "it does not answer")
			return
		}
	}
	delete(k.strange, id)
	k.o.Log.InfoContext(ctx, "task found", "supervisor", k.spec().ID(), "task", id, "state", s.State.RunnerStatusCode())
	if ends := finalEnds(status); ends != nil {
		k.adoptPending(t, id, status, ends)
		return
	}
	k.adoptReading(ctx, t, id, status)
}

// finalEnds returns the ends of a task that reads no further than them; nil: it has none.
func finalEnds(status *chat.Status) stream.Positions {
	if status == nil || len(status.Ends) == 0 {
		return nil
	}
	for _, end := range status.Ends {
		if end == stream.Unbounded {
			return nil
		}
	}
	return status.Ends
}

// adoptPending takes over a task that publishes, or reads the rest before it does.
func (k *keeper) adoptPending(t *spec.StreamTask, id string, status *chat.Status, ends stream.Positions) {
	m := &member{id: id, status: status, made: k.now(), priority: t.IO.ServerPriority}
	for _, g := range k.pending {
		if g.sequence == t.IO.Sequence {
			g.tasks[id] = m
			return
		}
	}
	g := k.groupOfPayload(t)
	g.tasks[id] = m
	k.noteStatus(g, m, status)
	k.pend(g, ends)
}

// pend makes a group a pending one, whose successor begins at its ends.
func (k *keeper) pend(g *group, ends stream.Positions) {
	g.ends, g.deadline = ends, k.now()+k.spec().IO.Completion
	if k.spec().IO.Bounds != nil { // its ends were set before it began to read
		g.deadline = math.MaxInt64
	}
	k.pending = append(k.pending, g)
	for p, at := range ends {
		if have, ok := k.next[p]; !ok || k.compare(at, have) > 0 {
			k.next[p] = at
		}
	}
}

// groupOfPayload is the group that a task says it is of.
func (k *keeper) groupOfPayload(t *spec.StreamTask) *group {
	return &group{
		id: t.IO.Group, sequence: t.IO.Sequence, starts: t.IO.Starts, exclusive: t.IO.Exclusive, follows: t.IO.Follows,
		minTime: t.IO.MinTime, maxTime: t.IO.MaxTime,
		tasks: map[string]*member{}, made: k.now(), replicated: true, checkpoints: maps.Clone(t.IO.Checkpoints),
	}
}

// adoptReading takes over a task that reads, if it is one that this version of the supervisor
// makes. Others are ended: what they read and did not publish is read again.
func (k *keeper) adoptReading(ctx context.Context, t *spec.StreamTask, id string, status *chat.Status) {
	if why := k.foreign(t); why != "" {
		k.kill(ctx, id, why)
		return
	}
	g := k.reading[t.IO.Group]
	if g == nil {
		g = k.groupOfPayload(t)
		k.reading[g.id] = g
		for p := range g.starts {
			if !slices.Contains(k.assigned, p) {
				k.assigned = append(k.assigned, p)
			}
		}
		slices.SortFunc(k.assigned, comparePartitions)
	}
	m := &member{id: id, status: status, made: k.now(), priority: t.IO.ServerPriority}
	g.tasks[id] = m
	if status != nil {
		k.noteStatus(g, m, status)
		if status.State == chat.Paused {
			k.resume(ctx, id)
		}
	}
}

// foreign says why a reading task is none that this version of the supervisor makes; "": it is one.
func (k *keeper) foreign(t *spec.StreamTask) string {
	if k.spec().Suspended {
		return "its supervisor is suspended"
	}
	if g := k.reading[t.IO.Group]; g != nil {
		if g.sequence != t.IO.Sequence {
			return "another task reads its partitions"
		}
		return ""
	}
	name, err := sequenceName(k.spec(), t.IO.Starts, t.IO.MinTime, t.IO.MaxTime)
	if err != nil || name != t.IO.Sequence {
		return "the specification of its supervisor has changed"
	}
	for _, g := range k.reading {
		if g.overlaps(t.IO.Starts) {
			return "another task reads its partitions"
		}
	}
	for p := range t.IO.Starts {
		if k.groupOf(p, k.known) != t.IO.Group {
			return "its partitions are read by other groups now"
		}
	}
	return ""
}

// resume has a task read on that another leader has paused, and then led no longer. One that has
// paused since it wants a checkpoint asks for it again.
func (k *keeper) resume(ctx context.Context, id string) {
	_, err := ask(ctx, k, id, func(t chat.Task, ctx context.Context) (struct{}, error) { return struct{}{}, t.Resume(ctx) })
	if err != nil {
		k.o.Log.WarnContext(ctx, "failed to resume a paused task", "supervisor", k.spec().ID(), "task", id, "error", err)
	}
}

// kill ends a task without publishing what it has read. Who leads no longer ends none: that a task
// did not answer in time says nothing then, and the next leader adopts it.
func (k *keeper) kill(ctx context.Context, id, why string) {
	if ctx.Err() != nil {
		return
	}
	k.o.Log.InfoContext(ctx, "supervisor ends a task", "supervisor", k.spec().ID(), "task", id, "reason", why)
	if _, err := k.o.Queue.Stop(ctx, id, "The supervisor ended the task: "+why); err != nil && ctx.Err() == nil {
		k.o.Log.WarnContext(ctx, "failed to end a task", "supervisor", k.spec().ID(), "task", id, "error", err)
	}
}
