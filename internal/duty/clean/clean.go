// Package clean implements the duty that deletes obsolete records from the metastore: ended
// supervisors, old audit history, rules and compaction settings of datasources without segments,
// offsets of ended supervisors, and segment ids that were promised to tasks that no longer exist.
// It also deletes files of deep storage that belong to no segment: see files.go.
//
// The central type is Cleaner. Deleting segments is in package duty/kill.
package clean

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
)

// Store is the part of the metastore that the duty uses.
type Store interface {
	duty.SettingStore
	DataSources(ctx context.Context, includeUnused bool) ([]string, error)
	DeleteSupervisors(ctx context.Context, fence metastore.Fence, before int64) (int64, error)
	DeleteAudit(ctx context.Context, fence metastore.Fence, before int64) (int64, error)
	DeleteStaleRules(ctx context.Context, fence metastore.Fence, before int64, keep string) (int64, error)
	DeleteStaleOffsets(ctx context.Context, fence metastore.Fence, before int64) (int64, error)
	DeleteStalePending(ctx context.Context, fence metastore.Fence, before int64, keep []string) (int64, error)
	UpdateSetting(ctx context.Context, fence metastore.Fence, name string, entry *metastore.AuditEntry,
		next func(stored json.RawMessage) (json.RawMessage, error)) (bool, error)
	StaleTasks(ctx context.Context, before int64, limit int) ([]string, error)
	DeleteTasks(ctx context.Context, fence metastore.Fence, before int64, limit int) (ids []string, files []metastore.TaskFile, err error)
	FileStore
	DataSourceFiles(ctx context.Context, dataSource string, fn func(metastore.File) error) error
}

// Tasks lists the tasks that have not completed.
type Tasks interface {
	Active() []task.Status
}

// The names of the chores in properties and metrics.
const (
	Supervisors = "supervisor"
	Audit       = "audit"
	Rules       = "rule"
	Offsets     = "datasource"
	Compaction  = "compaction"
	Pending     = "pendingSegments"
	// Unreferenced are files whose last segment was deleted or moved by a task that failed before it
	// deleted the files.
	Unreferenced = "unreferencedFiles"
	// Ended are completed tasks with their reports, logs and results.
	Ended = "tasks"
	// Orphaned are segment files that tasks have written but never published.
	Orphaned = "orphanedFiles"
)

// Chores are all chores.
var Chores = []string{Supervisors, Audit, Rules, Offsets, Compaction, Pending, Unreferenced, Orphaned, Ended}

// Chore configures one of the chores.
type Chore struct {
	On bool
	// Period is the time between two runs. Retain is the minimum age of the records that are deleted.
	Period, Retain time.Duration
}

// Options are the settings of a Cleaner.
type Options struct {
	// Period is how often the Cleaner checks for due chores.
	Period time.Duration
	// Chores are the enabled chores by name.
	Chores map[string]Chore
	// Deep is the deep storage of segment files. Prefixes are the prefixes of their keys, before the
	// name of the datasource.
	Deep     deepstore.Store
	Prefixes []string
	// DropTask deletes the files of a completed task.
	DropTask func(ctx context.Context, id string) error
	// Runs records the rounds; may be nil.
	Runs  *duty.Runs
	Clock clock.Clock
	Log   *slog.Logger
}

// Cleaner runs chores.
type Cleaner struct {
	store Store
	tasks Tasks
	o     Options
	last  map[string]int64 // when a chore was done, in milliseconds

	listed, deleted int // files that are listed and deleted at once

	mu struct {
		sync.Mutex
		forgotten map[string]int64
	}
}

// New returns the duty.
func New(store Store, tasks Tasks, o Options) *Cleaner {
	c := &Cleaner{store: store, tasks: tasks, o: o, last: map[string]int64{}, listed: listAtOnce, deleted: deleteAtOnce}
	c.mu.forgotten = map[string]int64{}
	return c
}

// Run runs chores until ctx is done.
func (c *Cleaner) Run(ctx context.Context) error {
	for c.o.Clock.Sleep(ctx, c.o.Period) == nil {
		c.Round(ctx)
	}
	return nil
}

// Round runs the chores that are due. A chore that fails is due again in the next round. Round is
// called by one goroutine at a time.
func (c *Cleaner) Round(ctx context.Context) {
	defer c.o.Runs.Begin()()
	set, err := duty.ReadSettings(ctx, c.store)
	if err != nil {
		c.failed(ctx, "settings", err)
		return
	}
	if set.PauseCoordination {
		return
	}
	now := clock.Millis(c.o.Clock)
	for _, name := range Chores {
		chore := c.o.Chores[name]
		last, done := c.last[name]
		if !chore.On || done && now-last < chore.Period.Milliseconds() {
			continue
		}
		n, err := c.do(ctx, name, now-chore.Retain.Milliseconds(), &set)
		if err != nil {
			c.failed(ctx, name, err)
			continue
		}
		c.last[name] = now
		c.mu.Lock()
		c.mu.forgotten[name] += n
		c.mu.Unlock()
		if n > 0 {
			c.o.Log.InfoContext(ctx, "old records deleted", "kind", name, "records", n)
		}
	}
}

func (c *Cleaner) failed(ctx context.Context, name string, err error) {
	if ctx.Err() == nil {
		c.o.Log.ErrorContext(ctx, "failed to delete old records; the next round retries", "kind", name, "error", err)
	}
}

// Forgotten returns how many records a chore has deleted so far.
func (c *Cleaner) Forgotten(name string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.forgotten[name]
}

func (c *Cleaner) do(ctx context.Context, name string, before int64, set *duty.Settings) (int64, error) {
	switch name {
	case Supervisors:
		return c.store.DeleteSupervisors(ctx, metastore.Fence{}, before)
	case Audit:
		return c.store.DeleteAudit(ctx, metastore.Fence{}, before)
	case Rules:
		return c.store.DeleteStaleRules(ctx, metastore.Fence{}, before, rule.Default)
	case Offsets:
		return c.store.DeleteStaleOffsets(ctx, metastore.Fence{}, before)
	case Compaction:
		return c.compaction(ctx)
	case Ended:
		return c.endedTasks(ctx, before)
	case Unreferenced:
		return DeleteFiles(ctx, c.store, c.o.Deep, c.o.Log)
	}
	for _, s := range c.tasks.Active() { // what was promised to a task that runs, or written by it, is still wanted
		before = min(before, s.Task.Created-pendingMargin)
	}
	if name == Orphaned {
		return c.orphans(ctx, min(before, clock.Millis(c.o.Clock)-pendingMargin))
	}
	return c.store.DeleteStalePending(ctx, metastore.Fence{}, before, set.KillPendingSegmentsSkipList)
}

// tasksAtOnce is how many tasks are forgotten by one transaction.
const tasksAtOnce = 100

// endedTasks forgets tasks that ended before an instant. What they have left behind goes first: who
// is stopped in between finds them again.
func (c *Cleaner) endedTasks(ctx context.Context, before int64) (forgotten int64, err error) {
	for {
		ids, err := c.store.StaleTasks(ctx, before, tasksAtOnce)
		if err != nil || len(ids) == 0 {
			return forgotten, err
		}
		for _, id := range ids {
			if err := c.o.DropTask(ctx, id); err != nil {
				return forgotten, err
			}
		}
		if _, _, err = c.store.DeleteTasks(ctx, metastore.Fence{}, before, len(ids)); err != nil {
			return forgotten, err
		}
		forgotten += int64(len(ids))
	}
}

// pendingMargin is how much older than every active task a promised segment, or a file, must be, in
// milliseconds: clocks are not the same everywhere.
const pendingMargin = 24 * 60 * 60 * 1000

// compaction forgets the settings of datasources that have no segments.
func (c *Cleaner) compaction(ctx context.Context) (forgotten int64, err error) {
	names, err := c.store.DataSources(ctx, true)
	if err != nil {
		return 0, err
	}
	gone := func(config compact.Config) bool { return !slices.Contains(names, config.DataSource) }
	stored, found, err := c.store.Setting(ctx, compact.SettingName)
	if err != nil || !found {
		return 0, err
	}
	present, err := compact.ParseStored(stored)
	if err != nil || !slices.ContainsFunc(present.Configs, gone) {
		return 0, err
	}
	entry := &metastore.AuditEntry{
		Type: compact.SettingName, Key: compact.SettingName, Author: "KillCompactionConfig",
		Comment: "CoordinatorDuty for automatic deletion of compaction config",
	}
	_, err = c.store.UpdateSetting(ctx, metastore.Fence{}, compact.SettingName, entry, func(stored json.RawMessage) (json.RawMessage, error) {
		s, err := compact.ParseStored(stored)
		if err != nil {
			return nil, err
		}
		before := len(s.Configs)
		s.Configs = slices.DeleteFunc(s.Configs, gone)
		forgotten = int64(before - len(s.Configs))
		return json.Marshal(s)
	})
	return forgotten, err
}
