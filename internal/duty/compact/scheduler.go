package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// Store is the part of the metastore that rounds use.
type Store interface {
	Setting(ctx context.Context, name string) (json.RawMessage, bool, error)
	Supervisors(ctx context.Context) ([]metastore.SupervisorVersion, error)
	Locks(ctx context.Context, dataSource string) ([]tasklock.Lock, error)
}

// Tasks is the task queue of the Overlord.
type Tasks interface {
	// Read parses the JSON of a task.
	Read(body []byte) (*task.Task, error)
	Submit(ctx context.Context, t *task.Task) error
	// Find returns the status of a task, or nil if it is unknown.
	Find(ctx context.Context, id string) (*task.Status, error)
	Stop(ctx context.Context, id, reason string) (found bool, err error)
	Active() []task.Status
	// Ended returns a channel that is closed when the next task completes.
	Ended() <-chan struct{}
	Capacity() int
}

// Options are the settings of a Scheduler.
type Options struct {
	// Period is the maximum time between two rounds, Gap the minimum.
	Period, Gap time.Duration
	// Runs records the rounds; may be nil.
	Runs  *duty.Runs
	Clock clock.Clock
	Log   *slog.Logger
}

// Scheduler runs rounds of automatic compaction. Its methods are safe for use by many goroutines.
type Scheduler struct {
	store     Store
	published *timeline.Published
	tasks     Tasks
	o         Options
	nudged    chan struct{}

	// round is held by a round; surveys are its own.
	round   sync.Mutex
	surveys map[string]*survey

	mu struct {
		sync.Mutex
		outcomes  map[string][]Outcome
		snapshots map[string]Snapshot
		removed   map[string]bool
		attempts  map[place]*attempt
		stats     Stats
	}
}

// Stats are counters since the start of the process.
type Stats struct {
	Rounds, Submitted, Failed int64
	// Slots and Free are the numbers of the last round.
	Slots, Free int
}

// New returns a scheduler. Rounds begin with Run or Round.
func New(store Store, published *timeline.Published, tasks Tasks, o Options) *Scheduler {
	s := &Scheduler{store: store, published: published, tasks: tasks, o: o, nudged: make(chan struct{}, 1), surveys: map[string]*survey{}}
	s.mu.outcomes, s.mu.snapshots = map[string][]Outcome{}, map[string]Snapshot{}
	s.mu.removed, s.mu.attempts = map[string]bool{}, map[place]*attempt{}
	return s
}

// Nudge requests a round soon, because settings or other inputs of a round changed.
func (s *Scheduler) Nudge() {
	select {
	case s.nudged <- struct{}{}:
	default:
	}
}

// Run runs rounds until ctx is done.
func (s *Scheduler) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for state := s.published.Pin(); ; {
			var err error
			if state, err = s.published.Next(ctx, state); err != nil {
				return nil // ctx is done
			}
			s.Nudge()
		}
	})
	group.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-s.tasks.Ended(): // a slot is free, perhaps a lock too
				s.Nudge()
			}
		}
	})
	group.Go(func() error { s.rounds(ctx); return nil })
	return group.Wait()
}

func (s *Scheduler) rounds(ctx context.Context) {
	timer := s.o.Clock.NewTimer(s.o.Period)
	defer timer.Stop()
	for ctx.Err() == nil {
		set, err := duty.ReadSettings(ctx, s.store)
		if err == nil && !set.PauseCoordination {
			err = s.Round(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.ErrorContext(ctx, "automatic compaction round failed; the next round retries", "error", err)
		}
		timer.Reset(s.untilNext())
		if s.o.Clock.Sleep(ctx, s.o.Gap) != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-s.nudged:
		case <-timer.C():
		}
	}
}

// untilNext is the time to the next round that nothing asks for: a period, or when a group that
// failed may be tried again.
func (s *Scheduler) untilNext() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wait := clock.Millis(s.o.Clock), s.o.Period
	for _, a := range s.mu.attempts {
		if a.ended && a.next > now {
			wait = min(wait, time.Duration(a.next-now)*time.Millisecond)
		}
	}
	return wait
}

// settle notes how the tasks of earlier rounds ended.
func (s *Scheduler) settle(ctx context.Context) error {
	s.mu.Lock()
	var open []*attempt
	for _, a := range s.mu.attempts {
		if !a.ended {
			open = append(open, a)
		}
	}
	s.mu.Unlock()
	for _, a := range open { // only rounds change them, and this is the one there is
		status, err := s.tasks.Find(ctx, a.task)
		if err != nil {
			return fmt.Errorf("asking for compaction task [%s]: %w", a.task, err)
		}
		if status != nil && !status.State.Done() {
			continue
		}
		succeeded, message := status != nil && status.State == task.Succeeded, "it is unknown"
		if status != nil {
			message = status.Error
		}
		s.mu.Lock()
		a.end(succeeded, message, clock.Millis(s.o.Clock))
		if !succeeded {
			s.mu.stats.Failed++
		}
		s.mu.Unlock()
	}
	return nil
}

// Status is the compaction state of a group of segments.
type Status uint8

const (
	// Compacted groups match the settings.
	Compacted Status = iota
	// Pending groups need compaction and wait for a slot or for a time.
	Pending
	// Running groups have a running task.
	Running
	// Skipped groups are not compacted.
	Skipped
)

// String returns the name in API responses.
func (s Status) String() string { return [...]string{"COMPLETE", "PENDING", "RUNNING", "SKIPPED"}[s] }

// Outcome is a group with the decision of a round.
type Outcome struct {
	Group  *Group
	Status Status
	// Why is the reason why it is not compacted, or why it is being compacted.
	Why string
	// Task is the id of the task that compacts it.
	Task string
}

func (s *Scheduler) settings(ctx context.Context) (Settings, error) {
	text, _, err := s.store.Setting(ctx, SettingName)
	if err != nil {
		return Settings{}, err
	}
	return ParseStored(text)
}

func (s *Scheduler) cluster(ctx context.Context) (Cluster, error) {
	settings, err := s.settings(ctx)
	return settings.Cluster, err
}

// configs returns the settings in force: those of supervisors that are not suspended, or those of
// the setting.
func (s *Scheduler) configs(ctx context.Context) ([]Config, Cluster, error) {
	settings, err := s.settings(ctx)
	if err != nil || !settings.UseSupervisors {
		return settings.Configs, settings.Cluster, err
	}
	versions, err := s.store.Supervisors(ctx)
	if err != nil {
		return nil, Cluster{}, err
	}
	var out []Config
	for _, v := range versions {
		spec, ok, err := ParseSpec(v.Payload)
		if err != nil {
			return nil, Cluster{}, fmt.Errorf("reading supervisor [%s]: %w", v.ID, err)
		}
		if ok && !spec.Suspended() && spec.Config.ValidateEngine(&settings.Cluster) == nil {
			out = append(out, spec.Config)
		}
	}
	return out, settings.Cluster, nil
}

// Round processes every datasource with settings, recomputes those that changed, and submits tasks
// while slots are free.
func (s *Scheduler) Round(ctx context.Context) error {
	s.round.Lock()
	defer s.round.Unlock()
	defer s.o.Runs.Begin()()
	configs, cluster, err := s.configs(ctx)
	if err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	active := s.active()
	state := s.published.Pin()
	surveys := make(map[string]*survey, len(configs))
	outcomes := make(map[string][]Outcome, len(configs))
	capacity := cluster.slots(s.tasks.Capacity())
	if capacity > 0 {
		for i := range configs {
			c := &configs[i]
			if surveys[c.DataSource], err = s.survey(c, state.Timeline(c.DataSource)); err != nil {
				return err
			}
			if err := s.stopOutdated(ctx, c, active[c.DataSource]); err != nil {
				return err
			}
			if outcomes[c.DataSource], err = s.look(ctx, surveys[c.DataSource], active[c.DataSource], &cluster); err != nil {
				return err
			}
		}
	}
	free := capacity
	for _, list := range active {
		for _, r := range list {
			free -= r.slots
		}
	}
	left, err := s.submit(ctx, surveys, outcomes, &cluster, free)
	s.surveys = surveys
	s.keep(surveys, outcomes, capacity, left)
	return err
}

// active returns the compaction tasks without an end by datasource, whoever submitted them.
func (s *Scheduler) active() map[string][]running {
	out := map[string][]running{}
	for _, status := range s.tasks.Active() {
		if status.Task.Type == TaskType {
			out[status.Task.DataSource] = append(out[status.Task.DataSource], readTask(status.Task))
		}
	}
	return out
}

// stopOutdated ends tasks that make time chunks the settings no longer want.
func (s *Scheduler) stopOutdated(ctx context.Context, c *Config, active []running) error {
	want := c.segmentGranularity()
	if want == nil {
		return nil
	}
	for _, r := range active {
		if !isIssued(r.id) || r.segment == nil || r.segment.Equal(*want) {
			continue
		}
		reason := fmt.Sprintf("Compaction settings of datasource [%s] changed segmentGranularity to [%s]", c.DataSource, nameOf(want))
		if _, err := s.tasks.Stop(ctx, r.id, reason); err != nil {
			return err
		}
	}
	return nil
}

// survey returns what the segments and settings of a datasource say; what was found before if
// neither changed.
func (s *Scheduler) survey(c *Config, tl *timeline.Timeline) (*survey, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	if found := s.surveys[c.DataSource]; found != nil && found.timeline == tl && found.key == key {
		return found, nil
	}
	return take(c, key, tl)
}

// look is judge, at no cost where nothing is to do and nothing changed.
func (s *Scheduler) look(ctx context.Context, v *survey, active []running, cluster *Cluster) ([]Outcome, error) {
	if v.rest != nil && len(active) == 0 {
		return v.rest, nil
	}
	v.rest = nil
	out, err := s.judge(ctx, v, active, cluster)
	if err != nil || len(active) > 0 {
		return out, err
	}
	for i := range out {
		if o := &out[i]; o.Status != Compacted && (o.Status != Skipped || o.Why != o.Group.skipped) {
			return out, nil
		}
	}
	v.rest, v.snapshot = append([]Outcome{}, out...), snapshotOf(v.config.DataSource, out)
	return out, nil
}

// judge says of each group what becomes of it, beside what it has in common with those of other
// datasources: the slots.
func (s *Scheduler) judge(ctx context.Context, v *survey, active []running, cluster *Cluster) ([]Outcome, error) {
	var out []Outcome
	var locked []chrono.Interval
	asked := false
	now := clock.Millis(s.o.Clock)
	for _, g := range v.groups {
		if g.empty {
			continue
		}
		o := Outcome{Group: g, Why: g.reason, Status: Pending}
		working := slices.IndexFunc(active, func(r running) bool { return r.interval.Overlaps(g.Interval) })
		switch {
		case working >= 0:
			o.Status, o.Task = Running, active[working].id
		case g.skipped != "":
			o.Status, o.Why = Skipped, g.skipped
		case g.reason == "":
			o.Status, o.Why = Compacted, "as the settings want it"
		}
		if o.Status == Pending && !asked {
			var err error
			if locked, err = s.locked(ctx, v.config); err != nil {
				return nil, err
			}
			asked = true
		}
		if o.Status == Pending {
			s.consider(&o, v, locked, cluster, now)
		}
		out = append(out, o)
	}
	if len(v.unbounded) > 0 {
		const why = "its time chunk has no bounds (segment granularity ALL)"
		g := &Group{DataSource: v.config.DataSource, Interval: chrono.Eternity, Segments: v.unbounded, intervals: 1, skipped: why}
		for _, segment := range v.unbounded {
			g.Bytes += segment.Size
		}
		out = append(out, Outcome{Group: g, Status: Skipped, Why: why})
	}
	return out, nil
}

// consider finds out whether a group that needs compaction can't have it.
func (s *Scheduler) consider(o *Outcome, v *survey, locked []chrono.Interval, cluster *Cluster, now int64) {
	for _, iv := range locked {
		if wide := widen(v.config, iv); wide.Overlaps(o.Group.Interval) {
			o.Status, o.Why = Skipped, "interval ["+iv.String()+"] is locked by another task"
			return
		}
	}
	if why := cluster.Policy.refuses(o.Group); why != "" {
		o.Status, o.Why = Skipped, why
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.mu.attempts[place{o.Group.DataSource, o.Group.Interval}]
	why, pending := a.hinders(o.Group, v.key, now)
	switch {
	case why == "":
	case !pending:
		o.Status, o.Why = Skipped, why
	case a.failures == 0: // it is as good as compacted
		o.Status, o.Why, o.Task = Running, why, a.task
	default:
		o.Why = why
	}
}

// locked returns the intervals that tasks of equal or higher priority hold. Appends of tasks that
// share their time chunks don't hinder a compaction that does so too.
func (s *Scheduler) locked(ctx context.Context, c *Config) ([]chrono.Interval, error) {
	locks, err := s.store.Locks(ctx, c.DataSource)
	if err != nil {
		return nil, err
	}
	shares := fmt.Sprint(querycontext.ConcurrentLocks.In(c.TaskContext)) == "true" || fmt.Sprint(querycontext.TaskLockType.In(c.TaskContext)) == string(tasklock.Replace)
	var out []chrono.Interval
	for _, l := range locks {
		if !l.Revoked && l.Priority >= c.TaskPriority && !(shares && l.Type == tasklock.Append) {
			out = append(out, l.Interval)
		}
	}
	return chrono.Condense(out), nil
}

// submit gives tasks to the groups that wait, in the order of the policy, while fewer slots are
// taken than there are: the last one may take more. It returns the slots that are left.
func (s *Scheduler) submit(
	ctx context.Context, surveys map[string]*survey, outcomes map[string][]Outcome, cluster *Cluster, free int,
) (int, error) {
	var queue []*Outcome
	for _, list := range outcomes {
		for i := range list {
			if list[i].Status == Pending && !s.delayed(&list[i]) {
				queue = append(queue, &list[i])
			}
		}
	}
	slices.SortFunc(queue, func(a, b *Outcome) int { return cluster.Policy.compare(a.Group, b.Group) })
	for _, o := range queue {
		if free <= 0 {
			break
		}
		v := surveys[o.Group.DataSource]
		slots := cost(v.config, cluster, free)
		id, err := s.start(ctx, v, o.Group, cluster, slots)
		if ctx.Err() != nil {
			return free, context.Cause(ctx)
		}
		if err != nil {
			o.Why = "no task could be submitted: " + task.Message(err)
			continue
		}
		o.Status, o.Task = Running, id
		free -= slots
	}
	return free, nil
}

// delayed reports whether a group waits for the time after a failure.
func (s *Scheduler) delayed(o *Outcome) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.mu.attempts[place{o.Group.DataSource, o.Group.Interval}]
	return a != nil && a.ended && a.failures > 0 && clock.Millis(s.o.Clock) < a.next
}

// start submits the task of a group.
func (s *Scheduler) start(ctx context.Context, v *survey, g *Group, cluster *Cluster, slots int) (id string, err error) {
	now := clock.Millis(s.o.Clock)
	of := place{g.DataSource, g.Interval}
	defer func() {
		if err == nil || ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		a := s.mu.attempts[of]
		if a == nil || a.key != v.key {
			a = &attempt{key: v.key, before: g.print()}
			s.mu.attempts[of] = a
		}
		a.task = ""
		a.end(false, task.Message(err), now)
		s.mu.stats.Failed++
	}()
	body, err := newTask(v.config, cluster, g, slots, now)
	if err != nil {
		return "", err
	}
	t, err := s.tasks.Read(body)
	if err != nil {
		return "", err
	}
	if err := s.tasks.Submit(ctx, t); err != nil {
		return "", err
	}
	s.o.Log.InfoContext(ctx, "compaction task submitted", "datasource", g.DataSource, "interval", g.Interval.String(), "task", t.ID,
		"segments", len(g.Segments), "bytes", g.Bytes, "reason", g.reason)
	s.mu.Lock()
	a := s.mu.attempts[of]
	if a == nil || a.key != v.key {
		a = &attempt{key: v.key}
		s.mu.attempts[of] = a
	}
	a.task, a.before, a.after, a.ended = t.ID, g.print(), fingerprint{}, false
	s.mu.stats.Submitted++
	s.mu.Unlock()
	return t.ID, nil
}

// keep publishes what a round found out, and forgets attempts for groups that need nothing any
// more.
func (s *Scheduler) keep(surveys map[string]*survey, outcomes map[string][]Outcome, slots, free int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshots := make(map[string]Snapshot, len(outcomes))
	for name, list := range outcomes {
		delete(s.mu.removed, name)
		if v := surveys[name]; v.rest != nil {
			snapshots[name] = v.snapshot
			continue
		}
		snapshots[name] = snapshotOf(name, list)
	}
	for of, a := range s.mu.attempts {
		i := slices.IndexFunc(outcomes[of.dataSource], func(o Outcome) bool { return o.Group.Interval == of.interval })
		if a.ended && (i < 0 || outcomes[of.dataSource][i].Status == Compacted) {
			delete(s.mu.attempts, of)
		}
	}
	for name := range s.mu.outcomes {
		if _, ok := outcomes[name]; !ok {
			s.mu.removed[name] = true
		}
	}
	s.mu.outcomes, s.mu.snapshots = outcomes, snapshots
	s.mu.stats.Rounds++
	s.mu.stats.Slots, s.mu.stats.Free = slots, max(0, free)
}

// Stats returns the counters so far.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stats
}
