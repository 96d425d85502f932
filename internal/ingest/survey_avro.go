package ingest

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/parquet"
	"github.com/hengedb/henge/internal/ingest/record"
)

// avro surveys a container file of Avro. Its schema says which columns are times; the values say
// the types, as unions may hold several.
func (s *Surveyor) avro(ctx context.Context, in *input) error {
	f, err := ParseFormat([]byte(`{"type":"avro_ocf"}`))
	if err != nil {
		return err
	}
	src, err := f.(*AvroFile).openFile(ctx, in)
	if err != nil {
		return err
	}
	timed := map[string]string{"timestamp-millis": "millis", "local-timestamp-millis": "millis", "timestamp-micros": "micro",
		"local-timestamp-micros": "micro", "timestamp-nanos": "nano", "local-timestamp-nanos": "nano"}
	for _, field := range src.file.Fields() {
		s.column(field.Name).timed = timed[field.Logical]
	}
	return s.typedRecords(ctx, in, src)
}

// arrow surveys a stream of Arrow. Its schema says which columns are times; whole numbers may be
// larger than BIGINT holds.
func (s *Surveyor) arrow(ctx context.Context, in *input) error {
	src, err := (&Arrow{flat: &flattening{discover: true}}).openObjects(ctx, in)
	if err != nil {
		return err
	}
	schema, err := src.(*arrowObjects).in.Schema()
	if err != nil {
		return errors.Join(err, src.close())
	}
	for _, f := range schema.Fields {
		c := s.column(f.Name)
		name := record.Printable(f.Name)
		switch t := f.Type; t.Kind {
		case arrow.Timestamp:
			c.timed = "millis"
			s.noteUnit(t.Unit, name)
		case arrow.Date:
			c.timed = "millis"
			s.note(dateNote(name))
		case arrow.Time, arrow.Duration:
			s.noteUnit(t.Unit, name)
		}
	}
	return s.typedRecords(ctx, in, src)
}

func (s *Surveyor) noteUnit(u arrow.Unit, name string) {
	switch u {
	case arrow.Micro:
		s.note(finerNote(parquet.Micros, name))
	case arrow.Nano:
		s.note(finerNote(parquet.Nanos, name))
	}
}

// typedRecords surveys records whose values have types.
func (s *Surveyor) typedRecords(ctx context.Context, in *input, src objectReader) error {
	for {
		if s.Enough() {
			return src.close()
		}
		rec, err := src.next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, src.close())
		}
		s.begin()
		if rec.Object == nil {
			s.fail(rec.Reason)
		} else {
			s.object(rec.Object)
		}
		s.end()
		if s.o.Progress != nil && s.Record%10_000 == 0 {
			s.o.Progress(s.bytes + in.read.Load())
		}
	}
}

// object surveys a record of typed values.
func (s *Surveyor) object(o *record.Object) {
	for i, name := range o.Names {
		c := s.column(name)
		if o.Values[i] == nil {
			continue
		}
		s.present(c)
		s.typed(c, &c.values, o.Values[i])
	}
}

// typed adds a typed value of a column, or of one of its lists, whose c is nil.
func (s *Surveyor) typed(c *surveyed, into *evidence.Values, v any) {
	number := func(k evidence.Class, raw []byte) {
		into.Of[k].Add(&s.Position, raw)
		if c != nil {
			c.watch.Number(&s.Position, raw, k)
		}
	}
	text := func(k evidence.Class, raw []byte) {
		into.Of[k].Add(&s.Position, raw)
		if c != nil {
			c.watch.Text(&s.Position, raw)
		}
	}
	switch v := v.(type) {
	case int64:
		number(evidence.ClassOfLong(v), strconv.AppendInt(nil, v, 10))
	case float64:
		k := evidence.Double
		if v == math.Trunc(v) && math.Abs(v) <= evidence.ExactDouble {
			k = evidence.Whole
		}
		number(k, strconv.AppendFloat(nil, v, 'g', -1, 64))
	case float32:
		number(evidence.Single, strconv.AppendFloat(nil, float64(v), 'g', -1, 32))
	case record.Digits:
		into.Text = true
		number(evidence.ClassOfNumber([]byte(v)), []byte(v))
	case bool:
		text(evidence.Bool, booleans[v])
	case string:
		text(evidence.Text, []byte(v))
	case []byte:
		text(evidence.Text, nil)
		if c != nil {
			s.note("Column \"" + record.Printable(c.name) + "\" holds bytes; they are loaded in base 64.")
		}
	case *record.Object:
		into.Objects.Add(&s.Position, nil)
		if c != nil {
			c.watch.Text(&s.Position, nil)
		}
	case []any:
		s.typedList(c, into, v)
	}
}

func (s *Surveyor) typedList(c *surveyed, into *evidence.Values, list []any) {
	into.Lists.Add(&s.Position, nil)
	if c != nil {
		c.watch.Text(&s.Position, nil)
	}
	for _, e := range list {
		switch e.(type) {
		case []any, *record.Object:
			into.Nested.Add(&s.Position, nil)
			return
		}
	}
	if into.Elements == nil {
		into.Elements = &evidence.Values{}
	}
	for _, e := range list {
		if e != nil {
			s.typed(nil, into.Elements, e)
		}
	}
}
