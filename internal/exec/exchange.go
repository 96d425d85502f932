package exec

import (
	"context"
	"io"
	"sync"

	"github.com/hengedb/henge/internal/vector"
)

// Gather joins numbered streams of batches into one: first all batches of stream 0, then those of
// stream 1, and so on. Streams are produced at the same time, by any goroutines, each by one at a
// time; at most depth batches of each wait to be taken, so whoever produces a later stream stops
// until it is its turn.
//
// A batch belongs to the consumer once it was sent: producers must not reuse its memory.
type Gather struct {
	depth int
	// ended is closed by Finish: no more batches come.
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex
	streams map[int]chan *vector.Batch // made by whoever comes first, producer or consumer
	err     error

	turn int // of the consumer
}

// NewGather returns a gather of streams that may run depth batches ahead.
func NewGather(depth int) *Gather {
	return &Gather{depth: depth, ended: make(chan struct{}), streams: map[int]chan *vector.Batch{}}
}

func (g *Gather) stream(n int) chan *vector.Batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.streams[n]
	if c == nil {
		c = make(chan *vector.Batch, g.depth)
		g.streams[n] = c
	}
	return c
}

// Send hands a batch over. It waits until there is room, and returns early with the cause if ctx is
// done.
func (g *Gather) Send(ctx context.Context, stream int, b *vector.Batch) error {
	select {
	case g.stream(stream) <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End says that a stream has no more batches. Streams are numbered without gaps; each is ended
// once.
func (g *Gather) End(stream int) { close(g.stream(stream)) }

// Finish says that no producer will send or end anything any more. Streams that were never begun
// are empty. A failure, not nil, is given to the consumer, before batches that still wait. Only the
// first call counts.
func (g *Gather) Finish(err error) {
	g.once.Do(func() {
		g.mu.Lock()
		g.err = err
		g.mu.Unlock()
		close(g.ended)
	})
}

// Next returns the next batch, or io.EOF after the last.
func (g *Gather) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		c := g.stream(g.turn)
		select {
		case b, ok := <-c:
			if ok {
				return b, nil
			}
			g.advance()
			continue
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-g.ended:
		}
		g.mu.Lock()
		err := g.err
		begun := len(g.streams)
		g.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select { // what was sent before the end
		case b, ok := <-c:
			if ok {
				return b, nil
			}
		default: // this stream was never ended, or never begun
		}
		if begun == 1 {
			return nil, io.EOF // only the one just made by looking for it
		}
		g.advance()
	}
}

// advance forgets the present stream and goes to the next.
func (g *Gather) advance() {
	g.mu.Lock()
	delete(g.streams, g.turn)
	g.mu.Unlock()
	g.turn++
}
