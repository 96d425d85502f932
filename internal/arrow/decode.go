package arrow

import (
	"encoding/binary"
	"errors"
	"io"
)

// Batch is the rows of a record batch.
type Batch struct {
	Rows    int
	Columns []*Array
}

// Decoder turns the messages of one stream, after its schema, into batches. It is used by one
// goroutine.
type Decoder struct {
	schema       *Schema
	encoded      map[int64]*Field // by the id of their dictionaries
	dictionaries map[int64]*dictionary
}

// NewDecoder returns a decoder for messages of a schema.
func NewDecoder(s *Schema) (*Decoder, error) {
	d := &Decoder{schema: s, encoded: map[int64]*Field{}, dictionaries: map[int64]*dictionary{}}
	if err := d.find(s.Fields); err != nil {
		return nil, err
	}
	return d, nil
}

// find finds the dictionary-encoded fields.
func (d *Decoder) find(fields []Field) error {
	for i := range fields {
		f := &fields[i]
		if f.Dictionary != nil {
			if have := d.encoded[f.Dictionary.ID]; have != nil && !sameType(have.Type, f.Type) {
				return damaged("dictionary [%d] has two types", f.Dictionary.ID)
			}
			d.encoded[f.Dictionary.ID] = f
		}
		if err := d.find(f.Type.Children); err != nil {
			return err
		}
	}
	return nil
}

func sameType(a, b *Type) bool {
	if a.Kind != b.Kind || a.Bits != b.Bits || a.Signed != b.Signed || a.Size != b.Size || a.Unit != b.Unit ||
		len(a.Children) != len(b.Children) {
		return false
	}
	for i := range a.Children {
		if !sameType(a.Children[i].Type, b.Children[i].Type) {
			return false
		}
	}
	return true
}

// Decode reads a message; the batch is nil for a dictionary. The batch refers to body, or to a copy
// of it, and stays as it is when more messages are decoded.
func (d *Decoder) Decode(metadata, body []byte) (*Batch, error) {
	h, err := readHead(metadata)
	if err != nil {
		return nil, err
	}
	return d.decode(h, body)
}

// IsBatch reports whether the metadata are those of a record batch, and not of a dictionary.
func IsBatch(metadata []byte) (bool, error) {
	h, err := readHead(metadata)
	if err != nil {
		return false, err
	}
	return h.kind == headBatch, nil
}

func (d *Decoder) decode(h *head, body []byte) (*Batch, error) {
	switch h.kind {
	case headBatch:
		b := &bodyReader{decoder: d, body: body, table: h.table}
		rows, columns, err := b.read(d.schema.Fields)
		if err != nil {
			return nil, err
		}
		return &Batch{rows, columns}, nil
	case headDictionary:
		return nil, d.dictionary(h, body)
	case headSchema:
		return nil, damaged("a second schema follows the first")
	}
	return nil, unsupported("messages of kind [%d]", h.kind)
}

// dictionary takes a dictionary, which replaces the one before it or continues it.
func (d *Decoder) dictionary(h *head, body []byte) error {
	id, delta := h.table.number(0, 8, 0), h.table.number(2, 1, 0) != 0
	data, ok := h.table.table(1)
	f := d.encoded[id]
	if h.table.r.bad || !ok {
		return damaged("the metadata of a dictionary can't be read")
	}
	if f == nil {
		return damaged("no column has dictionary [%d]", id)
	}
	b := &bodyReader{decoder: d, body: body, table: data}
	_, columns, err := b.read([]Field{{Name: f.Name, Type: f.Type, Nullable: true}})
	if err != nil {
		return err
	}
	next := &dictionary{}
	if have := d.dictionaries[id]; delta && have != nil {
		*next = *have
	}
	if len(next.parts) >= maxDeltas {
		return unsupported("more than [%d] deltas of a dictionary", maxDeltas)
	}
	next.parts = append(next.parts, columns[0])
	next.n += columns[0].Len
	next.ends = append(next.ends, next.n)
	d.dictionaries[id] = next
	return nil
}

// Reader reads a stream.
type Reader struct {
	r       io.Reader
	decoder *Decoder
	schema  *Schema
	err     error
	ended   bool
}

// NewReader returns a reader of the stream that r gives.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Schema returns the columns of the stream.
func (r *Reader) Schema() (*Schema, error) {
	if r.decoder != nil {
		return r.schema, nil
	}
	if r.err != nil {
		return nil, r.err
	}
	h, _, err := r.message()
	if errors.Is(err, io.EOF) {
		err = damaged("it has no schema")
	}
	if err == nil {
		r.schema, err = h.schema()
	}
	if err == nil {
		r.decoder, err = NewDecoder(r.schema)
	}
	if r.err = err; err != nil {
		return nil, err
	}
	return r.schema, nil
}

// Next returns the next batch, io.EOF after the last. A stream that ends without its end mark ends
// between messages.
func (r *Reader) Next() (*Batch, error) {
	if _, err := r.Schema(); err != nil {
		return nil, err
	}
	for r.err == nil {
		var h *head
		var body []byte
		var batch *Batch
		if h, body, r.err = r.message(); r.err == nil {
			batch, r.err = r.decoder.decode(h, body)
		}
		if batch != nil {
			return batch, nil
		}
	}
	return nil, r.err
}

// Ended reports whether the end mark was read.
func (r *Reader) Ended() bool { return r.ended }

// message reads a message. Streams of old writers have no mark in front of the length.
func (r *Reader) message() (*head, []byte, error) {
	var word [4]byte
	if _, err := io.ReadFull(r.r, word[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil, io.EOF
		}
		return nil, nil, r.cut(err)
	}
	if binary.LittleEndian.Uint32(word[:]) == continuation {
		if _, err := io.ReadFull(r.r, word[:]); err != nil {
			return nil, nil, r.cut(err)
		}
	}
	length := binary.LittleEndian.Uint32(word[:])
	if length == 0 {
		r.ended = true
		return nil, nil, io.EOF
	}
	if length > maxMetadata {
		return nil, nil, damaged("the metadata of a message has [%d] bytes, more than [%d]", length, maxMetadata)
	}
	metadata, err := r.read(int64(length))
	if err != nil {
		return nil, nil, err
	}
	h, err := readHead(metadata)
	if err != nil {
		return nil, nil, err
	}
	body, err := r.read(h.bodyLength)
	return h, body, err
}

// read reads n bytes. Memory grows with what comes, not with what was announced.
func (r *Reader) read(n int64) ([]byte, error) {
	const step = 1 << 20
	out := make([]byte, 0, min(n, step))
	for int64(len(out)) < n {
		have := len(out)
		next := int(min(n-int64(have), max(step, int64(have))))
		out = append(out, make([]byte, next)...)
		if _, err := io.ReadFull(r.r, out[have:]); err != nil {
			return nil, r.cut(err)
		}
	}
	return out, nil
}

// cut is the fault of a stream that ends within a message; other errors are those of the source.
func (r *Reader) cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return damaged("it ends within a message")
	}
	return err
}

// continuation stands in front of the length of a message.
const continuation = 0xFFFFFFFF
