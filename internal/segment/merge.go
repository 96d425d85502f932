package segment

import (
	"context"
	"fmt"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// merge puts the rows of several inputs into one order. It decides the order once, from the sort
// columns, as the input of each row; after that every column is a pass of its own over the inputs,
// each of which is read from its first row to its last. So a merge holds one column's window of
// each input, two bytes per row, and no rows.
type merge struct {
	ctx    context.Context
	inputs []Reader
	opts   *Options
	rows   int // of all inputs
	out    int // of the result: fewer, if rollup combined some

	order  []uint16      // the input of each row; nil: the rows of all inputs one after the other
	starts vector.Bitmap // rollup: the rows that begin a group; nil: all do
	window int

	memory account
}

func newMerge(ctx context.Context, inputs []Reader, opts *Options) (*merge, error) {
	m := &merge{ctx: ctx, inputs: inputs, opts: opts, memory: account{budget: opts.Budget}}
	if len(inputs) > maxRuns {
		return nil, fault.ResourceLimit("Merge of [%d] segments at once is more than the [%d] possible", len(inputs), maxRuns)
	}
	for _, in := range inputs {
		m.rows += in.Info().Rows
	}
	if m.rows > MaxRows {
		return nil, fault.ResourceLimit("Segment of [%d] rows is larger than the [%d] possible; make smaller segments", m.rows, MaxRows)
	}
	m.out = m.rows
	m.window = min(max(mergeWindowRows/max(len(inputs), 1), minMergeWindowRows), BlockRows)
	return m, nil
}

func (m *merge) close() { m.memory.set(0) } // releasing does not fail

// cursor reads one column of one input from its first row to its last.
type cursor struct {
	*source
	buf  Buffer
	vec  *vector.Vector
	at   int // in vec
	next int // row of the input after vec
}

// fill reads the next window of rows.
func (c *cursor) fill(window int) (err error) {
	to := min(c.next+window, c.rows)
	c.vec, err = c.read(&c.buf, c.next, to)
	c.next, c.at = to, 0
	return err
}

// each calls f with the rows of a column in merged order, before rollup, in batches. The vectors
// are flat, with strings as merged codes, and valid until f returns.
func (m *merge) each(sources []*source, t vector.Type, f func(*vector.Vector) error) error {
	if m.order == nil {
		for _, s := range sources {
			var buf Buffer
			for at := 0; at < s.rows; at += BlockRows {
				if err := m.ctx.Err(); err != nil {
					return err
				}
				v, err := s.read(&buf, at, min(at+BlockRows, s.rows))
				if err != nil {
					return err
				}
				if err := f(v); err != nil {
					return err
				}
			}
		}
		return nil
	}
	cursors := make([]*cursor, len(sources))
	for i, s := range sources {
		cursors[i] = &cursor{source: s}
		if err := cursors[i].fill(m.window); err != nil {
			return err
		}
	}
	x := mixer{cursors: cursors, window: m.window, out: newGrowing(t)}
	for at := 0; at < m.rows; at += BlockRows {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		v, err := x.mix(m.order[at:min(at+BlockRows, m.rows)])
		if err != nil {
			return err
		}
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// mixer makes batches of rows that come from several cursors.
type mixer struct {
	cursors []*cursor
	window  int
	out     *growing
}

func (x *mixer) mix(order []uint16) (*vector.Vector, error) {
	g := x.out
	g.reset()
	var err error
	switch g.typ.Kind {
	case vector.KindLong:
		g.longs, err = mixValues(x, order, g.longs, func(v *vector.Vector) []int64 { return v.Longs })
	case vector.KindDouble:
		g.doubles, err = mixValues(x, order, g.doubles, func(v *vector.Vector) []float64 { return v.Doubles })
	case vector.KindFloat:
		g.floats, err = mixValues(x, order, g.floats, func(v *vector.Vector) []float32 { return v.Floats })
	case vector.KindString:
		g.codes, err = mixValues(x, order, g.codes, func(v *vector.Vector) []uint32 { return v.Codes })
	default: // lists and opaque values: row by row
		for _, input := range order {
			c := x.cursors[input]
			if c.at == c.vec.Len {
				if err := c.fill(x.window); err != nil {
					return nil, err
				}
			}
			if err := g.appendFlat(c.vec, c.at, c.at+1, c.at); err != nil {
				return nil, err
			}
			c.at++
		}
	}
	if err != nil {
		return nil, err
	}
	v := g.vector()
	if leaf := leafOf(v); leaf.Type.Kind == vector.KindString {
		leaf.Dict = mergedCodes
	}
	return v, nil
}

func mixValues[T any](x *mixer, order []uint16, dst []T, values func(*vector.Vector) []T) ([]T, error) {
	dst = grown(dst, len(order))
	lanes := make([][]T, len(x.cursors))
	for i, c := range x.cursors {
		lanes[i] = values(c.vec)
	}
	var valid vector.Bitmap
	nulls := 0
	for i, input := range order {
		c := x.cursors[input]
		if c.at == c.vec.Len {
			if err := c.fill(x.window); err != nil {
				return nil, err
			}
			lanes[input] = values(c.vec)
		}
		dst[i] = lanes[input][c.at]
		if !c.vec.Valid.Get(c.at) {
			if valid == nil {
				valid = vector.FullBitmap(len(order))
			}
			valid.Clear(i)
			nulls++
		}
		c.at++
	}
	x.out.n, x.out.valid, x.out.nulls = len(order), valid, nulls
	return dst, nil
}

// groups calls f as each does, but with the rows after rollup: of a dimension the first of each
// group, of a metric what fold makes of the group.
func (m *merge) groups(sources []*source, t vector.Type, fold Fold, f func(*vector.Vector) error) error {
	if m.starts == nil {
		return m.each(sources, t, f)
	}
	at := 0
	if fold == nil {
		var rows []uint32
		return m.each(sources, t, func(v *vector.Vector) error {
			rows = rows[:0]
			for i := range v.Len {
				if m.starts.Get(at + i) {
					rows = append(rows, uint32(i))
				}
			}
			at += v.Len
			if len(rows) == 0 {
				return nil
			}
			return f(v.Gather(rows))
		})
	}
	var open *vector.Vector // what the last group of the batches before makes so far, one row
	var starts []uint32
	err := m.each(sources, t, func(v *vector.Vector) error {
		starts = append(starts[:0], 0)
		for i := 1; i < v.Len; i++ {
			if m.starts.Get(at + i) {
				starts = append(starts, uint32(i))
			}
		}
		continues := at > 0 && !m.starts.Get(at)
		at += v.Len
		n := len(starts)
		values, err := foldInto(fold, v, append(starts, uint32(v.Len)))
		if err != nil {
			return err
		}
		first := values.Slice(0, 1)
		if open != nil {
			if continues {
				if first, err = foldInto(fold, pair(open, first), []uint32{0, 2}); err != nil {
					return err
				}
			} else if err := f(open); err != nil {
				return err
			}
		}
		if n == 1 {
			open = first.Gather([]uint32{0})
			return nil
		}
		if err := f(first); err != nil {
			return err
		}
		if n > 2 {
			if err := f(values.Slice(1, n-1)); err != nil {
				return err
			}
		}
		open = values.Gather([]uint32{uint32(n - 1)})
		return nil
	})
	if err != nil || open == nil {
		return err
	}
	return f(open)
}

// foldInto calls fold and checks what it returns.
func foldInto(fold Fold, v *vector.Vector, starts []uint32) (*vector.Vector, error) {
	out, err := fold(v, starts)
	if err != nil {
		return nil, err
	}
	if out.Type != v.Type || out.Len != len(starts)-1 {
		return nil, fault.Defensive("Fold of [%d] groups of [%s] gave [%d] values of [%s]", len(starts)-1, v.Type, out.Len, out.Type)
	}
	return out.Flat(), nil
}

// pair returns the first rows of a and b, one after the other.
func pair(a, b *vector.Vector) *vector.Vector {
	out := vector.NewBuilder(a.Type, 2)
	out.AppendFrom(a, 0)
	out.AppendFrom(b, 0)
	return out.Build()
}

// keyColumn is a sort column of a merge.
type keyColumn struct {
	sources []*source
	typ     vector.Type
	words   int // 0: compared value by value
}

// sort decides the order of the rows and, for rollup, the groups.
func (m *merge) sort() error {
	if len(m.opts.SortOrder) == 0 || m.rows == 0 {
		return nil
	}
	if len(m.inputs) == 1 && !m.opts.Rollup && sameOrder(m.inputs[0].Info().SortOrder, m.opts.SortOrder) {
		return nil
	}
	for i, in := range m.inputs {
		if !sameOrder(in.Info().SortOrder, m.opts.SortOrder) {
			return fault.Defensive("Input [%d] of a merge is sorted by %v and not by %v", i, in.Info().SortOrder, m.opts.SortOrder)
		}
	}
	if err := m.memory.add(2*int64(m.rows) + int64(m.rows/8)); err != nil {
		return err
	}
	keys, release, err := m.keyColumns()
	if err != nil {
		return err
	}
	defer release()
	if !m.opts.Rollup {
		if follow, err := m.follow(keys); err != nil || follow {
			return err
		}
	}
	heads := make([]*head, len(m.inputs))
	for i := range m.inputs {
		heads[i] = newHead(keys, i, m.window)
		if err := heads[i].fill(); err != nil {
			return err
		}
	}
	live := make([]*head, 0, len(heads))
	for _, h := range heads {
		if h.at < h.n {
			live = append(live, h)
		}
	}
	less := func(a, b int) bool {
		if c := live[a].compare(live[b]); c != 0 {
			return c < 0
		}
		return live[a].input < live[b].input // equal rows stay in the order of their inputs
	}
	swap := func(a, b int) { live[a], live[b] = live[b], live[a] }
	for i := len(live)/2 - 1; i >= 0; i-- {
		siftDown(i, len(live), less, swap)
	}
	m.order = make([]uint16, 0, m.rows)
	var before lastRow
	if m.opts.Rollup {
		m.starts, m.out = vector.NewBitmap(m.rows), 0
	}
	for len(live) > 0 {
		top := live[0]
		if m.starts != nil {
			if !before.equals(top) {
				m.starts.Set(len(m.order))
				m.out++
			}
			before.set(top)
		}
		m.order = append(m.order, uint16(top.input))
		if top.at++; top.at == top.n {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			if err := top.fill(); err != nil {
				return err
			}
			if top.at == top.n {
				end := len(live) - 1
				swap(0, end)
				live = live[:end]
			}
		}
		siftDown(0, len(live), less, swap)
	}
	if m.out == m.rows {
		m.starts = nil
	}
	if len(m.inputs) == 1 {
		m.order = nil
	}
	return nil
}

// follow reports whether the rows of each input come after those of the inputs before: then there
// is nothing to merge. Runs of rows that arrived in order are such inputs.
func (m *merge) follow(keys []*keyColumn) (bool, error) {
	var last *head
	for i, in := range m.inputs {
		rows := in.Info().Rows
		if rows == 0 {
			continue
		}
		if last != nil {
			first, err := headAt(keys, i, 0)
			if err != nil || last.compare(first) > 0 {
				return false, err
			}
		}
		var err error
		if last, err = headAt(keys, i, rows-1); err != nil {
			return false, err
		}
	}
	return true, nil
}

// sameOrder reports whether rows sorted by have are sorted by want.
func sameOrder(have, want []string) bool {
	if len(have) < len(want) {
		return false
	}
	for i := range want {
		if have[i] != want[i] {
			return false
		}
	}
	return true
}

// keyColumns returns the sort columns with merged dictionaries, and what gives their memory back.
func (m *merge) keyColumns() ([]*keyColumn, func(), error) {
	var out []*keyColumn
	held := m.memory.held
	release := func() { m.memory.set(held) } // releasing does not fail
	specs := map[string]ColumnSpec{}
	for _, c := range m.opts.Columns {
		specs[c.Name] = c
	}
	inWords := true
	for _, name := range m.opts.SortOrder {
		spec := specs[name]
		sources, err := sourcesOf(m.inputs, spec)
		if err != nil {
			return nil, release, err
		}
		k := &keyColumn{sources: sources, typ: spec.Type}
		if inWords = inWords && isWord(spec.Type); inWords {
			k.words = 1
			for _, s := range sources {
				if spec.Type.Kind == vector.KindLong && (s.col == nil || s.col.Info().Nulls > 0) {
					k.words = 2 // a long uses every word there is: whether it is null needs its own
				}
			}
		}
		if err := m.memory.add(dictBytes(sources)); err != nil {
			return nil, release, fmt.Errorf("merging the strings of column [%s]: %w", name, err)
		}
		if leafType(spec.Type).Kind == vector.KindString {
			if _, err := mergeSourceDicts(sources, func(string) error { return nil }); err != nil {
				return nil, release, err
			}
		}
		out = append(out, k)
	}
	return out, release, nil
}

// dictBytes is the memory that merging the dictionaries of sources takes.
func dictBytes(sources []*source) int64 {
	total := int64(0)
	for _, s := range sources {
		if s.dict != nil {
			total += 4 * int64(s.dict.Len())
			if !s.dict.Sorted {
				total += 4 * int64(s.dict.Len())
			}
		}
	}
	return total
}
