package live

import (
	"context"
	"os"
	"slices"

	"github.com/hengedb/henge/internal/segment"
)

// Finish writes all rows into one file at path, sorted, and rolled up if the segment is. No rows
// can be appended after it has begun. When it returns, queries read that file. The file belongs to
// the caller and remains when the segment is closed. After an error Finish can be called again.
func (g *Segment) Finish(ctx context.Context, path string) (*segment.Info, error) {
	g.persisting.Lock()
	defer g.persisting.Unlock()
	growing := g.cut(true)
	old, columns := g.present()
	opts := g.options(columns)
	var info *segment.Info
	var err error
	if len(old) == 1 && len(growing) == 1 {
		info, err = g.writeAll(ctx, path, old[0], opts)
	} else {
		if err := g.persist(ctx, true); err != nil {
			return nil, err
		}
		old, _ = g.present()
		info, err = g.merge(ctx, path, old, opts)
	}
	if err != nil {
		return nil, err
	}
	whole, err := openFile(path, true)
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	g.replace(old, whole)
	g.set.announce(g)
	return info, nil
}

func (g *Segment) present() ([]part, []segment.ColumnSpec) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.parts, g.mu.columns
}

// writeAll writes the rows of one part.
func (g *Segment) writeAll(ctx context.Context, path string, p part, opts segment.Options) (*segment.Info, error) {
	r := p.reader()
	if r == nil {
		return nil, gone(g.id, 0)
	}
	defer r.Release()
	return segment.WriteRows(ctx, path, conform(r, opts.Columns), opts)
}

// merge writes the rows of several files. Those that are in another order than the whole is to be
// in are sorted again: texts are in another order than the numbers that they were.
func (g *Segment) merge(ctx context.Context, path string, parts []part, opts segment.Options) (*segment.Info, error) {
	var inputs, held []segment.Reader
	defer func() { release(held) }()
	order := orderOf(&opts)
	for _, p := range parts {
		r := p.reader()
		if r == nil {
			return nil, gone(g.id, 0)
		}
		held = append(held, r)
		if r.Info().Rows == 0 {
			continue
		}
		if isSorted(r.Info(), order, opts.Columns) {
			inputs = append(inputs, &sorted{Reader: conform(r, opts.Columns), order: order})
			continue
		}
		again, err := g.sortAgain(ctx, r, opts)
		if err != nil {
			return nil, err
		}
		held, inputs = append(held, again), append(inputs, &sorted{Reader: again, order: order})
	}
	return segment.Merge(ctx, path, inputs, opts)
}

// sortAgain returns the rows of r in the order of opts.
func (g *Segment) sortAgain(ctx context.Context, r segment.Reader, opts segment.Options) (segment.Reader, error) {
	path := g.set.path()
	defer os.Remove(path) // it is mapped, and needs no name
	if _, err := segment.WriteRows(ctx, path, conform(r, opts.Columns), opts); err != nil {
		return nil, err
	}
	return segment.Open(path)
}

// orderOf returns all columns that rows of a file are sorted by.
func orderOf(o *segment.Options) []string {
	order := slices.Clone(o.SortOrder)
	if !o.Rollup {
		return order
	}
	for _, c := range o.Columns {
		if c.Metric == "" && !slices.Contains(order, c.Name) {
			order = append(order, c.Name)
		}
	}
	return order
}

// isSorted reports whether rows are in an order. Columns that they lack have one value in all of
// them, so that they don't matter.
func isSorted(info *segment.Info, order []string, specs []segment.ColumnSpec) bool {
	by := info.SortOrder
	for _, name := range order {
		has := info.Column(name)
		switch at := slices.IndexFunc(specs, func(s segment.ColumnSpec) bool { return s.Name == name }); {
		case has == nil:
		case len(by) == 0 || by[0] != name || !fits(*has, specs[at]):
			return false
		default:
			by = by[1:]
		}
	}
	return true
}

// sorted is a reader whose rows are known to be in an order.
type sorted struct {
	segment.Reader
	order []string
}

func (s *sorted) Info() *segment.Info {
	info := *s.Reader.Info()
	info.SortOrder = s.order
	return &info
}
