package ingest

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/ingest/record"
)

// Instants converts the values of a field to the time of a row, as a timestampSpec does. It is
// immutable.
type Instants struct {
	Format *chrono.TimestampFormat
	// Missing is the time of records without a time; nil: such records are rejected.
	Missing *int64
}

// Of converts a value of an Object to a time in milliseconds, and reports whether the value is a
// time. It does not check the range of times.
func (t *Instants) Of(v any) (ms int64, ok bool) {
	switch v := v.(type) {
	case nil:
		if t.Missing == nil {
			return 0, false
		}
		return *t.Missing, true
	case int64:
		return t.Format.Integer(v)
	case float64:
		return t.Format.Float(v)
	case float32:
		return t.Format.Float(float64(v))
	case string:
		return t.Format.Parse(v)
	}
	return t.Format.Parse(string(record.AppendText(nil, v)))
}

// flaw is what is wrong with a row whose record did parse.
type flaw uint8

const (
	notStrict flaw = 1 << iota // a value of a strict field is no number
	noTime                     // it has no time
)

// instant appends the time of a row.
func (c *column) instant(ms int64, ok bool) {
	if ok = ok && chrono.MinInstant <= ms && ms < chrono.MaxInstant; !ok {
		c.flaw |= noTime
		ms = 0
	}
	c.long(ms)
}

// misfit appends a value that is none of the type of c.
func (c *column) misfit() {
	if c.strict {
		c.flaw |= notStrict
	}
	c.null()
}

// flawed reports what is wrong with the row whose cells were appended, and forgets it.
func (s *sink) flawed() (f flaw) {
	for _, c := range s.watched {
		f |= c.flaw
		c.flaw = 0
	}
	return f
}

// endFlawed ends a row that is flawed: without a time it is none. What is wrong with it is said by
// whoever is told of o, its record, and flat, what a flattenSpec makes of it.
func (s *sink) endFlawed(f flaw, o, flat *record.Object, row []byte, line int64) {
	s.out.errs = append(s.out.errs, ParseError{Row: record.Short(row), Record: s.out.records, Line: line,
		Object: o, Flat: flat, Message: int(s.number)})
	if s.shape != nil && f&noTime == 0 {
		s.shape.Add(flat)
	}
	s.endRow(f&noTime == 0)
}
