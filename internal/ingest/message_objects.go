package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/fault"
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
		o, err := m.binary.message(ctx, data)
		switch {
		case err == nil:
			emit(Record{Object: o})
		case passes(ctx, err):
			return err
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
	case passes(ctx, err):
		return err
	}
	emit(Record{Reason: problemOf(err)})
	return nil
}

// passes reports whether an error of a message is not its own: what it takes to read it is not
// there at the moment, or may not be used. The message is to be read again.
func passes(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	if _, unusable := errors.AsType[unusableSchema](err); unusable {
		return false
	}
	f := fault.Find(err)
	return f != nil && f.Category != fault.CategoryInvalidInput
}

// problemOf says what is wrong with a message.
func problemOf(err error) string {
	if f := fault.Find(err); f != nil {
		return f.Message
	}
	return err.Error()
}

// takeText returns the text of a message as a chunk of a format, and the names of its header, if it
// has one; or why it is no text.
func takeText(f textFormat, data []byte) (c chunk, header []string, reason string) {
	text := trimBOM(data)
	if refuseUTF16(text, "") != nil {
		return chunk{}, nil, "it is encoded in UTF-16"
	}
	if bytes.IndexByte(text, '\r') >= 0 { // the bytes are those of others
		text = bytes.Clone(text)
		f.begin(text).unify(text)
	}
	c = chunk{data: validUTF8(text)}
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
