package ingest

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// Datasource is the rows of a datasource of this system. Its type in JSON is "druid" or "service".
type Datasource struct {
	Name     string
	Interval chrono.Interval
	// Filter is a native filter in its JSON form; nil: all rows.
	Filter json.RawMessage
	// Columns are the columns to read; nil: all.
	Columns []string

	wire datasourceWire
}

type datasourceWire struct {
	Type       string          `json:"type"`
	DataSource string          `json:"dataSource"`
	Interval   json.RawMessage `json:"interval,omitempty"`
	Segments   json.RawMessage `json:"segments,omitempty"`
	Filter     json.RawMessage `json:"filter,omitempty"`
	Dimensions []string        `json:"dimensions,omitempty"`
	Metrics    []string        `json:"metrics,omitempty"`
}

func parseDatasource(text json.RawMessage) (Source, error) {
	s := &Datasource{Interval: chrono.Eternity}
	if err := wire.Decode("inputSource", text, &s.wire); err != nil {
		return nil, err
	}
	switch w := &s.wire; {
	case w.DataSource == "":
		return nil, wire.Invalid("inputSource", "a source of this type needs a 'dataSource'")
	case wire.Given(w.Segments) == wire.Given(w.Interval):
		return nil, wire.Invalid("inputSource", "Specify exactly one of 'interval' and 'segments'")
	case wire.Given(w.Segments):
		return nil, fault.Unsupported("Input source [%s] with [segments] is not supported; give an [interval]", w.Type)
	}
	var interval string
	if json.Unmarshal(s.wire.Interval, &interval) != nil {
		return nil, wire.Invalid("inputSource", "'interval' is an ISO 8601 interval")
	}
	var err error
	if s.Interval, err = chrono.ParseInterval(interval); err != nil {
		return nil, err
	}
	s.Name = s.wire.DataSource
	if wire.Given(s.wire.Filter) {
		s.Filter = s.wire.Filter
	}
	if s.wire.Dimensions != nil || s.wire.Metrics != nil {
		s.Columns = slices.Concat([]string{"__time"}, s.wire.Dimensions, s.wire.Metrics)
	}
	return s, nil
}

// Type returns the type id as given: "druid" or "service".
func (s *Datasource) Type() string { return s.wire.Type }

// MarshalJSON returns the JSON form.
func (s *Datasource) MarshalJSON() ([]byte, error) { return jsontext.Marshal(s.wire) }

func (*Datasource) source() {}

// List returns the rows as one entity.
func (s *Datasource) List(_ context.Context, access *Access) ([]Entity, error) {
	if access == nil || access.OpenDatasource == nil {
		return nil, fault.Unsupported("Input source [%s] can't be read here; select from the datasource instead", s.Type())
	}
	return []Entity{&datasourceEntity{source: s, access: access}}, nil
}

// ObjectReader returns rows as objects, and io.EOF after the last row. It is used by one goroutine
// at a time.
type ObjectReader interface {
	Next(ctx context.Context) (*record.Object, error)
	Close() error
}

// noBytes is the part of Entity that is the same for all that is rows and not bytes.
type noBytes struct{}

func (noBytes) Size() int64                       { return -1 }
func (noBytes) Seekable() bool                    { return false }
func (noBytes) SystemField(string) (string, bool) { return "", false }

func (noBytes) Open(context.Context, int64) (io.ReadCloser, error) {
	return nil, fault.Defensive("Rows were opened as bytes")
}

type datasourceEntity struct {
	noBytes
	source *Datasource
	access *Access
}

func (e *datasourceEntity) Name() string { return e.source.Name }

func (e *datasourceEntity) openRecords(ctx context.Context) (objectReader, error) {
	rows, err := e.access.OpenDatasource(ctx, e.source)
	if err != nil {
		return nil, err
	}
	return rowRecords{rows}, nil
}

// rowRecords makes records of rows.
type rowRecords struct{ rows ObjectReader }

func (r rowRecords) next(ctx context.Context) (Record, error) {
	o, err := r.rows.Next(ctx)
	return Record{Object: o}, err
}

func (r rowRecords) close() error { return r.rows.Close() }
