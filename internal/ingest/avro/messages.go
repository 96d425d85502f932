package avro

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/twmb/avro"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
)

// NewRegistered returns a decoder for records of a schema in a registry. The schema may reference
// types of other schemas.
func NewRegistered(schema string, references []string, o Options) (*Messages, error) {
	var known avro.SchemaCache
	for _, r := range references {
		if _, err := known.Parse(r); err != nil {
			return nil, err
		}
	}
	s, err := known.Parse(schema)
	if err != nil {
		return nil, err
	}
	if s.Root().Type != "record" {
		return nil, fmt.Errorf("it is not a record")
	}
	return NewMessages(s, o)
}

// Messages decodes records of one schema.
type Messages struct {
	schema *avro.Schema
	conv   *converter
}

func NewMessages(schema *avro.Schema, o Options) (*Messages, error) {
	conv, err := newConverter(schema, o)
	if err != nil {
		return nil, err
	}
	return &Messages{schema, conv}, nil
}

func (d *Messages) Message(_ context.Context, data []byte) (*record.Object, error) {
	var v any
	rest, err := d.schema.Decode(data, &v)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, errors.New("bytes follow the message")
	}
	o, ok := d.conv.value(v, d.conv.root).(*record.Object)
	if !ok {
		return nil, fmt.Errorf("it is not a record")
	}
	return o, nil
}

// Versions decodes records of several schemas. Each record begins with a byte 1 and the number of
// its schema in four bytes.
type Versions map[uint32]*Messages

func NewVersions(schemas map[string]json.RawMessage, o Options) (Versions, error) {
	if len(schemas) == 0 {
		return nil, wire.Invalid("avroBytesDecoder", "'schemas' is empty")
	}
	out := Versions{}
	for key, text := range schemas {
		id, ok := record.ParseInteger([]byte(key))
		if !ok || id < 0 || id > 1<<31-1 {
			return nil, wire.Invalid("avroBytesDecoder", "'%s' in 'schemas' is not the number of a schema", key)
		}
		schema, err := ParseSchema(text)
		if err != nil {
			return nil, err
		}
		if out[uint32(id)], err = NewMessages(schema, o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d Versions) Message(ctx context.Context, data []byte) (*record.Object, error) {
	if len(data) < 5 || data[0] != 1 {
		return nil, fmt.Errorf("it does not begin with the number of a schema")
	}
	id := uint32(data[1])<<24 | uint32(data[2])<<16 | uint32(data[3])<<8 | uint32(data[4])
	decoder, ok := d[id]
	if !ok {
		return nil, fmt.Errorf("its schema %d is unknown", id)
	}
	return decoder.Message(ctx, data[5:])
}
