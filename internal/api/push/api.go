package push

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	stream "github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/supervisor"
)

// Supervisors are the supervisors of the cluster.
type Supervisors interface {
	Find(ctx context.Context, id string) (*supervisor.Supervisor, error)
	Put(ctx context.Context, text json.RawMessage, keep bool, entry func(id string) *metastore.AuditEntry) (*supervisor.Supervisor,
		supervisor.Change, error)
}

// Logs are the logs of this process.
type Logs interface {
	// For returns the log for the rows of a sender, which is a channel or a key; "": any log.
	For(ctx context.Context, dataSource, sender string) (*stream.Log, error)
	// Find returns the log of a channel; nil: the datasource has no log.
	Find(ctx context.Context, dataSource, channel string) (*stream.Log, error)
}

// Stored are the logs of a store with one log per datasource.
type Stored struct{ Store *stream.Store }

// For implements Logs.
func (s Stored) For(_ context.Context, dataSource, _ string) (*stream.Log, error) {
	return s.Store.Log(dataSource)
}

// Find implements Logs.
func (s Stored) Find(_ context.Context, dataSource, _ string) (*stream.Log, error) {
	return s.Store.Find(dataSource), nil
}

// Options configure the endpoints.
type Options struct {
	Logs        Logs
	Supervisors Supervisors
	// Replicate sets the number of workers with a copy of the logs of a datasource; nil: there is one
	// worker.
	Replicate func(ctx context.Context, dataSource string, n int) error
	// Audit returns the audit entry of a request that creates or changes a supervisor.
	Audit func(r *http.Request, kind, key string) *metastore.AuditEntry
	// MaxBytes is the maximum size of the body of a request, compressed and uncompressed.
	MaxBytes int64
	Clock    clock.Clock
}

// API serves the endpoints.
type API struct {
	o Options

	every time.Duration // lookEvery

	mu     sync.Mutex
	tables map[string]*table
}

// New returns the endpoints.
func New(o Options) *API { return &API{o: o, every: lookEvery, tables: map[string]*table{}} }

// Path is the path to which clients send rows.
const Path = "/service/v2/ingest/"

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) { Mount(mux, a.Receive, a.Channel, a.Config, a.Configure) }

// Mount adds the endpoints to mux, regardless of the process that serves them.
func Mount(mux *edge.Mux, receive, channel, config, configure edge.Handler) {
	mux.On("POST "+Path+"{datasource}", receive)
	mux.On("GET "+Path+"{datasource}/channels/{channel}", channel)
	mux.On("GET "+Path+"{datasource}/config", config)
	mux.On("PUT "+Path+"{datasource}/config", edge.JSONOnly(configure))
}

// SenderOf returns the sender of rows: a channel, or the key of one request; "": not given.
func SenderOf(r *http.Request) string {
	if channel := r.URL.Query().Get("channel"); channel != "" {
		return channel
	}
	return r.Header.Get("Idempotency-Key")
}

// SupervisorOf returns the id of the supervisor that reads the rows of a datasource.
func SupervisorOf(dataSource string) string { return "push_" + dataSource }

// The acknowledgements that a client may want.
const (
	durable   = "durable"
	queryable = "queryable"
	published = "published"
)

// answer is what a client is told of its rows.
type answer struct {
	Rows            int              `json:"rows"`
	Skipped         int              `json:"skipped"`
	Duplicate       bool             `json:"duplicate"`
	CommittedOffset string           `json:"committedOffset,omitempty"`
	Acknowledgement string           `json:"acknowledgement"`
	Guarantee       string           `json:"guarantee"`
	Refused         []stream.Refusal `json:"refused,omitempty"`
}

// Receive accepts rows.
func (a *API) Receive(w http.ResponseWriter, r *http.Request) error {
	name, q := r.PathValue("datasource"), r.URL.Query()
	if err := edge.OnlyParameters(r, "ack", "onError", "channel", "offset", "timeColumn", "timeFormat"); err != nil {
		return err
	}
	ack := q.Get("ack")
	if ack == "" {
		ack = durable
	}
	if !slices.Contains([]string{durable, queryable, published}, ack) {
		return fault.InvalidInput("Value [%s] of [ack] is unknown; use durable, queryable or published", ack)
	}
	skip := false
	switch onError := q.Get("onError"); onError {
	case "", "fail":
	case "skip":
		skip = true
	default:
		return fault.InvalidInput("Value [%s] of [onError] is unknown; use fail or skip", onError)
	}
	format, err := stream.FormatOf(r.Header.Get("Content-Type"))
	if f := fault.Find(err); f != nil {
		return edge.UnsupportedMedia("%s", f.Message)
	}
	if err != nil {
		return err
	}
	body, err := a.body(w, r)
	if err != nil {
		return err
	}
	edge.Decoded(r.Context())
	schema, err := a.schema(r, name, body)
	if err != nil {
		return err
	}
	rows, err := a.read(r.Context(), body, format, &schema.Time)
	if err != nil {
		return err
	}
	if rows.Bad > 0 && !skip {
		return refusal(rows)
	}
	out := answer{Rows: rows.Count, Skipped: rows.Bad, Refused: rows.Refused, Acknowledgement: ack, Guarantee: "exactlyOnce"}
	entry := stream.Entry{Channel: q.Get("channel"), Offset: q.Get("offset"), Key: r.Header.Get("Idempotency-Key"),
		Rows: rows.Count, Body: rows.Lines, Bad: rows.BadLines}
	if entry.Channel == "" && entry.Key == "" {
		out.Guarantee = "atLeastOnce"
	}
	if rows.Count == 0 && rows.Bad == 0 && entry.Channel == "" {
		edge.WriteJSON(w, http.StatusOK, out)
		return nil
	}
	log, err := a.o.Logs.For(r.Context(), name, SenderOf(r))
	if err != nil {
		return err
	}
	receipt, err := log.Append(r.Context(), entry)
	if err != nil {
		return busy(w, err)
	}
	out.Duplicate, out.CommittedOffset = receipt.Duplicate, receipt.Committed
	if err := a.await(r.Context(), name, log, receipt.Position, &out); err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// busy tells a client when to come back, if there is no room at the moment.
func busy(w http.ResponseWriter, err error) error {
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryCapacityExceeded {
		w.Header().Set("Retry-After", "1")
	}
	return err
}

// refusal names the first records that are no rows.
func refusal(rows *stream.Rows) error {
	first := rows.Refused[0]
	at := "row [" + strconv.FormatInt(first.Row, 10) + "]"
	if first.Line > 0 {
		at = "line [" + strconv.FormatInt(first.Line, 10) + "]"
	}
	if first.Column != "" {
		at += ", column [" + first.Column + "]"
	}
	return fault.InvalidInput("[%d] of [%d] records are not rows, and no row was accepted. The first is at %s: %s. "+
		"With onError=skip the others are taken",
		rows.Bad, rows.Bad+rows.Count, at, first.Reason)
}

// body reads the body of a request, unpacked.
func (a *API) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := edge.TooLarge("The rows of one request may have [%d] bytes, the limit of [service.ingest.push.maxRequestBytes]; "+
		"send fewer at a time", a.o.MaxBytes)
	in := io.Reader(http.MaxBytesReader(w, r.Body, a.o.MaxBytes))
	switch coding := strings.ToLower(r.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, fault.Malformed("The body is not gzip")
		}
		in = unpacked
	case "zstd":
		unpacked, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(a.o.MaxBytes)))
		if err != nil {
			return nil, fault.Malformed("The body is not zstd")
		}
		defer unpacked.Close()
		in = edge.Unpacked(r.Context(), unpacked)
	default:
		return nil, edge.UnsupportedMedia("Content-Encoding [%.100s] is not supported; use gzip or zstd", coding)
	}
	body, err := io.ReadAll(io.LimitReader(in, a.o.MaxBytes+1))
	if _, large := errors.AsType[*http.MaxBytesError](err); large || int64(len(body)) > a.o.MaxBytes {
		return nil, tooLarge
	}
	if fault.Find(err) != nil { // it unpacks to too much
		return nil, err
	}
	if err != nil {
		return nil, fault.Malformed("The body ends too early, or is damaged. No row was taken").WithCause(err)
	}
	return body, nil
}

// read makes rows of a body, which have as many bytes in the log as a body may have, too.
func (a *API) read(ctx context.Context, body []byte, format ingest.Format, time *spec.Timestamp) (*stream.Rows, error) {
	most := min(a.o.MaxBytes, stream.MaxLines)
	rows, err := stream.Read(ctx, body, format, time, most)
	if large, ok := errors.AsType[*stream.LargeError](err); ok {
		return nil, edge.TooLarge("The rows of one request may have [%d] bytes as lines of JSON, as they are kept, by "+
			"[service.ingest.push.maxRequestBytes], and those up to row [%d] have more; send fewer at a time", most, large.Row)
	}
	return rows, err
}

// Channel returns the position of a channel.
func (a *API) Channel(w http.ResponseWriter, r *http.Request) error {
	name, channel := r.PathValue("datasource"), r.PathValue("channel")
	log, err := a.o.Logs.Find(r.Context(), name, channel)
	if err != nil {
		return err
	}
	if log != nil {
		if mark, ok := log.Channel(channel); ok {
			edge.WriteJSON(w, http.StatusOK, map[string]string{"channel": channel, "committedOffset": mark.Offset})
			return nil
		}
	}
	return fault.NotFound("Channel [%s] of datasource [%s] has sent nothing", channel, name)
}

// fits refuses first rows that their own specification can't read: it would stay, and refuse better
// ones.
func (a *API) fits(r *http.Request, body []byte, text json.RawMessage) error {
	read, err := spec.ParseStream(spec.Push, text)
	if err != nil {
		return err
	}
	format, err := stream.FormatOf(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	rows, err := a.read(r.Context(), body, format, &read.Schema.Time)
	if err != nil {
		return err
	}
	if rows.Bad > 0 && (rows.Count == 0 || r.URL.Query().Get("onError") != "skip") {
		return refusal(rows)
	}
	return nil
}

func (a *API) entry(r *http.Request) func(id string) *metastore.AuditEntry {
	return func(id string) *metastore.AuditEntry { return a.o.Audit(r, "supervisor", id) }
}
