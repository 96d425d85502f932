package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// Decode reads the query that a body begins with; what stands behind it is not read, as in the reference. Faults say which member is wrong.
func Decode(body []byte) (Query, error) {
	end, err := checkDepth(body)
	if err != nil {
		return nil, err
	}
	body = body[:end]
	var q queryOf
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, explainJSON(err)
	}
	if q.Query == nil {
		return nil, fault.Malformed("Query is null; want an object with a queryType").WithLegacy(fault.LegacyUnknown)
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	return q.Query, nil
}

// checkDepth reads the first value once, without recursion, and refuses what is no JSON or nests too deep. It returns where the value ends.
func checkDepth(body []byte) (end int64, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for depth := 0; ; {
		t, err := dec.Token()
		if err == io.EOF {
			return 0, fault.Malformed("Query is empty or ends too early").WithLegacy(fault.LegacyUnknown)
		}
		if err != nil {
			return 0, explainJSON(err)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return 0, fault.Malformed("Query nests deeper than [%d] levels", maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return dec.InputOffset(), nil
		}
	}
}

// explainJSON makes a fault of what encoding/json reports; faults of our own pass.
func explainJSON(err error) error {
	if f := fault.Find(err); f != nil {
		return f
	}
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		member := fault.JSONMember(wrong)
		if want := wanted[wrong.Type]; want != "" {
			return fault.Malformed("Member [%s] of the query is [%.100s]; want %s", member, wrong.Value, want).WithLegacy(fault.LegacyUnknown)
		}
		return fault.Malformed("Member [%s] of the query can't be a JSON %s", member, wrong.Value).WithLegacy(fault.LegacyUnknown)
	case errors.As(err, &wrong):
		return fault.Malformed("Query has a JSON %s where something else is wanted", wrong.Value).WithLegacy(fault.LegacyUnknown)
	case errors.As(err, &syntax):
		return fault.Malformed("Query is no JSON at byte [%d]: %v", syntax.Offset, syntax).WithLegacy(fault.LegacyUnknown)
	}
	return fault.Malformed("Query is no JSON: %v", err).WithLegacy(fault.LegacyUnknown)
}

// wanted are the types that read themselves and take several kinds of scalars, as messages name them.
var wanted = map[reflect.Type]string{reflect.TypeFor[Text](): "a plain value", reflect.TypeFor[Word](): "a word", reflect.TypeFor[Whole](): "a whole number", reflect.TypeFor[Number](): "a number", reflect.TypeFor[Flag](): "true or false"}

// unreadable is the error of a type that reads itself: encoding/json adds where it is.
func unreadable[T any](text []byte) error {
	return &json.UnmarshalTypeError{Value: string(text), Type: reflect.TypeFor[T]()}
}

// invalid is the fault for a query that decodes and makes no sense. Old clients know it as an unknown exception.
func invalid(format string, args ...any) error {
	return fault.InvalidInput(format, args...).WithLegacy(fault.LegacyUnknown)
}

// isNull reports whether text is absent or the JSON null.
func isNull(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || string(text) == "null"
}

// scripted are the parts that the reference can have in JavaScript, which nobody enables here.
var scripted = []string{"Aggregator", "Extraction function", "Filter", "Post-aggregator"}

// decodeTyped reads an object whose member key names its type. types makes an empty value of each; what says of what kind the types are.
func decodeTyped[T any](text []byte, key, what string, types map[string]func() T) (out T, err error) {
	var head map[string]json.RawMessage
	if err := json.Unmarshal(text, &head); err != nil {
		return out, invalid("%s must be an object with a member [%s]", what, key)
	}
	var name string
	if raw, ok := head[key]; !ok || json.Unmarshal(raw, &name) != nil || name == "" {
		return out, invalid("%s has no [%s]; want one of %s", what, key, known(types))
	}
	create, ok := types[name]
	if !ok && name == "javascript" && slices.Contains(scripted, what) {
		return out, invalid("JavaScript is disabled")
	}
	if !ok {
		hint := ""
		if n := fault.Nearest(name, names(types)); n != "" {
			hint = fmt.Sprintf(" Did you mean [%s]?", n)
		}
		return out, invalid("%s of %s [%s] is unknown.%s Known are %s", what, key, name, hint, known(types))
	}
	if err := checkRequired(what, name, head); err != nil {
		return out, err
	}
	out = create()
	if err := unmarshal(text, out); err != nil {
		var zero T
		return zero, explainJSON(err)
	}
	if c, ok := any(out).(checked); ok {
		if err := c.check(); err != nil {
			var zero T
			return zero, err
		}
	}
	return out, nil
}

// checked is a part that may decode and still make no sense, whatever columns there are.
type checked interface{ check() error }

// unmarshal decodes text as jsontext.Unmarshal does, but takes a number, true or false where a text is wanted.
func unmarshal(text []byte, out any) error {
	text = jsontext.Exact(text, out)
	for {
		err := json.Unmarshal(text, out)
		var wrong *json.UnmarshalTypeError
		if !errors.As(err, &wrong) || wrong.Type == nil || wrong.Type.Kind() != reflect.String {
			return err
		}
		end := int(wrong.Offset)
		if end > len(text) {
			return err
		}
		start := end
		for start > 0 && !bytes.ContainsRune([]byte(" \t\r\n,:[{"), rune(text[start-1])) {
			start--
		}
		if start == end || bytes.ContainsAny(text[start:end], `"{}[]`) {
			return err
		}
		text = slices.Concat(text[:start], []byte{'"'}, text[start:end], []byte{'"'}, text[end:])
	}
}

// hasType reports whether text is an object with one of the types.
func hasType[T any](text []byte, types map[string]func() T) bool {
	var head struct {
		Type any `json:"type"`
	}
	if jsontext.Unmarshal(text, &head) != nil {
		return true // what is no object is no default either
	}
	switch head.Type.(type) {
	case map[string]any, []any:
		return true // nor is this a name of one
	}
	name, _ := head.Type.(string)
	return types[name] != nil
}

func names[T any](types map[string]func() T) []string {
	out := make([]string, 0, len(types))
	for n := range types {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func known[T any](types map[string]func() T) string {
	return "[" + strings.Join(names(types), ", ") + "]"
}

// Text is a string that may be null and may come as a number or boolean.
type Text struct {
	S    string
	Null bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(text []byte) error {
	*t = Text{}
	switch {
	case isNull(text):
		t.Null = true
	case text[0] == '"':
		return json.Unmarshal(text, &t.S)
	case text[0] == '{' || text[0] == '[':
		return unreadable[Text](text)
	default:
		t.S = string(text)
	}
	return nil
}

// Word is one of a few words, "" if none is given; an empty text is none of them. What is no text is none of them either, save where any word
// will do.
type Word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *Word) UnmarshalJSON(text []byte) error {
	var t Text
	if err := t.UnmarshalJSON(text); err != nil || t.S == "" && !t.Null {
		return unreadable[Word](text)
	}
	*w = Word(t.S)
	return nil
}

// Whole is a whole number that may come as text.
type Whole int64

// UnmarshalJSON implements json.Unmarshaler.
func (w *Whole) UnmarshalJSON(text []byte) error {
	if isNull(text) {
		return nil
	}
	digits := strings.TrimSpace(strings.Trim(string(text), `"`))
	if digits == "" {
		return nil
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if f, isNumber := strconv.ParseFloat(string(text), 64); err != nil && isNumber == nil && math.Abs(f) < 1<<53 {
		n, err = int64(f), nil // a fraction is cut off
	}
	if err != nil {
		return unreadable[Whole](text)
	}
	*w = Whole(n)
	return nil
}

// Number is a number as it is written, which may come as text with blanks around; "" if there is none.
type Number string

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	shown := string(text)
	if shown[0] == '"' && json.Unmarshal(text, &shown) != nil || isNull(text) {
		shown = ""
	}
	*n = Number(strings.TrimSpace(shown))
	if _, err := strconv.ParseFloat(string(*n), 64); *n != "" && err != nil && !errors.Is(err, strconv.ErrRange) {
		return unreadable[Number](text)
	}
	return nil
}

// Double returns the number, 0 if there is none.
func (n Number) Double() float64 {
	x, _ := strconv.ParseFloat(string(n), 64) // beyond the range of doubles it is infinite
	return x
}

// Flag is true or false, which may come as text or number (jsontext.ReadFlag).
type Flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *Flag) UnmarshalJSON(text []byte) error {
	value, ok := jsontext.ReadFlag(text)
	if !ok {
		return unreadable[Flag](text)
	}
	*f = Flag(value)
	return nil
}

// Value is any JSON value: nil, bool, json.Number, string, []any or map[string]any.
type Value struct{ V any }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(&v.V)
}
