package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/fault"
)

// Parquet is Apache Parquet files. Columns are read on their own, those not wanted not at all; row groups are what a large file is split into.
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
	file   randomFile
	root   *parquet.Column
	groups []parquet.RowGroup
	name   string
	f      *Parquet
}

func (f *Parquet) openFile(ctx context.Context, in *input) (p *parquetFile, err error) {
	file, err := in.random(ctx)
	if err != nil {
		return nil, err
	}
	p = &parquetFile{file: file, name: in.name(), f: f}
	defer func() {
		if x := recover(); x != nil {
			err = p.damaged(recovered(x))
		}
		if err != nil {
			p, err = nil, errors.Join(err, file.Close())
		}
	}()
	if file.Size() < 12 {
		return nil, p.damaged(io.ErrUnexpectedEOF)
	}
	open, err := parquet.OpenFile(file, file.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(256<<10))
	if err != nil {
		return nil, p.damaged(err)
	}
	if depthOf(open.Root(), 0) > maxJSONDepth {
		return nil, fault.InvalidInput("Input [%s] nests columns deeper than [%d]", p.name, maxJSONDepth)
	}
	p.root = open.Root()
	metadata := open.Metadata()
	for i, g := range open.RowGroups() {
		if at := groupOffset(metadata, i); at >= in.split.Offset && (in.split.End < 0 || at < in.split.End) {
			p.groups = append(p.groups, g)
		}
	}
	return p, nil
}

func depthOf(c *parquet.Column, depth int) int {
	deepest := depth
	if depth <= maxJSONDepth {
		for _, child := range c.Columns() {
			deepest = max(deepest, depthOf(child, depth+1))
		}
	}
	return deepest
}

// damaged is the fault of a file that can't be read, unless the source itself failed.
func (p *parquetFile) damaged(err error) error {
	if fault.Find(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	name := p.name
	if name == "" {
		name = "inline"
	}
	return fault.InvalidInput("Input [%s] is damaged or no Parquet file: [%v]", name, err).WithCause(err)
}

// cuts reports whether the file has several row groups.
func (f *Parquet) cuts(ctx context.Context, in *input) (bool, error) {
	p, err := f.openFile(ctx, in)
	if err != nil {
		return false, err
	}
	return len(p.groups) > 1, p.file.Close()
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

func (r *parquetObjects) next(context.Context) (rec Record, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = r.damaged(recovered(x))
		}
	}()
	for r.left == 0 {
		if err := r.closeGroup(); err != nil {
			return Record{}, r.damaged(err)
		}
		if len(r.groups) == 0 {
			return Record{}, io.EOF
		}
		g := r.groups[0]
		r.groups, r.left = r.groups[1:], g.NumRows()
		if len(r.root.Columns()) == 0 {
			r.left = 0 // rows of nothing
			continue
		}
		r.at = newAssembler(r.root, g, r.f.BinaryAsString)
	}
	r.left--
	v, err := r.at.group(r.at.root)
	if err != nil {
		return Record{}, r.damaged(err)
	}
	return Record{Object: v}, nil
}

func (r *parquetObjects) closeGroup() error {
	if r.at == nil {
		return nil
	}
	at := r.at
	r.at = nil
	return at.close()
}

func (r *parquetObjects) close() error { return errors.Join(r.closeGroup(), r.file.Close()) }
