package join

import (
	"context"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// fewNumbers is how far apart the keys of a small table may lie to be numbered by distance: dates
// written as 20240131 do.
const fewNumbers = 1 << 18

// table is the build side of a join: its rows and, by key, which rows have it. It is read by
// any number of goroutines.
//
// Without keys every row is a candidate for every other. Rows with a null in a key that is not
// null-safe (or NaN, which equals nothing) are kept and have no key: they have no partner.
//
// Keys of one Long column whose values lie close together have numbers, the distances from the
// least, and so have those of one column of text, which is numbered. Others are found in a hash
// table.
type table struct {
	rows *vector.Batch
	free int64
	equi []plan.EquiKey // empty: no keys
	// ranges are the rows in the order of a value, if the condition asks for it; nil: it does not, or
	// keys have one row.
	ranges *lazyRanges

	words *keys.Table // turns keys into words; nil: they are Longs with numbers
	hash  *hashTable  // of the words; nil: keys have numbers
	least int64       // number 0,
	span  uint64      // and how many numbers there are

	// unique says that no key has two rows; only is then by key number + 1 the row + 1, 0: there is
	// none.
	unique bool
	only   []uint32
	// Else there are:
	starts []uint32 // by key number + 1: where its rows start in order; they end where those of the next do
	order  []uint32 // rows by key
	// nullKey says that some row has a null in a key (what NOT IN wants to know).
	nullKey bool
}

// newTable takes over rows.
func newTable(ctx context.Context, rows *vector.Batch, n *plan.Join, options *Options) (*table, error) {
	t := &table{rows: rows, equi: n.Keys, free: options.Budget.Free()}
	if t.keyed() {
		if err := t.index(ctx, options); err != nil {
			return nil, err
		}
	}
	if !t.unique && rangeConditionOf(n) != nil {
		t.ranges = &lazyRanges{account: budget.NewAccount(options.Budget)}
	}
	return t, nil
}

func (t *table) keyed() bool { return len(t.equi) > 0 }

func (t *table) index(ctx context.Context, options *Options) error {
	n := t.rows.N
	cols := make([]*vector.Vector, len(t.equi))
	for i, k := range t.equi {
		cols[i] = vector.OneZero(t.rows.Cols[k.Right])
	}
	without := withoutKey(cols, t.equi, n)
	t.nullKey = nullKeys(cols, t.equi, n) != nil
	var of []uint32 // the number of each row's key; those of rows without one mean nothing
	if t.near(cols, without) {
		of = make([]uint32, n)
		for i, x := range cols[0].Longs[:n] {
			of[i] = uint32(x - t.least)
		}
	} else {
		words, err := t.turn(ctx, cols, n, options)
		if err != nil {
			return err
		}
		if len(cols) > 1 || cols[0].Type.IsNumeric() {
			if t.hash, err = newHashTable(ctx, words, t.words.Stride, n, without, options); err != nil {
				return err
			}
			t.unique, t.order = t.hash.order == nil, t.hash.order
			return nil
		}
		t.span = uint64(t.words.Cols[0].Texts.Len()) + 1
		of = make([]uint32, n)
		for i, w := range words {
			of[i] = uint32(w)
		}
	}
	if t.unique = t.one(of, without, int(t.span)); !t.unique {
		t.group(of, without, int(t.span))
	}
	return nil
}

// one notes the row of each key, and reports whether none has two.
func (t *table) one(of []uint32, without []bool, numbers int) bool {
	t.only = make([]uint32, numbers+1)
	for i, k := range of {
		if without != nil && without[i] {
			continue
		}
		if t.only[k+1] != 0 {
			t.only = nil
			return false
		}
		t.only[k+1] = uint32(i) + 1
	}
	return true
}

// group brings rows with the same key together, in their order, by a counting sort.
func (t *table) group(of []uint32, without []bool, numbers int) {
	t.starts = make([]uint32, numbers+2)
	for i, k := range of {
		if without == nil || !without[i] {
			t.starts[k+2]++
		}
	}
	for k := range numbers {
		t.starts[k+2] += t.starts[k+1]
	}
	t.order = make([]uint32, t.starts[numbers+1])
	next := append([]uint32(nil), t.starts[1:]...)
	for i, k := range of {
		if without == nil || !without[i] {
			t.order[next[k]] = uint32(i)
			next[k]++
		}
	}
}

// turn returns the words of each row's key, those of one behind those of the other.
func (t *table) turn(ctx context.Context, cols []*vector.Vector, n int, options *Options) ([]uint64, error) {
	types := make([]vector.Type, len(cols))
	for i, c := range cols {
		types[i] = c.Type
	}
	t.words = keys.NewTable(types, nil)
	for i, c := range cols {
		if t.equi[i].NullSafe && c.Type.IsNumeric() && c.HasNulls() && !t.words.Masked {
			t.words.Mask()
		}
	}
	s := t.words.Stride
	words := make([]uint64, n*s)
	chunks := max(1, min(options.Threads, n/chunkRows))
	if !t.words.SharesWords() {
		chunks = 1 // texts are numbered as they come
	}
	err := options.AtOnce(ctx, chunks, func(ctx context.Context, c int) error {
		by := t.words
		if chunks > 1 {
			by = t.words.Reader()
		}
		batch := make([]*vector.Vector, len(cols))
		for lo, end := c*n/chunks, (c+1)*n/chunks; lo < end; lo += vector.BatchRows {
			if err := scheduler.Yield(ctx); err != nil {
				return err
			}
			hi := min(lo+vector.BatchRows, end)
			for i, c := range cols {
				batch[i] = c.Slice(lo, hi)
			}
			by.FillWords(batch, hi-lo, words[lo*s:], s)
		}
		return nil
	})
	t.words.Settle()
	return words, err
}

// near finds out whether the numbers of keys can be distances.
func (t *table) near(cols []*vector.Vector, without []bool) bool {
	if len(cols) != 1 || cols[0].Type.Kind != vector.KindLong || t.equi[0].NullSafe || cols[0].Len == 0 || cols[0].Const {
		return false
	}
	xs := cols[0].Longs
	var least, greatest int64
	first := true
	for i, x := range xs {
		if without != nil && without[i] {
			continue
		}
		if first {
			least, greatest, first = x, x, false
		}
		least, greatest = min(least, x), max(greatest, x)
	}
	span := uint64(greatest) - uint64(least)
	if first || span >= uint64(8*len(xs)+1024) && (span >= fewNumbers || t.free < 16*fewNumbers) {
		return false
	}
	t.least, t.span = least, span+1
	return true
}

// Close gives back memory that the table has reserved by itself.
func (t *table) close() {
	if t != nil {
		t.ranges.close()
	}
}

// bytes returns the memory held beside the rows, but for ranges.
func (t *table) bytes() int64 {
	n := 4 * int64(cap(t.starts)+cap(t.order)+cap(t.only))
	if t.words != nil {
		n += t.words.Bytes()
	}
	if t.hash != nil {
		n += t.hash.bytes() - 4*int64(cap(t.order))
	}
	return n
}

// rowBytes is about what indexing takes per row, before the table exists.
func rowBytes(keys int) int64 { return int64(16*(keys+1) + 16 + 12) }

// withoutKey returns which of n rows have no key: a null where nulls are not equal, or NaN. It is
// nil if all have one.
func withoutKey(cols []*vector.Vector, equi []plan.EquiKey, n int) []bool {
	out := nullKeys(cols, equi, n)
	for c, v := range cols {
		if equi[c].NullSafe || v.Type.Kind != vector.KindDouble && v.Type.Kind != vector.KindFloat {
			continue
		}
		for i := range n {
			if v.IsNull(i) {
				continue
			}
			if x := v.DoubleAt(i); x != x {
				if out == nil {
					out = make([]bool, n)
				}
				out[i] = true
			}
		}
	}
	return out
}

// nullKeys returns which of n rows have a null in a key where nulls are not equal; nil: none. NOT
// IN asks for them: it is unknown of a null, while NaN is not among any rows.
func nullKeys(cols []*vector.Vector, equi []plan.EquiKey, n int) []bool {
	var out []bool
	for c, v := range cols {
		if equi[c].NullSafe || v.Valid == nil {
			continue
		}
		for i := range n {
			if v.IsNull(i) {
				if out == nil {
					out = make([]bool, n)
				}
				out[i] = true
			}
		}
	}
	return out
}
