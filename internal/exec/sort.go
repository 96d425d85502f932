package exec

import (
	"context"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// sortOp orders its input and yields the rows from offset on, at most limit of them. Over a
// pipeline each worker sorts what it reads. In the end the sorted runs are merged.
type sortOp struct {
	*sorting
	pipeline *Pipeline // or
	input    Operator
	far      *farRows // sorted rows of other servers; nil: there are none

	sorters []*sorter
	out     Operator
}

// sorting is what the workers of a sort share.
type sorting struct {
	types  []vector.Type
	keys   []plan.SortKey
	offset int64
	limit  int64 // -1: all
	env    *Env
	top    *topKeys // told of the last row that can count, nil: nobody listens
}

func buildSort(ctx context.Context, n *plan.Sort, need []bool, env *Env) (Operator, error) {
	p, in, err := openParts(ctx, n.Input, env.unordered().needing(and(need, newColumnSet(n).addSort(n.Keys))))
	if err != nil {
		return nil, err
	}
	o := newSort(in, n.Input.Columns(), n.Keys, n.Offset, n.Limit, env)
	if o.pipeline = p; p != nil && p.there != nil {
		o.far = &farRows{remote: p.there, fragment: &Fragment{
			Plan: &plan.Sort{Input: p.fragment(), Keys: n.Keys, Limit: o.keep()}, Need: p.need, Far: env.far(p.nodes(n)),
		}}
	}
	return o, nil
}

func newSort(input Operator, columns []plan.Column, keys []plan.SortKey, offset, limit int64, env *Env) *sortOp {
	return newSortOf(input, types(columns), keys, offset, limit, env)
}

func newSortOf(input Operator, types []vector.Type, keys []plan.SortKey, offset, limit int64, env *Env) *sortOp {
	return &sortOp{sorting: &sorting{types: types, keys: keys, offset: offset, limit: limit, env: env}, input: input}
}

func (o *sortOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if o.limit == 0 {
			return nil, io.EOF
		}
		if err := o.consume(ctx); err != nil {
			return nil, err
		}
		var runs []Operator
		for _, s := range o.sorters {
			more, err := s.finish(ctx)
			if err != nil {
				return nil, err
			}
			runs = append(runs, more...)
		}
		if o.far != nil {
			runs = append(runs, o.far.runs()...)
		}
		o.out = &limitOp{input: o.merge(runs), offset: o.offset, count: o.limit}
	}
	return o.out.Next(ctx)
}

func (o *sortOp) consume(ctx context.Context) error {
	workers := 1
	if o.pipeline != nil {
		if err := o.pipeline.prepare(ctx); err != nil {
			return err
		}
		workers = o.pipeline.Workers()
		o.top = o.pipeline.narrowTop(o.keys, o.limit)
	}
	if o.far != nil {
		if err := o.far.begin(ctx); err != nil {
			return err
		}
	}
	for range workers {
		o.sorters = append(o.sorters, newSorter(o.sorting))
	}
	if o.pipeline == nil {
		return Drain(ctx, o.input, o.sorters[0].add)
	}
	return o.pipeline.Run(ctx, workers, func(_ context.Context, worker int, b *vector.Batch) error { return o.sorters[worker].add(b) })
}

func (o *sortOp) Close() {
	if o.input != nil {
		o.input.Close()
	}
	for _, s := range o.sorters {
		s.close()
	}
	if o.far != nil {
		o.far.Close()
	}
	if o.pipeline != nil {
		o.pipeline.Close()
	}
}

// merge returns the rows of sorted runs in order.
func (s *sorting) merge(runs []Operator) Operator {
	if len(runs) == 1 {
		return runs[0]
	}
	m := &mergeOp{s: s, builder: vector.NewBatchBuilder(s.types, s.env.BatchRows)}
	for _, r := range runs {
		m.runs = append(m.runs, &mergeRun{source: r})
	}
	return m
}

// keep is how many rows a run needs to hold at most, -1: all.
func (s *sorting) keep() int64 {
	if s.limit < 0 || s.offset+s.limit < 0 {
		return -1
	}
	return s.offset + s.limit
}

func (s *sorting) sortKeys(b *vector.Batch) *vector.SortKeys {
	cols, orders := make([]*vector.Vector, len(s.keys)), make([]vector.Order, len(s.keys))
	for i, k := range s.keys {
		cols[i], orders[i] = b.Cols[k.Column], vector.Order{Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return vector.NewSortKeys(cols, orders, b.N)
}

// sorter is one worker of a sort.
//
// Rows are gathered into a run, which is sorted when it is long enough. With a limit the run is cut
// back to the rows that can still count whenever it has grown to several times that, and from then
// on rows beyond the last of them are not even taken. When the runs do not fit in memory they are
// merged into a file.
type sorter struct {
	*sorting
	account budget.Account
	run     *vector.BatchBuilder
	runs    []*vector.Batch // sorted
	held    int64           // bytes of runs
	last    *sortBound      // the last row that can count; nil: not known
	cutAt   int64           // rows at which the run is cut back next
	spilled []*budget.SpillFile
}

func newSorter(s *sorting) *sorter {
	return &sorter{sorting: s, account: budget.NewAccount(s.env.Budget), run: vector.NewBatchBuilder(s.types, 0), cutAt: leastCut}
}

const (
	// sortOverhead is what sorting a run takes beside its rows: keys, row numbers and the ordered
	// copy, in multiples of the rows.
	sortOverhead = 2
	// maxRunRows and maxRunBytes bound a run: sorting one can't be interrupted, and its keys have
	// 32-bit offsets.
	maxRunRows  = 1 << 18
	maxRunBytes = 256 << 20
	// A run with a limit is cut back when it has four times as many rows as are wanted and, so that
	// this is not done all the time where each row lies before those that came earlier, as many as
	// this: at first few, as nothing is known of the last row until then.
	leastCut, greatestCut = 32, 1024
)

func (s *sorter) add(b *vector.Batch) error {
	if s.last != nil {
		if b = s.last.before(b); b == nil {
			return nil
		}
	}
	keep := s.keep()
	if keep >= 0 {
		b = ownTexts(b.Compact())
	}
	s.run.Append(b)
	if keep >= 0 && int64(s.run.Rows()) >= max(4*keep, s.cutAt) {
		s.cutAt = min(2*s.cutAt, greatestCut)
		sorted := s.sorted()
		s.run.Append(ownTexts(sorted.Slice(0, int(min(keep, int64(sorted.N))))))
		if keep > 0 && int64(sorted.N) >= keep {
			at := int(keep) - 1
			s.last = newSortBound(s.keys, sorted, at)
			if key := sorted.Cols[s.keys[0].Column]; s.top != nil && !key.IsNull(at) {
				s.top.offer(key.LongAt(at))
			}
		}
	}
	if s.run.Rows() >= maxRunRows || s.run.Bytes() >= maxRunBytes {
		s.held += s.run.Bytes()
		s.runs = append(s.runs, s.sorted())
	}
	size := s.held + s.run.Bytes()*(1+sortOverhead)
	if s.account.TrySet(size) {
		return nil
	}
	if s.env.Spill == nil {
		return s.account.Set(size)
	}
	return s.spill()
}

// ownTexts returns b with texts in memory of their own: the few rows that are left of many would
// keep all the memory that theirs lie in, which is counted nowhere once its owner has given it up.
func ownTexts(b *vector.Batch) *vector.Batch {
	out := &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(b.Cols)), Sel: b.Sel}
	for i, c := range b.Cols {
		out.Cols[i] = c.OwnStrings()
	}
	return out
}

// sorted takes the run's rows, in order.
func (s *sorter) sorted() *vector.Batch {
	run := s.run.Build()
	if run.N < 2 || len(s.keys) == 0 {
		return run
	}
	rows := s.sortKeys(run).Order()
	out := &vector.Batch{N: run.N, Cols: make([]*vector.Vector, len(run.Cols))}
	for i, c := range run.Cols {
		out.Cols[i] = c.Gather(rows)
	}
	return out
}

// spill merges all rows in memory into a file.
func (s *sorter) spill() error {
	f, err := s.env.Spill.Create()
	if err != nil {
		return err
	}
	s.spilled = append(s.spilled, f)
	if err := s.write(context.Background(), f, s.inMemory()); err != nil {
		return err
	}
	s.runs, s.held = nil, 0
	return s.account.Set(0)
}

// inMemory returns the sorted runs that are in memory.
func (s *sorter) inMemory() []Operator {
	if s.run.Rows() > 0 {
		s.runs = append(s.runs, s.sorted())
	}
	out := make([]Operator, len(s.runs))
	for i, r := range s.runs {
		out[i] = newBatches(r, s.env.BatchRows)
	}
	return out
}

// write merges runs into a file.
func (s *sorter) write(ctx context.Context, f *budget.SpillFile, runs []Operator) error {
	if err := Drain(ctx, s.merge(runs), vector.NewFrameWriter(f).Write); err != nil {
		return err
	}
	return f.Flush()
}

// maxMergeRuns bounds how many files are read at once: each takes a buffer and a batch.
const maxMergeRuns = 64

// finish returns the sorted runs.
func (s *sorter) finish(ctx context.Context) ([]Operator, error) {
	for len(s.spilled) > maxMergeRuns {
		if err := s.mergeFiles(ctx); err != nil {
			return nil, err
		}
	}
	runs := s.inMemory()
	s.held = 0
	for _, r := range s.runs {
		s.held += r.Bytes()
	}
	s.account.TrySet(min(s.held, s.account.Held())) // sorting is over
	for _, f := range s.spilled {
		runs = append(runs, frames{vector.NewFrameReader(f.Reader())})
	}
	return runs, nil
}

// mergeFiles makes one file of the oldest ones.
func (s *sorter) mergeFiles(ctx context.Context) error {
	old := slices.Clone(s.spilled[:maxMergeRuns])
	var runs []Operator
	for _, f := range old {
		runs = append(runs, frames{vector.NewFrameReader(f.Reader())})
	}
	f, err := s.env.Spill.Create()
	if err != nil {
		return err
	}
	s.spilled = append(slices.Clone(s.spilled[maxMergeRuns:]), f)
	err = s.write(ctx, f, runs)
	for _, o := range old {
		_ = o.Close() // a temporary file: nothing is lost
	}
	return err
}

func (s *sorter) close() {
	for _, f := range s.spilled {
		_ = f.Close() // a temporary file: nothing is lost
	}
	s.account.Close()
}
