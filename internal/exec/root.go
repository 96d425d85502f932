package exec

import (
	"context"
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// root is on top of a query's operators: it computes with a slot of the query's share, and turns
// panics into faults.
//
// Where the copy of a segment turns out to be damaged before there were any rows, it makes the
// operators anew, once: who owns the copy has fetched it again when the new ones ask for it.
// Likewise where rows of streams have moved, as often as Env.Anew says so. A failure that nobody
// foresaw may come from bytes that have changed since they were verified: the columns that were
// read are verified again before it is the answer.
type root struct {
	share *scheduler.Share
	make  func(ctx context.Context) (Operator, *sharing, error)
	anew  func(ctx context.Context, err error) bool // Env.Anew; nil: there is none
	again bool                                      // the operators may be made anew
	once  bool                                      // they were, of a damaged copy

	op      Operator // nil: there are none, since making them has failed
	sharing *sharing
	readers acquired
}

// begin returns the root of the operators that make returns.
func begin(ctx context.Context, env *Env, make func(ctx context.Context) (Operator, *sharing, error)) (Operator, error) {
	o := &root{share: env.Share, make: make, anew: env.Anew, again: true}
	err := o.start(ctx)
	for o.repeats(ctx, err) {
		err = o.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (o *root) start(ctx context.Context) error {
	return o.compute(ctx, func(ctx context.Context) (err error) {
		o.op, o.sharing, err = o.make(context.WithValue(ctx, readersKey{}, &o.readers))
		return err
	})
}

// Compute runs f with a slot of the share and converts panics to faults. f must not wait except in
// stop(ctx).
func Compute(ctx context.Context, share *scheduler.Share, f func(ctx context.Context) error) error {
	return Protect(func() error { return share.Compute(ctx, f) })
}

func (o *root) compute(ctx context.Context, f func(ctx context.Context) error) error {
	err := Compute(ctx, o.share, f)
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryDefensive && ctx.Err() == nil {
		if damage := o.readers.recheck(ctx); errors.Is(damage, segment.ErrCorrupt) {
			return fmt.Errorf("%w (noticed by: %w)", damage, err)
		}
	}
	return err
}

// repeats reports whether to make the operators anew since they, or making them, have failed.
func (o *root) repeats(ctx context.Context, err error) bool {
	if err == nil || !o.again || ctx.Err() != nil {
		return false
	}
	switch {
	case errors.Is(err, segment.ErrCorrupt):
		if o.once {
			return false
		}
		o.once = true
	case o.anew == nil || !o.anew(ctx, err):
		return false
	}
	o.Close()
	return true
}

func (o *root) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.next(ctx)
	for o.repeats(ctx, err) {
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
	o.readers.close()
	o.op, o.sharing = nil, nil
}
