package ingest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/avro"

	"github.com/hengedb/henge/internal/fault"
)

// avroDecoders are the types of avroBytesDecoder.
var avroDecoders = []string{"multiple_schemas_inline", "schema_inline", "schema_registry", "schema_repo"}

func parseAvroStream(text json.RawMessage) (Format, error) {
	return parseMessageFormat("avro_stream", "avroBytesDecoder", text, func(text json.RawMessage, o avroOptions) (openDecoder, error) {
		var w struct {
			Type    string                     `json:"type"`
			Schema  json.RawMessage            `json:"schema"`
			Schemas map[string]json.RawMessage `json:"schemas"`
		}
		if err := decodeWire("avroBytesDecoder", text, &w); err != nil {
			return nil, err
		}
		switch w.Type {
		case "schema_inline":
			schema, err := parseAvroSchema(w.Schema)
			if err != nil {
				return nil, err
			}
			return always(newAvroMessages(schema, o))
		case "multiple_schemas_inline":
			return always(newAvroVersions(w.Schemas, o))
		case "schema_registry":
			return parseRegistry("avroBytesDecoder", text, func(schema registered, references []registered) (messageDecoder, error) {
				if schema.Type == jsonSchema {
					return &jsonMessages{}, nil
				}
				return registeredAvro(schema, references, o)
			})
		case "schema_repo":
			return nil, fault.Unsupported("Decoder [schema_repo] of [avroBytesDecoder] is not supported; use [schema_registry] or [schema_inline]")
		}
		return nil, unknownType("avroBytesDecoder", w.Type, avroDecoders)
	})
}

// registeredAvro decodes records of a schema in a registry, which names types of other schemas.
func registeredAvro(schema registered, references []registered, o avroOptions) (messageDecoder, error) {
	if schema.Type != "" && schema.Type != "AVRO" {
		return nil, fmt.Errorf("it is of type %s, not Avro", schema.Type)
	}
	var known avro.SchemaCache
	for _, r := range references {
		if _, err := known.Parse(r.Schema); err != nil {
			return nil, err
		}
	}
	s, err := known.Parse(schema.Schema)
	if err != nil {
		return nil, err
	}
	if s.Root().Type != "record" {
		return nil, fmt.Errorf("it is no record")
	}
	return newAvroMessages(s, o)
}

// avroMessages decodes records of one schema.
type avroMessages struct {
	schema *avro.Schema
	conv   *avroConverter
}

func newAvroMessages(schema *avro.Schema, o avroOptions) (*avroMessages, error) {
	conv, err := newAvroConverter(schema, o)
	if err != nil {
		return nil, err
	}
	return &avroMessages{schema, conv}, nil
}

func (d *avroMessages) message(_ context.Context, data []byte) (*Object, error) {
	var v any
	rest, err := d.schema.Decode(data, &v)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, errTrailing
	}
	o, ok := d.conv.value(v, d.conv.root).(*Object)
	if !ok {
		return nil, fmt.Errorf("it is no record")
	}
	return o, nil
}

// avroVersions decodes records of several schemas, which begin with a byte 1 and the number of
// their schema in four bytes.
type avroVersions map[uint32]*avroMessages

func newAvroVersions(schemas map[string]json.RawMessage, o avroOptions) (messageDecoder, error) {
	if len(schemas) == 0 {
		return nil, invalidField("avroBytesDecoder", "'schemas' is empty")
	}
	out := avroVersions{}
	for key, text := range schemas {
		id, ok := parseInteger([]byte(key))
		if !ok || id < 0 || id > 1<<31-1 {
			return nil, invalidField("avroBytesDecoder", "'%s' in 'schemas' is no number of a schema", key)
		}
		schema, err := parseAvroSchema(text)
		if err != nil {
			return nil, err
		}
		if out[uint32(id)], err = newAvroMessages(schema, o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d avroVersions) message(ctx context.Context, data []byte) (*Object, error) {
	if len(data) < 5 || data[0] != 1 {
		return nil, fmt.Errorf("it does not begin with the number of a schema")
	}
	id := uint32(data[1])<<24 | uint32(data[2])<<16 | uint32(data[3])<<8 | uint32(data[4])
	decoder, ok := d[id]
	if !ok {
		return nil, fmt.Errorf("its schema %d is unknown", id)
	}
	return decoder.message(ctx, data[5:])
}
