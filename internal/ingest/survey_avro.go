package ingest

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"
)

// avro surveys a container file of Avro. Its schema says which columns are times; the values say
// the types, as unions may hold several.
func (s *Surveyor) avro(ctx context.Context, in *input) error {
	f, err := ParseFormat([]byte(`{"type":"avro_ocf"}`))
	if err != nil {
		return err
	}
	src, err := f.(*AvroFile).openObjects(ctx, in)
	if err != nil {
		return err
	}
	r := src.(*avroFileReader)
	timed := map[string]string{"timestamp-millis": "millis", "local-timestamp-millis": "millis", "timestamp-micros": "micro",
		"local-timestamp-micros": "micro", "timestamp-nanos": "nano", "local-timestamp-nanos": "nano"}
	for i := range r.conv.root.Fields {
		field := &r.conv.root.Fields[i]
		c := s.column(field.Name)
		t := r.conv.resolve(&field.Type)
		for j := range t.Branches {
			if b := r.conv.resolve(&t.Branches[j]); b.Type != "null" {
				t = b
				break
			}
		}
		c.timed = timed[t.LogicalType]
	}
	for {
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
		if s.o.Progress != nil && s.record%10_000 == 0 {
			s.o.Progress(s.bytes + in.read.Load())
		}
	}
}

// object surveys a record of typed values.
func (s *Surveyor) object(o *Object) {
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
func (s *Surveyor) typed(c *surveyed, into *values, v any) {
	number := func(k class, raw []byte) {
		into.of[k].add(s, raw)
		if c != nil {
			c.watch.number(s, raw, k)
		}
	}
	text := func(k class, raw []byte) {
		into.of[k].add(s, raw)
		if c != nil {
			c.watch.text(s, raw)
		}
	}
	switch v := v.(type) {
	case int64:
		number(classOfLong(v), strconv.AppendInt(nil, v, 10))
	case float64:
		k := classDouble
		if v == math.Trunc(v) && math.Abs(v) <= exactDouble {
			k = classWhole
		}
		number(k, strconv.AppendFloat(nil, v, 'g', -1, 64))
	case float32:
		number(classSingle, strconv.AppendFloat(nil, float64(v), 'g', -1, 32))
	case Digits:
		into.text = true
		number(classOfNumber([]byte(v)), []byte(v))
	case bool:
		text(classBool, booleans[v])
	case string:
		text(classText, []byte(v))
	case []byte:
		text(classText, nil)
		if c != nil {
			s.note("Column \"" + printable(c.name) + "\" holds bytes; they are loaded in base 64.")
		}
	case *Object:
		into.objects.add(s, nil)
		if c != nil {
			c.watch.text(s, nil)
		}
	case []any:
		s.typedList(c, into, v)
	}
}

func (s *Surveyor) typedList(c *surveyed, into *values, list []any) {
	into.lists.add(s, nil)
	if c != nil {
		c.watch.text(s, nil)
	}
	for _, e := range list {
		switch e.(type) {
		case []any, *Object:
			into.nested.add(s, nil)
			return
		}
	}
	if into.elements == nil {
		into.elements = &values{}
	}
	for _, e := range list {
		if e != nil {
			s.typed(nil, into.elements, e)
		}
	}
}
