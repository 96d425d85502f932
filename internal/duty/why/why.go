package why

import (
	"context"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// The topics of decisions.
const (
	Load    = "load"
	Drop    = "drop"
	Compact = "compact"
	Kill    = "kill"
	Task    = "task"
	// Copy concerns the copy of a segment on a server.
	Copy = "copy"
)

// Decision is a decision about a subject.
type Decision struct {
	// Subject is the kind of the subject: segment, interval, datasource or task. ID is its id.
	Subject    string `json:"subject"`
	ID         string `json:"id"`
	DataSource string `json:"dataSource"`
	Topic      string `json:"topic"`
	// Outcome is one word: loaded, missing, unwanted, kept, dropped, waiting, ...
	Outcome string `json:"outcome"`
	// Reason is a sentence.
	Reason string `json:"reason"`
	// Details are the facts: the rule, the lock, the missing space.
	Details map[string]any `json:"details"`
}

// Server is a server that can load segments.
type Server struct {
	Host, Tier string
	Max, Used  int64
	// Loaded are the sorted ids of its segments.
	Loaded []string
}

// Store is the part of the metastore that explanations use.
type Store interface {
	duty.SettingStore
	duty.RuleStore
	Segments(ctx context.Context, ids ...string) ([]metastore.SegmentRow, error)
	Locks(ctx context.Context, dataSource string) ([]tasklock.Lock, error)
	TaskLocks(ctx context.Context, taskID string) ([]tasklock.Lock, error)
}

// Tasks is the task queue of the Overlord.
type Tasks interface {
	Find(ctx context.Context, id string) (*task.Status, error)
	Active() []task.Status
	Capacity() int
	Used() int
	Enabled() bool
}

// Options are the sources of information of an Explainer.
type Options struct {
	Store     Store
	Published *timeline.Published
	// Servers returns the servers to which rules assign segments.
	Servers func() []Server
	// Assigned returns the Coordinator's assignments; nil: not known.
	Assigned func(context.Context) Assigned
	// Copy returns the state of this process's copy of a segment, by segment id; false: there is no
	// copy. Nil: this process never has copies.
	Copy       func(id string) (CopyState, bool)
	Compaction *compact.Scheduler
	Tasks      Tasks
	// Supervisors explains a stream supervisor by its id, or, if the id is "", all stream supervisors
	// with problems. Nil: there are none.
	Supervisors func(id string) []Decision
	// Started is the start time of the Coordinator, in milliseconds.
	Started int64
	// AutoKill contains the settings of automatic deletion of unused segments, nil: it is disabled.
	AutoKill *AutoKill
	Clock    clock.Clock
}

// Assigned contains the loads that the Coordinator has assigned to servers.
type Assigned struct {
	// Told are the servers that were told to load a segment, by segment id. Failed is why the last
	// server that tried failed.
	Told   map[string][]string `json:"told"`
	Failed map[string]string   `json:"failed"`
}

// CopyState is the state of a server's copy of a segment. Instants are in milliseconds, 0: never
// since the start.
type CopyState struct {
	Verified, Damaged, Mended int64
	// Reason is the reason of the damage. Failure is why a replacement could not be fetched.
	Reason, Failure string
}

// AutoKill contains the minimum ages, in milliseconds, for the deletion of unused segments.
type AutoKill struct{ Buffer, Retain int64 }

// Explainer explains the state of the cluster. Its methods are safe for use by many goroutines.
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

// Supervisor explains a stream supervisor. It returns nothing if the supervisor does not exist.
func (e *Explainer) Supervisor(id string) []Decision {
	if e.o.Supervisors == nil || id == "" {
		return nil
	}
	return e.o.Supervisors(id)
}
