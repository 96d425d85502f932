package ingest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/hengedb/henge/internal/fault"
)

// AvroFile is Avro object container files: type "avro_ocf".
type AvroFile struct {
	flat *flattening
	// Schema, when set, is the schema that records are read as; else they are as they were written.
	schema *avro.Schema
	avroOptions
	wire avroWire
}

// avroOptions say how values of Avro become ours.
type avroOptions struct {
	BinaryAsString bool
	// UnionsByType gives each branch of a union that has several a member of its own, named after its type.
	UnionsByType bool
}

type avroWire struct {
	Type                string          `json:"type"`
	FlattenSpec         json.RawMessage `json:"flattenSpec,omitempty"`
	Schema              json.RawMessage `json:"schema,omitempty"`
	Decoder             json.RawMessage `json:"avroBytesDecoder,omitempty"`
	BinaryAsString      bool            `json:"binaryAsString"`
	ExtractUnionsByType bool            `json:"extractUnionsByType"`
}

// avroBlockBytes bounds a block of a container, packed and unpacked.
const avroBlockBytes = 64 << 20

func parseAvroFile(text json.RawMessage) (Format, error) {
	f := &AvroFile{}
	if err := decodeWire("inputFormat", text, &f.wire); err != nil {
		return nil, err
	}
	var err error
	if f.flat, err = parseFlattening("avro_ocf", f.wire.FlattenSpec); err != nil {
		return nil, err
	}
	f.avroOptions = avroOptions{f.wire.BinaryAsString, f.wire.ExtractUnionsByType}
	if given(f.wire.Schema) {
		if f.schema, err = parseAvroSchema(f.wire.Schema); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func parseAvroSchema(text json.RawMessage) (*avro.Schema, error) {
	s, err := avro.Parse(string(text))
	if err != nil {
		return nil, invalidField("inputFormat", "the Avro schema is not valid: %s", err)
	}
	if s.Root().Type != "record" {
		return nil, invalidField("inputFormat", "the Avro schema is no record")
	}
	return s, nil
}

// Type returns "avro_ocf".
func (f *AvroFile) Type() string { return "avro_ocf" }

// MarshalJSON returns the wire form.
func (f *AvroFile) MarshalJSON() ([]byte, error) { return marshalPlain(f.wire) }

func (f *AvroFile) flattening() *flattening { return f.flat }

func (f *AvroFile) openObjects(ctx context.Context, in *input) (objectReader, error) {
	src, err := in.stream(ctx)
	if err != nil {
		return nil, err
	}
	r := &avroFileReader{src: src, name: in.name(), options: f.avroOptions}
	opts := append(avroCodecs(), ocf.WithMaxBlockBytes(avroBlockBytes), ocf.WithMaxDecompressedBlockBytes(avroBlockBytes))
	var reading *avroReading
	if f.schema != nil {
		opts = append(opts, ocf.WithReaderSchemaFunc(func(file *ocf.Reader) (s *avro.Schema, err error) {
			reading, s, err = newAvroReading(file.Schema(), f.schema)
			return s, err
		}))
	}
	if r.file, err = ocf.NewReader(bufio.NewReaderSize(src, 256<<10), opts...); err != nil {
		return nil, errors.Join(r.damaged(err), src.Close())
	}
	if reading != nil {
		r.conv = reading.converter(f.avroOptions)
	} else if r.conv, err = newAvroConverter(r.file.Schema(), f.avroOptions); err != nil {
		return nil, errors.Join(r.damaged(err), src.Close())
	}
	return r, nil
}

type avroFileReader struct {
	src     io.ReadCloser
	file    *ocf.Reader
	conv    *avroConverter
	name    string
	options avroOptions
}

func (r *avroFileReader) next(context.Context) (Record, error) {
	var v any
	if err := r.file.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return Record{}, err
		}
		return Record{}, r.damaged(err)
	}
	r.conv.problem = ""
	o, ok := r.conv.value(v, r.conv.root).(*Object)
	if !ok {
		return Record{Reason: "it is no record"}, nil
	}
	if r.conv.problem != "" {
		return Record{Text: AppendJSON(nil, o), Reason: r.conv.problem}, nil
	}
	return Record{Object: o}, nil
}

func (r *avroFileReader) damaged(err error) error {
	if fault.Find(err) != nil {
		return err
	}
	name := shownName(r.name)
	if unfit, ok := errors.AsType[*avro.CompatibilityError](err); ok {
		return fault.InvalidInput("Input [%s] can't be read with the 'schema' of its format: [%v]", name, unfit).WithCause(err)
	}
	if codec, ok := strings.CutPrefix(err.Error(), "ocf: unknown codec "); ok {
		return fault.InvalidInput("Input [%s] is packed with codec [%s], which is not supported; known are [%s]", name, strings.Trim(codec, `"`),
			"null, deflate, snappy, bzip2, xz, zstandard").WithCause(err)
	}
	return fault.InvalidInput("Input [%s] is damaged or no Avro file: [%v]", name, err).WithCause(err)
}

func (r *avroFileReader) close() error { return r.src.Close() }
