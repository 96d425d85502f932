package result

import (
	"io"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// flushBytes is how much is gathered before it is handed to the underlying writer.
const flushBytes = 32 << 10

// Column is an output column.
type Column struct {
	Name string
	Type expr.Type
}

// Options are the settings of a Writer.
type Options struct {
	Format Format
	// Header writes the column names first. TypesHeader and SQLTypesHeader add types to the names.
	Header, TypesHeader, SQLTypesHeader bool
	// Zone is the time zone of formatted times; nil: UTC.
	Zone *chrono.Zone
	// StringifyArrays writes arrays as JSON in a string.
	StringifyArrays bool
	// Epoch writes TIMESTAMP as milliseconds and DATE as days, of the wall clock in Zone, as results
	// of asynchronous statements do.
	Epoch bool
	// File says that the rows are a file, which ends after the last row. It has no end mark, because
	// the end mark would be read as a row.
	File bool
}

// Writer writes rows to one stream. It is used by one goroutine.
type Writer struct {
	w       io.Writer
	o       Options
	columns []Column
	keys    [][]byte // `"name":`, for the object formats
	encode  []encoder
	buf     []byte
	scratch []byte
	rows    int64 // written, header rows included
	bytes   int64 // handed to w
	begun   bool
	arrow   *arrowWriter // of the format Arrow; nil: another one
}

// NewWriter returns a writer of rows with the given columns. It writes nothing before the first
// call of a method.
func NewWriter(w io.Writer, columns []Column, o Options) *Writer {
	if o.Zone == nil {
		o.Zone = chrono.UTC
	}
	wr := &Writer{w: w, o: o, columns: columns}
	if o.Format == Arrow {
		wr.arrow = newArrowWriter(w, columns, o.Zone)
	}
	for _, c := range columns {
		wr.keys = append(wr.keys, append(hideFinalBackslash(appendString(nil, c.Name)), ':'))
		wr.encode = append(wr.encode, encoderOf(c.Type, &wr.o, &wr.scratch))
	}
	return wr
}

// Bytes returns the number of bytes written.
func (w *Writer) Bytes() int64 {
	if w.arrow != nil {
		return w.arrow.frames.Bytes()
	}
	return w.bytes + int64(len(w.buf))
}

// Begin writes the header. The other methods call it if the caller does not.
func (w *Writer) Begin() {
	if w.begun || w.arrow != nil {
		return
	}
	w.begun = true
	if w.o.Format == Object || w.o.Format == Array {
		w.buf = append(w.buf, '[')
	}
	if w.o.Header {
		w.header()
	}
}

func (w *Writer) header() {
	if w.o.Format.objects() {
		w.beginRow()
		w.buf = append(w.buf, '{')
		for i, c := range w.columns {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			w.buf = append(w.buf, w.keys[i]...)
			w.buf = w.appendTypes(w.buf, c.Type)
		}
		w.buf = append(w.buf, '}')
		w.endRow()
		return
	}
	w.textRow(func(c Column) (string, bool) { return c.Name, true })
	if w.o.TypesHeader {
		w.textRow(func(c Column) (string, bool) { return runtimeName(c.Type) })
	}
	if w.o.SQLTypesHeader {
		w.textRow(func(c Column) (string, bool) { return c.Type.Base.String(), true })
	}
}

func (w *Writer) appendTypes(dst []byte, t expr.Type) []byte {
	if !w.o.TypesHeader && !w.o.SQLTypesHeader {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	if w.o.TypesHeader {
		dst = append(dst, `"type":`...)
		if name, ok := runtimeName(t); ok {
			dst = appendString(dst, name)
		} else {
			dst = append(dst, "null"...)
		}
	}
	if w.o.SQLTypesHeader {
		if w.o.TypesHeader {
			dst = append(dst, ',')
		}
		dst = append(dst, `"sqlType":`...)
		dst = appendString(dst, t.Base.String())
	}
	return append(dst, '}')
}

// runtimeName returns the runtime type name of the headers; ok is false for types without one, as
// that of an untyped NULL and of arrays of them (docs/sql.md).
func runtimeName(t expr.Type) (name string, ok bool) {
	if t.Multi {
		t = t.Elem()
	}
	innermost := t
	for innermost.Base == expr.Array {
		innermost = innermost.Elem()
	}
	if innermost.Base == expr.Null {
		return "", false
	}
	r := t.Runtime()
	return r.String(), r.Kind != vector.KindInvalid
}

// textRow writes a header row of the array formats and csv: text, or nothing.
func (w *Writer) textRow(cell func(Column) (text string, ok bool)) {
	w.beginRow()
	start := len(w.buf)
	if w.o.Format != CSV {
		w.buf = append(w.buf, '[')
	}
	for i, c := range w.columns {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		text, ok := cell(c)
		switch {
		case w.o.Format == CSV:
			if ok {
				w.buf = appendCSV(w.buf, text)
			}
		case ok:
			w.buf = hideFinalBackslash(appendString(w.buf, text))
		default:
			w.buf = append(w.buf, "null"...)
		}
	}
	if w.o.Format != CSV {
		w.buf = append(w.buf, ']')
	}
	w.fillEmpty(start)
	w.endRow()
}

// fillEmpty writes something for a csv row that began at start and has no text: an empty line would
// be taken for the end.
func (w *Writer) fillEmpty(start int) {
	if w.o.Format == CSV && len(w.buf) == start {
		w.buf = append(w.buf, '"', '"')
	}
}

// Batch writes the rows of b, which has the columns of the writer. Errors come from the underlying
// writer.
func (w *Writer) Batch(b *vector.Batch) error {
	if w.arrow != nil {
		return w.arrow.Batch(b)
	}
	w.Begin()
	n := b.Rows()
	for i := range n {
		row := i
		if b.Sel != nil {
			row = int(b.Sel[i])
		}
		w.beginRow()
		switch {
		case w.o.Format.objects():
			w.object(b, row)
		case w.o.Format == CSV:
			w.csv(b, row)
		default:
			w.array(b, row)
		}
		w.endRow()
		if len(w.buf) >= flushBytes {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Raw writes text, a JSON value, as a row of its own. Arrow does not support it.
func (w *Writer) Raw(text []byte) {
	if w.arrow != nil {
		return
	}
	w.Begin()
	w.beginRow()
	if w.o.Format == CSV {
		w.buf = appendCSV(w.buf, string(text))
	} else {
		w.buf = append(w.buf, text...)
	}
	w.endRow()
}

func (w *Writer) object(b *vector.Batch, row int) {
	w.buf = append(w.buf, '{')
	for i, v := range b.Cols {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, w.keys[i]...)
		w.value(i, v, row)
	}
	w.buf = append(w.buf, '}')
}

func (w *Writer) array(b *vector.Batch, row int) {
	w.buf = append(w.buf, '[')
	for i, v := range b.Cols {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.value(i, v, row)
	}
	w.buf = append(w.buf, ']')
}

func (w *Writer) value(column int, v *vector.Vector, row int) {
	if v.IsNull(row) {
		w.buf = append(w.buf, "null"...)
		return
	}
	w.buf = hideFinalBackslash(w.encode[column](w.buf, v, row))
}

func (w *Writer) csv(b *vector.Batch, row int) {
	start := len(w.buf)
	for i, v := range b.Cols {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if v.IsNull(row) {
			continue
		}
		at := len(w.buf)
		w.buf = w.encode[i](w.buf, v, row)
		switch w.buf[at] {
		case '"': // a JSON string: its text, quoted the CSV way
			text := csvText(w.columns[i].Type, v, row, w.buf[at:])
			w.buf = appendCSV(w.buf[:at], text)
		case 'n': // the null of a multi-value string with one value
			w.buf = w.buf[:at]
		}
	}
	w.fillEmpty(start)
}

// csvText returns the text behind an encoded JSON string. Plain strings are taken from the vector;
// what other types encode has nothing escaped but quotes and backslashes of JSON text.
func csvText(t expr.Type, v *vector.Vector, row int, encoded []byte) string {
	if k := v.Type.Kind; k == vector.KindString || t.Base == expr.Other && (t.ComplexName() == "json" || sketch.IsText(v.StringAt(row))) {
		return v.StringAt(row)
	}
	if t.Multi {
		if lo, hi := v.ListAt(row); hi-lo == 1 && v.Child.Type.Kind == vector.KindString {
			return v.Child.StringAt(lo)
		}
	}
	return unquote(encoded)
}

// unquote undoes appendString.
func unquote(s []byte) string {
	s = s[1 : len(s)-1]
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		out = append(out, s[i]) // list and base64 text holds no control characters that are not escaped already
	}
	return string(out)
}

func (w *Writer) beginRow() {
	if w.rows > 0 && w.o.Format != CSV {
		if w.o.Format == Object || w.o.Format == Array {
			w.buf = append(w.buf, ',')
		} else {
			w.buf = append(w.buf, '\n')
		}
	}
}

func (w *Writer) endRow() {
	w.rows++
	if w.o.Format == CSV {
		w.buf = append(w.buf, '\n')
	}
}

// AppendRow appends a row as a JSON array, for callers that assemble the output themselves (task
// reports).
func (w *Writer) AppendRow(dst []byte, b *vector.Batch, row int) []byte {
	held := w.buf
	w.buf = dst
	w.array(b, row)
	dst, w.buf = w.buf, held
	return dst
}

// Flush writes the buffered bytes to the underlying writer.
func (w *Writer) Flush() error {
	if w.arrow != nil {
		return w.arrow.Flush()
	}
	if len(w.buf) == 0 {
		return nil
	}
	n, err := w.w.Write(w.buf)
	w.bytes += int64(n)
	w.buf = w.buf[:0]
	return err
}

// Close writes the end mark and flushes. A response without the end mark is incomplete.
func (w *Writer) Close() error {
	if w.arrow != nil {
		return w.arrow.close()
	}
	w.Begin()
	switch {
	case w.o.Format == Object || w.o.Format == Array:
		w.buf = append(w.buf, ']', '\n')
	case w.o.File:
		if w.o.Format != CSV && w.rows > 0 {
			w.buf = append(w.buf, '\n')
		}
	case w.o.Format == CSV:
		w.buf = append(w.buf, '\n')
	default:
		w.buf = append(w.buf, '\n', '\n')
	}
	return w.Flush()
}
