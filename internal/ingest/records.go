package ingest

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/vector"
)

// Record is one record of an entity as an object.
type Record struct {
	// Object is nil if the record could not be parsed.
	Object *record.Object
	// Text is the text of the record, if the format has one. It is valid until the next record.
	Text []byte
	// Line is the line of the record, from 1; 0: the format has no lines.
	Line int64
	// Reason is why the record could not be parsed.
	Reason string
}

// objectReader yields the records of a split in their order, io.EOF after the last. Next is called
// from one goroutine at a time.
type objectReader interface {
	next(ctx context.Context) (Record, error)
	close() error
}

// Records reads the records of one split as objects, for callers that do not know the columns yet:
// previews, discovery, streams.
type Records struct {
	src  objectReader
	flat *flattening
	name string
	n    int64
	opts *Options
	// malformed counts what of records that are no text was no UTF-8.
	malformed record.WellFormed
}

// Records opens a split to read it as objects. The columns of the table are ignored.
func (t *Table) Records(ctx context.Context, split Split, opts *Options) (*Records, error) {
	if opts == nil {
		opts = &Options{}
	}
	r := &Records{name: split.Entity.Name(), flat: &flattening{discover: true}, opts: opts}
	in := &input{split: split, opts: opts}
	var err error
	switch e := split.Entity.(type) {
	case recordEntity:
		r.src, err = e.openRecords(ctx)
	default:
		if t.Format == nil {
			return nil, wire.Invalid("inputFormat", "input source [%s] needs an input format", t.Source.Type())
		}
		if f := t.Format.flattening(); f != nil {
			r.flat = f
		}
		switch f := t.Format.(type) {
		case fileFormat:
			r.src, err = f.openObjects(ctx, in)
		case textFormat:
			r.src, err = openText(ctx, f, in)
		case *Envelope:
			err = f.noFile()
		}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Next returns the next record as it is in the input. Flatten computes its columns. Next returns
// io.EOF at the end.
func (r *Records) Next(ctx context.Context) (rec Record, err error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	failed := guarded(func() error { rec, err = r.src.next(ctx); return nil })
	if failed != nil {
		return Record{}, failed
	}
	if err == nil {
		r.n++
		r.malformed.Object(rec.Object)
	}
	return rec, err
}

// Reach returns the columns of a record that can be requested by name: the columns of Flatten and
// all fields at the root.
func (r *Records) Reach(o *record.Object) *record.Object { return r.flat.reach(o) }

// Flatten returns the columns of a record after the flattenSpec, including objects at the root if
// nested is set.
func (r *Records) Flatten(o *record.Object, nested bool) *record.Object {
	return r.flat.flatten(o, nested)
}

// ParseError returns the error of the last record that Next returned.
func (r *Records) ParseError(rec *Record) *ParseError {
	return &ParseError{Row: record.Short(rec.Text), Path: r.name, Record: r.n, Line: rec.Line, Reason: rec.Reason}
}

// Close stops the reader.
func (r *Records) Close() error {
	r.opts.tellMalformed(r.name, &r.malformed)
	return r.src.close()
}

// textRecords reads the records of a text format chunk by chunk.
type textRecords struct {
	in    *textInput
	dec   objectDecoder
	ready []Record
}

func openText(ctx context.Context, f textFormat, in *input) (objectReader, error) {
	text := &textInput{format: f, in: in}
	if err := text.open(ctx); err != nil {
		return nil, errors.Join(err, text.close())
	}
	return &textRecords{in: text, dec: f.objects(text.header)}, nil
}

func (r *textRecords) next(ctx context.Context) (Record, error) {
	for len(r.ready) == 0 {
		if err := ctx.Err(); err != nil {
			return Record{}, err
		}
		c, err := r.in.nextChunk()
		if err != nil {
			return Record{}, err
		}
		r.dec.objects(c, func(rec Record) {
			rec.Line += c.line
			r.ready = append(r.ready, rec)
		})
	}
	rec := r.ready[0]
	r.ready = r.ready[1:]
	return rec, nil
}

func (r *textRecords) close() error {
	r.in.tellMalformed()
	return r.in.close()
}

// objectColumns decodes chunks to columns by way of objects.
type objectColumns struct {
	*sink
	dec       objectDecoder
	flat      *flattening // nil: records are flat
	positions map[string]int
}

func newObjectColumns(dec objectDecoder, flat *flattening, fields []Field, opts *Options) *objectColumns {
	return &objectColumns{sink: newSink(fields, opts), dec: dec, flat: flat, positions: positionsOf(fields)}
}

func positionsOf(fields []Field) map[string]int {
	positions := make(map[string]int, len(fields))
	for i, f := range slices.Backward(fields) { // of several the first, as for twins
		positions[f.Name] = i
	}
	return positions
}

func (d *objectColumns) add(c chunk) {
	d.dec.objects(c, func(r Record) {
		if d.out.err == nil && !d.ended {
			d.record(&r, d.flat, d.positions)
		}
	})
}

// Record appends what a record is to the columns.
func (s *sink) record(r *Record, flat *flattening, positions map[string]int) {
	s.out.records++
	if r.Object == nil {
		s.fail(r.Text, r.Line, r.Reason)
		return
	}
	o := r.Object
	if flat != nil && flat.needed() {
		o = flat.reach(o)
	}
	s.object(o, positions)
	if f := s.flawed(); f != 0 {
		s.endFlawed(f, r.Object, o, r.Text, r.Line)
		return
	}
	if s.shape != nil {
		s.shape.Add(o)
	}
	s.endRow(true)
}

// recordProducer makes batches of the records of an objectReader.
type recordProducer struct {
	*sink
	src       objectReader
	in        *input // nil: the records are of no bytes
	flat      *flattening
	positions map[string]int
	failed    error
}

func newRecordProducer(src objectReader, in *input, flat *flattening, fields []Field, opts *Options) *recordProducer {
	return &recordProducer{sink: newSink(fields, opts), src: src, in: in, flat: flat, positions: positionsOf(fields)}
}

func (p *recordProducer) next(ctx context.Context) (decoded, int64, error) {
	if p.failed != nil {
		return decoded{}, 0, p.failed
	}
	p.begin(0)
	for p.out.records < vector.BatchRows && p.out.err == nil {
		r, err := p.src.next(ctx)
		if err != nil {
			if p.failed = err; !errors.Is(err, io.EOF) || p.out.records == 0 {
				return decoded{}, 0, err
			}
			break
		}
		p.malformed.Object(r.Object)
		p.record(&r, p.flat, p.positions)
	}
	if p.in != nil {
		p.out.bytes = p.in.read.Swap(0)
	}
	return p.finish(), 0, nil
}

func (p *recordProducer) stop() error { return p.src.close() }
