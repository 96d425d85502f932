package exec

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/vector"
)

// unionOp concatenates its inputs in their order.
type unionOp struct {
	inputs []Operator
	at     int
}

func (o *unionOp) Next(ctx context.Context) (*vector.Batch, error) {
	for o.at < len(o.inputs) {
		b, err := o.inputs[o.at].Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		o.at++
	}
	return nil, io.EOF
}

func (o *unionOp) Close() {
	for _, in := range o.inputs {
		in.Close()
	}
}
