package ingest

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/vector"
)

// parquetColumns reads the columns of row groups into vectors, several row groups at a time. Each goroutine takes the next group, decodes it
// batch by batch into the group's own channel, and waits there; the groups are given out in their order.
type parquetColumns struct {
	*parquetFile
	order chan chan decoded
	out   chan decoded // of the group that is given out
	wait  sync.WaitGroup
}

// groupBatches is how many batches of a row group wait to be taken.
const groupBatches = 4

func startParquetColumns(ctx context.Context, p *parquetFile, fields []Field, opts *Options) *parquetColumns {
	r := &parquetColumns{parquetFile: p, order: make(chan chan decoded, len(p.groups))}
	type work struct {
		group parquet.RowGroup
		out   chan decoded
	}
	todo := make(chan work, len(p.groups))
	for _, g := range p.groups {
		w := work{g, make(chan decoded, groupBatches)}
		r.order <- w.out
		todo <- w
	}
	close(r.order)
	close(todo)
	for range min(max(opts.Decoders, 1), len(p.groups)) {
		r.wait.Go(func() {
			for w := range todo {
				r.group(ctx, w.group, fields, opts, w.out)
				close(w.out)
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	return r
}

func (r *parquetColumns) next(ctx context.Context) (decoded, int64, error) {
	for {
		if r.out == nil {
			var ok bool
			if r.out, ok = <-r.order; !ok {
				return decoded{}, 0, io.EOF
			}
		}
		select {
		case b, ok := <-r.out:
			if ok {
				return b, 0, nil
			}
			r.out = nil
			if err := ctx.Err(); err != nil {
				return decoded{}, 0, err
			}
		case <-ctx.Done():
			return decoded{}, 0, ctx.Err()
		}
	}
}

// stop waits for the goroutines, which end because their context is done.
func (r *parquetColumns) stop() error {
	r.wait.Wait()
	return r.file.Close()
}

// group decodes one row group.
func (r *parquetColumns) group(ctx context.Context, g parquet.RowGroup, fields []Field, opts *Options, out chan<- decoded) {
	send := func(d decoded) bool {
		select {
		case out <- d:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if err := r.batches(g, fields, opts, send); err != nil {
		send(decoded{err: r.damaged(err)})
	}
}

func (r *parquetColumns) batches(g parquet.RowGroup, fields []Field, opts *Options, send func(decoded) bool) (err error) {
	s := newSink(fields, opts)
	columns := make([]parquetColumn, len(fields))
	flaws := &groupFlaws{file: r.parquetFile, group: g}
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
		}
		for _, c := range columns {
			if c != nil {
				err = errors.Join(err, c.close())
			}
		}
		err = errors.Join(err, flaws.close())
	}()
	for i, f := range fields {
		columns[i] = r.column(g, i, f, s, flaws)
	}
	rows := g.NumRows()
	for left := rows; left > 0; {
		n := int(min(left, vector.BatchRows))
		b := &vector.Batch{N: n, Cols: make([]*vector.Vector, len(fields))}
		s.out = decoded{}
		for i, c := range columns {
			if c == nil {
				b.Cols[i] = vector.Nulls(fields[i].Type, n)
				continue
			}
			if b.Cols[i], err = c.read(n); err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
		}
		s.out.records, s.out.bytes = int64(n), b.Bytes()
		if len(flaws.found) > 0 {
			if b, err = flaws.take(s, b, rows-left); err != nil {
				return err
			}
		}
		left -= int64(n)
		if b.N > 0 {
			s.out.batches = []*vector.Batch{b}
		}
		if s.out.err != nil {
			s.out.batches = nil
		}
		if !send(s.out) {
			return nil
		}
	}
	return nil
}

// parquetColumn reads the values of one field.
type parquetColumn interface {
	// read returns the next n rows.
	read(n int) (*vector.Vector, error)
	close() error
}

// column returns the reader of a field, nil when the file has no such column: files of one table need not have the same columns.
func (r *parquetColumns) column(g parquet.RowGroup, i int, f Field, s *sink, flaws *groupFlaws) parquetColumn {
	c := r.root.Column(f.Name)
	if c == nil {
		if f.Time != nil {
			return &timeColumn{when: f.Time, flaws: flaws}
		}
		return nil
	}
	if c.Leaf() && !c.Repeated() {
		if read := flatReader(c, f, r.f.BinaryAsString); read != nil {
			flat := &flatColumn{pages: g.ColumnChunks()[c.Index()].Pages(), s: s, field: i, typ: f.Type, append: read, optional: c.Optional()}
			if f.Time != nil {
				return &timeColumn{flat: flat, when: f.Time, flaws: flaws}
			}
			return flat
		}
	}
	a := &assembler{}
	return &nestedColumn{a: a, node: a.node(c, g.ColumnChunks(), r.f.BinaryAsString), s: s, field: i, column: s.columns[i], flaws: flaws}
}

// nestedColumn reads any column by way of values.
type nestedColumn struct {
	a      *assembler
	node   *assembled
	s      *sink
	field  int
	column *column
	flaws  *groupFlaws
}

func (c *nestedColumn) read(n int) (*vector.Vector, error) {
	c.column.reserve()
	for i := range n {
		v, err := c.a.read(c.node)
		if err != nil {
			return nil, err
		}
		c.s.objectCell(c.field, c.column, v)
		if c.column.flaw != 0 {
			c.flaws.add(i, c.column.flaw)
			c.column.flaw = 0
		}
	}
	return c.column.build(), nil
}

func (c *nestedColumn) close() error { return c.a.close() }
