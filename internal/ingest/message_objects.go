package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/stream"
)

// messageObjects makes objects of messages, each by itself, in any format.
type messageObjects struct {
	format Format
	opts   *Options
	text   objectDecoder  // of text formats without a header
	binary messageDecoder // of message formats
}

func newMessageObjects(format Format, opts *Options) (*messageObjects, error) {
	m := &messageObjects{format: format, opts: opts}
	switch f := format.(type) {
	case *messageFormat:
		var err error
		m.binary, err = f.decoder(opts.Access)
		return m, err
	case textFormat:
		if h := f.head(); !h.names && h.skip == 0 {
			m.text = f.objects(nil)
		}
	case *Envelope:
		return nil, f.noFile()
	}
	return m, nil
}

// each calls emit with the records of a message, until it returns false. An error is of what it
// takes to read it, not of the message.
func (m *messageObjects) each(ctx context.Context, data []byte, emit func(Record) bool) error {
	if m.binary != nil {
		o, err := m.binary.Message(ctx, data)
		switch {
		case err == nil:
			emit(Record{Object: o})
		case ctx.Err() != nil || fault.Find(err) != nil && !isUnusable(err):
			return err // a schema registry that does not answer, or may not be asked
		default:
			emit(Record{Reason: problemOf(err)})
		}
		return nil
	}
	if f, ok := m.format.(textFormat); ok {
		c, header, reason := takeText(f, data)
		if reason != "" {
			emit(Record{Reason: reason})
			return nil
		}
		text, more := m.text, true
		if text == nil {
			text = f.objects(header)
		}
		text.objects(c, func(r Record) { more = more && emit(r) })
		return nil
	}
	return m.eachOfFile(ctx, m.format.(fileFormat), data, emit)
}

// eachOfFile reads a message that is a whole file.
func (m *messageObjects) eachOfFile(ctx context.Context, f fileFormat, data []byte, emit func(Record) bool) error {
	in := &input{split: Split{Entity: bytesEntity{data}, End: -1}, opts: m.opts}
	src, err := f.openObjects(ctx, in)
	for err == nil {
		var r Record
		if r, err = src.next(ctx); err == nil && !emit(r) {
			break
		}
	}
	if src != nil {
		err = errors.Join(err, src.close())
	}
	switch {
	case err == nil || errors.Is(err, io.EOF) && fault.Find(err) == nil:
		return nil
	case ctx.Err() != nil:
		return err
	}
	if f := fault.Find(err); f != nil && f.Category != fault.CategoryInvalidInput {
		return err // what it takes to read it is not to be had
	}
	emit(Record{Reason: problemOf(err)})
	return nil
}

// isUnusable reports whether an error is that of a schema.
func isUnusable(err error) bool {
	_, unusable := errors.AsType[unusableSchema](err)
	return unusable
}

// problemOf says what is wrong with a message.
func problemOf(err error) string {
	if f := fault.Find(err); f != nil {
		return f.Message
	}
	return fault.Words(err)
}

// takeText returns the text of a message as a chunk of a format, and the names of its header, if it
// has one; or why it is no text.
func takeText(f textFormat, data []byte) (c chunk, header []string, reason string) {
	text := trimBOM(data)
	if j, ok := f.(*JSON); ok {
		text = j.withoutNumber(text)
	}
	if refuseUTF16(text, "") != nil {
		return chunk{}, nil, "it is encoded in UTF-16"
	}
	if bytes.IndexByte(text, '\r') >= 0 { // the bytes are those of others
		text = bytes.Clone(text)
		f.begin(text).unify(text)
	}
	c = chunk{data: record.ValidText(text)}
	if h := f.head(); h.names || h.skip > 0 {
		header, _ = h.take(&c)
		if twice := Duplicates(header); twice != "" {
			return chunk{}, nil, twice
		}
	}
	return c, header, ""
}

// bytesEntity is an Entity in memory.
type bytesEntity struct{ data []byte }

func (e bytesEntity) Name() string                      { return "" }
func (e bytesEntity) Size() int64                       { return int64(len(e.data)) }
func (e bytesEntity) Seekable() bool                    { return true }
func (e bytesEntity) SystemField(string) (string, bool) { return "", false }

func (e bytesEntity) Open(_ context.Context, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(e.data[min(offset, int64(len(e.data))):])), nil
}

func (e bytesEntity) openRandom(context.Context) (randomFile, error) {
	return bytesFile{bytes.NewReader(e.data)}, nil
}

// MessageReader decodes stream records to objects, for callers that do not know the columns yet,
// such as previews. It is used by one goroutine.
type MessageReader struct {
	value    *messageObjects
	key      *messageObjects // nil: keys are no column
	envelope *Envelope       // nil: the stream says nothing
	flat     *flattening
}

// Message is one of the records that a stream record contains.
type Message struct {
	Record
	// Number is the position of the record within its message, from 1.
	Number int64
	// said is what the stream says of it beside its value.
	said *record.Object
}

// NewMessageReader returns a reader for stream records of a format. It uses only the option Access.
func NewMessageReader(format Format, opts *Options) (*MessageReader, error) {
	r := &MessageReader{flat: &flattening{discover: true}}
	var err error
	if r.value, err = newMessageObjects(ValueFormat(format), opts); err != nil {
		return nil, err
	}
	if f := format.flattening(); f != nil {
		r.flat = f
	}
	if e, ok := format.(*Envelope); ok {
		r.envelope = e
		if e.key != nil {
			r.key, err = newMessageObjects(e.key, opts)
		}
	}
	return r, err
}

// Read returns the records of a message. A message without records is returned as a record that
// could not be parsed. A message without a value and without metadata columns returns nothing.
func (r *MessageReader) Read(ctx context.Context, m *stream.Record) ([]Message, error) {
	var said *record.Object
	if r.envelope != nil {
		said = r.envelope.said(m)
		if r.key != nil && m.Key != nil {
			key := Messages{key: r.key}
			value, reason, err := key.keyOf(ctx, m.Key)
			switch {
			case err != nil:
				return nil, err
			case reason != "":
				return []Message{{Record: Record{Reason: reason, Text: m.Value}, Number: 1}}, nil
			}
			said.Add(r.envelope.names.key, value)
		}
	}
	if m.Value == nil {
		if said == nil {
			return nil, nil
		}
		return []Message{{Record: Record{Object: &record.Object{}}, Number: 1, said: said}}, nil
	}
	var out []Message
	err := guarded(func() error {
		return r.value.each(ctx, m.Value, func(rec Record) bool {
			rec.Text = slices.Clone(rec.Text)
			if rec.Object == nil && rec.Text == nil {
				rec.Text = m.Value
			}
			out = append(out, Message{Record: rec, Number: int64(len(out) + 1), said: said})
			return true
		})
	})
	if err == nil && len(out) == 0 {
		out = []Message{{Record: Record{Reason: EmptyMessage}, Number: 1}}
	}
	return out, err
}

// Input returns a message as it is in the stream, with its metadata.
func (r *MessageReader) Input(m *Message) *record.Object { return with(m.Object, m.said) }

// Reach returns the columns of a message that can be requested by name.
func (r *MessageReader) Reach(m *Message) *record.Object { return with(r.flat.reach(m.Object), m.said) }

// Flatten returns the columns of a message after its flattenSpec, including objects at the root if
// nested is set.
func (r *MessageReader) Flatten(m *Message, nested bool) *record.Object {
	return with(r.flat.flatten(m.Object, nested), m.said)
}

// ParseError returns the error of a message that is not an object.
func (r *MessageReader) ParseError(m *Message) *ParseError {
	return &ParseError{Row: record.Short(record.ValidText(m.Text[:min(len(m.Text), record.MaxRow+1)])), Record: m.Number, Reason: m.Reason}
}

// with returns an object with the members of another that it does not have.
func with(o, said *record.Object) *record.Object {
	if said == nil {
		return o
	}
	out := &record.Object{Names: slices.Clone(o.Names), Values: slices.Clone(o.Values)}
	for i, name := range said.Names {
		if _, taken := o.Get(name); !taken {
			out.Add(name, said.Values[i])
		}
	}
	return out
}

// withoutNumber takes the number of a schema off a message, a byte 0 and four more, as writers with
// a schema registry put it before JSON: no JSON begins so, and it says by itself what it is.
func (f *JSON) withoutNumber(data []byte) []byte {
	if len(data) > 5 && data[0] == 0 {
		if text := bytes.TrimLeft(data[5:], " \t\r\n"); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
			return text
		}
	}
	return data
}
