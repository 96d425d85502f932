package join

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// graceJoin joins file by file.
type graceJoin struct {
	join    *op
	left    *spill.Partitions
	next    int
	present operator.Operator
}

// partitionLeft writes the left rows to files, as the right ones were.
func (o *op) partitionLeft(ctx context.Context) (*spill.Partitions, error) {
	parts := spill.NewPartitions(o.options.Resources, o.build.level)
	err := operator.Drain(ctx, o.left, func(b *vector.Batch) error {
		b = b.Compact()
		keys := make([]*vector.Vector, len(o.node.Keys))
		for i, k := range o.node.Keys {
			keys[i] = vector.OneZero(b.Cols[k.Left])
		}
		return parts.WriteKeys(keys, b.Cols, b.N)
	})
	if err == nil {
		err = parts.Flush()
	}
	if err != nil {
		parts.Close()
		return nil, err
	}
	return parts, nil
}

func (o *graceJoin) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if o.present != nil {
			b, err := o.present.Next(ctx)
			if !errors.Is(err, io.EOF) {
				return b, err
			}
			o.present.Close()
			o.present = nil
			o.left.Drop(o.next - 1)
			o.join.build.parts.Drop(o.next - 1)
		}
		if o.next == spill.FanOut {
			return nil, io.EOF
		}
		if err := o.open(ctx); err != nil {
			return nil, err
		}
	}
}

// open begins the join of the next file, unless it can give nothing.
func (o *graceJoin) open(ctx context.Context) error {
	p := o.next
	o.next++
	left, right := o.left.Open(p), o.join.build.parts.Open(p)
	kind := o.join.node.Kind
	if left == nil && (right == nil || kind != plan.Right && kind != plan.Full) {
		return nil
	}
	if left == nil {
		left = operator.None{}
	}
	if right == nil {
		right = operator.None{}
	}
	build, err := buildLevel(ctx, o.join.node, nil, right, o.join.build.level+1, o.join.options)
	if err != nil {
		return err
	}
	join, err := newOp(o.join.node, o.join.probe.need, left, build, o.join.probe.facts, o.join.options)
	if err != nil {
		build.Close()
		return err
	}
	o.present = join
	return nil
}

func (o *graceJoin) Close() {
	if o.present != nil {
		o.present.Close()
	}
	o.left.Close()
}
