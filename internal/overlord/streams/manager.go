package streams

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

// Queue is the part of the task queue that supervisors use.
type Queue interface {
	Submit(ctx context.Context, t *task.Task) error
	Stop(ctx context.Context, id, reason string) (found bool, err error)
	Active() []task.Status
	Find(ctx context.Context, id string) (*task.Status, error)
	// Ended returns a channel that is closed when the next task completes.
	Ended() <-chan struct{}
}

// Store is the part of the metastore that supervisors use.
type Store interface {
	Supervisors(ctx context.Context) ([]metastore.SupervisorVersion, error)
	PutSupervisor(ctx context.Context, fence metastore.Fence, v metastore.SupervisorVersion, entry *metastore.AuditEntry) error
	Offsets(ctx context.Context, id string) (metastore.Offsets, bool, error)
	SwapOffsets(ctx context.Context, fence metastore.Fence, dataSource string, swap metastore.OffsetSwap) error
	DeleteOffsets(ctx context.Context, fence metastore.Fence, id string) (bool, error)
}

// Options are the dependencies and settings of a Manager.
type Options struct {
	Queue Queue
	Store Store
	// Open connects to a stream.
	Open func(ctx context.Context, config stream.Config) (stream.Source, error)
	// Tasks finds the tasks, wherever they run.
	Tasks chat.Tasks
	// Check validates what the parser of specifications does not; may be nil.
	Check      func(s *spec.Stream) error
	Thresholds Thresholds
	// Idle is the default idleConfig.
	Idle  spec.Idle
	Meter *obs.Meter
	Clock clock.Clock
	Log   *slog.Logger
}

// Manager runs the supervisors that read streams. Its methods are safe for use by many goroutines.
type Manager struct {
	o Options

	mu struct {
		sync.Mutex
		life    context.Context // of Run; nil: this process does not lead
		keepers map[string]*keeper
	}
	running sync.WaitGroup
}

// New returns a manager without supervisors.
func New(o Options) *Manager {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Thresholds = o.Thresholds.withDefaults()
	m := &Manager{o: o}
	m.mu.keepers = map[string]*keeper{}
	return m
}

// loadRetry is how often the specifications are asked for that can't be read.
const loadRetry = time.Second

// Run runs the supervisors until ctx is done: the supervisors in the metastore, and supervisors
// that are created meanwhile. Their tasks continue to run afterwards.
func (m *Manager) Run(ctx context.Context) error {
	defer m.leave()
	for {
		err := m.load(ctx)
		if err == nil {
			break
		}
		m.o.Log.WarnContext(ctx, "failed to read supervisors; retrying", "error", err)
		if m.o.Clock.Sleep(ctx, loadRetry) != nil {
			return nil
		}
	}
	<-ctx.Done()
	return nil
}

// load begins with the supervisors of the metastore. Who changes one meanwhile waits.
func (m *Manager) load(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	versions, err := m.o.Store.Supervisors(ctx)
	if err != nil {
		return err
	}
	m.mu.life = ctx
	for _, v := range versions {
		s, err := parseAny(v.Payload)
		if err != nil {
			m.o.Log.ErrorContext(ctx, "supervisor is invalid and does not run", "supervisor", v.ID, "error", err)
			continue
		}
		if s != nil {
			m.startLocked(s, nil)
		}
	}
	return nil
}

// parseAny reads a specification; nil: it is of another type.
func parseAny(text json.RawMessage) (*spec.Stream, error) {
	var w struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fault.InvalidInput("The specification is not readable").WithCause(err)
	}
	for _, kind := range spec.StreamTypes {
		if kind == w.Type {
			return spec.ParseStream(kind, text)
		}
	}
	return nil, nil
}

// leave forgets all supervisors when they have stopped.
func (m *Manager) leave() {
	m.mu.Lock()
	m.mu.life = nil
	m.mu.Unlock()
	m.running.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.mu.keepers)
}

// startLocked starts a keeper, which waits for the one before it to stop.
func (m *Manager) startLocked(s *spec.Stream, before *keeper) {
	k := newKeeper(&m.o, s)
	m.mu.keepers[s.ID()] = k
	life := m.mu.life
	m.running.Go(func() {
		defer close(k.over)
		if before != nil {
			select {
			case <-before.over:
			case <-life.Done():
				return
			}
		}
		k.run(life)
	})
}

// find returns the keeper of a supervisor; nil: it does not run here.
func (m *Manager) find(id string) *keeper {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.keepers[id]
}

// all returns the keepers.
func (m *Manager) all() []*keeper {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*keeper, 0, len(m.mu.keepers))
	for _, k := range m.mu.keepers {
		out = append(out, k)
	}
	return out
}

// changed goes on with another specification, or ends a supervisor. It returns when its tasks were
// told, as far as they answer in time.
func (m *Manager) changed(s *spec.Stream, ended bool) {
	m.mu.Lock()
	if m.mu.life == nil {
		m.mu.Unlock()
		return
	}
	before := m.mu.keepers[s.ID()]
	m.mu.Unlock()
	same := before != nil && !ended && tasksAlike(before.spec(), s) && !identical(before.spec(), s)
	if before != nil {
		before.stop(!same)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.life == nil {
		return
	}
	switch {
	case !ended:
		m.startLocked(s, before)
	case m.mu.keepers[s.ID()] == before:
		delete(m.mu.keepers, s.ID())
	}
}

// identical reports whether two specifications are the same.
func identical(a, b *spec.Stream) bool {
	x, err := json.Marshal(a)
	y, errB := json.Marshal(b)
	return err == nil && errB == nil && bytes.Equal(x, y)
}

// tasksAlike reports whether two specifications make the same tasks, so that those of one can go on
// for the other.
func tasksAlike(a, b *spec.Stream) bool {
	if a.Suspended || b.Suspended {
		return false
	}
	x, err := json.Marshal(taskView(a))
	y, errB := json.Marshal(taskView(b))
	return err == nil && errB == nil && bytes.Equal(x, y)
}

// taskView is what tasks see of a specification, with what decides what each reads.
func taskView(s *spec.Stream) any {
	t, err := spec.NewStreamTask(s, "", chat.TaskIO{
		Stream: s.IO.Stream, PollMillis: s.IO.PollMillis, Format: s.IO.Format, MinTime: s.IO.LateStart,
	})
	return struct {
		Task        any
		Failed      bool
		Tasks       int
		Late, Early *int64
		Duration    int64
		Priorities  map[int]int
	}{t, err != nil, s.IO.Tasks, s.IO.Late, s.IO.Early, boundDuration(s), s.IO.Priorities}
}

// boundDuration is the duration of tasks as far as it bounds times of rows.
func boundDuration(s *spec.Stream) int64 {
	if s.IO.Early == nil && s.IO.Late == nil {
		return 0
	}
	return s.IO.TaskMillis
}

// Checkpoint implements chat.Overlord.
func (m *Manager) Checkpoint(ctx context.Context, supervisor string, group int, starts stream.Positions) error {
	k := m.find(supervisor)
	if k == nil {
		return fault.NotFound("Cannot find any supervisor with id: [%s]", supervisor)
	}
	return k.tell(ctx, func(ctx context.Context) { k.checkpointRequest(ctx, group, starts) })
}
