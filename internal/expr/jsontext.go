package expr

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/jsontext"
)

// appendJSONString appends s as a JSON string in the form of results: characters are not escaped
// unless JSON demands it.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; jsontext.Escaped(c) {
			dst = jsontext.AppendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// appendNormalJSON appends the valid JSON text s in normal form: no white space, numbers as results
// show them, and of members with the same key the last value at the place of the first.
func appendNormalJSON(dst []byte, s string) []byte {
	switch s[0] {
	case '"':
		return appendJSONString(dst, jsontext.Text(s))
	case '{':
		return appendNormalObject(dst, s)
	case '[':
		dst = append(dst, '[')
		first, end := true, 0
		jsontext.Members(s, 0, 0, func(_ string, from, to int) bool {
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
	return AppendJSONNumber(dst, s)
}

func appendNormalObject(dst []byte, s string) []byte {
	keys, values, end := []string(nil), []string(nil), 0
	index := map[string]int{}
	jsontext.Members(s, 0, 0, func(key string, from, to int) bool {
		key = jsontext.Text(key)
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

// AppendJSONNumber appends the text of a JSON number in normal form: integers of any length
// unchanged, other numbers as DOUBLE. Numbers outside the range of DOUBLE become strings, as in
// results.
func AppendJSONNumber(dst []byte, s string) []byte {
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
