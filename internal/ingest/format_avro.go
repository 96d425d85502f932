package ingest

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// UnionsByType gives each branch of a union that has several a member of its own, named after its
	// type.
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

// avroCodecs are the codecs of Avro's specification that its library does not have.
func avroCodecs() []ocf.ReaderOpt {
	return []ocf.ReaderOpt{
		ocf.WithCodec(avroCodec{"bzip2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }}),
		ocf.WithCodec(avroCodec{"xz", func(r io.Reader) (io.Reader, error) { return openXZ(bufio.NewReader(r)) }}),
	}
}

// avroCodec unpacks the blocks of a container. It is an ocf.Codec and an ocf.BoundedDecompressor.
type avroCodec struct {
	name string
	open func(io.Reader) (io.Reader, error)
}

// Name returns what the header of a file calls the codec.
func (c avroCodec) Name() string { return c.name }

// Compress is not asked for: files are read only.
func (c avroCodec) Compress([]byte) ([]byte, error) {
	return nil, fmt.Errorf("nothing is packed with [%s]", c.name)
}

// Decompress unpacks a block.
func (c avroCodec) Decompress(src []byte) ([]byte, error) {
	return c.DecompressBounded(src, avroBlockBytes)
}

// DecompressBounded unpacks a block of at most so many bytes.
func (c avroCodec) DecompressBounded(src []byte, most int64) ([]byte, error) {
	if most <= 0 {
		most = avroBlockBytes
	}
	r, err := c.open(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(out)) > most {
		err = fmt.Errorf("a block is larger than [%d] bytes", most)
	}
	return out, err
}

// Close implements ocf.Codec.
func (avroCodec) Close() error { return nil }
