package segment

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// rowBuffer collects rows in memory. It owns all it holds: batches may be reused once they are
// appended.
type rowBuffer struct {
	specs   []ColumnSpec
	columns []bufferColumn
	rows    int
}

type bufferColumn struct {
	values *growing
	dict   interner // of the strings, in whatever depth of lists
	texts  arena    // of opaque values

	// lastDict and lastCodes map the dictionary of the batch before, because batches of one source
	// share theirs.
	lastDict  *vector.Dict
	lastCodes []uint32
	codes     []uint32

	// fresh are texts of a batch's dictionary that the column has not had of it yet, freshCodes their
	// codes there, numbers those here.
	fresh               []string
	freshCodes, numbers []uint32
}

// arena holds copies of short-lived bytes in large pieces.
type arena struct {
	piece []byte
	total int64
}

const arenaPiece = 256 << 10

func (a *arena) copy(s string) string {
	if len(s) == 0 {
		return ""
	}
	if len(s) > cap(a.piece)-len(a.piece) {
		size := max(arenaPiece, len(s))
		a.piece = make([]byte, 0, size)
		a.total += int64(size)
	}
	start := len(a.piece)
	a.piece = append(a.piece, s...)
	return textOf(a.piece[start:])
}

func newRowBuffer(specs []ColumnSpec) *rowBuffer {
	b := &rowBuffer{specs: specs, columns: make([]bufferColumn, len(specs))}
	for i, s := range specs {
		b.columns[i].values = newGrowing(s.Type)
		b.columns[i].dict.loose = true
	}
	return b
}

// poison marks the rows as released.
func (b *rowBuffer) poison() {
	if !invariant.Enabled {
		return
	}
	for i := range b.columns {
		c := &b.columns[i]
		for g := c.values; g != nil; g = g.child {
			g.poison()
		}
		invariant.Poison(c.texts.piece)
		invariant.Poison(c.dict.blob)
		invariant.Poison(c.dict.offsets)
	}
}

// reserve makes room for so many rows, if they take no more than so many bytes, and else for as
// many as these hold.
func (b *rowBuffer) reserve(rows int, bytes int64) {
	width := int64(0)
	for _, s := range b.specs {
		width += rowWidth(s.Type)
	}
	rows = int(min(int64(rows), bytes/max(width, 1)))
	for i := range b.columns {
		c := &b.columns[i]
		c.values.reserve(rows)
		if b.specs[i].Type == vector.String {
			c.dict.expected, c.dict.expectedBytes = rows, bytes/4
		}
	}
}

// bytes is the memory that the buffer takes, with what sorting it will take.
func (b *rowBuffer) bytes() int64 {
	total := int64(b.rows) * 24
	for i := range b.columns {
		c := &b.columns[i]
		total += c.values.bytes() + c.dict.bytes()*2 + c.texts.total
	}
	return total
}

func (b *rowBuffer) append(batch *vector.Batch, threads int) error {
	if err := b.takes(batch); err != nil {
		return err
	}
	batch = batch.Compact()
	err := parallel(threads, len(batch.Cols), func(i int) error { return b.columns[i].append(batch.Cols[i], batch.N, &b.specs[i]) })
	if err == nil {
		b.rows += batch.N
	}
	return err
}

// takes reports what is wrong with a batch.
func (b *rowBuffer) takes(batch *vector.Batch) error {
	if len(batch.Cols) != len(b.specs) {
		return fault.Defensive("Batch of [%d] columns was given to a segment of [%d]", len(batch.Cols), len(b.specs))
	}
	for i, v := range batch.Cols {
		spec := &b.specs[i]
		if fits := v.Type == spec.Type || spec.Multi && v.Type == vector.String; !fits || v.Len < batch.N {
			return fault.Defensive("Batch has [%s] of [%d] rows for column [%s], which needs [%s] of [%d] rows", v.Type, v.Len, spec.Name, spec.Type, batch.N)
		}
	}
	return nil
}

// append appends the first n rows of v, which fits the column.
func (c *bufferColumn) append(v *vector.Vector, n int, spec *ColumnSpec) error {
	if spec.Multi && v.Type.Kind == vector.KindString {
		v = AsMulti(v)
	}
	owned, err := c.own(v)
	if err != nil {
		return err
	}
	return c.values.appendRange(owned, 0, n)
}

// own returns v with strings as codes of the column's dictionary, and opaque values copied.
func (c *bufferColumn) own(v *vector.Vector) (*vector.Vector, error) {
	out := *v
	n := v.Len
	if v.Const {
		n = 1
	}
	switch v.Type.Kind {
	case vector.KindString:
		c.codes = grown(c.codes, n)
		out.Codes, out.Dict, out.Strings = c.codes, nil, nil
		if v.Dict != nil {
			return &out, c.ownCodes(c.codes, v, n)
		}
		if v.Valid == nil {
			return &out, c.dict.addAll(v.Strings[:n], c.codes)
		}
		for i := range n {
			c.codes[i] = 0
			if v.Valid.Get(i) {
				code, err := c.dict.add(v.Strings[i])
				if err != nil {
					return nil, err
				}
				c.codes[i] = code
			}
		}
	case vector.KindComplex:
		out.Strings, out.Codes, out.Dict = make([]string, n), nil, nil
		for i := range n {
			if v.Valid.Get(i) {
				s := v.StringAt(i)
				if len(s) > maxBlobBytes {
					return nil, fault.ResourceLimit("Value of type [%s] has [%d] bytes; a segment takes up to [%d]", v.Type, len(s), maxBlobBytes)
				}
				out.Strings[i] = c.texts.copy(s)
			}
		}
	case vector.KindList:
		lo, hi := v.Offsets[0], v.Offsets[n]
		child, err := c.own(v.Child.Slice(int(lo), int(hi)))
		if err != nil {
			return nil, err
		}
		out.Child = child
		if lo > 0 {
			out.Offsets = make([]uint32, n+1)
			for i := range out.Offsets {
				out.Offsets[i] = v.Offsets[i] - lo
			}
		}
	}
	return &out, nil
}

func (c *bufferColumn) ownCodes(dst []uint32, v *vector.Vector, n int) error {
	if v.Dict != c.lastDict {
		c.lastDict = v.Dict
		c.lastCodes = grown(c.lastCodes, v.Dict.Len())
		clear(c.lastCodes)
	}
	c.fresh, c.freshCodes = c.fresh[:0], c.freshCodes[:0]
	for i, code := range v.Codes[:n] {
		if c.lastCodes[code] == 0 && v.Valid.Get(i) { // numbers are kept plus one, so that 0 is one not asked for yet
			c.lastCodes[code] = 1
			c.fresh, c.freshCodes = append(c.fresh, v.Dict.Value(code)), append(c.freshCodes, code)
		}
	}
	numbers := grown(c.numbers, len(c.fresh))
	c.numbers = numbers
	if err := c.dict.addAll(c.fresh, numbers); err != nil {
		return err
	}
	for i, code := range c.freshCodes {
		c.lastCodes[code] = numbers[i] + 1
	}
	for i, code := range v.Codes[:n] {
		if dst[i] = 0; v.Valid.Get(i) {
			dst[i] = c.lastCodes[code] - 1
		}
	}
	return nil
}

// table returns the rows, sorted by the named columns, as a Reader. The buffer must not be used any
// more.
func (b *rowBuffer) table(order []string, threads int) *memoryTable {
	t := &memoryTable{info: Info{Rows: b.rows, SortOrder: order}, columns: make([]memoryColumn, len(b.specs))}
	_ = parallel(threads, len(b.specs), func(i int) error { // which does not fail
		t.columns[i] = b.columns[i].column(t, &b.specs[i])
		return nil
	})
	for i := range t.columns {
		t.info.Columns = append(t.info.Columns, t.columns[i].info)
	}
	t.order = sortRows(t, order)
	return t
}

// column returns the collected rows as a column of t.
func (c *bufferColumn) column(t *memoryTable, spec *ColumnSpec) memoryColumn {
	m := memoryColumn{table: t, values: c.values.vector(), info: ColumnInfo{Name: spec.Name, Type: spec.Type, Multi: spec.Multi,
		Metric: spec.Metric, Nulls: c.values.nulls, Distinct: -1}}
	leaf := leafOf(m.values)
	if leaf.Type.Kind != vector.KindString {
		return m
	}
	dict, codes := c.dict.sorted()
	m.dict = dict
	m.info.Distinct = dict.Len()
	m.info.DistinctExact = leaf == m.values // a null list may have had elements, which nothing refers to
	if len(codes) > 0 {
		for k, x := range leaf.Codes {
			leaf.Codes[k] = codes[x]
		}
	}
	leaf.Dict = dict
	withoutTexts(leaf)
	return m
}

// withoutTexts makes strings a constant null if their dictionary is empty: then there is nothing
// that a code could mean.
func withoutTexts(leaf *vector.Vector) {
	if leaf.Dict.Len() == 0 {
		leaf.Codes, leaf.Dict = nil, nil
		leaf.Strings = make([]string, 1)
		leaf.Const = true
		leaf.Valid = vector.NewBitmap(1)
	}
}

// leafOf returns the elements of the innermost lists of v, or v itself.
func leafOf(v *vector.Vector) *vector.Vector {
	for v.Type.Kind == vector.KindList {
		v = v.Child
	}
	return v
}

// memoryTable is a rowBuffer that is complete. It implements Reader, for merges.
type memoryTable struct {
	info    Info
	columns []memoryColumn
	order   []uint32 // the stored row of each row; nil: the same
}

func (t *memoryTable) Info() *Info     { return &t.info }
func (t *memoryTable) Advise([]string) {} // everything is in memory
func (t *memoryTable) Acquire() bool   { return true }
func (t *memoryTable) Release()        {}

func (t *memoryTable) Column(name string) (Column, error) {
	for i := range t.columns {
		if t.columns[i].info.Name == name {
			return &t.columns[i], nil
		}
	}
	return nil, nil
}

type memoryColumn struct {
	table  *memoryTable
	info   ColumnInfo
	values *vector.Vector
	dict   *vector.Dict
}

func (c *memoryColumn) Info() *ColumnInfo { return &c.info }

func (c *memoryColumn) Read(_ *Buffer, from, to int) (*vector.Vector, error) {
	if c.table.order == nil {
		return c.values.Slice(from, to), nil
	}
	return c.values.Gather(c.table.order[from:to]), nil
}

func (c *memoryColumn) ReadRows(_ *Buffer, rows []uint32) (*vector.Vector, error) {
	if c.table.order == nil {
		return c.values.Gather(rows), nil
	}
	stored := make([]uint32, len(rows))
	for i, r := range rows {
		stored[i] = c.table.order[r]
	}
	return c.values.Gather(stored), nil
}

func (c *memoryColumn) Dict() (*vector.Dict, error) { return c.dict, nil }
func (c *memoryColumn) Lookup(s string) (code uint32, found bool, err error) {
	code, found = c.dict.Lookup(s)
	return code, found, nil
}

func (c *memoryColumn) Codes(buf *Buffer, from, to int, rows []uint32) (*vector.Vector, error) {
	if rows != nil {
		return c.ReadRows(buf, rows)
	}
	return c.Read(buf, from, to)
}

func (c *memoryColumn) SelectCodes(f CodeFilter, from, to int, pass vector.Bitmap) error {
	return c.selectRows(from, to, pass, func(v *vector.Vector, i int) bool { return f.passes(v.Codes[constRow(v, i)]) })
}

func (c *memoryColumn) SelectLongs(least, greatest int64, from, to int, pass vector.Bitmap) error {
	return c.selectRows(from, to, pass, func(v *vector.Vector, i int) bool { return least <= v.LongAt(i) && v.LongAt(i) <= greatest })
}

func (c *memoryColumn) selectRows(from, to int, pass vector.Bitmap, passes func(v *vector.Vector, i int) bool) error {
	v, err := c.Read(nil, from, to)
	if err != nil {
		return err
	}
	clear(pass[:(to-from+63)/64])
	for i := range to - from {
		if !v.IsNull(i) && passes(v, i) {
			pass.Set(i)
		}
	}
	return nil
}

func (c *memoryColumn) Bitmap(uint32) (*roaring.Bitmap, error)         { return nil, nil }
func (c *memoryColumn) LongRange(int) (least, most int64, ok bool)     { return 0, 0, false }
func (c *memoryColumn) Totals(int) (t Totals, known bool)              { return t, false }
func (c *memoryColumn) DoubleRange(int) (least, most float64, ok bool) { return 0, 0, false }
