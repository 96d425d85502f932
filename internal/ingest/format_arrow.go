package ingest

import (
	"context"
	"encoding/json"
	"io"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// Arrow is the streaming format of Apache Arrow IPC. The file format of Arrow IPC, with an index at
// the end, is a different format.
type Arrow struct {
	flat *flattening
	// BinaryAsString reads binary columns as strings.
	BinaryAsString bool
}

func parseArrow(text json.RawMessage) (Format, error) {
	var w columnarWire
	if err := wire.Decode("inputFormat", text, &w); err != nil {
		return nil, err
	}
	flat, err := parseFlattening("arrow", w.FlattenSpec)
	if err != nil {
		return nil, err
	}
	return &Arrow{flat: flat, BinaryAsString: w.BinaryAsString}, nil
}

// Type returns "arrow".
func (f *Arrow) Type() string { return "arrow" }

// MarshalJSON returns the JSON form.
func (f *Arrow) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(columnarWire{"arrow", f.flat.wire, f.BinaryAsString})
}

func (f *Arrow) flattening() *flattening { return f.flat }

func (f *Arrow) openObjects(ctx context.Context, in *input) (objectReader, error) {
	src, err := in.stream(ctx)
	if err != nil {
		return nil, err
	}
	return &arrowObjects{f: f, src: src, in: arrow.NewReader(src), max: int64(in.opts.maxRecordBytes())}, nil
}

// arrowObjects reads the rows of a stream as objects.
type arrowObjects struct {
	f     *Arrow
	src   io.ReadCloser
	in    *arrow.Reader
	batch *arrow.Batch
	row   int
	max   int64 // bytes of a row
}

func (r *arrowObjects) next(context.Context) (Record, error) {
	for r.batch == nil || r.row == r.batch.Rows {
		batch, err := r.in.Next()
		if err != nil {
			return Record{}, err
		}
		r.batch, r.row = batch, 0
	}
	schema, err := r.in.Schema()
	if err != nil {
		return Record{}, err
	}
	row := r.row
	r.row++
	size := int64(0)
	for _, c := range r.batch.Columns {
		if size += c.Size(row, r.max-size); size > r.max {
			return Record{Reason: recordTooLarge}, nil
		}
	}
	o := &record.Object{Names: make([]string, 0, len(schema.Fields)), Values: make([]any, 0, len(schema.Fields))}
	for i := range schema.Fields {
		o.Add(schema.Fields[i].Name, r.f.value(r.batch.Columns[i].Value(row)))
	}
	return Record{Object: o}, nil
}

func (r *arrowObjects) close() error { return r.src.Close() }

// value makes a value of an Object of one of Arrow.
func (f *Arrow) value(v any) any {
	switch x := v.(type) {
	case []byte:
		if f.BinaryAsString {
			return string(x)
		}
	case arrow.Number:
		return record.Digits(x)
	case []any:
		for i := range x {
			x[i] = f.value(x[i])
		}
	case *arrow.Members:
		o := &record.Object{Names: x.Names, Values: x.Values}
		for i := range o.Values {
			o.Values[i] = f.value(o.Values[i])
		}
		return o
	}
	return v
}
