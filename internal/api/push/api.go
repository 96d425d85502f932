package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	stream "github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/supervisor"
)

// Supervisors are those of the cluster.
type Supervisors interface {
	Find(ctx context.Context, id string) (*supervisor.Supervisor, error)
	Put(ctx context.Context, text json.RawMessage, keep bool, entry func(id string) *metastore.AuditEntry) (*supervisor.Supervisor,
		supervisor.Change, error)
}

// Options are what the endpoints work with.
type Options struct {
	Store       *stream.Store
	Supervisors Supervisors
	// Audit returns the audit entry of a request that makes or changes a supervisor.
	Audit func(r *http.Request, kind, key string) *metastore.AuditEntry
	// MaxBytes bounds the body of a request, packed and unpacked.
	MaxBytes int64
	Clock    clock.Clock
}

// API serves the endpoints.
type API struct {
	o Options

	mu     sync.Mutex
	tables map[string]*table
}

// table is how the rows of a datasource are read, as it was when somebody looked last.
type table struct {
	schema *spec.DataSchema
	looked time.Time
}

// New returns the endpoints.
func New(o Options) *API { return &API{o: o, tables: map[string]*table{}} }

// Path is where rows are sent to.
const Path = "/service/v2/ingest/"

// Routes adds the endpoints to mux.
func (a *API) Routes(mux *edge.Mux) {
	mux.On("POST "+Path+"{datasource}", a.receive)
	mux.On("GET "+Path+"{datasource}/channels/{channel}", a.channel)
	mux.On("GET "+Path+"{datasource}/config", a.config)
	mux.On("PUT "+Path+"{datasource}/config", edge.JSONOnly(a.configure))
}

// SupervisorOf is the id of the supervisor that reads what is sent to a datasource.
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

func (a *API) receive(w http.ResponseWriter, r *http.Request) error {
	name, q := r.PathValue("datasource"), r.URL.Query()
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
	rows, err := stream.Read(r.Context(), body, format, &schema.Time)
	if err != nil {
		return err
	}
	if rows.Bad > 0 && !skip {
		return refusal(rows)
	}
	out := answer{Rows: rows.Count, Skipped: rows.Bad, Refused: rows.Refused, Acknowledgement: ack, Guarantee: "exactlyOnce"}
	entry := stream.Entry{Channel: q.Get("channel"), Offset: q.Get("offset"), Key: r.Header.Get("Idempotency-Key"),
		Rows: rows.Count, Body: rows.Lines}
	if entry.Channel == "" && entry.Key == "" {
		out.Guarantee = "atLeastOnce"
	}
	if rows.Count == 0 && entry.Channel == "" {
		edge.WriteJSON(w, http.StatusOK, out)
		return nil
	}
	log, err := a.o.Store.Log(name)
	if err != nil {
		return err
	}
	receipt, err := log.Append(r.Context(), entry)
	if err != nil {
		return busy(w, err)
	}
	out.Duplicate, out.CommittedOffset = receipt.Duplicate, receipt.Committed
	if ack == published {
		err = log.AwaitPublished(r.Context(), receipt.Position)
	} else {
		err = log.AwaitRead(r.Context(), receipt.Position)
	}
	if err != nil {
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
	return fault.InvalidInput("[%d] of [%d] records are no rows, and none was taken. The first is at %s: %s. "+
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
			return nil, fault.Malformed("The body is no gzip")
		}
		in = unpacked
	case "zstd":
		unpacked, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(a.o.MaxBytes)))
		if err != nil {
			return nil, fault.Malformed("The body is no zstd")
		}
		defer unpacked.Close()
		in = unpacked
	default:
		return nil, fault.Unsupported("Content-Encoding [%s] is not supported; use gzip or zstd", coding)
	}
	body, err := io.ReadAll(io.LimitReader(in, a.o.MaxBytes+1))
	if _, large := errors.AsType[*http.MaxBytesError](err); large || int64(len(body)) > a.o.MaxBytes {
		return nil, tooLarge
	}
	if err != nil {
		return nil, fault.Malformed("The body ends too early, or is damaged. No row was taken").WithCause(err)
	}
	return body, nil
}

func (a *API) channel(w http.ResponseWriter, r *http.Request) error {
	name, channel := r.PathValue("datasource"), r.PathValue("channel")
	if log := a.o.Store.Find(name); log != nil {
		if mark, ok := log.Channel(channel); ok {
			edge.WriteJSON(w, http.StatusOK, map[string]string{"channel": channel, "committedOffset": mark.Offset})
			return nil
		}
	}
	return fault.NotFound("Channel [%s] of datasource [%s] has sent nothing", channel, name)
}

// freshFor is how long a schema is used before the supervisor is looked at again.
const freshFor = 2 * time.Second

// schema returns how the rows of a datasource are read. The first rows of a datasource make it.
func (a *API) schema(r *http.Request, name string, body []byte) (*spec.DataSchema, error) {
	a.mu.Lock()
	t := a.tables[name]
	a.mu.Unlock()
	now := a.o.Clock.Now()
	if t != nil && now.Sub(t.looked) < freshFor {
		return t.schema, nil
	}
	id := SupervisorOf(name)
	found, err := a.o.Supervisors.Find(r.Context(), id)
	if err != nil {
		return nil, err
	}
	var text json.RawMessage
	if found == nil {
		if text, err = a.discovered(r, name, body); err != nil {
			return nil, err
		}
		if _, _, err = a.o.Supervisors.Put(r.Context(), text, true, a.entry(r)); err != nil {
			return nil, err
		}
	} else if text, err = json.Marshal(found.Spec); err != nil {
		return nil, fmt.Errorf("writing the specification of supervisor [%s]: %w", id, err)
	}
	read, err := spec.ParseStream(spec.Push, text)
	if err != nil {
		return nil, err
	}
	if read.Suspended {
		return nil, fault.Unavailable("Supervisor [%s] is suspended: datasource [%s] takes no rows until it is resumed", id, name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tables[name] = &table{schema: read.Schema, looked: now}
	return read.Schema, nil
}

func (a *API) entry(r *http.Request) func(id string) *metastore.AuditEntry {
	return func(id string) *metastore.AuditEntry { return a.o.Audit(r, "supervisor", id) }
}
