package record

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// Object is a record, or an object nested in a record: names and values in the order of the input.
// A value is nil, bool, int64, float64, float32, Digits, string, []byte, []any or *Object.
type Object struct {
	Names  []string
	Values []any
}

// Digits is the text of a number that neither int64 nor float64 represents exactly.
type Digits string

// Get returns the value of a name and whether it exists. If the name occurs several times, Get
// returns the last value.
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

// Set replaces the value of a name, or appends it.
func (o *Object) Set(name string, value any) {
	if i := slices.Index(o.Names, name); i >= 0 {
		o.Values[i] = value
		return
	}
	o.Add(name, value)
}

// MarshalJSON returns the object as compact JSON.
func (o *Object) MarshalJSON() ([]byte, error) { return AppendJSON(nil, o), nil }

// AppendJSON appends a value of an Object as compact JSON. Numbers that JSON can't represent become
// strings, bytes become base64.
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
		return AppendJSONString(dst, []byte(v))
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
			dst = append(AppendJSONString(dst, []byte(name)), ':')
			dst = AppendJSON(dst, v.Values[i])
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// AppendText appends a value converted to a string. Strings and numbers are unchanged. An object,
// or a list within a list, is formatted as in Druid: {a=1, b=[3, [4, 5]]}. See quirk Q013.
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

// ObjectOf converts a parsed JSON object. It returns false if a number in it violates the JSON
// grammar.
func ObjectOf(o *fastjson.Object) (*Object, bool) {
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
		n, ok := ParseJSONNumber(raw)
		switch {
		case n.Integer:
			return n.Long, ok
		case IsWhole(raw) && string(raw) != "-0":
			return Digits(raw), ok
		}
		return n.Double, ok
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
		return ObjectOf(v.GetObject())
	}
	return nil, true
}

// IsWhole reports whether the text of a number has neither a fraction nor an exponent.
func IsWhole(raw []byte) bool {
	for _, c := range raw {
		if c == '.' || c|0x20 == 'e' {
			return false
		}
	}
	return true
}

// AsNumber returns a value that is a number or the text of a number as a Number.
func AsNumber(v any) (Number, bool) {
	switch v := v.(type) {
	case int64:
		return Number{Integer: true, Long: v}, true
	case float64:
		return Number{Double: v}, true
	case float32:
		return Number{Double: float64(v)}, true
	case bool:
		if v {
			return Number{Integer: true, Long: 1}, true
		}
		return Number{Integer: true}, true
	case string:
		return ParseNumber([]byte(v))
	case Digits:
		return ParseNumber([]byte(v))
	}
	return Number{}, false
}

// NumberOf returns a value as an integer or, if whole is false, as a double. ok is false if the
// value is neither a number nor the text of a number.
func NumberOf(v any) (long int64, double float64, whole, ok bool) {
	n, ok := AsNumber(v)
	return n.AsLong(), n.AsDouble(), n.Integer, ok
}

// ArrayOf returns row i of a vector of arrays as a value of an Object. An array is always a list,
// whatever its length.
func ArrayOf(v *vector.Vector, i int) any { return v.ValueAt(i) }

// StateOf returns row i of a vector of a complex type, such as a sketch, as a value of an Object:
// the bytes of its state, which are base64 as text.
func StateOf(v *vector.Vector, i int) any {
	state, ok := v.ValueAt(i).(string)
	if !ok {
		return nil
	}
	return []byte(state)
}

// ValueOf returns row i of a vector as a value of an Object. JSON is parsed. A list of one string
// becomes that string, and an empty list nil, as for multi-value strings.
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
