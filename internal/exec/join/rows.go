package join

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/vector"
)

// rows collects right rows of a join. Text that comes as codes of a dictionary, as that of a
// segment does, stays codes.
type rows struct {
	cols  []column
	n     int
	bytes int64
}

// column is a column of rows: in pieces, so that it grows without being copied.
type column struct {
	typ    vector.Type
	pieces []*vector.Vector // complete

	// The last piece:
	codes   []uint32
	dict    *vector.Dict // of codes; nil: there are none
	invalid []uint32     // rows of codes that are null
	plain   *vector.Builder
}

// pieceRows is when a piece is complete.
const pieceRows = 1 << 16

func newRows(types []vector.Type) *rows {
	r := &rows{cols: make([]column, len(types))}
	for i, t := range types {
		r.cols[i] = column{typ: t, plain: vector.NewBuilder(t, 0)}
	}
	return r
}

// append adds the rows of b that count.
func (r *rows) append(b *vector.Batch) {
	for i, v := range b.Cols {
		r.bytes += r.cols[i].append(v, b)
	}
	r.n += b.Rows()
}

// append adds the rows of v that count in b, and returns about how many bytes they take.
func (c *column) append(v *vector.Vector, b *vector.Batch) int64 {
	if v.Type.Kind == vector.KindString && v.Dict != nil && !v.Const {
		if c.dict != v.Dict || len(c.codes) >= pieceRows {
			c.complete()
		}
		c.dict = v.Dict
		c.appendCodes(v, b.Sel)
		return 4 * int64(b.Rows())
	}
	if c.dict != nil || c.plain.Len() >= pieceRows {
		c.complete()
	}
	c.plain.AppendRows(v, b.Sel)
	return (&vector.Batch{N: b.N, Cols: []*vector.Vector{v}, Sel: b.Sel}).Bytes()
}

// complete makes a piece of the last rows.
func (c *column) complete() {
	rows := c.plain.Len()
	switch {
	case c.dict != nil:
		v := vector.FromCodes(c.codes, c.dict)
		if len(c.invalid) > 0 {
			v.Valid = vector.FullBitmap(v.Len)
			for _, i := range c.invalid {
				v.Valid.Clear(int(i))
			}
		}
		c.pieces = append(c.pieces, v)
		c.codes, c.dict, c.invalid = nil, nil, nil
	case rows > 0:
		c.pieces = append(c.pieces, c.plain.Build())
		if rows < pieceRows {
			rows = 0 // what follows may be codes
		}
		c.plain = vector.NewBuilder(c.typ, min(rows, pieceRows))
	}
}

// appendCodes adds codes of the given rows, nil: all.
func (c *column) appendCodes(v *vector.Vector, rows []uint32) {
	before := len(c.codes)
	if rows == nil {
		c.codes = append(c.codes, v.Codes[:v.Len]...)
	} else {
		for _, r := range rows {
			c.codes = append(c.codes, v.Codes[r])
		}
	}
	if v.Valid == nil {
		return
	}
	for i := range len(c.codes) - before {
		row := i
		if rows != nil {
			row = int(rows[i])
		}
		if !v.Valid.Get(row) {
			c.invalid = append(c.invalid, uint32(before+i))
		}
	}
}

// take returns the pieces and leaves c empty.
func (c *column) take() []*vector.Vector {
	c.complete()
	pieces := c.pieces
	c.pieces, c.plain = nil, vector.NewBuilder(c.typ, 0)
	return pieces
}

// build returns the rows and leaves r empty.
func (r *rows) build() *vector.Batch {
	out := &vector.Batch{N: r.n, Cols: make([]*vector.Vector, len(r.cols))}
	for i := range r.cols {
		c := &r.cols[i]
		out.Cols[i] = joined(c.typ, c.take(), r.n)
	}
	r.n, r.bytes = 0, 0
	return out
}

// rowsOf returns the rows of all readers in the order of their morsels, and leaves the readers
// empty.
func rowsOf(ctx context.Context, readers []reader, options *Options) (*vector.Batch, error) {
	first := readers[0].rows
	if len(readers) == 1 && len(readers[0].runs) == 0 {
		return first.build(), nil
	}
	runs, n := runsOf(readers)
	out := &vector.Batch{N: n, Cols: make([]*vector.Vector, len(first.cols))}
	var next atomic.Int32
	err := options.AtOnce(ctx, max(1, min(options.Threads, len(out.Cols), n/chunkRows)), func(ctx context.Context, _ int) error {
		for c := int(next.Add(1)) - 1; c < len(out.Cols); c = int(next.Add(1)) - 1 {
			if err := scheduler.Yield(ctx); err != nil {
				return err
			}
			out.Cols[c] = joined(first.cols[c].typ, inOrder(readers, c, runs), n)
		}
		return nil
	})
	return out, err
}

// rowsOfRun are rows of a reader.
type rowsOfRun struct {
	run
	reader, end int
}

// runsOf returns the rows of all readers in the order of their morsels, and how many there are.
func runsOf(readers []reader) (runs []rowsOfRun, n int) {
	for i := range readers {
		r := &readers[i]
		for k, run := range r.runs {
			end := r.rows.n
			if k+1 < len(r.runs) {
				end = r.runs[k+1].row
			}
			if run.row < end {
				runs = append(runs, rowsOfRun{run, i, end})
			}
		}
		n += r.rows.n
	}
	slices.SortStableFunc(runs, func(a, b rowsOfRun) int { return cmp.Compare(a.morsel, b.morsel) })
	return runs, n
}

// inOrder returns the runs of a column in pieces, which it takes from the readers.
func inOrder(readers []reader, column int, runs []rowsOfRun) []*vector.Vector {
	pieces, begins := make([][]*vector.Vector, len(readers)), make([][]int, len(readers))
	for i := range readers {
		pieces[i] = readers[i].rows.cols[column].take()
		at := 0
		for _, p := range pieces[i] {
			begins[i] = append(begins[i], at)
			at += p.Len
		}
	}
	var out []*vector.Vector
	for _, run := range runs {
		begin := begins[run.reader]
		k, found := slices.BinarySearch(begin, run.row)
		if !found {
			k--
		}
		for at := run.row; at < run.end; k++ {
			p := pieces[run.reader][k]
			to := min(run.end-begin[k], p.Len)
			out = append(out, p.Slice(at-begin[k], to))
			at = begin[k] + to
		}
	}
	return out
}

// joined makes one column of n rows of pieces, text as it is quickest to work with.
func joined(t vector.Type, pieces []*vector.Vector, n int) *vector.Vector {
	if t.Kind == vector.KindString && n > 0 {
		if v := oneDictionary(pieces, n); v != nil {
			return v
		}
		if v := encoded(pieces, n); v != nil {
			return v
		}
	}
	if len(pieces) == 1 && pieces[0].Dict == nil {
		return pieces[0]
	}
	b := vector.NewBuilder(t, n)
	for _, p := range pieces {
		b.AppendRows(p, nil)
	}
	return b.Build()
}

// usefulDict is how many entries there may be in a dictionary for each row that has one, for
// looking at all of them.
const usefulDict = 16

// oneDictionary returns n rows that have the codes of one dictionary, nil if they have not.
func oneDictionary(pieces []*vector.Vector, n int) *vector.Vector {
	d := pieces[0].Dict
	if d == nil || d.Len() > usefulDict*n || slices.ContainsFunc(pieces, func(p *vector.Vector) bool { return p.Dict != d }) {
		return nil
	}
	codes := make([]uint32, 0, n)
	for _, p := range pieces {
		codes = append(codes, p.Codes[:p.Len]...)
	}
	v := vector.FromCodes(codes, d)
	v.Valid = validOf(pieces, n)
	return shrunk(v)
}

// validOf returns which of n rows are not null, nil: none is.
func validOf(pieces []*vector.Vector, n int) vector.Bitmap {
	var valid vector.Bitmap
	at := 0
	for _, p := range pieces {
		if p.Valid != nil {
			if valid == nil {
				valid = vector.FullBitmap(n)
			}
			for i := range p.Len {
				if !p.Valid.Get(i) {
					valid.Clear(at + i)
				}
			}
		}
		at += p.Len
	}
	return valid
}

// shrunk returns v, which has codes, over a dictionary of the entries that it uses, unless these
// are most of them: what follows is done once for each entry.
func shrunk(v *vector.Vector) *vector.Vector {
	positions := make([]uint32, v.Dict.Len()) // + 1; 0: not used
	var entries []string
	for i, code := range v.Codes {
		if positions[code] == 0 && v.Valid.Get(i) {
			entries = append(entries, v.Dict.Value(code))
			positions[code] = uint32(len(entries))
		}
	}
	if len(entries) == 0 || 2*len(entries) > v.Dict.Len() {
		return v
	}
	codes := make([]uint32, len(v.Codes))
	for i, code := range v.Codes {
		codes[i] = max(positions[code], 1) - 1 // those of nulls may be any
	}
	out := vector.FromCodes(codes, vector.NewDict(entries))
	out.Valid = v.Valid
	return out
}

// encoded gives n rows of texts codes of a dictionary of their own when there are many repetitions,
// so that what is done with the joined rows is done once per value; else it returns nil.
func encoded(pieces []*vector.Vector, n int) *vector.Vector {
	texts := &keys.Interner{}
	codes := make([]uint32, n)
	known := map[*vector.Dict][]uint32{} // by code: number + 1; 0: not asked yet
	rows := map[*vector.Dict]int{}
	for _, p := range pieces {
		if p.Dict != nil {
			rows[p.Dict] += p.Len
		}
	}
	at := 0
	for _, p := range pieces {
		var numbers []uint32
		if d := p.Dict; d != nil && d.Len() <= usefulDict*rows[d] {
			if numbers = known[d]; numbers == nil {
				numbers = make([]uint32, d.Len())
				known[d] = numbers
			}
		}
		for i := range p.Len {
			switch {
			case p.IsNull(i):
			case numbers == nil:
				codes[at+i] = texts.Number(p.StringAt(i))
			default:
				code := p.Codes[i]
				if numbers[code] == 0 {
					numbers[code] = texts.Number(p.Dict.Value(code)) + 1
				}
				codes[at+i] = numbers[code] - 1
			}
			if texts.Len() > 16 && texts.Len()*2 > n {
				return nil
			}
		}
		at += p.Len
	}
	if texts.Len() == 0 {
		return nil
	}
	out := vector.FromCodes(codes, texts.Dict())
	out.Valid = validOf(pieces, n)
	return out
}
