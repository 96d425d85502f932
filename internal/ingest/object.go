package ingest

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// Object is a record, or an object nested in one: names with their values, in the order of the
// input. A value is nil, bool, int64, float64, float32, Digits, string, []byte, []any or *Object.
type Object struct {
	Names  []string
	Values []any
}

// Digits is a number that neither int64 nor float64 holds exactly, as text.
type Digits string

// Get returns the value called name and whether there is one. Of several the last counts.
func (o *Object) Get(name string) (any, bool) {
	for i, v := range slices.Backward(o.Names) {
		if v == name {
			return o.Values[i], true
		}
	}
	return nil, false
}

// Add appends a value.
func (o *Object) Add(name string, value any) {
	o.Names = append(o.Names, name)
	o.Values = append(o.Values, value)
}

// Set replaces the value called name, or appends it.
func (o *Object) Set(name string, value any) {
	if i := slices.Index(o.Names, name); i >= 0 {
		o.Values[i] = value
		return
	}
	o.Add(name, value)
}

// MarshalJSON returns the object as compact JSON.
func (o *Object) MarshalJSON() ([]byte, error) { return AppendJSON(nil, o), nil }

// AppendJSON appends a value of an Object as compact JSON. Numbers that JSON has no text for become
// strings, bytes base64.
func AppendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(expr.AppendDouble(append(dst, '"'), v), '"')
		}
		return expr.AppendDouble(dst, v)
	case float32:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return append(expr.AppendFloat(append(dst, '"'), v), '"')
		}
		return expr.AppendFloat(dst, v)
	case Digits:
		return append(dst, v...)
	case string:
		return appendJSONString(dst, []byte(v))
	case []byte:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v)
		return append(dst, '"')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		for i, name := range v.Names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONString(dst, []byte(name)), ':')
			dst = AppendJSON(dst, v.Values[i])
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// AppendText appends the text of a value as it becomes a string: text and numbers as they are, an
// object and a list within a list as the reference writes them, {a=1, b=[3, [4, 5]]}.
func AppendText(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(dst, v...)
	case []byte:
		return base64.StdEncoding.AppendEncode(dst, v)
	case float64:
		return expr.AppendDouble(dst, v)
	case float32:
		return expr.AppendFloat(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendText(dst, e)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		for i, name := range v.Names {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendText(append(append(dst, name...), '='), v.Values[i])
		}
		return append(dst, '}')
	}
	return AppendJSON(dst, v)
}

// objectOf converts a parsed JSON object. It returns false when a number in it is none in JSON's
// grammar.
func objectOf(o *fastjson.Object) (*Object, bool) {
	out := &Object{Names: make([]string, 0, o.Len()), Values: make([]any, 0, o.Len())}
	ok := true
	o.Visit(func(key []byte, v *fastjson.Value) {
		value, good := valueOf(v)
		ok = ok && good
		out.Add(string(key), value)
	})
	return out, ok
}

func valueOf(v *fastjson.Value) (any, bool) {
	switch v.Type() {
	case fastjson.TypeString:
		return string(v.GetStringBytes()), true
	case fastjson.TypeNumber:
		raw := v.MarshalTo(nil)
		n, ok := parseJSONNumber(raw)
		switch {
		case n.integer:
			return n.long, ok
		case isWhole(raw) && string(raw) != "-0":
			return Digits(raw), ok
		}
		return n.double, ok
	case fastjson.TypeTrue, fastjson.TypeFalse:
		return v.Type() == fastjson.TypeTrue, true
	case fastjson.TypeArray:
		list := v.GetArray()
		out, ok := make([]any, len(list)), true
		for i, e := range list {
			var good bool
			out[i], good = valueOf(e)
			ok = ok && good
		}
		return out, ok
	case fastjson.TypeObject:
		return objectOf(v.GetObject())
	}
	return nil, true
}

// isWhole reports whether the text of a number has neither fraction nor exponent.
func isWhole(raw []byte) bool {
	for _, c := range raw {
		if c == '.' || c|0x20 == 'e' {
			return false
		}
	}
	return true
}

// numberOf returns the number that a value is, or that its text says.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return number{integer: true, long: v}, true
	case float64:
		return number{double: v}, true
	case float32:
		return number{double: float64(v)}, true
	case bool:
		if v {
			return number{integer: true, long: 1}, true
		}
		return number{integer: true}, true
	case string:
		return parseText([]byte(v))
	case Digits:
		return parseText([]byte(v))
	}
	return number{}, false
}

// NumberOf returns a value as an integer or, when whole is false, as a double: what is no number,
// or the text of none, is not ok.
func NumberOf(v any) (long int64, double float64, whole, ok bool) {
	n, ok := numberOf(v)
	return n.asLong(), n.asDouble(), n.integer, ok
}

// object appends the cells of a row with the values of the wanted fields.
func (s *sink) object(o *Object, places map[string]int) {
	for range s.columns {
		s.found = append(s.found, nil)
	}
	for i, name := range o.Names {
		if f, ok := places[name]; ok {
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
		s.scratch = AppendJSON(s.scratch[:0], v)
		s.str(f, c, s.scratch)
	case c.typ.Kind == vector.KindString:
		s.scratch = AppendText(s.scratch[:0], v)
		s.str(f, c, s.scratch)
	case c.when != nil:
		c.instant(c.when.Of(v))
	default:
		if n, ok := numberOf(v); ok {
			c.number(n)
		} else if v == "" {
			c.null()
		} else {
			c.misfit()
		}
	}
}

// ArrayOf returns row i of a vector of arrays as a value of an Object: an array is a list, however
// many elements it has.
func ArrayOf(v *vector.Vector, i int) any { return v.ValueAt(i) }

// StateOf returns row i of a vector of a complex type, such as sketches, as a value of an Object:
// the bytes of its state, which as text are base64.
func StateOf(v *vector.Vector, i int) any {
	state, ok := v.ValueAt(i).(string)
	if !ok {
		return nil
	}
	return []byte(state)
}

// ValueOf returns row i of a vector as a value of an Object. JSON is parsed; a list of one text is
// that text, of none nil, as a multi-value string shows them.
func ValueOf(v *vector.Vector, i int) any {
	switch x := v.ValueAt(i).(type) {
	case string:
		if v.Type != vector.JSON {
			return x
		}
		if p, err := fastjson.Parse(x); err == nil {
			if value, ok := valueOf(p); ok {
				return value
			}
		}
		return x
	case []any:
		switch len(x) {
		case 0:
			return nil
		case 1:
			if v.Type.Elem() == vector.String {
				return x[0]
			}
		}
		return x
	default:
		return x
	}
}
