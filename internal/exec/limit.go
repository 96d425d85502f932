package exec

import (
	"context"
	"io"

	"github.com/hengedb/henge/internal/vector"
)

// limitOp skips rows and then keeps some. It stops pulling when it has them.
type limitOp struct {
	input  Operator
	offset int64
	count  int64 // -1: all
}

func (o *limitOp) Next(ctx context.Context) (*vector.Batch, error) {
	for o.count != 0 {
		b, err := o.input.Next(ctx)
		if err != nil {
			return nil, err
		}
		n := int64(b.Rows())
		if o.offset >= n {
			o.offset -= n
			continue
		}
		lo, hi := o.offset, n
		o.offset = 0
		if o.count > 0 && hi-lo > o.count {
			hi = lo + o.count
		}
		if o.count > 0 {
			o.count -= hi - lo
		}
		if lo == 0 && hi == n {
			return b, nil
		}
		return b.Slice(int(lo), int(hi)), nil
	}
	return nil, io.EOF
}

func (o *limitOp) Close() { o.input.Close() }
