package ingest

import (
	"context"

	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/vector"
)

// startParquetColumns reads the columns of the row groups of a split.
func startParquetColumns(ctx context.Context, p *parquetFile, fields []Field, opts *Options) *columnParts {
	return startColumnParts(ctx, len(p.groups), opts.Decoders, func(i int, send func(decoded) bool) error {
		g := p.groups[i]
		group := &part{
			rows: g.NumRows(),
			column: func(i int, f Field, s *sink, flaws *partFlaws) (partColumn, error) {
				return p.column(g, i, f, s, flaws), nil
			},
			records: func() (objectReader, error) {
				one := *p
				one.groups = []parquet.RowGroup{g}
				return groupObjects{&parquetObjects{parquetFile: &one}}, nil
			},
		}
		if err := group.read(fields, opts, send); err != nil {
			return p.damaged(err)
		}
		return nil
	}, p.file.Close)
}

// groupObjects reads rows of a file that others read, too, and close.
type groupObjects struct{ *parquetObjects }

func (r groupObjects) close() error { return r.closeGroup() }

// column returns the reader of a field, nil when the file has no such column.
func (p *parquetFile) column(g parquet.RowGroup, i int, f Field, s *sink, flaws *partFlaws) partColumn {
	c := p.root.Column(f.Name)
	if c == nil {
		return nil
	}
	if c.Leaf() && !c.Repeated() {
		typ := f.Type
		if f.Multi {
			typ = vector.String
		}
		if read := flatReader(c, typ, p.f.BinaryAsString); read != nil {
			flat := &flatColumn{pages: g.ColumnChunks()[c.Index()].Pages(), s: s, field: i, typ: typ, append: read, optional: c.Optional()}
			switch {
			case f.Time != nil:
				return &timeColumn{given: flat, when: f.Time, flaws: flaws}
			case f.Multi:
				return singleValues{flat}
			}
			return flat
		}
	}
	a := &assembler{}
	node := a.node(c, g.ColumnChunks(), p.f.BinaryAsString)
	return newValueColumn(func() (any, error) { return a.read(node) }, a.close, i, s, flaws)
}

// singleValues reads a column without nesting as a multi-value string: each row has a value, or none.
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
