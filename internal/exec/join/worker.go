package join

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/vector"
)

// Probe returns an operator that joins the stream of one worker with b, which is in memory and does
// not change. need marks the needed columns of both sides. For RIGHT and FULL joins, outer is the
// shared state of the workers, and begins is called before right rows without a partner are
// returned; for other joins both are nil. With reuse, a batch is valid only until the next call.
func (b *Build) Probe(input operator.Operator, need []bool, outer *Unmatched, begins func(), reuse bool) (operator.Operator, error) {
	p, err := newProber(b.node, need, b.options)
	if err != nil {
		return nil, err
	}
	p.facts = b.facts
	o := &workerOp{input: input, probe: p, outer: outer, begins: begins}
	if outer != nil {
		p.matched = outer.marks
	}
	p.use(b.table)
	if reuse {
		p.reuse()
	}
	return o, nil
}

// workerOp joins a worker's stream with a table.
type workerOp struct {
	input  operator.Operator
	probe  *prober
	active bool

	outer       *Unmatched // nil: right rows without a partner are left out
	begins      func()     // is called before they are given
	ended, last bool       // the input has ended, and the inputs of all other workers had
	tail        int        // next right row to look at then
}

func (o *workerOp) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if !o.active {
			if o.ended {
				return o.unmatched(ctx)
			}
			b, err := o.input.Next(ctx)
			if errors.Is(err, io.EOF) && o.outer != nil {
				return o.unmatched(ctx)
			}
			if err != nil {
				return nil, err
			}
			if err := o.probe.begin(b.Compact()); err != nil {
				return nil, err
			}
			o.active = true
		}
		if err := scheduler.Yield(ctx); err != nil {
			return nil, err
		}
		b, done, err := o.probe.step()
		if err != nil {
			return nil, err
		}
		o.active = !done
		if b != nil {
			return b, nil
		}
	}
}

func (o *workerOp) Close() { o.input.Close() }

// Unmatched gives the next of the right rows without a partner, if this worker gives them.
func (o *workerOp) unmatched(ctx context.Context) (*vector.Batch, error) {
	if !o.ended {
		if o.ended, o.last = true, o.outer.left(); o.last {
			o.begins()
		}
	}
	if !o.last {
		return nil, io.EOF
	}
	if err := scheduler.Yield(ctx); err != nil {
		return nil, err
	}
	var rows []uint32
	rows, o.tail = o.outer.marks.missing(o.tail, o.probe.table.rows.N, 0, o.probe.rows)
	if len(rows) == 0 {
		return nil, io.EOF
	}
	return o.probe.rightOnly(rows), nil
}
