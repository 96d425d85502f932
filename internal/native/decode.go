package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// Body is a query that is split into members but not decoded yet.
type Body struct {
	d     *document
	query member
}

// Open splits the query at the beginning of body into its members. It rejects invalid JSON, but
// does not read what follows the query, as Druid does. See quirk Q012.
func Open(ctx context.Context, body []byte) (*Body, error) {
	d, m, err := newDocument(ctx, body, maxDepth)
	if err != nil {
		return nil, err
	}
	return &Body{d, m}, nil
}

// Context returns the query context as JSON values, so that the deadline of the query is known
// before the rest of the query is decoded. A context that is not an object is rejected later, by
// Query.
func (b *Body) Context(ctx context.Context) (map[string]any, error) {
	b.d.ctx = ctx
	m, ok, err := b.d.find(b.query, "context")
	if err != nil || !ok || !b.d.opens(m, '{') {
		return map[string]any{}, err
	}
	return b.d.object(m)
}

// Query decodes the query. It stops when ctx is done. Faults name the invalid member.
func (b *Body) Query(ctx context.Context) (Query, error) {
	b.d.ctx = ctx
	var q queryOf
	if err := q.read(b.d, b.query); err != nil {
		return nil, err
	}
	if q.Query == nil {
		return nil, fault.Malformed("Query is null; want an object with a queryType").WithLegacy(fault.LegacyUnknown)
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	return q.Query, nil
}

// Decode decodes a query from memory.
func Decode(body []byte) (Query, error) {
	b, err := Open(context.Background(), body)
	if err != nil {
		return nil, err
	}
	return b.Query(context.Background())
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
		return fault.Malformed("Query is not valid JSON at byte [%d]: %v", syntax.Offset, syntax).WithLegacy(fault.LegacyUnknown)
	}
	return fault.Malformed("Query is not valid JSON: %v", err).WithLegacy(fault.LegacyUnknown)
}

// wanted are the types that read themselves and take several kinds of scalars, as messages name
// them.
var wanted = map[reflect.Type]string{reflect.TypeFor[Text](): "a plain value", reflect.TypeFor[Word](): "a word", reflect.TypeFor[Whole](): "a whole number", reflect.TypeFor[Number](): "a number", reflect.TypeFor[Flag](): "true or false"}

// unreadable is the error of a type that reads itself: encoding/json adds where it is.
func unreadable[T any](text []byte) error {
	return &json.UnmarshalTypeError{Value: string(text), Type: reflect.TypeFor[T]()}
}

// invalid is the fault for a query that decodes and makes no sense. Old clients know it as an
// unknown exception.
func invalid(format string, args ...any) error {
	return fault.InvalidInput(format, args...).WithLegacy(fault.LegacyUnknown)
}

// isNull reports whether text is absent or the JSON null.
func isNull(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || string(text) == "null"
}

// scripted are the parts that Druid can have in JavaScript, which nobody enables here.
var scripted = []string{"Aggregator", "Extraction function", "Filter", "Post-aggregator"}

// decodeTyped reads an object whose member key names its type. types makes an empty value of each;
// what says of what kind the types are.
func decodeTyped[T any](d *document, m member, key, what string, types map[string]func() T) (out T, err error) {
	if !d.opens(m, '{') {
		return out, invalid("%s must be an object with a member [%s]", what, key)
	}
	head := map[string]json.RawMessage{}
	if err := d.members(m, func(name string, m member) error {
		head[name] = d.raw(m)
		return nil
	}); err != nil {
		return out, err
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
	if err := d.fill(m, out); err != nil {
		var zero T
		if d.ctx.Err() != nil {
			return zero, context.Cause(d.ctx)
		}
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

// hasType reports whether a value is an object with one of the types.
func hasType[T any](d *document, m member, types map[string]func() T) bool {
	if !d.opens(m, '{') {
		return true // what is no object is no default either
	}
	of, ok, err := d.find(m, "type")
	switch {
	case err != nil || ok && (d.opens(of, '{') || d.opens(of, '[')):
		return true // nor is this a name of one
	case !ok || !d.opens(of, '"'):
		return types[""] != nil
	}
	return types[jsontext.Text(string(d.raw(of)))] != nil
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

// Text is a string that may be null. In JSON it may also be a number or a boolean.
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

// Word is one of a few keywords, "" if it is absent. An empty string is not a keyword. A value that
// is not a string is not a keyword either, except where any keyword is accepted.
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

// Whole is an integer, which may be a string in JSON.
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

// Number is a number in its original spelling, "" if it is absent. In JSON it may be a string with
// surrounding blanks.
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

// Double returns the number, or 0 if it is absent.
func (n Number) Double() float64 {
	x, _ := strconv.ParseFloat(string(n), 64) // beyond the range of doubles it is infinite
	return x
}

// Flag is true or false, which may be a string or a number in JSON (jsontext.ReadFlag).
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
func (v *Value) UnmarshalJSON(text []byte) error { return readText(text, v) }

func (v *Value) read(d *document, m member) (err error) {
	v.V, err = d.any(m)
	return err
}
