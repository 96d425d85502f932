package exec

import (
	"context"
	"io"
	"sync"

	"github.com/hengedb/henge/internal/vector"
)

// Gather concatenates numbered streams of batches: first all batches of stream 0, then those of
// stream 1, and so on. Streams are produced concurrently by any goroutines, each stream by one at a
// time. At most depth batches of each stream are buffered; the producer of a later stream then
// waits for its turn.
//
// The consumer owns a batch once it was sent: producers must not reuse its memory.
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

// NewGather returns a Gather that buffers at most depth batches per stream.
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

// Send sends a batch. It waits until there is room, or returns the cause if ctx is done.
func (g *Gather) Send(ctx context.Context, stream int, b *vector.Batch) error {
	select {
	case g.stream(stream) <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End ends a stream. Stream numbers have no gaps; each stream is ended once.
func (g *Gather) End(stream int) { close(g.stream(stream)) }

// Finish ends all streams; producers must not call Send or End afterwards. Streams without batches
// are empty. The consumer gets a non-nil failure before buffered batches. Only the first call has
// an effect.
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
