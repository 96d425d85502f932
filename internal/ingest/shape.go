package ingest

import (
	"bytes"
	"encoding/json"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// Shape describes the fields of records, in the order of their first occurrence, and the kinds of
// their values. The zero value describes zero records. It is used by one goroutine.
type Shape struct {
	names   []string
	index   map[string]int
	kinds   []Kinds
	scratch []byte
	full    bool
}

// Kinds counts values by kind. The counts are not exact, because values of kinds that a field
// already has may be skipped (traits). A count is 0 only if the field has no value of that kind.
type Kinds struct {
	Longs, Doubles, Texts, Lists, Objects, Booleans int
	// Numerals is the number of strings that are numbers. It stops at the first string that is not a
	// number.
	Numerals int
	// Elements counts the elements of lists; nil: there are no lists.
	Elements *Kinds
	// Flat is the number of lists that contain neither objects nor lists.
	Flat int
}

// MaxShapeFields is the maximum number of fields of a shape. It keeps hostile records from filling
// memory with names.
const MaxShapeFields = 20_000

// Full reports whether the records have more fields than MaxShapeFields.
func (s *Shape) Full() bool { return s.full }

// Names returns the names of the fields.
func (s *Shape) Names() []string { return s.names }

// Of returns the kinds of the values of a field, or nil if the field did not occur.
func (s *Shape) Of(name string) *Kinds {
	at, ok := s.index[name]
	if !ok {
		return nil
	}
	return &s.kinds[at]
}

// Field returns the kinds of a field, which is new perhaps; nil: there are too many.
func (s *Shape) field(name string) *Kinds {
	at, ok := s.index[name]
	if !ok {
		if at = len(s.names); at == MaxShapeFields {
			s.full = true
			return nil
		}
		if s.index == nil {
			s.index = map[string]int{}
		}
		s.index[name] = at
		s.names, s.kinds = append(s.names, name), append(s.kinds, Kinds{})
	}
	return &s.kinds[at]
}

// Add adds a record.
func (s *Shape) Add(o *record.Object) {
	for i, name := range o.Names {
		if k := s.field(name); k != nil {
			k.add(o.Values[i])
		}
	}
}

// Merge adds a shape of records that come after the records of s.
func (s *Shape) Merge(other *Shape) {
	s.full = s.full || other.full
	for i, name := range other.names {
		if k := s.field(name); k != nil {
			k.merge(&other.kinds[i])
		}
	}
}

func (k *Kinds) merge(other *Kinds) {
	k.Longs, k.Doubles, k.Texts, k.Numerals = k.Longs+other.Longs, k.Doubles+other.Doubles, k.Texts+other.Texts, k.Numerals+other.Numerals
	k.Lists, k.Objects, k.Booleans = k.Lists+other.Lists, k.Objects+other.Objects, k.Booleans+other.Booleans
	k.Flat += other.Flat
	if other.Elements != nil {
		k.elements().merge(other.Elements)
	}
}

func (k *Kinds) elements() *Kinds {
	if k.Elements == nil {
		k.Elements = &Kinds{}
	}
	return k.Elements
}

func (k *Kinds) add(v any) {
	switch v := v.(type) {
	case int64:
		k.Longs++
	case float64, float32, record.Digits:
		k.Doubles++
	case bool:
		k.Booleans++
	case string:
		k.Texts++
		if k.Numerals == k.Texts-1 { // it matters only whether all are
			if _, ok := record.ParseNumber([]byte(v)); ok {
				k.Numerals++
			}
		}
	case []byte:
		k.Texts++
	case []any:
		k.list(func(of *Kinds) {
			for _, e := range v {
				of.add(e)
			}
		})
	case *record.Object:
		k.Objects++
	}
}

// list adds a list, whose elements add counts.
func (k *Kinds) list(add func(of *Kinds)) {
	k.Lists++
	of := k.elements()
	nested := of.Lists + of.Objects
	add(of)
	if of.Lists+of.Objects == nested {
		k.Flat++
	}
}

// Scalars returns the number of values that are neither lists nor objects.
func (k *Kinds) Scalars() int { return k.Longs + k.Doubles + k.Texts + k.Booleans }

// Text adds a value that is text.
func (k *Kinds) text(b []byte) {
	if k.Texts++; k.Numerals == k.Texts-1 {
		if _, ok := record.ParseNumber(b); ok {
			k.Numerals++
		}
	}
}

// json adds a value of JSON as valueOf reads it.
func (k *Kinds) json(v *fastjson.Value, scratch []byte) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		k.text(v.GetStringBytes())
	case fastjson.TypeNumber:
		scratch = v.MarshalTo(scratch[:0])
		if n, _ := record.ParseJSONNumber(scratch); n.Integer {
			k.Longs++
		} else {
			k.Doubles++
		}
	case fastjson.TypeTrue, fastjson.TypeFalse:
		k.Booleans++
	case fastjson.TypeArray:
		k.list(func(of *Kinds) {
			for _, e := range v.GetArray() {
				scratch = of.json(e, scratch)
			}
		})
	case fastjson.TypeObject:
		k.Objects++
	}
	return scratch
}

// json learns from a record of JSON.
func (s *Shape) json(o *fastjson.Object) {
	o.Visit(func(name []byte, v *fastjson.Value) {
		if at, ok := s.index[string(name)]; ok {
			s.scratch = s.kinds[at].json(v, s.scratch)
		} else if k := s.field(string(name)); k != nil {
			s.scratch = k.json(v, s.scratch)
		}
	})
}

// delimited learns from a record of fields. Known are, by field, whether it was met, and whether it
// had a text.
func (s *Shape) delimited(d *delimitedObjects, record *splitter, known []traits) {
	if len(d.names) == 0 {
		s.Add(d.object(record))
		return
	}
	list := []byte(d.f.ListDelimiter)
	for i := range min(len(record.fields), len(d.names)) {
		field := record.field(i)
		several := len(list) > 0 && bytes.Contains(field, list)
		if known[i]&someField != 0 && (len(field) == 0 || known[i]&someText != 0 && !several && !d.f.wire.TryParseNumbers) {
			continue
		}
		known[i] |= someField
		switch k := s.field(d.names[i]); {
		case k == nil || len(field) == 0:
		case d.f.wire.TryParseNumbers || several:
			k.add(d.value(string(field)))
		default:
			known[i] |= someText
			k.text(field)
		}
	}
}

// shapeJSON is a Shape on its way between processes.
type shapeJSON struct {
	Names []string
	Kinds []Kinds
	Full  bool `json:",omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s *Shape) MarshalJSON() ([]byte, error) {
	return json.Marshal(shapeJSON{s.names, s.kinds, s.full})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Shape) UnmarshalJSON(text []byte) error {
	var w shapeJSON
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	if len(w.Names) != len(w.Kinds) {
		return fault.Malformed("A shape has [%d] fields and [%d] kinds", len(w.Names), len(w.Kinds))
	}
	*s = Shape{full: w.Full}
	for i, name := range w.Names {
		if k := s.field(name); k != nil {
			*k = w.Kinds[i]
		}
	}
	return nil
}

// traits are what a field was seen to have, without how often: columns and their types depend on
// nothing else. A record that shows nothing new needs no second look.
type traits uint32

const (
	someField traits = 1 << iota // it was met, if only as null
	someLong
	someDouble
	someText
	someBoolean
	someObject
	someList
	someFlat    // a list without objects and lists in it
	someNumeral // the first text is a number
	// The kinds of elements of lists are those of values, so many bits higher.
	ofElements = 16
)

// Traits appends the traits of each field, in the order of Names.
func (s *Shape) Traits(dst []uint32) []uint32 {
	for i := range s.kinds {
		dst = append(dst, uint32(s.kinds[i].traits()))
	}
	return dst
}

func (k *Kinds) traits() traits {
	bits := someField
	for i, n := range [...]int{k.Longs, k.Doubles, k.Texts, k.Booleans, k.Objects, k.Lists, k.Flat, k.Numerals} {
		if n > 0 {
			bits |= someLong << i
		}
	}
	if k.Elements != nil {
		bits |= k.Elements.traits() << ofElements
	}
	return bits
}

// learn makes the scanner look for what a shape has not got.
func (s *jsonScanner) learn(shape *Shape) {
	s.learning = true
	for _, name := range shape.names {
		if s.names[name] == nil && len(s.names) < maxNames && len(name) <= maxNameBytes {
			s.names[name] = newJSONMember(name, -1, false)
		}
	}
	s.recall(shape)
}

// recall takes over what a shape has learnt.
func (s *jsonScanner) recall(shape *Shape) {
	for name, at := range shape.index {
		if m := s.names[name]; m != nil {
			m.known = shape.kinds[at].traits()
		}
	}
}

// familiar reports whether a field had values such as that of a token before.
func (s *jsonScanner) familiar(m *jsonMember, t *jsonToken, text []byte) bool {
	has := m.known
	switch t.kind {
	case jsonList:
		want := someField | someList | someFlat
		for i := t.from; i < t.to; i++ {
			e := &s.elems[i]
			switch {
			case e.kind != jsonNested:
				want |= e.traits() << ofElements
			case text[e.from] == '{':
				want = want&^someFlat | someObject<<ofElements
			default:
				want = want&^someFlat | someList<<ofElements
			}
		}
		return has&want == want
	case jsonNested:
		return s.familiarNested(has, t, text)
	}
	want := t.traits()
	return has&want == want
}

// familiarNested is familiar for an object, or a list that is not looked into. Where there were
// objects before, or lists with lists or objects, the type of the field is that of anything; what
// is left to know is whether it has a list without any.
func (s *jsonScanner) familiarNested(has traits, t *jsonToken, text []byte) bool {
	const nested = someObject<<ofElements | someList<<ofElements
	switch {
	case text[t.from] == '{':
		return has&someObject != 0
	case has&someList == 0 || has&(someObject|nested) == 0:
		return false
	case has&someFlat != 0:
		return true
	}
	first := skipBlanks(text, int(t.from)+1)
	return has&nested != 0 && (text[first] == '{' || text[first] == '[')
}

// traits are those of a value that is neither list nor object.
func (t *jsonToken) traits() traits {
	switch t.kind {
	case jsonText, jsonEscaped:
		return someField | someText
	case jsonNumber:
		if t.number.Integer {
			return someField | someLong
		}
		return someField | someDouble
	case jsonTrue, jsonFalse:
		return someField | someBoolean
	}
	return someField
}
