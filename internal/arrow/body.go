package arrow

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// bodyReader reads the columns of a record batch.
type bodyReader struct {
	decoder *Decoder
	body    []byte
	table   flatTable

	nodes, buffers   []byte // 16 bytes each
	variadic         []int64
	compression      int // -1: none
	unpacked         int64
	lz4              *lz4.Reader
	zstd             *zstd.Decoder
	err              error
	rows, freeLength int
}

// The codecs of buffers.
const (
	codecLZ4  = 0
	codecZSTD = 1
)

func (b *bodyReader) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *bodyReader) read(fields []Field) (int, []*Array, error) {
	t, r := b.table, b.table.r
	rows := t.number(0, 8, 0)
	at, n := t.vector(1, 16)
	b.nodes = r.b[at : at+16*n]
	at, n = t.vector(2, 16)
	b.buffers = r.b[at : at+16*n]
	at, n = t.vector(4, 8)
	b.variadic = r.int64s(at, n)
	b.compression = -1
	if c, ok := t.table(3); ok {
		if b.compression = int(c.number(0, 1, 0)); b.compression > codecZSTD || c.number(1, 1, 0) != 0 {
			return 0, nil, unsupported("compression [%d]", b.compression)
		}
	}
	if r.bad || rows < 0 || rows > math.MaxInt32 {
		return 0, nil, damaged("the metadata of a record batch can't be read")
	}
	defer func() {
		if b.zstd != nil {
			b.zstd.Close()
		}
	}()
	b.rows = int(rows)
	columns := make([]*Array, 0, len(fields))
	for i := range fields {
		a := b.field(&fields[i], 0)
		if b.err == nil && a.Len != b.rows {
			b.fail(damaged("column [%.100s] has [%d] values in a batch of [%d] rows", fields[i].Name, a.Len, b.rows))
		}
		if b.err != nil {
			return 0, nil, b.err
		}
		columns = append(columns, a)
	}
	if len(fields) == 0 {
		b.free(b.rows)
	}
	if b.err == nil && (len(b.nodes) > 0 || len(b.buffers) > 0 || len(b.variadic) > 0) {
		b.fail(damaged("a record batch has parts that belong to no column"))
	}
	return b.rows, columns, b.err
}

// node takes the next node: how many values, and how many of them are null.
func (b *bodyReader) node() (length int, nulls int64) {
	if len(b.nodes) < 16 {
		b.fail(damaged("a record batch has fewer columns than its schema"))
		return 0, 0
	}
	n := int64(binary.LittleEndian.Uint64(b.nodes))
	nulls = int64(binary.LittleEndian.Uint64(b.nodes[8:]))
	b.nodes = b.nodes[16:]
	if n < 0 || n > math.MaxInt32 || nulls > n {
		b.fail(damaged("a column has [%d] values, [%d] of them null", n, nulls))
		return 0, 0
	}
	return int(n), nulls
}

// buffer takes the next buffer, unpacked, which must have so many bytes at least.
func (b *bodyReader) buffer(want int) []byte {
	if b.err != nil {
		return nil
	}
	if len(b.buffers) < 16 {
		b.fail(damaged("a record batch has fewer buffers than its schema needs"))
		return nil
	}
	at, n := binary.LittleEndian.Uint64(b.buffers), binary.LittleEndian.Uint64(b.buffers[8:])
	b.buffers = b.buffers[16:]
	if at > uint64(len(b.body)) || n > uint64(len(b.body))-at {
		if n == 0 { // some writers point behind the end
			at = 0
		} else {
			b.fail(damaged("a buffer reaches beyond the body of its message"))
			return nil
		}
	}
	data := b.body[at : at+n]
	if b.compression >= 0 && len(data) > 0 {
		data = b.unpack(data)
	}
	b.unpacked += int64(len(data))
	if b.err == nil && len(data) < want {
		b.fail(damaged("a buffer has [%d] bytes, too few for its values", len(data)))
	}
	return data
}

// unpack unpacks a buffer: its length, -1 when it is not packed, and then its bytes.
func (b *bodyReader) unpack(data []byte) []byte {
	if len(data) < 8 {
		b.fail(damaged("a compressed buffer has no length"))
		return nil
	}
	length := int64(binary.LittleEndian.Uint64(data))
	data = data[8:]
	if length == -1 {
		return data
	}
	if length < 0 || length > MaxBody-b.unpacked {
		b.fail(damaged("a compressed buffer has [%d] bytes; the buffers of a message may have [%d]", length, MaxBody))
		return nil
	}
	var in io.Reader
	if b.compression == codecLZ4 {
		if b.lz4 == nil {
			b.lz4 = lz4.NewReader(nil)
		}
		b.lz4.Reset(bytes.NewReader(data))
		in = b.lz4
	} else {
		if b.zstd == nil {
			var err error
			if b.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBody)); err != nil {
				b.fail(err)
				return nil
			}
		}
		if err := b.zstd.Reset(bytes.NewReader(data)); err != nil {
			b.fail(damaged("a compressed buffer can't be decompressed"))
			return nil
		}
		in = b.zstd
	}
	out, err := (&Reader{r: in}).read(length)
	if err != nil {
		b.fail(damaged("a compressed buffer can't be decompressed"))
		return nil
	}
	return out
}

// free bounds values that take no bytes.
func (b *bodyReader) free(n int) {
	if b.freeLength += n; b.freeLength > freeRows && int64(b.freeLength) > 8*(b.unpacked+int64(len(b.body))) {
		b.fail(damaged("it has [%d] values without bytes", b.freeLength))
	}
}

// field reads a column, or a part of one.
func (b *bodyReader) field(f *Field, depth int) *Array {
	a := &Array{Type: f.Type}
	if depth > maxDepth {
		b.fail(unsupported("fields nested deeper than [%d]", maxDepth))
		return a
	}
	var nulls int64
	a.Len, nulls = b.node()
	if b.err != nil {
		return a
	}
	if f.Dictionary == nil && f.Type.Kind == Null {
		b.free(a.Len)
		return a
	}
	want := 0
	if nulls != 0 {
		want = (a.Len + 7) / 8
	}
	if a.valid = b.buffer(want); nulls == 0 || len(a.valid) < (a.Len+7)/8 {
		a.valid = nil
	}
	if f.Dictionary != nil {
		b.indexes(a, f.Dictionary)
		return a
	}
	b.values(a, f, depth)
	return a
}

// values reads the buffers and children of an array after its validity.
func (b *bodyReader) values(a *Array, f *Field, depth int) {
	t := f.Type
	switch t.Kind {
	case Bool:
		a.data = b.buffer((a.Len + 7) / 8)
	case Int, Float, Decimal, Date, Time:
		a.data = b.buffer(a.Len * t.Bits / 8)
	case Timestamp, Duration:
		a.data = b.buffer(a.Len * 8)
	case FixedBinary:
		if t.Size == 0 {
			b.free(a.Len)
		}
		a.data = b.buffer(b.product(a.Len, t.Size))
	case Utf8, Binary:
		b.texts(a, 4)
	case LargeUtf8, LargeBinary:
		a.wide = true
		b.texts(a, 8)
	case Utf8View, BinaryView:
		b.views(a)
	case List, Map, LargeList:
		a.wide = t.Kind == LargeList
		width := 4
		if a.wide {
			width = 8
		}
		a.offsets = b.offsets(a.Len, width)
		b.children(a, t, depth)
		if b.err == nil && a.end(a.Len) > a.children[0].Len {
			b.fail(damaged("the lists of column [%.100s] have more elements than there are", f.Name))
		}
	case FixedList:
		if t.Size == 0 {
			b.free(a.Len)
		}
		b.children(a, t, depth)
		if b.err == nil && b.product(a.Len, t.Size) > a.children[0].Len {
			b.fail(damaged("the lists of column [%.100s] have more elements than there are", f.Name))
		}
	case Struct:
		if len(t.Children) == 0 {
			b.free(a.Len)
		}
		b.children(a, t, depth)
		for _, c := range a.children {
			if b.err == nil && c.Len < a.Len {
				b.fail(damaged("a member of column [%.100s] has fewer values than the column", f.Name))
			}
		}
	}
}

// texts reads values of any length.
func (b *bodyReader) texts(a *Array, width int) {
	if a.offsets = b.offsets(a.Len, width); b.err == nil {
		a.data = b.buffer(a.end(a.Len))
	}
}

func (b *bodyReader) product(n, size int) int {
	if size > 0 && n > MaxBody/size {
		b.fail(damaged("[%d] values of size [%d] don't fit a message", n, size))
		return 0
	}
	return n * size
}

func (b *bodyReader) children(a *Array, t *Type, depth int) {
	for i := range t.Children {
		if b.err != nil {
			return
		}
		a.children = append(a.children, b.field(&t.Children[i], depth+1))
	}
}

// offsets reads where n values begin and end. They ascend. An array without values may have none.
func (b *bodyReader) offsets(n, width int) []byte {
	want := (n + 1) * width
	if n == 0 {
		want = 0
	}
	data := b.buffer(want)
	if b.err != nil || len(data) < (n+1)*width {
		return make([]byte, 8)
	}
	data = data[:(n+1)*width]
	last := int64(0)
	for at := 0; at < len(data); at += width {
		var next int64
		if width == 4 {
			next = int64(int32(binary.LittleEndian.Uint32(data[at:])))
		} else {
			next = int64(binary.LittleEndian.Uint64(data[at:]))
		}
		if next < last || next > math.MaxInt32*2 {
			b.fail(damaged("the ends of values do not ascend"))
			return make([]byte, 8)
		}
		last = next
	}
	return data
}

// views reads values that stand in 16 bytes, or in one of several buffers.
func (b *bodyReader) views(a *Array) {
	a.data = b.buffer(16 * a.Len)
	if len(b.variadic) == 0 {
		b.fail(damaged("a record batch does not say how many buffers its views have"))
		return
	}
	n := b.variadic[0]
	b.variadic = b.variadic[1:]
	if n < 0 || n > int64(len(b.buffers)/16) {
		b.fail(damaged("a column has [%d] buffers of views", n))
		return
	}
	for range n {
		a.parts = append(a.parts, b.buffer(0))
	}
	for i := 0; i < a.Len && b.err == nil; i++ {
		if a.IsNull(i) {
			continue
		}
		v := a.data[16*i:]
		length := int64(int32(binary.LittleEndian.Uint32(v)))
		part, at := int64(int32(binary.LittleEndian.Uint32(v[8:]))), int64(int32(binary.LittleEndian.Uint32(v[12:])))
		if length < 0 || length > viewInline && (part < 0 || part >= n || at < 0 || at+length > int64(len(a.parts[part]))) {
			b.fail(damaged("a view points outside of its buffer"))
		}
	}
}

// indexes reads the indexes of a dictionary-encoded array.
func (b *bodyReader) indexes(a *Array, e *Encoding) {
	a.index = e.Index
	a.data = b.buffer(a.Len * e.Index.Bits / 8)
	a.dictionary = b.decoder.dictionaries[e.ID]
	if a.dictionary == nil {
		a.dictionary = &dictionary{}
	}
	for i := 0; i < a.Len && b.err == nil; i++ {
		if a.IsNull(i) {
			continue
		}
		if n := a.indexAt(i); n < 0 || n >= int64(a.dictionary.n) {
			b.fail(damaged("index [%d] is not in dictionary [%d], which has [%d] values", n, e.ID, a.dictionary.n))
		}
	}
}
