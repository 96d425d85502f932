package batch

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/task"
)

// counts are the row counts of a phase (docs/ingestion.md). They are counted up by many goroutines.
type counts struct {
	processed, bytes, withError, thrownAway, unparseable atomic.Int64
}

// set makes the counts others.
func (c *counts) set(n countsJSON) {
	c.processed.Store(n.Processed)
	c.bytes.Store(n.Bytes)
	c.withError.Store(n.WithError)
	c.thrownAway.Store(n.ThrownAway)
	c.unparseable.Store(n.Unparseable)
}

type countsJSON struct {
	Processed   int64 `json:"processed"`
	Bytes       int64 `json:"processedBytes"`
	WithError   int64 `json:"processedWithError"`
	ThrownAway  int64 `json:"thrownAway"`
	Unparseable int64 `json:"unparseable"`
}

// plus returns the sum of two counts.
func (c countsJSON) plus(o countsJSON) countsJSON {
	return countsJSON{c.Processed + o.Processed, c.Bytes + o.Bytes, c.WithError + o.WithError, c.ThrownAway + o.ThrownAway, c.Unparseable + o.Unparseable}
}

func (c *counts) json() countsJSON {
	return countsJSON{c.processed.Load(), c.bytes.Load(), c.withError.Load(), c.thrownAway.Load(), c.unparseable.Load()}
}

// event is a record that was no row, or not wholly one.
type event struct {
	Time    int64    `json:"timeOfExceptionMillis"`
	Input   string   `json:"input"`
	Kind    string   `json:"errorType"`
	Details []string `json:"details"`
}

// part is the report of one job of a task.
type part struct {
	// determine and build are what was counted beside that which readers have.
	determine, build counts
	// saves says that bad records are kept: a report then has a list of them for each phase, empty or
	// not.
	saves bool
	mu    struct {
		sync.Mutex
		state     string
		readers   map[string][]*reader // by phase, by worker
		events    map[string][]event   // by phase: those of phases whose readers are gone
		failure   string
		available bool
		waited    int64
		read      *int // segments; nil: the job reads none
		published *int
		samples   []sample // of build, oldest first
		notices   []string // beside those that readers have
	}
}

// sample is what had been counted at a time, in milliseconds.
type sample struct {
	at     int64
	counts countsJSON
}

// counted returns what was counted in a phase.
func (p *part) counted(phase string) countsJSON {
	out := p.build.json()
	if phase == determinePartitions {
		out = p.determine.json()
	}
	for _, r := range p.readers(phase) {
		out = out.plus(r.count.json())
	}
	return out
}

// averages returns the rates per second of the last minutes, as far as anybody has looked: clients
// poll.
func (p *part) averages(now int64) map[string]map[string]float64 {
	present := sample{now, p.counted(buildSegments)}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]map[string]float64{}
	for name, minutes := range map[string]int64{"1m": 1, "5m": 5, "15m": 15} {
		from := sample{at: now}
		for i, s := range p.mu.samples {
			if i == 0 || s.at <= now-minutes*60_000 {
				from = s
			}
		}
		seconds := float64(max(now-from.at, 1)) / 1000
		rate := func(to, from int64) float64 { return float64(to-from) / seconds }
		out[name] = map[string]float64{
			"processed": rate(present.counts.Processed, from.counts.Processed), "processedBytes": rate(present.counts.Bytes, from.counts.Bytes),
			"processedWithError": rate(present.counts.WithError, from.counts.WithError),
			"thrownAway":         rate(present.counts.ThrownAway, from.counts.ThrownAway),
			"unparseable":        rate(present.counts.Unparseable, from.counts.Unparseable),
		}
	}
	p.mu.samples = append(p.mu.samples, present)
	if n := len(p.mu.samples); n > maxSamples { // what is too old, or every second one
		p.mu.samples = slices.DeleteFunc(p.mu.samples, func(s sample) bool { return s.at < now-16*60_000 })
		for i := 1; len(p.mu.samples) > maxSamples/2 && i < len(p.mu.samples)-1; i++ {
			p.mu.samples = slices.Delete(p.mu.samples, i, i+1)
		}
	}
	return out
}

// maxSamples bounds the samples of a part.
const maxSamples = 512

// The phases of a job.
const (
	determinePartitions = "determinePartitions"
	buildSegments       = "buildSegments"
)

func newPart(now int64) *part {
	p := &part{}
	p.mu.state, p.mu.events, p.mu.readers, p.mu.samples = "NOT_STARTED", map[string][]event{}, map[string][]*reader{}, []sample{{at: now}}
	return p
}

// onePass says that the records were looked at for their time chunks while segments were built,
// which a report shows as two phases.
func (p *part) onePass() {
	p.determine.set(p.counted(buildSegments))
	events := p.events(buildSegments)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(events) > 0 {
		p.mu.events[determinePartitions] = events
	}
}

// sum is the report of several jobs as one.
func sum(parts []*part, now int64) *part {
	out := newPart(now)
	read, published, any := 0, 0, false
	for _, p := range parts {
		out.determine.set(out.determine.json().plus(p.counted(determinePartitions)))
		out.build.set(out.build.json().plus(p.counted(buildSegments)))
		out.mu.notices = append(out.mu.notices, p.notices()...)
		p.mu.Lock()
		out.mu.state, out.mu.failure, out.mu.available = p.mu.state, p.mu.failure, p.mu.available
		out.mu.waited += p.mu.waited
		if p.mu.read != nil && p.mu.published != nil {
			read, published, any = read+*p.mu.read, published+*p.mu.published, true
		}
		p.mu.Unlock()
	}
	if any {
		out.mu.read, out.mu.published = &read, &published
	}
	return out
}

func (p *part) enter(state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.state = state
}

func (p *part) finish(failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if failure != nil {
		p.mu.failure = task.Message(failure)
		return // the state says how far it came
	}
	p.mu.state = "COMPLETED"
}

type partJSON struct {
	State     string             `json:"ingestionState"`
	Events    map[string][]event `json:"unparseableEvents"`
	Rows      any                `json:"rowStats"`
	Error     *string            `json:"errorMsg"`
	Available bool               `json:"segmentAvailabilityConfirmed"`
	Waited    int64              `json:"segmentAvailabilityWaitTimeMs"`
	Records   map[string]int64   `json:"recordsProcessed"`
	Read      *int               `json:"segmentsRead,omitempty"`
	Published *int               `json:"segmentsPublished,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`
}

// json returns the report; of a running job with rates, if now is not 0.
func (p *part) json(now int64) partJSON {
	var averages any
	if now != 0 {
		averages = map[string]any{buildSegments: p.averages(now)}
	}
	totals := map[string]countsJSON{determinePartitions: p.counted(determinePartitions), buildSegments: p.counted(buildSegments)}
	events := map[string][]event{}
	for phase := range totals {
		if list := p.events(phase); len(list) > 0 || p.saves {
			events[phase] = append([]event{}, list...)
		}
	}
	notices := p.notices()
	p.mu.Lock()
	defer p.mu.Unlock()
	out := partJSON{Warnings: notices, State: p.mu.state, Events: events, Rows: totals, Available: p.mu.available, Waited: p.mu.waited,
		Records: map[string]int64{"0": totals[buildSegments].Processed}, Read: p.mu.read, Published: p.mu.published}
	if averages != nil {
		out.Rows = map[string]any{"movingAverages": averages, "totals": totals}
	}
	if p.mu.failure != "" {
		out.Error = &p.mu.failure
	}
	return out
}

// report is that of a task. Parts are added while it runs.
type report struct {
	task, dataSource string

	context json.RawMessage
	clock   clock.Clock
	// subtasks are the parts of a load; nil: the task has none.
	subtasks *subtasks
	mu       struct {
		sync.Mutex
		parts []*part
	}
}

func newReport(t *task.Task, context json.RawMessage, c clock.Clock) *report {
	return &report{task: t.ID, dataSource: t.DataSource, context: context, clock: c}
}

func (r *report) add() *part {
	p := newPart(clock.Millis(r.clock))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.parts = append(r.mu.parts, p)
	return p
}

// measure counts the records that the task read.
func (r *report) measure(m *obs.Meter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all countsJSON
	for _, p := range r.mu.parts {
		all = all.plus(p.counted(buildSegments))
	}
	for metric, n := range map[string]int64{
		"processed": all.Processed, "processedWithError": all.WithError, "unparseable": all.Unparseable, "thrownAway": all.ThrownAway,
	} {
		m.Count(obs.Occurrence{Service: "worker", Metric: "ingest/events/" + metric, Dims: []string{"dataSource", r.dataSource}}, float64(n))
	}
}

// finish ends the parts that have not ended.
func (r *report) finish(failure error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.parts) == 0 {
		r.mu.parts = append(r.mu.parts, newPart(clock.Millis(r.clock)))
	}
	for i, p := range r.mu.parts {
		if i == len(r.mu.parts)-1 {
			p.finish(failure)
		} else {
			p.finish(nil)
		}
	}
}

// json returns the report of an ended task, or with the time that of a running one.
func (r *report) json(now int64) ([]byte, error) {
	type entry struct {
		Type    string `json:"type"`
		TaskID  string `json:"taskId"`
		Payload any    `json:"payload"`
	}
	const kind = "ingestionStatsAndErrors"
	out := map[string]entry{}
	r.mu.Lock()
	parts := append([]*part(nil), r.mu.parts...)
	r.mu.Unlock()
	if len(parts) != 1 {
		for i, p := range parts {
			out[kind+"_"+strconv.Itoa(i)] = entry{kind, r.task, p.json(now)}
		}
		parts = []*part{sum(parts, clock.Millis(r.clock))}
	}
	out[kind] = entry{kind, r.task, parts[0].json(now)}
	if len(r.context) > 0 {
		out["taskContext"] = entry{"taskContext", r.task, r.context}
	}
	return json.Marshal(out)
}

// whole is the report of all jobs as one.
func (r *report) whole() *part {
	r.mu.Lock()
	parts := append([]*part(nil), r.mu.parts...)
	r.mu.Unlock()
	if len(parts) == 1 {
		return parts[0]
	}
	return sum(parts, clock.Millis(r.clock))
}

func (r *report) final() (io.Reader, error) {
	text, err := r.json(0)
	return bytes.NewReader(text), err
}

func (r *report) live() []byte {
	text, err := r.json(clock.Millis(r.clock))
	if err != nil {
		return nil
	}
	return text
}
