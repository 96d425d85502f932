package segment

import (
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// Reader reads the rows of one segment by column: a Segment from its file, a live index from
// memory.
//
// It is safe for use by many goroutines. Rows are numbered from 0, and their number does not
// change: a live index returns a Reader of its current rows.
type Reader interface {
	// Info describes the segment. The caller must not change it.
	Info() *Info
	// Column returns the column called name, or nil if it does not exist. The error is ErrCorrupt or
	// an error of reading the file.
	Column(name string) (Column, error)
	// Advise announces that these columns will be read soon, and starts to load the parts that are not
	// in memory. Unknown names are ignored.
	Advise(columns []string)
	// Acquire takes a reference, and Release releases it. Vectors, dictionaries and bitmaps are valid
	// while the caller has a reference. Acquire returns false if the segment is already closed.
	Acquire() bool
	Release()
}

// Column reads one column of a segment. It is safe for use by many goroutines; each has its own
// Buffer.
type Column interface {
	Info() *ColumnInfo
	// Read returns rows from to to (exclusive). Strings are codes into Dict or a constant; other
	// values are flat or a constant. The vector may share memory with the segment and with buf: it is
	// valid until buf is used again or the segment is released. If buf is nil, Read allocates.
	Read(buf *Buffer, from, to int) (*vector.Vector, error)
	// ReadRows returns the rows whose numbers are in rows, in ascending order. It is efficient for few
	// rows among many. Strings may also be flat.
	ReadRows(buf *Buffer, rows []uint32) (*vector.Vector, error)
	// Dict returns the dictionary of a string column, or of the strings in its lists; nil for columns
	// without a dictionary.
	Dict() (*vector.Dict, error)
	// Lookup is the same as Lookup of Dict. Codes reads a string column without its dictionary: rows
	// from to to (exclusive), or the rows whose numbers are in rows; only Codes and Valid of the
	// result are set. Filters use them, because they do not need the strings. Both require a string
	// column with a dictionary; Lookup also supports the strings in lists.
	Lookup(value string) (code uint32, found bool, err error)
	Codes(buf *Buffer, from, to int, rows []uint32) (*vector.Vector, error)
	// SelectCodes sets a bit of pass for each row from to to (exclusive) whose code passes f. Nulls do
	// not pass. It requires the same columns as Codes.
	SelectCodes(f CodeFilter, from, to int, pass vector.Bitmap) error
	// SelectLongs is SelectCodes for the values of a Long column between least and greatest,
	// inclusive.
	SelectLongs(least, greatest int64, from, to int, pass vector.Bitmap) error
	// Bitmap returns the rows that have entry code of Dict; for lists, at least once. It returns nil
	// if the column has no index. The caller must not change it.
	Bitmap(code uint32) (*roaring.Bitmap, error)
	// LongRange and DoubleRange return bounds of the values of a block, the BlockRows rows that start
	// at block*BlockRows; a block without values has min > max. They return false if nothing is known.
	// LongRange is for Long, DoubleRange for Double and Float.
	LongRange(block int) (min, max int64, known bool)
	DoubleRange(block int) (min, max float64, known bool)
	// Totals returns the totals of the rows of one block, false if they are not known without reading
	// the rows.
	Totals(block int) (t Totals, known bool)
}

// Totals are the number and the sum of the values of one block.
type Totals struct {
	// Values is the number of rows with a value.
	Values int
	// Long is the sum of a Long column, modulo 2^64, and Double that of a Double or Float column.
	Long   int64
	Double float64
}

// Buffer is memory that a goroutine reuses for calls of Column.Read. The zero Buffer is empty.
type Buffer struct {
	vec     vector.Vector
	valid   vector.Bitmap
	longs   []int64
	doubles []float64
	floats  []float32
	codes   []uint32
	offsets []uint32
	strings []string
	rows    []uint32
	child   *Buffer
}

// grown returns s with length n, keeping its memory if it is large enough. Contents are
// unspecified.
func grown[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n)
}

func (b *Buffer) elements() *Buffer {
	if b.child == nil {
		b.child = &Buffer{}
	}
	return b.child
}

// vector resets the buffer's vector to n rows of t.
func (b *Buffer) vector(t vector.Type, n int) *vector.Vector {
	if invariant.Enabled {
		b.poison()
		return &vector.Vector{Type: t, Len: n}
	}
	b.vec = vector.Vector{Type: t, Len: n}
	return &b.vec
}

// poison marks what was read before as released, and gives the memory up, so that what is read now
// can't look like it.
func (b *Buffer) poison() {
	invariant.Poison(b.valid)
	invariant.Poison(b.longs)
	invariant.Poison(b.doubles)
	invariant.Poison(b.floats)
	invariant.Poison(b.codes)
	invariant.Poison(b.offsets)
	invariant.PoisonStrings(b.strings)
	invariant.Poison(b.rows)
	*b = Buffer{child: b.child}
}

// TimeRows returns the rows of r that may have a time between min and max (milliseconds, max
// exclusive): exactly these rows if rows are sorted by time first, all rows otherwise.
func TimeRows(r Reader, min, max int64) (from, to int, err error) {
	info := r.Info()
	if info.HasTimes && (max <= info.MinTime || min > info.MaxTime) || min >= max || info.Rows == 0 {
		return 0, 0, nil
	}
	if len(info.SortOrder) == 0 || info.SortOrder[0] != TimeColumn {
		return 0, info.Rows, nil
	}
	c, err := r.Column(TimeColumn)
	if err != nil || c == nil || c.Info().Type != vector.Long || c.Info().Nulls > 0 {
		return 0, info.Rows, err
	}
	if from, err = firstAtLeast(c, info.Rows, min); err != nil {
		return 0, 0, err
	}
	to, err = firstAtLeast(c, info.Rows, max)
	return from, to, err
}

// firstAtLeast returns the first row of an ascending Long column whose value is at least x.
func firstAtLeast(c Column, rows int, x int64) (int, error) {
	blocks := (rows + BlockRows - 1) / BlockRows
	known := true
	b := sort.Search(blocks, func(i int) bool {
		_, last, ok := c.LongRange(i)
		known = known && ok
		return last >= x
	})
	lo, hi := b*BlockRows, min((b+1)*BlockRows, rows)
	if !known {
		lo, hi = 0, rows
	}
	if lo >= hi {
		return rows, nil
	}
	v, err := c.Read(nil, lo, hi)
	if err != nil {
		return 0, err
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return v.LongAt(i) >= x }), nil
}
