package exec

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// graceJoin joins file by file.
type graceJoin struct {
	join    *joinOp
	left    *partitions
	next    int
	present Operator
}

// spreadLeft writes the left rows to files, as the right ones were.
func (o *joinOp) spreadLeft(ctx context.Context) (*partitions, error) {
	parts := newPartitions(o.env, o.build.level)
	err := Drain(ctx, o.left, func(b *vector.Batch) error {
		b = b.Compact()
		keys := make([]*vector.Vector, len(o.node.Keys))
		for i, k := range o.node.Keys {
			keys[i] = vector.OneZero(b.Cols[k.Left])
		}
		return parts.writeKeys(keys, b.Cols, b.N)
	})
	if err == nil {
		err = parts.flush()
	}
	if err != nil {
		parts.close()
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
			o.left.drop(o.next - 1)
			o.join.build.parts.drop(o.next - 1)
		}
		if o.next == spillFanOut {
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
	left, right := o.left.open(p), o.join.build.parts.open(p)
	kind := o.join.node.Kind
	if left == nil && (right == nil || kind != plan.Right && kind != plan.Full) {
		return nil
	}
	if left == nil {
		left = noRows{}
	}
	if right == nil {
		right = noRows{}
	}
	build, err := buildJoin(ctx, o.join.node, nil, right, o.join.build.level+1, o.join.env)
	if err != nil {
		return err
	}
	join, err := newJoin(o.join.node, o.join.probe.need, left, build, o.join.probe.facts, o.join.env)
	if err != nil {
		build.close()
		return err
	}
	o.present = join
	return nil
}

func (o *graceJoin) Close() {
	if o.present != nil {
		o.present.Close()
	}
	o.left.close()
}

// noRows is the empty relation.
type noRows struct{}

func (noRows) Next(context.Context) (*vector.Batch, error) { return nil, io.EOF }

func (noRows) Close() {}
