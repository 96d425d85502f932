package msq

import (
	"bytes"
	"slices"
	"sort"

	"github.com/hengedb/henge/internal/vector"
)

// pages cuts sorted outputs into partitions of exactly size rows, of which only the last may have
// fewer. No two rows have the same key. Of no rows there is one page.
//
// The frames of all runs in the order of their first keys tell where the row with a given rank must
// lie up to one frame of each run; keys of those frames are read to find it.
func pages(order *sortOrder, outputs []*output, size int64) ([]partition, error) {
	r := newRanker(order, outputs)
	out := []partition{{}}
	for rank := size; rank < r.rows; rank += size {
		key, err := r.keyAt(rank)
		if err != nil {
			return nil, err
		}
		last := &out[len(out)-1]
		last.hi, last.rows = key, size
		out = append(out, partition{lo: key})
	}
	last := &out[len(out)-1]
	last.rows = r.rows - size*int64(len(out)-1)
	return out, nil
}

// ranker finds rows of sorted runs by their place among the rows of all of them.
type ranker struct {
	runs  []*rankedRun
	first [][]byte // first keys of all frames, ascending
	// before is the sum of the rows of the frames before each: at least the rank of its first row, and
	// at most slack more.
	before []int64
	slack  int64
	rows   int64
}

func newRanker(order *sortOrder, outputs []*output) *ranker {
	r := &ranker{}
	var frames []*frameRef
	for _, o := range outputs {
		for from := 0; from < len(o.frames); {
			to, run := from, &rankedRun{order: order, out: o, read: -1}
			most := 0
			for ; to < len(o.frames) && o.frames[to].run == o.frames[from].run; to++ {
				run.before = append(run.before, run.rows)
				run.rows += int64(o.frames[to].rows)
				most = max(most, o.frames[to].rows)
				frames = append(frames, &o.frames[to])
			}
			run.frames = o.frames[from:to]
			r.runs, r.slack, r.rows = append(r.runs, run), r.slack+int64(most), r.rows+run.rows
			from = to
		}
	}
	slices.SortFunc(frames, func(a, b *frameRef) int { return bytes.Compare(a.first, b.first) })
	sum := int64(0)
	for _, f := range frames {
		r.first, r.before = append(r.first, f.first), append(r.before, sum)
		sum += int64(f.rows)
	}
	return r
}

// below counts the rows whose keys are below key.
func (r *ranker) below(key []byte) (int64, error) {
	sum := int64(0)
	for _, run := range r.runs {
		n, err := run.below(key)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// keyAt returns the key of the row that rank rows are below, where rank is less than the number of
// rows.
func (r *ranker) keyAt(rank int64) ([]byte, error) {
	// The last frame whose first row is at or below the rank.
	lo := sort.Search(len(r.first), func(i int) bool { return r.before[i] > rank }) - 1
	hi := sort.Search(len(r.first), func(i int) bool { return r.before[i]-r.slack > rank })
	start, err := r.below(r.first[lo])
	if err != nil {
		return nil, err
	}
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		n, err := r.below(r.first[mid])
		if err != nil {
			return nil, err
		}
		if n <= rank {
			lo, start = mid, n
		} else {
			hi = mid
		}
	}
	if start == rank {
		return r.first[lo], nil
	}
	// The rows up to the next frame's first are in one frame of each run.
	var keys [][]byte
	for _, run := range r.runs {
		if keys, err = run.between(keys, r.first[lo], r.next(lo)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys[rank-start], nil
}

// next returns the first key of the frame after i; nil: there is none.
func (r *ranker) next(i int) []byte {
	if i+1 < len(r.first) {
		return r.first[i+1]
	}
	return nil
}

// rankedRun is a sorted run, and the keys of the frame that was read last.
type rankedRun struct {
	order  *sortOrder
	out    *output
	frames []frameRef
	before []int64 // rows before each frame
	rows   int64
	buf    []byte
	read   int
	keys   *vector.SortKeys
}

// find returns the frame that the first row at or above key is in, or follows, and the place in it.
func (r *rankedRun) find(key []byte) (frame, row int, err error) {
	frame = sort.Search(len(r.frames), func(i int) bool { return bytes.Compare(r.frames[i].first, key) >= 0 }) - 1
	if frame < 0 {
		return 0, 0, nil
	}
	if err := r.load(frame); err != nil {
		return 0, 0, err
	}
	row = sort.Search(r.frames[frame].rows, func(i int) bool { return bytes.Compare(r.keys.Key(i), key) >= 0 })
	return frame, row, nil
}

func (r *rankedRun) below(key []byte) (int64, error) {
	frame, row, err := r.find(key)
	return r.before[frame] + int64(row), err
}

// between appends copies of the keys at or above lo and below hi, nil being above all, which are in
// one frame.
func (r *rankedRun) between(dst [][]byte, lo, hi []byte) ([][]byte, error) {
	frame, row, err := r.find(lo)
	if err != nil {
		return nil, err
	}
	if row == r.frames[frame].rows {
		if frame, row = frame+1, 0; frame == len(r.frames) {
			return dst, nil
		}
	}
	if err := r.load(frame); err != nil {
		return nil, err
	}
	for ; row < r.frames[frame].rows; row++ {
		key := r.keys.Key(row)
		if hi != nil && bytes.Compare(key, hi) >= 0 {
			break
		}
		dst = append(dst, bytes.Clone(key))
	}
	return dst, nil
}

// load reads the keys of a frame.
func (r *rankedRun) load(frame int) error {
	if r.read == frame {
		return nil
	}
	b, buf, err := r.out.read(&r.frames[frame], r.buf)
	r.buf = buf
	if err != nil {
		return err
	}
	r.read, r.keys = frame, r.order.keys(b, len(r.order.columns))
	return nil
}
