package ingest

import (
	"context"

	"github.com/hengedb/henge/internal/ingest/parquet"
	"github.com/hengedb/henge/internal/vector"
)

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

// column returns the reader of a field, nil when the file has no such column.
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
	a, err := newAssembler(c, g, p.f.BinaryAsString)
	if err != nil {
		return nil, err
	}
	return newValueColumn(a.row, nil, i, s, flaws), nil
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
