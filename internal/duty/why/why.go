package why

import (
	"context"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// The topics of decisions.
const (
	Load    = "load"
	Drop    = "drop"
	Compact = "compact"
	Kill    = "kill"
	Task    = "task"
	// Copy is about the bytes of a segment that a server holds.
	Copy = "copy"
)

// Decision is what was decided about one thing.
type Decision struct {
	// Subject is the kind of thing: segment, interval, datasource or task; ID names it.
	Subject    string `json:"subject"`
	ID         string `json:"id"`
	DataSource string `json:"dataSource"`
	Topic      string `json:"topic"`
	// Outcome is one word: loaded, missing, unwanted, kept, dropped, waiting, ...
	Outcome string `json:"outcome"`
	// Reason is a sentence.
	Reason string `json:"reason"`
	// Details are the facts: the rule, the lock, the room that is missing.
	Details map[string]any `json:"details"`
}

// Server is a server that may hold segments.
type Server struct {
	Host, Tier string
	Max, Used  int64
	// Loaded is the ids of the segments held, sorted.
	Loaded []string
}

// Store is what explanations need of the metastore.
type Store interface {
	duty.SettingStore
	duty.RuleStore
	Segments(ctx context.Context, ids ...string) ([]metastore.SegmentRow, error)
	Locks(ctx context.Context, dataSource string) ([]metastore.Lock, error)
	TaskLocks(ctx context.Context, taskID string) ([]metastore.Lock, error)
}

// Tasks is the Overlord's queue.
type Tasks interface {
	Find(ctx context.Context, id string) (*task.Status, error)
	Active() []task.Status
	Capacity() int
	Used() int
	Enabled() bool
}

// Options are what an Explainer asks.
type Options struct {
	Store     Store
	Published *timeline.Published
	// Servers returns the servers that rules place segments on.
	Servers func() []Server
	// Assigned returns what the Coordinator has told servers; nil: nobody knows.
	Assigned func(context.Context) Assigned
	// Copy tells of the bytes that this process holds of a segment, by its id; false: it holds none.
	// Nil: it never does.
	Copy       func(id string) (CopyState, bool)
	Compaction *compact.Scheduler
	Tasks      Tasks
	// Supervisors explains a supervisor that reads a stream, by its id; "": all that do not read as
	// they should. Nil: there are none.
	Supervisors func(id string) []Decision
	// Started is when the Coordinator began, in milliseconds.
	Started int64
	// AutoKill says when unused segments are deleted, nil: never by themselves.
	AutoKill *AutoKill
	Clock    clock.Clock
}

// Assigned is what the Coordinator has told servers to load.
type Assigned struct {
	// Told are the servers that are to load a segment, by its id, and Failed why the last that should
	// have did not.
	Told   map[string][]string `json:"told"`
	Failed map[string]string   `json:"failed"`
}

// CopyState tells of the bytes that a server holds of a segment. Instants are milliseconds, 0:
// never since the start.
type CopyState struct {
	Verified, Damaged, Mended int64
	// Reason is what was damaged, and Failure why it could not be had anew.
	Reason, Failure string
}

// AutoKill is the ages, in milliseconds, from which on unused segments are deleted.
type AutoKill struct{ Buffer, Retain int64 }

// Explainer answers questions. Its methods are safe for use by many goroutines.
type Explainer struct{ o Options }

// New returns an Explainer.
func New(o Options) *Explainer { return &Explainer{o} }

// facts is what many explanations share: everything at one moment.
type facts struct {
	state    *timeline.State
	rules    map[string]rule.List
	servers  []Server
	tiers    map[string]int // how many servers they have
	settings duty.Settings
	now      int64
	assigned Assigned
	matches  map[chunk]match
}

func (e *Explainer) facts(ctx context.Context) (*facts, error) {
	rules := duty.NewRules(e.o.Store)
	if err := rules.Refresh(ctx); err != nil {
		return nil, err
	}
	lists, _ := rules.Lists()
	settings, err := duty.ReadSettings(ctx, e.o.Store)
	if err != nil {
		return nil, err
	}
	f := &facts{
		state: e.o.Published.Pin(), rules: lists, servers: e.o.Servers(), tiers: map[string]int{}, settings: settings, now: clock.Millis(e.o.Clock),
		matches: map[chunk]match{},
	}
	for _, server := range f.servers {
		f.tiers[server.Tier]++
	}
	if e.o.Assigned != nil {
		f.assigned = e.o.Assigned(ctx)
	}
	return f, nil
}

// Supervisor explains a supervisor that reads a stream. Nothing: there is no such supervisor.
func (e *Explainer) Supervisor(id string) []Decision {
	if e.o.Supervisors == nil || id == "" {
		return nil
	}
	return e.o.Supervisors(id)
}
