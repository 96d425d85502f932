package parquet

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// File is an open file. Its methods may be called from several goroutines.
type File struct {
	Root   *Column
	Groups []*RowGroup

	src  io.ReaderAt
	data int64 // where the footer begins
}

// RowGroup is a row group of a file.
type RowGroup struct {
	Rows int64
	// Offset is the offset of the first data page. It determines the split of the file that the group
	// belongs to.
	Offset int64

	file   *File
	index  int
	chunks []chunkMeta
	leaves []*Column
}

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
)

// Open reads the footer of a file of this size.
func Open(src io.ReaderAt, size int64) (*File, error) {
	const tail = 8 // the length of the footer, and the magic
	if size < int64(len(magic))+tail {
		return nil, damaged("it has [%d] bytes only", size)
	}
	end := make([]byte, tail)
	if err := readAt(src, end, size-tail); err != nil {
		return nil, err
	}
	switch string(end[4:]) {
	case magic:
	case magicEncrypted:
		return nil, unsupported("encryption")
	default:
		return nil, damaged("it does not end with [%s]", magic)
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > size-tail-int64(len(magic)) {
		return nil, damaged("its footer of [%d] bytes is longer than the file", length)
	}
	b := make([]byte, length)
	if err := readAt(src, b, size-tail-length); err != nil {
		return nil, err
	}
	meta, err := parseFooter(b)
	if err != nil {
		return nil, err
	}
	schema := &schemaBuilder{elements: meta.schema}
	root, err := schema.root()
	if err != nil {
		return nil, err
	}
	f := &File{Root: root, src: src, data: size - tail - length}
	var rows int64
	for i := range meta.groups {
		g, err := f.group(&meta.groups[i], i, schema.leaves)
		if err != nil {
			return nil, err
		}
		rows += g.Rows
		f.Groups = append(f.Groups, g)
	}
	if rows != meta.rows && meta.rows != 0 { // some writers leave it out
		return nil, damaged("its row groups have [%d] rows, its footer says [%d]", rows, meta.rows)
	}
	return f, nil
}

func (f *File) group(m *groupMeta, i int, leaves []*Column) (*RowGroup, error) {
	// No file holds a trillion rows in a group; sums of what passes do not overflow.
	if m.rows < 0 || m.rows > 1<<40 {
		return nil, damaged("row group [%d] has [%d] rows", i, m.rows)
	}
	if len(m.columns) != len(leaves) {
		return nil, damaged("row group [%d] has [%d] columns, the schema [%d]", i, len(m.columns), len(leaves))
	}
	g := &RowGroup{Rows: m.rows, Offset: math.MaxInt64, file: f, index: i, chunks: m.columns, leaves: leaves}
	for k := range m.columns {
		c, leaf := &m.columns[k], leaves[k]
		if !c.present || c.values == 0 && m.rows == 0 {
			continue
		}
		// A split that no offset belongs to would lose the rows.
		if c.dataPage < int64(len(magic)) || c.dataPage > f.data {
			return nil, placed(damaged("its data begins at byte [%d] of a file of [%d]", c.dataPage, f.data), leaf.Path(), i)
		}
		g.Offset = min(g.Offset, c.dataPage)
		// Rows are counted without reading them: that this is right, columns without repetition
		// show.
		if leaf.MaxRepetition == 0 && c.values != g.Rows {
			return nil, placed(damaged("there are [%d] values for [%d] rows", c.values, g.Rows), leaf.Path(), i)
		}
	}
	if g.Offset == math.MaxInt64 {
		g.Offset = 0
	}
	return g, nil
}

// Pages returns a reader for the pages of a leaf column.
func (g *RowGroup) Pages(leaf *Column) (*Pages, error) {
	p, err := g.pages(leaf)
	if err != nil {
		return nil, placed(err, leaf.Path(), g.index)
	}
	return p, nil
}

func (g *RowGroup) pages(leaf *Column) (*Pages, error) {
	m := &g.chunks[leaf.Index]
	switch {
	case m.elsewhere:
		return nil, unsupported("data in another file")
	case m.encrypted:
		return nil, unsupported("encryption")
	case !m.present:
		return nil, damaged("the footer says nothing about it")
	case Type(m.typ) != leaf.Type:
		return nil, damaged("the type is [%s], in the schema [%s]", Type(m.typ), leaf.Type)
	case m.values < g.Rows:
		return nil, damaged("there are [%d] values for [%d] rows", m.values, g.Rows)
	}
	if m.values == 0 {
		return &Pages{leaf: leaf, group: g}, nil
	}
	unpack, err := newUnpacker(m.codec)
	if err != nil {
		return nil, err
	}
	start := m.dataPage
	if m.dictionary > 0 && m.dictionary < start {
		start = m.dictionary
	}
	// Old writers leave the header of the dictionary out of the size (PARQUET-816): the values end
	// the reading, not the size.
	const slack = 100
	if start < int64(len(magic)) || start > g.file.data || m.compressed < 0 || m.compressed > g.file.data-start {
		return nil, damaged("[%d] bytes from [%d] on are outside of the data of the file", m.compressed, start)
	}
	in := &chunkReader{src: g.file.src, at: start, end: min(start+m.compressed+slack, g.file.data)}
	return &Pages{leaf: leaf, group: g, in: in, unpack: unpack, left: m.values}, nil
}

// readAt fills b, and says in our words that the file ends before.
func readAt(src io.ReaderAt, b []byte, off int64) error {
	n, err := src.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return damaged("it ends before byte [%d]", off+int64(len(b)))
	}
	return err
}

// chunkReader gives the bytes of a column chunk, some at a time.
type chunkReader struct {
	src     io.ReaderAt
	at, end int64  // of what is not read yet
	buf     []byte // what is read and not taken, from from on
	from    int
}

// readAhead is what is read at a time, at least.
const readAhead = 256 << 10

// rest is how many bytes the chunk still has.
func (r *chunkReader) rest() int64 { return r.end - r.at + int64(len(r.buf)-r.from) }

// peek returns the next n bytes, fewer only if the chunk ends. They are valid until the next call.
func (r *chunkReader) peek(n int) ([]byte, error) {
	have := len(r.buf) - r.from
	if have < n && r.at < r.end {
		want := int(min(int64(max(n, readAhead)-have), r.end-r.at))
		if cap(r.buf) >= have+want {
			copy(r.buf[:have], r.buf[r.from:])
			r.buf = r.buf[:have+want]
		} else {
			buf := make([]byte, have+want)
			copy(buf, r.buf[r.from:])
			r.buf = buf
		}
		r.from = 0
		if err := readAt(r.src, r.buf[have:], r.at); err != nil {
			r.buf = r.buf[:have]
			return nil, err
		}
		r.at += int64(want)
	}
	return r.buf[r.from:min(len(r.buf), r.from+n)], nil
}

// take consumes n bytes that peek returned.
func (r *chunkReader) take(n int) { r.from += n }
