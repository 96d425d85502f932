package exec

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// gatherDepth is how many batches of each morsel may wait for the consumer.
const gatherDepth = 4

// gatherOp makes one stream of a pipeline's workers. Rows come in the order of the segments and
// their rows, whatever the number of workers.
type gatherOp struct {
	p     *Pipeline
	limit int64 // rows still to give, -1: all

	begun  bool
	single *Worker
	group  *Group
	gather *Gather
	remote *remoteRows // after those of this process; nil: there are none
}

func newGather(p *Pipeline) *gatherOp {
	o := &gatherOp{p: p, limit: -1}
	if p.rowsLeft != nil && keepsRows(p.steps) {
		// The first rows are wanted, not those of the quickest worker: count here.
		o.limit, p.rowsLeft = p.scan.Limit, nil
	}
	if p.remote != nil {
		o.remote = &remoteRows{remote: p.remote, fragment: &Fragment{
			Plan: p.fragment(), Need: p.need, Streamed: true, Remote: p.env.remoteProfile(p.nodes()),
		}}
	}
	return o
}

// keepsRows reports whether the steps give one row for each.
func keepsRows(steps []step) bool {
	for _, s := range steps {
		if _, ok := s.node.(*plan.Project); !ok {
			return false
		}
	}
	return true
}

func (o *gatherOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.limit == 0 {
		return nil, io.EOF
	}
	if !o.begun {
		if err := o.begin(ctx); err != nil {
			return nil, err
		}
	}
	b, err := o.next(ctx)
	if errors.Is(err, io.EOF) && o.remote != nil {
		b, err = o.remote.Next(ctx)
	}
	if err != nil || o.limit < 0 {
		return b, err
	}
	n := int64(b.Rows())
	if n > o.limit {
		b, n = b.Slice(0, int(o.limit)), o.limit
	}
	o.limit -= n
	return b, nil
}

func (o *gatherOp) begin(ctx context.Context) error {
	o.begun = true
	if err := o.p.prepare(ctx); err != nil {
		return err
	}
	if o.remote != nil && o.limit < 0 { // with a limit this process's rows may be enough
		if err := o.remote.begin(ctx); err != nil {
			return err
		}
	}
	n := o.p.Workers()
	if o.p.rowsLeft != nil {
		n = 1
	}
	if n == 1 {
		var err error
		o.single, err = o.p.NewWorker(false)
		return err
	}
	o.gather = NewGather(gatherDepth)
	o.group = NewGroup(scheduler.WithoutSlot(ctx))
	var working atomic.Int64
	working.Store(int64(n))
	for range n {
		o.group.Go(func(ctx context.Context) error {
			err := Compute(ctx, o.p.env.Share, o.work)
			if err != nil || working.Add(-1) == 0 {
				o.gather.Finish(err)
			}
			return err
		})
	}
	return nil
}

func (o *gatherOp) next(ctx context.Context) (b *vector.Batch, err error) {
	if o.gather != nil {
		err = scheduler.Wait(ctx, func() error {
			b, err = o.gather.Next(ctx)
			return err
		})
		return b, err
	}
	err = segment.Guard(func() error {
		b, err = o.single.Next(ctx)
		return err
	})
	return b, err
}

// work sends the batches of each morsel it takes.
func (o *gatherOp) work(ctx context.Context) error {
	w, err := o.p.NewWorker(true)
	if err != nil {
		return err
	}
	present := -1
	w.onTake(func(number int) {
		if present >= 0 {
			o.gather.End(present)
		}
		present = number
	})
	err = Drain(ctx, w, func(b *vector.Batch) error {
		return scheduler.Wait(ctx, func() error { return o.gather.Send(ctx, present, b) })
	})
	if err == nil && present >= 0 {
		o.gather.End(present)
	}
	return err
}

func (o *gatherOp) Close() {
	if o.group != nil {
		o.group.Stop()
	}
	if o.remote != nil {
		o.remote.Close()
	}
	o.p.Close()
}
