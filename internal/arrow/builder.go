package arrow

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Column is a column of what a Writer writes, with how its vectors become values.
type Column struct {
	Field
	// Whole, if not nil, converts a whole number before it is written.
	Whole func(int64) int64
	// Render, if not nil, appends the text or bytes of a value that is not null.
	Render func(dst []byte, v *vector.Vector, row int) []byte
}

// builder gathers the values of a column for one batch.
type builder struct {
	c       *Column
	typ     *Type
	rows    int
	nulls   int
	valid   []byte // nil: no value is null so far
	data    []byte
	offsets []byte
	child   *builder
	dict    *dictionaryBuilder
	scratch []byte
}

func newBuilder(c *Column, t *Type) *builder {
	b := &builder{c: c, typ: t}
	if t == c.Type && c.Dictionary != nil {
		b.dict = newDictionaryBuilder(c)
	}
	if t.Kind == List {
		b.child = newBuilder(c, t.Children[0].Type)
	}
	b.reset()
	return b
}

// reset makes room for the next batch.
func (b *builder) reset() {
	b.rows, b.nulls, b.valid, b.data, b.offsets = 0, 0, nil, b.data[:0], b.offsets[:0]
	if b.dict == nil && (b.typ.Kind == List || b.typ.Kind == Utf8 || b.typ.Kind == Binary) {
		b.offsets = append(b.offsets, 0, 0, 0, 0)
	}
	if b.child != nil {
		b.child.reset()
	}
	if b.dict != nil {
		b.dict.next()
	}
}

// bytes returns how much has been gathered.
func (b *builder) bytes() int {
	n := len(b.data) + len(b.offsets) + len(b.valid)
	if b.child != nil {
		n += b.child.bytes()
	}
	if b.dict != nil {
		n += len(b.dict.data)
	}
	return n
}

// null notes that the next row has no value.
func (b *builder) null(row int) {
	if b.valid == nil {
		b.valid = make([]byte, (row+7)/8, (row+7)/8+64)
		for i := range row {
			b.valid[i>>3] |= 1 << (i & 7)
		}
	}
	b.bit(&b.valid, row, false)
	b.nulls++
}

func (b *builder) bit(bits *[]byte, row int, set bool) {
	for row>>3 >= len(*bits) {
		*bits = append(*bits, 0)
	}
	if set {
		(*bits)[row>>3] |= 1 << (row & 7)
	}
}

// validity notes which of n rows have a value. row gives the row of a vector.
func (b *builder) validity(v *vector.Vector, n int, row func(i int) int) {
	if v.Valid == nil && b.valid == nil {
		return
	}
	for i := range n {
		if v.IsNull(row(i)) {
			b.null(b.rows + i)
		} else if b.valid != nil {
			b.bit(&b.valid, b.rows+i, true)
		}
	}
}

// span is rows of a vector: those of sel, or from lo up to, not including, hi.
type span struct {
	sel    []uint32
	lo, hi int
}

func (s *span) len() int {
	if s.sel != nil {
		return len(s.sel)
	}
	return s.hi - s.lo
}

func (s *span) row(i int) int {
	if s.sel != nil {
		return int(s.sel[i])
	}
	return s.lo + i
}

// append appends rows of v.
func (b *builder) append(v *vector.Vector, s *span) error {
	n := s.len()
	b.validity(v, n, s.row)
	var err error
	switch {
	case b.dict != nil:
		err = b.codes(v, s)
	case b.typ.Kind == Bool:
		for i := range n {
			row := s.row(i)
			b.bit(&b.data, b.rows+i, !v.IsNull(row) && v.LongAt(row) > 0)
		}
	case b.typ.Kind == Float && b.typ.Bits == 32:
		for i := range n {
			b.data = binary.LittleEndian.AppendUint32(b.data, math.Float32bits(float32(v.DoubleAt(s.row(i)))))
		}
	case b.typ.Kind == Float:
		b.doubles(v, s)
	case b.typ.Kind == Utf8, b.typ.Kind == Binary:
		err = b.texts(v, s)
	case b.typ.Kind == List:
		err = b.lists(v, s)
	case b.typ.Bits == 64, b.typ.Kind == Timestamp:
		b.longs(v, s)
	default:
		b.small(v, s)
	}
	b.rows += n
	return err
}

// grown returns data with room for so many bytes more, and the room.
func grown(data []byte, n int) (all, room []byte) {
	have := len(data)
	if cap(data) < have+n {
		larger := make([]byte, have, max(2*cap(data), have+n))
		copy(larger, data)
		data = larger
	}
	data = data[:have+n]
	return data, data[have:]
}

func (b *builder) longs(v *vector.Vector, s *span) {
	n := s.len()
	var room []byte
	b.data, room = grown(b.data, 8*n)
	if s.sel == nil && !v.Const && b.c.Whole == nil {
		for i, x := range v.Longs[s.lo:s.hi] {
			binary.LittleEndian.PutUint64(room[8*i:], uint64(x))
		}
		return
	}
	for i := range n {
		x := v.LongAt(s.row(i))
		if b.c.Whole != nil {
			x = b.c.Whole(x)
		}
		binary.LittleEndian.PutUint64(room[8*i:], uint64(x))
	}
}

func (b *builder) doubles(v *vector.Vector, s *span) {
	n := s.len()
	var room []byte
	b.data, room = grown(b.data, 8*n)
	if s.sel == nil && !v.Const && v.Type == vector.Double {
		for i, x := range v.Doubles[s.lo:s.hi] {
			binary.LittleEndian.PutUint64(room[8*i:], math.Float64bits(x))
		}
		return
	}
	for i := range n {
		binary.LittleEndian.PutUint64(room[8*i:], math.Float64bits(v.DoubleAt(s.row(i))))
	}
}

// small writes whole numbers of fewer than 64 bits.
func (b *builder) small(v *vector.Vector, s *span) {
	for i := range s.len() {
		row := s.row(i)
		var x int64
		if !v.IsNull(row) {
			x = v.LongAt(row)
			if b.c.Whole != nil {
				x = b.c.Whole(x)
			}
		}
		switch b.typ.Bits {
		case 8:
			b.data = append(b.data, byte(x))
		case 16:
			b.data = binary.LittleEndian.AppendUint16(b.data, uint16(x))
		default:
			b.data = binary.LittleEndian.AppendUint32(b.data, uint32(x))
		}
	}
}

// text returns the bytes of a value; they are valid until the next call.
func (b *builder) text(v *vector.Vector, row int) string {
	if b.c.Render == nil {
		return v.StringAt(row)
	}
	b.scratch = b.c.Render(b.scratch[:0], v, row)
	return string(b.scratch)
}

// wellFormed returns a text in UTF-8; each byte that belongs to no character becomes U+FFFD.
func wellFormed(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func (b *builder) texts(v *vector.Vector, s *span) error {
	for i := range s.len() {
		if row := s.row(i); !v.IsNull(row) {
			x := b.text(v, row)
			if b.typ.Kind == Utf8 {
				x = wellFormed(x)
			}
			b.data = append(b.data, x...)
		}
		b.offsets = binary.LittleEndian.AppendUint32(b.offsets, uint32(len(b.data)))
	}
	return b.fits(len(b.data))
}

// fits refuses more than the offsets of a batch can say.
func (b *builder) fits(n int) error {
	if n > maxOffset {
		return fault.ResourceLimit("Column [%s] has values that are too large for an Arrow batch: "+
			"[%d] rows have more than [%d] bytes or elements", b.c.Name, b.rows, maxOffset)
	}
	return nil
}

func (b *builder) lists(v *vector.Vector, s *span) error {
	for i := range s.len() {
		if row := s.row(i); !v.IsNull(row) {
			if lo, hi := v.ListAt(row); lo < hi {
				if err := b.child.append(v.Child, &span{lo: lo, hi: hi}); err != nil {
					return err
				}
			}
		}
		b.offsets = binary.LittleEndian.AppendUint32(b.offsets, uint32(b.child.rows))
	}
	return b.fits(b.child.rows)
}

// buffers appends the nodes and buffers of the column.
func (b *builder) buffers(nodes [][2]int64, buffers [][]byte) ([][2]int64, [][]byte) {
	nodes = append(nodes, [2]int64{int64(b.rows), int64(b.nulls)})
	buffers = append(buffers, b.valid)
	if b.dict == nil && len(b.offsets) > 0 {
		buffers = append(buffers, b.offsets)
	}
	if b.child != nil {
		return b.child.buffers(nodes, buffers)
	}
	return nodes, append(buffers, b.data)
}

// dictionaryBuilder is the dictionary of a column.
type dictionaryBuilder struct {
	id      int64
	indexes map[string]uint32
	data    []byte
	offsets []byte
	n       int
	// sent is how many values readers have; -1: none, and they need a dictionary.
	sent int

	// last is a dictionary of the engine with what its codes became; 0: not known, otherwise the
	// index and 1.
	last  *vector.Dict
	codes []uint32
}

func newDictionaryBuilder(c *Column) *dictionaryBuilder {
	d := &dictionaryBuilder{id: c.Dictionary.ID, sent: -1}
	d.clear()
	return d
}

func (d *dictionaryBuilder) clear() {
	d.indexes, d.data, d.offsets, d.n, d.last = map[string]uint32{}, d.data[:0], append(d.offsets[:0], 0, 0, 0, 0), 0, nil
}

// next decides whether the dictionary goes on with the next batch.
func (d *dictionaryBuilder) next() {
	if d.n > keptValues || len(d.data) > keptBytes {
		d.clear()
		d.sent = -1
	}
}

// index returns the index of a value, which is copied if it is new.
func (d *dictionaryBuilder) index(s string) uint32 {
	if i, ok := d.indexes[s]; ok {
		return i
	}
	i := uint32(d.n)
	d.indexes[string([]byte(s))] = i
	d.data = append(d.data, wellFormed(s)...)
	d.offsets = binary.LittleEndian.AppendUint32(d.offsets, uint32(len(d.data)))
	d.n++
	return i
}

// follow remembers what the codes of a dictionary of the engine become. A large one for few rows is
// not worth it.
func (d *dictionaryBuilder) follow(of *vector.Dict, rows int) bool {
	if d.last == of {
		return true
	}
	n := of.Len()
	if n > 16*rows {
		return false
	}
	d.last = of
	if cap(d.codes) < n {
		d.codes = make([]uint32, n)
	}
	d.codes = d.codes[:n]
	clear(d.codes)
	return true
}

// codes appends indexes into the dictionary.
func (b *builder) codes(v *vector.Vector, s *span) error {
	d, n := b.dict, s.len()
	var room []byte
	b.data, room = grown(b.data, 4*n)
	clear(room)
	switch {
	case v.Const:
		if n == 0 || v.IsNull(0) {
			return nil
		}
		index := d.index(b.text(v, 0))
		for i := range n {
			binary.LittleEndian.PutUint32(room[4*i:], index)
		}
	case v.Dict != nil && b.c.Render == nil && d.follow(v.Dict, n):
		for i := range n {
			row := s.row(i)
			if v.IsNull(row) {
				continue
			}
			code := v.Codes[row]
			if d.codes[code] == 0 {
				d.codes[code] = d.index(v.Dict.Value(code)) + 1
			}
			binary.LittleEndian.PutUint32(room[4*i:], d.codes[code]-1)
		}
	default:
		for i := range n {
			if row := s.row(i); !v.IsNull(row) {
				binary.LittleEndian.PutUint32(room[4*i:], d.index(b.text(v, row)))
			}
		}
	}
	return b.fits(len(d.data))
}
