package msq

import (
	"bytes"
	"container/heap"
	"context"
	"io"
	"sort"

	"github.com/hengedb/henge/internal/vector"
)

// mergeReader is the rows of one partition of sorted outputs, in order, an exec.Operator. Equal
// rows come in the order of their runs.
//
// Frames that overlap no others are passed on as they are. Of the others first the places of the
// next rows are found, then the rows are picked, column after column.
type mergeReader struct {
	order   *sortOrder
	runs    runHeap
	waiting []*runReader // not begun
	count   func(o *output, ref *frameRef, rows int)
}

// newMergeReader reads the rows whose keys are at or above lo and below hi; nil bounds are open.
// count is told of every frame.
func newMergeReader(order *sortOrder, outputs []*output, lo, hi []byte, count func(o *output, ref *frameRef, rows int)) *mergeReader {
	m := &mergeReader{order: order, count: count}
	for _, o := range outputs {
		all := unbuilt(o.frames)
		for from := 0; from < len(all); {
			to := from
			for to < len(all) && all[to].run == all[from].run {
				to++
			}
			if frames := inRange(all[from:to], lo, hi); len(frames) > 0 {
				m.waiting = append(m.waiting, &runReader{m: m, number: len(m.waiting), out: o, frames: frames, lo: lo, hi: hi})
			}
			from = to
		}
	}
	return m
}

// inRange returns the frames of a run that may hold rows in [lo, hi).
func inRange(frames []frameRef, lo, hi []byte) []frameRef {
	end := len(frames)
	if hi != nil {
		end = sort.Search(len(frames), func(i int) bool { return bytes.Compare(frames[i].first, hi) >= 0 })
	}
	begin := 0
	if lo != nil {
		// The frame before the first one at or above lo may reach into the range.
		begin = max(0, sort.Search(end, func(i int) bool { return bytes.Compare(frames[i].first, lo) >= 0 })-1)
	}
	return frames[begin:end]
}

// Next returns the next rows in order.
func (m *mergeReader) Next(ctx context.Context) (*vector.Batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := m.begin(); err != nil {
		return nil, err
	}
	if len(m.runs) == 0 {
		return nil, io.EOF
	}
	r := m.runs[0]
	if m.ahead(r) == r.end {
		b := r.batch.Slice(r.row, r.end)
		return b, m.replace()
	}
	return m.mixed()
}

// begin reads the first frame of every run.
func (m *mergeReader) begin() error {
	if m.waiting == nil {
		return nil
	}
	for _, r := range m.waiting {
		if ok, err := r.advance(); err != nil {
			return err
		} else if ok {
			m.runs = append(m.runs, r)
		}
	}
	heap.Init(&m.runs)
	m.waiting = nil
	return nil
}

// ahead returns the end of the rows of the first run that come before those of all others.
func (m *mergeReader) ahead(r *runReader) int {
	if len(m.runs) == 1 {
		return r.end
	}
	second := m.runs[1]
	if len(m.runs) > 2 && m.runs.Less(2, 1) {
		second = m.runs[2]
	}
	limit := second.key()
	before := func(key []byte) bool {
		c := bytes.Compare(key, limit)
		return c < 0 || c == 0 && r.number < second.number
	}
	if before(r.last) {
		return r.end
	}
	end := r.row + 1 // the first row is, or r would not be the first run
	for keys := r.all(); before(keys.Key(end)); end++ {
	}
	return end
}

// mixed returns rows of several runs.
func (m *mergeReader) mixed() (*vector.Batch, error) {
	var batches []*vector.Batch
	for _, r := range m.runs {
		r.picked = -1
	}
	places := make([]rowRef, 0, vector.BatchRows)
	for bytes := int64(0); len(places) < vector.BatchRows && bytes < frameBytes && len(m.runs) > 0; {
		r := m.runs[0]
		if r.picked < 0 {
			r.picked = len(batches)
			batches = append(batches, r.batch)
		}
		end := min(m.ahead(r), r.row+vector.BatchRows-len(places))
		bytes += int64(end-r.row) * r.width
		for ; r.row < end; r.row++ {
			places = append(places, rowRef{uint32(r.picked), uint32(r.row)})
		}
		if r.row < r.end {
			heap.Fix(&m.runs, 0)
		} else if err := m.replace(); err != nil {
			return nil, err
		}
	}
	return gatherRows(batches, places), nil
}

// replace moves the first run to its next frame, or drops it.
func (m *mergeReader) replace() error {
	ok, err := m.runs[0].advance()
	switch {
	case err != nil:
		return err
	case ok:
		heap.Fix(&m.runs, 0)
	default:
		heap.Pop(&m.runs)
	}
	return nil
}

// Close does nothing: outputs belong to the job.
func (m *mergeReader) Close() {}

// runReader is a place in a sorted run.
type runReader struct {
	m        *mergeReader
	number   int
	out      *output
	frames   []frameRef
	lo, hi   []byte
	buf      []byte
	batch    *vector.Batch
	width    int64 // bytes of a row
	row, end int
	picked   int // number of the batch among those that rows are picked from, -1: not one of them
	// keys are those of all rows of the batch, which few batches need; nil: not made. first is that of
	// the row when there are none, last that of the last row.
	keys        *vector.SortKeys
	first, last []byte
}

// advance moves to the next frame with rows in range and reports whether there is one.
func (r *runReader) advance() (bool, error) {
	for len(r.frames) > 0 {
		ref := &r.frames[0]
		r.frames = r.frames[1:]
		b, buf, err := r.out.read(ref, r.buf)
		r.buf = buf
		if err != nil {
			return false, err
		}
		if b.N == 0 {
			continue
		}
		r.batch, r.keys, r.row, r.end, r.picked, r.width = b, nil, 0, b.N, -1, int64(ref.length/b.N)
		n := len(r.m.order.columns)
		r.first, r.last = r.m.order.key(b, 0, n), r.m.order.key(b, b.N-1, n)
		r.cut()
		if r.row < r.end {
			r.m.count(r.out, ref, r.end-r.row)
			return true, nil
		}
	}
	return false, nil
}

// cut leaves out the rows that are not in range.
func (r *runReader) cut() {
	if r.lo != nil && bytes.Compare(r.first, r.lo) < 0 {
		keys := r.all()
		r.row = sort.Search(r.end, func(i int) bool { return bytes.Compare(keys.Key(i), r.lo) >= 0 })
	}
	if r.hi != nil && bytes.Compare(r.last, r.hi) >= 0 {
		keys := r.all()
		if r.end = sort.Search(r.end, func(i int) bool { return bytes.Compare(keys.Key(i), r.hi) >= 0 }); r.end > 0 {
			r.last = keys.Key(r.end - 1)
		}
	}
}

// all returns the keys of all rows.
func (r *runReader) all() *vector.SortKeys {
	if r.keys == nil {
		r.keys = r.m.order.keys(r.batch, len(r.m.order.columns))
	}
	return r.keys
}

// key returns the key of the present row.
func (r *runReader) key() []byte {
	if r.row == 0 {
		return r.first
	}
	return r.all().Key(r.row)
}

// runHeap orders runs by their present rows.
type runHeap []*runReader

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key(), h[j].key()); c != 0 {
		return c < 0
	}
	return h[i].number < h[j].number
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is part of heap.Interface.
func (h *runHeap) Push(x any) { *h = append(*h, x.(*runReader)) }

// Pop is part of heap.Interface.
func (h *runHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	*h = old[:len(old)-1]
	return r
}
