package sqltask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// ControllerType is the type of tasks that run SQL.
const ControllerType = "query_controller"

// anyone is who submits tasks where nobody is asked for a name.
const anyone = "allowAll"

// Controller is the kind of task that runs an INSERT, a REPLACE or an asynchronous SELECT.
type Controller struct {
	o    *tasktype.Env
	meta *tasktype.Metadata

	mu   sync.Mutex
	jobs map[string]runningJob // by task id
}

// NewController returns the task kind. Files of o serves the reports of its running tasks.
func NewController(o *tasktype.Env) *Controller {
	c := &Controller{o: o, meta: tasktype.NewMetadata(o.Metastore, o.Meter), jobs: map[string]runningJob{}}
	o.Files.AddLive(c.liveReport)
	return c
}

// payload is a controller task as the interface shows it (docs/ingestion.md), with what is needed
// to run it.
type payload struct {
	Type              string            `json:"type"`
	ID                string            `json:"id"`
	GroupID           string            `json:"groupId"`
	Resource          taskResource      `json:"resource"`
	Spec              querySpec         `json:"spec"`
	SQLQuery          string            `json:"sqlQuery"`
	SQLQueryContext   map[string]any    `json:"sqlQueryContext"`
	SQLResultsContext resultsContext    `json:"sqlResultsContext"`
	SQLTypeNames      []string          `json:"sqlTypeNames"`
	NativeTypeNames   []string          `json:"nativeTypeNames"`
	Context           map[string]any    `json:"context"`
	DataSource        string            `json:"dataSource"`
	Parameters        []query.Parameter `json:"sqlParameters,omitempty"`
	Dialect           string            `json:"sqlDialect,omitempty"`
	ResultFormat      string            `json:"sqlResultFormat,omitempty"`
	Now               int64             `json:"sqlCurrentTimestamp"`
	// User is the user of the statement; "" without security.
	User string `json:"sqlUser,omitempty"`
	// Seen contains the row and column rules that restrict what the user of the statement sees; nil:
	// no restrictions.
	Seen *auth.Seen `json:"sqlSeen,omitempty"`
	// Timeline is the timeline number that the statement was planned against. The task does not read
	// an older one.
	Timeline int64 `json:"sqlTimelineNumber"`
}

type taskResource struct {
	AvailabilityGroup string `json:"availabilityGroup"`
	RequiredCapacity  int    `json:"requiredCapacity"`
}

type querySpec struct {
	Query              any                    `json:"query"`
	ColumnMappings     []native.ColumnMapping `json:"columnMappings"`
	Destination        destination            `json:"destination"`
	AssignmentStrategy string                 `json:"assignmentStrategy"`
	TuningConfig       tuningConfig           `json:"tuningConfig"`
}

type destination struct {
	Type               string   `json:"type"`
	DataSource         string   `json:"dataSource,omitempty"`
	SegmentGranularity any      `json:"segmentGranularity,omitempty"`
	ReplaceTimeChunks  []string `json:"replaceTimeChunks,omitempty"`
	SegmentSortOrder   []string `json:"segmentSortOrder,omitempty"`
	// ExportStorageProvider and ResultFormat belong to an export.
	ExportStorageProvider json.RawMessage `json:"exportStorageProvider,omitempty"`
	ResultFormat          string          `json:"resultFormat,omitempty"`
}

type tuningConfig struct {
	MaxNumWorkers   int `json:"maxNumWorkers"`
	MaxRowsInMemory int `json:"maxRowsInMemory"`
	RowsPerSegment  int `json:"rowsPerSegment"`
	// IndexSpec is the given indexSpec.
	IndexSpec json.RawMessage `json:"indexSpec,omitempty"`
}

type resultsContext struct {
	TimeZone               string `json:"timeZone"`
	SerializeComplexValues bool   `json:"serializeComplexValues"`
	StringifyArrays        bool   `json:"stringifyArrays"`
}

// shownContext are the entries of a payload's context that come from the statement, not from the
// user.
var shownContext = map[string]bool{querycontext.InsertGrain.Key(): true, querycontext.ReplacedChunks.Key(): true, querycontext.QueryID.Key(): true, querycontext.SQLQueryID.Key(): true}

// TaskID returns the id of the task that runs a statement.
func TaskID(req *query.Request) string { return "query-" + req.ID }

// NewTask returns the task of a prepared statement, or a fault if a context parameter is invalid.
func (c *Controller) NewTask(ctx context.Context, req *query.Request, p *broker.Prepared) (*task.Task, error) {
	options, err := msq.ParseOptions(p.Context)
	if err != nil {
		return nil, err
	}
	node := c.o.Broker.Optimize(ctx, p)
	if err := c.o.Broker.Bounded(p, node); err != nil {
		return nil, err
	}
	seen, err := p.Seen(ctx, req.SQL)
	if err != nil {
		return nil, err
	}
	job := msq.Job{ID: TaskID(req), Plan: node, Columns: resultColumns(p), Context: p.Context, Options: options, Identity: anyone}
	user := ""
	if req.Access.Known() {
		user, job.Identity = req.User, req.User
	}
	run, err := msq.New(job, msq.Deps{Clock: c.o.Clock, Expr: &expr.Context{Zone: p.Zone, Now: p.Now}, Exports: c.o.Exports})
	if err != nil {
		return nil, err
	}
	native, err := run.Query()
	if err != nil {
		return nil, fmt.Errorf("showing the query of task [%s]: %w", job.ID, err)
	}
	stringify, err := querycontext.StringifyArrays.Read(p.Context)
	if err != nil {
		return nil, err
	}
	shown := map[string]any{}
	maps.Copy(shown, p.Context)
	maps.Copy(shown, run.TargetContext())
	shown[querycontext.QueryID.Key()], shown[querycontext.SQLQueryID.Key()] = req.ID, req.ID
	body := payload{
		Type: ControllerType, ID: job.ID, GroupID: job.ID, Resource: taskResource{job.ID, 1}, SQLQuery: req.SQL, SQLQueryContext: shown,
		SQLResultsContext: resultsContext{p.Zone.String(), true, stringify},
		Context:           map[string]any{querycontext.ForceTimeChunk.Key(): true, querycontext.LineageAllocator.Key(): true},
		DataSource:        job.DataSource(), Parameters: req.Parameters, Dialect: req.Dialect, Now: p.Now,
		User: user, Seen: seen, Timeline: p.State.Number(),
		Spec: querySpec{
			Query: native.Query, ColumnMappings: native.ColumnMappings,
			Destination: destinationOf(p, options), AssignmentStrategy: "max",
			TuningConfig: tuningConfig{options.MaxNumTasks - 1, options.RowsInMemory, options.RowsPerSegment, options.IndexSpec},
		},
	}
	if options.AutoAssignment {
		body.Spec.AssignmentStrategy = "auto"
	}
	if req.FormatGiven {
		body.ResultFormat = req.Format.String()
	}
	for _, col := range p.Columns {
		body.SQLTypeNames = append(body.SQLTypeNames, col.Type.Base.String())
		body.NativeTypeNames = append(body.NativeTypeNames, nativeName(col.Type))
	}
	text, err := jsontext.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encoding task [%s]: %w", job.ID, err)
	}
	return &task.Task{
		ID: job.ID, GroupID: job.ID, Type: ControllerType, DataSource: body.DataSource, Created: clock.Millis(c.o.Clock),
		Priority: options.Priority, Payload: text,
	}, nil
}

func nativeName(t expr.Type) string {
	if t.Multi {
		return vector.String.String()
	}
	return t.Runtime().String()
}

func destinationOf(p *broker.Prepared, o *msq.Options) destination {
	if x, ok := p.Plan.(*plan.Export); ok {
		return destination{Type: "export", ExportStorageProvider: x.Destination, ResultFormat: strings.ToLower(x.Format)}
	}
	switch {
	case p.Target == nil && o.DurableResults:
		return destination{Type: "durableStorage"}
	case p.Target == nil:
		return destination{Type: "taskReport"}
	}
	d := destination{Type: "dataSource", DataSource: p.Target.DataSource, SegmentGranularity: p.Target.Granularity, SegmentSortOrder: o.SegmentSortOrder}
	for _, iv := range p.Target.Overwrite {
		d.ReplaceTimeChunks = append(d.ReplaceTimeChunks, iv.String())
	}
	return d
}

// payloadOf reads the payload of a task.
func payloadOf(t *task.Task) (*payload, error) {
	var body payload
	if err := json.Unmarshal(t.Payload, &body); err != nil {
		return nil, fault.InvalidInput("Payload of task [%s] is not one of type [%s]: %v", t.ID, ControllerType, err)
	}
	if body.SQLQuery == "" {
		return nil, fault.InvalidInput("Task [%s] of type [%s] has no [sqlQuery]; submit statements to /service/v2/sql/task", t.ID, ControllerType)
	}
	return &body, nil
}

// prepare plans the statement of a task again, against the state of the timeline that the task will
// read.
func (c *Controller) prepare(ctx context.Context, access *auth.Access, body *payload, seen *auth.Seen) (*broker.Prepared, error) {
	context := map[string]any{}
	for k, v := range body.SQLQueryContext {
		if !shownContext[k] {
			context[k] = v
		}
	}
	if body.Now != 0 && context[querycontext.SQLNow.Key()] == nil { // the statement keeps the time at which it was submitted
		context[querycontext.SQLNow.Key()] = chrono.FormatMillis(body.Now, chrono.UTC)
	}
	p, err := c.o.Broker.Prepare(ctx, &query.Request{
		SQL: body.SQLQuery, Context: context, Parameters: body.Parameters, Dialect: body.Dialect, Access: access, Seen: seen,
	}, sql.MSQ)
	if err != nil {
		return nil, err
	}
	delete(p.Context, querycontext.SQLNow.Key())
	return p, nil
}

// Permit rejects a task that was submitted directly and not as a statement, if the user may not run
// the statement or if the task names another user.
func (c *Controller) Permit(ctx context.Context, access *auth.Access, t *task.Task) error {
	body, err := payloadOf(t)
	if err != nil {
		return err
	}
	if body.User != "" && body.User != access.Name() {
		return auth.Refused("being user [" + body.User + "]")
	}
	if body.Seen != nil { // it is for the Overlord to say what somebody sees
		return auth.Refused("a task without [sqlSeen]")
	}
	p, err := c.prepare(ctx, access, body, nil)
	if err != nil {
		return err
	}
	if p.Target != nil && p.Target.DataSource != t.DataSource {
		return fault.InvalidInput("Task [%s] is of datasource [%s], but its statement writes to [%s]", t.ID, t.DataSource, p.Target.DataSource)
	}
	return nil
}

// Run implements task.Kind.
func (c *Controller) Run(ctx context.Context, t *task.Task) error {
	body, err := payloadOf(t)
	if err != nil {
		return err
	}
	if err := c.await(ctx, body); err != nil {
		return err
	}
	p, err := c.prepare(ctx, nil, body, body.Seen) // it was permitted when it was submitted
	if err != nil {
		return err
	}
	node := c.o.Broker.Optimize(ctx, p)
	growing, err := c.copyLive(ctx, t, p, node)
	if err != nil {
		return err
	}
	defer func() {
		if err := growing.drop(ctx); err != nil {
			c.o.Log.WarnContext(ctx, "failed to remove copies of live rows from deep storage", "task", t.ID, "error", err)
		}
	}()
	if err := c.absorb(ctx, t, p, node); err != nil {
		return err
	}
	env, done := c.o.Broker.Env(p, "task "+t.ID)
	defer done()
	deps := c.o.Deps(ctx, c.meta, env)
	deps.Exports, deps.Join = c.o.Exports, c.o.Join
	deps.Segments = tasktype.NewSlices(func(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
		return growing.beside(scan, c.o.Broker.Visible(p, scan))
	}, c.o.Open)
	job, err := msq.New(msq.Job{
		ID: t.ID, Plan: node, Columns: resultColumns(p), Context: body.SQLQueryContext, Identity: cmp.Or(body.User, anyone),
	}, deps)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.jobs[t.ID] = runningJob{job, body.Seen}
	c.mu.Unlock()
	run, cancel := tasktype.WithEngineCause(ctx)
	_, err = job.Run(run)
	cancel()
	lost := errors.Is(err, msq.ErrPartLost)
	var keepErr error
	if !tasktype.Interrupted(ctx) && !lost {
		keepErr = c.keepReport(context.WithoutCancel(ctx), t.ID, job, p, body.Seen)
	}
	c.mu.Lock()
	delete(c.jobs, t.ID)
	c.mu.Unlock()
	if lost {
		return errors.Join(task.ErrAgain, structured(err))
	}
	return errors.Join(structured(err), keepErr)
}

func resultColumns(p *broker.Prepared) []msq.ResultColumn {
	out := make([]msq.ResultColumn, len(p.Columns))
	for i, col := range p.Columns {
		out[i] = msq.ResultColumn{Name: col.Name, Type: col.Type}
	}
	return out
}

// structured gives a fault of the engine as one that task statuses and error bodies show.
func structured(err error) error {
	if f, ok := errors.AsType[*msq.Fault](err); ok {
		return f.Structured().WithCause(err)
	}
	return err
}

// runningJob is a job with what its user sees of what it reads; nil: all.
type runningJob struct {
	*msq.Controller
	seen *auth.Seen
}

// report returns the report of a job. Counters tell how many rows stages have read: they are left
// out where rules hide some, but for the rows that were written.
func (c *Controller) report(job *msq.Controller, seen *auth.Seen) (*msq.Report, error) {
	report, err := job.Report()
	if err == nil && seen != nil {
		err = report.HideInputs()
	}
	return report, err
}

// keepReport writes the report of an ended job.
func (c *Controller) keepReport(ctx context.Context, id string, job *msq.Controller, p *broker.Prepared, seen *auth.Seen) error {
	report, err := c.report(job, seen)
	if err != nil {
		return fmt.Errorf("making the report of task [%s]: %w", id, err)
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(c.writeReport(ctx, write, report, p, false)) }()
	err = c.o.Files.PutReport(ctx, id, read)
	return errors.Join(err, read.Close())
}

func (c *Controller) writeReport(ctx context.Context, w io.Writer, report *msq.Report, p *broker.Prepared, alias bool) error {
	d := msq.Dialect{}
	if alias {
		d.ResultsPhase = "RESULTS_READY"
	}
	if report.Results == nil {
		text, err := report.Render(d)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	columns := make([]result.Column, len(report.Results.Columns))
	for i, col := range report.Results.Columns {
		columns[i] = result.Column{Name: col.Name, Type: col.Type}
	}
	stringify, err := querycontext.StringifyArrays.Read(p.Context)
	if err != nil {
		return err
	}
	rows := result.NewWriter(io.Discard, columns, result.Options{Format: result.Array, Zone: p.Zone, Epoch: true, StringifyArrays: stringify})
	encode := func(dst []byte, _ []msq.ResultColumn, b *vector.Batch, i int) []byte {
		return rows.AppendRow(dst, b, i)
	}
	return report.Write(w, d, encode, func(f func(*vector.Batch) error) error { return report.Results.ReadAll(ctx, f) })
}

// liveReport returns the report of a running task, without rows.
func (c *Controller) liveReport(id string, alias bool) []byte {
	c.mu.Lock()
	job, runs := c.jobs[id]
	c.mu.Unlock()
	if !runs {
		return nil
	}
	report, err := c.report(job.Controller, job.seen)
	if err != nil {
		return nil // not far enough to be told of
	}
	report.Results = nil
	d := msq.Dialect{}
	if alias {
		d.ResultsPhase = "RESULTS_READY"
	}
	text, err := report.Render(d)
	if err != nil {
		return nil
	}
	return text
}

// Release implements task.Kind. The metastore has already released the locks when the task
// completed.
func (c *Controller) Release(ctx context.Context, t *task.Task) error {
	var body struct {
		SQLQueryContext map[string]any `json:"sqlQueryContext"`
	}
	if json.Unmarshal(t.Payload, &body) != nil {
		return nil // it has not run
	}
	options, err := msq.ParseOptions(body.SQLQueryContext)
	if err != nil || !options.DurableShuffle && (c.o.Join == nil || options.MaxNumTasks <= 2) {
		return nil //nolint:nilerr // likewise, or it leaves nothing to others
	}
	return tasktype.ClearTask(ctx, c.o.Metastore, c.o.Deep, t.ID)
}
