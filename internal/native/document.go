package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// document is the text of a query with the ends of its objects and lists, so that no byte is read
// once for each level around it. Reading it ends with its context.
type document struct {
	ctx   context.Context
	text  []byte
	s     string // text
	boxes []box  // in the order in which they begin
}

// box is an object or a list: where it ends, and the first box that begins behind it.
type box struct{ to, next int }

// member is a value of a document: its bounds, and its box if it is an object or a list.
type member struct{ from, to, box int }

// reader is a part of a query that reads itself.
type reader interface {
	read(d *document, m member) error
}

// askEvery is after how many tokens the context is asked while a text is taken apart.
const askEvery = 256

// newDocument reads the first value of a text once, without recursion, and refuses what is no JSON
// or nests deeper than depth.
func newDocument(ctx context.Context, text []byte, depth int) (*document, member, error) {
	d := &document{ctx: ctx}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var open []int
	for count := 1; ; count++ {
		if count%askEvery == 0 && ctx.Err() != nil {
			return nil, member{}, context.Cause(ctx)
		}
		t, err := dec.Token()
		if err == io.EOF {
			return nil, member{}, fault.Malformed("Query is empty or ends too early").WithLegacy(fault.LegacyUnknown)
		}
		if err != nil {
			return nil, member{}, explainJSON(err)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if open = append(open, len(d.boxes)); len(open) > depth {
				return nil, member{}, fault.Malformed("Query nests deeper than [%d] levels", depth)
			}
			d.boxes = append(d.boxes, box{})
		case json.Delim('}'), json.Delim(']'):
			last := len(open) - 1
			d.boxes[open[last]] = box{int(dec.InputOffset()), len(d.boxes)}
			open = open[:last]
		}
		if len(open) == 0 {
			d.text = text[:dec.InputOffset()]
			d.s = string(d.text)
			return d, member{jsontext.Space(d.s, 0), len(d.s), 0}, nil
		}
	}
}

// readText reads a part of a query that stands alone.
func readText(text []byte, into reader) error {
	if len(text) == 0 { // a member that was left out
		return nil
	}
	d, m, err := newDocument(context.Background(), text, jsontext.MaxDepth)
	if err != nil {
		return err
	}
	return into.read(d, m)
}

func (d *document) raw(m member) []byte { return d.text[m.from:m.to] }

func (d *document) isNull(m member) bool { return d.s[m.from] == 'n' }

// opens reports whether a value begins with a character: { is an object, [ a list, " a text.
func (d *document) opens(m member, with byte) bool { return d.s[m.from] == with }

// members calls f with each member of an object or a list, until the first error or the end of the
// context. In a list, keys are empty.
func (d *document) members(of member, f func(key string, m member) error) error {
	object, inner := d.opens(of, '{'), of.box+1
	for i := jsontext.Space(d.s, of.from+1); i < of.to-1; {
		if d.ctx.Err() != nil {
			return context.Cause(d.ctx)
		}
		key := ""
		if object {
			var raw string
			raw, i, _ = jsontext.Key(d.s, i)
			key = strings.ToValidUTF8(jsontext.Text(raw), "\uFFFD")
		}
		m := member{from: i}
		if d.s[i] == '{' || d.s[i] == '[' {
			m.box, m.to, inner = inner, d.boxes[inner].to, d.boxes[inner].next
		} else {
			m.to, _ = jsontext.End(d.s, i, 0)
		}
		if err := f(key, m); err != nil {
			return err
		}
		if i = jsontext.Space(d.s, m.to); d.s[i] == ',' {
			i = jsontext.Space(d.s, i+1)
		}
	}
	return nil
}

// find returns the member of an object that has a name, the last one of several.
func (d *document) find(of member, name string) (found member, ok bool, err error) {
	if !d.opens(of, '{') {
		return member{}, false, nil
	}
	err = d.members(of, func(key string, m member) error {
		if key == name {
			found, ok = m, true
		}
		return nil
	})
	return found, ok, err
}

// fill reads a value into what out points at, as jsontext.Unmarshal does, but takes a number, true
// or false where a text is wanted. Errors of types are those of encoding/json.
func (d *document) fill(m member, out any) error { return d.into(m, reflect.ValueOf(out).Elem()) }

func (d *document) into(m member, out reflect.Value) error {
	t := out.Type()
	if t.Kind() == reflect.Pointer {
		if d.isNull(m) {
			out.SetZero()
			return nil
		}
		if out.IsNil() {
			out.Set(reflect.New(t.Elem()))
		}
		return d.into(m, out.Elem())
	}
	switch self := out.Addr().Interface().(type) {
	case reader:
		return self.read(d, m)
	case json.Unmarshaler:
		return self.UnmarshalJSON(d.raw(m))
	}
	switch t.Kind() {
	case reflect.Struct:
		return d.intoStruct(m, out)
	case reflect.Slice:
		return d.intoSlice(m, out)
	case reflect.Map:
		return d.intoMap(m, out)
	case reflect.String:
		return d.intoText(m, out)
	}
	return json.Unmarshal(d.raw(m), out.Addr().Interface())
}

func (d *document) intoStruct(m member, out reflect.Value) error {
	switch {
	case d.isNull(m):
		return nil
	case !d.opens(m, '{'):
		return d.wrongType(m, out.Type())
	}
	known := structMembers(out.Type())
	return d.members(m, func(key string, m member) error {
		f, ok := known[key]
		if !ok || f.optional && d.s[m.from:m.to] == `""` {
			return nil
		}
		return within(key, d.into(m, out.FieldByIndex(f.index)))
	})
}

func (d *document) intoSlice(m member, out reflect.Value) error {
	switch {
	case d.isNull(m):
		out.SetZero()
		return nil
	case !d.opens(m, '['):
		return d.wrongType(m, out.Type())
	}
	out.Set(reflect.MakeSlice(out.Type(), 0, 0))
	n := 0
	return d.members(m, func(_ string, m member) error {
		if n == out.Cap() {
			out.Grow(1)
		}
		n++
		out.SetLen(n)
		return d.into(m, out.Index(n-1))
	})
}

func (d *document) intoMap(m member, out reflect.Value) error {
	switch {
	case d.isNull(m):
		out.SetZero()
		return nil
	case !d.opens(m, '{'):
		return d.wrongType(m, out.Type())
	}
	if out.IsNil() {
		out.Set(reflect.MakeMap(out.Type()))
	}
	return d.members(m, func(key string, m member) error {
		value := reflect.New(out.Type().Elem()).Elem()
		if err := d.into(m, value); err != nil {
			return err
		}
		out.SetMapIndex(reflect.ValueOf(strings.Clone(key)).Convert(out.Type().Key()), value)
		return nil
	})
}

func (d *document) intoText(m member, out reflect.Value) error {
	switch d.s[m.from] {
	case 'n':
		return nil
	case '{', '[':
		return d.wrongType(m, out.Type())
	case '"':
		return json.Unmarshal(d.raw(m), out.Addr().Interface())
	}
	out.SetString(strings.Clone(d.s[m.from:m.to]))
	return nil
}

func (d *document) object(m member) (map[string]any, error) {
	out := map[string]any{}
	err := d.members(m, func(key string, m member) (err error) {
		out[strings.Clone(key)], err = d.any(m)
		return err
	})
	return out, err
}

// any returns a value as encoding/json does, numbers as json.Number.
func (d *document) any(m member) (any, error) {
	switch d.s[m.from] {
	case '{':
		return d.object(m)
	case '[':
		out := []any{}
		err := d.members(m, func(_ string, m member) error {
			v, err := d.any(m)
			out = append(out, v)
			return err
		})
		return out, err
	case '"':
		var text string
		err := json.Unmarshal(d.raw(m), &text)
		return text, err
	case 't', 'f':
		return d.s[m.from] == 't', nil
	case 'n':
		return nil, nil
	}
	return json.Number(strings.Clone(d.s[m.from:m.to])), nil
}

// wrongType is the error of a value that no t can be.
func (d *document) wrongType(m member, t reflect.Type) error {
	kind := "number"
	switch d.s[m.from] {
	case '{':
		kind = "object"
	case '[':
		kind = "array"
	case '"':
		kind = "string"
	case 't', 'f':
		kind = "bool"
	}
	return &json.UnmarshalTypeError{Value: kind, Type: t}
}

// within says in an error of a type in which member it is.
func within(name string, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			name += "." + wrong.Field
		}
		wrong.Field = name
	}
	return err
}

// structMember is where a member of an object goes; optional: it is a number or a truth value that
// may be left out, which an empty text does.
type structMember struct {
	index    []int
	optional bool
}

var knownStructs sync.Map // reflect.Type to map[string]structMember

func structMembers(t reflect.Type) map[string]structMember {
	if known, ok := knownStructs.Load(t); ok {
		return known.(map[string]structMember)
	}
	members := map[string]structMember{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || f.Anonymous && name == "":
			continue
		case name == "":
			name = f.Name
		}
		scalar := f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() >= reflect.Bool && f.Type.Elem().Kind() <= reflect.Float64
		members[name] = structMember{f.Index, scalar}
	}
	knownStructs.Store(t, members)
	return members
}
