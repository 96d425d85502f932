package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

// create makes the groups and tasks that lack.
func (k *keeper) create(ctx context.Context) {
	if len(k.strange) > 0 {
		return // one of them may read what a group would
	}
	groups := k.assignment(slices.DeleteFunc(slices.Clone(k.assigned), func(p stream.Partition) bool {
		return k.spec().IO.Bounds != nil && k.boundEnd(p) == ""
	}))
	var fresh []stream.Partition
	for id, partitions := range groups {
		if k.reading[id] == nil && !k.resting(id) {
			fresh = append(fresh, partitions...)
		}
	}
	stored, err := k.stored(ctx)
	if err != nil {
		k.meet(ctx, err)
		return
	}
	starts := k.startsOf(ctx, fresh, stored)
	have := k.storedOf(stored, fresh)
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		if k.reading[id] == nil && !k.resting(id) {
			k.makeGroup(ctx, id, groups[id], starts, have)
		}
		if g := k.reading[id]; g != nil && !k.resting(id) {
			k.fill(ctx, g, stored)
		}
	}
}

// stored returns how far the supervisor has published.
func (k *keeper) stored(ctx context.Context) (stream.Stored, error) {
	row, found, err := k.o.Store.Offsets(ctx, k.spec().ID())
	if err != nil {
		return stream.Stored{}, fmt.Errorf("reading the offsets of supervisor [%s]: %w", k.spec().ID(), err)
	}
	if !found {
		return stream.ParseStored(nil)
	}
	return stream.ParseStored(row.Payload)
}

// storedOf returns what is stored of some partitions.
func (k *keeper) storedOf(s stream.Stored, partitions []stream.Partition) stream.Positions {
	return s.Of(k.spec().IO.Source(), k.spec().IO.Stream.Pattern != "", partitions)
}

// endOfShard is behind all records of a shard of Kinesis that was split or merged: there is nothing
// to read any more.
const endOfShard stream.Position = "EOS"

// makeGroup makes a group without tasks, if it is known where each of its partitions begins. Have
// is what is stored of them.
func (k *keeper) makeGroup(ctx context.Context, id int, partitions []stream.Partition, starts, have stream.Positions) {
	g := &group{id: id, starts: stream.Positions{}, tasks: map[string]*member{}, made: k.now()}
	for _, p := range partitions {
		at, ok := starts[p]
		if !ok {
			return // why was said
		}
		end := k.boundEnd(p)
		if at != endOfShard && (end == "" || k.compare(at, end) < 0) {
			g.starts[p] = at
			if _, isStored := have[p]; !isStored && k.next[p] != "" {
				g.follows = append(g.follows, p)
			}
		}
	}
	if len(g.starts) == 0 {
		return // all was read
	}
	io := k.spec().IO
	switch {
	case io.LateStart != nil:
		g.minTime = io.LateStart
	case io.Late != nil:
		at := k.now() - *io.Late
		g.minTime = &at
	}
	if io.Early != nil {
		at := k.now() + io.TaskMillis + *io.Early
		g.maxTime = &at
	}
	var err error
	if g.sequence, err = sequenceName(k.spec(), g.starts, g.minTime, g.maxTime); err != nil {
		k.meet(ctx, err)
		return
	}
	g.checkpoints = map[int]stream.Positions{0: maps.Clone(g.starts)}
	k.reading[id] = g
}

// defaultPriority is that of tasks which read streams.
const defaultPriority = 75

// fill submits the tasks that a group lacks.
func (k *keeper) fill(ctx context.Context, g *group, stored stream.Stored) {
	if len(g.tasks) >= k.spec().IO.Replicas {
		return
	}
	if g.replicated {
		k.unpublished(g, k.storedOf(stored, g.partitions()))
	}
	for len(g.tasks) < k.spec().IO.Replicas {
		priority := k.lackingPriority(g)
		t, err := k.newTask(g, priority)
		if err == nil {
			err = k.o.Queue.Submit(ctx, t)
		}
		if err != nil {
			k.meet(ctx, fmt.Errorf("submitting a task of supervisor [%s]: %w", k.spec().ID(), err))
			return
		}
		g.replicated = true
		g.tasks[t.ID] = &member{id: t.ID, made: k.now(), priority: priority}
		k.o.Log.InfoContext(ctx, "task submitted", "supervisor", k.spec().ID(), "task", t.ID, "group", g.id)
	}
}

// lackingPriority returns the highest priority of which the group has fewer tasks than it is to
// have; nil: the specification has no priorities.
func (k *keeper) lackingPriority(g *group) *int {
	wanted := k.spec().IO.Priorities
	have := map[int]int{}
	for _, m := range g.tasks {
		if m.priority != nil {
			have[*m.priority]++
		}
	}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(wanted))) {
		if have[p] < wanted[p] {
			return &p
		}
	}
	return nil
}

// newTask makes a task of a group, which begins at the checkpoints of the group.
func (k *keeper) newTask(g *group, priority *int) (*task.Task, error) {
	io := chat.TaskIO{
		Stream: k.spec().IO.Stream, Group: g.id, Sequence: g.sequence, Starts: g.starts, Ends: stream.Positions{}, Exclusive: g.exclusive,
		Follows: g.follows, Checkpoints: g.checkpoints, MinTime: g.minTime, MaxTime: g.maxTime, PollMillis: k.spec().IO.PollMillis,
		Format: k.spec().IO.Format, ServerPriority: priority,
	}
	if k.spec().IO.LateStart == nil {
		io.RefreshMinutes = int(k.spec().IO.TaskMillis / time.Minute.Milliseconds())
	}
	for p := range g.starts {
		io.Ends[p] = stream.Unbounded
		if end := k.boundEnd(p); end != "" {
			io.Ends[p] = end
		}
	}
	made, err := spec.NewStreamTask(k.spec(), taskID(g.sequence), io)
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("encoding task [%s]: %w", made.ID, err)
	}
	t := &task.Task{
		ID: made.ID, GroupID: made.Group(), Type: made.Type(), DataSource: k.spec().Schema.DataSource, Created: k.now(),
		Priority: defaultPriority,
		Payload:  payload,
	}
	if n, ok := spec.InContext[int](k.spec().Context, "priority"); ok {
		t.Priority = n
	}
	return t, nil
}

// startsOf returns where the groups of partitions begin: where the group before ends, else behind
// what is published, else where the stream begins or ends. Of a partition for which there is no
// such position it says why, and leaves it out.
func (k *keeper) startsOf(ctx context.Context, partitions []stream.Partition, stored stream.Stored) stream.Positions {
	out, have := stream.Positions{}, k.storedOf(stored, partitions)
	var unknown, early, check []stream.Partition
	for _, p := range partitions {
		at, isNext := k.next[p]
		done, isStored := have[p]
		switch {
		case isNext && (!isStored || k.compare(at, done) >= 0):
			out[p] = at
		case isStored:
			out[p] = done
			check = append(check, p)
		case k.bound(p) != "":
			out[p] = k.bound(p)
		case k.spec().IO.Earliest || len(have) > 0 || len(k.earlier) > 0 && !k.earlier[p]:
			early = append(early, p)
		default:
			unknown = append(unknown, p)
		}
	}
	k.fromStream(ctx, early, out, k.source.Earliest)
	k.fromStream(ctx, unknown, out, k.source.Latest)
	k.checkStarts(ctx, check, out)
	return out
}

// bound is where a bounded supervisor begins to read a partition; "": it is not bounded.
func (k *keeper) bound(p stream.Partition) stream.Position {
	if b := k.spec().IO.Bounds; b != nil {
		return b.Starts[p]
	}
	return ""
}

// boundEnd is where a bounded supervisor stops to read a partition; "": it is not bounded.
func (k *keeper) boundEnd(p stream.Partition) stream.Position {
	if b := k.spec().IO.Bounds; b != nil {
		return b.Ends[p]
	}
	return ""
}

// checkDone reports whether a bounded supervisor has published all.
func (k *keeper) checkDone(ctx context.Context) bool {
	b := k.spec().IO.Bounds
	if b == nil {
		return false
	}
	stored, err := k.stored(ctx)
	if err != nil {
		return false
	}
	have := k.storedOf(stored, sorted(maps.Keys(b.Ends)))
	for p, end := range b.Ends {
		if at, ok := have[p]; !ok || k.compare(at, end) < 0 {
			return false
		}
	}
	k.propose(completed)
	return true
}

func (k *keeper) fromStream(
	ctx context.Context, partitions []stream.Partition, into stream.Positions,
	ask func(context.Context, []stream.Partition) (stream.Positions, error),
) {
	if len(partitions) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	got, err := ask(ctx, partitions)
	if err != nil {
		k.meet(ctx, err)
		return
	}
	for _, p := range partitions {
		if at, ok := got[p]; ok {
			into[p] = at
		}
	}
}

// Advice describes a stored position that the stream no longer has.
type Advice struct {
	Stored   stream.Position `json:"stored"`
	Earliest stream.Position `json:"earliest"`
	Latest   stream.Position `json:"latest"`
	Text     string          `json:"advice"`
}

// checkStarts takes out of starts what the stream does not have any more, or puts in its place
// where the stream begins or ends, if the specification says so.
func (k *keeper) checkStarts(ctx context.Context, partitions []stream.Partition, starts stream.Positions) {
	advice := map[stream.Partition]Advice{}
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.mu.advice = advice
	}()
	if len(partitions) == 0 || k.spec().Tuning.SkipAvailability {
		return
	}
	first, last := stream.Positions{}, stream.Positions{}
	k.fromStream(ctx, partitions, first, k.source.Earliest)
	var lost []stream.Partition
	for _, p := range partitions {
		at, ok := first[p]
		if !ok {
			delete(starts, p) // whether it is there is not known
			continue
		}
		if k.compare(starts[p], at) < 0 {
			lost = append(lost, p)
		}
	}
	if len(lost) == 0 {
		return
	}
	k.fromStream(ctx, lost, last, k.source.Latest)
	if k.spec().Tuning.ResetAutomatically {
		k.resetTo(ctx, lost, first, last, starts)
		return
	}
	for _, p := range lost {
		advice[p] = Advice{
			Stored: starts[p], Earliest: first[p], Latest: last[p],
			Text: fmt.Sprintf("Records [%s] to [%s] of partition [%s] are not in the stream any more. Post resetOffsets with partition [%s] at "+
				"[%s] "+
				"to go on with the first record that there is, or at [%s] with those to come.", starts[p], first[p], p, p, first[p], last[p]),
		}
		k.meet(ctx, &streamError{fmt.Sprintf("Previous sequenceNumber [%s] is no longer available for partition [%s]. You can clear the "+
			"previous "+
			"sequenceNumber and start reading from a valid message by using the supervisor's reset API. The stream has [%s] to [%s].",
			starts[p], p, first[p], last[p])})
		delete(starts, p)
	}
}

// resetTo goes on where the stream begins or ends, and stores that.
func (k *keeper) resetTo(ctx context.Context, lost []stream.Partition, first, last, starts stream.Positions) {
	to := stream.Positions{}
	for _, p := range lost {
		at := last[p]
		if k.spec().IO.Earliest {
			at = first[p]
		}
		if at == "" {
			delete(starts, p)
			continue
		}
		k.o.Log.WarnContext(ctx, "records were deleted from the stream before they "+
			"were read", "supervisor", k.spec().ID(), "partition", p, "stored",
			starts[p],
			"earliest", first[p], "continues", at)
		to[p] = at
	}
	if err := k.storeOffsets(ctx, to); err != nil {
		k.meet(ctx, err)
		for p := range to {
			delete(starts, p)
		}
		return
	}
	maps.Copy(starts, to)
}

// storeOffsets puts positions in the place of those that are stored.
func (k *keeper) storeOffsets(ctx context.Context, positions stream.Positions) error {
	return k.o.Store.SwapOffsets(ctx, metastore.Fence{}, k.spec().Schema.DataSource, metastore.OffsetSwap{
		ID: k.spec().ID(), Next: func(text json.RawMessage) (json.RawMessage, error) {
			have, err := stream.ParseStored(text)
			if err != nil {
				return nil, fault.Runtime("The stored offsets of supervisor [%s] are not readable", k.spec().ID()).WithCause(err)
			}
			next := have.Plus(k.spec().Type, k.spec().IO.Source(), positions)
			next.Texts = k.spec().Type == spec.Kinesis
			return json.Marshal(next)
		},
	})
}
