// Package kill submits kill tasks for segments that have been unused for long enough, one
// datasource after the other, within the share of task slots that the settings allow.
//
// The central type is Auto, a duty of the Coordinator. The tasks themselves are in package
// tasktype/kill.
package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/task"
)

// issued begins the ids of kill tasks that nobody asked for.
const issued = "coordinator-issued_kill"

// AutoStore is the part of the metastore that automatic kill uses.
type AutoStore interface {
	duty.SettingStore
	DataSources(ctx context.Context, includeUnused bool) ([]string, error)
	UnusedIntervals(ctx context.Context, dataSource string, unusedBefore, endBefore int64, limit int) ([]chrono.Interval, error)
}

// Tasks is the task queue of the Overlord.
type Tasks interface {
	Read(body []byte) (*task.Task, error)
	Submit(ctx context.Context, t *task.Task) error
	Active() []task.Status
	Capacity() int
}

// AutoOptions are the settings of automatic kill.
type AutoOptions struct {
	// Period is the time between two rounds.
	Period time.Duration
	// Retain is the minimum age of the end of a segment; a negative value extends into the future.
	// IgnoreRetain disables it.
	Retain       time.Duration
	IgnoreRetain bool
	// Buffer is the minimum time that a segment must have been unused.
	Buffer time.Duration
	// MaxSegments is the maximum number of segments of a task, MaxInterval the maximum length of its
	// interval, 0: no limit.
	MaxSegments int
	MaxInterval time.Duration
	// Runs records the rounds; may be nil.
	Runs  *duty.Runs
	Clock clock.Clock
	Log   *slog.Logger
}

// Auto submits kill tasks for segments that have been unused for long.
type Auto struct {
	store AutoStore
	tasks Tasks
	o     AutoOptions

	// last is the datasource of the last task: the next round goes on behind it.
	last string
	// done is where the last task of a datasource ended.
	done map[string]int64

	mu struct {
		sync.Mutex
		stats AutoStats
	}
}

// AutoStats contains the number of tasks since the start of the process and the results of the last
// round.
type AutoStats struct {
	Submitted        int64
	Slots, Free      int
	Eligible         map[string]int // intervals of unused segments that may be deleted, by datasource
	Rounds, Failures int64
}

// NewAuto returns the duty.
func NewAuto(store AutoStore, tasks Tasks, o AutoOptions) *Auto {
	return &Auto{store: store, tasks: tasks, o: o, done: map[string]int64{}}
}

// Run runs rounds until ctx is done.
func (a *Auto) Run(ctx context.Context) error {
	for a.o.Clock.Sleep(ctx, a.o.Period) == nil {
		if err := a.Round(ctx); err != nil && ctx.Err() == nil {
			a.o.Log.ErrorContext(ctx, "failed to find unused segments; the next round retries", "error", err)
			a.mu.Lock()
			a.mu.stats.Failures++
			a.mu.Unlock()
		}
	}
	return nil
}

// Stats returns the statistics so far.
func (a *Auto) Stats() AutoStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.stats
}

// Round submits at most one task for each datasource while slots are free, in alphabetical order,
// starting after the last datasource of the previous round. It is called by one goroutine at a
// time.
func (a *Auto) Round(ctx context.Context) error {
	defer a.o.Runs.Begin()()
	set, err := duty.ReadSettings(ctx, a.store)
	if err != nil || set.PauseCoordination {
		return err
	}
	busy := map[string]bool{}
	running := 0
	for _, s := range a.tasks.Active() {
		if s.Task.Type == task.KillType {
			busy[s.Task.DataSource] = true
			if strings.HasPrefix(s.Task.ID, issued+"_") {
				running++
			}
		}
	}
	slots := slotsOf(&set, a.tasks.Capacity())
	stats := AutoStats{Slots: slots, Free: max(0, slots-running), Eligible: map[string]int{}}
	free := stats.Free
	names, err := a.candidates(ctx, &set)
	if err != nil {
		return err
	}
	for _, name := range names {
		if free == 0 {
			break
		}
		if busy[name] {
			continue
		}
		submitted, err := a.submit(ctx, name, stats.Eligible)
		if err != nil {
			return err
		}
		if submitted {
			free--
			stats.Submitted++
			a.last = name
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	stats.Submitted += a.mu.stats.Submitted
	stats.Rounds, stats.Failures = a.mu.stats.Rounds+1, a.mu.stats.Failures
	a.mu.stats = stats
	return nil
}

// slotsOf is how many tasks may run at once: at least one, unless the settings say none.
func slotsOf(set *duty.Settings, capacity int) int {
	n := int(min(math.Floor(float64(capacity)*set.KillTaskSlotRatio), float64(set.MaxKillTaskSlots)))
	if n == 0 && set.KillTaskSlotRatio > 0 && set.MaxKillTaskSlots > 0 {
		return 1
	}
	return n
}

// candidates returns the datasources that may be looked at, those behind the last one first.
func (a *Auto) candidates(ctx context.Context, set *duty.Settings) ([]string, error) {
	names, err := a.store.DataSources(ctx, true)
	if err != nil {
		return nil, err
	}
	if len(set.KillDataSourceWhitelist) > 0 {
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(set.KillDataSourceWhitelist, n) })
	}
	slices.Sort(names)
	i, found := slices.BinarySearch(names, a.last)
	if found {
		i++
	}
	return slices.Concat(names[i:], names[:i]), nil
}

// submit starts a task for the earliest unused segments of a datasource that may be deleted.
func (a *Auto) submit(ctx context.Context, dataSource string, eligible map[string]int) (bool, error) {
	now := clock.Millis(a.o.Clock)
	unusedBefore, endBefore := now-a.o.Buffer.Milliseconds(), int64(math.MaxInt64)
	if !a.o.IgnoreRetain {
		endBefore = now - a.o.Retain.Milliseconds()
	}
	intervals, err := a.store.UnusedIntervals(ctx, dataSource, unusedBefore, endBefore, a.o.MaxSegments)
	if err != nil || len(intervals) == 0 {
		delete(a.done, dataSource)
		return false, err
	}
	eligible[dataSource] = len(intervals)
	span := a.umbrella(intervals, a.done[dataSource])
	fields := map[string]any{
		"type": task.KillType, "id": task.NewID(issued, dataSource, &span, now), "dataSource": dataSource, "interval": span, "limit": a.o.MaxSegments,
		"maxUsedStatusLastUpdatedTime": chrono.FormatMillis(unusedBefore, chrono.UTC),
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return false, err
	}
	t, err := a.tasks.Read(body)
	if err != nil {
		return false, fmt.Errorf("making a kill task for datasource [%s]: %w", dataSource, err)
	}
	if err := a.tasks.Submit(ctx, t); err != nil {
		return false, fmt.Errorf("submitting a kill task for datasource [%s]: %w", dataSource, err)
	}
	a.done[dataSource] = span.End
	a.o.Log.InfoContext(ctx, "kill task submitted", "datasource", dataSource, "interval", span.String(), "task", t.ID)
	return true, nil
}

// umbrella spans the earliest intervals from an instant on, as many as fit; from the beginning if
// there are none.
func (a *Auto) umbrella(intervals []chrono.Interval, from int64) chrono.Interval {
	first := slices.IndexFunc(intervals, func(iv chrono.Interval) bool { return iv.Start >= from })
	span := intervals[max(0, first)]
	for _, iv := range intervals[max(0, first):] {
		wide := span.Span(iv)
		if a.o.MaxInterval > 0 && wide.Millis() > a.o.MaxInterval.Milliseconds() {
			break
		}
		span = wide
	}
	return span
}
