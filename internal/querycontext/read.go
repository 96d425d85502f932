package querycontext

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Long reads a whole number from a query context: a JSON number, of which what is behind the point is left out, or text that holds one.
// Absent and null give fallback.
func Long(context map[string]any, key string, fallback int64) (int64, error) {
	switch v := context[key].(type) {
	case nil:
		return fallback, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1<<63 {
			return int64(f), nil
		}
		return parseWhole(key, v.String(), "long")
	case string:
		return parseWhole(key, strings.TrimSpace(v), "long")
	case int64:
		return v, nil
	case float64:
		return parseWhole(key, strconv.FormatFloat(math.Trunc(v), 'f', -1, 64), "long")
	default:
		return 0, fault.BadContext("Expected key [%s] to be a Long, but got [%s]", key, fault.JSONClass(v))
	}
}

// Int is Long for a number of 32 bits.
func Int(context map[string]any, key string, fallback int) (int, error) {
	var text string
	switch v := context[key].(type) {
	case nil:
		return fallback, nil
	case json.Number:
		text = v.String()
		if f, err := v.Float64(); err == nil { // a number that is too large is the largest; text that says one is refused
			return int(min(max(f, math.MinInt32), math.MaxInt32)), nil
		}
	case string:
		text = strings.TrimSpace(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(math.Trunc(v), 'f', -1, 64)
	default:
		return 0, fault.BadContext("Expected key [%s] to be an Integer, but got [%s]", key, fault.JSONClass(v))
	}
	n, err := parseWhole(key, text, "integer")
	if err == nil && (n > math.MaxInt32 || n < math.MinInt32) {
		err = fault.BadContext("Expected key [%s] to be in integer format, but got [%s]", key, text)
	}
	return int(n), err
}

func parseWhole(key, text, kind string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f), nil
	}
	return 0, fault.BadContext("Expected key [%s] to be in %s format, but got [%s]", key, kind, text)
}

// Bool reads true or false, also as text; text that is neither is false.
func Bool(context map[string]any, key string, fallback bool) (bool, error) {
	switch v := context[key].(type) {
	case nil:
		return fallback, nil
	case bool:
		return v, nil
	case string:
		return strings.EqualFold(v, "true"), nil
	default:
		return false, fault.BadContext("Expected key [%s] to be a Boolean, but got [%s]", key, fault.JSONClass(v))
	}
}

// Text reads a string.
func Text(context map[string]any, key, fallback string) (string, error) {
	switch v := context[key].(type) {
	case nil:
		return fallback, nil
	case string:
		return v, nil
	default:
		return "", fault.BadContext("Expected key [%s] to be a String, but got [%s]", key, fault.JSONClass(v))
	}
}
