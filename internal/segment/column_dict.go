package segment

import (
	"bytes"
	"fmt"
	"weak"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/vector"
)

// codeCheck returns a check that all codes in a chunk name an entry. Codes of null rows do, too.
func codeCheck(width, entries int) func([]byte, int) string {
	return func(chunk []byte, _ int) string {
		ok := true
		switch width {
		case 1:
			ok = entries > 1<<8-1 || below(chunk, entries)
		case 2:
			ok = entries > 1<<16-1 || below(view[uint16](chunk), entries)
		case 4:
			ok = below(view[uint32](chunk), entries)
		}
		if !ok {
			return "a code is not in its dictionary"
		}
		return ""
	}
}

func below[T uint8 | uint16 | uint32](codes []T, n int) bool {
	var top T
	for _, c := range codes {
		top = max(top, c)
	}
	return uint64(top) < uint64(n)
}

// dictionary returns the column's dictionary, checked on first use: its entries lie in its bytes
// and ascend.
func (c *fileColumn) dictionary() (*vector.Dict, error) {
	if c.meta.enc == encList {
		return c.element.dictionary()
	}
	if d := c.dict.Load(); d != nil || c.meta.enc != encDict {
		if c.packed != nil && !c.asked.Load() {
			c.asked.Store(true)
		}
		return d, nil
	}
	c.dictOnce.Lock()
	defer c.dictOnce.Unlock()
	if d := c.dict.Load(); d != nil {
		return d, nil
	}
	if c.packed != nil {
		return c.unpacked()
	}
	raw, err := c.dictOffsets.all()
	if err != nil {
		return nil, err
	}
	d := &vector.Dict{Offsets: view[uint32](raw), Sorted: true, Rows: c.meta.rows}
	if c.dictBytes != nil {
		if d.Blob, err = c.dictBytes.all(); err != nil {
			return nil, err
		}
	}
	n := c.meta.dictSize
	if d.Offsets[0] != 0 || uint64(d.Offsets[n]) != uint64(len(d.Blob)) {
		return nil, c.dictOffsets.corrupt(0, "its dictionary offsets do not fit its dictionary")
	}
	var before []byte
	for i := range n {
		lo, hi := d.Offsets[i], d.Offsets[i+1]
		if lo > hi || uint64(hi) > uint64(len(d.Blob)) {
			return nil, c.dictOffsets.corrupt(4*i, "its dictionary offsets do not ascend")
		}
		entry := d.Blob[lo:hi]
		if i > 0 && bytes.Compare(before, entry) >= 0 {
			return nil, c.dictOffsets.corrupt(4*i, "its dictionary is not sorted")
		}
		before = entry
	}
	c.dict.Store(d)
	return d, nil
}

// unpacked returns the packed dictionary decoded. The lock of dictOnce is held.
func (c *fileColumn) unpacked() (*vector.Dict, error) {
	// Where memory does not do to keep it, whoever reads the column batch by batch still holds it, as
	// part of the vector before.
	d := c.lent.Value()
	if d != nil {
		decoded.keep(c, d, nil)
		return d, nil
	}
	loan, err := decoded.lend(c.packed.memory())
	if err != nil {
		return nil, fmt.Errorf("decoding the dictionary of column [%s]: %w", c.name, err)
	}
	if d, err = c.packed.all(); err != nil {
		decoded.end(loan)
		return nil, err
	}
	d.Rows, d.Source = c.meta.rows, c.source
	c.lent = weak.Make(d)
	decoded.keep(c, d, loan)
	return d, nil
}

func (c *fileColumn) readCodes(buf *Buffer, from, to int) (*vector.Vector, error) {
	d, err := c.dictionary()
	if noRoom(err) {
		return c.readTexts(buf, from, to, nil)
	}
	if err != nil {
		return nil, err
	}
	if c.meta.width == 0 {
		v := buf.vector(c.meta.Type, to-from)
		v.Valid = c.validity(buf, from, to)
		return c.oneEntry(buf, v, d), nil
	}
	v, err := c.bareCodes(buf, from, to, nil)
	if err != nil {
		return nil, err
	}
	return c.coded(buf, v, d), nil
}

func (c *fileColumn) readCodeRows(buf *Buffer, rows []uint32) (*vector.Vector, error) {
	if c.packed != nil && c.dict.Load() == nil && len(rows)*sparseValues < len(c.packed.blocks) {
		return c.readTexts(buf, 0, 0, rows)
	}
	d, err := c.dictionary()
	if noRoom(err) {
		return c.readTexts(buf, 0, 0, rows)
	}
	if err != nil {
		return nil, err
	}
	if c.meta.width == 0 {
		v := buf.vector(c.meta.Type, len(rows))
		v.Valid = c.validityRows(buf, rows)
		return c.oneEntry(buf, v, d), nil
	}
	v, err := c.bareCodes(buf, 0, 0, rows)
	if err != nil {
		return nil, err
	}
	return c.coded(buf, v, d), nil
}

// readTexts reads rows, nil: those from up to to, as texts of their own: they are few beside a
// packed dictionary, or memory does not do for it.
func (c *fileColumn) readTexts(buf *Buffer, from, to int, rows []uint32) (*vector.Vector, error) {
	v, err := c.bareCodes(buf, from, to, rows)
	if err != nil {
		return nil, err
	}
	buf.strings = grown(buf.strings, v.Len)
	v.Strings = buf.strings
	err = c.packed.values(v.Codes, v.Valid, v.Strings)
	v.Codes = nil
	return v, err
}

// bareCodes returns the codes of rows, nil: those from up to to.
func (c *fileColumn) bareCodes(buf *Buffer, from, to int, rows []uint32) (*vector.Vector, error) {
	n, w := to-from, c.meta.width
	if rows != nil {
		n = len(rows)
	}
	v := buf.vector(c.meta.Type, n)
	if rows != nil {
		v.Valid = c.validityRows(buf, rows)
	} else {
		v.Valid = c.validity(buf, from, to)
	}
	if w == 0 {
		buf.codes = grown(buf.codes, n)
		clear(buf.codes)
		v.Codes = buf.codes
		return v, nil
	}
	if rows == nil {
		if err := c.codes.touch(from*w, to*w); err != nil {
			return nil, err
		}
		switch b := c.codes.b[from*w : to*w]; w {
		case 1:
			v.Codes = widen(buf, b)
		case 2:
			v.Codes = widen(buf, view[uint16](b))
		case 4:
			v.Codes = view[uint32](b)
		}
		return v, nil
	}
	if err := c.codes.touchRows(rows, w); err != nil {
		return nil, err
	}
	buf.codes = grown(buf.codes, n)
	v.Codes = buf.codes
	switch w {
	case 1:
		pick(buf.codes, c.codes.b, rows)
	case 2:
		pick(buf.codes, view[uint16](c.codes.b), rows)
	case 4:
		pick(buf.codes, view[uint32](c.codes.b), rows)
	}
	return v, nil
}

// touchRows accepts the bytes of the given ascending rows, each of w bytes.
func (a *area) touchRows(rows []uint32, w int) error {
	last := -1
	for _, r := range rows {
		if chunk := int(r) * w >> a.log2; chunk != last {
			if err := a.touch(int(r)*w, int(r)*w+w); err != nil {
				return err
			}
			last = (int(r)*w + w - 1) >> a.log2
		}
	}
	return nil
}

// oneEntry completes v for a dictionary of one entry, which has no codes.
func (c *fileColumn) oneEntry(buf *Buffer, v *vector.Vector, d *vector.Dict) *vector.Vector {
	if v.Valid == nil {
		buf.strings = grown(buf.strings, 1)
		buf.strings[0] = d.Value(0)
		v.Strings, v.Const = buf.strings, true
		return v
	}
	buf.codes = grown(buf.codes, v.Len)
	clear(buf.codes)
	v.Codes = buf.codes
	return c.coded(buf, v, d)
}

// coded completes v, which has codes: nested values are handed out as texts, strings as codes.
func (c *fileColumn) coded(buf *Buffer, v *vector.Vector, d *vector.Dict) *vector.Vector {
	if c.meta.Type.Kind == vector.KindString {
		v.Dict = d
		return v
	}
	buf.strings = grown(buf.strings, v.Len)
	for i, code := range v.Codes {
		buf.strings[i] = d.Value(code)
	}
	v.Codes, v.Strings = nil, buf.strings
	return v
}

func widen[T uint8 | uint16](buf *Buffer, src []T) []uint32 {
	buf.codes = grown(buf.codes, len(src))
	dst := buf.codes
	for ; len(src) >= 8 && len(dst) >= 8; src, dst = src[8:], dst[8:] {
		s, d := (*[8]T)(src), (*[8]uint32)(dst)
		d[0], d[1], d[2], d[3] = uint32(s[0]), uint32(s[1]), uint32(s[2]), uint32(s[3])
		d[4], d[5], d[6], d[7] = uint32(s[4]), uint32(s[5]), uint32(s[6]), uint32(s[7])
	}
	for i, x := range src {
		dst[i] = uint32(x)
	}
	return buf.codes
}

func pick[T uint8 | uint16 | uint32](dst []uint32, src []T, rows []uint32) {
	for i, r := range rows {
		dst[i] = uint32(src[r])
	}
}

// bitmap returns the rows that hold entry code of the dictionary.
func (c *fileColumn) bitmap(code uint32) (*roaring.Bitmap, error) {
	if c.meta.enc == encList {
		return c.element.bitmap(code)
	}
	if c.indexOffsets == nil || int(code) >= c.meta.dictSize {
		return nil, nil
	}
	raw, err := c.indexOffsets.all()
	if err != nil {
		return nil, err
	}
	offsets := view[uint64](raw)
	if !c.indexChecked.Load() {
		for i, o := range offsets {
			if o > uint64(len(c.indexBitmaps.b)) || i > 0 && o < offsets[i-1] {
				return nil, c.indexOffsets.corrupt(8*i, "its index offsets do not ascend within its index")
			}
		}
		c.indexChecked.Store(true)
	}
	lo, hi := int(offsets[code]), int(offsets[code+1])
	if err := c.indexBitmaps.touch(lo, hi); err != nil {
		return nil, err
	}
	out := roaring.New()
	n, err := out.FromBuffer(c.indexBitmaps.b[lo:hi:hi])
	if err != nil || n != int64(hi-lo) || out.Validate() != nil || !out.IsEmpty() && int64(out.Maximum()) >= int64(c.indexRows) {
		return nil, c.indexBitmaps.corrupt(lo, "a bitmap of its index is malformed")
	}
	return out, nil
}
