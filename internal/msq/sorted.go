package msq

import (
	"bytes"
	"container/heap"
	"context"
	"io"
	"slices"
	"sort"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// sortOrder is the order of a sorted output.
type sortOrder struct {
	columns []int
	orders  []vector.Order
	// bucketed says that the first column is the time chunk, which frames and partitions do not cross.
	bucketed bool
	// boundary is how many of the columns may tell partitions apart: the shard columns when segments get ranges of them, else all.
	boundary int
}

func orderOf(keys []plan.SortKey) sortOrder {
	o := sortOrder{boundary: len(keys)}
	for _, k := range keys {
		o.columns = append(o.columns, k.Column)
		o.orders = append(o.orders, vector.Order{Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	return o
}

// keys returns the sort keys of b's rows over the first n columns of the order.
func (o *sortOrder) keys(b *vector.Batch, n int) *vector.SortKeys {
	cols := make([]*vector.Vector, n)
	for i, c := range o.columns[:n] {
		cols[i] = b.Cols[c]
	}
	return vector.NewSortKeys(cols, o.orders[:n], b.N)
}

// sortedWriter sorts rows in bounded memory: what does not fit is written as a run. All runs of a worker lie in one file.
type sortedWriter struct {
	file      *frameFile
	types     []vector.Type
	order     sortOrder
	frameRows int
	limit     int64 // bytes of a run
	memory    budget.Account
	run       *vector.BatchBuilder
	counters  *counters
}

// sortOverhead is what sorting takes beside the rows: keys, row numbers, the ordered copy.
const sortOverhead = 2

func newSortedWriter(types []vector.Type, order sortOrder, frameRows int, limit int64, dir, name string, memory, disk *budget.Budget,
	c *counters) (*sortedWriter, error) {
	f, err := newFrameFile(dir, name, disk, c)
	if err != nil {
		return nil, err
	}
	c.sorting(func(*sortCounter) {})
	return &sortedWriter{file: f, types: types, order: order, frameRows: max(1, min(frameRows, vector.BatchRows)), limit: limit,
		memory: budget.NewAccount(memory), run: vector.NewBatchBuilder(types, 0), counters: c}, nil
}

func (w *sortedWriter) add(b *vector.Batch) error {
	w.run.Append(b)
	w.counters.sorting(func(s *sortCounter) { s.batches++ })
	if size := w.run.Bytes() * (1 + sortOverhead); size <= w.limit && w.memory.TrySet(size) {
		return nil
	}
	return w.spill()
}

// spill sorts what is held and writes it as a run.
func (w *sortedWriter) spill() error {
	if w.run.Rows() == 0 {
		return nil
	}
	width := w.run.Bytes() / int64(w.run.Rows())
	b := w.sorted()
	frameRows := max(1, min(w.frameRows, int(frameBytes/max(width, 1))))
	boundaries := w.order.keys(b, w.order.boundary)
	full := boundaries
	if w.order.boundary < len(w.order.columns) {
		full = w.order.keys(b, len(w.order.columns))
	}
	for lo := 0; lo < b.N; {
		hi := min(lo+frameRows, b.N)
		if w.order.bucketed {
			hi = w.sameBucket(b, lo, hi)
		}
		ref := frameRef{run: w.file.out.runs, first: bytes.Clone(full.Key(lo)), boundary: bytes.Clone(boundaries.Key(lo))}
		if w.order.bucketed {
			ref.bucket = b.Cols[w.order.columns[0]].LongAt(lo)
			ref.start = tuple(b, w.order.columns[1:w.order.boundary], lo)
		}
		if _, err := w.file.write(b.Slice(lo, hi), ref); err != nil {
			return err
		}
		lo = hi
	}
	w.file.out.runs++
	w.counters.sorting(func(s *sortCounter) { s.runs++; s.mergedRuns++ })
	return w.memory.Set(0)
}

// sameBucket returns the end of the rows from lo on, at most hi, that are in the bucket of row lo.
func (w *sortedWriter) sameBucket(b *vector.Batch, lo, hi int) int {
	v := b.Cols[w.order.columns[0]]
	first := v.LongAt(lo)
	return lo + sort.Search(hi-lo, func(i int) bool { return v.LongAt(lo+i) != first })
}

// tuple returns the values of string columns at a row, for shard specs. Columns of other types give nothing.
func tuple(b *vector.Batch, columns []int, row int) []*string {
	out := make([]*string, 0, len(columns))
	for _, c := range columns {
		v := b.Cols[c]
		if v.Type != vector.String {
			return nil
		}
		if v.IsNull(row) {
			out = append(out, nil)
			continue
		}
		s := string([]byte(v.StringAt(row)))
		out = append(out, &s)
	}
	return out
}

// sorted takes the held rows, in order. Equal rows keep theirs.
func (w *sortedWriter) sorted() *vector.Batch {
	b := w.run.Build()
	keys := w.order.keys(b, len(w.order.columns))
	rows := make([]uint32, b.N)
	prefix := make([]uint64, b.N)
	ordered := true
	for i := range rows {
		rows[i], prefix[i] = uint32(i), keys.Prefix(i)
		ordered = ordered && (i == 0 || keys.Compare(i-1, keys, i) <= 0)
	}
	if ordered {
		return b
	}
	slices.SortStableFunc(rows, func(x, y uint32) int {
		switch {
		case prefix[x] < prefix[y]:
			return -1
		case prefix[x] > prefix[y]:
			return 1
		}
		return keys.Compare(int(x), keys, int(y))
	})
	out := &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = c.Gather(rows)
	}
	return out
}

func (w *sortedWriter) finish() (*output, error) {
	if err := w.spill(); err != nil {
		return nil, err
	}
	w.memory.Close()
	if w.file.out.rows == 0 {
		w.counters.sorting(func(s *sortCounter) { s.trivial = true })
	}
	return w.file.out, nil
}

func (w *sortedWriter) abort() {
	w.memory.Close()
	_ = w.file.out.close() // the folder is removed anyway
}

// mergeReader is the rows of one partition of sorted outputs, in order, an exec.Operator.
type mergeReader struct {
	order     *sortOrder
	types     []vector.Type
	partition int
	runs      runHeap
	waiting   []*runReader // not begun
	count     func(o *output, ref *frameRef, rows int)
	done      func()
}

// newMergeReader reads the rows whose keys are at or above lo and below hi; nil bounds are open. count is told of every frame.
func newMergeReader(order *sortOrder, types []vector.Type, outputs []*output, partition int, lo, hi []byte,
	count func(o *output, ref *frameRef, rows int), done func()) *mergeReader {
	m := &mergeReader{order: order, types: types, partition: partition, count: count, done: done}
	for _, o := range outputs {
		for from := 0; from < len(o.frames); {
			to := from
			for to < len(o.frames) && o.frames[to].run == o.frames[from].run {
				to++
			}
			if frames := inRange(o.frames[from:to], lo, hi); len(frames) > 0 {
				m.waiting = append(m.waiting, &runReader{m: m, out: o, frames: frames, lo: lo, hi: hi})
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
	for _, r := range m.waiting {
		if ok, err := r.advance(); err != nil {
			return nil, err
		} else if ok {
			m.runs = append(m.runs, r)
		}
	}
	if m.waiting != nil {
		heap.Init(&m.runs)
		m.waiting = nil
	}
	if len(m.runs) == 0 {
		if m.done != nil {
			m.done()
			m.done = nil
		}
		return nil, io.EOF
	}
	if b, err := m.whole(); b != nil || err != nil {
		return b, err
	}
	out := vector.NewBatchBuilder(m.types, vector.BatchRows)
	for out.Rows() < vector.BatchRows && out.Bytes() < frameBytes && len(m.runs) > 0 {
		r := m.runs[0]
		out.AppendRow(r.batch, r.row)
		if r.row++; r.row < r.end {
			heap.Fix(&m.runs, 0)
		} else if err := m.replace(); err != nil {
			return nil, err
		}
	}
	return out.Build(), nil
}

// whole returns the rest of the first run's frame if all of it comes before the other runs.
func (m *mergeReader) whole() (*vector.Batch, error) {
	r := m.runs[0]
	for _, i := range []int{1, 2} {
		if i < len(m.runs) && r.keys.Compare(r.end-1, m.runs[i].keys, m.runs[i].row) > 0 {
			return nil, nil
		}
	}
	b := r.batch.Slice(r.row, r.end)
	return b, m.replace()
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
	out      *output
	frames   []frameRef
	lo, hi   []byte
	batch    *vector.Batch
	keys     *vector.SortKeys
	row, end int
}

// advance moves to the next frame with rows in range and reports whether there is one.
func (r *runReader) advance() (bool, error) {
	for len(r.frames) > 0 {
		ref := &r.frames[0]
		r.frames = r.frames[1:]
		b, _, err := r.out.read(ref, nil)
		if err != nil {
			return false, err
		}
		r.batch, r.keys, r.row, r.end = b, r.m.order.keys(b, len(r.m.order.columns)), 0, b.N
		if r.lo != nil {
			r.row = sort.Search(b.N, func(i int) bool { return bytes.Compare(r.keys.Key(i), r.lo) >= 0 })
		}
		if r.hi != nil {
			r.end = sort.Search(b.N, func(i int) bool { return bytes.Compare(r.keys.Key(i), r.hi) >= 0 })
		}
		if r.row < r.end {
			r.m.count(r.out, ref, r.end-r.row)
			return true, nil
		}
	}
	return false, nil
}

// runHeap orders runs by their present rows.
type runHeap []*runReader

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	return h[i].keys.Compare(h[i].row, h[j].keys, h[j].row) < 0
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
