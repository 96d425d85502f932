package statements

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/vector"
)

// Tasks is the interface of the endpoints to the Overlord.
type Tasks interface {
	// Submit queues a statement as a task. For EXPLAIN, it returns the rows and no task.
	Submit(ctx context.Context, req *query.Request) (t *task.Task, explained query.Rows, err error)
	// Find returns the status of a task, nil if it is unknown.
	Find(ctx context.Context, id string) (*task.Status, error)
	// Stop ends a task.
	Stop(ctx context.Context, id, reason string) (found bool, err error)
	// Results returns the rows that the task of a query has stored.
	Results(ctx context.Context, id string) (*msq.Results, error)
	// Report returns the report of a task in the shape of `service`, or nil.
	Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error)
}

// Options are the settings of the endpoints.
type Options struct {
	// Type is the type of the tasks that are statements.
	Type            string
	MaxRequestBytes int64
	// Durable is true if selectDestination=durableStorage is supported.
	Durable bool
	// AliasLines: the default format of results under an alias is lines, as under the product name;
	// otherwise it is objects.
	AliasLines bool
}

// API serves the endpoints.
type API struct {
	tasks Tasks
	o     Options
}

// New returns the endpoints on tasks.
func New(tasks Tasks, o Options) *API { return &API{tasks: tasks, o: o} }

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	const base = "/service/v2/sql/statements"
	mux.On("POST "+base, a.submit)
	mux.On("POST "+base+"/{$}", a.submit)
	mux.On("GET "+base+"/{id}", a.status)
	mux.On("GET "+base+"/{id}/results", a.results)
	mux.On("DELETE "+base+"/{id}", a.cancel)
	for _, path := range []string{"/service/v2/sql/task", "/service/v2/sql/task/{$}"} {
		mux.On("POST "+path, a.submitTask)
	}
	// Without these, DELETE would take the name of the endpoint for the id of a query.
	for _, path := range []string{base, base + "/{$}", "/service/v2/sql/task", "/service/v2/sql/task/{$}"} {
		mux.On("DELETE "+path, func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return nil
		})
	}
	for _, path := range []string{base + "/enabled", "/service/v2/sql/task/enabled"} {
		mux.On("GET "+path, func(w http.ResponseWriter, _ *http.Request) error {
			edge.WriteJSON(w, http.StatusOK, map[string]bool{"enabled": true})
			return nil
		})
	}
}

type column struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	NativeType string `json:"nativeType"`
}

type pageObject struct {
	ID          int   `json:"id"`
	NumRows     int64 `json:"numRows"`
	SizeInBytes int64 `json:"sizeInBytes"`
}

type resultObject struct {
	NumTotalRows     *int64          `json:"numTotalRows,omitempty"`
	TotalSizeInBytes *int64          `json:"totalSizeInBytes,omitempty"`
	ResultFormat     string          `json:"resultFormat,omitempty"`
	DataSource       string          `json:"dataSource"`
	SampleRecords    json.RawMessage `json:"sampleRecords,omitempty"`
	Pages            []pageObject    `json:"pages,omitempty"`
}

type statusObject struct {
	QueryID      string          `json:"queryId"`
	State        string          `json:"state"`
	CreatedAt    string          `json:"createdAt"`
	Schema       []column        `json:"schema,omitempty"`
	DurationMs   int64           `json:"durationMs"`
	Result       *resultObject   `json:"result,omitempty"`
	ErrorDetails *edge.Body      `json:"errorDetails,omitempty"`
	Stages       json.RawMessage `json:"stages,omitempty"`
	Counters     json.RawMessage `json:"counters,omitempty"`
	Warnings     json.RawMessage `json:"warnings,omitempty"`
}

// payload is what a statement's task says of the statement.
type payload struct {
	Spec struct {
		ColumnMappings []struct {
			OutputColumn string `json:"outputColumn"`
		} `json:"columnMappings"`
		Destination struct {
			Type string `json:"type"`
		} `json:"destination"`
	} `json:"spec"`
	SQLTypeNames      []string `json:"sqlTypeNames"`
	NativeTypeNames   []string `json:"nativeTypeNames"`
	ResultFormat      string   `json:"sqlResultFormat"`
	User              string   `json:"sqlUser"`
	SQLResultsContext struct {
		TimeZone        string `json:"timeZone"`
		StringifyArrays bool   `json:"stringifyArrays"`
	} `json:"sqlResultsContext"`
}

func (p *payload) isSelect() bool { return p.Spec.Destination.Type != "dataSource" }

func (p *payload) schema() []column {
	if !p.isSelect() {
		return nil
	}
	out := make([]column, len(p.SQLTypeNames))
	for i := range out {
		out[i] = column{p.Spec.ColumnMappings[i].OutputColumn, p.SQLTypeNames[i], p.NativeTypeNames[i]}
	}
	return out
}

func (a *API) submit(w http.ResponseWriter, r *http.Request) error {
	dialect := edge.DialectOf(r.Context())
	req, err := sql.ReadRequest(w, r, a.o.MaxRequestBytes, dialect.Name)
	if err != nil {
		return err
	}
	sql.SetHeaders(w.Header(), dialect, req)
	if err := a.checkContext(req.Context); err != nil {
		return err
	}
	req.User, req.Access = edge.UserOf(r), auth.Of(r.Context())
	t, explained, err := a.tasks.Submit(r.Context(), req)
	if auth.IsRefusal(err) {
		return fault.Find(err).WithLegacy("druidException")
	}
	if err != nil {
		return err
	}
	if explained != nil {
		return writeExplained(r.Context(), w, req, explained)
	}
	s, err := a.tasks.Find(r.Context(), t.ID)
	if err != nil {
		return err
	}
	if s == nil {
		s = &task.Status{Task: t, Duration: -1}
	}
	o, err := a.object(s)
	if err != nil {
		return err
	}
	o.State, o.DurationMs = "ACCEPTED", -1 // the answer to the submission, however quick the task was
	edge.WriteJSON(w, http.StatusOK, o)
	return nil
}

// checkContext refuses context parameters that statements can't have.
func (a *API) checkContext(context map[string]any) error {
	mode, isText := querycontext.ExecutionMode.In(context).(string)
	switch {
	case querycontext.ExecutionMode.In(context) == nil:
		return fault.InvalidInput("Execution mode is not provided to the sql statement api. Please set [executionMode] to [ASYNC] in the query context")
	case !isText:
		return fault.BadContext("Expected key [executionMode] to be of type [ExecutionMode], but got [%s]", fault.JSONClass(querycontext.ExecutionMode.In(context)))
	case !strings.EqualFold(mode, "ASYNC") && !strings.EqualFold(mode, "SYNC"):
		return fault.BadContext("Expected key [executionMode] to be referring to one of the values [SYNC,ASYNC] of enum [ExecutionMode], but got [%s]", mode)
	case !strings.EqualFold(mode, "ASYNC"):
		return fault.InvalidInput("The sql statement api currently does not support the provided execution mode [%s]. Please set [executionMode] to [ASYNC] in the query context", strings.ToUpper(mode))
	}
	if destination, _ := querycontext.Destination.In(context).(string); strings.EqualFold(destination, "durableStorage") && !a.o.Durable {
		return fault.InvalidInput("The sql statement api cannot read from the select destination [durableStorage] provided in the query context [selectDestination] " +
			"since it is not configured on the broker. It is recommended to configure durable storage as it allows the user to fetch large result sets. " +
			"Please contact your cluster admin to configure durable storage.")
	}
	return nil
}

// writeExplained writes the rows of EXPLAIN in the format of the request.
func writeExplained(ctx context.Context, w http.ResponseWriter, req *query.Request, rows query.Rows) error {
	defer rows.Close()
	w.Header().Set("Content-Type", req.Format.ContentType())
	writer := result.NewWriter(w, rows.Columns(), result.Options{
		Format: req.Format, Header: req.Header, TypesHeader: req.TypesHeader, SQLTypesHeader: req.SQLTypesHeader, Zone: rows.Zone(), StringifyArrays: true,
	})
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return writer.Close()
		}
		if err != nil {
			return err
		}
		if err := writer.Batch(b); err != nil {
			return err
		}
	}
}

// find returns the statement named in the path: one of the user, or with others one of somebody
// else whom the permission for the state of the cluster lets in.
func (a *API) find(r *http.Request, others bool) (*task.Status, *payload, error) {
	id := r.PathValue("id")
	s, err := a.tasks.Find(r.Context(), id)
	if err != nil {
		return nil, nil, err
	}
	if s == nil || s.Task.Type != a.o.Type {
		return nil, nil, fault.NotFound("Query [%s] was not found. The query details are no longer present or might not be of the type [%s]. Verify that the id is correct.", id, a.o.Type)
	}
	secret.Hold(r.Context(), string(s.Task.Payload))
	var p payload
	if err := json.Unmarshal(s.Task.Payload, &p); err != nil {
		return nil, nil, fmt.Errorf("reading the payload of task [%s]: %w", id, err)
	}
	switch access := auth.Of(r.Context()); {
	case !access.Known() || p.User != "" && p.User == access.Name():
		access.Pass()
	case !others:
		err = auth.Refused("the statement of another user")
	default:
		err = access.Check(r.Context(), auth.Need{
			Resource: auth.Resource{Name: string(auth.State), Kind: auth.State}, Action: endpoints.ActionOf(r.Method)})
	}
	if auth.IsRefusal(err) {
		err = fault.Find(err).WithLegacy("druidException")
	}
	return s, &p, err
}

// object gives what a task's record tells of a statement.
func (a *API) object(s *task.Status) (*statusObject, error) {
	var p payload
	if err := json.Unmarshal(s.Task.Payload, &p); err != nil {
		return nil, fmt.Errorf("reading the payload of task [%s]: %w", s.Task.ID, err)
	}
	o := &statusObject{QueryID: s.Task.ID, State: stateOf(s.State), CreatedAt: chrono.FormatMillis(s.Task.Created, chrono.UTC), DurationMs: s.Duration}
	if s.State != task.Failed {
		o.Schema = p.schema()
	}
	return o, nil
}

func stateOf(s task.State) string {
	switch s {
	case task.Running:
		return "RUNNING"
	case task.Succeeded:
		return "SUCCESS"
	case task.Failed:
		return "FAILED"
	}
	return "ACCEPTED"
}

func (a *API) status(w http.ResponseWriter, r *http.Request) error {
	s, p, err := a.find(r, true)
	if err != nil {
		return err
	}
	o, err := a.object(s)
	if err != nil {
		return err
	}
	var rep *report
	if s.State.Done() || wantsDetail(r) {
		if rep, err = a.report(r.Context(), s.Task.ID, edge.DialectOf(r.Context()).IsAlias()); err != nil {
			return err
		}
	}
	switch s.State {
	case task.Succeeded:
		if o.Result, err = a.result(r.Context(), s, p, rep); err != nil {
			return err
		}
	case task.Failed:
		o.ErrorDetails = errorDetails(r.Context(), s, rep)
	}
	if wantsDetail(r) && rep != nil {
		o.Stages, o.Counters, o.Warnings = rep.stages, rep.counters, rep.warnings
	}
	edge.WriteJSON(w, http.StatusOK, o)
	return nil
}

func wantsDetail(r *http.Request) bool { return strings.EqualFold(r.URL.Query().Get("detail"), "true") }

// result tells what a statement that succeeded left: the rows of a query, or the number of rows
// written.
func (a *API) result(ctx context.Context, s *task.Status, p *payload, rep *report) (*resultObject, error) {
	o := &resultObject{DataSource: s.Task.DataSource}
	if !p.isSelect() {
		rows, zero := rep.rowsPushed(), int64(0)
		o.NumTotalRows, o.TotalSizeInBytes = &rows, &zero
		return o, nil
	}
	rows, err := a.tasks.Results(ctx, s.Task.ID)
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryNotFound {
		return o, nil // the rows were deleted; that there were some is still true
	}
	if err != nil {
		return nil, err
	}
	n, size := rows.Rows(), rows.Bytes()
	o.ResultFormat = p.ResultFormat
	for _, page := range rows.Pages {
		o.Pages = append(o.Pages, pageObject{page.ID, page.Rows, page.Bytes})
	}
	if n > 0 {
		o.NumTotalRows, o.TotalSizeInBytes = &n, &size
	}
	if bounded(ctx, rows) != nil {
		return o, nil
	}
	if o.SampleRecords, err = sample(ctx, rows, p); err != nil {
		return nil, err
	}
	return o, nil
}

// bounded refuses to give results that have more rows than the limits of the user allow.
func bounded(ctx context.Context, rows *msq.Results) error {
	bounds := auth.Of(ctx).Bounds()
	if limit, limited := bounds.Find(auth.ReturnedRows); limited && float64(rows.Rows()) > limit.Most {
		return bounds.TooLarge(auth.ReturnedRows)
	}
	return nil
}

// A sample has at most sampleRows of results that are kept as pages, and stops after sampleBytes of
// any: a status is held in memory.
const (
	sampleRows  = 3000
	sampleBytes = 16 << 20
)

var errEnough = errors.New("enough")

func sample(ctx context.Context, rows *msq.Results, p *payload) (json.RawMessage, error) {
	var text bytes.Buffer
	w, err := p.writer(&text, rows, result.Array)
	if err != nil {
		return nil, err
	}
	left := sampleRows
	if !rows.Durable {
		left = int(min(rows.Rows(), math.MaxInt32))
	}
	err = rows.ReadAll(ctx, func(b *vector.Batch) error {
		n := min(b.Rows(), left)
		if err := w.Batch(b.Slice(0, n)); err != nil {
			return err
		}
		if left -= n; left == 0 || w.Bytes() > sampleBytes {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// writer makes a writer of the statement's rows, in the values of asynchronous statements:
// milliseconds and days.
func (p *payload) writer(w io.Writer, rows *msq.Results, format result.Format) (*result.Writer, error) {
	zone, err := chrono.LoadZone(p.SQLResultsContext.TimeZone)
	if err != nil {
		return nil, err
	}
	columns := make([]result.Column, len(rows.Columns))
	for i, c := range rows.Columns {
		columns[i] = result.Column{Name: c.Name, Type: c.Type}
		if i < len(p.Spec.ColumnMappings) {
			columns[i].Name = p.Spec.ColumnMappings[i].OutputColumn
		}
	}
	return result.NewWriter(w, columns, result.Options{
		Format: format, Zone: zone, Epoch: true, StringifyArrays: p.SQLResultsContext.StringifyArrays,
	}), nil
}

func (a *API) results(w http.ResponseWriter, r *http.Request) error {
	pageText := r.URL.Query().Get("page")
	page := int64(-1)
	if pageText != "" {
		n, err := strconv.ParseInt(pageText, 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusNotFound) // as for any number in a query string that can't be read
			return nil
		}
		if n < 0 {
			return fault.InvalidInput("Page cannot be negative. Please pass a positive number.").WithCode("general")
		}
		page = n
	}
	s, p, err := a.find(r, false)
	if err != nil {
		return err
	}
	switch s.State {
	case task.Failed:
		return fault.InvalidInput("Query[%s] failed. Check the status api for more details.", s.Task.ID).WithCode("general")
	case task.Succeeded:
	default:
		return fault.InvalidInput("Query[%s] is currently in [%s] state. Please wait for it to complete.", s.Task.ID, stateOf(s.State)).WithCode("general")
	}
	if !p.isSelect() {
		w.Header().Set("Content-Type", "application/json")
		return a.disposition(w, r)
	}
	format, err := p.format(r.URL.Query().Get("resultFormat"), a.usual(edge.DialectOf(r.Context())))
	if err != nil {
		return err
	}
	rows, err := a.tasks.Results(r.Context(), s.Task.ID)
	if err != nil {
		return err
	}
	if err := bounded(r.Context(), rows); err != nil {
		return err
	}
	if page >= int64(len(rows.Pages)) && (page > 0 || len(rows.Pages) > 0) {
		if !rows.Durable {
			return fault.InvalidInput("Page number [%d] is out of the range of results", page)
		}
		return fault.InvalidInput("Invalid page id [%d] passed.", page)
	}
	if err := a.disposition(w, r); err != nil {
		return err
	}
	return p.stream(r.Context(), w, rows, int(page), format)
}

// usual is the format of results for which nothing names one.
func (a *API) usual(d edge.Dialect) result.Format {
	if d.IsAlias() && !a.o.AliasLines {
		return result.Object
	}
	return result.ObjectLines
}

// format picks the format of results: that of the URL, else that of the submission, else usual.
func (p *payload) format(asked string, usual result.Format) (result.Format, error) {
	for _, name := range []string{asked, p.ResultFormat} {
		if name != "" {
			return result.ParseFormat(name)
		}
	}
	return usual, nil
}

// stream writes one page, or with page below 0 all of them in their order.
func (p *payload) stream(ctx context.Context, w http.ResponseWriter, rows *msq.Results, page int, format result.Format) error {
	out, err := p.writer(w, rows, format)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", format.ContentType())
	switch {
	case page < 0:
		err = rows.ReadAll(ctx, out.Batch)
	case page < len(rows.Pages):
		err = rows.Read(ctx, rows.Pages[page].ID, out.Batch)
	}
	if err != nil {
		w.Header().Del("Content-Disposition") // an error is no download
		return err
	}
	return out.Close()
}

const maxFilename = 255

// disposition names the download, when the request asks for it.
func (a *API) disposition(w http.ResponseWriter, r *http.Request) error {
	if !r.URL.Query().Has("filename") {
		return nil
	}
	name := r.URL.Query().Get("filename")
	switch {
	case name == "":
		return fault.InvalidInput("Filename cannot be empty.")
	case len(name) > maxFilename:
		return fault.InvalidInput("Filename cannot be longer than 255 characters.")
	case strings.ContainsAny(name, "/\\:*?\"<>|\x00\r\n"):
		return fault.InvalidInput(`Filename contains invalid characters. (/, \, :, *, ?, ", <, >, |, \0, \n, or \r)`)
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return nil
}

func (a *API) cancel(w http.ResponseWriter, r *http.Request) error {
	s, _, err := a.find(r, true)
	if err != nil {
		return err
	}
	if s.State.Done() {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if _, err := a.tasks.Stop(r.Context(), s.Task.ID, "Shutdown request from user"); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// submitTask runs SQL as a task. Its errors stand in an envelope of their own.
func (a *API) submitTask(w http.ResponseWriter, r *http.Request) error {
	dialect := edge.DialectOf(r.Context())
	req, err := sql.ReadRequest(w, r, a.o.MaxRequestBytes, dialect.Name)
	if err != nil {
		return err
	}
	req.User, req.Access = edge.UserOf(r), auth.Of(r.Context())
	t, explained, err := a.tasks.Submit(r.Context(), req)
	if err != nil {
		f := fault.Classify(err)
		if auth.IsRefusal(err) {
			req.ID = "forbidden"
		}
		edge.WriteJSON(w, edge.Status(err), struct {
			TaskID string    `json:"taskId"`
			State  string    `json:"state"`
			Error  edge.Body `json:"error"`
		}{req.ID, "FAILED", edge.ErrorsOf(r.Context()).Body(f)})
		return nil
	}
	if explained != nil {
		return writeExplained(r.Context(), w, req, explained)
	}
	edge.WriteJSON(w, http.StatusAccepted, struct {
		TaskID string `json:"taskId"`
		State  string `json:"state"`
	}{t.ID, "RUNNING"})
	return nil
}
