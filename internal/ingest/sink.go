package ingest

import (
	"bytes"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// Field is a column to read from the input. Several fields may have the same name if one of them is
// the time.
type Field struct {
	Name string
	// Type is LONG, DOUBLE, FLOAT, STRING, an array of these, or COMPLEX<json>.
	Type vector.Type
	// Multi marks a multi-value string, of type ARRAY<STRING>; a scalar is read as a list of one
	// value. A STRING without Multi rejects rows with several values, because picking one would be
	// wrong.
	Multi bool
	// Time, if set, converts the field to the time of its row in milliseconds. Its Type is LONG. A
	// record without a time is rejected.
	Time *Instants
	// Strict requires numeric values in a numeric field. A record with another value becomes a row
	// with null in the field, and is passed to Options.OnParseError as well.
	Strict bool
	// Single marks a STRING whose value decides the partition of the row. It is used in the error
	// about a row with several values.
	Single bool
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
	// malformed is what of formats that are no text was no UTF-8.
	malformed record.WellFormed
	err       error // ends the reading
}

// sink collects the cells of rows in columns.
type sink struct {
	fields     []Field
	removeNull bool
	keepNull   bool
	noNull     bool   // the text at hand has no U+0000
	shape      *Shape // nil: nothing is learnt
	columns    []*column
	twins      []twin
	watched    []*column // those whose values make a row flawed
	full, room int       // rows that end a batch, and that are expected of it
	before     struct {  // the chunk at hand, and in begin the one before
		rows  int
		bytes int64
	}
	count   int      // rows of the batch at hand
	bad     []uint32 // rows begun that did not parse
	scratch []byte
	found   []any // the values of the current row, of records that are objects
	// malformed counts for decoded.malformed.
	malformed record.WellFormed
	out       decoded

	// Of messages: number is that at hand, of those of the rows so far. A message that does not parse
	// to its end is ended there.
	messages, ended bool
	number          int32
	of              []int32
	lists           []bool // fields of one value of which a row had several
}

func (s *sink) rows() *sink { return s }

// twin is a field that has the name of an earlier one: a value may be the time of its row and a
// column, too.
type twin struct{ of, field int }

// twinsOf returns the fields whose names others have before them.
func twinsOf(fields []Field) (twins []twin) {
	for i, f := range fields {
		if of := slices.IndexFunc(fields[:i], func(g Field) bool { return g.Name == f.Name }); of >= 0 {
			twins = append(twins, twin{of, i})
		}
	}
	return twins
}

func newSink(fields []Field, opts *Options) *sink {
	s := &sink{fields: fields, removeNull: opts.RemoveNullBytes, keepNull: opts.KeepNullBytes, shape: opts.Shape, twins: twinsOf(fields)}
	for i, f := range fields {
		c := newColumn(f.Type)
		c.position, c.cells = i, s
		c.whole = f.Type == vector.Long && f.Time == nil
		if c.when, c.strict = f.Time, f.Strict; c.when != nil || c.strict {
			s.watched = append(s.watched, c)
		}
		s.columns = append(s.columns, c)
	}
	return s
}

// Begin starts a chunk of so many bytes; 0: of some number of rows that is not known. The rows of a
// chunk that are more than a batch holds are divided evenly, so that no small batches follow large
// ones, and each has the room that the rows of the chunk before needed, and a little more.
func (s *sink) begin(bytes int) {
	s.out = decoded{bytes: int64(bytes)}
	s.full, s.room = vector.BatchRows, s.before.rows
	if s.before.bytes > 0 {
		expected := int(int64(bytes) * int64(s.before.rows) / s.before.bytes)
		expected += expected/32 + 1
		batches := (expected-1)/vector.BatchRows + 1
		if s.room = (expected-1)/batches + 1; batches > 1 {
			s.full = s.room
		}
	}
	s.before.rows, s.before.bytes = 0, int64(bytes)
	s.reserve()
}

func (s *sink) reserve() {
	for _, c := range s.columns {
		c.reserve(min(s.room, vector.BatchRows))
	}
}

// endRow ends a row all of whose cells were appended; ok is false when it does not count.
func (s *sink) endRow(ok bool) {
	if !ok {
		s.bad = append(s.bad, uint32(s.count))
	} else if s.messages {
		s.of = append(s.of, s.number)
	}
	if s.count++; s.count == s.full {
		s.flush()
		s.reserve()
	}
}

// flush turns the collected rows into a batch.
func (s *sink) flush() {
	if s.count == 0 {
		return
	}
	b := &vector.Batch{N: s.count, Cols: make([]*vector.Vector, len(s.columns))}
	for i, c := range s.columns {
		b.Cols[i] = c.build()
	}
	if len(s.bad) > 0 {
		b.Sel = make([]uint32, 0, s.count-len(s.bad))
		for r := uint32(0); r < uint32(s.count); r++ {
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
	s.before.rows += s.count
	s.count, s.bad = 0, nil
}

func (s *sink) finish() decoded {
	s.flush()
	s.out.malformed.Take(&s.malformed)
	return s.out
}

// fail notes a record that did not parse.
func (s *sink) fail(row []byte, line int64, reason string) {
	s.ended = s.messages
	s.out.errs = append(s.out.errs, ParseError{Row: record.Short(row), Record: s.out.records, Line: line, Reason: reason, Message: int(s.number)})
}

// str appends text to c, the strings of field f or elements of it.
func (s *sink) str(f int, c *column, text []byte) {
	if !s.noNull {
		if at := bytes.IndexByte(text, 0); at >= 0 {
			text = s.nullByte(f, text, at)
		}
	}
	c.str(text)
}

// nullByte does what the options say about text with U+0000 at a position.
func (s *sink) nullByte(f int, text []byte, at int) []byte {
	switch {
	case s.removeNull:
		return bytes.ReplaceAll(text, []byte{0}, nil)
	case !s.keepNull && s.out.err == nil:
		s.out.err = &NullByteError{RowNumber: s.out.records, Column: s.fields[f].Name, Value: record.Short(text), Position: at}
	}
	return text
}

// several notes that field f, which holds one value, has several in a row.
func (s *sink) several(f int) {
	switch {
	case s.out.err != nil:
	case s.messages:
		s.lists[f] = true
	case s.fields[f].Single:
		s.out.err = fault.InvalidInput("Cannot partition on multi-value dimension [%s]", s.fields[f].Name)
	default:
		s.out.err = multiValueFault(s.fields[f].Name)
	}
}

// Number appends n to c, which is numeric.
func (c *column) number(n record.Number) {
	switch c.typ.Kind {
	case vector.KindLong:
		if c.when == nil {
			c.long(n.AsLong())
		} else if n.Integer {
			c.instant(c.when.Format.Integer(n.Long))
		} else {
			c.instant(c.when.Format.Float(n.Double))
		}
	case vector.KindFloat:
		c.float(float32(n.AsDouble()))
	default:
		c.double(n.AsDouble())
	}
}

// textScalar appends a value that is text in the input, converted to the type of c: what is no
// number becomes null.
func (s *sink) textScalar(f int, c *column, text []byte) {
	switch c.typ.Kind {
	case vector.KindString:
		s.str(f, c, text)
	case vector.KindComplex:
		s.scratch = record.AppendJSONString(s.scratch[:0], text)
		s.str(f, c, s.scratch)
	default:
		c.numeral(text)
	}
}

// numeral appends the number, or the time, that text says to c, which is numeric.
func (c *column) numeral(text []byte) {
	if c.when != nil {
		c.instant(c.when.Format.Parse(string(text)))
	} else if n, ok := record.ParseNumber(text); ok {
		c.number(n)
	} else if len(text) == 0 {
		c.null()
	} else {
		c.misfit()
	}
}

// textCell appends the text of field f, of a text format. A list delimiter within it makes several
// values.
func (s *sink) textCell(f int, text, listDelimiter []byte) {
	c := s.columns[f]
	if len(text) == 0 {
		c.null()
		return
	}
	several := len(listDelimiter) > 0 && bytes.Contains(text, listDelimiter)
	switch {
	case c.typ.Kind == vector.KindList && several:
		for found := true; found; {
			var value []byte
			value, text, found = bytes.Cut(text, listDelimiter)
			s.textScalar(f, c.child, value)
		}
		c.endList()
	case c.typ.Kind == vector.KindList:
		s.textScalar(f, c.child, text)
		c.endList()
	case several && c.typ.Kind == vector.KindString:
		s.several(f)
		c.null()
	default:
		s.textScalar(f, c, text)
	}
}

// object appends the cells of a row with the values of the wanted fields.
func (s *sink) object(o *record.Object, positions map[string]int) {
	for range s.columns {
		s.found = append(s.found, nil)
	}
	for i, name := range o.Names {
		if f, ok := positions[name]; ok {
			s.found[f] = o.Values[i]
		}
	}
	for _, t := range s.twins {
		s.found[t.field] = s.found[t.of]
	}
	for f, c := range s.columns {
		s.objectCell(f, c, s.found[f])
	}
	s.found = s.found[:0]
}

// objectCell appends v, the value of field f, to c.
func (s *sink) objectCell(f int, c *column, v any) {
	if v == nil {
		c.null()
		return
	}
	list, isList := v.([]any)
	switch {
	case c.typ.Kind == vector.KindList:
		if !isList {
			s.objectScalar(f, c.child, v)
		}
		for _, e := range list {
			s.objectScalar(f, c.child, e)
		}
		c.endList()
	case isList && c.typ.Kind == vector.KindString && len(list) != 1:
		if len(list) > 1 {
			s.several(f)
		}
		c.null()
	case isList && c.typ.Kind == vector.KindString:
		s.objectScalar(f, c, list[0])
	default:
		s.objectScalar(f, c, v)
	}
}

func (s *sink) objectScalar(f int, c *column, v any) {
	switch {
	case v == nil:
		c.null()
	case c.typ.Kind == vector.KindComplex:
		s.scratch = record.AppendJSON(s.scratch[:0], v)
		s.str(f, c, s.scratch)
	case c.typ.Kind == vector.KindString:
		s.scratch = record.AppendText(s.scratch[:0], v)
		s.str(f, c, s.scratch)
	case c.when != nil:
		c.instant(c.when.Of(v))
	default:
		if n, ok := record.AsNumber(v); ok {
			c.number(n)
		} else if v == "" {
			c.null()
		} else {
			c.misfit()
		}
	}
}
