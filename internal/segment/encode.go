package segment

import (
	"github.com/hengedb/henge/internal/vector"
)

// columnFeed hands out the final rows of a column, in batches, as often as it is asked. Vectors are
// flat, strings are codes, and each is valid until f returns.
type columnFeed func(f func(*vector.Vector) error) error

// columnEncoder writes one column of a file.
type columnEncoder struct {
	file  *fileWriter
	top   *columnMeta // the column whose range is being written
	rows  int         // of the segment
	feed  columnFeed
	nulls int // as far as known before reading; rows: certainly all

	// dict writes the entries of the merged dictionary in order, and returns how many there are; nil:
	// no strings.
	dict         func(emit func(string) error) (int, error)
	bitmapValues int

	paths *pathCollector // of a nested column whose paths become columns; nil: they don't
}

// encode writes the whole column.
func (e *columnEncoder) encode() error {
	if err := e.file.beginColumn(e.top); err != nil {
		return err
	}
	if err := e.values(e.top, e.feed); err != nil {
		return err
	}
	e.top.length = e.file.off - e.top.off
	e.top.Size = e.top.length
	return nil
}

// values writes the parts of c, the column or the elements of a list in it.
func (e *columnEncoder) values(c *columnMeta, feed columnFeed) error {
	c.Distinct = -1
	if c.rows == 0 || c == e.top && e.nulls == c.rows {
		return e.null(c)
	}
	switch c.Type.Kind {
	case vector.KindLong:
		return e.longs(c, feed)
	case vector.KindDouble, vector.KindFloat:
		return e.doubles(c, feed)
	case vector.KindString:
		return e.strings(c, feed)
	case vector.KindList:
		return e.lists(c, feed)
	}
	return e.opaque(c, feed)
}

// null makes c a column of nulls only, which has no parts.
func (e *columnEncoder) null(c *columnMeta) error {
	c.enc, c.Nulls, c.parts, c.element = encNull, c.rows, nil, nil
	c.Distinct, c.DistinctExact = 0, true
	return nil
}

func (e *columnEncoder) part(c *columnMeta, k partKind) (*partWriter, error) {
	return e.file.beginPart(c, e.top.off, k)
}

// whole writes a part that is in memory.
func (e *columnEncoder) whole(c *columnMeta, k partKind, b []byte) error {
	p, err := e.part(c, k)
	if err != nil {
		return err
	}
	if err := p.write(b); err != nil {
		return err
	}
	p.end()
	return nil
}

// validity collects which rows have a value.
type validity struct {
	n, nulls int
	bits     vector.Bitmap // nil until there is a null
}

func (b *validity) add(v *vector.Vector) {
	if v.Valid == nil && b.bits == nil {
		b.n += v.Len
		return
	}
	if b.bits == nil {
		b.bits = vector.FullBitmap(b.n)
	}
	for len(b.bits)*64 < b.n+v.Len {
		b.bits = append(b.bits, 0)
	}
	if v.Valid == nil {
		b.bits.SetRange(b.n, b.n+v.Len)
		b.n += v.Len
		return
	}
	for i := range v.Len {
		if v.Valid.Get(i) {
			b.bits.Set(b.n + i)
		} else {
			b.bits.Clear(b.n + i)
			b.nulls++
		}
	}
	b.n += v.Len
}

// valid writes the validity of c.
func (e *columnEncoder) valid(c *columnMeta, b *validity) error {
	c.Nulls = b.nulls
	if b.nulls == 0 {
		return nil
	}
	if r := uint(b.n) & 63; r != 0 {
		b.bits[len(b.bits)-1] &= 1<<r - 1
	}
	return e.whole(c, partValid, bytesOf(b.bits))
}
