package operator

import (
	"context"
	"io"

	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/vector"
)

// Batches returns an operator that yields the rows of b, at most rows at a time.
func Batches(b *vector.Batch, rows int) Operator { return &batches{rest: b, rows: rows} }

type batches struct {
	rest *vector.Batch
	rows int
}

func (o *batches) Next(ctx context.Context) (*vector.Batch, error) {
	if err := scheduler.Yield(ctx); err != nil {
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

// Frames returns an operator that yields the batches of a stream of frames.
func Frames(r *vector.FrameReader) Operator { return frames{r} }

type frames struct{ r *vector.FrameReader }

func (f frames) Next(ctx context.Context) (*vector.Batch, error) {
	if err := scheduler.Yield(ctx); err != nil {
		return nil, err
	}
	return f.r.Next()
}

func (f frames) Close() {}

// None is the empty relation.
type None struct{}

// Next returns io.EOF.
func (None) Next(context.Context) (*vector.Batch, error) { return nil, io.EOF }

// Close does nothing.
func (None) Close() {}
