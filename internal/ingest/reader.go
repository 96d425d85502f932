package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/vector"
)

// Stats are the counters of a reader.
type Stats struct {
	// Rows is the number of rows returned. Records includes records that could not be parsed. Bytes is
	// the size of the decompressed input.
	Rows, Records, Bytes int64
}

// Reader returns the rows of one split in order.
//
// Next is called from one goroutine at a time. A batch stays valid as long as it is referenced.
// Next returns io.EOF at the end and stops within one chunk of ctx being done. Close ends the
// goroutines and may be called at any time by the goroutine that calls Next.
type Reader struct {
	table    *Table
	split    Split
	opts     *Options
	producer producer
	text     *textInput // of text formats
	ready    []*vector.Batch
	stats    Stats
	system   []*vector.Vector // constants of system fields, by field; nil: from the input
	fields   []Field          // fields that the producer sees
	cancel   context.CancelFunc
	err      error
	// malformed is what of formats that are no text was no UTF-8.
	malformed record.WellFormed
}

// producer yields what the records of a split became, in their order, and the line that the places
// in it count from; io.EOF after the last. It is used by one goroutine at a time. When stop is
// called the context it was started with is done.
type producer interface {
	next(ctx context.Context) (decoded, int64, error)
	stop() error
}

// Open starts reading a split.
func (t *Table) Open(ctx context.Context, split Split, opts *Options) (*Reader, error) {
	if opts == nil {
		opts = &Options{}
	}
	r := &Reader{table: t, split: split, opts: opts}
	ctx, r.cancel = context.WithCancel(ctx)
	r.systemFields()
	var err error
	if failed := guarded(func() error { err = r.open(ctx); return nil }); failed != nil {
		err = failed
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open(ctx context.Context) (err error) {
	if e, ok := r.split.Entity.(recordEntity); ok {
		src, err := e.openRecords(ctx)
		if err != nil {
			return err
		}
		r.producer = newRecordProducer(src, nil, nil, r.fields, r.opts)
		return nil
	}
	in := &input{split: r.split, opts: r.opts}
	switch f := r.table.Format.(type) {
	case columnFormat:
		if f.flattening().needed() || r.opts.Shape != nil {
			return r.openObjects(ctx, f, in)
		}
		r.producer, err = f.openColumns(ctx, in, r.fields)
		return err
	case fileFormat:
		return r.openObjects(ctx, f, in)
	case textFormat:
		r.text = &textInput{format: f, in: in}
		if err := r.text.open(ctx); err != nil {
			return err
		}
		return r.startDecoders(ctx, f)
	case *Envelope:
		return f.noFile()
	}
	return wire.Invalid("inputFormat", "input source [%s] needs an input format", r.table.Source.Type())
}

func (r *Reader) openObjects(ctx context.Context, f fileFormat, in *input) error {
	src, err := f.openObjects(ctx, in)
	if err == nil {
		r.producer = newRecordProducer(src, in, f.flattening(), r.fields, r.opts)
	}
	return err
}

// systemFields takes the columns that describe the file out of those that the decoder looks for.
func (r *Reader) systemFields() {
	r.fields = r.table.Fields
	wanted := SystemFields(r.table.Source)
	for i, f := range r.table.Fields {
		if f.Type != vector.String || !slices.Contains(wanted, f.Name) {
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

// SystemValue is the value of a system field of a split.
type SystemValue struct{ Name, Value string }

// SystemValues returns the requested system fields of a source, as far as the split has them.
func SystemValues(s Source, split Split) []SystemValue {
	var out []SystemValue
	for _, name := range SystemFields(s) {
		if value, ok := split.Entity.SystemField(name); ok {
			out = append(out, SystemValue{name, value})
		}
	}
	return out
}

// SystemFields returns the system fields that a source requests.
func SystemFields(s Source) []string {
	if s, ok := s.(interface{ systemFields() []string }); ok {
		return s.systemFields()
	}
	return nil
}

func (r *Reader) startDecoders(ctx context.Context, f textFormat) error {
	decoders := make([]decoder, max(r.opts.Decoders, 1))
	for i := range decoders {
		var err error
		if decoders[i], err = f.open(r.fields, r.text.header, r.opts); err != nil {
			return err
		}
	}
	if len(decoders) == 1 {
		r.producer = &inlineDecoder{text: r.text, decoder: decoders[0]}
		return nil
	}
	r.producer = startPipeline(ctx, r.text.nextChunk, r.text.cut.recycle, decoders)
	return nil
}

// inlineDecoder decodes on the goroutine that asks.
type inlineDecoder struct {
	text    *textInput
	decoder decoder
}

func (d *inlineDecoder) next(context.Context) (decoded, int64, error) {
	c, err := d.text.nextChunk()
	if err != nil {
		return decoded{}, 0, err
	}
	out := decodeChunk(d.decoder, c)
	d.text.cut.recycle(c)
	return out, c.line, nil
}

func (*inlineDecoder) stop() error { return nil }

// Next returns the next batch.
func (r *Reader) Next(ctx context.Context) (*vector.Batch, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return nil, r.err
		}
		if r.err = ctx.Err(); r.err != nil {
			return nil, r.err
		}
		var d decoded
		var line int64
		r.err = guarded(func() (err error) {
			d, line, err = r.producer.next(ctx)
			return err
		})
		if r.err != nil {
			if !errors.Is(r.err, io.EOF) {
				return nil, r.err
			}
			if r.text != nil {
				r.text.tellMalformed()
			}
			r.opts.tellMalformed(r.split.Entity.Name(), &r.malformed)
			return nil, r.err
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

// account turns places within the chunk into places within the file.
func (r *Reader) account(d *decoded, line int64) error {
	name := r.split.Entity.Name()
	base := int64(0)
	if (len(d.errs) > 0 || d.err != nil) && r.text != nil && r.text.baseLine != nil {
		var err error
		if base, err = r.text.baseLine(); err != nil {
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
	if null, ok := errors.AsType[*NullByteError](d.err); ok {
		null.Source = name
		null.RowNumber += base + r.stats.Records
		return fault.InvalidInput("%s", null).WithCause(null)
	}
	if d.err != nil {
		return d.err
	}
	r.malformed.Take(&d.malformed)
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

// Stats returns the counters so far. It may be called by the goroutine that calls Next.
func (r *Reader) Stats() Stats { return r.stats }

// Close stops the reader and waits for its goroutines.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = io.EOF
	}
	r.ready = nil
	r.cancel()
	var err error
	if r.producer != nil {
		err = r.producer.stop()
		r.producer = nil
	}
	if r.text != nil {
		err = errors.Join(err, r.text.close())
		r.text = nil
	}
	return err
}

// tellMalformed tells of the sequences that were replaced in an input, if any were, and begins
// anew.
func (o *Options) tellMalformed(path string, w *record.WellFormed) {
	if w.Count > 0 && o.OnNotice != nil {
		o.OnNotice(&Notice{Path: path, Count: w.Count,
			Text: fmt.Sprintf("[%d] byte sequences are not UTF-8 and were replaced by U+FFFD, the first in column [%s]", w.Count, w.Column)})
	}
	*w = record.WellFormed{}
}
