package jsontext

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// maxConverted is how many scalars of one text are converted: each costs another reading.
const maxConverted = 200

// Read reads what a client wrote into a value. As in Druid a scalar may be of another JSON type
// where that says the same: "5" and 5.0 for 5, "true" and 1 for true, 5 for "5"; a fraction that
// stands for a whole number is cut, and an empty text is no value. A member is the one that its
// name is, letter by letter, as for Unmarshal. Errors are those of encoding/json; their places
// count what was converted before them. See quirk Q012.
func Read(text []byte, into any) error {
	text = Exact(text, into)
	for range maxConverted {
		err := json.Unmarshal(text, into)
		kind, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if !ok {
			return err
		}
		if text, ok = converted(text, kind); !ok {
			return err
		}
	}
	return json.Unmarshal(text, into)
}

// ReadFlag reads what a client wrote for true or false as Read does, for types that read
// themselves; null is false.
func ReadFlag(text []byte) (value, ok bool) {
	err := Read(text, &value)
	return value, err == nil
}

// converted returns text with the scalar that was of the wrong type in the type that is wanted;
// false: there is none.
func converted(text []byte, wrong *json.UnmarshalTypeError) ([]byte, bool) {
	end := int(wrong.Offset)
	if end <= 0 || end > len(text) {
		return nil, false
	}
	start, ok := scalarBefore(text[:end], wrong.Value)
	if !ok {
		return nil, false
	}
	with, ok := scalarAs(text[start:end], wrong.Type.Kind())
	if !ok {
		return nil, false
	}
	out := make([]byte, 0, len(text)+len(with))
	out = append(out, text[:start]...)
	out = append(out, with...)
	return append(out, text[end:]...), true
}

// scalarBefore returns where the scalar begins that text ends with, if it is of the JSON type that
// encoding/json names so. A value that reads itself counts its errors from where it begins, so what
// is there may be something else.
func scalarBefore(text []byte, kind string) (int, bool) {
	start := len(text) - 1
	switch kind, _, _ = strings.Cut(kind, " "); kind {
	case "string":
		if text[start] != '"' {
			return 0, false
		}
		for start--; start >= 0; start-- {
			if text[start] == '"' && backslashes(text[:start])%2 == 0 {
				break
			}
		}
	case "bool":
		start = len(text) - len("true")
		if start > 0 && text[start-1] == 'f' {
			start--
		}
	case "number":
		for start >= 0 && strings.IndexByte("0123456789+-.eE", text[start]) >= 0 {
			start--
		}
		start++
	default:
		return 0, false
	}
	return start, start >= 0 && json.Valid(text[start:])
}

func backslashes(text []byte) int {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n
}

// scalarAs writes a JSON scalar as one that fits a kind of Go type.
func scalarAs(scalar []byte, kind reflect.Kind) (string, bool) {
	text, quoted := string(scalar), scalar[0] == '"'
	if quoted {
		if err := json.Unmarshal(scalar, &text); err != nil {
			return "", false
		}
		if text = strings.TrimSpace(text); text == "" {
			return "null", kind != reflect.String
		}
	}
	isBool := text == "true" || text == "false"
	switch kind {
	case reflect.String:
		return strconv.Quote(text), !quoted
	case reflect.Bool:
		if lower := strings.ToLower(text); quoted {
			return lower, lower == "true" || lower == "false"
		}
		x, err := strconv.ParseInt(text, 10, 64)
		return strconv.FormatBool(x != 0), err == nil
	case reflect.Float32, reflect.Float64:
		_, err := strconv.ParseFloat(text, 64)
		return text, err == nil && json.Valid([]byte(text))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if x, err := strconv.ParseInt(text, 10, 64); err == nil && quoted {
			return strconv.FormatInt(x, 10), true
		}
		x, err := strconv.ParseFloat(text, 64)
		whole := math.Trunc(x)
		return strconv.FormatFloat(whole, 'f', -1, 64), err == nil && !quoted && !isBool && math.Abs(whole) < 1<<63 && strings.ContainsAny(text, ".eE")
	}
	return "", false
}
