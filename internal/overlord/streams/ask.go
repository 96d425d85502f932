package streams

import (
	"context"
	"maps"
	"math/big"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

const (
	// statusPatience bounds how long a task may take to say how it goes: others wait meanwhile.
	statusPatience = 2 * time.Second
	// maxAsked is how many tasks are asked at once.
	maxAsked = 16
)

// ask asks a task something, and waits for the answer with patience.
func ask[T any](
	ctx context.Context, k *keeper, id string, question func(t chat.Task, ctx context.Context) (T, error),
) (answer T, err error) {
	t := k.o.Tasks.Find(id)
	if t == nil {
		return answer, fault.Unavailable("Task [%s] does not run", id)
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	return question(t, ctx)
}

// askAll asks several tasks. The answer of one that gives none is the zero value.
func askAll[T any](ctx context.Context, k *keeper, ids []string, question func(t chat.Task, ctx context.Context) (T, error)) []T {
	answers := make([]T, len(ids))
	inParallel(ids, func(i int, id string) {
		if answer, err := ask(ctx, k, id, question); err == nil {
			answers[i] = answer
		}
	})
	return answers
}

// statusOf asks a task how it goes.
func (k *keeper) statusOf(ctx context.Context, id string) (*chat.Status, error) {
	status, err := ask(ctx, k, id, chat.Task.Status)
	return &status, err
}

// inParallel calls do for each of some tasks.
func inParallel(ids []string, do func(i int, id string)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, maxAsked)
	for i, id := range ids {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			do(i, id)
		})
	}
	wait.Wait()
}

// askTasks asks all tasks how they go.
func (k *keeper) askTasks(ctx context.Context) {
	var ids []string
	var members []*member
	var groups []*group
	running := map[string]bool{}
	for _, s := range k.mine() {
		running[s.Task.ID] = s.State == task.Running
	}
	add := func(g *group) {
		for id, m := range g.tasks {
			if running[id] {
				ids, members, groups = append(ids, id), append(members, m), append(groups, g)
			}
		}
	}
	for _, g := range k.reading {
		add(g)
	}
	for _, g := range k.pending {
		add(g)
	}
	answers := make([]*chat.Status, len(ids))
	inParallel(ids, func(i int, id string) {
		if status, err := k.statusOf(ctx, id); err == nil {
			answers[i] = status
		}
	})
	for i, status := range answers {
		if status != nil {
			k.noteStatus(groups[i], members[i], status)
		}
	}
	k.askErrors(ctx, ids)
	k.meetProblems(ctx, members)
}

// noteStatus learns from what a task told.
func (k *keeper) noteStatus(g *group, m *member, status *chat.Status) {
	m.status = status
	if status.Started > 0 && (g.began == 0 || status.Started < g.began) {
		g.began = status.Started
	}
	for n, starts := range status.Checkpoints {
		if _, ok := g.checkpoints[n]; !ok {
			g.checkpoints[n] = maps.Clone(starts)
		}
	}
}

// problemPatience is how long a task may not get on before its supervisor says so, in milliseconds.
const problemPatience = 5_000

// meetProblems shows what keeps tasks from reading.
func (k *keeper) meetProblems(ctx context.Context, members []*member) {
	shown := map[string]bool{}
	for _, m := range members {
		if m.status == nil || m.status.Problem == nil {
			continue
		}
		p := m.status.Problem
		if !p.Stream || k.now()-p.Since < problemPatience || shown[p.Class+p.Message] {
			continue
		}
		shown[p.Class+p.Message] = true
		k.o.Log.WarnContext(ctx, "task cannot read the stream", "supervisor", k.spec().ID(), "task", m.id, "class", p.Class, "reason", p.Message)
		k.mu.Lock()
		k.mu.states.note(k.now(), problem{Class: p.Class, Message: p.Message, Stream: p.Stream})
		k.mu.Unlock()
	}
}

// compare compares positions of one partition.
func (k *keeper) compare(a, b stream.Position) int { return comparePositions(k.source, a, b) }

// comparePositions compares positions as their source does, or as numbers before it is there.
func comparePositions(source stream.Source, a, b stream.Position) int {
	if source != nil {
		return source.Compare(a, b)
	}
	x, okA := new(big.Int).SetString(string(a), 10)
	y, okB := new(big.Int).SetString(string(b), 10)
	if !okA || !okB {
		return 0
	}
	return x.Cmp(y)
}

// askErrors keeps the rows of tasks that were none, as far as the specification says to. Those of
// tasks that have ended stay until others have some.
func (k *keeper) askErrors(ctx context.Context, ids []string) {
	most := int(k.spec().Tuning.SavedParseErrors)
	if most <= 0 || len(ids) == 0 {
		return
	}
	lists := askAll(ctx, k, ids, chat.Task.ParseErrors)
	if merged := mergeErrors(lists, most); len(merged) > 0 {
		k.mu.Lock()
		k.mu.errors = merged
		k.mu.Unlock()
	}
}
