package exec

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

const (
	// radixPartitions is the number of partitions.
	radixPartitions = 1 << keys.PartitionBits
	// partitionRepeatLimit is how often a key may have come on average so that rows are partitioned:
	// keys that come again and again are found in the caches.
	partitionRepeatLimit = 16
	// partitionChunkWords is how many words of rows of one partition lie together: 16 KiB.
	partitionChunkWords = 1 << 11
	// partitionHoldBytes is how many bytes of rows a worker buffers before it tries to make groups of
	// them, for each group that is needed for doing so: 64 MiB.
	partitionHoldBytes = 2 << 10
	// partitionLeaveBytes is how many bytes of chunks a worker leaves for the queries that follow.
	partitionLeaveBytes = 64 << 20
)

// partitionChunk is the memory of rows of one partition. Most queries that partition rows find what
// those before have left: it need not be cleared, nor be fetched from the system. The garbage
// collector frees what nobody uses.
type partitionChunk [partitionChunkWords]uint64

var partitionChunks = sync.Pool{New: func() any { return new(partitionChunk) }}

// partitionable says which columns of the input an aggregation looks at, if its rows can be copied
// as words: its arguments are numbers.
type partitionable struct {
	columns []int         // of the input
	types   []vector.Type // theirs
	args    [][]int       // by aggregate: its arguments as positions in columns; nil for those that rows do not reach
	keys.Partitioning
}

// partitioner partitions the rows of a grouper once there are so many groups that each row would
// wait for memory: partition by partition, by a hash of their keys, and later makes groups of one
// partition after the other, whose tables fit in a core's cache.
//
// A row is a run of words: a word with a bit for each argument that is null, if one was, the words
// of the key as the table has them, and a word for each argument. Each partition may also have
// groups of earlier rows, when they got too many.
type partitioner struct {
	g       *grouper
	of      *partitionable
	nulls   bool // rows begin with a word for nulls
	stride  int  // words of a key
	width   int  // words of a row
	parts   [radixPartitions]radixPartition
	hold    int64          // bytes of rows that may be buffered
	rows    int64          // bytes that do
	groups  int64          // bytes of the partitions' groups
	left    int64          // bytes of chunks that others have got
	alone   bool           // making groups of rows has saved no memory
	within  keys.LongRange // the range of the keys that were striped
	scratch struct {
		words  []uint64
		part   []uint8
		vector []int64
	}
}

// radixPartition is one partition.
type radixPartition struct {
	chunks [][]uint64 // rows; the last chunk has room
	made   *grouper   // groups of earlier rows; nil: none. Its memory counts with the partitioner's.
}

// newPartitioner returns an empty partitioner for the rows that g gets from now on, whose keys may
// be near each other.
func newPartitioner(g *grouper, of *partitionable, near bool) *partitioner {
	s := &partitioner{g: g, of: of, hold: int64(g.env.many.partition) * partitionHoldBytes, within: keys.NoLongs}
	of.Decide(near)
	s.layout(false)
	return s
}

// layout fixes what a row looks like. There are no rows.
func (s *partitioner) layout(nulls bool) {
	s.nulls, s.stride = nulls, s.g.table.Stride
	s.width = s.stride + len(s.of.columns)
	if nulls {
		s.width++
	}
}

// bytes returns the memory held.
func (s *partitioner) bytes() int64 {
	return s.rows + s.groups + 8*int64(cap(s.scratch.words)+cap(s.scratch.vector)) + int64(cap(s.scratch.part))
}

// add partitions n rows.
func (s *partitioner) add(keys []*vector.Vector, cols []*vector.Vector, n int) error {
	t := s.g.table
	nulls := s.nulls
	for _, c := range s.of.columns {
		nulls = nulls || cols[c].Valid != nil
	}
	if !t.Masked && t.Numbers > 0 && t.NullNumbers(keys, n) {
		t.Mask()
	}
	if nulls != s.nulls || t.Stride != s.stride {
		if err := s.makeGroups(); err != nil {
			return err
		}
		s.layout(nulls)
	}
	w := s.width
	words := vector.Sized(s.scratch.words, n*w)
	s.scratch.words = words
	if s.nulls {
		s.nullWords(cols, n, words)
	}
	key := w - len(s.of.columns) - s.stride
	t.FillWords(keys, n, words[key:], w)
	for i, c := range s.of.columns {
		argumentWords(cols[c], n, words[key+s.stride+i:], w)
	}
	s.distribute(words, key, n)
	if s.rows > s.hold {
		return s.compact()
	}
	return nil
}

// nullWords sets the first word of each row.
func (s *partitioner) nullWords(cols []*vector.Vector, n int, words []uint64) {
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

// radixPartitionOf returns the partition of a key, which is striped or hashed.
func radixPartitionOf(key []uint64, masks int, striped bool) uint8 {
	if striped {
		return keys.StripedPartition(key[masks])
	}
	return uint8(keys.Hash(key, masks) & (radixPartitions - 1)) // the upper bits are the position in a table
}

// distribute copies n rows to their partitions.
func (s *partitioner) distribute(words []uint64, key, n int) {
	w, stride := s.width, s.stride
	masks := stride - s.g.table.KeyWords
	part := vector.Sized(s.scratch.part, n)
	s.scratch.part = part
	var count, at [radixPartitions]int
	striped := s.of.Striped()
	switch {
	case stride == 1 && striped:
		within := s.within
		for i := range part {
			x := words[i*w+key]
			within.Add(keys.LongRange{Least: int64(x), Greatest: int64(x)})
			part[i] = keys.StripedPartition(x)
			count[part[i]]++
		}
		s.within = within
	case stride == 1:
		for i := range part {
			part[i] = uint8(vector.HashLong(words[i*w+key]) & (radixPartitions - 1))
			count[part[i]]++
		}
	case stride == 2 && masks == 0:
		for i := range part {
			row := words[i*w+key : i*w+key+2]
			part[i] = uint8(vector.HashLong(vector.HashLong(row[0])^row[1]) & (radixPartitions - 1))
			count[part[i]]++
		}
	default:
		for i := range part {
			row := words[i*w+key:]
			part[i] = radixPartitionOf(row[:stride], masks, striped)
			count[part[i]]++
		}
	}
	var to [radixPartitions][]uint64
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
	case 3:
		for i, p := range part {
			dst, src := to[p][at[p]:], words[3*i:3*i+3]
			dst[0], dst[1], dst[2] = src[0], src[1], src[2]
			at[p] += 3
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
func (s *partitioner) room(p *radixPartition, words int) []uint64 {
	last := len(p.chunks) - 1
	if last < 0 || len(p.chunks[last])+words > cap(p.chunks[last]) {
		var chunk []uint64
		if words <= partitionChunkWords {
			chunk = partitionChunks.Get().(*partitionChunk)[:0]
		} else {
			chunk = make([]uint64, 0, words)
		}
		s.rows += 8 * int64(cap(chunk))
		p.chunks = append(p.chunks, chunk)
		last++
	}
	c := p.chunks[last]
	p.chunks[last] = c[:len(c)+words]
	return c[len(c) : len(c)+words]
}

// rowsIn returns how many rows of a partition are buffered.
func (s *partitioner) rowsIn(p int) int {
	n := 0
	for _, c := range s.parts[p].chunks {
		n += len(c) / s.width
	}
	return n
}

// compact makes groups of the rows if that saves memory, and else lets more of them be buffered.
func (s *partitioner) compact() error {
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

// makeGroups makes groups of all buffered rows.
func (s *partitioner) makeGroups() error {
	for p := range s.parts {
		if err := s.makeGroupsOf(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *partitioner) makeGroupsOf(p int) error {
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
		if s.of.Striped() && s.stride == 1 {
			part.made.table.IndexStripes(s.within, s.rowsIn(p))
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
func (s *partitioner) release(p int) {
	for _, c := range s.parts[p].chunks {
		size := 8 * int64(cap(c))
		s.rows -= size
		if cap(c) == partitionChunkWords && s.left+size <= partitionLeaveBytes {
			s.left += size
			invariant.Poison(c)
			partitionChunks.Put((*partitionChunk)(c[:partitionChunkWords]))
		}
	}
	s.parts[p].chunks = nil
}

// fold makes groups of g, whose words are alike, of a chunk of rows.
func (s *partitioner) fold(g *grouper, chunk []uint64) error {
	t := g.table
	rows, width, n := s.keyWords(t, chunk)
	before := t.Len()
	t.Groups = vector.Sized(t.Groups, n)
	t.Probe(rows, width, n, t.Groups)
	g.grow(before)
	return s.update(g, chunk, n)
}

// list makes a group of g of each row of a chunk, also of those whose key g has. Such groups are
// good for being written only.
func (s *partitioner) list(g *grouper, chunk []uint64) error {
	t := g.table
	rows, width, n := s.keyWords(t, chunk)
	before := t.Len()
	t.Groups = vector.Sized(t.Groups, n)
	for i := range n {
		t.Words = append(t.Words, rows[i*width:i*width+t.Stride]...)
		t.Groups[i] = uint32(before + i)
	}
	t.N += n
	g.grow(before)
	return s.update(g, chunk, n)
}

// keyWords returns the keys of a chunk of rows as words of t, one every width words.
func (s *partitioner) keyWords(t *keys.Table, chunk []uint64) (rows []uint64, width, n int) {
	w := s.width
	n = len(chunk) / w
	key := w - len(s.of.columns) - s.stride
	if t.Stride < s.stride {
		t.Mask()
	}
	masks := t.Stride - s.stride
	if masks == 0 {
		return chunk[key:], w, n
	}
	width = t.Stride
	rows = vector.Sized(t.Rows, n*width)
	t.Rows = rows
	for i := range n {
		row := rows[i*width : (i+1)*width]
		clear(row[:masks])
		copy(row[masks:], chunk[i*w+key:i*w+key+s.stride])
	}
	return rows, width, n
}

// update folds the arguments of a chunk of rows, whose groups the table has just told.
func (s *partitioner) update(g *grouper, chunk []uint64, n int) error {
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
		if err := st.Update(args, g.table.Groups, n); err != nil {
			return err
		}
	}
	return nil
}

// argument returns the values of argument column a in a chunk, in the memory of v.
func (s *partitioner) argument(a int, chunk []uint64, n int, v *vector.Vector) *vector.Vector {
	w := s.width
	words := chunk[w-len(s.of.columns)+a:]
	v.Type, v.Len, v.Valid = s.of.types[a], n, nil
	switch v.Type.Kind {
	case vector.KindLong:
		v.Longs = vector.Sized(v.Longs, n)
		for i := range v.Longs {
			v.Longs[i] = int64(words[i*w])
		}
	case vector.KindDouble:
		v.Doubles = vector.Sized(v.Doubles, n)
		for i := range v.Doubles {
			v.Doubles[i] = math.Float64frombits(words[i*w])
		}
	case vector.KindFloat:
		v.Floats = vector.Sized(v.Floats, n)
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
func (s *partitioner) spill(ctx context.Context, write func(context.Context, *grouper) error) error {
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
func (s *partitioner) listPart(p int) (err error) {
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

// partitionableOf returns how the rows of the calls can be partitioned, nil if they can't.
func (a *aggregation) partitionableOf() *partitionable {
	const most = 16
	if a.sets != nil || len(a.node.Order) > 0 {
		return nil
	}
	out := &partitionable{args: make([][]int, len(a.node.Aggs))}
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
