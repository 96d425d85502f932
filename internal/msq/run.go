package msq

import (
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// run is rows in the order they came, held as the batches they came in: nothing is copied before it
// is known where it goes. A run that may be dealt is dealt to its time chunks from the first batch
// on that does not come in their order.
type run struct {
	batches []*vector.Batch
	rows    int
	bytes   int64          // of the batches, and of the keys that sorting will make
	dicts   []*vector.Dict // by column, the one counted last: batches of one source share theirs
	deal    *dealing       // nil: the run is not dealt
	dealt   *dealer        // in place of batches; nil: they came in the order of time chunks so far
}

// dealing says how the rows of a run are dealt to time chunks.
type dealing struct {
	column    int   // of the time chunk
	last      int64 // chunk of the row before
	frameRows int
	limit     int64    // bytes of the run
	spare     [][]pile // memory of frames that may be used again, of so many
	bytes     int64
}

// rowRef is a row of a list of batches.
type rowRef struct{ batch, row uint32 }

// holding says what of a batch must be copied so that it can be held.
type holding uint8

const (
	holdCopy  holding = iota // all but texts and dictionaries, which nobody writes to twice
	holdTexts                // only the texts: others in the same memory may have been filtered out
	holdAsIs                 // nothing
)

// holdingOf returns how the batches of a fragment are held. Those of external data stay as they are
// while they are referenced, and what computes a row from a row makes new columns.
func holdingOf(n plan.Node) holding {
	switch n := n.(type) {
	case *plan.External:
		return holdAsIs
	case *plan.Project:
		return holdingOf(n.Input)
	case *plan.Filter:
		return min(holdingOf(n.Input), holdTexts)
	}
	return holdCopy
}

// add appends the rows of b that count, which will be sorted by the columns keys.
func (r *run) add(b *vector.Batch, h holding, keys []int) {
	if b.Rows() == 0 {
		return
	}
	if r.dealt == nil && r.deal != nil && !r.deal.follows(b) {
		r.toChunks(b)
	}
	if r.dealt != nil {
		r.dealt.add(b)
		r.rows, r.bytes = r.dealt.rows, r.dealt.bytes
		return
	}
	b = held(b, h)
	if r.dicts == nil {
		r.dicts = make([]*vector.Dict, len(b.Cols))
	}
	for i, v := range b.Cols {
		r.bytes += heldBytes(v)
		if v.Dict != nil && v.Dict != r.dicts[i] {
			r.dicts[i] = v.Dict
			r.bytes += int64(len(v.Dict.Blob)) + 4*int64(len(v.Dict.Offsets))
		}
	}
	for _, k := range keys {
		r.bytes += 16*int64(b.N) + vectorBytes(b.Cols[k]) // as plain values, and as bytes that compare
	}
	r.batches = append(r.batches, b)
	r.rows += b.N
}

// follows reports whether the rows of b are in the order of time chunks, and come after those of
// the batches before.
func (d *dealing) follows(b *vector.Batch) bool {
	b = b.Compact()
	v := b.Cols[d.column]
	for lo := 0; lo < b.N; lo = sameLong(v, lo, b.N) {
		x := v.LongAt(lo)
		if x < d.last {
			return false
		}
		d.last = x
	}
	return true
}

// toChunks deals the rows so far, and will deal those to come, which are like those of b.
func (r *run) toChunks(b *vector.Batch) {
	r.dealt = newDealer(b, r.deal.column, r.deal.frameRows, r.deal.limit)
	r.dealt.spare, r.deal.spare = r.deal.spare, nil
	for _, held := range r.batches {
		r.dealt.add(held)
	}
	r.batches, r.dicts = nil, nil
}

// held returns the rows of b that count in memory that stays as it is.
func held(b *vector.Batch, h holding) *vector.Batch {
	if b.Sel != nil {
		b, h = b.Compact(), min(h, holdTexts)
	}
	if h == holdAsIs {
		return b
	}
	out := &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(b.Cols))}
	for i, v := range b.Cols {
		switch {
		case h == holdCopy:
			out.Cols[i] = copyVector(v)
		case v.Dict == nil:
			out.Cols[i] = v.OwnStrings()
		default:
			out.Cols[i] = v
		}
	}
	return out
}

func copyVector(v *vector.Vector) *vector.Vector {
	c := *v
	c.Valid = slices.Clone(v.Valid)
	c.Longs, c.Doubles, c.Floats = slices.Clone(v.Longs), slices.Clone(v.Doubles), slices.Clone(v.Floats)
	c.Strings, c.Codes, c.Offsets = slices.Clone(v.Strings), slices.Clone(v.Codes), slices.Clone(v.Offsets)
	if v.Child != nil {
		c.Child = copyVector(v.Child)
	}
	return &c
}

// size is the memory that the run takes, with what sorting it will take.
func (r *run) size() int64 {
	if r.dealt != nil {
		return r.bytes // there is nothing to sort
	}
	return r.bytes + sortRowBytes*int64(r.rows)
}

// reserved is the memory that the run takes, with what it may use again.
func (r *run) reserved() int64 {
	if r.deal != nil {
		return max(r.size(), r.deal.bytes)
	}
	return r.size()
}

// heldBytes is the memory of v without its dictionary.
func heldBytes(v *vector.Vector) int64 {
	n := vectorHeadBytes + 8*int64(len(v.Valid)+len(v.Longs)+len(v.Doubles)) + 4*int64(len(v.Floats)+len(v.Codes)+len(v.Offsets)) +
		16*int64(len(v.Strings))
	for _, s := range v.Strings {
		n += int64(len(s))
	}
	if v.Child != nil {
		n += heldBytes(v.Child)
	}
	return n
}

// sorted returns the places of the rows in order, equal rows as they came; nil: they came in order.
func (r *run) sorted(o *sortOrder) []rowRef {
	var places []rowRef
	if columns, orders := o.compared(); len(columns) > 0 {
		places = r.sortedByKeys(columns, orders)
	}
	if o.bucketed {
		return r.bucketed(places, o.columns[0])
	}
	return places
}

// sortedByKeys returns the places of the rows in the order of columns; nil: they came so.
func (r *run) sortedByKeys(columns []int, orders []vector.Order) []rowRef {
	cols := make([]*vector.Vector, len(columns))
	for i, c := range columns {
		b := vector.NewBuilder(r.batches[0].Cols[c].Type, r.rows)
		for _, batch := range r.batches {
			b.AppendRows(batch.Cols[c], nil)
		}
		cols[i] = b.Build()
	}
	keys := vector.NewSortKeys(cols, orders, r.rows)
	ordered := true
	for i := 1; i < r.rows && ordered; i++ {
		ordered = keys.Compare(i-1, keys, i) <= 0
	}
	if ordered {
		return nil
	}
	all := r.places()
	out := make([]rowRef, r.rows)
	for i, row := range keys.Order() {
		out[i] = all[row]
	}
	return out
}

// places returns the places of all rows as they came.
func (r *run) places() []rowRef {
	out := make([]rowRef, 0, r.rows)
	for i, b := range r.batches {
		for row := range b.N {
			out = append(out, rowRef{uint32(i), uint32(row)})
		}
	}
	return out
}

// bucketed deals rows, which come in the order of places (nil: as they came), to the time chunks in
// column c.
func (r *run) bucketed(places []rowRef, c int) []rowRef {
	buckets := map[int64]int{} // by time chunk its rows, later the place of the next one
	ordered, before := true, int64(math.MinInt64)
	for _, b := range r.batches {
		v := b.Cols[c]
		for lo := 0; lo < b.N; {
			hi, x := sameLong(v, lo, b.N), v.LongAt(lo)
			ordered = ordered && x >= before
			buckets[x] += hi - lo
			lo, before = hi, x
		}
	}
	if len(buckets) == 1 || ordered && places == nil {
		return places
	}
	if places == nil {
		places = r.places()
	}
	start := 0
	for _, x := range slices.Sorted(maps.Keys(buckets)) {
		rows := buckets[x]
		buckets[x] = start
		start += rows
	}
	bucketOf := func(p rowRef) int64 { return r.batches[p.batch].Cols[c].LongAt(int(p.row)) }
	out := make([]rowRef, len(places))
	present := bucketOf(places[0])
	next := buckets[present]
	for _, p := range places {
		if x := bucketOf(p); x != present {
			buckets[present] = next
			present, next = x, buckets[x]
		}
		out[next] = p
		next++
	}
	return out
}

// frames yields the rows in the order of places (nil: as they came) in batches of about the given
// size. Those that are kept in memory may share dictionaries.
func (r *run) frames(places []rowRef, rows int, keep bool) iter.Seq[*vector.Batch] {
	if places == nil {
		return r.inOrder(rows)
	}
	return func(yield func(*vector.Batch) bool) {
		g := newGatherer(r, keep)
		for part := range slices.Chunk(places, rows) {
			if !yield(g.gather(part)) {
				return
			}
		}
	}
}

// used returns the batches that places refer to, and the places among those.
func (r *run) used(places []rowRef) ([]*vector.Batch, []rowRef) {
	var batches []*vector.Batch
	number := make([]uint32, len(r.batches)) // plus one
	out := make([]rowRef, len(places))
	for i, p := range places {
		if number[p.batch] == 0 {
			batches = append(batches, r.batches[p.batch])
			number[p.batch] = uint32(len(batches))
		}
		out[i] = rowRef{number[p.batch] - 1, p.row}
	}
	return batches, out
}

// inOrder yields the rows as they came. Parts of the batches that they came in cost no copy and are
// preferred to full frames; only small ones are joined.
func (r *run) inOrder(rows int) iter.Seq[*vector.Batch] {
	return func(yield func(*vector.Batch) bool) {
		var small run
		for _, b := range r.batches {
			for lo := 0; lo < b.N; lo += rows {
				part := b.Slice(lo, min(lo+rows, b.N))
				if small.rows == 0 && part.N >= rows/4 {
					if !yield(part) {
						return
					}
					continue
				}
				small.batches, small.rows = append(small.batches, part), small.rows+part.N
				if small.rows >= rows/2 {
					if !yield(gatherRows(small.batches, small.places())) {
						return
					}
					small = run{}
				}
			}
		}
		if small.rows > 0 {
			yield(gatherRows(small.batches, small.places()))
		}
	}
}

// sameLong returns the end of the rows from lo on, at most hi, that have the value of row lo.
func sameLong(v *vector.Vector, lo, hi int) int {
	if v.Const {
		return hi
	}
	x := v.Longs[lo]
	for lo++; lo < hi && v.Longs[lo] == x; lo++ {
	}
	return lo
}
