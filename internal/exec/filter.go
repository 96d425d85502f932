package exec

import (
	"context"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// filterOp attaches the selection of the rows for which a predicate is true.
type filterOp struct {
	input Operator
	cond  *expr.Program
}

func (o *filterOp) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		b, err := o.input.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b, err = applyFilter(b, o.cond); err != nil || b != nil {
			return b, err
		}
	}
}

// applyFilter returns b with the rows for which cond is true, or nil if there are none.
func applyFilter(b *vector.Batch, cond *expr.Program) (*vector.Batch, error) {
	sel, err := cond.Filter(b)
	if err != nil || len(sel) == 0 {
		return nil, err
	}
	if len(sel) == b.Rows() {
		return b, nil
	}
	return &vector.Batch{N: b.N, Cols: b.Cols, Sel: sel}, nil
}

func (o *filterOp) Close() { o.input.Close() }
