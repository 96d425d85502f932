package exec

import (
	"context"
	"io"

	"github.com/hengedb/henge/internal/vector"
)

// batches yields a fixed batch in pieces of at most rows rows.
type batches struct {
	rest *vector.Batch
	rows int
}

func newBatches(b *vector.Batch, rows int) *batches { return &batches{rest: b, rows: rows} }

func (o *batches) Next(ctx context.Context) (*vector.Batch, error) {
	if err := stop(ctx); err != nil {
		return nil, err
	}
	n := o.rest.Rows()
	if n == 0 {
		return nil, io.EOF
	}
	if n <= o.rows {
		b := o.rest
		o.rest = &vector.Batch{}
		return b, nil
	}
	b := o.rest.Slice(0, o.rows)
	o.rest = o.rest.Slice(o.rows, n)
	return b, nil
}

func (o *batches) Close() { o.rest = &vector.Batch{} }
