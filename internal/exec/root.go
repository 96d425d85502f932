package exec

import (
	"context"
	"errors"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// root is on top of a query's operators: it computes with a slot of the query's share, and turns panics into faults.
//
// Where the copy of a segment turns out to be damaged before there were any rows, it makes the operators anew, once: who owns the copy has fetched
// it again when the new ones ask for it.
type root struct {
	share *Share
	make  func(ctx context.Context) (Operator, *sharing, error)
	again bool // the operators may be made anew

	op      Operator // nil: there are none, since making them has failed
	sharing *sharing
}

// begin returns the root of the operators that make returns.
func begin(ctx context.Context, share *Share, make func(ctx context.Context) (Operator, *sharing, error)) (Operator, error) {
	o := &root{share: share, make: make, again: true}
	err := o.start(ctx)
	if o.repeats(ctx, err) {
		err = o.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (o *root) start(ctx context.Context) error {
	return o.compute(ctx, func(ctx context.Context) (err error) {
		o.op, o.sharing, err = o.make(ctx)
		return err
	})
}

func (o *root) compute(ctx context.Context, f func(ctx context.Context) error) error {
	return Protect(func() error { return o.share.compute(ctx, f) })
}

// repeats reports whether to make the operators anew since they, or making them, have failed.
func (o *root) repeats(ctx context.Context, err error) bool {
	if !o.again || ctx.Err() != nil || !errors.Is(err, segment.ErrCorrupt) {
		return false
	}
	o.again = false
	o.Close()
	return true
}

func (o *root) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.next(ctx)
	if o.repeats(ctx, err) {
		if err = o.start(ctx); err == nil {
			b, err = o.next(ctx)
		}
	}
	o.again = false
	return b, err
}

func (o *root) next(ctx context.Context) (b *vector.Batch, err error) {
	err = o.compute(ctx, func(ctx context.Context) error {
		b, err = o.op.Next(ctx)
		return err
	})
	return b, err
}

func (o *root) Close() {
	if o.op != nil {
		o.op.Close()
		o.sharing.close()
	}
	o.op, o.sharing = nil, nil
}
