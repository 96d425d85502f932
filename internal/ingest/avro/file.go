package avro

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/unpack"
	"github.com/hengedb/henge/internal/ingest/wire"
)

// Options are the settings for converting Avro values.
type Options struct {
	BinaryAsString bool
	// UnionsByType converts each branch of a union to a member of its own, named after its type.
	UnionsByType bool
}

func ParseSchema(text json.RawMessage) (*avro.Schema, error) {
	s, err := avro.Parse(string(text))
	if err != nil {
		return nil, wire.Invalid("inputFormat", "the Avro schema is not valid: %s", err)
	}
	if s.Root().Type != "record" {
		return nil, wire.Invalid("inputFormat", "the Avro schema is not a record")
	}
	return s, nil
}

// Schema is a schema of records.
type Schema = avro.Schema

// blockBytes bounds a block of a container, packed and unpacked.
const blockBytes = 64 << 20

// File reads the records of an Avro container file. It is used by one goroutine.
type File struct {
	file *ocf.Reader
	conv *converter
	name string
}

// Open opens a file; its name is for errors. Records are resolved to schema, or read with the
// writer's schema if schema is nil. The caller closes the source.
func Open(src io.Reader, name string, schema *Schema, options Options) (*File, error) {
	r := &File{name: name}
	opts := append(codecs(), ocf.WithMaxBlockBytes(blockBytes), ocf.WithMaxDecompressedBlockBytes(blockBytes))
	var reading *reading
	if schema != nil {
		opts = append(opts, ocf.WithReaderSchemaFunc(func(file *ocf.Reader) (s *avro.Schema, err error) {
			reading, s, err = newReading(file.Schema(), schema)
			return s, err
		}))
	}
	var err error
	if r.file, err = ocf.NewReader(bufio.NewReaderSize(src, 256<<10), opts...); err != nil {
		return nil, r.damaged(err)
	}
	if reading != nil {
		r.conv = reading.converter(options)
	} else if r.conv, err = newConverter(r.file.Schema(), options); err != nil {
		return nil, r.damaged(err)
	}
	return r, nil
}

// Next returns the next record. If reason is not empty, the record could not be parsed; the object
// then contains the fields that could be read, or is nil.
func (r *File) Next() (o *record.Object, reason string, err error) {
	var v any
	if err := r.file.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, "", err
		}
		return nil, "", r.damaged(err)
	}
	r.conv.problem = ""
	o, ok := r.conv.value(v, r.conv.root).(*record.Object)
	if !ok {
		return nil, "it is not a record", nil
	}
	return o, r.conv.problem, nil
}

// Field is a field of the records of a file.
type Field struct {
	Name string
	// Logical is the logical type of the field. For a union, it is the logical type of the first
	// branch that is not null.
	Logical string
}

// Fields returns the fields of the records.
func (r *File) Fields() []Field {
	out := make([]Field, len(r.conv.root.Fields))
	for i := range r.conv.root.Fields {
		field := &r.conv.root.Fields[i]
		t := r.conv.resolve(&field.Type)
		for j := range t.Branches {
			if b := r.conv.resolve(&t.Branches[j]); b.Type != "null" {
				t = b
				break
			}
		}
		out[i] = Field{field.Name, t.LogicalType}
	}
	return out
}

func (r *File) damaged(err error) error {
	if fault.Find(err) != nil {
		return err
	}
	name := record.ShownName(r.name)
	if unfit, ok := errors.AsType[*avro.CompatibilityError](err); ok {
		return fault.InvalidInput("Input [%s] can't be read with the 'schema' of its format: [%v]", name, unfit).WithCause(err)
	}
	if codec, ok := strings.CutPrefix(err.Error(), "ocf: unknown codec "); ok {
		return fault.InvalidInput("Input [%s] is compressed with codec [%s], which is not supported; known "+
			"are [%s]", name, strings.Trim(codec, `"`),
			"null, deflate, snappy, bzip2, xz, zstandard").WithCause(err)
	}
	return fault.InvalidInput("Input [%s] is damaged or no Avro file: [%v]", name, err).WithCause(err)
}

// codecs are the codecs of Avro's specification that its library does not have.
func codecs() []ocf.ReaderOpt {
	return []ocf.ReaderOpt{
		ocf.WithCodec(codec{"bzip2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }}),
		ocf.WithCodec(codec{"xz", unpack.XZ}),
	}
}

// codec unpacks the blocks of a container. It is an ocf.Codec and an ocf.BoundedDecompressor.
type codec struct {
	name string
	open func(io.Reader) (io.Reader, error)
}

// Name returns the name of the codec in the header of a file.
func (c codec) Name() string { return c.name }

// Compress is never called, because files are only read.
func (c codec) Compress([]byte) ([]byte, error) {
	return nil, fmt.Errorf("codec [%s] is not used", c.name)
}

// Decompress decompresses a block.
func (c codec) Decompress(src []byte) ([]byte, error) {
	return c.DecompressBounded(src, blockBytes)
}

// DecompressBounded decompresses a block to at most this many bytes.
func (c codec) DecompressBounded(src []byte, most int64) ([]byte, error) {
	if most <= 0 {
		most = blockBytes
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
func (codec) Close() error { return nil }
