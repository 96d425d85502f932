package streams

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/stream"
)

// view is what others see of a keeper: a copy of what its goroutine has.
type view struct {
	source     stream.Source
	partitions []stream.Partition
	groups     []groupView
}

type groupView struct {
	id       int
	pending  bool
	starts   stream.Positions
	tasks    []taskShown
	deadline int64
	early    int64 // how much less than the duration of tasks it reads, in milliseconds
}

type taskShown struct {
	id      string
	started int64
}

// show publishes what others see.
func (k *keeper) show() {
	v := view{source: k.source, partitions: slices.Clone(k.known)}
	for _, id := range slices.Sorted(maps.Keys(k.reading)) {
		g := k.reading[id]
		shown := g.view(false)
		if g.began > 0 {
			shown.early = g.began + k.spec().IO.TaskMillis - k.dueAt(g)
		}
		v.groups = append(v.groups, shown)
	}
	for _, g := range k.pending {
		v.groups = append(v.groups, g.view(true))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.view = v
}

func (g *group) view(isPending bool) groupView {
	v := groupView{id: g.id, pending: isPending, starts: g.starts, deadline: g.deadline}
	for _, id := range ids(g) {
		t := taskShown{id: id}
		if s := g.tasks[id].status; s != nil {
			t.started = s.Started
		}
		v.tasks = append(v.tasks, t)
	}
	return v
}

// lag is what was last measured.
type lag struct {
	latest stream.Positions
	// at is when the ends of the stream were asked for, positionsAt the tasks before it, in
	// milliseconds; 0:
	// never.
	at, positionsAt int64
	current         map[string]stream.Positions // by task
	behind          map[stream.Partition]int64
	millis          map[stream.Partition]int64
	total           int64
	// quiet is since when nothing has come.
	quiet int64
	// rate is how many records came a second since the measure before; read is how many the tasks
	// read.
	rate, read float64
}

// measure measures lag until ctx is done.
func (k *keeper) measure(ctx context.Context) {
	wait := millis(k.spec().IO.StartDelay) + firstFetch
	for k.o.Clock.Sleep(ctx, wait) == nil {
		wait = millis(k.spec().Tuning.OffsetFetchPeriod)
		if !k.spec().Suspended {
			k.measureOnce(ctx)
		}
	}
}

// measureOnce asks the tasks how far they are, and then the stream how far it goes: so what is
// between both is never less than nothing, unless a task waits behind the end.
func (k *keeper) measureOnce(ctx context.Context) {
	k.mu.Lock()
	v := k.mu.view
	before := k.mu.lag
	k.mu.Unlock()
	if v.source == nil || len(v.partitions) == 0 {
		return
	}
	next := lag{current: k.positions(ctx, v), positionsAt: k.now()}
	began := k.o.Clock.Now()
	asked, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	latest, err := v.source.Latest(asked, v.partitions)
	if err != nil {
		if ctx.Err() == nil {
			k.o.Log.WarnContext(ctx, "failed to measure the lag", "supervisor", k.spec().ID(), "error", err)
		}
		return
	}
	k.meterTime("ingest/"+k.spec().Type+"/fetchOffsets/time", k.o.Clock.Now().Sub(began))
	next.latest, next.at = latest, k.now()
	reached := k.reached(ctx, v, next.current)
	next.count(v.source, reached)
	if l, ok := v.source.(stream.Lagger); ok && (k.spec().Type == spec.Kinesis || k.spec().IO.TimeLag) {
		if late, err := l.TimeLag(asked, reached); err == nil {
			next.millis = map[stream.Partition]int64{}
			for p, d := range late {
				next.millis[p] = d.Milliseconds()
			}
		}
	}
	next.follow(v.source, &before)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.lag = next
}

// positions asks all tasks how far they are.
func (k *keeper) positions(ctx context.Context, v view) map[string]stream.Positions {
	var names []string
	for _, g := range v.groups {
		for _, t := range g.tasks {
			names = append(names, t.id)
		}
	}
	answers := make([]stream.Positions, len(names))
	inParallel(names, func(i int, id string) {
		if status, err := k.statusOf(ctx, id); err == nil {
			answers[i] = status.Current
		}
	})
	out := map[string]stream.Positions{}
	for i, id := range names {
		if len(answers[i]) > 0 {
			out[id] = answers[i]
		}
	}
	return out
}

// reached returns how far each partition was read: by the task that has read the most, else as is
// stored.
func (k *keeper) reached(ctx context.Context, v view, current map[string]stream.Positions) stream.Positions {
	out := stream.Positions{}
	for _, g := range v.groups {
		if g.pending {
			continue
		}
		for _, t := range g.tasks {
			for p, at := range current[t.id] {
				if have, ok := out[p]; !ok || comparePositions(v.source, at, have) > 0 {
					out[p] = at
				}
			}
		}
	}
	if len(out) < len(v.partitions) {
		if stored, err := k.stored(ctx); err == nil {
			for p, at := range k.storedOf(stored, v.partitions) {
				if _, ok := out[p]; !ok {
					out[p] = at
				}
			}
		}
	}
	return out
}

// count computes how far behind the ends of the stream everything is.
func (l *lag) count(source stream.Source, reached stream.Positions) {
	l.behind = map[stream.Partition]int64{}
	for p, at := range reached {
		end, ok := l.latest[p]
		if !ok {
			continue
		}
		n := distance(source, at, end)
		l.behind[p] = n
		l.total += max(0, n)
	}
}

// distance is how many records lie between two positions, below zero if the second is before the
// first.
func distance(source stream.Source, from, to stream.Position) int64 {
	if comparePositions(source, from, to) > 0 {
		return -max(0, source.Distance(to, from))
	}
	return max(0, source.Distance(from, to))
}

// follow compares with what was measured before.
func (l *lag) follow(source stream.Source, before *lag) {
	if before.at == 0 {
		l.quiet = l.at
		return
	}
	came, moved := int64(0), false
	for p, at := range l.latest {
		was, ok := before.latest[p]
		if !ok || was == at {
			moved = moved || !ok
			continue
		}
		moved = true
		came += max(0, distance(source, was, at))
	}
	if l.quiet = before.quiet; moved || l.total > 0 {
		l.quiet = l.at
	}
	if seconds := float64(l.at-before.at) / 1000; seconds > 0 {
		l.rate = float64(came) / seconds
		l.read = max(0, float64(came+before.total-l.total)/seconds)
	}
}

// checkIdle reports whether the stream is quiet for so long that no new tasks are made.
func (k *keeper) checkIdle() bool {
	idle := k.spec().IO.Idle
	if idle == nil {
		idle = &k.o.Idle
	}
	if !idle.Enabled || k.spec().Suspended {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := &k.mu.lag
	quiet := l.at > 0 && l.total == 0 && k.now()-l.quiet > idle.Inactive
	switch {
	case quiet:
		k.mu.states.propose(idleState)
	case k.mu.states.current == idleState:
		k.mu.states.propose(runningState)
	}
	return k.mu.states.current == idleState
}

// meterTime tells how long something took.
func (k *keeper) meterTime(metric string, took time.Duration) {
	s := k.spec()
	k.o.Meter.Time(obs.Occurrence{
		Service: "overlord", Metric: metric,
		Dims: []string{"dataSource", s.Schema.DataSource, "stream", s.IO.Source(), "supervisorId", s.ID()},
	}, took)
}

// Measure records the lag metrics (docs/streaming.md).
func (m *Manager) Measure(_ context.Context, emit func(obs.Sample)) error {
	for _, k := range m.all() {
		k.measured(emit)
	}
	return nil
}

func (k *keeper) measured(emit func(obs.Sample)) {
	s := k.spec()
	dims := []string{"dataSource", s.Schema.DataSource, "stream", s.IO.Source(), "supervisorId", s.ID()}
	gauge := func(metric string, value float64, more ...string) {
		emit(obs.Sample{Service: "overlord", Metric: metric, Value: value, Dims: slices.Concat(dims, more)})
	}
	k.mu.Lock()
	l, scale := k.mu.lag, k.mu.scale
	k.mu.Unlock()
	gauge("ingest/notices/queueSize", float64(len(k.notices)))
	if scale != nil {
		gauge("task/autoScaler/requiredCount", float64(scale.Need))
	}
	if s.Suspended || l.at == 0 {
		return
	}
	tell := func(unit string, of map[stream.Partition]int64) {
		total, most := int64(0), int64(0)
		for p, n := range of {
			gauge("ingest/"+s.Type+"/partitionLag"+unit, float64(n), "partition", string(p))
			total, most = total+max(0, n), max(most, n)
		}
		gauge("ingest/"+s.Type+"/lag"+unit, float64(total))
		gauge("ingest/"+s.Type+"/maxLag"+unit, float64(most))
		gauge("ingest/"+s.Type+"/avgLag"+unit, float64(total)/float64(max(1, len(of))))
	}
	if s.Type != spec.Kinesis {
		tell("", l.behind)
	}
	if l.millis != nil {
		tell("/time", l.millis)
	}
}
