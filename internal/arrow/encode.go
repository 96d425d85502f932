package arrow

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/hengedb/henge/internal/vector"
)

// Message is a message on its way: metadata, padded to 8 bytes, and the buffers of the body, each
// of which is padded to where the next one begins. Who gets it keeps nothing of it.
type Message struct {
	Metadata []byte
	Body     [][]byte
	// BodyLength is how many bytes the body has with its padding.
	BodyLength int
}

// Padded returns the parts of the body with its padding as parts of their own.
func (m *Message) Padded() [][]byte {
	out := make([][]byte, 0, 2*len(m.Body))
	for _, part := range m.Body {
		out = append(out, part, padding[:padded(len(part))-len(part)])
	}
	return out
}

// Encapsulate frames the metadata of a message without body, as schemas are kept outside of
// streams.
func Encapsulate(metadata []byte) []byte {
	var out bytes.Buffer
	_ = NewFramed(&out).Message(&Message{Metadata: metadata}) // a buffer does not fail
	return out.Bytes()
}

var padding [alignment]byte

func padded(n int) int { return (n + alignment - 1) / alignment * alignment }

// Framed writes messages as a stream.
type Framed struct {
	w     io.Writer
	head  []byte
	bytes int64
}

// NewFramed returns a stream that is written to w.
func NewFramed(w io.Writer) *Framed { return &Framed{w: w} }

// Message writes a message.
func (f *Framed) Message(m *Message) error {
	f.head = binary.LittleEndian.AppendUint32(f.head[:0], continuation)
	f.head = binary.LittleEndian.AppendUint32(f.head, uint32(len(m.Metadata)))
	f.head = append(f.head, m.Metadata...)
	if err := f.write(f.head); err != nil {
		return err
	}
	for _, part := range m.Body {
		if err := f.write(part); err != nil {
			return err
		}
		if err := f.write(padding[:padded(len(part))-len(part)]); err != nil {
			return err
		}
	}
	return nil
}

// Unpadded writes a message whose body stands as it is, with a length of its own: one that another
// writer has made.
func (f *Framed) Unpadded(m *Message) error {
	if err := f.Message(&Message{Metadata: m.Metadata}); err != nil {
		return err
	}
	for _, part := range m.Body {
		if err := f.write(part); err != nil {
			return err
		}
	}
	return nil
}

// End writes the end mark. A stream without it has broken off.
func (f *Framed) End() error { return f.write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}) }

// Bytes returns how many bytes were written.
func (f *Framed) Bytes() int64 { return f.bytes }

func (f *Framed) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n, err := f.w.Write(p)
	f.bytes += int64(n)
	return err
}

// Writer turns batches into messages. It is used by one goroutine. The schema goes first, with the
// first call of a method.
type Writer struct {
	columns  []Column
	builders []*builder
	emit     func(*Message) error
	rows     int
	block    int // how many rows are appended before their bytes are counted
	begun    bool
}

// NewWriter returns a writer of the given columns, whose messages emit takes. Ids of dictionaries
// differ.
func NewWriter(columns []Column, emit func(*Message) error) *Writer {
	w := &Writer{columns: columns, emit: emit, block: firstRows}
	for i := range columns {
		w.builders = append(w.builders, newBuilder(&columns[i], columns[i].Type))
	}
	return w
}

// Schema returns the schema of the stream.
func (w *Writer) Schema() *Schema { return SchemaOf(w.columns) }

// SchemaOf returns the schema of columns.
func SchemaOf(columns []Column) *Schema {
	s := &Schema{}
	for i := range columns {
		s.Fields = append(s.Fields, columns[i].Field)
	}
	return s
}

// Begin writes the schema, if it was not written.
func (w *Writer) Begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.emit(&Message{Metadata: EncodeSchema(w.Schema())})
}

// Batch gathers the rows of b, which has the writer's columns, and writes record batches when there
// are enough.
func (w *Writer) Batch(b *vector.Batch) error {
	if err := w.Begin(); err != nil {
		return err
	}
	n := b.Rows()
	for lo, next := 0, 0; lo < n; lo = next {
		s := span{lo: lo, hi: min(lo+w.block, n)}
		next = s.hi
		if b.Sel != nil {
			s.sel = b.Sel[s.lo:s.hi]
		}
		bytes := 0
		for i, builder := range w.builders {
			if err := builder.append(b.Cols[i], &s); err != nil {
				return err
			}
			bytes += builder.bytes()
		}
		switch { // rows may be large: clients of gRPC bound messages
		case bytes > 2*batchBytes:
			w.block = max(w.block/4, 1)
		case w.block < blockRows:
			w.block *= 2
		}
		if w.rows += s.hi - s.lo; w.rows >= batchRows || bytes >= batchBytes {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Gathered returns how many rows wait for more to come.
func (w *Writer) Gathered() int { return w.rows }

// Flush writes the rows that wait.
func (w *Writer) Flush() error {
	if err := w.Begin(); err != nil || w.rows == 0 {
		return err
	}
	var nodes [][2]int64
	var buffers [][]byte
	for _, b := range w.builders {
		if b.dict != nil && b.dict.sent != b.dict.n {
			if err := w.dictionary(b.dict); err != nil {
				return err
			}
		}
		nodes, buffers = b.buffers(nodes, buffers)
	}
	if err := w.emit(batchMessage(headBatch, w.rows, nodes, buffers, nil)); err != nil {
		return err
	}
	w.rows = 0
	for _, b := range w.builders {
		b.reset()
	}
	return nil
}

// dictionary sends the values of a dictionary, all of them.
func (w *Writer) dictionary(d *dictionaryBuilder) error {
	d.sent = d.n
	return w.emit(batchMessage(headDictionary, d.n, [][2]int64{{int64(d.n), 0}}, [][]byte{nil, d.offsets, d.data}, &d.id))
}

// batchMessage makes a message of the buffers of columns.
func batchMessage(kind int64, rows int, nodes [][2]int64, buffers [][]byte, id *int64) *Message {
	m := &Message{Body: buffers}
	locations := make([][2]int64, len(buffers))
	for i, b := range buffers {
		locations[i] = [2]int64{int64(m.BodyLength), int64(len(b))}
		m.BodyLength += padded(len(b))
	}
	m.Metadata = message(kind, int64(m.BodyLength), func(w *flatWriter) int {
		if id == nil {
			return batchTable(w, rows, nodes, locations)
		}
		return w.table(number(8, *id), refer(func(w *flatWriter) int { return batchTable(w, rows, nodes, locations) }), flag(false))
	})
	return m
}
