package scheduled

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
)

// Type is the type of these supervisors.
const Type = "scheduled_batch"

// Statements runs statements as tasks.
type Statements interface {
	// Target returns the datasource that a statement writes to, or an error if the statement is
	// invalid.
	Target(ctx context.Context, request json.RawMessage) (dataSource string, err error)
	// Submit runs a statement and returns the id of its task.
	Submit(ctx context.Context, request json.RawMessage) (id string, err error)
	// Find returns the status of a task; nil: the task is unknown.
	Find(ctx context.Context, id string) (*task.Status, error)
}

// Options are the dependencies of the supervisors.
type Options struct {
	Statements Statements
	Store      interface {
		Supervisors(ctx context.Context) ([]metastore.SupervisorVersion, error)
	}
	Clock clock.Clock
	Log   *slog.Logger
}

// Kind implements the supervisors of this type. It is safe for use by many goroutines.
type Kind struct {
	o Options

	mu struct {
		sync.Mutex
		leads bool
		runs  map[string]*run
		wake  chan struct{} // closed when a specification changes
	}
}

// run is what is known of a supervisor since this process leads.
type run struct {
	spec                         Spec
	next                         time.Time
	last                         time.Time
	submitted, succeeded, failed int
	tasks                        []string // that have not ended, the oldest first
	ended                        []ended  // the newest first
	problem                      string
}

type ended struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Error  string `json:"errorMsg,omitempty"`
}

// maxEnded is how many tasks that have ended a status shows.
const maxEnded = 10

// New returns the supervisor kind.
func New(o Options) *Kind {
	k := &Kind{o: o}
	k.mu.runs, k.mu.wake = map[string]*run{}, make(chan struct{})
	return k
}

// Spec is the specification of a supervisor.
type Spec struct {
	id, dataSource string
	request        json.RawMessage
	config         config
	schedule       *Schedule
	suspended      bool
}

type config struct {
	Type     string `json:"type"`
	Schedule string `json:"schedule"`
}

type specWire struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	DataSource string          `json:"dataSource,omitempty"`
	Request    json.RawMessage `json:"spec"`
	Config     config          `json:"schedulerConfig"`
	Suspended  bool            `json:"suspended"`
}

// Statement returns the statement to run, in its JSON form.
func (s Spec) Statement() json.RawMessage { return s.request }

// ID implements supervisor.Spec.
func (s Spec) ID() string { return s.id }

// DataSources implements supervisor.Spec.
func (s Spec) DataSources() []string { return []string{s.dataSource} }

// Source implements supervisor.Spec.
func (s Spec) Source() string { return "" }

// Suspended implements supervisor.Spec.
func (s Spec) Suspended() bool { return s.suspended }

// Suspend implements supervisor.Spec.
func (s Spec) Suspend(on bool) supervisor.Spec {
	s.suspended = on
	return s
}

// MarshalJSON returns the specification with all members.
func (s Spec) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(specWire{Type, s.id, s.dataSource, s.request, s.config, s.suspended})
}

// Parse implements supervisor.Kind.
func (k *Kind) Parse(text json.RawMessage) (supervisor.Spec, error) {
	var w specWire
	if err := jsontext.Read(text, &w); err != nil {
		return nil, fault.InvalidInput("The supervisor specification is not readable: [%s]", fault.JSONProblem(err)).WithCause(err)
	}
	var request struct {
		Query string `json:"query"`
	}
	switch {
	case len(w.Request) == 0 || jsontext.Read(w.Request, &request) != nil || strings.TrimSpace(request.Query) == "":
		return nil, fault.InvalidInput("A supervisor of type [%s] needs a [spec] with a [query]", Type)
	case w.Config.Type == "" || w.Config.Schedule == "":
		return nil, fault.InvalidInput("A supervisor of type [%s] needs a [schedulerConfig] with a [type] and a [schedule]", Type)
	}
	schedule, err := ParseSchedule(w.Config.Type, w.Config.Schedule)
	if err != nil {
		return nil, err
	}
	s := Spec{id: w.ID, dataSource: w.DataSource, request: w.Request, config: w.Config, schedule: schedule, suspended: w.Suspended}
	if s.dataSource == "" {
		if s.dataSource, err = k.o.Statements.Target(context.Background(), w.Request); err != nil {
			return nil, err
		}
	}
	if s.id == "" {
		s.id = Type + "__" + s.dataSource
	}
	return s, nil
}

// Check implements supervisor.Kind.
func (k *Kind) Check(ctx context.Context, s supervisor.Spec) error {
	_, err := k.o.Statements.Target(ctx, s.(Spec).request)
	return err
}

// State implements supervisor.Kind.
func (k *Kind) State(_ context.Context, s supervisor.Spec) (supervisor.State, error) {
	if s.Suspended() {
		return supervisor.State{State: "SUSPENDED", Detailed: "SUSPENDED", Healthy: true}, nil
	}
	return supervisor.State{State: "RUNNING", Detailed: "RUNNING", Healthy: true}, nil
}

// Changed implements supervisor.Kind.
func (k *Kind) Changed(s supervisor.Spec, isEnded bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.mu.leads {
		return
	}
	if isEnded {
		delete(k.mu.runs, s.ID())
	} else {
		k.takeLocked(s.(Spec))
	}
	close(k.mu.wake)
	k.mu.wake = make(chan struct{})
}

// takeLocked goes on with a specification.
func (k *Kind) takeLocked(s Spec) {
	r := k.mu.runs[s.id]
	if r == nil {
		r = &run{}
		k.mu.runs[s.id] = r
	}
	r.spec, r.next = s, s.schedule.Next(k.o.Clock.Now())
}

// retry is how often the specifications are asked for that can't be read.
const retry = time.Second

// Run submits statements until ctx is done.
func (k *Kind) Run(ctx context.Context) error {
	for {
		err := k.load(ctx)
		if err == nil {
			break
		}
		k.o.Log.WarnContext(ctx, "failed to read scheduled statements; retrying", "error", err)
		if k.o.Clock.Sleep(ctx, retry) != nil {
			return nil
		}
	}
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.mu.leads = false
		clear(k.mu.runs)
	}()
	for {
		k.mu.Lock()
		wake, next := k.mu.wake, time.Time{}
		for _, r := range k.mu.runs {
			if !r.spec.suspended && (next.IsZero() || r.next.Before(next)) {
				next = r.next
			}
		}
		k.mu.Unlock()
		wait := time.Hour
		if !next.IsZero() {
			wait = min(wait, next.Sub(k.o.Clock.Now()))
		}
		timer := k.o.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-wake:
		case <-timer.C():
			k.submitDue(ctx)
		}
		timer.Stop()
	}
}

func (k *Kind) load(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	versions, err := k.o.Store.Supervisors(ctx)
	if err != nil {
		return err
	}
	k.mu.leads = true
	for _, v := range versions {
		var head struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(v.Payload, &head) != nil || head.Type != Type {
			continue
		}
		s, err := k.Parse(v.Payload)
		if err != nil {
			k.o.Log.ErrorContext(ctx, "scheduled statement is invalid and does not run", "supervisor", v.ID, "error", err)
			continue
		}
		k.takeLocked(s.(Spec))
	}
	return nil
}

// submitDue runs the statements whose time has come.
func (k *Kind) submitDue(ctx context.Context) {
	now := k.o.Clock.Now()
	var due []Spec
	k.mu.Lock()
	for _, r := range k.mu.runs {
		if !r.spec.suspended && !r.next.After(now) {
			due = append(due, r.spec)
			r.last, r.next = now, r.spec.schedule.Next(now)
		}
	}
	k.mu.Unlock()
	for _, s := range due {
		id, err := k.o.Statements.Submit(ctx, s.request)
		k.mu.Lock()
		if r := k.mu.runs[s.id]; r != nil {
			r.submitted++
			r.problem = ""
			if err != nil {
				r.failed++
				r.problem = fault.Classify(err).Message
			} else {
				r.tasks = append(r.tasks, id)
			}
		}
		k.mu.Unlock()
		if err != nil {
			k.o.Log.WarnContext(ctx, "failed to submit a scheduled statement", "supervisor", s.id, "error", err)
		}
	}
}

// Report implements supervisor.Reporter.
func (k *Kind) Report(ctx context.Context, s supervisor.Spec) (any, error) {
	k.settle(ctx, s.ID())
	k.mu.Lock()
	defer k.mu.Unlock()
	out := struct {
		ID        string   `json:"supervisorId"`
		Status    string   `json:"status"`
		Last      *string  `json:"lastTaskSubmittedTime"`
		Next      *string  `json:"nextTaskSubmissionTime"`
		Until     *string  `json:"timeUntilNextTaskSubmission"`
		Submitted int      `json:"totalSubmittedTasks"`
		Succeeded int      `json:"totalSuccessfulTasks"`
		Failed    int      `json:"totalFailedTasks"`
		Active    []string `json:"activeTasks"`
		Ended     []ended  `json:"completedTasks"`
		Problem   string   `json:"recentError,omitempty"`
	}{ID: s.ID(), Status: "SCHEDULER_RUNNING", Active: []string{}, Ended: []ended{}}
	if s.Suspended() {
		out.Status = "SCHEDULER_SHUTDOWN"
	}
	r := k.mu.runs[s.ID()]
	if r == nil {
		return out, nil
	}
	if !r.last.IsZero() {
		out.Last = instant(r.last)
	}
	if !s.Suspended() && !r.next.IsZero() {
		until := chrono.Period{Seconds: int32(max(0, r.next.Sub(k.o.Clock.Now())/time.Second))}.String()
		out.Next, out.Until = instant(r.next), &until
	}
	out.Submitted, out.Succeeded, out.Failed, out.Problem = r.submitted, r.succeeded, r.failed, r.problem
	out.Active, out.Ended = append(out.Active, r.tasks...), append(out.Ended, r.ended...)
	return out, nil
}

func instant(at time.Time) *string {
	text := chrono.FormatMillis(at.UnixMilli(), chrono.UTC)
	return &text
}

// settle counts the tasks of a supervisor that have ended.
func (k *Kind) settle(ctx context.Context, id string) {
	k.mu.Lock()
	var tasks []string
	if r := k.mu.runs[id]; r != nil {
		tasks = slices.Clone(r.tasks)
	}
	k.mu.Unlock()
	for _, name := range tasks {
		s, err := k.o.Statements.Find(ctx, name)
		if err != nil || s != nil && !s.State.Done() {
			continue
		}
		e := ended{ID: name, Status: task.Failed.StatusCode()}
		if s != nil {
			e.Status, e.Error = s.State.StatusCode(), s.Error
		}
		k.mu.Lock()
		if r := k.mu.runs[id]; r != nil && slices.Contains(r.tasks, name) {
			r.tasks = slices.DeleteFunc(r.tasks, func(t string) bool { return t == name })
			r.ended = append([]ended{e}, r.ended...)
			r.ended = r.ended[:min(len(r.ended), maxEnded)]
			if e.Status == task.Succeeded.StatusCode() {
				r.succeeded++
			} else {
				r.failed++
			}
		}
		k.mu.Unlock()
	}
}
