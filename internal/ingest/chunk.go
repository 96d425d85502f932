package ingest

import (
	"bytes"
	"io"
	"sync/atomic"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/invariant"
)

// chunk is a run of whole records.
type chunk struct {
	data []byte
	buf  []byte // that data lies in, for recycle
	n    int    // bytes of buf that are the chunk's; those behind them are the chunker's rest
	line int64  // lines of the file before it
	// broken says that data is the first line of something that is larger than a record may be, or
	// ends nowhere.
	broken bool
}

// chunker cuts a stream into chunks.
type chunker struct {
	r         io.Reader
	cut       cutter
	size, max int
	// end is the offset in the file at which the split ends: records up to the first boundary whose
	// key is at or after it are in. -1: no end.
	end    int64
	offset int64 // in the file, of the first byte of rest

	rest []byte
	line int64
	eof  bool
	done bool
	free chan []byte // buffers to be used again; nil: none are

	// Text says that what is no UTF-8 is replaced, and counted.
	text      bool
	malformed malformedText
}

// malformedText counts what was no UTF-8. It is read by another goroutine than the one that counts.
type malformedText struct {
	n    atomic.Int64
	line atomic.Int64 // of the first, lines of the split before it counted as the chunker does
}

// Next returns the next chunk, or io.EOF. Its data is the caller's, until it gives it back to
// recycle.
func (c *chunker) next() (chunk, error) {
	if c.done {
		return chunk{}, io.EOF
	}
	buf := c.buffer()
	copy(buf, c.rest) // which may lie in the same buffer
	for {
		var err error
		if buf, err = c.fill(buf); err != nil {
			return chunk{}, err
		}
		if c.end >= 0 && c.offset+int64(len(buf)) > c.end {
			from := max(c.end-c.offset, 0)
			if _, n := c.cut.first(buf[from:]); n >= 0 {
				c.done = true
				return c.emit(buf, int(from)+n)
			}
			if !c.eof {
				if len(buf) >= c.max {
					return chunk{}, c.tooLarge()
				}
				buf = grow(buf)
				continue
			}
		}
		if c.eof {
			c.done = true
			return c.emit(buf, len(buf))
		}
		if n := c.cut.last(buf); n > 0 {
			return c.emit(buf, n)
		}
		if len(buf) >= c.max {
			return c.emitBroken(buf)
		}
		buf = grow(buf)
	}
}

// buffer returns a buffer as long as rest, with room for a chunk.
func (c *chunker) buffer() []byte {
	size := max(c.size, 2*len(c.rest))
	if size == c.size {
		select {
		case buf := <-c.free:
			return buf[:len(c.rest)]
		default:
		}
	}
	return make([]byte, len(c.rest), size)
}

// recycle takes the buffer of a chunk back that nobody looks at any more. It may be called by any
// goroutine.
func (c *chunker) recycle(done chunk) {
	invariant.Poison(done.buf[:done.n:done.n])
	if cap(done.buf) != c.size {
		return // of an uncommonly large record
	}
	select {
	case c.free <- done.buf:
	default:
	}
}

// skipToBoundary drops the end of a record that belongs to the split before.
func (c *chunker) skipToBoundary() error {
	buf := make([]byte, 0, c.size)
	for {
		var err error
		if buf, err = c.fill(buf); err != nil {
			return err
		}
		if key, n := c.cut.first(buf); n >= 0 {
			c.done = c.end >= 0 && c.offset+int64(key) >= c.end // no record of this split
			c.rest = buf[n:]
			c.offset += int64(n)
			return nil
		}
		if c.eof {
			c.done = true // the split before reads to the end
			return nil
		}
		if len(buf) >= c.max {
			return c.tooLarge()
		}
		buf = grow(buf)
	}
}

// tooLarge is for a split without boundary in sight: unlike a single reader, it can't tell where
// the next good record begins.
func (c *chunker) tooLarge() error {
	return fault.InvalidInput("A record near byte [%d] is larger than [%d] bytes", c.offset, c.max)
}

func grow(buf []byte) []byte {
	out := make([]byte, len(buf), 2*cap(buf))
	copy(out, buf)
	return out
}

// fill reads until buf is full or the stream ends.
func (c *chunker) fill(buf []byte) ([]byte, error) {
	for len(buf) < cap(buf) && !c.eof {
		n, err := c.r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			c.eof = true
		} else if err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func (c *chunker) emit(buf []byte, n int) (chunk, error) {
	out := chunk{data: buf[:n:n], buf: buf, n: n, line: c.line}
	c.cut.unify(out.data)
	lines := int64(bytes.Count(out.data, newline))
	if c.text && !utf8.Valid(out.data) {
		replaced, count, first := record.ReplaceMalformed(out.data)
		if c.malformed.n.Add(count) == count {
			c.malformed.line.Store(c.line + int64(bytes.Count(out.data[:first], newline)) + 1)
		}
		out.data = replaced
	}
	c.rest = buf[n:]
	c.offset += int64(n)
	c.line += lines
	if n == 0 {
		return chunk{}, io.EOF
	}
	return out, nil
}

// emitBroken gives up the record at the head of buf: its first line is the error's row, and reading
// goes on at the next line.
func (c *chunker) emitBroken(buf []byte) (chunk, error) {
	n := lineEnd(buf)
	if n == 0 {
		n = len(buf)
	}
	out, err := c.emit(buf, n)
	out.broken = true
	for err == nil && n == len(buf) && !c.eof && out.data[n-1] != '\n' {
		// The line itself is too long: drop the rest of it.
		scratch, ferr := c.fill(make([]byte, 0, c.size))
		if ferr != nil {
			return chunk{}, ferr
		}
		c.offset += int64(len(scratch))
		if end := lineEnd(scratch); end > 0 {
			c.rest = scratch[end:]
			c.offset -= int64(len(c.rest))
			c.line++
			break
		}
	}
	return out, err
}

// lineEnd returns the place behind the first end of a line in text that is certain, or 0.
func lineEnd(text []byte) int {
	_, end := lineCutter{}.first(text)
	return max(end, 0)
}

var newline = []byte{'\n'}
