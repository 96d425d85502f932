package exec

import (
	"container/heap"
	"context"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// sortOp orders its input and yields the rows from offset on, at most limit of them.
//
// Rows are gathered into a run. With a limit the run is cut back to the rows that can still count whenever it has grown to several
// times that. A run that does not fit in memory is sorted and written to a file; in the end all runs are merged.
type sortOp struct {
	input  Operator
	types  []vector.Type
	keys   []plan.SortKey
	offset int64
	limit  int64 // -1: all
	rows   int   // of an output batch
	env    *Env

	account budget.Account
	run     *vector.BatchBuilder
	spilled []*budget.SpillFile
	out     Operator
}

func newSort(input Operator, columns []plan.Column, keys []plan.SortKey, offset, limit int64, env *Env) *sortOp {
	return newSortOf(input, types(columns), keys, offset, limit, env)
}

func newSortOf(input Operator, types []vector.Type, keys []plan.SortKey, offset, limit int64, env *Env) *sortOp {
	o := &sortOp{input: input, types: types, keys: keys, offset: offset, limit: limit, rows: env.BatchRows, env: env}
	o.account = budget.NewAccount(env.Budget)
	o.run = vector.NewBatchBuilder(o.types, 0)
	return o
}

// keep is how many rows a run needs to hold at most, -1: all.
func (o *sortOp) keep() int64 {
	if o.limit < 0 || o.offset+o.limit < 0 {
		return -1
	}
	return o.offset + o.limit
}

func (o *sortOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if o.limit == 0 {
			return nil, io.EOF
		}
		if err := Drain(ctx, o.input, o.add); err != nil {
			return nil, err
		}
		if err := o.finish(); err != nil {
			return nil, err
		}
	}
	return o.out.Next(ctx)
}

// sortOverhead is what sorting a run takes beside its rows: keys, row numbers and the ordered copy.
const sortOverhead = 2

func (o *sortOp) add(b *vector.Batch) error {
	o.run.Append(b)
	if keep := o.keep(); keep >= 0 && int64(o.run.Rows()) >= 4*max(keep, int64(o.rows)) {
		sorted := o.sorted()
		o.run.Append(sorted.Slice(0, int(min(keep, int64(sorted.N)))))
	}
	if o.account.TrySet(o.run.Bytes() * (1 + sortOverhead)) {
		return nil
	}
	if o.env.Spill == nil || o.run.Rows() == 0 {
		return o.account.Set(o.run.Bytes() * (1 + sortOverhead))
	}
	return o.spill()
}

// sorted takes the run's rows, in order.
func (o *sortOp) sorted() *vector.Batch {
	run := o.run.Build()
	keys := vector.NewSortKeys(o.keyColumns(run), o.orders(), run.N)
	rows := make([]uint32, run.N)
	prefix := make([]uint64, run.N)
	for i := range rows {
		rows[i], prefix[i] = uint32(i), keys.Prefix(i)
	}
	slices.SortStableFunc(rows, func(a, b uint32) int {
		if prefix[a] != prefix[b] {
			if prefix[a] < prefix[b] {
				return -1
			}
			return 1
		}
		return keys.Compare(int(a), keys, int(b))
	})
	out := &vector.Batch{N: run.N, Cols: make([]*vector.Vector, len(run.Cols))}
	for i, c := range run.Cols {
		out.Cols[i] = c.Gather(rows)
	}
	return out
}

func (o *sortOp) keyColumns(b *vector.Batch) []*vector.Vector {
	cols := make([]*vector.Vector, len(o.keys))
	for i, k := range o.keys {
		cols[i] = b.Cols[k.Column]
	}
	return cols
}

func (o *sortOp) orders() []vector.Order {
	orders := make([]vector.Order, len(o.keys))
	for i, k := range o.keys {
		orders[i] = vector.Order{Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return orders
}

func (o *sortOp) spill() error {
	f, err := o.env.Spill.Create()
	if err != nil {
		return err
	}
	o.spilled = append(o.spilled, f)
	w := vector.NewFrameWriter(f)
	sorted := o.sorted()
	for lo := 0; lo < sorted.N; lo += o.rows {
		if err := w.Write(sorted.Slice(lo, min(lo+o.rows, sorted.N))); err != nil {
			return err
		}
	}
	if err := f.Flush(); err != nil {
		return err
	}
	return o.account.Set(0)
}

func (o *sortOp) finish() error {
	last := newBatches(o.sorted(), o.rows)
	if len(o.spilled) == 0 {
		o.out = &limitOp{input: last, offset: o.offset, count: o.limit}
		return nil
	}
	m := &mergeOp{sort: o, builder: vector.NewBatchBuilder(o.types, o.rows)}
	for _, f := range o.spilled {
		m.runs = append(m.runs, &mergeRun{source: frames{vector.NewFrameReader(f.Reader())}})
	}
	m.runs = append(m.runs, &mergeRun{source: last})
	o.out = &limitOp{input: m, offset: o.offset, count: o.limit}
	return nil
}

func (o *sortOp) Close() {
	o.input.Close()
	for _, f := range o.spilled {
		_ = f.Close() // a temporary file: nothing is lost
	}
	o.account.Close()
}

// frames yields the batches of a stream of frames.
type frames struct{ r *vector.FrameReader }

func (f frames) Next(ctx context.Context) (*vector.Batch, error) {
	if err := stop(ctx); err != nil {
		return nil, err
	}
	return f.r.Next()
}

func (f frames) Close() {}

// mergeOp merges sorted runs.
type mergeOp struct {
	sort    *sortOp
	runs    []*mergeRun // a heap once begun
	begun   bool
	builder *vector.BatchBuilder
}

// mergeRun is a run with its present row.
type mergeRun struct {
	source Operator
	batch  *vector.Batch
	keys   *vector.SortKeys
	row    int
}

// advance moves to the next row; false at the end.
func (m *mergeOp) advance(ctx context.Context, r *mergeRun) (bool, error) {
	r.row++
	if r.batch != nil && r.row < r.batch.N {
		return true, nil
	}
	b, err := r.source.Next(ctx)
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.batch, r.row = b.Compact(), 0
	r.keys = vector.NewSortKeys(m.sort.keyColumns(r.batch), m.sort.orders(), r.batch.N)
	return true, nil
}

func (m *mergeOp) Len() int { return len(m.runs) }
func (m *mergeOp) Less(i, j int) bool {
	a, b := m.runs[i], m.runs[j]
	return a.keys.Compare(a.row, b.keys, b.row) < 0
}
func (m *mergeOp) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }

// Push is part of heap.Interface; runs are never added.
func (m *mergeOp) Push(any) {}

// Pop is part of heap.Interface.
func (m *mergeOp) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}

func (m *mergeOp) Next(ctx context.Context) (*vector.Batch, error) {
	if !m.begun {
		m.begun = true
		var alive []*mergeRun
		for _, r := range m.runs {
			ok, err := m.advance(ctx, r)
			if err != nil {
				return nil, err
			}
			if ok {
				alive = append(alive, r)
			}
		}
		m.runs = alive
		heap.Init(m)
	}
	for m.builder.Rows() < m.sort.rows && len(m.runs) > 0 {
		r := m.runs[0]
		m.builder.AppendRow(r.batch, r.row)
		ok, err := m.advance(ctx, r)
		if err != nil {
			return nil, err
		}
		if ok {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	if m.builder.Rows() == 0 {
		return nil, io.EOF
	}
	return m.builder.Build(), nil
}

func (m *mergeOp) Close() {}
