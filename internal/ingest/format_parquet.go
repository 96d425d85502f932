package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/parquet"
)

// Parquet is Apache Parquet files. Columns are read on their own, those not wanted not at all; row
// groups are what a large file is split into.
type Parquet struct {
	flat *flattening
	// BinaryAsString takes byte arrays without an annotation for text.
	BinaryAsString bool
}

type columnarWire struct {
	Type           string          `json:"type"`
	FlattenSpec    json.RawMessage `json:"flattenSpec,omitempty"`
	BinaryAsString bool            `json:"binaryAsString"`
}

func parseParquet(text json.RawMessage) (Format, error) {
	var w columnarWire
	if err := decodeWire("inputFormat", text, &w); err != nil {
		return nil, err
	}
	flat, err := parseFlattening("parquet", w.FlattenSpec)
	if err != nil {
		return nil, err
	}
	return &Parquet{flat: flat, BinaryAsString: w.BinaryAsString}, nil
}

// Type returns "parquet".
func (f *Parquet) Type() string { return "parquet" }

// MarshalJSON returns the wire form.
func (f *Parquet) MarshalJSON() ([]byte, error) {
	return marshalPlain(columnarWire{"parquet", f.flat.wire, f.BinaryAsString})
}

func (f *Parquet) flattening() *flattening { return f.flat }

// parquetFile is an open file with the row groups of a split.
type parquetFile struct {
	src    randomFile
	file   *parquet.File
	groups []*parquet.RowGroup
	name   string
	f      *Parquet
}

func (f *Parquet) openFile(ctx context.Context, in *input) (*parquetFile, error) {
	src, err := in.random(ctx)
	if err != nil {
		return nil, err
	}
	p := &parquetFile{src: src, name: in.name(), f: f}
	if p.file, err = parquet.Open(src, src.Size()); err != nil {
		return nil, errors.Join(p.damaged(err), src.Close())
	}
	for _, g := range p.file.Groups {
		if g.Offset >= in.split.Offset && (in.split.End < 0 || g.Offset < in.split.End) {
			p.groups = append(p.groups, g)
		}
	}
	return p, nil
}

// damaged is the fault of a file that can't be read, unless the source itself failed.
func (p *parquetFile) damaged(err error) error {
	name := p.name
	if name == "" {
		name = "inline"
	}
	damage, other := &parquet.Damage{}, &parquet.Unsupported{}
	switch {
	case fault.Find(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &other):
		return fault.Unsupported("Input [%s] is a Parquet file that can't be read: %v", name, other).WithCause(err)
	case errors.As(err, &damage):
		return fault.InvalidInput("Input [%s] is damaged or no Parquet file: %v", name, damage).WithCause(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.InvalidInput("Input [%s] is damaged: its columns end before its rows do", name).WithCause(err)
	}
	return fault.Runtime("Input [%s] can't be read", name).WithCause(err)
}

// cuts reports whether the file has several row groups.
func (f *Parquet) cuts(ctx context.Context, in *input) (bool, error) {
	p, err := f.openFile(ctx, in)
	if err != nil {
		return false, err
	}
	return len(p.groups) > 1, p.src.Close()
}

func (f *Parquet) openColumns(ctx context.Context, in *input, fields []Field) (producer, error) {
	p, err := f.openFile(ctx, in)
	if err != nil {
		return nil, err
	}
	return startParquetColumns(ctx, p, fields, in.opts), nil
}

func (f *Parquet) openObjects(ctx context.Context, in *input) (objectReader, error) {
	p, err := f.openFile(ctx, in)
	if err != nil {
		return nil, err
	}
	return &parquetObjects{parquetFile: p}, nil
}

// parquetObjects reads rows as objects.
type parquetObjects struct {
	*parquetFile
	at   *assembler
	left int64
}

func (r *parquetObjects) next(context.Context) (Record, error) {
	for r.left == 0 {
		if len(r.groups) == 0 {
			return Record{}, io.EOF
		}
		g := r.groups[0]
		r.groups, r.left = r.groups[1:], g.Rows
		if len(r.file.Root.Children) == 0 {
			r.left = 0 // rows of nothing
			continue
		}
		var err error
		if r.at, err = newAssembler(r.file.Root, g, r.f.BinaryAsString); err != nil {
			return Record{}, r.damaged(err)
		}
	}
	r.left--
	v, err := r.at.row()
	if err != nil {
		return Record{}, r.damaged(err)
	}
	return Record{Object: v.(*Object)}, nil
}

func (r *parquetObjects) close() error { return r.src.Close() }
