package exec

import (
	"context"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

const (
	// scatterBits: rows are put aside in 2^scatterBits partitions, so many that a core's caches hold a
	// line of each, and that the groups of one partition of some millions fit in its second cache. A
	// byte has the number of one.
	scatterBits  = 8
	scatterParts = 1 << scatterBits
	// scatterRepeats is how often a key may have been met on average so that rows are put aside: keys
	// that come again and again are found in the caches.
	scatterRepeats = 16
	// scatterChunk is how many rows of one partition lie together.
	scatterChunk = 512
	// scatterHold is how many bytes of rows a worker puts aside before it tries to make groups of
	// them, for each group that is needed for doing so: 64 MiB.
	scatterHold = 2 << 10
)

// scatterable says which columns of the input an aggregation looks at, if its rows can be put aside
// as words: its arguments are numbers.
type scatterable struct {
	columns []int         // of the input
	types   []vector.Type // theirs
	args    [][]int       // by aggregate: its arguments as places in columns; nil for those that rows do not reach
	dealing
}

// scatter puts the rows of a grouper aside once there are so many groups that each row would wait
// for memory: partition by partition, by a hash of their keys, and later makes groups of one
// partition after the other, whose tables fit in a core's cache.
//
// A row is a run of words: a word with a bit for each argument that is null, if one was, the words
// of the key as the keyTable has them, and a word for each argument. Each partition may also have
// groups of rows that were put aside before, when they got too many.
type scatter struct {
	g       *grouper
	of      *scatterable
	nulls   bool // rows begin with a word for nulls
	stride  int  // words of a key
	width   int  // words of a row
	parts   [scatterParts]scatterPart
	hold    int64      // bytes of rows that may lie aside
	rows    int64      // bytes that do
	groups  int64      // bytes of the partitions' groups
	alone   bool       // making groups of rows has saved no memory
	within  dealtRange // what keys that were dealt are among
	scratch struct {
		words  []uint64
		part   []uint8
		vector []int64
	}
}

// scatterPart is one partition.
type scatterPart struct {
	chunks [][]uint64 // rows; the last chunk has room
	made   *grouper   // groups of rows that were put aside before; nil: none. Its memory counts with the scatter's.
}

// newScatter returns an empty scatter for the rows that g will meet from now on, whose keys may be
// near each other.
func newScatter(g *grouper, of *scatterable, near bool) *scatter {
	s := &scatter{g: g, of: of, hold: int64(g.env.many.aside) * scatterHold, within: noLongs}
	of.decide(near)
	s.layout(false)
	return s
}

// layout fixes what a row looks like. There are no rows.
func (s *scatter) layout(nulls bool) {
	s.nulls, s.stride = nulls, s.g.table.stride
	s.width = s.stride + len(s.of.columns)
	if nulls {
		s.width++
	}
}

// bytes returns the memory held.
func (s *scatter) bytes() int64 {
	return s.rows + s.groups + 8*int64(cap(s.scratch.words)+cap(s.scratch.vector)) + int64(cap(s.scratch.part))
}

// add puts n rows aside.
func (s *scatter) add(keys []*vector.Vector, cols []*vector.Vector, n int) error {
	t := s.g.table
	nulls := s.nulls
	for _, c := range s.of.columns {
		nulls = nulls || cols[c].Valid != nil
	}
	if !t.masked && t.numbers > 0 && t.nullNumbers(keys, n) {
		t.mask()
	}
	if nulls != s.nulls || t.stride != s.stride {
		if err := s.makeGroups(); err != nil {
			return err
		}
		s.layout(nulls)
	}
	w := s.width
	words := sized(s.scratch.words, n*w)
	s.scratch.words = words
	if s.nulls {
		s.nullWords(cols, n, words)
	}
	key := w - len(s.of.columns) - s.stride
	t.fillWords(keys, n, words[key:], w)
	for i, c := range s.of.columns {
		argumentWords(cols[c], n, words[key+s.stride+i:], w)
	}
	s.spread(words, key, n)
	if s.rows > s.hold {
		return s.compact()
	}
	return nil
}

// nullWords sets the first word of each row.
func (s *scatter) nullWords(cols []*vector.Vector, n int, words []uint64) {
	for i := range n {
		words[i*s.width] = 0
	}
	for bit, c := range s.of.columns {
		if cols[c].Valid == nil {
			continue
		}
		for i := range n {
			if cols[c].IsNull(i) {
				words[i*s.width] |= 1 << bit
			}
		}
	}
}

// argumentWords writes the bits of numbers; those of nulls are any.
func argumentWords(v *vector.Vector, n int, dst []uint64, stride int) {
	v = v.Flat()
	switch v.Type.Kind {
	case vector.KindLong:
		for i, x := range v.Longs[:n] {
			dst[i*stride] = uint64(x)
		}
	case vector.KindDouble:
		for i, x := range v.Doubles[:n] {
			dst[i*stride] = math.Float64bits(x)
		}
	case vector.KindFloat:
		for i, x := range v.Floats[:n] {
			dst[i*stride] = uint64(math.Float32bits(x))
		}
	}
}

// scatterPartOf returns the partition of a key, which is dealt or spread by a hash.
func scatterPartOf(key []uint64, masks int, dealt bool) uint8 {
	if dealt {
		return dealtTo(key[masks])
	}
	return uint8(hashKey(key, masks) & (scatterParts - 1)) // the upper bits are the place in a table
}

// spread copies n rows to their partitions.
func (s *scatter) spread(words []uint64, key, n int) {
	w, stride := s.width, s.stride
	masks := stride - s.g.table.places
	part := sized(s.scratch.part, n)
	s.scratch.part = part
	var count, at [scatterParts]int
	dealt := s.of.dealt()
	switch {
	case stride == 1 && dealt:
		within := s.within
		for i := range part {
			x := words[i*w+key]
			within.add(dealtRange{int64(x), int64(x)})
			part[i] = dealtTo(x)
			count[part[i]]++
		}
		s.within = within
	case stride == 1:
		for i := range part {
			part[i] = uint8(vector.HashLong(words[i*w+key]) & (scatterParts - 1))
			count[part[i]]++
		}
	default:
		for i := range part {
			row := words[i*w+key:]
			part[i] = scatterPartOf(row[:stride], masks, dealt)
			count[part[i]]++
		}
	}
	var to [scatterParts][]uint64
	for p, c := range count {
		if c > 0 {
			to[p] = s.room(&s.parts[p], c*w)
		}
	}
	switch w {
	case 1:
		for i, x := range words[:n] {
			p := part[i]
			to[p][at[p]] = x
			at[p]++
		}
	case 2:
		for i, p := range part {
			dst := to[p][at[p]:]
			dst[0], dst[1] = words[2*i], words[2*i+1]
			at[p] += 2
		}
	default:
		for i, p := range part {
			dst := to[p][at[p] : at[p]+w]
			for k, x := range words[i*w : i*w+w] { //nolint:staticcheck // for so few words a call of copy costs more
				dst[k] = x
			}
			at[p] += w
		}
	}
}

// room returns so many words at the end of a partition.
func (s *scatter) room(p *scatterPart, words int) []uint64 {
	last := len(p.chunks) - 1
	if last < 0 || len(p.chunks[last])+words > cap(p.chunks[last]) {
		chunk := make([]uint64, 0, max(words, scatterChunk*s.width))
		s.rows += 8 * int64(cap(chunk))
		p.chunks = append(p.chunks, chunk)
		last++
	}
	c := p.chunks[last]
	p.chunks[last] = c[:len(c)+words]
	return c[len(c) : len(c)+words]
}

// rowsIn returns how many rows of a partition lie aside.
func (s *scatter) rowsIn(p int) int {
	n := 0
	for _, c := range s.parts[p].chunks {
		n += len(c) / s.width
	}
	return n
}

// compact makes groups of the rows if that saves memory, and else lets more of them lie aside.
func (s *scatter) compact() error {
	rows := s.rowsIn(0)
	if err := s.makeGroupsOf(0); err != nil {
		return err
	}
	if made := s.parts[0].made; made != nil && 2*made.bytes() > 8*int64(rows*s.width) {
		s.hold *= 2
		s.alone = true
		return nil
	}
	return s.makeGroups()
}

// makeGroups makes groups of all rows that lie aside.
func (s *scatter) makeGroups() error {
	for p := range s.parts {
		if err := s.makeGroupsOf(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *scatter) makeGroupsOf(p int) error {
	part := &s.parts[p]
	if len(part.chunks) == 0 {
		return nil
	}
	before := int64(0)
	if part.made == nil {
		var err error
		if part.made, err = s.g.sibling(); err != nil {
			return err
		}
		if s.of.dealt() && s.stride == 1 {
			part.made.table.deal(s.within, s.rowsIn(p))
		}
	} else {
		before = part.made.bytes()
	}
	for _, c := range part.chunks {
		if err := s.fold(part.made, c); err != nil {
			return err
		}
	}
	s.release(p)
	s.groups += part.made.bytes() - before
	return nil
}

// release drops the rows of a partition.
func (s *scatter) release(p int) {
	for _, c := range s.parts[p].chunks {
		s.rows -= 8 * int64(cap(c))
	}
	s.parts[p].chunks = nil
}

// fold makes groups of g, whose words are alike, of a chunk of rows.
func (s *scatter) fold(g *grouper, chunk []uint64) error {
	t := g.table
	rows, width, n := s.keysIn(t, chunk)
	before := t.len()
	t.groups = sized(t.groups, n)
	t.probe(rows, width, n, t.groups)
	g.grow(before)
	return s.update(g, chunk, n)
}

// list makes a group of g of each row of a chunk, also of those whose key g has. Such groups are
// good for being written only.
func (s *scatter) list(g *grouper, chunk []uint64) error {
	t := g.table
	rows, width, n := s.keysIn(t, chunk)
	before := t.len()
	t.groups = sized(t.groups, n)
	for i := range n {
		t.words = append(t.words, rows[i*width:i*width+t.stride]...)
		t.groups[i] = uint32(before + i)
	}
	t.n += n
	g.grow(before)
	return s.update(g, chunk, n)
}

// keysIn returns the keys of a chunk of rows as words of t, one every width words.
func (s *scatter) keysIn(t *keyTable, chunk []uint64) (rows []uint64, width, n int) {
	w := s.width
	n = len(chunk) / w
	key := w - len(s.of.columns) - s.stride
	if t.stride < s.stride {
		t.mask()
	}
	masks := t.stride - s.stride
	if masks == 0 {
		return chunk[key:], w, n
	}
	width = t.stride
	rows = sized(t.rows, n*width)
	t.rows = rows
	for i := range n {
		row := rows[i*width : (i+1)*width]
		clear(row[:masks])
		copy(row[masks:], chunk[i*w+key:i*w+key+s.stride])
	}
	return rows, width, n
}

// update folds the arguments of a chunk of rows, whose groups the table has just told.
func (s *scatter) update(g *grouper, chunk []uint64, n int) error {
	columns := make([]*vector.Vector, len(s.of.columns))
	if g.arguments == nil {
		g.arguments = make([]vector.Vector, len(columns))
	}
	var args []*vector.Vector
	for i, st := range g.states {
		if s.of.args[i] == nil {
			continue
		}
		args = args[:0]
		for _, a := range s.of.args[i] {
			if columns[a] == nil {
				columns[a] = s.argument(a, chunk, n, &g.arguments[a])
			}
			args = append(args, columns[a])
		}
		if err := st.Update(args, g.table.groups, n); err != nil {
			return err
		}
	}
	return nil
}

// argument returns the values of argument column a in a chunk, in the memory of v.
func (s *scatter) argument(a int, chunk []uint64, n int, v *vector.Vector) *vector.Vector {
	w := s.width
	words := chunk[w-len(s.of.columns)+a:]
	v.Type, v.Len, v.Valid = s.of.types[a], n, nil
	switch v.Type.Kind {
	case vector.KindLong:
		v.Longs = sized(v.Longs, n)
		for i := range v.Longs {
			v.Longs[i] = int64(words[i*w])
		}
	case vector.KindDouble:
		v.Doubles = sized(v.Doubles, n)
		for i := range v.Doubles {
			v.Doubles[i] = math.Float64frombits(words[i*w])
		}
	case vector.KindFloat:
		v.Floats = sized(v.Floats, n)
		for i := range v.Floats {
			v.Floats[i] = math.Float32frombits(uint32(words[i*w]))
		}
	}
	if !s.nulls {
		return v
	}
	for i := range n {
		if chunk[i*w]>>a&1 == 0 {
			continue
		}
		if v.Valid == nil {
			v.Valid = vector.FullBitmap(n)
		}
		v.Valid.Clear(i)
	}
	return v
}

// spill calls write with the groups of all partitions, and drops them. When rows have turned out to
// be groups of their own mostly, they are written as such.
func (s *scatter) spill(ctx context.Context, write func(context.Context, *grouper) error) error {
	for p := range s.parts {
		part := &s.parts[p]
		if part.made != nil || !s.alone {
			if err := s.makeGroupsOf(p); err != nil {
				return err
			}
		} else if err := s.listPart(p); err != nil {
			return err
		}
		if part.made == nil {
			continue
		}
		if err := write(ctx, part.made); err != nil {
			return err
		}
		part.made = nil
	}
	s.groups = 0
	return nil
}

// listPart makes a group of each row of a partition.
func (s *scatter) listPart(p int) (err error) {
	part := &s.parts[p]
	if len(part.chunks) == 0 {
		return nil
	}
	if part.made, err = s.g.sibling(); err != nil {
		return err
	}
	for _, c := range part.chunks {
		if err := s.list(part.made, c); err != nil {
			return err
		}
	}
	s.release(p)
	return nil
}

// scatterableOf returns how the rows of the calls can be put aside, nil if they can't.
func (a *aggregation) scatterableOf() *scatterable {
	const most = 16
	if a.sets != nil || len(a.node.Order) > 0 {
		return nil
	}
	out := &scatterable{args: make([][]int, len(a.node.Aggs))}
	for _, i := range a.plain {
		call := &a.node.Aggs[i]
		if call.Filter >= 0 {
			return nil
		}
		out.args[i] = []int{}
		for _, arg := range call.Args {
			if !a.input[arg].IsNumeric() {
				return nil
			}
			at := slices.Index(out.columns, arg)
			if at < 0 {
				at = len(out.columns)
				out.columns, out.types = append(out.columns, arg), append(out.types, a.input[arg])
			}
			out.args[i] = append(out.args[i], at)
		}
	}
	if len(out.columns) > most {
		return nil
	}
	return out
}
