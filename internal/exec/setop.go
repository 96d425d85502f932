package exec

import (
	"context"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// setOp is INTERSECT and EXCEPT: both inputs are grouped by all columns, counting each side, and
// the counts say how often a row is given. It spills as grouping does.
type setOp struct {
	node        *plan.SetOp
	left, right Operator
	env         *Env

	g    *grouper
	out  Operator
	rest *vector.Batch // rows to give, repeated
}

var countRows = agg.Spec{Name: "COUNT"}

func (o *setOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if err := o.run(ctx); err != nil {
			return nil, err
		}
	}
	for {
		if o.rest != nil {
			b := o.rest
			if b.N <= o.env.BatchRows {
				o.rest = nil
				return b, nil
			}
			o.rest = b.Slice(o.env.BatchRows, b.N)
			return b.Slice(0, o.env.BatchRows), nil
		}
		b, err := o.out.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b = o.repeat(b); b.N > 0 {
			o.rest = b
		}
	}
}

func (o *setOp) run(ctx context.Context) error {
	var err error
	if o.g, err = newGrouper(types(o.node.Columns()), nil, []agg.Spec{countRows, countRows}, 0, o.env); err != nil {
		return err
	}
	for side, in := range []Operator{o.left, o.right} {
		err := Drain(ctx, in, func(b *vector.Batch) error {
			b = b.Compact()
			if err := o.g.states[side].Update(nil, o.g.find(b.Cols, b.N), b.N); err != nil {
				return err
			}
			return o.g.fit(ctx)
		})
		if err != nil {
			return err
		}
	}
	o.out, err = o.g.results(ctx)
	return err
}

// repeat turns groups with counts into rows.
func (o *setOp) repeat(b *vector.Batch) *vector.Batch {
	k := len(b.Cols) - 2
	var rows []uint32
	for i := range b.N {
		l, r := b.Cols[k].LongAt(i), b.Cols[k+1].LongAt(i)
		n := min(l, r)
		if o.node.Kind == plan.Except {
			n = l - r
			if !o.node.All && r > 0 {
				n = 0
			}
		}
		if !o.node.All {
			n = min(n, 1)
		}
		for ; n > 0; n-- {
			rows = append(rows, uint32(i))
		}
	}
	out := &vector.Batch{N: len(rows), Cols: make([]*vector.Vector, k)}
	for c := range out.Cols {
		out.Cols[c] = b.Cols[c].Gather(rows)
	}
	return out
}

func (o *setOp) Close() {
	if o.out != nil {
		o.out.Close()
	}
	if o.g != nil {
		o.g.close()
	}
	o.left.Close()
	o.right.Close()
}
