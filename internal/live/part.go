package live

import (
	"context"
	"os"
	"slices"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// part is some rows of a segment. A part has one reference of its segment, which release gives
// back; readers have their own.
type part interface {
	rows() int
	bytes() int64 // in memory
	// reader returns the rows that are there now. The caller releases it. It is nil when the part is
	// released.
	reader() segment.Reader
	release()
}

// growing is a part that rows are appended to, by one goroutine at a time.
type growing interface {
	part
	// columns are those that batches must have, in order.
	columns() []segment.ColumnSpec
	extend(more []segment.ColumnSpec) error
	append(ctx context.Context, batch *vector.Batch) error
}

// newGrowing returns a part without rows.
func newGrowing(s *Set, o *segment.Options, columns []segment.ColumnSpec) (growing, error) {
	if o.Rollup {
		return newFolded(s, o, columns)
	}
	plain, err := newPlain(s, o, columns)
	if err != nil {
		return nil, err
	}
	return plain, nil
}

// plain keeps rows as they come.
type plain struct {
	*segment.Live
	held *reserve
}

func newPlain(s *Set, o *segment.Options, columns []segment.ColumnSpec) (*plain, error) {
	held := &reserve{budget: s.o.Memory}
	opts := *o
	opts.Columns, opts.SortOrder, opts.Rollup, opts.Fold, opts.Budget = columns, nil, false, nil, held
	l, err := segment.NewLive(opts)
	if err != nil {
		return nil, err
	}
	return &plain{l, held}, nil
}

func (p *plain) rows() int                     { return p.Live.Rows() }
func (p *plain) bytes() int64                  { return p.Live.Bytes() }
func (p *plain) reader() segment.Reader        { return p.Live.Reader() }
func (p *plain) release()                      { p.Live.Release() }
func (p *plain) columns() []segment.ColumnSpec { return p.Live.Columns() }

func (p *plain) extend(more []segment.ColumnSpec) error { return p.Live.Extend(more) }

func (p *plain) append(ctx context.Context, batch *vector.Batch) error {
	return p.Live.Append(ctx, batch)
}

// file is rows on disk.
type file struct {
	*segment.Segment
	path string
	kept bool // somebody else owns the file
}

// openFile returns the part of a file. With kept the file stays when the part is released.
func openFile(path string, kept bool) (*file, error) {
	s, err := segment.Open(path)
	if err != nil {
		return nil, err
	}
	return &file{s, path, kept}, nil
}

func (f *file) rows() int    { return f.Info().Rows }
func (f *file) bytes() int64 { return 0 }

func (f *file) reader() segment.Reader {
	if !f.Acquire() {
		return nil
	}
	return f.Segment
}

// release removes the file: those who read it have it mapped.
func (f *file) release() {
	if !f.kept {
		os.Remove(f.path)
	}
	f.Release()
}

// write makes a file of a part in memory.
func (g *Segment) write(ctx context.Context, p part) (part, error) {
	r := p.reader()
	if r == nil {
		return nil, gone(g.id, 0)
	}
	defer r.Release()
	path := g.set.path()
	if _, err := segment.WriteRows(ctx, path, r, g.options(p.(growing).columns())); err != nil {
		return nil, err
	}
	f, err := openFile(path, false)
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	return f, nil
}

// options are those of a file with some columns.
func (g *Segment) options(columns []segment.ColumnSpec) segment.Options {
	o := g.o.Segment
	o.Columns, o.TempDir = columns, g.set.o.Dir
	if o.Budget == nil && g.set.o.Memory != nil {
		o.Budget = g.set.o.Memory
	}
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(c segment.ColumnSpec) bool { return c.Name == name })
	}
	o.SortOrder = slices.DeleteFunc(slices.Clone(o.SortOrder), func(name string) bool { return !has(name) })
	return o
}
