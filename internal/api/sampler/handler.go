package sampler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/stream"
)

// Run executes a plan over constant rows.
type Run func(ctx context.Context, node plan.Node, id string) (query.Rows, error)

// Options are the settings of the endpoint.
type Options struct {
	// Access defines what sources may read.
	Access *ingest.Access
	// TempDir is the directory for inputs that must be copied to be read. Disk counts their bytes.
	TempDir string
	Disk    *budget.Budget
	// OpenStream opens a stream.
	OpenStream func(context.Context, stream.Config) (stream.Source, error)
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
}

// API serves the endpoint.
type API struct {
	run Run
	o   Options
}

// New returns the endpoint. It executes transforms and rollup with run.
func New(run Run, o Options) *API { return &API{run, o} }

// Routes adds the endpoint to mux.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("POST /service/indexer/v1/sampler", edge.JSONOnly(a.sample))
	mux.On("POST /service/indexer/v1/survey", edge.JSONOnly(a.survey))
}

const (
	defaultRows    = 200
	maxRows        = 5000
	defaultTimeout = 10 * time.Second
)

// request is a sampler spec, read and checked.
type request struct {
	table  *ingest.Table
	stream *streamed // nil: what is sampled is table
	schema *spec.DataSchema
	format json.RawMessage // of table, or of values of stream
	limits limits
	// types are those of the external data that is read, and dataSources the datasources.
	types, dataSources []string
}

// permit refuses a sample of what the user may not read.
func (r *request) permit(ctx context.Context, access *auth.Access) error {
	needs := []auth.Need{auth.Writes(auth.State, string(auth.State))}
	for _, name := range r.dataSources {
		needs = append(needs, auth.Reads(auth.Datasource, name))
	}
	if access.Options().InputSources {
		for _, kind := range r.types {
			needs = append(needs, auth.Reads(auth.External, kind))
		}
	}
	return access.Check(ctx, needs...)
}

// permitUploads refuses a sample of files that other users have sent.
func (r *request) permitUploads(ctx context.Context, from *ingest.Access, access *auth.Access) error {
	if r.table == nil {
		return nil
	}
	return ingest.PermitUploads(ctx, from.Uploads, r.table.Source, access.Name())
}

// limits bound a sample.
type limits struct {
	rows    int
	timeout time.Duration // 0: none
	// memory bounds the text of the records, answer that of the answer, in bytes; 0: not at all.
	memory, answer int64
}

// batchSpec are the parts of the specification of a load.
type batchSpec struct {
	DataSchema json.RawMessage `json:"dataSchema"`
	IOConfig   *struct {
		Type   string          `json:"type"`
		Source json.RawMessage `json:"inputSource"`
		Format json.RawMessage `json:"inputFormat"`
	} `json:"ioConfig"`
}

type requestWire struct {
	Type   string          `json:"type"`
	Spec   json.RawMessage `json:"spec"`
	Config *struct {
		Rows    *int            `json:"numRows"`
		Timeout *int64          `json:"timeoutMs"`
		Memory  json.RawMessage `json:"maxBytesInMemory"`
		Answer  json.RawMessage `json:"maxClientResponseBytes"`
	} `json:"samplerConfig"`
}

func (a *API) sample(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.o.MaxRequestBytes))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return fault.Malformed("Request body is larger than [%d] bytes, the limit set by service.server.http.maxRequestBytes", a.o.MaxRequestBytes)
		}
		return fault.Malformed("Request body could not be read").WithCause(err)
	}
	secret.Hold(r.Context(), string(body))
	if err := secret.Check(body); err != nil {
		return shown(err)
	}
	req, err := parse(r.Context(), body)
	if err != nil {
		return shown(err)
	}
	access := auth.Of(r.Context())
	if err := req.permit(r.Context(), access); err != nil {
		return err
	}
	if err := req.permitUploads(r.Context(), a.o.Access, access); err != nil {
		return shown(err)
	}
	ctx, cancel := context.WithCancel(r.Context())
	if req.limits.timeout > 0 {
		ctx, cancel = context.WithTimeout(r.Context(), req.limits.timeout)
	}
	defer cancel()
	s := &sample{request: req, api: a}
	if err := s.read(ctx); err != nil && !(ctx.Err() != nil && r.Context().Err() == nil) { // out of time: what there is so far
		return failed(err)
	}
	answer, err := s.answer(r.Context())
	if err != nil {
		return failed(err)
	}
	edge.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// shown gives a fault the error member that clients of this endpoint print.
func shown(err error) error {
	f := *fault.Classify(err)
	f.Legacy = fault.Legacy(f.Message)
	return &f
}

// failed is for what goes wrong while sampling; what the sources report is the user's to mend: 400.
func failed(err error) error {
	f := *fault.Classify(err)
	if f.Category != fault.CategoryForbidden && f.Category != fault.CategoryDefensive {
		f.Category = fault.CategoryInvalidInput
	}
	f.Message = "Failed to sample data: " + f.Message
	f.Legacy = fault.Legacy(f.Message)
	return &f
}

func parse(ctx context.Context, body []byte) (*request, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, fault.Malformed("Request body cannot be empty")
	}
	var w requestWire
	if err := jsontext.Read(body, &w); err != nil {
		return nil, fault.Malformed("Request body is not a sampler spec: %v", err)
	}
	if ctx.Err() != nil { // a long body takes its time
		return nil, context.Cause(ctx)
	}
	req := &request{}
	var err error
	switch {
	case w.Type == "":
		return nil, fault.InvalidInput("Missing type id property 'type' of the sampler spec: known type ids = [%s]", samplerTypes)
	case !slices.Contains(samplerTypesList, w.Type):
		return nil, fault.InvalidInput("Could not resolve type id '%s' of the sampler spec: known type ids = [%s]", w.Type, samplerTypes)
	case isNull(w.Spec):
		return nil, fault.InvalidInput("[spec] is required")
	case w.Type == "kafka", w.Type == "kinesis":
		req.types = []string{w.Type}
		err = req.parseStream(w.Type, w.Spec)
	default:
		err = req.parseBatch(ctx, w.Spec)
	}
	if err != nil {
		return nil, err
	}
	req.limits, err = parseLimits(&w)
	return req, err
}

// samplerTypesList are the types of samples, samplerTypes as messages list them.
var (
	samplerTypesList = []string{"index", "index_parallel", "kafka", "kinesis"}
	samplerTypes     = strings.Join(samplerTypesList, ", ")
)

// parseBatch reads what is sampled of files.
func (r *request) parseBatch(ctx context.Context, text json.RawMessage) error {
	var w batchSpec
	if err := jsontext.Read(text, &w); err != nil {
		return fault.Malformed("Request body is not a sampler spec: %v", err)
	}
	switch {
	case w.IOConfig == nil:
		return fault.InvalidInput("[spec.ioConfig] is required")
	case w.IOConfig.Type != "index" && w.IOConfig.Type != "index_parallel":
		return fault.InvalidInput("Could not resolve type id '%s' of [spec.ioConfig]: known type ids = [index, index_parallel]", w.IOConfig.Type)
	case isNull(w.IOConfig.Source):
		return fault.InvalidInput("[spec.ioConfig.inputSource] is required")
	}
	source, err := ingest.ParseSource(w.IOConfig.Source)
	if err != nil {
		return err
	}
	if r.types, r.dataSources, err = ingest.Reads(w.IOConfig.Source); err != nil {
		return err
	}
	if ctx.Err() != nil { // likewise
		return context.Cause(ctx)
	}
	r.table, r.format = &ingest.Table{Source: source}, w.IOConfig.Format
	switch {
	case !isNull(w.IOConfig.Format):
		if r.table.Format, err = ingest.ParseFormat(w.IOConfig.Format); err != nil {
			return err
		}
	case ingest.NeedsFormat(source):
		return fault.InvalidInput("[spec.ioConfig.inputFormat] is required: inputFormat required for input source [%s]", source.Type())
	}
	return r.parseSchema(w.DataSchema)
}

func (r *request) parseSchema(text json.RawMessage) (err error) {
	if r.schema, err = spec.Parse(text); err != nil {
		return err
	}
	if !isNull(text) && r.schema.DataSource == "" {
		return fault.InvalidInput("[spec.dataSchema.dataSource] cannot be null or empty. Please provide a dataSource.")
	}
	return nil
}

func parseLimits(w *requestWire) (limits, error) {
	l := limits{rows: defaultRows, timeout: defaultTimeout}
	c := w.Config
	if c == nil {
		return l, nil
	}
	if c.Rows != nil {
		l.rows = *c.Rows
	}
	if l.rows > maxRows {
		return l, fault.InvalidInput("Failed to sample data: numRows must be <= %d, not %d", maxRows, l.rows)
	}
	if l.rows <= 0 {
		return l, fault.InvalidInput("Failed to sample data: Invalid max row count: %d", l.rows)
	}
	if c.Timeout != nil {
		if *c.Timeout < 0 {
			return l, fault.InvalidInput("Failed to sample data: Invalid timeout: %d", *c.Timeout)
		}
		l.timeout = time.Duration(min(*c.Timeout, int64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	var err error
	if l.memory, err = byteCount("maxBytesInMemory", c.Memory); err == nil {
		l.answer, err = byteCount("maxClientResponseBytes", c.Answer)
	}
	return l, err
}

// byteCount reads a number of bytes: 1000, "1000", "10KB", "10MiB".
func byteCount(field string, text json.RawMessage) (int64, error) {
	if isNull(text) {
		return 0, nil
	}
	var n int64
	if json.Unmarshal(text, &n) == nil && n >= 0 {
		return n, nil
	}
	var s string
	refused := fault.InvalidInput("[samplerConfig.%s] is not a number of bytes such as 1000, 10KB or 10MiB", field)
	if json.Unmarshal(text, &s) != nil {
		return 0, refused
	}
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	if json.Unmarshal([]byte(digits), &n) != nil || n < 0 {
		return 0, refused
	}
	unit := strings.ToUpper(strings.TrimSpace(s[len(digits):]))
	base := int64(1000)
	if before, ok := strings.CutSuffix(unit, "IB"); ok {
		base, unit = 1024, before
	}
	power := strings.Index(" KMGTP", strings.TrimSuffix(unit, "B"))
	if strings.TrimSuffix(unit, "B") == "" {
		power = 0
	}
	if power < 0 || len(strings.TrimSuffix(unit, "B")) > 1 {
		return 0, refused
	}
	for range power {
		if n > 1<<52/base {
			return 1 << 52, nil
		}
		n *= base
	}
	return n, nil
}

func isNull(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }
