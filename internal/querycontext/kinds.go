package querycontext

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

func boolean(readers Readers, key string, fallback bool, doc string) *Param[bool] {
	return add(readers, "true/false", key, fallback, strconv.FormatBool(fallback), doc, readBool)
}

func text(readers Readers, key, fallback, doc string) *Param[string] {
	return add(readers, "text", key, fallback, fallback, doc, readText)
}

// integer is a whole number of 32 bits.
func integer(readers Readers, key string, fallback int, doc string) *Param[int] {
	return add(readers, "integer", key, fallback, strconv.Itoa(fallback), doc, readInt)
}

// long is a whole number of 64 bits.
func long(readers Readers, key string, fallback int64, doc string) *Param[int64] {
	return add(readers, "long", key, fallback, strconv.FormatInt(fallback, 10), doc, readLong)
}

// positive is an integer above 0. The default may be 0: nothing is set then.
func positive(readers Readers, key string, fallback int, doc string) *Param[int] {
	return add(readers, "positive integer", key, fallback, unlessZero(int64(fallback)), doc, above0(readInt))
}

func positiveLong(readers Readers, key string, fallback int64, doc string) *Param[int64] {
	return add(readers, "positive long", key, fallback, unlessZero(fallback), doc, above0(readLong))
}

func number(readers Readers, key string, fallback float64, doc string) *Param[float64] {
	return add(readers, "number", key, fallback, strconv.FormatFloat(fallback, 'g', -1, 64), doc, readFloat)
}

// choice is one of some names, in any case; the first is the default. The refusal has a verb for
// the value.
func choice(readers Readers, key, refusal, doc string, names ...string) *Param[string] {
	read := func(key string, v any) (string, error) {
		given, err := readText(key, v)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, given) })
		if i < 0 {
			return "", fault.BadContext(refusal, given)
		}
		return names[i], nil
	}
	return add(readers, "`"+strings.Join(names, "`, `")+"`", key, names[0], names[0], doc, read)
}

// enum is choice with the message for what Apache Druid declares as an enum.
func enum(readers Readers, key, enum, doc string, names ...string) *Param[string] {
	refusal := "Expected key [" + key + "] to be referring to one of the values [" + strings.ToUpper(strings.Join(names, ",")) + "] of enum [" + enum + "], but got [%s]"
	return choice(readers, key, refusal, doc, names...)
}

func names(readers Readers, key, doc string) *Param[[]string] {
	return add(readers, "list of names", key, nil, "", doc, readNames)
}

func object(readers Readers, key, doc string) *Param[json.RawMessage] {
	return add(readers, "object", key, nil, "", doc, readObject)
}

// mixed is a value of several types, which its reader takes as it is.
func mixed(readers Readers, kind, key, shown, doc string) *Param[any] {
	return add[any](readers, kind, key, nil, shown, doc, func(_ string, v any) (any, error) { return v, nil })
}

func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// readBool reads true or false, also as text; an empty text is false.
func readBool(key string, v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		switch strings.ToLower(v) {
		case "true":
			return true, nil
		case "false", "":
			return false, nil
		}
		return false, fault.BadContext("Expected key [%s] to be true or false, but got [%s]", key, v)
	}
	return false, wrongType(key, "a Boolean", v)
}

func readText(key string, v any) (string, error) {
	if v, ok := v.(string); ok {
		return v, nil
	}
	return "", wrongType(key, "a String", v)
}

func readInt(key string, v any) (int, error) {
	n, err := readWhole(key, v, "an Integer", "integer", math.MinInt32, math.MaxInt32)
	return int(n), err
}

func readLong(key string, v any) (int64, error) {
	return readWhole(key, v, "a Long", "long", math.MinInt64, math.MaxInt64)
}

// readWhole reads a whole number. This is the one rule for all of them: of a JSON number the
// fraction is cut off, and one outside the range of its kind counts as the nearest number in the
// range, because such numbers stand for "any". Text must be a whole number in the range.
func readWhole(key string, v any, kind, format string, least, most int64) (int64, error) {
	var given string
	switch v := v.(type) {
	case int:
		return min(max(int64(v), least), most), nil
	case int64:
		return min(max(v, least), most), nil
	case float64:
		return nearest(v, least, most), nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return min(max(n, least), most), nil
		}
		if f, err := v.Float64(); err == nil || math.IsInf(f, 0) {
			return nearest(f, least, most), nil
		}
		given = v.String()
	case string:
		given = strings.TrimSpace(v)
		n, err := strconv.ParseInt(given, 10, 64)
		if err != nil {
			var f float64
			if f, err = strconv.ParseFloat(given, 64); err == nil && (f != math.Trunc(f) || math.Abs(f) >= 1<<63) {
				err = strconv.ErrRange
			}
			n = int64(f)
		}
		if err == nil && n >= least && n <= most {
			return n, nil
		}
	default:
		return 0, wrongType(key, kind, v)
	}
	return 0, fault.BadContext("Expected key [%s] to be in %s format, but got [%s]", key, format, given)
}

// nearest cuts off the fraction of f and returns the nearest number in the range.
func nearest(f float64, least, most int64) int64 {
	switch {
	case f >= float64(most):
		return most
	case f <= float64(least):
		return least
	}
	return int64(f)
}

// above0 refuses numbers that are not above 0.
func above0[T int | int64](read func(key string, v any) (T, error)) func(key string, v any) (T, error) {
	return func(key string, v any) (T, error) {
		n, err := read(key, v)
		if err == nil && n <= 0 {
			err = fault.BadContext("Query context parameter [%s] must be a positive integer, but it is [%v]", key, v)
		}
		return n, err
	}
}

// readByteLimit reads a number of bytes, or one of the words that set no limit.
func readByteLimit(key string, v any) (int64, error) {
	if v == "auto" || v == "disabled" || v == "unlimited" {
		return 0, nil
	}
	return readLong(key, v)
}

func readFloat(key string, v any) (float64, error) {
	switch v := v.(type) {
	case int:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	case json.Number:
		f, _ := v.Float64() // a number that is too large is infinite
		return f, nil
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return 0, fault.BadContext("Expected key [%s] to be in float format, but got [%s]", key, v)
		}
		return f, nil
	}
	return 0, wrongType(key, "a Float", v)
}

// readNames reads an array of strings, its JSON text, or names between commas. Empty names are
// dropped.
func readNames(key string, v any) ([]string, error) {
	var out []string
	switch v := v.(type) {
	case string:
		if json.Unmarshal([]byte(v), &out) != nil {
			out = nil
			for part := range strings.SplitSeq(v, ",") {
				out = append(out, strings.TrimSpace(part))
			}
		}
	case []any:
		for _, name := range v {
			out = append(out, fmt.Sprint(name))
		}
	default:
		return nil, wrongType(key, "a String", v)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" }), nil
}

// readObject reads an object or its JSON text.
func readObject(key string, v any) (json.RawMessage, error) {
	refused := fault.BadContext("Expected key [%s] to be an %s, but got [%v]", key, key, v)
	encoded, isText := v.(string)
	if !isText {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, refused
		}
		encoded = string(b)
	}
	var members map[string]any
	if json.Unmarshal([]byte(encoded), &members) != nil {
		return nil, refused
	}
	return json.RawMessage(encoded), nil
}

func wrongType(key, kind string, v any) error {
	return fault.BadContext("Expected key [%s] to be %s, but got [%s]", key, kind, fault.JSONClass(v))
}
