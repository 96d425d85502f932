package msq

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/vector"
)

// Status is the state of a job in its report.
type Status string

// The states of a job.
const (
	Running Status = "RUNNING"
	Success Status = "SUCCESS"
	Failed  Status = "FAILED"
)

// Report is a snapshot of the state of a job, in the form of task reports.
type Report struct {
	TaskID   string
	Status   Status
	Error    *Fault // of a failed job
	Warnings []*Fault
	Start    time.Time // zero before the start
	Duration time.Duration
	Workers  [][]WorkerReport // by number, their attempts
	Pending  int
	Running  int
	Load     *LoadStatus
	Segments *SegmentReport
	Stages   []StageReport
	Counters []StageCounters
	// Results are the rows of a query that ended; nil otherwise. They are read from deep storage while
	// the report is written.
	Results *Results
	// Host is where the job runs.
	Host string
}

// WorkerReport is the state of an attempt of a worker.
type WorkerReport struct {
	ID       string
	State    Status
	Duration time.Duration // negative while it runs
	Pending  time.Duration
}

// LoadStatus is the state of loading the published segments.
type LoadStatus struct {
	State      string // INIT, WAITING, SUCCESS, FAILED, TIMED_OUT
	DataSource string
	Start      time.Time
	Duration   time.Duration
	Total      int
	Counts     LoadCounts
}

// done returns the status with another state and counts.
func (l *LoadStatus) done(state string, n LoadCounts, took time.Duration) *LoadStatus {
	c := *l
	c.State, c.Counts, c.Duration = state, n, took
	return &c
}

// SegmentReport contains the chosen kind of shard specs, with the reason.
type SegmentReport struct {
	ShardSpec string `json:"shardSpec"`
	Details   string `json:"details"`
}

// StageReport is the state of a stage.
type StageReport struct {
	Number     int
	Definition json.RawMessage
	Phase      string // "" before the stage begins
	Workers    int
	Partitions int
	Shuffle    string
	Output     string
	Sort       bool
	Start      time.Time
	Duration   time.Duration
}

// StageCounters are the counters of the workers of a stage.
type StageCounters struct {
	Stage   int
	Workers []json.RawMessage // nil: nothing counted yet
}

// shownCounters are those that tell of what a job writes.
var shownCounters = []string{"segmentGenerationProgress"}

// HideInputs removes the counters of input rows.
func (r *Report) HideInputs() error {
	for i := range r.Counters {
		for n, text := range r.Counters[i].Workers {
			if text == nil {
				continue
			}
			var all map[string]json.RawMessage
			if err := json.Unmarshal(text, &all); err != nil {
				return fmt.Errorf("reading the counters of a stage: %w", err)
			}
			for name := range all {
				if !slices.Contains(shownCounters, name) {
					delete(all, name)
				}
			}
			text, err := json.Marshal(all)
			if err != nil {
				return fmt.Errorf("writing the counters of a stage: %w", err)
			}
			r.Counters[i].Workers[n] = text
		}
	}
	return nil
}

// Dialect adapts shapes to the product name in the path of a request.
type Dialect struct {
	// ResultsPhase is the name of the phase in which results are available: RESULTS_COMPLETE for the
	// product name, RESULTS_READY for an alias. Empty: the former.
	ResultsPhase string
}

// RowEncoder appends row i of b as a JSON array. The API packages encode the values of results.
type RowEncoder func(dst []byte, columns []ResultColumn, b *vector.Batch, i int) []byte

// instant prints a time as the interface does.
func instant(t time.Time) string { return chrono.FormatMillis(t.UnixMilli(), nil) }

// MarshalJSON returns the whole report without the rows of results.
func (r *Report) MarshalJSON() ([]byte, error) { return r.render(Dialect{}, nil) }

// Render returns the whole report without the rows of results, in a dialect.
func (r *Report) Render(d Dialect) ([]byte, error) { return r.render(d, nil) }

// Write writes the whole report, including the rows of results: all rows, or the first 3,000 of
// durable results. Rows are streamed from deep storage to w.
func (r *Report) Write(w io.Writer, d Dialect, encode RowEncoder, read func(f func(*vector.Batch) error) error) error {
	if r.Results == nil || encode == nil {
		text, err := r.render(d, nil)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	const mark = `"\u0000rows"`
	text, err := r.render(d, json.RawMessage(mark))
	if err != nil {
		return err
	}
	before, after, ok := cutLast(text, mark)
	if !ok {
		return fmt.Errorf("the report of [%s] has no place for rows", r.TaskID)
	}
	if _, err := w.Write(append(before, '[')); err != nil {
		return err
	}
	limit := r.Results.Rows()
	if r.Results.Durable {
		limit = min(limit, reportRows)
	}
	written := int64(0)
	var buf []byte
	err = read(func(b *vector.Batch) error {
		buf = buf[:0]
		for i := 0; i < b.N && written < limit; i++ {
			if written > 0 {
				buf = append(buf, ',')
			}
			buf = encode(buf, r.Results.Columns, b, i)
			written++
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		if written == limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	_, err = w.Write(append([]byte{']'}, after...))
	return err
}

var errEnough = errors.New("enough rows")

func cutLast(text []byte, mark string) (before, after []byte, ok bool) {
	for i := len(text) - len(mark); i >= 0; i-- {
		if string(text[i:i+len(mark)]) == mark {
			return text[:i:i], text[i+len(mark):], true
		}
	}
	return nil, nil, false
}

func (r *Report) render(d Dialect, rows json.RawMessage) ([]byte, error) {
	var payload objectBuilder
	status, err := r.status()
	if err != nil {
		return nil, err
	}
	payload.add("status", json.RawMessage(status))
	stages := make([]json.RawMessage, len(r.Stages))
	for i := range r.Stages {
		if stages[i], err = r.Stages[i].render(d); err != nil {
			return nil, err
		}
	}
	payload.optional(r.Stages != nil, "stages", stages)
	counted, err := r.counters()
	if err != nil {
		return nil, err
	}
	payload.add("counters", json.RawMessage(counted))
	if r.Results != nil {
		results, err := r.Results.render(rows)
		if err != nil {
			return nil, err
		}
		payload.add("results", json.RawMessage(results))
	}
	body, err := payload.done()
	if err != nil {
		return nil, err
	}
	var report, top objectBuilder
	report.add("type", "multiStageQuery")
	report.add("taskId", r.TaskID)
	report.add("payload", json.RawMessage(body))
	inner, err := report.done()
	if err != nil {
		return nil, err
	}
	top.add("multiStageQuery", json.RawMessage(inner))
	return top.done()
}

func (r *Report) status() ([]byte, error) {
	var b objectBuilder
	b.add("status", r.Status)
	if r.Error != nil {
		text, err := r.place(r.Error)
		if err != nil {
			return nil, err
		}
		b.add("errorReport", json.RawMessage(text))
	}
	if len(r.Warnings) > 0 {
		list := make([]json.RawMessage, len(r.Warnings))
		for i, w := range r.Warnings {
			var err error
			if list[i], err = r.place(w); err != nil {
				return nil, err
			}
		}
		b.add("warnings", list)
	}
	b.optional(!r.Start.IsZero(), "startTime", instant(r.Start))
	duration := int64(-1)
	if !r.Start.IsZero() {
		duration = r.Duration.Milliseconds()
	}
	b.add("durationMs", duration)
	var workers objectBuilder
	for i, attempts := range r.Workers {
		list := make([]any, len(attempts))
		for k, w := range attempts {
			took := int64(-1)
			if w.Duration >= 0 {
				took = w.Duration.Milliseconds()
			}
			// The wire says state, the prose of the interface status.
			list[k] = struct {
				ID       string `json:"workerId"`
				State    Status `json:"state"`
				Status   Status `json:"status"`
				Duration int64  `json:"durationMs"`
				Pending  int64  `json:"pendingMs"`
			}{w.ID, w.State, w.State, took, w.Pending.Milliseconds()}
		}
		workers.add(strconv.Itoa(i), list)
	}
	text, err := workers.done()
	if err != nil {
		return nil, err
	}
	b.add("workers", json.RawMessage(text))
	b.add("pendingTasks", r.Pending)
	b.add("runningTasks", r.Running)
	if r.Load != nil {
		text, err := r.Load.render()
		if err != nil {
			return nil, err
		}
		// The wire says segmentLoadWaiterStatus, interface.md segmentLoadStatus.
		b.add("segmentLoadStatus", json.RawMessage(text))
		b.add("segmentLoadWaiterStatus", json.RawMessage(text))
	}
	b.optional(r.Segments != nil, "segmentReport", r.Segments)
	return b.done()
}

// place renders an error or warning with where it was met.
func (r *Report) place(f *Fault) ([]byte, error) {
	var b objectBuilder
	task := f.Worker
	if task == "" {
		task = r.TaskID
	}
	b.add("taskId", task)
	b.optional(r.Host != "", "host", r.Host)
	b.optional(f.Stage >= 0, "stageNumber", f.Stage)
	b.add("error", f)
	b.optional(f.Trace != "", "exceptionStackTrace", f.Trace)
	return b.done()
}

func (l *LoadStatus) render() ([]byte, error) {
	var b objectBuilder
	b.add("state", l.State)
	b.add("dataSource", l.DataSource)
	b.optional(!l.Start.IsZero(), "startTime", instant(l.Start))
	b.add("duration", l.Duration.Milliseconds())
	b.add("totalSegments", l.Total)
	b.add("usedSegments", l.Counts.Used)
	b.add("precachedSegments", l.Counts.Precached)
	b.add("onDemandSegments", l.Counts.OnDemand)
	b.add("pendingSegments", l.Counts.Pending)
	b.add("unknownSegments", l.Counts.Unknown)
	return b.done()
}

func (s *StageReport) render(d Dialect) ([]byte, error) {
	var b objectBuilder
	b.add("stageNumber", s.Number)
	b.add("definition", s.Definition)
	started := s.Phase != ""
	name := s.Phase
	if name == string(phaseResults) && d.ResultsPhase != "" {
		name = d.ResultsPhase
	}
	b.optional(started, "phase", name)
	b.optional(started && s.Workers > 0, "workerCount", s.Workers)
	b.optional(started && s.Partitions > 0, "partitionCount", s.Partitions)
	b.optional(s.Shuffle != "" && started, "shuffle", s.Shuffle)
	b.optional(s.Output != "" && started, "output", s.Output)
	b.optional(!s.Start.IsZero(), "startTime", instant(s.Start))
	b.optional(s.Duration > 0, "duration", s.Duration.Milliseconds())
	b.optional(s.Sort, "sort", true)
	return b.done()
}

func (r *Report) counters() ([]byte, error) {
	var all objectBuilder
	for _, s := range r.Counters {
		var b objectBuilder
		some := false
		for w, text := range s.Workers {
			if text != nil {
				b.add(strconv.Itoa(w), text)
				some = true
			}
		}
		text, err := b.done()
		if err != nil {
			return nil, err
		}
		all.optional(some, strconv.Itoa(s.Stage), json.RawMessage(text))
	}
	return all.done()
}

func (r *Results) render(rows json.RawMessage) ([]byte, error) {
	type signature struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	names, kinds := make([]signature, len(r.Columns)), make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = signature{c.Name, runtimeName(c.Type)}
		kinds[i] = c.Type.Base.String()
	}
	if rows == nil {
		rows = json.RawMessage("[]")
	}
	var b objectBuilder
	b.add("signature", names)
	b.add("sqlTypeNames", kinds)
	b.add("results", rows)
	truncated := r.Durable && r.Rows() > reportRows
	b.add("resultsTruncated", truncated)
	b.add("resultsTruncted", truncated) // the name that releases before 28 wrote, which clients of theirs read
	return b.done()
}
