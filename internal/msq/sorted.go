package msq

import (
	"math"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// sortOrder is the order of a sorted output.
type sortOrder struct {
	columns []int
	orders  []vector.Order
	// bucketed says that the first column is the time chunk, which frames and partitions do not cross.
	bucketed bool
	// hashed says that the second column is a hash (see Hash).
	hashed bool
	// boundary is how many of the columns may tell partitions apart: the shard columns when segments
	// get ranges of them, else all.
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

// compared returns the columns that rows of one writer are sorted by comparing. Where there are
// time chunks boosts count up as rows come, and the chunks are few: rows are sorted by what lies
// between, then dealt to their chunks.
func (o *sortOrder) compared() ([]int, []vector.Order) {
	if o.bucketed {
		last := len(o.columns) - 1
		return o.columns[1:last], o.orders[1:last]
	}
	return o.columns, o.orders
}

// keys returns the sort keys of b's rows over the first n columns of the order.
func (o *sortOrder) keys(b *vector.Batch, n int) *vector.SortKeys {
	cols := make([]*vector.Vector, n)
	for i, c := range o.columns[:n] {
		cols[i] = b.Cols[c]
	}
	return vector.NewSortKeys(cols, o.orders[:n], b.N)
}

// key returns the key of one row.
func (o *sortOrder) key(b *vector.Batch, row, n int) []byte {
	cols := make([]*vector.Vector, n)
	for i, c := range o.columns[:n] {
		cols[i] = b.Cols[c].Slice(row, row+1)
	}
	return vector.NewSortKeys(cols, o.orders[:n], 1).Key(0)
}

// sortedWriter sorts rows in bounded memory: what does not fit is written as a run. All runs of a
// worker lie in one file, but for the first ones, which stay in memory while there is some to
// spare: what is small never touches the disk.
//
// While one run is sorted and written, by a goroutine that the writer waits for, the next one is
// collected.
type sortedWriter struct {
	file      *frameFile
	order     sortOrder
	frameRows int
	limit     int64 // bytes of a run
	holding   holding
	memory    budget.Account
	run       *run
	kept      *keeper       // of runs that stay in memory; nil: none do
	eager     *eagerBuilder // nil: no segments are built before all rows are there
	writing   chan error    // of the run that is being written or kept; nil: none is
	written   *run          // that run
	counters  *counters
	// spare is memory of frames that were written, of so many bytes, for the run after the present
	// one.
	spare      [][]pile
	spareBytes int64
}

const (
	// sortRowBytes is what sorting takes per row beside its key: its number and its place in the
	// order.
	sortRowBytes = 48
	// vectorHeadBytes is what a vector takes beside its values, which counts where batches are small.
	vectorHeadBytes = 256
)

// keeper holds the memory of runs that are not written. It is safe for use by several goroutines.
type keeper struct {
	mu      sync.Mutex
	account budget.Account
	held    int64
	// limit is what runs may take in any case, wide what they may take while so much remains free for
	// others.
	limit, wide, free int64
	memory            *budget.Budget
	released          chan struct{} // has a value when memory was released since it was last received from
}

// take reports whether a run may stay in memory, and counts it then.
func (k *keeper) take(r *run) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	size := r.bytes
	if k.held+size > k.limit && (k.held+size > k.wide || k.memory.Free()-size < k.free) || !k.account.TrySet(k.held+size) {
		return false
	}
	k.held += size
	return true
}

// release gives the memory of rows back that are not held any more.
func (k *keeper) release(size int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held -= size
	k.account.TrySet(k.held) // less fits
	select {
	case k.released <- struct{}{}:
	default:
	}
}

// newSortedWriter returns a writer whose runs are about half of limit. Runs stay in memory as far
// as kept, which may be nil, lets them. It and e, which may be nil too, are closed with the output.
func newSortedWriter(order sortOrder, frameRows int, limit int64, h holding, dir, name string, memory, disk *budget.Budget, kept *keeper, e *eagerBuilder,
	c *counters) (*sortedWriter, error) {
	f, err := newFrameFile(dir, name, disk, c)
	if err != nil {
		return nil, err
	}
	c.sorting(func(*sortCounter) {})
	if kept != nil {
		drop := f.out.drop
		f.out.drop = func() error {
			if e != nil {
				e.close()
			}
			f.out.frames = nil
			kept.account.Close()
			return drop()
		}
	}
	// Two runs are in memory at a time.
	w := &sortedWriter{
		kept: kept, eager: e, file: f, order: order, holding: h, memory: budget.NewAccount(memory), counters: c,
		frameRows: max(1, min(frameRows, vector.BatchRows)), limit: min(limit/2, maxRunBytes),
	}
	w.run = w.newRun()
	return w, nil
}

// newRun returns an empty run. It is dealt to time chunks unless its rows are compared in them.
func (w *sortedWriter) newRun() *run {
	r := &run{}
	if keys, _ := w.order.compared(); w.order.bucketed && len(keys) == 0 {
		r.deal = &dealing{column: w.order.columns[0], last: math.MinInt64, frameRows: w.frameRows, limit: w.limit}
	}
	return r
}

func (w *sortedWriter) add(b *vector.Batch) error {
	keys, _ := w.order.compared()
	w.run.add(b, w.holding, keys)
	w.counters.sorting(func(s *sortCounter) { s.batches++ })
	fits := w.memory.TrySet(w.held())
	if fits && w.run.size() <= w.limit {
		return nil
	}
	if err := w.spill(); err != nil || fits {
		return err
	}
	return w.settle() // there is no memory for two runs: this one goes to disk before another row is taken
}

// held is the memory of both runs.
func (w *sortedWriter) held() int64 {
	n := w.run.reserved()
	if w.written != nil {
		n += w.written.size()
	}
	return n
}

// spill begins to write what is held as a run, when the one before is written.
func (w *sortedWriter) spill() error {
	if err := w.settle(); err != nil || w.run.rows == 0 {
		return err
	}
	r, done := w.run, make(chan error, 1)
	w.run, w.writing, w.written = w.newRun(), done, r
	if w.run.deal != nil {
		w.run.deal.spare, w.run.deal.bytes = w.spare, w.spareBytes
		w.spare, w.spareBytes = nil, 0
	}
	keep := w.keep(r)
	go func() { done <- exec.Protect(func() error { return w.write(r, keep) }) }()
	return nil
}

// keep reports whether a run may stay in memory. Rather than write it, it waits for segments to be
// built of what is there.
func (w *sortedWriter) keep(r *run) bool {
	if w.eager == nil {
		return w.kept.take(r)
	}
	w.eager.begin(w.file.out)
	for !w.kept.take(r) {
		if !w.eager.wait() {
			return false
		}
	}
	return true
}

// settle waits for the run that is being written.
func (w *sortedWriter) settle() error {
	if w.writing == nil {
		return nil
	}
	err := <-w.writing
	if d := w.written.dealt; d != nil && len(d.spare) > 0 {
		w.spare, w.spareBytes = d.spare, w.written.size()
	}
	w.writing, w.written = nil, nil
	w.memory.TrySet(w.held()) // that is less than before, or it did not fit before
	return err
}

// write sorts a run and writes it, or keeps it in memory.
func (w *sortedWriter) write(r *run, keep bool) error {
	if err := w.writeRows(r, keep); err != nil {
		return err
	}
	w.file.out.runs++
	w.counters.sorting(func(s *sortCounter) { s.runs++; s.mergedRuns++ })
	return nil
}

func (w *sortedWriter) writeRows(r *run, keep bool) error {
	if r.dealt != nil {
		for b := range r.dealt.batches(keep) {
			if err := w.writeFrame(b, keep, r.bytes*int64(b.N)/int64(r.rows)); err != nil {
				return err
			}
		}
		return nil
	}
	frameRows := max(1, min(w.frameRows, int(frameBytes/max(r.bytes/int64(r.rows), 1))))
	places := r.sorted(&w.order)
	frames := r.frames(places, frameRows, keep)
	if keep && places == nil {
		frames = slices.Values(r.batches) // nothing is gained by joining small ones
	}
	for b := range frames {
		for lo := 0; lo < b.N; {
			hi := min(lo+frameRows, b.N)
			if w.order.bucketed {
				hi = sameLong(b.Cols[w.order.columns[0]], lo, hi)
			}
			if err := w.writeFrame(b.Slice(lo, hi), keep, r.bytes*int64(hi-lo)/int64(r.rows)); err != nil {
				return err
			}
			lo = hi
		}
	}
	return nil
}

// writeFrame writes rows that are in order and in one time chunk, or keeps them, which are so many
// bytes.
func (w *sortedWriter) writeFrame(b *vector.Batch, keep bool, size int64) error {
	ref := frameRef{run: w.file.out.runs, first: w.order.key(b, 0, len(w.order.columns)), boundary: w.order.key(b, 0, w.order.boundary)}
	if w.order.bucketed {
		c := w.order.columns[0]
		ref.bucket = b.Cols[c].LongAt(0)
		if !w.order.hashed {
			ref.start = tuple(b, w.order.columns[1:w.order.boundary], 0)
		}
		b.Cols[c] = vector.Constant(vector.Long, ref.bucket, b.N)
	}
	if keep {
		ref.held = size
		w.file.keep(b, ref)
		return nil
	}
	_, err := w.file.write(b, ref)
	return err
}

// tuple returns the values of string columns at a row, for shard specs. Columns of other types give
// nothing.
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

func (w *sortedWriter) finish() (*output, error) {
	if err := w.spill(); err != nil {
		return nil, err
	}
	if err := w.settle(); err != nil {
		return nil, err
	}
	w.memory.Close()
	if w.file.out.rows == 0 {
		w.counters.sorting(func(s *sortCounter) { s.trivial = true })
	}
	return w.file.out, nil
}

func (w *sortedWriter) abort() {
	_ = w.settle() // another failure has ended the work
	w.memory.Close()
	_ = w.file.out.close() // the folder is removed anyway
}
