package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/avro"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/relaxed"
	"github.com/hengedb/henge/internal/ingest/wire"
)

// messageDecoder turns one message of a binary format, such as a record of a stream, into an
// object.
type messageDecoder interface {
	Message(ctx context.Context, data []byte) (*record.Object, error)
}

// messageFormat is a format whose records are messages: a file of it is one message.
type messageFormat struct {
	kind    string
	wire    json.RawMessage
	flat    *flattening
	decoder openDecoder
}

// openDecoder returns the decoder of a format; what it needs beside the wire form, such as a file
// of descriptors, is subject to access.
type openDecoder func(access *Access) (messageDecoder, error)

// always returns a decoder that is there already.
func always(d messageDecoder, err error) (openDecoder, error) {
	return func(*Access) (messageDecoder, error) { return d, nil }, err
}

// Type returns the type id.
func (f *messageFormat) Type() string { return f.kind }

// MarshalJSON returns the JSON form.
func (f *messageFormat) MarshalJSON() ([]byte, error) { return f.wire, nil }

func (f *messageFormat) flattening() *flattening { return f.flat }

func (f *messageFormat) openObjects(ctx context.Context, in *input) (objectReader, error) {
	decoder, err := f.decoder(in.opts.Access)
	if err != nil {
		return nil, err
	}
	src, err := in.stream(ctx)
	if err != nil {
		return nil, err
	}
	return &messageReader{src: src, decoder: decoder, max: int64(in.opts.maxRecordBytes())}, nil
}

type messageReader struct {
	src     io.ReadCloser
	decoder messageDecoder
	max     int64
	done    bool
}

func (r *messageReader) next(ctx context.Context) (Record, error) {
	if r.done {
		return Record{}, io.EOF
	}
	r.done = true
	data, err := io.ReadAll(io.LimitReader(r.src, r.max+1))
	if err != nil {
		return Record{}, err
	}
	if int64(len(data)) > r.max {
		return Record{Reason: recordTooLarge}, nil
	}
	o, err := r.decoder.Message(ctx, data)
	if f := fault.Find(err); f != nil || ctx.Err() != nil { // not of the message, but of what it takes to read it
		return Record{}, err
	}
	if err != nil {
		return Record{Reason: fault.Words(err)}, nil
	}
	return Record{Object: o}, nil
}

func (r *messageReader) close() error { return r.src.Close() }

// parseMessageFormat reads the members that message formats share; decode reads the decoder, called
// member.
func parseMessageFormat(
	kind, member string, text json.RawMessage, decode func(decoder json.RawMessage, o avro.Options) (openDecoder, error),
) (Format, error) {
	var w map[string]json.RawMessage
	if err := wire.Decode("inputFormat", text, &w); err != nil {
		return nil, err
	}
	flat, err := parseFlattening(kind, w["flattenSpec"])
	if err != nil {
		return nil, err
	}
	if !wire.Given(w[member]) {
		return nil, wire.Invalid("inputFormat", "a format of type '%s' needs '%s'", kind, member)
	}
	var o avro.Options
	for name, into := range map[string]*bool{"binaryAsString": &o.BinaryAsString, "extractUnionsByType": &o.UnionsByType} {
		if wire.Given(w[name]) && json.Unmarshal(w[name], into) != nil {
			return nil, wire.Invalid("inputFormat", "'%s' is not a boolean", name)
		}
	}
	decoder, err := decode(w[member], o)
	if err != nil {
		return nil, err
	}
	return &messageFormat{kind: kind, wire: text, flat: flat, decoder: decoder}, nil
}

// jsonSchema is the type of schemas of a registry whose messages are JSON.
const jsonSchema = "JSON"

// jsonMessages decodes messages of JSON. They say by themselves what they have: their schema is not
// looked at.
type jsonMessages struct{ parsers sync.Pool }

func (d *jsonMessages) Message(_ context.Context, data []byte) (*record.Object, error) {
	p, _ := d.parsers.Get().(*fastjson.Parser)
	if p == nil {
		p = &fastjson.Parser{}
	}
	defer d.parsers.Put(p)
	text := record.ValidText(bytes.TrimSpace(data))
	v, err := p.ParseBytes(text)
	if err != nil {
		return nil, errors.New(relaxed.StrictReason(text))
	}
	if v.Type() != fastjson.TypeObject {
		return nil, errors.New("it is not a JSON object")
	}
	o := v.GetObject()
	if o.Len() > record.MaxFields {
		return nil, errors.New("it has too many fields")
	}
	object, ok := record.ObjectOf(o)
	if !ok {
		return nil, errors.New(relaxed.StrictReason(text))
	}
	return object, nil
}
