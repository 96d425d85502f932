package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Stats counts what a reader has read.
type Stats struct {
	// Rows counts the rows delivered, Records also those that did not parse, Bytes the unpacked text.
	Rows, Records, Bytes int64
}

// Reader yields the rows of one split in their order.
//
// Next is called from one goroutine at a time. A batch stays valid as long as it is referenced. Next returns io.EOF at the end and stops
// within one chunk of ctx being done. Close ends the goroutines and may be called at any time by the goroutine that calls Next.
type Reader struct {
	table *Table
	split Split
	opts  *Options
	src   io.ReadCloser
	cut   *chunker

	first    *chunk // what is left of the first chunk after its header
	header   []string
	inline   decoder // when the caller decodes
	pipe     *pipeline
	ready    []*vector.Batch
	stats    Stats
	start    int64                 // offset of the first record of a split that is not the first
	baseLine func() (int64, error) // lines of the file before the split
	system   []*vector.Vector      // constants of system fields, by field; nil: from the text
	fields   []Field               // fields that the decoder sees
	cancel   context.CancelFunc
	err      error
}

// Open starts reading a split.
func (t *Table) Open(ctx context.Context, split Split, opts *Options) (*Reader, error) {
	if opts == nil {
		opts = &Options{}
	}
	r := &Reader{table: t, split: split, opts: opts}
	ctx, r.cancel = context.WithCancel(ctx)
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open(ctx context.Context) error {
	raw, err := r.split.Entity.Open(ctx, r.split.Offset)
	if err != nil {
		return err
	}
	if r.split.Offset > 0 {
		r.src = raw // splits are plain text
	} else if r.src, err = decompress(raw, r.split.Entity.Name()); err != nil {
		r.src = nil
		return err
	}
	text := bufio.NewReaderSize(r.src, 64<<10)
	var head []byte
	if r.split.Offset == 0 {
		if head, err = text.Peek(4096); err != nil && err != io.EOF {
			return err
		}
		if err := refuseUTF16(head, r.split.Entity.Name()); err != nil {
			return err
		}
		if bytes.HasPrefix(head, byteOrderMark) {
			if _, err := text.Discard(len(byteOrderMark)); err != nil {
				return err
			}
			head = head[len(byteOrderMark):]
		}
	}
	r.cut = &chunker{r: text, cut: r.table.Format.begin(head), size: r.opts.chunkBytes(), max: r.opts.maxRecordBytes(),
		end: r.split.End, offset: r.split.Offset, free: make(chan []byte, chunksInFlight*max(r.opts.Decoders, 1))}
	if r.split.Offset > 0 {
		if err := r.cut.skipToBoundary(); err != nil {
			return err
		}
		r.start = r.cut.offset
		if err := r.headerOfFile(ctx); err != nil {
			return err
		}
		r.baseLine = sync.OnceValues(func() (int64, error) { return r.linesBefore(ctx) })
	} else if err := r.takeHeader(); err != nil {
		return err
	}
	r.systemFields()
	return r.startDecoders(ctx)
}

// takeHeader reads the rows before the data.
func (r *Reader) takeHeader() error {
	h := r.table.Format.head()
	for {
		c, err := r.cut.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var complete bool
		if r.header, complete = h.take(&c); complete {
			r.first = &c
			return nil
		}
	}
}

// headerOfFile reads the header for a split that begins later.
func (r *Reader) headerOfFile(ctx context.Context) error {
	text, err := readHead(ctx, r.split.Entity, defaultChunkBytes)
	if err != nil {
		return err
	}
	h := r.table.Format.head()
	r.header, _ = h.take(&chunk{data: trimBOM(text)})
	return nil
}

// linesBefore counts the lines of the file before the split: asked only when a record there does not parse.
func (r *Reader) linesBefore(ctx context.Context) (int64, error) {
	src, err := r.split.Entity.Open(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	lines, buf := int64(0), make([]byte, 256<<10)
	start := r.start
	for left := start; left > 0; {
		n, err := src.Read(buf[:min(left, int64(len(buf)))])
		lines += int64(bytes.Count(buf[:n], newline))
		left -= int64(n)
		if err != nil {
			break
		}
	}
	return lines, ctx.Err()
}

// systemFields takes the columns that describe the file out of those that the decoder looks for.
func (r *Reader) systemFields() {
	r.fields = r.table.Fields
	wanted := systemFieldsOf(r.table.Source)
	for i, f := range r.table.Fields {
		if f.Type != vector.String || !contains(wanted, f.Name) {
			continue
		}
		if r.system == nil {
			r.system = make([]*vector.Vector, len(r.table.Fields))
			r.fields = append([]Field(nil), r.table.Fields...)
		}
		if value, ok := r.split.Entity.SystemField(f.Name); ok {
			r.system[i] = vector.Constant(vector.String, value, 1)
		} else {
			r.system[i] = vector.Nulls(vector.String, 1)
		}
	}
}

func systemFieldsOf(s Source) []string {
	switch s := s.(type) {
	case *Local:
		return s.SystemFields
	case *HTTP:
		return s.SystemFields
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (r *Reader) startDecoders(ctx context.Context) error {
	if r.opts.Decoders <= 1 {
		var err error
		r.inline, err = r.table.Format.open(r.fields, r.header, r.opts)
		return err
	}
	decoders := make([]decoder, r.opts.Decoders)
	for i := range decoders {
		var err error
		if decoders[i], err = r.table.Format.open(r.fields, r.header, r.opts); err != nil {
			return err
		}
	}
	r.pipe = startPipeline(ctx, r.nextChunk, r.cut.recycle, decoders)
	return nil
}

// nextChunk returns the next chunk of the split.
func (r *Reader) nextChunk() (chunk, error) {
	if r.first != nil {
		c := *r.first
		r.first = nil
		return c, nil
	}
	return r.cut.next()
}

// Next returns the next batch.
func (r *Reader) Next(ctx context.Context) (*vector.Batch, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return nil, r.err
		}
		if r.err = ctx.Err(); r.err != nil {
			return nil, r.err
		}
		d, line, err := r.nextDecoded(ctx)
		if err != nil {
			r.err = err
			return nil, err
		}
		if r.err = r.account(&d, line); r.err != nil {
			return nil, r.err
		}
	}
	b := r.ready[0]
	r.ready = r.ready[1:]
	r.stats.Rows += int64(b.N)
	return b, nil
}

func (r *Reader) nextDecoded(ctx context.Context) (decoded, int64, error) {
	if r.pipe != nil {
		return r.pipe.next(ctx)
	}
	c, err := r.nextChunk()
	if err != nil {
		return decoded{}, 0, err
	}
	d := r.inline.decode(c)
	r.cut.recycle(c)
	return d, c.line, nil
}

// account turns places within the chunk into places within the file.
func (r *Reader) account(d *decoded, line int64) error {
	name := r.split.Entity.Name()
	base := int64(0)
	if (len(d.errs) > 0 || d.err != nil) && r.baseLine != nil {
		var err error
		if base, err = r.baseLine(); err != nil {
			return err
		}
	}
	for i := range d.errs {
		e := &d.errs[i]
		e.Path = name
		e.Line += base + line
		e.Record += base + r.stats.Records
		if r.opts.OnParseError == nil {
			return e
		}
		if err := r.opts.OnParseError(e); err != nil {
			return err
		}
	}
	var null *NullByteError
	if errors.As(d.err, &null) {
		null.Source = name
		null.RowNumber += base + r.stats.Records
	}
	if d.err != nil {
		return d.err
	}
	r.stats.Records += d.records
	r.stats.Bytes += d.bytes
	for _, b := range d.batches {
		for i, v := range r.system {
			if v != nil {
				c := *v
				c.Len = b.N
				c.Const = true
				b.Cols[i] = &c
			}
		}
	}
	r.ready = d.batches
	return nil
}

// Stats returns what has been read so far. It may be called by the goroutine that calls Next.
func (r *Reader) Stats() Stats { return r.stats }

// Close ends the reading.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = io.EOF
	}
	r.ready = nil
	r.cancel()
	if r.pipe != nil {
		r.pipe.stop()
		r.pipe = nil
	}
	if r.src == nil {
		return nil
	}
	err := r.src.Close()
	r.src = nil
	return err
}

// pipeline decodes chunks on several goroutines and gives them back in their order: one goroutine reads and cuts, the others decode. At most
// chunksInFlight per decoder are read and not yet taken.
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
					j.out = d.decode(j.chunk)
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

// guarded runs f and turns a panic into its error: a goroutine's panic must reach the root of its query as a fault.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("Reading the input failed unexpectedly.").WithCause(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
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
func (p *pipeline) stop() {
	for j := range p.order {
		<-j.done
	}
	p.wait.Wait()
}
