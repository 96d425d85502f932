package segment

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/vector"
)

// lists writes c as the offset of each row's first element, and its elements as a column of their
// own.
func (e *columnEncoder) lists(c *columnMeta, feed columnFeed) error {
	if c.Multi {
		plain, err := isPlain(feed)
		if err != nil {
			return err
		}
		if plain {
			c.Type, c.Multi = vector.String, false
			return e.strings(c, plainFeed(feed))
		}
	}
	c.enc = encList
	part, err := e.part(c, partListOffsets)
	if err != nil {
		return err
	}
	var valid validity
	elements := uint32(0)
	if err := part.write(bytesOf([]uint32{0})); err != nil {
		return err
	}
	var offsets []uint32
	err = feed(func(v *vector.Vector) error {
		valid.add(v)
		offsets = offsets[:0]
		base := v.Offsets[0]
		for _, o := range v.Offsets[1 : v.Len+1] {
			offsets = append(offsets, elements+o-base)
		}
		elements += v.Offsets[v.Len] - base
		return part.write(bytesOf(offsets))
	})
	if err != nil {
		return err
	}
	part.end()
	if err := e.valid(c, &valid); err != nil {
		return err
	}
	c.element = &columnMeta{ColumnInfo: ColumnInfo{Name: c.Name, Type: c.Type.Elem()}, rows: int(elements)}
	err = e.values(c.element, func(f func(*vector.Vector) error) error {
		return feed(func(v *vector.Vector) error { return f(elementsOf(v)) })
	})
	if err != nil || c != e.top {
		return err
	}
	if el := c.element; el.enc == encDict && el.Type.Kind == vector.KindString {
		c.Distinct, c.DistinctExact = el.Distinct, true
		if el.dictSize <= e.bitmapValues { // also one entry: a list may be without it
			ix := newIndexBuilder(el.dictSize, c.element.rows)
			row := 0
			err = feed(func(v *vector.Vector) error {
				ix.addLists(v, row)
				row += v.Len
				return nil
			})
			if err != nil {
				return err
			}
			return e.index(el, ix)
		}
	}
	return nil
}

// elementsOf returns the elements of the rows of v, flat.
func elementsOf(v *vector.Vector) *vector.Vector {
	child := v.Child.Slice(int(v.Offsets[0]), int(v.Offsets[v.Len]))
	if child.Const {
		rows := make([]uint32, child.Len)
		one := *child
		one.Const, one.Len = false, 1
		child = one.Gather(rows)
	}
	return child
}

// isPlain reports whether every row has one value that is not null, or is null.
func isPlain(feed columnFeed) (bool, error) {
	plain := true
	err := feed(func(v *vector.Vector) error {
		for i := 0; i < v.Len && plain; i++ {
			if v.Valid.Get(i) {
				lo, hi := v.ListAt(i)
				plain = hi-lo == 1 && !v.Child.IsNull(lo)
			}
		}
		return nil
	})
	return plain, err
}

// plainFeed feeds the only values of lists for which isPlain holds.
func plainFeed(feed columnFeed) columnFeed {
	return func(f func(*vector.Vector) error) error {
		return feed(func(v *vector.Vector) error {
			out := &vector.Vector{Type: vector.String, Len: v.Len, Valid: v.Valid, Codes: make([]uint32, v.Len), Dict: mergedCodes}
			for i := range v.Len {
				if v.Valid.Get(i) {
					lo, _ := v.ListAt(i)
					out.Codes[i] = v.Child.Codes[constRow(v.Child, lo)]
				}
			}
			return f(out)
		})
	}
}

// indexBuilder collects the rows of each entry of a dictionary.
//
// Rows arrive in order and are kept for a stretch of them, then sorted by code, so that each bitmap
// gets its rows in runs.
type indexBuilder struct {
	bitmaps []*roaring.Bitmap
	// scans says that reading all codes costs little more than an index does: unless its bitmaps are
	// small it is given up.
	scans   bool
	givenUp bool
	n       int      // rows so far
	codes   []uint32 // of the stretch
	rows    []uint32
	starts  []uint32
	sorted  []uint32
}

const indexStretch = 1 << 16

// newIndexBuilder returns one for a dictionary of n entries, which values, or fewer, are codes of.
func newIndexBuilder(n, values int) *indexBuilder {
	room := min(values, indexStretch+vector.BatchRows)
	return &indexBuilder{bitmaps: make([]*roaring.Bitmap, n), starts: make([]uint32, n+1), codes: make([]uint32, 0, room), rows: make([]uint32, 0, room)}
}

func (ix *indexBuilder) addRows(v *vector.Vector, row int) {
	if ix.givenUp {
		return
	}
	for i, c := range v.Codes[:v.Len] {
		if v.Valid.Get(i) {
			ix.codes = append(ix.codes, c)
			ix.rows = append(ix.rows, uint32(row+i))
		}
	}
	ix.n = row + v.Len
	if len(ix.codes) >= indexStretch {
		ix.flush()
		ix.judge()
	}
}

// judge gives the index up if a bit for each row would not hold it.
func (ix *indexBuilder) judge() {
	if !ix.scans {
		return
	}
	size := uint64(0)
	for _, b := range ix.bitmaps {
		if b != nil {
			size += b.GetSizeInBytes()
		}
	}
	if size > uint64(ix.n/8) {
		ix.givenUp, ix.bitmaps = true, nil
	}
}

func (ix *indexBuilder) addLists(v *vector.Vector, row int) {
	for i := range v.Len {
		if !v.Valid.Get(i) {
			continue
		}
		lo, hi := v.ListAt(i)
		for ; lo < hi; lo++ {
			if !v.Child.IsNull(lo) {
				ix.codes = append(ix.codes, v.Child.Codes[constRow(v.Child, lo)])
				ix.rows = append(ix.rows, uint32(row+i))
			}
		}
	}
	if len(ix.codes) >= indexStretch {
		ix.flush()
	}
}

// flush adds the rows of the stretch to the bitmaps of their entries.
func (ix *indexBuilder) flush() {
	ix.sort()
	for c := range ix.bitmaps {
		ix.add(c)
	}
	ix.codes, ix.rows = ix.codes[:0], ix.rows[:0]
}

// sort sorts the rows of the stretch by code.
func (ix *indexBuilder) sort() {
	clear(ix.starts)
	for _, c := range ix.codes {
		ix.starts[c+1]++
	}
	for c := 1; c < len(ix.starts); c++ {
		ix.starts[c] += ix.starts[c-1]
	}
	ix.sorted = grown(ix.sorted, len(ix.rows))
	at := slices.Clone(ix.starts)
	for i, c := range ix.codes {
		ix.sorted[at[c]] = ix.rows[i]
		at[c]++
	}
}

// of returns the rows of an entry in the stretch that was sorted.
func (ix *indexBuilder) of(c int) []uint32 { return ix.sorted[ix.starts[c]:ix.starts[c+1]] }

// add adds those to the entry's bitmap.
func (ix *indexBuilder) add(c int) {
	rows := ix.of(c)
	if len(rows) == 0 {
		return
	}
	if ix.bitmaps[c] == nil {
		ix.bitmaps[c] = roaring.New()
	}
	ix.bitmaps[c].AddMany(rows)
}

// appendRows appends the bitmap of rows, which ascend, as roaring writes it where that is a plain
// array of rows within one container; else it reports false. Most entries of a large dictionary
// have a row or two, for which making a bitmap takes far longer than writing it.
func appendRows(dst []byte, rows []uint32) ([]byte, bool) {
	const (
		cookie  = 12346 // none of the containers is of runs
		largest = 4096  // beyond it a container is bits
		header  = 16
	)
	if len(rows) == 0 || len(rows) > largest || rows[0]>>16 != rows[len(rows)-1]>>16 {
		return dst, false
	}
	runs := 1
	for i, row := range rows[1:] {
		switch row - rows[i] {
		case 0: // twice in a list
			return dst, false
		case 1:
		default:
			runs++
		}
	}
	if 2+4*runs <= 2*len(rows) {
		return dst, false // runs take less
	}
	dst = binary.LittleEndian.AppendUint32(dst, cookie)
	dst = binary.LittleEndian.AppendUint32(dst, 1)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(rows[0]>>16))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(rows)-1))
	dst = binary.LittleEndian.AppendUint32(dst, header)
	for _, row := range rows {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(row))
	}
	return dst, true
}

// appendBitmap appends the bitmap of an entry with its rows in the last stretch.
func (ix *indexBuilder) appendBitmap(dst []byte, c int) ([]byte, error) {
	if ix.bitmaps[c] == nil {
		if dst, ok := appendRows(dst, ix.of(c)); ok {
			return dst, nil
		}
	}
	ix.add(c)
	b := ix.bitmaps[c]
	if b == nil {
		b = roaring.New()
	}
	b.RunOptimize()
	out := bytes.NewBuffer(dst)
	_, err := b.WriteTo(out)
	return out.Bytes(), err
}

// index writes the index of c, if there is one.
func (e *columnEncoder) index(c *columnMeta, ix *indexBuilder) error {
	if ix == nil || ix.givenUp {
		return nil
	}
	ix.sort()
	part, err := e.part(c, partIndexBitmaps)
	if err != nil {
		return err
	}
	offsets := make([]uint64, 1, len(ix.bitmaps)+1)
	var text []byte
	for i := range ix.bitmaps {
		if text, err = ix.appendBitmap(text[:0], i); err != nil {
			return e.file.failed(err)
		}
		if err := part.write(text); err != nil {
			return err
		}
		offsets = append(offsets, uint64(part.part.length))
		ix.bitmaps[i] = nil
	}
	part.end()
	c.Indexed, e.top.Indexed = true, true
	return e.whole(c, partIndexOffsets, bytesOf(offsets))
}
