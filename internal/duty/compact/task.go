package compact

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/task"
)

// TaskType is the type of the tasks.
const TaskType = "compact"

// issued begins the ids of tasks that nobody asked for.
const issued = "coordinator-issued_compact"

// taskJSON is a task as it is submitted. The members that scheduling needs are read back from tasks
// that others submitted, too.
type taskJSON struct {
	Type       string `json:"type"`
	ID         string `json:"id"`
	DataSource string `json:"dataSource"`
	IO         struct {
		Type  string `json:"type"`
		Input struct {
			Type     string          `json:"type"`
			Interval chrono.Interval `json:"interval"`
			Hash     *string         `json:"sha256OfSortedSegmentIds"`
		} `json:"inputSpec"`
		NonAligned   bool `json:"allowNonAlignedInterval"`
		DropExisting bool `json:"dropExisting"`
	} `json:"ioConfig"`
	Dimensions  *DimensionsSpec   `json:"dimensionsSpec"`
	Metrics     []json.RawMessage `json:"metricsSpec"`
	Transform   *TransformSpec    `json:"transformSpec"`
	Projections []json.RawMessage `json:"projections,omitempty"`
	Granularity *GranularitySpec  `json:"granularitySpec"`
	Tuning      json.RawMessage   `json:"tuningConfig,omitempty"`
	Runner      *runner           `json:"compactionRunner,omitempty"`
	Context     map[string]any    `json:"context"`
}

type runner struct {
	Type string `json:"type"`
}

// newTask returns the JSON of the task that compacts a group. slots is how many it may take.
func newTask(config *Config, cluster *Cluster, g *Group, slots int, now int64) ([]byte, error) {
	t := taskJSON{
		Type: TaskType, ID: task.NewID(issued, config.DataSource, &g.Interval, now), DataSource: config.DataSource,
		Dimensions: config.Dimensions, Metrics: config.Metrics, Transform: config.Transform, Projections: config.Projections,
		Granularity: &GranularitySpec{Segment: commonGranularity(g)},
	}
	if c := config.Granularity; c != nil {
		t.Granularity.Query, t.Granularity.Rollup = c.Query, c.Rollup
		if c.Segment != nil {
			t.Granularity.Segment = c.Segment
		}
	}
	t.IO.Type, t.IO.Input.Type, t.IO.Input.Interval = TaskType, "interval", g.Interval
	engine := config.engine(cluster)
	t.IO.DropExisting = engine == EngineMSQ || config.IO != nil && config.IO.DropExisting || onlyTombstones(g)
	tuning := config.Tuning
	if tuning == nil {
		tuning = &TuningConfig{Type: "index_parallel"}
	}
	if p := config.partitions(); p != tuning.Partitions {
		with := *tuning
		with.Partitions = p
		tuning = &with
	}
	text, err := json.Marshal(tuning)
	if err != nil {
		return nil, fmt.Errorf("encoding the tuning of a compaction task: %w", err)
	}
	given, err := canonical(text) // the task has its own defaults
	if err != nil {
		return nil, err
	}
	t.Tuning = json.RawMessage(given)
	t.Context = map[string]any{querycontext.Priority.Key(): config.TaskPriority}
	maps.Copy(t.Context, config.TaskContext)
	t.Context[querycontext.StoreCompaction.Key()], t.Context[querycontext.CompactionReason.Key()] = true, g.reason
	if engine == EngineMSQ {
		t.Runner = &runner{EngineMSQ}
		if t.Context[querycontext.MaxNumTasks.Key()] == nil {
			t.Context[querycontext.MaxNumTasks.Key()] = slots
		}
	}
	return json.Marshal(t)
}

func onlyTombstones(g *Group) bool {
	for _, s := range g.Segments {
		if !s.IsTombstone() {
			return false
		}
	}
	return true
}

// commonGranularity is the granularity whose bucket every segment's interval is, nil if there is
// none.
func commonGranularity(g *Group) *chrono.Granularity {
	for _, name := range []string{"SECOND", "MINUTE", "FIVE_MINUTE", "TEN_MINUTE", "FIFTEEN_MINUTE", "THIRTY_MINUTE", "HOUR", "SIX_HOUR", "EIGHT_HOUR",
		"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"} {
		if found, err := chrono.ParseGranularity(name); err == nil && found.Bucket(g.Interval.Start) == g.Interval {
			return &found
		}
	}
	return nil
}

// running is a compaction task without an end.
type running struct {
	id       string
	interval chrono.Interval
	segment  *chrono.Granularity
	slots    int
}

// readTask returns what scheduling needs of a task. One that can't be read takes a slot and locks
// what it locks.
func readTask(t *task.Task) running {
	var body taskJSON
	if err := json.Unmarshal(t.Payload, &body); err != nil {
		return running{id: t.ID, slots: 1}
	}
	r := running{id: t.ID, interval: body.IO.Input.Interval, slots: 1}
	if body.Granularity != nil {
		r.segment = body.Granularity.Segment
	}
	var tuning TuningConfig
	if !isNull(body.Tuning) && json.Unmarshal(body.Tuning, &tuning) == nil {
		r.slots = nativeSlots(&tuning)
	}
	if body.Runner != nil && body.Runner.Type == EngineMSQ {
		r.slots = contextSlots(body.Context, 2)
	}
	return r
}

// isIssued reports whether a task was submitted by a round.
func isIssued(id string) bool { return strings.HasPrefix(id, issued+"_") }
