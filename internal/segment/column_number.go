package segment

import (
	"encoding/binary"

	"github.com/hengedb/henge/internal/vector"
)

// frameBlock is a directory entry of a Long column: BlockRows values, each stored as
// (value-Min)/Unit in so many whole bytes or bits. Values of eight bytes are stored as they are.
// Values of null rows are any of those.
type frameBlock struct {
	Min, Max int64
	Unit     uint64
	Location uint64 // offset in the data << 8 | width: bytes, or packedWidth + bits
}

const (
	// packedWidth is added to the bits of a value in the width of a block.
	packedWidth = 16
	// maxPackedBits is how many bits two values may have so that a load of eight bytes has both,
	// whatever bit of a byte they begin at.
	maxPackedBits = 28
)

// width returns the bytes of a value, 0 to 8; of a packed block it has no meaning.
func (f *frameBlock) width() int  { return int(f.Location & 0xff) }
func (f *frameBlock) offset() int { return int(f.Location >> 8) }

// packed returns the bits of a value of a packed block, 0: it is none.
func (f *frameBlock) packed() uint {
	if w := uint(f.Location & 0xff); w > packedWidth {
		return w - packedWidth
	}
	return 0
}

// bytesBefore returns after how many bytes of the block's data the first rows values end.
func (f *frameBlock) bytesBefore(rows int) int {
	if b := int(f.packed()); b > 0 {
		return (rows*b + 7) / 8
	}
	return rows * f.width()
}

// byteOf returns the byte of the block's data in which a row's value begins.
func (f *frameBlock) byteOf(row int) int {
	if b := int(f.packed()); b > 0 {
		return row * b / 8
	}
	return row * f.width()
}

// fits reports whether the width is one, and rows values end before limit.
func (f *frameBlock) fits(rows, limit int) bool {
	w := f.Location & 0xff
	return (w <= 8 || w > packedWidth && w <= packedWidth+maxPackedBits) && f.Location>>8 <= uint64(limit) && f.offset()%partAlign == 0 &&
		f.offset()+f.bytesBefore(rows) <= limit
}

// rawBlock is a directory entry of a Double or Float column.
type rawBlock struct {
	Min, Max float64
	Flags    uint64
}

func (c *fileColumn) openFrames(a *area) error {
	raw, err := a.all()
	if err != nil {
		return err
	}
	c.frames = view[frameBlock](raw)
	limit := len(c.data.b) - frameSlack
	for i := range c.frames {
		f := &c.frames[i]
		rows := min(BlockRows, c.meta.rows-i*BlockRows)
		if !f.fits(rows, limit) {
			return a.corrupt(i*frameBlockSize, "a block is outside of its data")
		}
	}
	return nil
}

func (c *fileColumn) openRaws(a *area) error {
	raw, err := a.all()
	c.raws = view[rawBlock](raw)
	return err
}

// openSums reads the sums of the blocks, which older files lack.
func (c *fileColumn) openSums(a *area) error {
	if a == nil {
		return nil
	}
	raw, err := a.all()
	c.sums = view[uint64](raw)
	return err
}

func (c *fileColumn) readFrames(buf *Buffer, from, to int) (*vector.Vector, error) {
	v := buf.vector(vector.Long, to-from)
	v.Valid = c.validity(buf, from, to)
	first, last := from/BlockRows, (to-1)/BlockRows
	if first == last {
		switch f := &c.frames[first]; {
		case f.width() == 0 && v.Valid == nil:
			buf.longs = grown(buf.longs, 1)
			buf.longs[0] = f.Min
			v.Longs, v.Const = buf.longs, true
			return v, nil
		case f.width() == 8:
			lo := f.offset() + from%BlockRows*8
			hi := lo + (to-from)*8
			v.Longs = view[int64](c.data.b[lo:hi])
			return v, c.data.touch(lo, hi)
		}
	}
	buf.longs = grown(buf.longs, to-from)
	v.Longs = buf.longs
	out := buf.longs
	for b := first; b <= last; b++ {
		f := &c.frames[b]
		lo := max(from-b*BlockRows, 0)
		n := min(to-b*BlockRows, BlockRows) - lo
		at := f.offset()
		if err := c.data.touch(at+f.byteOf(lo), at+f.bytesBefore(lo+n)); err != nil {
			return nil, err
		}
		f.decode(out[:n], c.data.b, lo)
		out = out[n:]
	}
	return v, nil
}

// decode writes the values of rows from lo of the block on to dst.
func (f *frameBlock) decode(dst []int64, data []byte, lo int) {
	if b := f.packed(); b > 0 {
		unpackBits(dst, data[f.offset():], lo, b, f.Min, f.Unit)
		return
	}
	n, w := len(dst), f.width()
	at := f.offset() + lo*w
	b := data[at : at+n*w]
	switch w {
	case 0:
		for i := range dst {
			dst[i] = f.Min
		}
	case 1:
		unframe(dst, b, f.Min, f.Unit)
	case 2:
		unframe(dst, view[uint16](b), f.Min, f.Unit)
	case 4:
		unframe(dst, view[uint32](b), f.Min, f.Unit)
	case 8:
		copy(dst, view[int64](b))
	default:
		unpack(dst, data, at, w, f.Min, f.Unit)
	}
}

func unframe[T uint8 | uint16 | uint32](dst []int64, src []T, least int64, unit uint64) {
	src = src[:len(dst)]
	if unit == 1 {
		for i, x := range src {
			dst[i] = least + int64(x)
		}
		return
	}
	for i, x := range src {
		dst[i] = least + int64(uint64(x)*unit)
	}
}

func (c *fileColumn) readFrameRows(buf *Buffer, rows []uint32) (*vector.Vector, error) {
	v := buf.vector(vector.Long, len(rows))
	v.Valid = c.validityRows(buf, rows)
	buf.longs = grown(buf.longs, len(rows))
	v.Longs = buf.longs
	for len(rows) > 0 {
		block := rows[0] / BlockRows
		n := 1
		for n < len(rows) && rows[n]/BlockRows == block {
			n++
		}
		f := &c.frames[block]
		base := f.offset()
		if err := c.data.touch(base+f.byteOf(int(rows[0]%BlockRows)), base+f.bytesBefore(int(rows[n-1]%BlockRows)+1)); err != nil {
			return nil, err
		}
		f.pick(v.Longs[len(v.Longs)-len(rows):][:n], c.data.b[base:], rows[:n])
		rows = rows[n:]
	}
	return v, nil
}

// pick writes the values of rows of the block, numbered in the segment, to dst. Data begins with
// the block's values, and has frameSlack behind the last.
func (f *frameBlock) pick(dst []int64, data []byte, rows []uint32) {
	least, unit := f.Min, f.Unit
	if b := f.packed(); b > 0 {
		pickBits(dst, data, rows, b, least, unit)
		return
	}
	switch w := f.width(); w {
	case 8:
		for i, r := range rows {
			dst[i] = int64(binary.LittleEndian.Uint64(data[int(r%BlockRows)*8:]))
		}
	default:
		mask := uint64(1)<<(8*uint(w)) - 1
		for i, r := range rows {
			dst[i] = least + int64(binary.LittleEndian.Uint64(data[int(r%BlockRows)*w:])&mask*unit)
		}
	}
}

func (c *fileColumn) readRaw(buf *Buffer, from, to int) (*vector.Vector, error) {
	v := buf.vector(c.meta.Type, to-from)
	v.Valid = c.validity(buf, from, to)
	if c.meta.Type.Kind == vector.KindFloat {
		v.Floats = view[float32](c.data.b[from*4 : to*4])
		return v, c.data.touch(from*4, to*4)
	}
	v.Doubles = view[float64](c.data.b[from*8 : to*8])
	return v, c.data.touch(from*8, to*8)
}

func (c *fileColumn) readRawRows(buf *Buffer, rows []uint32) (*vector.Vector, error) {
	v := buf.vector(c.meta.Type, len(rows))
	v.Valid = c.validityRows(buf, rows)
	if c.meta.Type.Kind == vector.KindFloat {
		buf.floats = grown(buf.floats, len(rows))
		v.Floats = buf.floats
		if err := c.data.touchRows(rows, 4); err != nil {
			return nil, err
		}
		src := view[float32](c.data.b)
		for i, r := range rows {
			v.Floats[i] = src[r]
		}
		return v, nil
	}
	buf.doubles = grown(buf.doubles, len(rows))
	v.Doubles = buf.doubles
	if err := c.data.touchRows(rows, 8); err != nil {
		return nil, err
	}
	src := view[float64](c.data.b)
	for i, r := range rows {
		v.Doubles[i] = src[r]
	}
	return v, nil
}
