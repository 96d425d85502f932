package segment

import (
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// Reader reads the rows of one segment, a column at a time: a Segment from its file, a live index
// from memory.
//
// It is used by any number of goroutines. Rows are numbered from 0, and their number does not
// change: a live index hands out a Reader of the rows it has at that moment.
type Reader interface {
	// Info describes the segment; the caller does not change it.
	Info() *Info
	// Column returns the column called name, or nil if there is none. Errors are ErrCorrupt, or those
	// of reading the file.
	Column(name string) (Column, error)
	// Advise says that these columns will be read soon. What is not in memory begins to arrive
	// meanwhile; names of no column don't matter.
	Advise(columns []string)
	// Acquire takes a reference, and Release gives it back. Vectors, dictionaries and bitmaps are
	// valid while the caller holds one. Acquire returns false when the segment is closed already.
	Acquire() bool
	Release()
}

// Column reads one column of a segment. It is used by any number of goroutines; each brings its own
// Buffer.
type Column interface {
	Info() *ColumnInfo
	// Read returns rows from up to, not including, to. Strings come as codes into Dict, or as a
	// constant; other values flat, or as a constant. The vector may share memory with the segment and
	// with buf: it is valid until buf is used again and the segment released. A nil buf allocates.
	Read(buf *Buffer, from, to int) (*vector.Vector, error)
	// ReadRows returns the rows named by rows, which ascend. It is worth calling when they are few
	// among many. Strings may also come flat.
	ReadRows(buf *Buffer, rows []uint32) (*vector.Vector, error)
	// Dict returns the dictionary of a string column, or of the strings in its lists; nil for columns
	// that are read without one.
	Dict() (*vector.Dict, error)
	// Lookup returns what Dict's Lookup does, and Codes reads a string column without its dictionary:
	// rows from up to to, or those named by rows, of which only Codes and Valid are set. They are for
	// filters, which need not know the texts. Both are for columns of strings that have a dictionary;
	// Lookup also for the strings in lists.
	Lookup(value string) (code uint32, found bool, err error)
	Codes(buf *Buffer, from, to int, rows []uint32) (*vector.Vector, error)
	// SelectCodes sets pass to a bit for each row from up to, not including, to: whether its code
	// passes f. Nulls do not pass. It is for the columns that Codes is for.
	SelectCodes(f CodeFilter, from, to int, pass vector.Bitmap) error
	// SelectLongs is SelectCodes for the values of a Long column that lie between least and greatest,
	// both included.
	SelectLongs(least, greatest int64, from, to int, pass vector.Bitmap) error
	// Bitmap returns the rows that hold entry code of Dict, in a list: at least once. It returns nil
	// if the column has no index. The caller does not change it.
	Bitmap(code uint32) (*roaring.Bitmap, error)
	// LongRange and DoubleRange bound the values of the rows of one block, the BlockRows rows from
	// block*BlockRows on; a block without values has min > max. They return false if nothing is known.
	// LongRange is for Long, DoubleRange for Double and Float.
	LongRange(block int) (min, max int64, known bool)
	DoubleRange(block int) (min, max float64, known bool)
	// Totals returns what the rows of one block come to, false if that is not known without reading
	// them.
	Totals(block int) (t Totals, known bool)
}

// Totals are what the values of one block come to.
type Totals struct {
	// Values is how many rows have one.
	Values int
	// Long is the sum of a Long column, modulo 2^64, and Double that of a Double or Float column.
	Long   int64
	Double float64
}

// Buffer is memory that a goroutine lends to Column.Read again and again. The zero Buffer is empty.
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

// TimeRows returns the rows of r that may have a time from min up to, not including, max
// (milliseconds): exactly those when rows are sorted by time first, all of them otherwise.
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
