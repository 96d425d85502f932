package expr

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// COMPLEX<json> values are JSON texts. The functions here walk over a text without building anything; a text that is malformed is
// reported as such wherever that shows, so they are safe on any input.

// jsonSpace returns the position of the first character at or after i that is no white space.
func jsonSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// jsonEnd returns the end of the value that starts at i, after white space, and false if there is no value.
func jsonEnd(s string, i, depth int) (int, bool) {
	i = jsonSpace(s, i)
	if i >= len(s) || depth > maxJSONDepth {
		return i, false
	}
	switch c := s[i]; {
	case c == '"':
		return jsonStringEnd(s, i)
	case c == '{' || c == '[':
		return jsonContainerEnd(s, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return jsonNumberEnd(s, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(s[i:], word) {
			return i + len(word), true
		}
	}
	return i, false
}

func jsonStringEnd(s string, i int) (int, bool) {
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i + 1, true
		case s[i] == '\\':
			if i++; i >= len(s) {
				return i, false
			}
			if s[i] == 'u' {
				if i+4 >= len(s) {
					return i, false
				}
				if _, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err != nil {
					return i, false
				}
				i += 4
			} else if strings.IndexByte(`"\/bfnrt`, s[i]) < 0 {
				return i, false
			}
		case s[i] < ' ':
			return i, false
		}
	}
	return i, false
}

func jsonNumberEnd(s string, i int) (int, bool) {
	digits := func() bool {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > start
	}
	if s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			return i, false
		}
	} else if !digits() {
		return i, false
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return i, false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}

func jsonContainerEnd(s string, i, depth int) (int, bool) {
	end := -1
	ok := jsonMembers(s, i, depth, func(string, int, int) bool { return true }, &end) && end >= 0
	return end, ok
}

// jsonMembers calls f with each member of the object or array that starts at i: its key, a raw string with quotes or empty in an array,
// and the bounds of its value. It stops when f reports false. It reports whether what it read is well formed; at the end of the container
// it sets *end.
func jsonMembers(s string, i, depth int, f func(key string, from, to int) bool, end *int) bool {
	object, closing := s[i] == '{', byte(']')
	if object {
		closing = '}'
	}
	i = jsonSpace(s, i+1)
	if i < len(s) && s[i] == closing {
		*end = i + 1
		return true
	}
	for {
		key := ""
		if object {
			if i = jsonSpace(s, i); i >= len(s) || s[i] != '"' {
				return false
			}
			stop, ok := jsonStringEnd(s, i)
			if !ok {
				return false
			}
			key = s[i:stop]
			if i = jsonSpace(s, stop); i >= len(s) || s[i] != ':' {
				return false
			}
			i++
		}
		i = jsonSpace(s, i)
		stop, ok := jsonEnd(s, i, depth+1)
		if !ok {
			return false
		}
		if !f(key, i, stop) {
			return true
		}
		if i = jsonSpace(s, stop); i >= len(s) {
			return false
		}
		switch s[i] {
		case ',':
			i++
		case closing:
			*end = i + 1
			return true
		default:
			return false
		}
	}
}

// validJSON reports whether s is one JSON value, and returns it without the white space around.
func validJSON(s string) (string, bool) {
	i := jsonSpace(s, 0)
	end, ok := jsonEnd(s, i, 0)
	if !ok || jsonSpace(s, end) != len(s) {
		return "", false
	}
	return s[i:end], true
}

// jsonString decodes a raw string with its quotes.
func jsonString(raw string) string {
	body := raw[1 : len(raw)-1]
	if strings.IndexByte(body, '\\') < 0 {
		return body
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			b.WriteByte(body[i])
			continue
		}
		i++
		switch body[i] {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r := hexRune(body[i+1 : i+5])
			i += 4
			if utf16.IsSurrogate(r) && i+6 < len(body) && body[i+1] == '\\' && body[i+2] == 'u' {
				if pair := utf16.DecodeRune(r, hexRune(body[i+3:i+7])); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte(body[i])
		}
	}
	return b.String()
}

func hexRune(s string) rune {
	n, _ := strconv.ParseUint(s, 16, 16) // the scanner has seen that these are digits
	return rune(n)
}

// appendJSONString appends s as a JSON string in the form of results: characters are not escaped unless JSON demands it.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			if c < ' ' {
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"')
}

// appendNormalJSON appends the valid JSON text s in normal form: no white space, numbers as results show them, and of members with the
// same key the last value at the place of the first.
func appendNormalJSON(dst []byte, s string) []byte {
	switch s[0] {
	case '"':
		return appendJSONString(dst, jsonString(s))
	case '{':
		return appendNormalObject(dst, s)
	case '[':
		dst = append(dst, '[')
		first, end := true, 0
		jsonMembers(s, 0, 0, func(_ string, from, to int) bool {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendNormalJSON(dst, s[from:to])
			return true
		}, &end)
		return append(dst, ']')
	case 't', 'f', 'n':
		return append(dst, s...)
	}
	return appendNormalNumber(dst, s)
}

func appendNormalObject(dst []byte, s string) []byte {
	keys, values, end := []string(nil), []string(nil), 0
	index := map[string]int{}
	jsonMembers(s, 0, 0, func(key string, from, to int) bool {
		key = jsonString(key)
		if at, again := index[key]; again {
			values[at] = s[from:to]
		} else {
			index[key] = len(keys)
			keys, values = append(keys, key), append(values, s[from:to])
		}
		return true
	}, &end)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, key), ':')
		dst = appendNormalJSON(dst, values[i])
	}
	return append(dst, '}')
}

// appendNormalNumber keeps whole numbers of any length and writes others as DOUBLE; those beyond its range become strings, as results
// show them.
func appendNormalNumber(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			return append(dst, '0')
		}
		return append(dst, s...)
	}
	x, _ := strconv.ParseFloat(s, 64)
	return appendJSONDouble(dst, x)
}

func appendJSONDouble(dst []byte, x float64) []byte {
	if x-x != 0 { // NaN or infinite
		return append(AppendDouble(append(dst, '"'), x), '"')
	}
	return AppendDouble(dst, x)
}
