package ingest

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// columnParts reads the columns of the parts of a file, its row groups or stripes, into vectors,
// several parts at a time. Each goroutine takes the next part, decodes it batch by batch into the
// part's own channel, and waits there; the parts are given out in their order.
type columnParts struct {
	order     chan chan decoded
	out       chan decoded // of the part that is given out
	wait      sync.WaitGroup
	closeFile func() error
}

// partBatches is how many batches of a part wait to be taken.
const partBatches = 4

// startColumnParts reads so many parts with read, which gives what it has to send until that says
// false.
func startColumnParts(ctx context.Context, parts, decoders int, read func(part int, send func(decoded) bool) error, closeFile func() error) *columnParts {
	r := &columnParts{order: make(chan chan decoded, parts), closeFile: closeFile}
	type work struct {
		part int
		out  chan decoded
	}
	todo := make(chan work, parts)
	for i := range parts {
		w := work{i, make(chan decoded, partBatches)}
		r.order <- w.out
		todo <- w
	}
	close(r.order)
	close(todo)
	for range min(max(decoders, 1), parts) {
		r.wait.Go(func() {
			for w := range todo {
				send := func(d decoded) bool {
					select {
					case w.out <- d:
						return true
					case <-ctx.Done():
						return false
					}
				}
				if err := read(w.part, send); err != nil {
					send(decoded{err: err})
				}
				close(w.out)
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	return r
}

func (r *columnParts) next(ctx context.Context) (decoded, int64, error) {
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
func (r *columnParts) stop() error {
	r.wait.Wait()
	return r.closeFile()
}

// partColumn reads the values of one field.
type partColumn interface {
	// read returns the next n rows.
	read(n int) (*vector.Vector, error)
	close() error
}

// part is a row group or a stripe.
type part struct {
	rows int64
	// Column opens the column of field i; nil: the file has none, as files of one table need not have
	// the same.
	column func(i int, f Field, s *sink, flaws *partFlaws) (partColumn, error)
	// Records reads the part's rows once more, as objects.
	records func() (objectReader, error)
}

// read gives the batches of a part to send until that says false.
func (p *part) read(fields []Field, opts *Options, send func(decoded) bool) (err error) {
	s := newSink(fields, opts)
	columns, flaws := make([]partColumn, len(fields)), &partFlaws{open: p.records}
	defer func() {
		if x := recover(); x != nil {
			err = fault.Defensive("Reading columns met an unexpected condition; the log says more").WithPanic(x)
		}
		for _, c := range columns {
			if c != nil {
				err = errors.Join(err, c.close())
			}
		}
		err = errors.Join(err, flaws.close())
	}()
	for i, f := range fields {
		if columns[i], err = p.column(i, f, s, flaws); err != nil {
			return err
		}
		if columns[i] == nil && f.Time != nil {
			columns[i] = &timeColumn{when: f.Time, flaws: flaws}
		}
	}
	for left := p.rows; left > 0; {
		n := int(min(left, vector.BatchRows))
		b := &vector.Batch{N: n, Cols: make([]*vector.Vector, len(fields))}
		s.out = decoded{}
		for i, c := range columns {
			if c == nil {
				b.Cols[i] = vector.Nulls(fields[i].Type, n)
				continue
			}
			if b.Cols[i], err = c.read(n); err != nil {
				return record.Unexpected(err)
			}
		}
		s.out.records, s.out.bytes = int64(n), b.Bytes()
		s.out.malformed.Take(&s.malformed)
		if len(flaws.found) > 0 {
			if b, err = flaws.take(s, b, p.rows-left); err != nil {
				return record.Unexpected(err)
			}
		}
		left -= int64(n)
		if b.N > 0 && s.out.err == nil {
			s.out.batches = []*vector.Batch{b}
		}
		if !send(s.out) {
			return nil
		}
	}
	return nil
}

// valueColumn reads any column by way of values.
type valueColumn struct {
	next   func() (any, error)
	done   func() error // nil: nothing is to be closed
	s      *sink
	field  int
	column *column
	flaws  *partFlaws
}

func newValueColumn(next func() (any, error), done func() error, field int, s *sink, flaws *partFlaws) *valueColumn {
	return &valueColumn{next, done, s, field, s.columns[field], flaws}
}

func (c *valueColumn) read(n int) (*vector.Vector, error) {
	c.column.reserve(n)
	for i := range n {
		v, err := c.next()
		if err != nil {
			return nil, err
		}
		v = c.s.malformed.Value(c.s.fields[c.field].Name, v)
		c.s.objectCell(c.field, c.column, v)
		if c.column.flaw != 0 {
			c.flaws.add(i, c.column.flaw)
			c.column.flaw = 0
		}
	}
	return c.column.build(), nil
}

func (c *valueColumn) close() error {
	if c.done == nil {
		return nil
	}
	return c.done()
}

// partFlaws are the rows of a part whose fields are not all what they must be. Columns are read one
// after the other and know no records, so that those are read a second time, as objects, if there
// is anything to say of them.
type partFlaws struct {
	open  func() (objectReader, error)
	found map[int]flaw // by row of the batch
	whole objectReader // nil: not needed yet
	next  int64        // row of the part that whole gives next
}

func (p *partFlaws) add(row int, f flaw) {
	if p.found == nil {
		p.found = map[int]flaw{}
	}
	p.found[row] |= f
}

// take notes the flawed rows of b, which begins at a row of the part, in what s gives out, and
// returns the rows that are left.
func (p *partFlaws) take(s *sink, b *vector.Batch, first int64) (*vector.Batch, error) {
	var bad []int
	for _, row := range slices.Sorted(maps.Keys(p.found)) {
		o, err := p.object(first + int64(row))
		if err != nil {
			return nil, err
		}
		s.out.errs = append(s.out.errs, ParseError{Record: int64(row) + 1, Object: o, Flat: o})
		if p.found[row]&noTime != 0 {
			bad = append(bad, row)
		}
	}
	clear(p.found)
	if len(bad) == 0 {
		return b, nil
	}
	b.Sel = make([]uint32, 0, b.N-len(bad))
	for row := range b.N {
		if len(bad) > 0 && bad[0] == row {
			bad = bad[1:]
			continue
		}
		b.Sel = append(b.Sel, uint32(row))
	}
	return b.Compact(), nil
}

// object returns a row of the part; rows are asked for in their order.
func (p *partFlaws) object(row int64) (*record.Object, error) {
	if p.whole == nil {
		var err error
		if p.whole, err = p.open(); err != nil {
			return nil, err
		}
	}
	for {
		r, err := p.whole.next(context.Background())
		if err != nil {
			return nil, err
		}
		if p.next++; p.next > row {
			(&record.WellFormed{}).Object(r.Object) // counted when its columns were read
			return r.Object, nil
		}
	}
}

func (p *partFlaws) close() error {
	if p.whole == nil {
		return nil
	}
	return p.whole.close()
}

// timeColumn reads the times of rows from whole numbers.
type timeColumn struct {
	given partColumn // nil: the file has no such column
	when  *Instants
	flaws *partFlaws
}

func (c *timeColumn) read(n int) (*vector.Vector, error) {
	var given *vector.Vector
	if c.given != nil {
		var err error
		if given, err = c.given.read(n); err != nil {
			return nil, err
		}
	}
	out := &column{typ: vector.Long, when: c.when}
	out.longs = make([]int64, 0, n)
	for i := range n {
		if given == nil || given.IsNull(i) {
			out.null()
		} else {
			out.instant(c.when.Format.Integer(given.Longs[i]))
		}
		if out.flaw != 0 {
			c.flaws.add(i, out.flaw)
			out.flaw = 0
		}
	}
	return out.build(), nil
}

func (c *timeColumn) close() error {
	if c.given == nil {
		return nil
	}
	return c.given.close()
}
