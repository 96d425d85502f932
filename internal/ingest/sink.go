package ingest

import (
	"bytes"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Field is a column wanted from the input.
type Field struct {
	Name string
	// Type is LONG, DOUBLE, FLOAT, STRING, an array of these, or COMPLEX<json>.
	Type vector.Type
	// Multi marks a multi-value string, of type ARRAY<STRING>: a scalar is one value. A STRING that is not multi refuses rows with several
	// values, because no single value would be right.
	Multi bool
}

// validateFields refuses empty and duplicate names and types that no format gives.
func validateFields(fields []Field) error {
	for i, f := range fields {
		switch {
		case f.Name == "":
			return fault.InvalidInput("Column [%d] of the signature of EXTERN has an empty name", i+1)
		case slices.ContainsFunc(fields[:i], func(g Field) bool { return g.Name == f.Name }):
			return fault.InvalidInput("Column [%s] occurs more than once in the signature of EXTERN", f.Name)
		case !readableType(f.Type):
			return fault.InvalidInput("Column [%s] of the signature of EXTERN has type [%s]; known are STRING, LONG, DOUBLE, FLOAT, "+
				"arrays of these and COMPLEX<json>", f.Name, f.Type)
		}
	}
	return nil
}

func readableType(t vector.Type) bool {
	if t.Kind == vector.KindList {
		t = t.Elem()
	}
	return t.IsNumeric() || t == vector.String || t == vector.JSON
}

// decoded is what a chunk became.
type decoded struct {
	batches []*vector.Batch
	records int64 // those that did not parse included
	bytes   int64
	errs    []ParseError // Record and Line relative to the chunk
	err     error        // ends the reading
}

// sink collects the cells of rows in column builders.
type sink struct {
	fields     []Field
	removeNull bool
	builders   []*vector.Builder
	rows       int
	bad        []uint32 // rows begun that did not parse
	text       arena
	scratch    []byte
	out        decoded
}

func newSink(fields []Field, opts *Options) *sink {
	return &sink{fields: fields, removeNull: opts.RemoveNullBytes}
}

func (s *sink) reset() {
	s.out = decoded{}
	s.rows, s.bad = 0, nil
	s.builders = make([]*vector.Builder, len(s.fields))
	for i, f := range s.fields {
		s.builders[i] = vector.NewBuilder(f.Type, vector.BatchRows/4)
	}
	s.text = arena{}
}

// endRow ends a row all of whose cells were appended; ok is false when it does not count.
func (s *sink) endRow(ok bool) {
	if !ok {
		s.bad = append(s.bad, uint32(s.rows))
	}
	if s.rows++; s.rows == vector.BatchRows {
		s.flush()
	}
}

// flush turns the collected rows into a batch.
func (s *sink) flush() {
	if s.rows == 0 {
		return
	}
	b := &vector.Batch{N: s.rows, Cols: make([]*vector.Vector, len(s.builders))}
	for i, builder := range s.builders {
		b.Cols[i] = builder.Build()
	}
	if len(s.bad) > 0 {
		b.Sel = make([]uint32, 0, s.rows-len(s.bad))
		for r := uint32(0); r < uint32(s.rows); r++ {
			if len(s.bad) > 0 && s.bad[0] == r {
				s.bad = s.bad[1:]
				continue
			}
			b.Sel = append(b.Sel, r)
		}
		b = b.Compact()
	}
	if b.N > 0 {
		s.out.batches = append(s.out.batches, b)
	}
	s.rows, s.bad = 0, nil
	s.text = arena{}
}

func (s *sink) finish() decoded {
	s.flush()
	return s.out
}

// fail notes a record that did not parse.
func (s *sink) fail(row []byte, line int64, reason string) {
	s.out.errs = append(s.out.errs, ParseError{Row: shortRow(row), Record: s.out.records, Line: line, Reason: reason})
}

// str appends text to builder b, a string builder of column c.
func (s *sink) str(c int, b *vector.Builder, text []byte) {
	if at := bytes.IndexByte(text, 0); at >= 0 {
		if s.removeNull {
			text = bytes.ReplaceAll(text, []byte{0}, nil)
		} else if s.out.err == nil {
			s.out.err = &NullByteError{RowNumber: s.out.records, Column: s.fields[c].Name, Value: shortRow(text), Position: at}
		}
	}
	b.AppendString(s.text.copy(text))
}

// num appends n to builder b, a numeric one.
func num(b *vector.Builder, kind vector.Kind, n number) {
	switch kind {
	case vector.KindLong:
		b.AppendLong(n.asLong())
	case vector.KindFloat:
		b.AppendFloat(float32(n.asDouble()))
	default:
		b.AppendDouble(n.asDouble())
	}
}

// textScalar appends a value that is text in the input, converted to the type of the builder: what is no number becomes null.
func (s *sink) textScalar(c int, b *vector.Builder, t vector.Type, text []byte) {
	switch t.Kind {
	case vector.KindString:
		s.str(c, b, text)
	case vector.KindComplex:
		s.scratch = appendJSONString(s.scratch[:0], text)
		s.str(c, b, s.scratch)
	default:
		if n, ok := parseText(text); ok {
			num(b, t.Kind, n)
		} else {
			b.AppendNull()
		}
	}
}

// textCell appends a field of a text format. A list delimiter within it makes several values.
func (s *sink) textCell(c int, b *vector.Builder, text, listDelimiter []byte) {
	t := s.fields[c].Type
	if len(text) == 0 {
		b.AppendNull()
		return
	}
	several := len(listDelimiter) > 0 && bytes.Contains(text, listDelimiter)
	switch {
	case t.Kind == vector.KindList && several:
		for _, part := range bytes.Split(text, listDelimiter) {
			s.textScalar(c, b.Child(), t.Elem(), part)
		}
		b.AppendList()
	case t.Kind == vector.KindList:
		s.textScalar(c, b.Child(), t.Elem(), text)
		b.AppendList()
	case several && t.Kind == vector.KindString:
		if s.out.err == nil {
			s.out.err = multiValueFault(s.fields[c].Name)
		}
		b.AppendNull()
	default:
		s.textScalar(c, b, t, text)
	}
}
