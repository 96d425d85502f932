package msq

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// dealer copies the rows of a run to their time chunks as they come, when they come in no order of
// chunks. The rows of a batch are in the processor's caches then, as they will not be when the run
// is complete; and what is read later, frame after frame, lies together.
//
//	batch ─► rows of each chunk ─► open frame of the chunk ─► full frames of the chunk
//
// Frames refer to one dictionary a column, which unites those of all batches. Texts that repeat too
// little for that lie one after the other in the memory of their frame.
type dealer struct {
	at        int // column of the time chunk
	frameRows int
	expected  int // rows of the run
	columns   []*dealtColumn
	chunks    map[int64]*dealtChunk
	known     [knownChunks]*dealtChunk // chunks that were met, by a hash
	touched   []*dealtChunk            // by the batch at hand
	rows      int
	bytes     int64
	spare     [][]pile // of frames that were written, by column
}

const (
	// knownChunks is how many chunks are found without looking into a map.
	knownChunks = 256
	// leastRoom is for how many rows a frame has room at least.
	leastRoom = 64
)

// dealtChunk is the rows of one time chunk.
type dealtChunk struct {
	bucket int64
	count  int      // of all rows
	rows   []uint32 // of the batch at hand
	open   []pile   // the frame that is being filled, by column; nil: none is
	texts  int64    // bytes of texts in it
	full   [][]pile
}

// pile is the values of a column in one frame.
type pile struct {
	typ     vector.Type
	n       int
	absent  []uint32 // rows without a value, ascending
	longs   []int64
	doubles []float64
	floats  []float32
	united  bool     // texts are codes of the column's dictionary
	codes   []uint32 // of united texts
	blob    []byte   // of other texts
	ends    []uint32 // where texts end in blob, or lists in child; the first is 0
	child   *pile
}

// dealtColumn is what the frames of a column share.
type dealtColumn struct {
	typ    vector.Type
	plain  bool // texts are not united
	united keys.Interner
	met    [4]metDict // the dictionaries met last, as several decoders have theirs
	next   int        // of met, the one to be replaced
	dict   *vector.Dict
	child  *dealtColumn
	texts  int64 // bytes of plain texts so far, and
	count  int64 // how many these are
	lists  []uint32
}

// metDict is a dictionary of batches, and by its codes those of the united one, plus one.
type metDict struct {
	dict  *vector.Dict
	codes []uint32
}

// newDealer returns a dealer of rows like those of b, of about so many bytes, whose time chunks are
// in column at.
func newDealer(b *vector.Batch, at, frameRows int, limit int64) *dealer {
	width := max(batchBytes(b)/int64(max(b.Rows(), 1)), 1)
	d := &dealer{at: at, chunks: map[int64]*dealtChunk{}}
	d.frameRows, d.expected = max(1, min(frameRows, int(frameBytes/width))), int(limit/width)
	for _, v := range b.Cols {
		c := newDealtColumn(v.Type)
		if v.Type.Kind == vector.KindString || v.Type.Kind == vector.KindComplex {
			c.texts, c.count = vectorBytes(v), int64(v.Len)
		}
		d.columns = append(d.columns, c)
	}
	return d
}

func newDealtColumn(t vector.Type) *dealtColumn {
	c := &dealtColumn{typ: t, plain: t.Kind != vector.KindString}
	if t.Kind == vector.KindList {
		c.child = newDealtColumn(t.Elem())
	}
	return c
}

// add deals the rows of b that count.
func (d *dealer) add(b *vector.Batch) {
	b = b.Compact()
	cols := slices.Clone(b.Cols)
	for i, c := range d.columns {
		if i != d.at {
			cols[i] = d.fitting(c, cols[i])
		}
	}
	d.rows += b.N
	before := int64(0)
	for _, c := range d.columns {
		before += c.unitedBytes()
	}
	d.group(cols[d.at], b.N)
	for _, chunk := range d.touched {
		d.take(chunk, cols, b.N)
	}
	for _, c := range d.columns {
		d.bytes += c.unitedBytes()
		if c.child != nil && c.child.tooMany(d.rows) || c.tooMany(d.rows) {
			d.separate(c)
		}
	}
	d.bytes -= before
}

// fitting returns v in a form that the open frames of c can take, or ends them. A multi-value
// column may come as lists and as plain strings: it stays one of lists.
func (d *dealer) fitting(c *dealtColumn, v *vector.Vector) *vector.Vector {
	switch {
	case c.typ.Kind == vector.KindList && v.Type.Kind == vector.KindString:
		v = segment.AsMulti(v)
	case c.typ.Kind == vector.KindString && v.Type.Kind == vector.KindList:
		d.end()
		c.typ, c.plain, c.child = v.Type, true, newDealtColumn(v.Type.Elem())
		c.dict = c.unitedDict() // of the frames before
	}
	leaf, of := c, v
	for leaf.child != nil && of != nil {
		leaf, of = leaf.child, of.Child
	}
	if of != nil && !leaf.plain && of.Dict == nil && !of.Const && hasValue(of) {
		d.separate(c)
	}
	return v
}

// hasValue reports whether a vector has a row that is not null.
func hasValue(v *vector.Vector) bool {
	for i := range v.Len {
		if !v.IsNull(i) {
			return true
		}
	}
	return false
}

// separate ends the uniting of the texts of a column.
func (d *dealer) separate(c *dealtColumn) {
	d.end()
	for ; c != nil; c = c.child {
		c.plain = true
	}
}

// end ends all open frames.
func (d *dealer) end() {
	for _, chunk := range d.chunks {
		chunk.end()
	}
}

func (c *dealtChunk) end() {
	if c.open != nil && c.open[0].n > 0 {
		c.full = append(c.full, c.open)
		c.open, c.texts = nil, 0
	}
}

// group finds the rows of each chunk.
func (d *dealer) group(bucket *vector.Vector, n int) {
	for _, chunk := range d.touched {
		chunk.rows = chunk.rows[:0]
	}
	d.touched = d.touched[:0]
	for lo := 0; lo < n; {
		hi := sameLong(bucket, lo, n)
		chunk := d.chunk(bucket.LongAt(lo))
		if len(chunk.rows) == 0 {
			d.touched = append(d.touched, chunk)
		}
		for ; lo < hi; lo++ {
			chunk.rows = append(chunk.rows, uint32(lo))
		}
	}
}

func (d *dealer) chunk(bucket int64) *dealtChunk {
	slot := &d.known[uint64(bucket)*0x9e3779b97f4a7c15>>56]
	if c := *slot; c != nil && c.bucket == bucket {
		return c
	}
	c := d.chunks[bucket]
	if c == nil {
		c = &dealtChunk{bucket: bucket}
		d.chunks[bucket] = c
	}
	*slot = c
	return c
}

// take copies the rows of a chunk, from a batch of so many rows, to its frames. A frame has room
// for the rows that are to come if all batches of the run are like this one.
func (d *dealer) take(chunk *dealtChunk, cols []*vector.Vector, of int) {
	for rows := chunk.rows; len(rows) > 0; {
		if chunk.open == nil {
			coming := int(int64(d.expected) * int64(len(chunk.rows)) / int64(of))
			chunk.open = d.frame(min(d.frameRows, max(leastRoom, coming+coming/8-chunk.count)))
		}
		n := min(len(rows), d.frameRows-chunk.open[0].n)
		texts := int64(0)
		for i, c := range d.columns {
			p := &chunk.open[i]
			if i == d.at {
				p.n += n
				continue
			}
			bytes, of := c.append(p, cols[i], rows[:n])
			d.bytes += bytes
			texts += of
		}
		chunk.texts += texts
		if chunk.open[0].n == d.frameRows || chunk.texts >= frameBytes {
			chunk.end()
		}
		rows, chunk.count = rows[n:], chunk.count+n
	}
}

// frame returns an empty frame with room for so many rows.
func (d *dealer) frame(rows int) []pile {
	d.bytes += vectorHeadBytes * int64(len(d.columns))
	var out []pile
	if n := len(d.spare); n > 0 {
		out, d.spare = d.spare[n-1], d.spare[:n-1]
	} else {
		out = make([]pile, len(d.columns))
	}
	for i, c := range d.columns {
		if i == d.at {
			out[i].n = 0
		} else {
			out[i].begin(c, rows)
		}
	}
	return out
}

// begin empties a pile, which is for values of c from now on, and makes room in it.
func (p *pile) begin(c *dealtColumn, rows int) {
	*p = pile{typ: c.typ, united: !c.plain, absent: p.absent[:0], longs: p.longs[:0], doubles: p.doubles[:0], floats: p.floats[:0],
		codes: p.codes[:0], blob: p.blob[:0], ends: p.ends[:0], child: p.child}
	switch {
	case c.typ.Kind == vector.KindLong:
		p.longs = slices.Grow(p.longs, rows)
	case c.typ.Kind == vector.KindDouble:
		p.doubles = slices.Grow(p.doubles, rows)
	case c.typ.Kind == vector.KindFloat:
		p.floats = slices.Grow(p.floats, rows)
	case c.typ.Kind == vector.KindList:
		p.ends = append(slices.Grow(p.ends, rows+1), 0)
		if p.child == nil {
			p.child = &pile{}
		}
		p.child.begin(c.child, rows)
	case p.united:
		p.codes = slices.Grow(p.codes, rows)
	default:
		p.ends = append(slices.Grow(p.ends, rows+1), 0)
		if c.count > 0 {
			p.blob = slices.Grow(p.blob, int(int64(rows)*c.texts/c.count*17/16))
		}
	}
}

// append appends rows of v to a pile of the column, and returns the bytes that they take, and those
// of texts among them.
func (c *dealtColumn) append(p *pile, v *vector.Vector, rows []uint32) (bytes, texts int64) {
	if v.Valid != nil {
		for i, r := range rows {
			if v.IsNull(int(r)) {
				p.absent = append(p.absent, uint32(p.n+i))
			}
		}
	}
	p.n += len(rows)
	n := int64(len(rows))
	switch {
	case c.typ.Kind == vector.KindLong:
		p.longs = pickRows(p.longs, v.Longs, rows, v.Const)
		return 8 * n, 0
	case c.typ.Kind == vector.KindDouble:
		p.doubles = pickRows(p.doubles, v.Doubles, rows, v.Const)
		return 8 * n, 0
	case c.typ.Kind == vector.KindFloat:
		p.floats = pickRows(p.floats, v.Floats, rows, v.Const)
		return 4 * n, 0
	case c.typ.Kind == vector.KindList:
		c.lists = c.lists[:0]
		elements := uint32(p.child.n)
		for _, r := range rows {
			if !v.IsNull(int(r)) {
				for lo, hi := v.ListAt(int(r)); lo < hi; lo++ {
					c.lists = append(c.lists, uint32(lo))
				}
			}
			p.ends = append(p.ends, elements+uint32(len(c.lists)))
		}
		if len(c.lists) > 0 {
			bytes, texts = c.child.append(p.child, v.Child, c.lists)
		}
		return bytes + 4*n, texts
	case p.united:
		c.codes(p, v, rows)
		return 4 * n, 0
	}
	before := len(p.blob)
	switch {
	case v.Dict == nil && !v.Const && v.Valid == nil:
		for _, r := range rows {
			p.blob = append(p.blob, v.Strings[r]...)
			p.ends = append(p.ends, uint32(len(p.blob)))
		}
	default:
		for _, r := range rows {
			if !v.IsNull(int(r)) {
				p.blob = append(p.blob, v.StringAt(int(r))...)
			}
			p.ends = append(p.ends, uint32(len(p.blob)))
		}
	}
	texts = int64(len(p.blob) - before)
	c.texts, c.count = c.texts+texts, c.count+n
	return texts + 4*n, texts
}

// pickRows appends rows of src; one: all have its first value.
func pickRows[T any](dst, src []T, rows []uint32, one bool) []T {
	at := len(dst)
	dst = slices.Grow(dst, len(rows))[:at+len(rows)]
	out := dst[at:]
	if one {
		for i := range out {
			out[i] = src[0]
		}
		return dst
	}
	for i, r := range rows {
		out[i] = src[r]
	}
	return dst
}

// codes appends rows of v as codes of the united dictionary. Null rows have any.
func (c *dealtColumn) codes(p *pile, v *vector.Vector, rows []uint32) {
	if v.Dict == nil || v.Const { // one text for all, or none
		code := uint32(0)
		if v.Const && !v.IsNull(0) {
			code = c.united.Number(v.StringAt(0))
		}
		for range rows {
			p.codes = append(p.codes, code)
		}
		return
	}
	known := c.known(v.Dict)
	for _, r := range rows {
		code := v.Codes[r]
		x := known[code]
		if x == 0 {
			if !v.Valid.Get(int(r)) {
				p.codes = append(p.codes, 0)
				continue
			}
			x = c.united.Number(v.Dict.Value(code)) + 1
			known[code] = x
		}
		p.codes = append(p.codes, x-1)
	}
}

// known returns the codes of the united dictionary, plus one, by those of d; 0: not asked for yet.
func (c *dealtColumn) known(d *vector.Dict) []uint32 {
	for i := range c.met {
		if c.met[i].dict == d {
			return c.met[i].codes
		}
	}
	m := &c.met[c.next]
	c.next = (c.next + 1) % len(c.met)
	m.dict, m.codes = d, vector.Sized(m.codes, d.Len())
	clear(m.codes)
	return m.codes
}

// unitedBytes is the memory of the united dictionary, with what finding its entries takes.
func (c *dealtColumn) unitedBytes() int64 {
	n := c.united.Bytes()
	if c.child != nil {
		n += c.child.unitedBytes()
	}
	return n
}

// tooMany reports whether a united dictionary saves nothing: more than half of so many rows have a
// text of their own.
func (c *dealtColumn) tooMany(rows int) bool {
	return !c.plain && c.united.Len() >= unionSample && 2*c.united.Len() > rows
}

// unitedDict returns the united dictionary when no rows are to come; nil: it is empty.
func (c *dealtColumn) unitedDict() *vector.Dict {
	if c.dict == nil && c.united.Len() > 0 {
		c.dict = c.united.Dict()
	}
	return c.dict
}

// batches yields the rows of all chunks, in the order of chunks, as batches with rows of one chunk.
// Kept ones stay in memory. The memory of others is used again after the next one is asked for.
func (d *dealer) batches(keep bool) iter.Seq[*vector.Batch] {
	d.end()
	return func(yield func(*vector.Batch) bool) {
		for _, chunk := range slices.SortedFunc(maps.Values(d.chunks), func(a, b *dealtChunk) int { return cmp.Compare(a.bucket, b.bucket) }) {
			for i, piles := range chunk.full {
				b := &vector.Batch{Cols: make([]*vector.Vector, len(piles))}
				b.N = piles[0].n
				for c := range piles {
					if c == d.at {
						b.Cols[c] = vector.Constant(vector.Long, chunk.bucket, b.N)
					} else {
						b.Cols[c] = piles[c].vector(d.columns[c], keep)
					}
				}
				if !yield(b) {
					return
				}
				if chunk.full[i] = nil; !keep {
					d.spare = append(d.spare, piles)
				}
			}
		}
	}
}

// vector returns the values of a pile of column c, sharing their memory.
func (p *pile) vector(c *dealtColumn, keep bool) *vector.Vector {
	v := &vector.Vector{Type: p.typ, Len: p.n}
	if len(p.absent) > 0 {
		v.Valid = vector.FullBitmap(p.n)
		for _, i := range p.absent {
			v.Valid.Clear(int(i))
		}
	}
	switch {
	case p.typ.Kind == vector.KindLong:
		v.Longs = p.longs
	case p.typ.Kind == vector.KindDouble:
		v.Doubles = p.doubles
	case p.typ.Kind == vector.KindFloat:
		v.Floats = p.floats
	case p.typ.Kind == vector.KindList:
		v.Offsets, v.Child = p.ends, p.child.vector(c.child, keep)
	case p.united:
		if v.Dict = c.unitedDict(); v.Dict == nil {
			v.Strings = make([]string, p.n)
		} else {
			v.Codes = p.codes
		}
	default:
		p.texts(v, keep)
	}
	return v
}

// texts sets the texts of v. Those that stay in memory are a dictionary in which each row has the
// next entry: the collector of garbage need not look at them one by one, and they take less.
func (p *pile) texts(v *vector.Vector, keep bool) {
	d := &vector.Dict{Offsets: p.ends, Blob: p.blob}
	if keep && p.typ.Kind == vector.KindString && p.n > 0 {
		v.Codes, v.Dict = ascending(p.n), d
		return
	}
	v.Strings = make([]string, p.n)
	for i := range v.Strings {
		v.Strings[i] = d.Value(uint32(i))
	}
}

var firstNumbers = func() (out [vector.BatchRows]uint32) {
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}()

// ascending returns the numbers below n, to be read only.
func ascending(n int) []uint32 {
	if n <= len(firstNumbers) {
		return firstNumbers[:n:n]
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}
