package ingest

import (
	"context"
	"sync"

	"github.com/hengedb/henge/internal/fault"
)

// pipeline decodes chunks on several goroutines and gives them back in their order: one goroutine
// reads and cuts, the others decode. At most chunksInFlight per decoder are read and not yet taken.
type pipeline struct {
	order  chan *job
	wait   sync.WaitGroup
	failed error // of reading, set before order is closed
}

type job struct {
	chunk chunk
	out   decoded
	done  chan struct{}
}

func startPipeline(ctx context.Context, next func() (chunk, error), recycle func(chunk), decoders []decoder) *pipeline {
	p := &pipeline{order: make(chan *job, chunksInFlight*len(decoders))}
	work := make(chan *job, len(decoders))
	p.wait.Add(1 + len(decoders))
	go func() {
		defer p.wait.Done()
		defer close(p.order)
		defer close(work)
		p.failed = guarded(func() error {
			for {
				c, err := next()
				if err != nil {
					return err
				}
				j := &job{chunk: c, done: make(chan struct{})}
				select {
				case p.order <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
				select {
				case work <- j:
				case <-ctx.Done():
					close(j.done)
					return ctx.Err()
				}
			}
		})
	}()
	for _, d := range decoders {
		go func() {
			defer p.wait.Done()
			for j := range work {
				err := guarded(func() error {
					j.out = decodeChunk(d, j.chunk)
					return nil
				})
				if err != nil {
					j.out = decoded{err: err}
				}
				recycle(j.chunk)
				j.chunk.data, j.chunk.buf = nil, nil
				close(j.done)
			}
		}()
	}
	return p
}

// guarded runs f and turns a panic into its error: a goroutine's panic must reach the root of its
// query as a fault.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("Reading the input failed unexpectedly.").WithPanic(p)
		}
	}()
	return f()
}

func (p *pipeline) next(ctx context.Context) (decoded, int64, error) {
	select {
	case j, ok := <-p.order:
		if !ok {
			return decoded{}, 0, p.failed
		}
		<-j.done
		return j.out, j.chunk.line, ctx.Err()
	case <-ctx.Done():
		return decoded{}, 0, ctx.Err()
	}
}

// stop waits for the goroutines; the context they were started with must be done.
func (p *pipeline) stop() error {
	for j := range p.order {
		<-j.done
	}
	p.wait.Wait()
	return nil
}
