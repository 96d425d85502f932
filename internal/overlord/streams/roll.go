package streams

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// rollOver has groups publish what they have read: those that have read for long enough, the oldest
// first and not too many at once, and those that somebody asked to.
func (k *keeper) rollOver(ctx context.Context) {
	k.findFinishing()
	due := k.dueGroups()
	for id := range k.handOff {
		if g := k.reading[id]; g != nil && !slices.Contains(due, g) {
			due = append(due, g)
		}
	}
	clear(k.handOff)
	k.finish(ctx, due)
}

// findFinishing makes groups pending whose tasks turn out to have their ends: another leader has
// set them.
func (k *keeper) findFinishing() {
	for id, g := range k.reading {
		for _, m := range g.tasks {
			if ends := finalEnds(m.status); ends != nil {
				delete(k.reading, id)
				k.pend(g, ends)
				break
			}
		}
	}
}

// dueGroups returns the groups that have read for long enough, as many as may roll over now.
func (k *keeper) dueGroups() []*group {
	var due []*group
	for _, g := range k.reading {
		if g.began > 0 && k.now() >= k.dueAt(g) {
			due = append(due, g)
		}
	}
	slices.SortFunc(due, func(a, b *group) int { return cmp.Or(cmp.Compare(a.began, b.began), a.id-b.id) })
	if most := k.maxRolling(); most > 0 {
		due = due[:max(0, min(len(due), most-len(k.pending)))]
	}
	return due
}

// dueAt is when a group that reads has read for long enough. Groups that began together don't
// publish together: each has a moment of its own in the duration of tasks, and its first task reads
// for a shorter time, at least half of the duration, until those of the group end at it. Who says
// how many groups may publish at once decides by that.
func (k *keeper) dueAt(g *group) int64 {
	io := k.spec().IO
	if k.tasks < 2 || k.maxRolling() > 0 {
		return g.began + io.TaskMillis
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(k.spec().ID())) // a hash does not fail
	moment := int64(h.Sum32()) + int64(g.id)*io.TaskMillis/int64(k.tasks)
	past := (g.began - moment) % io.TaskMillis
	if past < 0 {
		past += io.TaskMillis
	}
	left := io.TaskMillis - past // until the moment comes, above 0
	if half := io.TaskMillis / 2; left < half {
		left = half + left/2 // and the next task is nearer to it
	}
	return g.began + left
}

// maxRolling is how many groups may publish at once; 0: all.
func (k *keeper) maxRolling() int {
	io := k.spec().IO
	if s := io.Scaler; s != nil && s.Enabled && s.StopRatio > 0 {
		return max(1, int(math.Ceil(s.StopRatio*float64(k.tasks))))
	}
	return io.StopTasks
}

// finish gives reading groups their ends, where their successors begin. A group of which no task
// can be reached is ended.
func (k *keeper) finish(ctx context.Context, groups []*group) {
	groups = slices.DeleteFunc(groups, func(g *group) bool { return len(g.tasks) == 0 })
	ends := make([]stream.Positions, len(groups))
	names := make([]string, len(groups))
	var asked []string
	for i, g := range groups {
		names[i] = g.sequence
		asked = append(asked, ids(g)...)
	}
	k.askErrors(ctx, asked)
	inParallel(names, func(i int, _ string) { ends[i] = k.setEnds(ctx, groups[i], true) })
	for i, g := range groups {
		delete(k.reading, g.id)
		if ends[i] != nil {
			k.pend(g, ends[i])
		}
	}
}

func ids(g *group) []string {
	out := make([]string, 0, len(g.tasks))
	for id := range g.tasks {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// setEnds ends the current sequence of a group: all of its tasks stop where the one is that has
// read the most, and get that as the end. With finish they end there. Tasks that don't answer are
// ended. nil: there is none left.
func (k *keeper) setEnds(ctx context.Context, g *group, finish bool) stream.Positions {
	names := ids(g)
	stops := make([]stream.Positions, len(names))
	inParallel(names, func(i int, id string) { stops[i] = k.pause(ctx, id) })
	ends := stream.Positions{}
	answered := false
	for i, id := range names {
		if stops[i] == nil {
			k.kill(ctx, id, "it did not say how far it has read")
			delete(g.tasks, id)
			continue
		}
		answered = true
		for p, at := range stops[i] {
			if have, ok := ends[p]; !ok || k.compare(at, have) > 0 {
				ends[p] = at
			}
		}
	}
	if !answered {
		return nil
	}
	for p, start := range g.starts { // what no task has told of was not read
		if _, ok := ends[p]; !ok {
			ends[p] = start
		}
	}
	failed := make([]error, len(names))
	inParallel(names, func(i int, id string) {
		if stops[i] == nil {
			return
		}
		t := k.o.Tasks.Find(id)
		if t == nil {
			return
		}
		asked, cancel := context.WithTimeout(ctx, k.patience())
		defer cancel()
		failed[i] = t.SetEnds(asked, ends, finish)
	})
	for i, id := range names {
		if failed[i] != nil {
			k.o.Log.WarnContext(ctx, "task did not accept its end positions", "supervisor", k.spec().ID(), "task", id, "error", failed[i])
			k.kill(ctx, id, "it did not take the ends of its sequence")
			delete(g.tasks, id)
		}
	}
	if len(g.tasks) == 0 {
		return nil
	}
	return ends
}

// patience is how long a task may take to answer.
func (k *keeper) patience() time.Duration {
	return max(time.Second, millis(k.spec().Tuning.HTTPTimeout))
}

// pause has a task stop reading and returns where; of a task that has its ends already, these. nil:
// it does not answer, or has not begun.
func (k *keeper) pause(ctx context.Context, id string) stream.Positions {
	t := k.o.Tasks.Find(id)
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.patience())
	defer cancel()
	status, err := t.Status(ctx)
	if err != nil {
		return nil
	}
	if ends := finalEnds(&status); ends != nil {
		return ends
	}
	if status.State != chat.Reading && status.State != chat.Paused {
		return nil
	}
	at, err := t.Pause(ctx)
	if err != nil {
		k.o.Log.WarnContext(ctx, "task did not pause", "supervisor", k.spec().ID(), "task", id, "error", err)
		return nil
	}
	return at
}

// checkpointRequest ends the current sequence of the group that a task asks for.
func (k *keeper) checkpointRequest(ctx context.Context, id int, starts stream.Positions) {
	g := k.reading[id]
	if g == nil || !g.overlaps(starts) {
		return // its ends are set
	}
	number, current := g.current()
	if !samePositions(current, starts) {
		return // a replica was before
	}
	ends := k.setEnds(ctx, g, false)
	if ends == nil || samePositions(ends, current) {
		return
	}
	g.checkpoints[number+1] = ends
	k.o.Log.InfoContext(ctx, "checkpoint", "supervisor", k.spec().ID(), "group", id, "sequence", number, "ends", ends.Plain())
}

// current returns the number and the starts of the group's newest sequence.
func (g *group) current() (int, stream.Positions) {
	last := -1
	for n := range g.checkpoints {
		last = max(last, n)
	}
	if last < 0 {
		return 0, g.starts
	}
	return last, g.checkpoints[last]
}

func samePositions(a, b stream.Positions) bool {
	if len(a) != len(b) {
		return false
	}
	for p, at := range a {
		if b[p] != at {
			return false
		}
	}
	return true
}

// finishAll tells all reading groups to publish: the supervisor ends, or gets another
// specification.
func (k *keeper) finishAll(ctx context.Context) {
	k.adopt(ctx)
	k.finish(ctx, slices.Collect(maps.Values(k.reading)))
	for id := range k.strange {
		k.kill(ctx, id, "its supervisor has ended and it does not answer")
	}
}
