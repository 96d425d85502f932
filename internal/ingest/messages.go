package ingest

import (
	"context"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/vector"
)

// Messages decodes batches of stream records into columns. Each record is decoded separately, so
// that a malformed record can't affect the next one. A record may contain several rows. It is used
// by one goroutine.
type Messages struct {
	fields []Field
	cells  *sink
	max    int

	format    Format // of values
	text      decoder
	other     *messageObjects // where there is no text decoder
	flat      *flattening
	positions map[string]int

	envelope *Envelope // nil: there is none
	key      *messageObjects
	said     []int // the fields that the stream may say
}

// MessageRows is the result of decoding stream records.
type MessageRows struct {
	// Batches contain the rows, in the order of their records. Of contains the record of each row.
	Batches []*vector.Batch
	Of      []int32
	// Errors are the records that could not be decoded, or only in part. Message is their index.
	Errors []ParseError
	// Empty is the number of records without a value that produced no row.
	Empty int
	// Several are the positions of the STRING fields that had several values in a row. The field is
	// null in that row.
	Several []int
	// Bytes is the total size of the values.
	Bytes int64
}

const (
	// messageRows ends a batch of rows of messages. A poll is one batch: what follows costs something
	// for each.
	messageRows = 1 << 16
	// EmptyMessage is the reason for rejecting a message without content.
	EmptyMessage = "it is empty"
)

// NewMessages returns a decoder of stream records to fields. It uses the options Access,
// MaxRecordBytes, Shape, RemoveNullBytes and KeepNullBytes.
func NewMessages(format Format, fields []Field, opts *Options) (*Messages, error) {
	m := &Messages{fields: fields, format: ValueFormat(format), max: opts.maxRecordBytes(), positions: positionsOf(fields)}
	var err error
	if e, ok := format.(*Envelope); ok {
		m.envelope = e
		for i, f := range fields {
			if e.says(f.Name) {
				m.said = append(m.said, i)
			}
		}
		if e.key != nil && (opts.Shape != nil || slices.ContainsFunc(fields, func(f Field) bool { return f.Name == e.names.key })) {
			if m.key, err = newMessageObjects(e.key, opts); err != nil {
				return nil, err
			}
		}
	}
	if f, ok := m.format.(textFormat); ok {
		if m.text, err = f.open(fields, nil, opts); err != nil {
			return nil, err
		}
		m.cells = m.text.rows()
	} else {
		if m.other, err = newMessageObjects(m.format, opts); err != nil {
			return nil, err
		}
		m.cells, m.flat = newSink(fields, opts), m.format.flattening()
	}
	m.cells.messages, m.cells.lists = true, make([]bool, len(fields))
	return m, nil
}

// Decode decodes records. An error means that the schemas that decoding needs could not be read, or
// that ctx is done; no rows are returned then, and the caller can retry. Decode does not retain the
// bytes of the records.
func (m *Messages) Decode(ctx context.Context, records []stream.Record) (*MessageRows, error) {
	out := &MessageRows{}
	for i := range records {
		out.Bytes += int64(len(records[i].Value))
	}
	s := m.cells
	s.begin(int(out.Bytes))
	s.full, s.of, s.bad, s.out.errs = messageRows, make([]int32, 0, len(records)), nil, nil
	var err error
	for i := range records {
		if err = ctx.Err(); err != nil {
			break
		}
		s.number, s.ended = int32(i), false
		if err = guarded(func() error { return m.record(ctx, &records[i], out) }); err != nil {
			break
		}
	}
	m.forget()
	done := s.finish()
	if err == nil {
		err = done.err
	}
	if err != nil {
		return nil, err
	}
	out.Batches, out.Of, out.Errors = done.batches, s.of, done.errs
	for f, several := range s.lists {
		if several {
			out.Several, s.lists[f] = append(out.Several, f), false
		}
	}
	s.of = nil
	return out, nil
}

// Record appends the rows of a record.
func (m *Messages) record(ctx context.Context, r *stream.Record, out *MessageRows) error {
	s := m.cells
	base, errs, rows := s.out.records, len(s.out.errs), len(s.of)
	var said *record.Object
	if m.envelope != nil && (len(m.said) > 0 || s.shape != nil) {
		var reason string
		var err error
		if said, reason, err = m.say(ctx, r); err != nil {
			return err
		}
		if reason != "" {
			s.out.records++
			s.fail(r.Value, 0, reason)
			m.settle(r, said, base, errs)
			return nil
		}
	}
	var met []int
	if s.shape != nil && said != nil {
		met = s.shape.met(said)
	}
	switch {
	case r.Value == nil && m.envelope == nil:
		out.Empty++
		return nil
	case r.Value == nil:
		m.sayOnly(said)
	case len(r.Value) > m.max:
		s.out.records++
		s.fail(r.Value, 0, recordTooLarge)
	default:
		if err := m.value(ctx, r.Value); err != nil {
			return err
		}
		if s.out.records == base {
			s.out.records++
			s.fail(nil, 0, EmptyMessage)
		}
	}
	m.settle(r, said, base, errs)
	if met != nil {
		s.shape.say(said, met, len(s.of)-rows)
	}
	return nil
}

// settle makes the errors of a record those of a message: they count and show it, not a chunk.
func (m *Messages) settle(r *stream.Record, said *record.Object, base int64, errs int) {
	for i := range m.cells.out.errs[errs:] {
		e := &m.cells.out.errs[errs+i]
		if e.Record -= base; e.Object == nil {
			e.Row = record.Short(record.ValidText(r.Value[:min(len(r.Value), record.MaxRow+1)]))
		}
		if e.Flat != nil && said != nil {
			all := &record.Object{Names: slices.Clone(e.Flat.Names), Values: slices.Clone(e.Flat.Values)}
			for k, name := range said.Names {
				if v, _ := all.Get(name); v == nil {
					all.Set(name, said.Values[k])
				}
			}
			e.Flat = all
		}
	}
}

// value appends the rows of the value of a record.
func (m *Messages) value(ctx context.Context, data []byte) error {
	s := m.cells
	if m.other != nil {
		return m.other.each(ctx, data, func(r Record) bool {
			s.record(&r, m.flat, m.positions)
			return s.out.err == nil
		})
	}
	f := m.format.(textFormat)
	c, header, reason := takeText(f, data)
	if reason != "" {
		s.out.records++
		s.fail(data, 0, reason)
		return nil
	}
	if d, ok := m.text.(*delimitedDecoder); ok && d.f.FromHeader && !slices.Equal(d.whole.names, header) {
		d.resolve(d.f.whole(header))
	}
	m.text.add(c)
	return nil
}

// says reports whether a stream may say a column.
func (f *Envelope) says(name string) bool {
	n := &f.names
	switch name {
	case "":
		return false
	case n.key, n.time, n.topic, n.partition, n.offset:
		return true
	}
	return f.headers != nil && strings.HasPrefix(name, n.header)
}

// say makes what the stream says of a record the values of the columns that its value does not
// have.
func (m *Messages) say(ctx context.Context, r *stream.Record) (said *record.Object, reason string, err error) {
	said = m.envelope.said(r)
	if m.key != nil && r.Key != nil {
		value, reason, err := m.keyOf(ctx, r.Key)
		if reason != "" || err != nil {
			return said, reason, err
		}
		said.Add(m.envelope.names.key, value)
	}
	for _, f := range m.said {
		m.cells.columns[f].instead, _ = said.Get(m.fields[f].Name)
	}
	return said, "", nil
}

// keyOf returns the first value of the first record of a key.
func (m *Messages) keyOf(ctx context.Context, key []byte) (value any, reason string, err error) {
	err = m.key.each(ctx, key, func(r Record) bool {
		if r.Object == nil {
			reason = "its key does not parse: " + r.Reason
		} else if len(r.Object.Values) > 0 {
			value = r.Object.Values[0]
		}
		return false
	})
	return value, reason, err
}

func (m *Messages) forget() {
	for _, f := range m.said {
		m.cells.columns[f].instead = nil
	}
}

// sayOnly appends a row of a record without a value.
func (m *Messages) sayOnly(said *record.Object) {
	s := m.cells
	if said == nil {
		said = &record.Object{}
	}
	s.out.records++
	for _, c := range s.columns {
		c.null()
	}
	if f := s.flawed(); f != 0 {
		s.endFlawed(f, said, said, nil, 0)
		return
	}
	s.endRow(true)
}

// met returns how many values the fields of an object had.
func (s *Shape) met(o *record.Object) []int {
	out := make([]int, len(o.Names))
	for i, name := range o.Names {
		if k := s.Of(name); k != nil {
			out[i] = k.Scalars() + k.Lists + k.Objects
		}
	}
	return out
}

// say adds the fields of an object that rows have where they have no value of their own; met is
// what there was before them.
func (s *Shape) say(o *record.Object, met []int, rows int) {
	for i, now := range s.met(o) {
		if now-met[i] < rows {
			s.Add(&record.Object{Names: o.Names[i : i+1], Values: o.Values[i : i+1]})
		}
	}
}
