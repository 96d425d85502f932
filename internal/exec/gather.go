package exec

import (
	"context"
	"io"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// gatherOp makes one stream of a pipeline's workers. Rows come in no particular order; with one worker in that of the segments.
type gatherOp struct {
	p      *Pipeline
	single *Worker
	group  *Group
	queue  chan *vector.Batch
	done   chan struct{} // closed when all workers have ended
}

func (o *gatherOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.single == nil && o.group == nil {
		if err := o.start(ctx); err != nil {
			return nil, err
		}
	}
	if o.single != nil {
		var b *vector.Batch
		err := segment.Guard(func() (err error) {
			b, err = o.single.Next(ctx)
			return err
		})
		return b, err
	}
	select {
	case b := <-o.queue:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-o.done:
	}
	select { // what was queued before the end
	case b := <-o.queue:
		return b, nil
	default:
	}
	if err := o.group.Wait(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func (o *gatherOp) start(ctx context.Context) error {
	n := o.p.Workers()
	if n == 1 {
		w, err := o.p.NewWorker(false)
		o.single = w
		return err
	}
	o.group = NewGroup(ctx)
	o.queue, o.done = make(chan *vector.Batch, 2*n), make(chan struct{})
	for range n {
		o.group.Go(o.work)
	}
	go func() {
		o.group.wg.Wait()
		close(o.done)
	}()
	return nil
}

func (o *gatherOp) work(ctx context.Context) error {
	w, err := o.p.NewWorker(true)
	if err != nil {
		return err
	}
	return Drain(ctx, w, func(b *vector.Batch) error {
		select {
		case o.queue <- b:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

func (o *gatherOp) Close() {
	if o.group != nil {
		o.group.Stop()
		<-o.done
	}
	o.p.Close()
}
