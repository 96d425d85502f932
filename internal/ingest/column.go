package ingest

import (
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

// Column collects the values of one field, row after row, and gives them away as a vector per
// batch. What it gives away it never touches again: a batch stays valid as long as it is
// referenced.
type column struct {
	typ     vector.Type
	rows    int
	hint    int      // rows of the batch before
	invalid []uint32 // rows without a value, ascending

	longs   []int64
	doubles []float64
	floats  []float32
	text    texts    // of strings and complex values
	offsets []uint32 // of lists, one more than rows
	child   *column

	whole  bool      // whole numbers are values as they are
	when   *Instants // of the time of rows
	strict bool      // values must be numbers
	// instead is what a row that has no value gets, an Object's value; nil: none. position and cells
	// say how it is appended.
	instead  any
	position int
	cells    *sink
	flaw     flaw // of the row at hand
}

func newColumn(t vector.Type) *column {
	c := &column{typ: t}
	switch t.Kind {
	case vector.KindList:
		c.child = newColumn(t.Elem())
		c.offsets = append(c.offsets, 0)
	case vector.KindComplex: // dictionaries are for strings
		c.text.plain, c.text.opaque = true, true
	}
	return c
}

// null appends a row without a value.
func (c *column) null() {
	if v := c.instead; v != nil {
		c.instead = nil
		c.cells.objectCell(c.position, c, v)
		c.instead = v
		return
	}
	if c.when != nil {
		c.instant(c.when.Of(nil))
		return
	}
	c.invalid = append(c.invalid, uint32(c.rows))
	switch c.typ.Kind {
	case vector.KindLong:
		c.long(0)
	case vector.KindDouble:
		c.double(0)
	case vector.KindFloat:
		c.float(0)
	case vector.KindList:
		c.endList()
	default:
		c.text.null()
		c.rows++
	}
}

func (c *column) long(x int64)     { c.longs = append(c.longs, x); c.rows++ }
func (c *column) double(x float64) { c.doubles = append(c.doubles, x); c.rows++ }
func (c *column) float(x float32)  { c.floats = append(c.floats, x); c.rows++ }

// str appends a string or a complex value. The bytes are copied.
func (c *column) str(b []byte) { c.text.add(b); c.rows++ }

// endList ends a row whose elements are those appended to child since the row before.
func (c *column) endList() { c.offsets = append(c.offsets, uint32(c.child.rows)); c.rows++ }

// build returns the rows as a vector and leaves the column empty.
func (c *column) build() *vector.Vector {
	v := &vector.Vector{Type: c.typ, Len: c.rows}
	if len(c.invalid) > 0 {
		v.Valid = vector.FullBitmap(c.rows)
		for _, i := range c.invalid {
			v.Valid.Clear(int(i))
		}
	}
	c.hint = c.rows
	switch c.typ.Kind {
	case vector.KindLong:
		v.Longs, c.longs = c.longs, nil
	case vector.KindDouble:
		v.Doubles, c.doubles = c.doubles, nil
	case vector.KindFloat:
		v.Floats, c.floats = c.floats, nil
	case vector.KindList:
		v.Offsets, c.offsets = c.offsets, []uint32{0}
		v.Child = c.child.build()
	default:
		c.text.build(v, c.rows)
	}
	c.rows, c.invalid = 0, c.invalid[:0]
	return v
}

// reserve makes room for rows, so that a steady stream of batches allocates each slice once. Lists
// have as many values as those of the batch before.
func (c *column) reserve(rows int) {
	switch c.typ.Kind {
	case vector.KindLong:
		c.longs = slices.Grow(c.longs, rows)
	case vector.KindDouble:
		c.doubles = slices.Grow(c.doubles, rows)
	case vector.KindFloat:
		c.floats = slices.Grow(c.floats, rows)
	case vector.KindList:
		c.offsets = slices.Grow(c.offsets, rows)
		if c.hint > 0 {
			c.child.reserve(rows*c.child.hint/c.hint + 1)
		}
	default:
		c.text.reserve(rows)
	}
}
