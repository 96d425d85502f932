package window

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/extsort"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// op sorts its input by partition and order, and then computes the calls over whole
// partitions, as many small ones together as fill a batch, or over one part of a partition after
// the other where all calls can do with that. What does not fit in memory goes to disk, as a
// longPartition.
type op struct {
	node    *plan.Window
	calls   []function
	cut     cut
	sorted  operator.Operator
	types   []vector.Type
	options Options

	account budget.Account
	rows    *vector.BatchBuilder
	starts  []int         // of the partitions in rows
	last    *vector.Batch // the first row of the last partition in rows, as one row
	before  *vector.Batch // the row before pending, when peers are kept together
	pending *vector.Batch // read and not yet in rows
	ended   bool
	out     operator.Operator
	long    *longPartition // what began in rows and has to go to disk
	// parted says that the rows after those in rows go on with their last partition, continues that
	// the first ones went on.
	parted, continues bool
}

// Options are the resources and limits of a window.
type Options struct {
	operator.Resources
	// MaxRows is the maximum number of rows of a partition, above which the query fails with a
	// RowsError; 0: no limit but memory.
	MaxRows int
}

// New returns an operator of n over input, and takes ownership of input. Rows that are equal in the
// order of the window are in a defined order, or are groups that keys distinguish.
func New(n *plan.Window, input operator.Operator, groups []plan.SortKey, o Options) (operator.Operator, error) {
	sorted := input
	if keys := Order(n, groups); len(keys) > 0 {
		sorted = extsort.Over(input, operator.Types(n.Input.Columns()), keys, o.Resources)
	}
	return NewOver(n, sorted, o)
}

// NewOver returns an operator of n over sorted, whose rows are in Order. It takes ownership of
// sorted.
func NewOver(n *plan.Window, sorted operator.Operator, options Options) (operator.Operator, error) {
	o := &op{node: n, types: operator.Types(n.Input.Columns()), options: options, sorted: sorted}
	o.account = budget.NewAccount(options.Budget)
	var err error
	if o.calls, o.cut, err = newStreamedFunctions(n.Calls); err != nil {
		return nil, err
	}
	if o.cut == cutNowhere || options.MaxRows > 0 { // who bounds partitions wants to hear of long ones
		o.calls, o.cut = nil, cutNowhere
	}
	for i := range n.Calls[len(o.calls):] {
		f, err := newFunction(&n.Calls[i])
		if err != nil {
			return nil, err
		}
		o.calls = append(o.calls, f)
	}
	o.rows = vector.NewBatchBuilder(o.types, 0)
	return o, nil
}

// Order is the order in which the rows of a window are computed. keys, if not nil, distinguish rows
// that are groups.
func Order(n *plan.Window, groups []plan.SortKey) []plan.SortKey {
	var keys []plan.SortKey
	for _, p := range n.Partition {
		keys = append(keys, plan.SortKey{Column: p, NullsFirst: true})
	}
	keys = append(keys, n.Order...)
	for _, group := range groups {
		if !slices.ContainsFunc(keys, func(k plan.SortKey) bool { return k.Column == group.Column }) {
			keys = append(keys, group)
		}
	}
	return keys
}

func (o *op) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if o.out != nil {
			b, err := o.out.Next(ctx)
			if !errors.Is(err, io.EOF) {
				return b, err
			}
			o.out.Close()
			o.out = nil
			if err := o.account.Set(0); err != nil {
				return nil, err
			}
		}
		if o.long != nil {
			if err := o.endLong(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if o.ended && o.pending == nil {
			return nil, io.EOF
		}
		if err := o.fill(ctx); err != nil {
			return nil, err
		}
		if o.rows.Rows() == 0 {
			continue
		}
		b, err := o.compute(ctx, o.rows.Build())
		if err != nil {
			return nil, err
		}
		o.out = operator.Batches(b, o.options.BatchRows)
	}
}

// fill gathers whole partitions, or parts of them, until there is at least a batch of rows.
func (o *op) fill(ctx context.Context) error {
	o.starts, o.last = o.starts[:0], nil
	o.continues, o.parted = o.parted, false
	for {
		if o.pending == nil {
			b, err := o.sorted.Next(ctx)
			if errors.Is(err, io.EOF) {
				o.ended = true
				return nil
			}
			if err != nil {
				return err
			}
			o.pending = b.Compact()
		}
		for i := range o.pending.N {
			if o.last != nil && samePartition(o.node.Partition, o.last, o.pending, i) {
				if o.cut == cutNowhere || o.rows.Rows()+i < o.options.BatchRows {
					continue
				}
				if o.cut == cutAnywhere || !o.peersOf(i) {
					o.parted = true
					o.take(i)
					return nil
				}
				continue
			}
			if err := o.bounded(o.rows.Rows() + i); err != nil {
				return err
			}
			if o.rows.Rows()+i >= o.options.BatchRows && o.last != nil {
				// A new partition, and enough rows for now: it comes with the next fill.
				o.take(i)
				return nil
			}
			o.starts = append(o.starts, o.rows.Rows()+i)
			o.last = o.pending.Slice(i, i+1)
		}
		// The batch dies with the next pull: keep the rows to compare with.
		o.last = (&vector.Batch{N: o.last.N, Cols: o.last.Cols, Sel: []uint32{0}}).Compact()
		if o.cut == cutAtPeers {
			o.before = (&vector.Batch{N: o.pending.N, Cols: o.pending.Cols, Sel: []uint32{uint32(o.pending.N - 1)}}).Compact()
		}
		o.take(o.pending.N)
		if err := o.bounded(o.rows.Rows()); err != nil {
			return err
		}
		if size := o.rows.Bytes() * memoryShare; !o.account.TrySet(size) {
			if o.options.Spill == nil {
				return o.account.Set(size)
			}
			return o.beginLong()
		}
	}
}

// beginLong moves the partition that begins last in rows to disk.
func (o *op) beginLong() error {
	b := o.rows.Build()
	start := o.starts[len(o.starts)-1]
	var err error
	o.long, err = newLongPartition(b.Slice(start, b.N), o.types, o.node.Order, o.account.Held()+o.options.Budget.Free(), o.options.Resources)
	if err != nil {
		return err
	}
	o.long.continues = o.continues && start == 0
	if start > 0 {
		o.starts = o.starts[:len(o.starts)-1]
		o.rows.Append(b.Slice(0, start))
	}
	return o.account.Set(o.rows.Bytes() * memoryShare)
}

// endLong adds the remaining rows of the partition on disk, and makes it what comes out next.
func (o *op) endLong(ctx context.Context) error {
	for within := true; within && !o.ended; {
		if o.pending == nil {
			b, err := o.sorted.Next(ctx)
			if errors.Is(err, io.EOF) {
				o.ended = true
				break
			}
			if err != nil {
				return err
			}
			o.pending = b.Compact()
		}
		n := 0
		for n < o.pending.N && samePartition(o.node.Partition, o.last, o.pending, n) {
			n++
		}
		within = n == o.pending.N
		if n > 0 {
			if err := o.long.add(o.pending.Slice(0, n)); err != nil {
				return err
			}
		}
		if most := o.options.MaxRows; most > 0 && o.long.n() > most {
			return &RowsError{Rows: o.long.n(), Max: most}
		}
		if o.pending = o.pending.Slice(n, o.pending.N); within {
			o.pending = nil
		}
	}
	var before []function
	if o.long.continues {
		before = o.calls
	}
	if err := o.long.finish(ctx, o.node.Calls, before); err != nil {
		return err
	}
	o.parted = false
	o.out, o.long = o.long, nil
	return nil
}

// bounded refuses the partition that begins last if its rows up to end are too many.
func (o *op) bounded(end int) error {
	if most := o.options.MaxRows; most > 0 && len(o.starts) > 0 && end-o.starts[len(o.starts)-1] > most {
		return &RowsError{Rows: end - o.starts[len(o.starts)-1], Max: most}
	}
	return nil
}

// RowsError is the failure of a partition with more rows than Options.MaxRows. Rows is the number
// of rows seen so far.
type RowsError struct{ Rows, Max int }

// Error says so.
func (e *RowsError) Error() string {
	return fmt.Sprintf("a window has [%d] rows or more, [%d] are allowed", e.Rows, e.Max)
}

// peersOf reports whether row i of pending, which is of the same partition as the row before, is
// also equal to it in the order.
func (o *op) peersOf(i int) bool {
	before, at := o.pending, i-1
	if i == 0 {
		before, at = o.before, 0
	}
	for _, k := range o.node.Order {
		if !vector.Same(before.Cols[k.Column], at, o.pending.Cols[k.Column], i) {
			return false
		}
	}
	return true
}

// memoryShare is what a row takes while windows are computed over it, in multiples of itself.
const memoryShare = 2

// take moves the first n pending rows to rows.
func (o *op) take(n int) {
	if n > 0 {
		o.rows.Append(o.pending.Slice(0, n))
	}
	if n == o.pending.N {
		o.pending = nil
		return
	}
	o.pending = o.pending.Slice(n, o.pending.N)
}

func samePartition(cols []int, last *vector.Batch, b *vector.Batch, i int) bool {
	for _, c := range cols {
		if !vector.Same(last.Cols[c], 0, b.Cols[c], i) {
			return false
		}
	}
	return true
}

func (o *op) compute(ctx context.Context, b *vector.Batch) (*vector.Batch, error) {
	n := b.N
	p := newPartitionSet(b, append(o.starts, n), o.node.Order)
	p.continues = o.continues
	out := &vector.Batch{N: n, Cols: append([]*vector.Vector(nil), b.Cols...)}
	for _, f := range o.calls {
		if err := scheduler.Yield(ctx); err != nil {
			return nil, err
		}
		v, err := f.compute(ctx, p)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v)
	}
	return out, nil
}

func (o *op) Close() {
	if o.out != nil {
		o.out.Close()
	}
	if o.long != nil {
		o.long.Close()
	}
	o.sorted.Close()
	o.account.Close()
}

// partitionSet are the rows of some whole partitions, in order.
type partitionSet struct {
	rows   *vector.Batch
	bounds []int // starts of the partitions, and the end of the last
	order  []plan.SortKey
	// By row: its partition, and the first and the row after the last of its peers, which are equal in
	// the order.
	partition      []int32
	peerLo, peerHi []int32
	// continues says that rows of the first partition came before.
	continues bool
}

func newPartitionSet(b *vector.Batch, bounds []int, order []plan.SortKey) *partitionSet {
	p := &partitionSet{rows: b, bounds: bounds, order: order}
	p.partition, p.peerLo, p.peerHi = make([]int32, b.N), make([]int32, b.N), make([]int32, b.N)
	for k := range len(bounds) - 1 {
		lo, hi := bounds[k], bounds[k+1]
		start := lo
		for i := lo; i < hi; i++ {
			p.partition[i] = int32(k)
			if i > lo && !p.peers(i-1, i) {
				p.endPeers(start, i)
				start = i
			}
		}
		p.endPeers(start, hi)
	}
	return p
}

func (p *partitionSet) endPeers(lo, hi int) {
	for i := lo; i < hi; i++ {
		p.peerLo[i], p.peerHi[i] = int32(lo), int32(hi)
	}
}

func (p *partitionSet) peers(i, j int) bool {
	for _, k := range p.order {
		if c := p.rows.Cols[k.Column]; !vector.Same(c, i, c, j) {
			return false
		}
	}
	return true
}

// start and end bound the partition of row i.
func (p *partitionSet) start(i int) int { return p.bounds[p.partition[i]] }
func (p *partitionSet) end(i int) int   { return p.bounds[p.partition[i]+1] }
