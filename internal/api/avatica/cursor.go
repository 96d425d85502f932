package avatica

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// cursor is a query that runs, with the rows that were not fetched yet. A goroutine reads them
// ahead, a batch at most.
type cursor struct {
	rows   query.Rows
	writer *result.Writer
	clock  clock.Clock
	cancel context.CancelFunc
	chunks chan [][]byte
	ended  chan struct{} // closed when the reading goroutine has ended, and end says why
	end    error         // io.EOF: all rows were read
	once   sync.Once

	// The following are of the one request that fetches at a time.
	now    [][]byte
	at     int // in now
	offset int64
	most   int64 // rows that the driver wants at all; below 0: all
	done   bool
	failed error
}

// newCursor reads the rows of a query on, which ctx ends. finish is called when it has ended.
func newCursor(ctx context.Context, cancel context.CancelFunc, rows query.Rows, most int64, times clock.Clock,
	finish func(err error)) *cursor {
	c := &cursor{rows: rows, clock: times, cancel: cancel, chunks: make(chan [][]byte), ended: make(chan struct{}), most: most}
	c.writer = result.NewWriter(io.Discard, rows.Columns(), result.Options{Format: result.Array, Zone: rows.Zone(), Epoch: true})
	go func() {
		defer close(c.ended)
		err := exec.Protect(func() error { return c.read(ctx) })
		rows.Close()
		c.end = query.Cause(ctx, err)
		if errors.Is(err, io.EOF) {
			c.end = io.EOF
			err = nil
		} else {
			err = c.end
		}
		finish(err)
	}()
	return c
}

// read sends all rows and returns io.EOF, or why there are no more.
func (c *cursor) read(ctx context.Context) error {
	for {
		b, err := c.rows.Next(ctx)
		if err != nil {
			return err
		}
		list := c.encode(b)
		if len(list) == 0 {
			continue
		}
		select {
		case c.chunks <- list:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// encode makes a JSON list of each row, with times as numbers.
func (c *cursor) encode(b *vector.Batch) [][]byte {
	b = b.Compact()
	out := make([][]byte, b.N)
	for i := range out {
		out[i] = c.writer.AppendRow(nil, b, i)
	}
	return out
}

// soon is how long a frame waits for more rows when it has some.
const soon = 50 * time.Millisecond

// frame returns the next rows: most at a time, and what is there after a while. It waits for
// patience when there is none; a frame without rows that is not the last is asked for again.
func (c *cursor) frame(ctx context.Context, most int, patience time.Duration) (*frame, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	out := &frame{Offset: c.offset}
	rows := []byte("[")
	n := 0
	timer := c.clock.NewTimer(patience)
	defer timer.Stop()
	for !c.done && n < most {
		if c.at == len(c.now) {
			var more bool
			select {
			case c.now = <-c.chunks:
				c.at, more = 0, true
			case <-c.ended:
				if c.done = errors.Is(c.end, io.EOF); !c.done {
					c.failed = c.end
					return nil, c.failed
				}
			case <-timer.C():
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if !more {
				break
			}
			timer.Reset(soon)
		}
		if c.most >= 0 && c.offset == c.most {
			c.done = true
			c.close()
			break
		}
		if n > 0 {
			rows = append(rows, ',')
		}
		rows = append(rows, c.now[c.at]...)
		c.at++
		n++
		c.offset++
	}
	out.Done = c.done
	out.Rows = json.RawMessage(append(rows, ']'))
	return out, nil
}

// close ends the query and returns when it has ended.
func (c *cursor) close() {
	c.once.Do(c.cancel)
	<-c.ended
}
