package segment

import (
	"container/list"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/vector"
)

// fileColumn is a column of a segment file, or the elements of a list. Its directories (validity,
// blocks, list offsets) have been checked whole when it exists; values are checked when they are
// touched. It implements Column.
type fileColumn struct {
	seg  *Segment
	meta *columnMeta
	name string

	valid  vector.Bitmap // nil: no nulls
	codes  *area         // encDict, unless there is one entry
	frames []frameBlock  // encFrame
	raws   []rawBlock    // encRaw
	data   *area         // encFrame, encRaw, encBlob
	sums   []uint64      // encFrame, encRaw: the bits of each block's sum; nil: not known
	lists  []uint32      // encList
	blobs  []blobBlock   // encBlob

	element *fileColumn

	dictOffsets, dictBytes     *area
	packed                     *packedDict        // the dictionary, unless it is stored as it is
	source                     *vector.DictSource // of packed, which is decoded again when it was not kept
	kept                       *list.Element      // among the decoded dictionaries; under their lock
	indexOffsets, indexBitmaps *area
	indexRows                  int         // row numbers in the index are below
	asked                      atomic.Bool // for the dictionary, since it was last looked at among the decoded
	dict                       atomic.Pointer[vector.Dict]
	lent                       weak.Pointer[vector.Dict] // one decoded from packed, as long as somebody holds it; under dictOnce
	dictOnce                   sync.Mutex
	indexChecked               atomic.Bool
}

// openColumn reads the range of a column of the footer and checks its directories.
func (s *Segment) openColumn(m *columnMeta) (*fileColumn, error) {
	var b []byte
	if m.length > 0 {
		var err error
		if b, err = s.bytes.span(m.off, m.length); err != nil {
			return nil, err
		}
		if err := s.arrived(m, b); err != nil {
			return nil, err
		}
	}
	return s.openIn(m, m, b, m.rows)
}

// openIn opens c, which is top or the elements inside it; b is the range of top.
func (s *Segment) openIn(c, top *columnMeta, b []byte, rows int) (*fileColumn, error) {
	out := &fileColumn{seg: s, meta: c, name: top.label(), indexRows: rows}
	area := func(k partKind) *area {
		p := c.part(k)
		if p == nil {
			return nil
		}
		chunks := int((p.length-1)>>s.foot.chunkLog2) + 1
		return &area{file: s.name, column: top.label(), kind: k, at: top.off + p.off, b: b[p.off : p.off+p.length : p.off+p.length],
			log2: s.foot.chunkLog2, sums: s.foot.checksums[p.firstSum : p.firstSum+chunks], seen: make([]uint64, (chunks+63)/64), damaged: &s.damaged}
	}
	if err := out.openValid(area(partValid)); err != nil {
		return nil, err
	}
	var err error
	switch c.enc {
	case encDict:
		out.dictOffsets, out.dictBytes = area(partDictOffsets), area(partDictBytes)
		out.indexOffsets, out.indexBitmaps = area(partIndexOffsets), area(partIndexBitmaps)
		if out.codes = area(partCodes); out.codes != nil {
			out.codes.check = codeCheck(c.width, c.dictSize)
		}
		if blocks := area(partDictBlocks); blocks != nil {
			out.packed, err = openPackedDict(blocks, area(partDictData), c.dictSize)
			out.source = &vector.DictSource{}
		}
	case encFrame:
		out.data = area(partData)
		if err = out.openFrames(area(partBlocks)); err == nil {
			err = out.openSums(area(partSums))
		}
	case encRaw:
		out.data = area(partData)
		if err = out.openRaws(area(partBlocks)); err == nil {
			err = out.openSums(area(partSums))
		}
	case encList:
		if err = out.openLists(area(partListOffsets)); err == nil {
			out.element, err = s.openIn(c.element, top, b, rows)
		}
	case encBlob:
		out.data = area(partBlobData)
		err = out.openBlobs(area(partBlobBlocks))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *fileColumn) openValid(a *area) error {
	if a == nil {
		return nil
	}
	b, err := a.all()
	if err != nil {
		return err
	}
	c.valid = vector.Bitmap(view[uint64](b))
	if c.valid.Count(c.meta.rows) != c.meta.rows-c.meta.Nulls {
		return a.corrupt(0, "the number of its nulls does not match")
	}
	return nil
}

// Info describes the column.
func (c *fileColumn) Info() *ColumnInfo { return &c.meta.ColumnInfo }

// Read returns rows from up to, not including, to.
func (c *fileColumn) Read(buf *Buffer, from, to int) (v *vector.Vector, err error) {
	if buf == nil {
		buf = &Buffer{}
	}
	err = c.seg.guard(func() error {
		v, err = c.read(buf, from, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// ReadRows returns the rows named by rows.
func (c *fileColumn) ReadRows(buf *Buffer, rows []uint32) (v *vector.Vector, err error) {
	if buf == nil {
		buf = &Buffer{}
	}
	err = c.seg.guard(func() error {
		v, err = c.readRows(buf, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (c *fileColumn) read(buf *Buffer, from, to int) (*vector.Vector, error) {
	if from >= to {
		return vector.New(c.meta.Type, 0), nil
	}
	switch c.meta.enc {
	case encDict:
		return c.readCodes(buf, from, to)
	case encFrame:
		return c.readFrames(buf, from, to)
	case encRaw:
		return c.readRaw(buf, from, to)
	case encList:
		return c.readLists(buf, from, to)
	case encBlob:
		return c.readBlobs(buf, from, to)
	}
	return vector.Nulls(c.meta.Type, to-from), nil
}

func (c *fileColumn) readRows(buf *Buffer, rows []uint32) (*vector.Vector, error) {
	if len(rows) == 0 {
		return vector.New(c.meta.Type, 0), nil
	}
	switch c.meta.enc {
	case encDict:
		return c.readCodeRows(buf, rows)
	case encFrame:
		return c.readFrameRows(buf, rows)
	case encRaw:
		return c.readRawRows(buf, rows)
	case encList:
		return c.readListRows(buf, rows)
	case encBlob:
		return c.readBlobRows(buf, rows)
	}
	return vector.Nulls(c.meta.Type, len(rows)), nil
}

// validity returns the validity of rows from up to to, nil if all of them have a value.
func (c *fileColumn) validity(buf *Buffer, from, to int) vector.Bitmap {
	if c.valid == nil {
		return nil
	}
	n := to - from
	var out vector.Bitmap
	if shift := uint(from) & 63; shift == 0 {
		out = c.valid[from>>6 : (to+63)>>6]
	} else {
		words := (n + 63) / 64
		buf.valid = grown(buf.valid, words)
		for i := range buf.valid {
			w := from>>6 + i
			x := c.valid[w] >> shift
			if w+1 < len(c.valid) {
				x |= c.valid[w+1] << (64 - shift)
			}
			buf.valid[i] = x
		}
		out = buf.valid
	}
	if out.Count(n) == n {
		return nil
	}
	return out
}

// validityRows returns the validity of the given rows, nil if all of them have a value.
func (c *fileColumn) validityRows(buf *Buffer, rows []uint32) vector.Bitmap {
	if c.valid == nil {
		return nil
	}
	buf.valid = grown(buf.valid, (len(rows)+63)/64)
	present := 0
	for w := range buf.valid {
		var x uint64
		for i, r := range rows[w*64 : min(w*64+64, len(rows))] {
			x |= c.valid[r>>6] >> (r & 63) & 1 << uint(i)
		}
		buf.valid[w] = x
		present += bits.OnesCount64(x)
	}
	if present == len(rows) {
		return nil
	}
	return buf.valid
}

// LongRange bounds the values of a block of a Long column.
func (c *fileColumn) LongRange(block int) (least, greatest int64, known bool) {
	if c.meta.enc == encNull {
		return 1, 0, true
	}
	if block < 0 || block >= len(c.frames) {
		return 0, 0, false
	}
	return c.frames[block].Min, c.frames[block].Max, true
}

// DoubleRange bounds the values of a block of a Double or Float column. A block with a NaN is not
// bounded.
func (c *fileColumn) DoubleRange(block int) (least, greatest float64, known bool) {
	if c.meta.enc == encNull {
		return 1, 0, true
	}
	if block < 0 || block >= len(c.raws) || c.raws[block].Flags&rawBlockNaN != 0 {
		return 0, 0, false
	}
	if c.raws[block].Flags&rawBlockEmpty != 0 {
		return 1, 0, true
	}
	return c.raws[block].Min, c.raws[block].Max, true
}

// Totals returns what the rows of a block come to.
func (c *fileColumn) Totals(block int) (t Totals, known bool) {
	from := block * BlockRows
	if block < 0 || from >= c.meta.rows {
		return t, false
	}
	t.Values = min(BlockRows, c.meta.rows-from)
	switch {
	case c.meta.enc == encNull:
		return Totals{}, true
	case c.valid != nil:
		t.Values = c.valid[from>>6:].Count(t.Values)
	}
	if c.meta.enc == encFrame || c.meta.enc == encRaw {
		if c.sums == nil {
			return t, false
		}
		t.Long, t.Double = int64(c.sums[block]), math.Float64frombits(c.sums[block])
	}
	return t, true
}

// Dict returns the dictionary, of a list its elements'.
func (c *fileColumn) Dict() (d *vector.Dict, err error) {
	err = c.seg.guard(func() error {
		d, err = c.dictionary()
		return err
	})
	return d, err
}

// Lookup returns the code of s, as vector.Dict.Lookup does, without the whole dictionary.
func (c *fileColumn) Lookup(s string) (code uint32, found bool, err error) {
	if c.meta.enc == encList {
		return c.element.Lookup(s)
	}
	err = c.seg.guard(func() error {
		if c.packed != nil && c.dict.Load() == nil {
			code, found, err = c.packed.lookup(s)
			return err
		}
		d, err := c.dictionary()
		if d != nil {
			code, found = d.Lookup(s)
		}
		return err
	})
	return code, found, err
}

// Codes returns the codes of rows without a dictionary.
func (c *fileColumn) Codes(buf *Buffer, from, to int, rows []uint32) (v *vector.Vector, err error) {
	if buf == nil {
		buf = &Buffer{}
	}
	err = c.seg.guard(func() error {
		v, err = c.bareCodes(buf, from, to, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Bitmap returns the rows that hold entry code of the dictionary, or nil.
func (c *fileColumn) Bitmap(code uint32) (b *roaring.Bitmap, err error) {
	err = c.seg.guard(func() error {
		b, err = c.bitmap(code)
		return err
	})
	return b, err
}

// verify checks everything that touching every row would.
func (c *fileColumn) verify() error {
	for _, a := range []*area{c.codes, c.data, c.indexOffsets, c.indexBitmaps} {
		if a != nil {
			if _, err := a.all(); err != nil {
				return err
			}
		}
	}
	switch c.meta.enc {
	case encDict:
		if c.packed != nil { // not kept: a file is verified before anybody reads it
			if _, err := c.packed.all(); err != nil {
				return err
			}
		} else if _, err := c.dictionary(); err != nil {
			return err
		}
		for code := 0; c.indexOffsets != nil && code < c.meta.dictSize; code++ {
			if _, err := c.bitmap(uint32(code)); err != nil {
				return err
			}
		}
	case encBlob:
		for i := range c.blobs {
			if _, err := c.blobBlock(i); err != nil {
				return err
			}
		}
	case encList:
		return c.element.verify()
	}
	return nil
}
