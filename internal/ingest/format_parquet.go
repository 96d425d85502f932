package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/parquet"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// Parquet is the format of Apache Parquet files. Only the wanted columns are read. Large files are
// split by row groups.
type Parquet struct {
	flat *flattening
	// BinaryAsString reads byte arrays without an annotation as strings.
	BinaryAsString bool
}

type columnarWire struct {
	Type           string          `json:"type"`
	FlattenSpec    json.RawMessage `json:"flattenSpec,omitempty"`
	BinaryAsString bool            `json:"binaryAsString"`
}

func parseParquet(text json.RawMessage) (Format, error) {
	var w columnarWire
	if err := wire.Decode("inputFormat", text, &w); err != nil {
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

// MarshalJSON returns the JSON form.
func (f *Parquet) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(columnarWire{"parquet", f.flat.wire, f.BinaryAsString})
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

// Damaged is the fault of a file that can't be read, unless the source itself failed.
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
	at   *parquet.Rows
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
		if r.at, err = parquet.NewRows(r.file.Root, g, r.f.BinaryAsString); err != nil {
			return Record{}, r.damaged(err)
		}
	}
	r.left--
	v, err := r.at.Next()
	if err != nil {
		return Record{}, r.damaged(err)
	}
	return Record{Object: v.(*record.Object)}, nil
}

func (r *parquetObjects) close() error { return r.src.Close() }

// startParquetColumns reads the columns of the row groups of a split.
func startParquetColumns(ctx context.Context, p *parquetFile, fields []Field, opts *Options) *columnParts {
	return startColumnParts(ctx, len(p.groups), opts.Decoders, func(i int, send func(decoded) bool) error {
		g := p.groups[i]
		group := &part{
			rows: g.Rows,
			column: func(i int, f Field, s *sink, flaws *partFlaws) (partColumn, error) {
				return p.column(g, i, f, s, flaws)
			},
			records: func() (objectReader, error) {
				one := *p
				one.groups = []*parquet.RowGroup{g}
				return groupObjects{&parquetObjects{parquetFile: &one}}, nil
			},
		}
		if err := group.read(fields, opts, send); err != nil {
			return p.damaged(err)
		}
		return nil
	}, p.src.Close)
}

// groupObjects reads rows of a file that others read, too, and close.
type groupObjects struct{ *parquetObjects }

func (r groupObjects) close() error { return nil }

// Column returns the reader of a field, nil when the file has no such column.
func (p *parquetFile) column(g *parquet.RowGroup, i int, f Field, s *sink, flaws *partFlaws) (partColumn, error) {
	c := p.file.Root.Child(f.Name)
	if c == nil {
		return nil, nil
	}
	if c.Leaf && !c.Repeated {
		typ := f.Type
		if f.Multi {
			typ = vector.String
		}
		if read := flatReader(c, typ, p.f.BinaryAsString); read != nil {
			pages, err := g.Pages(c)
			if err != nil {
				return nil, err
			}
			flat := &flatColumn{pages: pages, s: s, field: i, typ: typ, append: read}
			switch {
			case f.Time != nil:
				return &timeColumn{given: flat, when: f.Time, flaws: flaws}, nil
			case f.Multi:
				return singleValues{flat}, nil
			}
			return flat, nil
		}
	}
	a, err := parquet.NewRows(c, g, p.f.BinaryAsString)
	if err != nil {
		return nil, err
	}
	return newValueColumn(a.Next, nil, i, s, flaws), nil
}

// singleValues reads a column without nesting as a multi-value string: each row has a value, or
// none.
type singleValues struct{ *flatColumn }

func (c singleValues) read(n int) (*vector.Vector, error) {
	values, err := c.flatColumn.read(n)
	if err != nil {
		return nil, err
	}
	out := &vector.Vector{Type: vector.ListOf(vector.String), Len: n, Offsets: make([]uint32, n+1), Child: values, Valid: values.Valid}
	if out.Valid == nil {
		for i := range out.Offsets {
			out.Offsets[i] = uint32(i)
		}
		return out, nil
	}
	rows := make([]uint32, 0, n)
	for i := range n {
		if out.Valid.Get(i) {
			rows = append(rows, uint32(i))
		}
		out.Offsets[i+1] = uint32(len(rows))
	}
	out.Child = values.Gather(rows)
	return out, nil
}
