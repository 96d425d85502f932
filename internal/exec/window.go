package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// windowOp sorts its input by partition and order, and then computes the calls over whole
// partitions, as many small ones together as fill a batch, or over one part of a partition after
// the other where all calls can do with that. What does not fit in memory goes to disk, as a
// longPartition.
type windowOp struct {
	node   *plan.Window
	calls  []windowFunction
	cut    windowCut
	sorted Operator
	types  []vector.Type
	env    *Env

	account budget.Account
	rows    *vector.BatchBuilder
	starts  []int         // of the partitions in rows
	last    *vector.Batch // the first row of the last partition in rows, as one row
	before  *vector.Batch // the row before pending, when peers are kept together
	pending *vector.Batch // read and not yet in rows
	ended   bool
	out     Operator
	long    *longPartition // what began in rows and has to go to disk
	// parted says that the rows after those in rows go on with their last partition, continues that
	// the first ones went on.
	parted, continues bool
}

// openWindow computes a window in parts where that pays, else over all rows in order.
func openWindow(ctx context.Context, n *plan.Window, env *Env) (*Pipeline, Operator, error) {
	// Rows that the window's order leaves equal stay as they come, and frames of rows tell them apart.
	input, inner, groups := n.Input, env.inOrder(), []plan.SortKey(nil)
	if inParts(n, env) {
		if below, keys := groupsBelow(n); below != nil {
			input, inner, groups = below, env.unordered(), keys
		}
	}
	p, in, err := openParts(ctx, input, inner)
	switch {
	case err != nil:
		return nil, nil, err
	case p != nil && inParts(n, env) && (groups != nil || manyRows(p)):
		return &Pipeline{env: env, parted: newWindowParts(n, p, groups, env)}, nil, nil
	case p != nil:
		in = newGather(p)
	}
	o, err := newWindow(n, in, groups, env)
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return nil, o, nil
}

// newWindow takes over input, whose rows come in order where the window's order leaves them equal,
// or are groups that are told apart by keys.
func newWindow(n *plan.Window, input Operator, groups []plan.SortKey, env *Env) (*windowOp, error) {
	sorted := input
	if keys := windowOrder(n, groups); len(keys) > 0 {
		sorted = newSortOf(input, types(n.Input.Columns()), keys, 0, -1, env)
	}
	return newWindowOver(n, sorted, env)
}

// newWindowOver takes over sorted, whose rows come in windowOrder.
func newWindowOver(n *plan.Window, sorted Operator, env *Env) (*windowOp, error) {
	o := &windowOp{node: n, types: types(n.Input.Columns()), env: env, sorted: sorted}
	o.account = budget.NewAccount(env.Budget)
	var err error
	if o.calls, o.cut, err = newStreamedFunctions(n.Calls); err != nil {
		return nil, err
	}
	if o.cut == cutNowhere || env.MaxWindowRows > 0 { // who bounds partitions wants to hear of long ones
		o.calls, o.cut = nil, cutNowhere
	}
	for i := range n.Calls[len(o.calls):] {
		f, err := newWindowFunction(&n.Calls[i])
		if err != nil {
			return nil, err
		}
		o.calls = append(o.calls, f)
	}
	o.rows = vector.NewBatchBuilder(o.types, 0)
	return o, nil
}

// windowOrder is the order in which a window's rows are computed, which are groups that are told
// apart by keys, or nil.
func windowOrder(n *plan.Window, groups []plan.SortKey) []plan.SortKey {
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

func (o *windowOp) Next(ctx context.Context) (*vector.Batch, error) {
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
		o.out = newBatches(b, o.env.BatchRows)
	}
}

// fill gathers whole partitions, or parts of them, until there is at least a batch of rows.
func (o *windowOp) fill(ctx context.Context) error {
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
				if o.cut == cutNowhere || o.rows.Rows()+i < o.env.BatchRows {
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
			if o.rows.Rows()+i >= o.env.BatchRows && o.last != nil {
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
		if size := o.rows.Bytes() * windowShare; !o.account.TrySet(size) {
			if o.env.Spill == nil {
				return o.account.Set(size)
			}
			return o.beginLong()
		}
	}
}

// beginLong moves the partition that begins last in rows to disk.
func (o *windowOp) beginLong() error {
	b := o.rows.Build()
	start := o.starts[len(o.starts)-1]
	var err error
	o.long, err = newLongPartition(b.Slice(start, b.N), o.types, o.node.Order, o.account.Held()+o.env.Budget.Free(), o.env)
	if err != nil {
		return err
	}
	o.long.continues = o.continues && start == 0
	if start > 0 {
		o.starts = o.starts[:len(o.starts)-1]
		o.rows.Append(b.Slice(0, start))
	}
	return o.account.Set(o.rows.Bytes() * windowShare)
}

// endLong adds the remaining rows of the partition on disk, and makes it what comes out next.
func (o *windowOp) endLong(ctx context.Context) error {
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
		if most := o.env.MaxWindowRows; most > 0 && o.long.n() > most {
			return &ErrWindowRows{Rows: o.long.n(), Max: most}
		}
		if o.pending = o.pending.Slice(n, o.pending.N); within {
			o.pending = nil
		}
	}
	var before []windowFunction
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
func (o *windowOp) bounded(end int) error {
	if most := o.env.MaxWindowRows; most > 0 && len(o.starts) > 0 && end-o.starts[len(o.starts)-1] > most {
		return &ErrWindowRows{Rows: end - o.starts[len(o.starts)-1], Max: most}
	}
	return nil
}

// ErrWindowRows is the failure of a window partition with more rows than Env.MaxWindowRows. Rows
// counts those seen so far.
type ErrWindowRows struct{ Rows, Max int }

// Error says so.
func (e *ErrWindowRows) Error() string {
	return fmt.Sprintf("a window has [%d] rows or more, [%d] are allowed", e.Rows, e.Max)
}

// peersOf reports whether row i of pending, which is of the same partition as the row before, is
// also equal to it in the order.
func (o *windowOp) peersOf(i int) bool {
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

// windowShare is what a row takes while windows are computed over it, in multiples of itself.
const windowShare = 2

// take moves the first n pending rows to rows.
func (o *windowOp) take(n int) {
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

func (o *windowOp) compute(ctx context.Context, b *vector.Batch) (*vector.Batch, error) {
	n := b.N
	p := newPartitionSet(b, append(o.starts, n), o.node.Order)
	p.continues = o.continues
	out := &vector.Batch{N: n, Cols: append([]*vector.Vector(nil), b.Cols...)}
	for _, f := range o.calls {
		if err := stop(ctx); err != nil {
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

func (o *windowOp) Close() {
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
