package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/avro"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// AvroFile is the format of Avro object container files: type "avro_ocf".
type AvroFile struct {
	flat *flattening
	// Schema, when set, is the schema that records are read as; else they are as they were written.
	schema  *avro.Schema
	options avro.Options
	wire    avroWire
}

type avroWire struct {
	Type                string          `json:"type"`
	FlattenSpec         json.RawMessage `json:"flattenSpec,omitempty"`
	Schema              json.RawMessage `json:"schema,omitempty"`
	Decoder             json.RawMessage `json:"avroBytesDecoder,omitempty"`
	BinaryAsString      bool            `json:"binaryAsString"`
	ExtractUnionsByType bool            `json:"extractUnionsByType"`
}

func parseAvroFile(text json.RawMessage) (Format, error) {
	f := &AvroFile{}
	if err := wire.Decode("inputFormat", text, &f.wire); err != nil {
		return nil, err
	}
	var err error
	if f.flat, err = parseFlattening("avro_ocf", f.wire.FlattenSpec); err != nil {
		return nil, err
	}
	f.options = avro.Options{BinaryAsString: f.wire.BinaryAsString, UnionsByType: f.wire.ExtractUnionsByType}
	if wire.Given(f.wire.Schema) {
		if f.schema, err = avro.ParseSchema(f.wire.Schema); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Type returns "avro_ocf".
func (f *AvroFile) Type() string { return "avro_ocf" }

// MarshalJSON returns the JSON form.
func (f *AvroFile) MarshalJSON() ([]byte, error) { return jsontext.Marshal(f.wire) }

func (f *AvroFile) flattening() *flattening { return f.flat }

func (f *AvroFile) openObjects(ctx context.Context, in *input) (objectReader, error) {
	r, err := f.openFile(ctx, in)
	if err != nil {
		return nil, err // not r, which is no nil objectReader
	}
	return r, nil
}

func (f *AvroFile) openFile(ctx context.Context, in *input) (*avroObjects, error) {
	src, err := in.stream(ctx)
	if err != nil {
		return nil, err
	}
	file, err := avro.Open(src, in.name(), f.schema, f.options)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return &avroObjects{file, src}, nil
}

// avroObjects reads the records of a file as objects.
type avroObjects struct {
	file *avro.File
	src  io.Closer
}

func (r *avroObjects) next(context.Context) (Record, error) {
	o, reason, err := r.file.Next()
	if o != nil && reason != "" {
		return Record{Text: record.AppendJSON(nil, o), Reason: reason}, nil
	}
	return Record{Object: o, Reason: reason}, err
}

func (r *avroObjects) close() error { return r.src.Close() }

// avroDecoders are the types of avroBytesDecoder.
var avroDecoders = []string{"multiple_schemas_inline", "schema_inline", "schema_registry", "schema_repo"}

func parseAvroStream(text json.RawMessage) (Format, error) {
	return parseMessageFormat("avro_stream", "avroBytesDecoder", text, func(text json.RawMessage, o avro.Options) (openDecoder, error) {
		var w struct {
			Type    string                     `json:"type"`
			Schema  json.RawMessage            `json:"schema"`
			Schemas map[string]json.RawMessage `json:"schemas"`
		}
		if err := wire.Decode("avroBytesDecoder", text, &w); err != nil {
			return nil, err
		}
		switch w.Type {
		case "schema_inline":
			schema, err := avro.ParseSchema(w.Schema)
			if err != nil {
				return nil, err
			}
			return always(avro.NewMessages(schema, o))
		case "multiple_schemas_inline":
			return always(avro.NewVersions(w.Schemas, o))
		case "schema_registry":
			return parseRegistry("avroBytesDecoder", text, func(schema registered, references []registered) (messageDecoder, error) {
				if schema.Type == jsonSchema {
					return &jsonMessages{}, nil
				}
				if schema.Type != "" && schema.Type != "AVRO" {
					return nil, fmt.Errorf("it is of type %s, not Avro", schema.Type)
				}
				others := make([]string, len(references))
				for i, r := range references {
					others[i] = r.Schema
				}
				return avro.NewRegistered(schema.Schema, others, o)
			})
		case "schema_repo":
			return nil, fault.Unsupported("Decoder [schema_repo] of [avroBytesDecoder] is not supported; use [schema_registry] or [schema_inline]")
		}
		return nil, wire.UnknownType("avroBytesDecoder", w.Type, avroDecoders)
	})
}
