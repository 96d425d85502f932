package join

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// op joins the left input, which streams, with the right one, which was read before: by hash
// when the join has keys, by searching sorted rows when its condition compares the two sides, else
// as a block nested loop.
//
// A right side that did not fit in memory lies in files. With keys, the left rows are spread
// likewise, and file by file is joined by an op of its own (a grace hash join). Without keys, or
// when all rows of a file have few of them, each left batch is joined with one block of the file
// after the other.
type op struct {
	node    *plan.Join
	left    operator.Operator
	build   *Build
	options *Options
	probe   *prober

	account budget.Account
	active  bool // a left batch is being joined
	ended   bool // the left input
	tail    int  // next right row to give without a partner
	out     operator.Operator
	blocks  *blocks
}

// New returns an operator that joins left with build, and takes ownership of both. need marks the
// needed columns of both sides.
func New(n *plan.Join, need []bool, left operator.Operator, build *Build, options *Options) (operator.Operator, error) {
	o, err := newOp(n, need, left, build, build.facts, options)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// newOp is New where build may have a part of the right input only, of which facts are
// known.
func newOp(n *plan.Join, need []bool, left operator.Operator, build *Build, facts buildFacts, options *Options) (*op, error) {
	o := &op{node: n, left: left, build: build, options: options, account: budget.NewAccount(options.Budget)}
	var err error
	if o.probe, err = newProber(n, need, options); err != nil {
		return nil, err
	}
	o.probe.facts = facts
	return o, nil
}

// begin is called before the first batch.
func (o *op) begin(ctx context.Context) error {
	if o.build.parts != nil {
		left, err := o.partitionLeft(ctx)
		if err != nil {
			return err
		}
		o.out = &graceJoin{join: o, left: left}
		return nil
	}
	if o.node.Kind == plan.Right || o.node.Kind == plan.Full {
		if err := o.account.Set(rowMarksBytes(o.build.count)); err != nil {
			return err
		}
		o.probe.matched = newRowMarks(o.build.count)
	}
	if o.build.file != nil {
		o.blocks = &blocks{join: o}
		return nil
	}
	o.probe.use(o.build.table)
	return nil
}

func (o *op) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil && o.probe.table == nil && o.blocks == nil {
		if err := o.begin(ctx); err != nil {
			return nil, err
		}
	}
	if o.out != nil {
		return o.out.Next(ctx)
	}
	for {
		if err := scheduler.Yield(ctx); err != nil {
			return nil, err
		}
		if o.ended {
			return o.rest(ctx)
		}
		if !o.active {
			b, err := o.left.Next(ctx)
			if errors.Is(err, io.EOF) {
				o.ended = true
				continue
			}
			if err != nil {
				return nil, err
			}
			b = b.Compact()
			if o.blocks != nil {
				if err := o.blocks.first(ctx); err != nil {
					return nil, err
				}
			}
			if err := o.probe.begin(b); err != nil {
				return nil, err
			}
			o.active = true
		}
		b, done, err := o.probe.step()
		if err != nil {
			return nil, err
		}
		if done {
			o.active = false
			if o.blocks != nil && !o.probe.last {
				if err := o.blocks.advance(ctx); err != nil {
					return nil, err
				}
				if err := o.probe.again(); err != nil {
					return nil, err
				}
				o.active = true
			}
		}
		if b != nil {
			return b, nil
		}
	}
}

// rest gives the right rows without a partner, padded with nulls on the left, after the left input
// has ended.
func (o *op) rest(ctx context.Context) (*vector.Batch, error) {
	if o.probe.matched == nil {
		return nil, io.EOF
	}
	for {
		if o.blocks != nil && (o.tail == 0 || o.tail >= o.probe.base+o.probe.table.rows.N) && int64(o.tail) < o.build.count {
			// The next block of the file, or the first again.
			step := o.blocks.advance
			if o.tail == 0 {
				step = o.blocks.first
			}
			if err := step(ctx); err != nil {
				return nil, err
			}
		}
		var rows []uint32
		rows, o.tail = o.probe.matched.missing(o.tail, o.probe.base+o.probe.table.rows.N, o.probe.base, o.options.BatchRows)
		if len(rows) > 0 {
			return o.probe.rightOnly(rows), nil
		}
		if int64(o.tail) >= o.build.count {
			return nil, io.EOF
		}
	}
}

func (o *op) Close() {
	if o.out != nil {
		o.out.Close()
	}
	o.left.Close()
	if o.blocks != nil {
		o.probe.table.close()
	}
	o.build.Close()
	o.account.Close()
}

// blocks walks through a right side that lies in one file, block by block.
type blocks struct {
	join *op
	r    *vector.FrameReader
	next *vector.Batch // read ahead, to know which block is the last
}

// first goes to the first block.
func (k *blocks) first(ctx context.Context) error {
	k.r = vector.NewFrameReader(k.join.build.file.Reader())
	k.join.probe.table.close()
	k.join.probe.table = nil
	var err error
	if k.next, err = k.r.Next(); err != nil {
		return err // there is at least one block, or nothing would have been spilled
	}
	return k.advance(ctx)
}

// advance goes to the next block.
func (k *blocks) advance(ctx context.Context) error {
	if err := scheduler.Yield(ctx); err != nil {
		return err
	}
	p := k.join.probe
	if p.table == nil {
		p.base = 0
	} else {
		p.base += p.table.rows.N
	}
	table, err := newTable(ctx, k.next, k.join.node, k.join.options)
	if err != nil {
		return err
	}
	p.table.close()
	p.use(table)
	next, err := k.r.Next()
	switch {
	case errors.Is(err, io.EOF):
		k.next, p.last = nil, true
	case err != nil:
		return err
	default:
		k.next, p.last = next, false
	}
	return nil
}
