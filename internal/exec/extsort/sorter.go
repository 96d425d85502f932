package extsort

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Spec defines a sort; its workers share it.
type Spec struct {
	operator.Resources
	Types []vector.Type // of the columns
	Keys  []plan.SortKey
	// Offset and Limit select the sorted rows to return: with a limit, a run contains only the rows
	// that can be among them. Limit is -1 for all rows.
	Offset, Limit int64
	// OnLast, if not nil, is called with the first key of the last row that can be in the result, if
	// the key is a non-null Long: rows after it need not be added.
	OnLast func(key int64)
}

// Merge returns the rows of sorted runs in order.
func (s *Spec) Merge(runs []operator.Operator) operator.Operator {
	if len(runs) == 1 {
		return runs[0]
	}
	m := &merger{s: s, builder: vector.NewBatchBuilder(s.Types, s.BatchRows)}
	for _, r := range runs {
		m.runs = append(m.runs, &mergeRun{source: r})
	}
	return m
}

// Keep returns the maximum number of rows that a run needs, -1: all.
func (s *Spec) Keep() int64 {
	if s.Limit < 0 || s.Offset+s.Limit < 0 {
		return -1
	}
	return s.Offset + s.Limit
}

func (s *Spec) sortKeys(b *vector.Batch) *vector.SortKeys {
	cols, orders := make([]*vector.Vector, len(s.Keys)), make([]vector.Order, len(s.Keys))
	for i, k := range s.Keys {
		cols[i], orders[i] = b.Cols[k.Column], vector.Order{Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return vector.NewSortKeys(cols, orders, b.N)
}

// Sorter is one worker of a sort.
//
// Sorter collects rows into a run and sorts the run when it is long enough. With a limit, the run
// is truncated to the rows that can still be in the result whenever it has grown to several times
// that number; later rows after the last of them are skipped. When the runs do not fit in memory,
// they are merged into a file.
type Sorter struct {
	*Spec
	account budget.Account
	run     *vector.BatchBuilder
	runs    []*vector.Batch // sorted
	held    int64           // bytes of runs
	last    *bound          // the last row that can count; nil: not known
	cutAt   int64           // rows at which the run is cut back next
	spilled []*budget.SpillFile
}

// NewSorter returns a worker without rows.
func NewSorter(s *Spec) *Sorter {
	return &Sorter{Spec: s, account: budget.NewAccount(s.Budget), run: vector.NewBatchBuilder(s.Types, 0), cutAt: leastCut}
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

// Add adds the rows of b that can be in the result.
func (s *Sorter) Add(b *vector.Batch) error {
	if s.last != nil {
		if b = s.last.before(b); b == nil {
			return nil
		}
	}
	keep := s.Keep()
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
			s.last = newBound(s.Keys, sorted, at)
			if key := sorted.Cols[s.Keys[0].Column]; s.Spec.OnLast != nil && !key.IsNull(at) {
				s.Spec.OnLast(key.LongAt(at))
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
	if s.Spill == nil {
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
func (s *Sorter) sorted() *vector.Batch {
	run := s.run.Build()
	if run.N < 2 || len(s.Keys) == 0 {
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
func (s *Sorter) spill() error {
	f, err := s.Spill.Create()
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
func (s *Sorter) inMemory() []operator.Operator {
	if s.run.Rows() > 0 {
		s.runs = append(s.runs, s.sorted())
	}
	out := make([]operator.Operator, len(s.runs))
	for i, r := range s.runs {
		out[i] = operator.Batches(r, s.BatchRows)
	}
	return out
}

// write merges runs into a file.
func (s *Sorter) write(ctx context.Context, f *budget.SpillFile, runs []operator.Operator) error {
	if err := operator.Drain(ctx, s.Merge(runs), vector.NewFrameWriter(f).Write); err != nil {
		return err
	}
	return f.Flush()
}

// maxMergeRuns bounds how many files are read at once: each takes a buffer and a batch.
const maxMergeRuns = 64

// Finish returns the sorted runs. They stay valid until Close.
func (s *Sorter) Finish(ctx context.Context) ([]operator.Operator, error) {
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
		runs = append(runs, operator.Frames(vector.NewFrameReader(f.Reader())))
	}
	return runs, nil
}

// mergeFiles makes one file of the oldest ones.
func (s *Sorter) mergeFiles(ctx context.Context) error {
	old := slices.Clone(s.spilled[:maxMergeRuns])
	var runs []operator.Operator
	for _, f := range old {
		runs = append(runs, operator.Frames(vector.NewFrameReader(f.Reader())))
	}
	f, err := s.Spill.Create()
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

// Empty reports whether there are no rows.
func (s *Sorter) Empty() bool { return s.run.Rows() == 0 && len(s.runs) == 0 && len(s.spilled) == 0 }

// Close releases memory and files.
func (s *Sorter) Close() {
	for _, f := range s.spilled {
		_ = f.Close() // a temporary file: nothing is lost
	}
	s.account.Close()
}

// Over returns an operator that yields the rows of input in order. It takes ownership of input.
func Over(input operator.Operator, types []vector.Type, keys []plan.SortKey, res operator.Resources) operator.Operator {
	return &sorted{input: input, sorter: NewSorter(&Spec{Resources: res, Types: types, Keys: keys, Limit: -1})}
}

// sorted sorts its input when the first row is asked for.
type sorted struct {
	input  operator.Operator
	sorter *Sorter
	out    operator.Operator
}

func (o *sorted) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if err := operator.Drain(ctx, o.input, o.sorter.Add); err != nil {
			return nil, err
		}
		runs, err := o.sorter.Finish(ctx)
		if err != nil {
			return nil, err
		}
		o.out = o.sorter.Merge(runs)
	}
	return o.out.Next(ctx)
}

func (o *sorted) Close() {
	o.input.Close()
	o.sorter.Close()
}
