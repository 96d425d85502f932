package msq

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// workOrder is what one worker does in one stage.
type workOrder struct {
	stage   *stage
	worker  int
	workers int
	id      string // of the worker's task
	threads int
	dir     string
	// external are the worker's shares of external inputs, by input.
	external []externalPart
	// slices are its shares of datasources, by input; nil: scans are read through exec.Tables.
	slices [][]partSlice
	// write says that the rows are on their way to segments, see prepare; boosts that they only get a
	// number, in front.
	write  *writeTarget
	boosts *boosts
	// rows reads external inputs in the way of the job; nil: as their columns are declared.
	rows RowWorker
	// taken is what the worker counted of what it read of other stages' outputs.
	taken tally
}

// externalPart is a worker's share of an external input.
type externalPart struct {
	table  *ingest.Table
	splits []ingest.Split
}

// runWorker runs the stage's fragment over the worker's share of the inputs.
func (c *Controller) runWorker(ctx context.Context, order *workOrder, count *counters) (err error) {
	s := order.stage
	begin := c.now()
	defer func() { count.spent("main", c.now().Sub(begin)) }()
	if err := os.MkdirAll(order.dir, 0o700); err != nil {
		return diskFault(err)
	}
	in := &inputs{order: order, job: c, count: count}
	for i := range s.inputs {
		for _, split := range order.external[i].splits {
			if split.First() {
				count.files(inputName(i), 0, 1)
			}
		}
	}
	defer func() {
		if err != nil {
			in.release()
		}
	}()
	memory := c.memory.Child(order.id, budget.Unlimited)
	defer memory.Close()
	spill := c.spill.For(c.disk)
	defer func() { _ = spill.Close() }()
	env := &exec.Env{Expr: c.deps.Expr, Budget: memory, Spill: spill, Threads: order.threads, Tables: in, System: c.deps.System, Externals: in,
		MaxWindowRows: c.opts.MaxWindowRows}
	op, err := exec.Build(ctx, s.node, env)
	if err != nil {
		return err
	}
	defer op.Close()
	w, err := c.newWriter(ctx, order, memory, count)
	if err != nil {
		return err
	}
	finished := false
	defer func() {
		if !finished {
			w.abort()
		}
	}()
	err = exec.Drain(ctx, op, func(b *vector.Batch) error {
		size := batchBytes(b)
		if size > c.opts.MaxFrameSize {
			if err := checkRows(b, c.opts.MaxFrameSize); err != nil {
				return err
			}
		}
		count.flow("output", 0, int64(b.Rows()), size, 1)
		if order.write != nil {
			var err error
			if b, err = order.write.prepare(b); err != nil {
				return err
			}
		} else if order.boosts != nil {
			b = b.Compact()
			b = &vector.Batch{N: b.N, Cols: append([]*vector.Vector{order.boosts.column(b.N)}, b.Cols...)}
		}
		return w.add(b)
	})
	if err != nil {
		return err
	}
	sorting := c.now()
	out, err := w.finish()
	if err != nil {
		return err
	}
	if s.shuffle.kind == sortedShuffle || s.shuffle.kind == rangeShuffle {
		count.spent("sortOutput", c.now().Sub(sorting))
	}
	finished = true
	if c.opts.DurableShuffle {
		if err := c.keepDurably(ctx, order, out, count); err != nil {
			_ = out.close() // of no use any more
			return err
		}
	}
	drop := out.drop
	out.drop = func() error {
		defer in.release()
		return drop()
	}
	if !slices.ContainsFunc(out.frames, func(f frameRef) bool { return f.batch != nil || f.piece != nil }) {
		in.release()
	}
	s.setOutput(order.worker, out)
	return nil
}

func (c *Controller) newWriter(ctx context.Context, order *workOrder, memory *budget.Budget, count *counters) (writer, error) {
	s := &order.stage.shuffle
	name := fmt.Sprintf("worker%d.frames", order.worker)
	columns := order.stage.columns
	var kept *keeper
	if !c.opts.DurableShuffle {
		kept = c.newKeeper(order.workers)
	}
	switch s.kind {
	case sortedShuffle:
		return newSortedWriter(s.order, vector.BatchRows, c.sortBytes, holdingOf(order.stage.node), order.dir, name, memory, c.disk, kept, nil, count)
	case rangeShuffle:
		var e *eagerBuilder
		if order.write != nil && c.eager {
			e = c.newEagerBuilder(ctx, order, kept)
		}
		// A sixteenth of a partition is how evenly partitions come out.
		return newSortedWriter(s.order, int(s.target/16), c.sortBytes, holdingOf(order.stage.node), order.dir, name, memory, c.disk, kept, e, count)
	}
	return newHashWriter(types(columns), s.keys, s.partitions, order.dir, name, c.disk, count)
}

// newKeeper returns what decides how much of a stage's sorted rows stays in memory on one of so
// many workers: a share of what the process may use, and a larger one while most is free, so that
// several jobs and queries go on beside it, and never more than keepMost.
func (c *Controller) newKeeper(workers int) *keeper {
	k := &keeper{account: budget.NewAccount(c.memory), memory: c.memory, limit: keepMost, released: make(chan struct{}, 1)}
	limit := c.deps.Memory.Limit()
	switch {
	case c.deps.KeepBytes != 0:
		k.limit = max(c.deps.KeepBytes, 0)
	case limit > 0:
		k.limit, k.wide, k.free = min(limit/keepShare, keepMost), min(limit/keepWideShare, keepMost), limit/2
	}
	k.limit, k.wide = k.limit/int64(workers), k.wide/int64(workers)
	return k
}

// stageDir is the folder of a stage's outputs.
func (c *Controller) stageDir(s *stage) string {
	return filepath.Join(c.dir, fmt.Sprintf("stage%d", s.number))
}

// batchBytes estimates the bytes of the rows of b that count.
func batchBytes(b *vector.Batch) int64 {
	total := int64(0)
	for _, v := range b.Cols {
		total += vectorBytes(v)
	}
	if b.Sel != nil && b.N > 0 {
		return total * int64(len(b.Sel)) / int64(b.N)
	}
	return total
}

func vectorBytes(v *vector.Vector) int64 {
	n := int64(v.Len)
	switch {
	case v.Const:
		if v.Type.Kind == vector.KindString && len(v.Strings) > 0 {
			return n * int64(len(v.Strings[0]))
		}
		return 8 * n
	case v.Dict != nil:
		total := 4 * n
		for i, c := range v.Codes[:v.Len] {
			if v.Valid.Get(i) {
				total += int64(v.Dict.Offsets[c+1] - v.Dict.Offsets[c])
			}
		}
		return total
	case v.Type.Kind == vector.KindList:
		return 4*n + vectorBytes(v.Child)
	case v.Strings != nil:
		total := 4 * n
		for _, s := range v.Strings {
			total += int64(len(s))
		}
		return total
	}
	return 8 * n
}

// checkRows refuses rows that no frame can hold.
func checkRows(b *vector.Batch, limit int64) error {
	for i := range b.Rows() {
		row := i
		if b.Sel != nil {
			row = int(b.Sel[i])
		}
		size := int64(0)
		for _, v := range b.Cols {
			size += valueBytes(v, row)
		}
		if size > limit {
			return rowTooLarge(limit)
		}
	}
	return nil
}

func valueBytes(v *vector.Vector, row int) int64 {
	switch {
	case v.IsNull(row):
		return 1
	case v.Type.Kind == vector.KindList:
		lo, hi := v.ListAt(row)
		size := int64(4)
		for ; lo < hi; lo++ {
			size += valueBytes(v.Child, lo)
		}
		return size
	case v.Type.Kind == vector.KindString || v.Type.Kind == vector.KindComplex:
		return int64(len(v.StringAt(row))) + 4
	}
	return 8
}

// boosts number the rows of a worker as they come, in steps, so that no number is that of a row of
// another one.
type boosts struct{ next, step int64 }

// column returns the numbers of the next n rows.
func (b *boosts) column(n int) *vector.Vector {
	out := make([]int64, n)
	for i := range out {
		out[i] = b.next
		b.next += b.step
	}
	return vector.FromLongs(out)
}

// metBuckets is how many buckets a writeTarget has at hand: those of a month of rows in any order,
// of which each 2^metBits milliseconds (half an hour) have a place.
const (
	metBuckets = 1024
	metBits    = 21
)

// writeTarget is what a writing job does to rows on their way to segments.
type writeTarget struct {
	time   int // column of __time, -1: none
	chunks *chunker
	last   chrono.Interval             // the bucket of the row before
	met    [metBuckets]chrono.Interval // buckets of rows before, by their times: rows may come in any order
	limit  int                         // of buckets
	boosts boosts
	seen   map[int64]struct{}
	// multi says which columns are multi-value, several which of them had a row with several values.
	multi, several []bool
	hash           *hasher // nil: rows are not hashed
	auto           *autoValues
}

func newWriteTarget(w *plan.Write, chunks *chunker, limit int, h *hasher, auto *autoValues, worker, workers int) *writeTarget {
	t := &writeTarget{time: timeColumn(w), chunks: chunks, limit: limit, boosts: boosts{int64(worker), int64(workers)}, seen: map[int64]struct{}{}, hash: h,
		auto: auto, multi: make([]bool, len(w.Input.Columns())), several: make([]bool, len(w.Input.Columns()))}
	for i, c := range w.Input.Columns() {
		t.multi[i] = c.Type.Multi
	}
	return t
}

// timeColumn returns the place of __time among the columns written, or -1.
func timeColumn(w *plan.Write) int {
	for i, c := range w.Columns() {
		if c.Name == "__time" {
			return i
		}
	}
	return -1
}

// prepare puts the time chunk and the boost before the columns of b, and the hash behind them if
// there is one. Boosts count up, so that rows with equal keys can be told apart and partitions cut
// between them. Multi-value columns become plain strings where that says the same: they move as
// columns of codes then.
func (t *writeTarget) prepare(b *vector.Batch) (*vector.Batch, error) {
	b = b.Compact()
	var bucket *vector.Vector
	if t.time >= 0 {
		v := b.Cols[t.time]
		if v.HasNulls() {
			for i := range b.N {
				if v.IsNull(i) {
					return nil, timeNull()
				}
			}
		}
		if err := checkTimes(v, b.N); err != nil {
			return nil, err
		}
		if !t.chunks.constant() {
			var err error
			if bucket, err = t.buckets(v, b.N); err != nil {
				return nil, err
			}
		}
	}
	if bucket == nil {
		bucket = vector.Constant(vector.Long, chrono.Eternity.Start, b.N)
	}
	columns := make([]*vector.Vector, len(b.Cols))
	for i, v := range b.Cols {
		columns[i] = v
		if !t.multi[i] {
			continue
		}
		if plain := plainValues(v); plain != nil {
			columns[i] = plain
		} else {
			t.several[i] = t.several[i] || hasSeveral(v)
		}
	}
	out := &vector.Batch{N: b.N, Cols: append([]*vector.Vector{bucket, t.boosts.column(b.N)}, columns...)}
	if t.auto != nil {
		t.auto.note(columns, bucket, b.N)
	}
	if t.hash != nil {
		out.Cols = append(out.Cols, t.hash.column(columns, bucket, b.N))
	}
	return out, nil
}

// checkTimes refuses times that no segment can have: queries prune by intervals, none of which
// reaches beyond eternity.
func checkTimes(v *vector.Vector, n int) error {
	if v.Type != vector.Long {
		return fault.Defensive("Column [__time] has type [%s] while rows are written", v.Type)
	}
	for i := range n {
		if at := v.LongAt(i); at < chrono.MinInstant || at >= chrono.MaxInstant {
			return timeBeyondEternity(at)
		}
	}
	return nil
}

func (t *writeTarget) buckets(v *vector.Vector, n int) (*vector.Vector, error) {
	out := make([]int64, n)
	for i := range n {
		if at := v.LongAt(i); !t.last.ContainsInstant(at) {
			met := &t.met[uint64(at)>>metBits%metBuckets]
			if !met.ContainsInstant(at) {
				bucket, ok := t.chunks.bucket(at)
				if !ok {
					return nil, cannotAppend(at)
				}
				if _, ok := t.seen[bucket.Start]; !ok {
					if len(t.seen) == t.limit {
						return nil, tooManyBuckets()
					}
					t.seen[bucket.Start] = struct{}{}
				}
				*met = bucket
			}
			t.last = *met
		}
		out[i] = t.last.Start
	}
	return vector.FromLongs(out), nil
}
