package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of values: what is deeper is not well formed.
const MaxDepth = 1000

// Space returns the position of the first character at or after i that is no white space.
func Space(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// End returns the end of the value that starts at i, after white space, and false if there is no
// value.
func End(s string, i, depth int) (int, bool) {
	i = Space(s, i)
	if i >= len(s) || depth > MaxDepth {
		return i, false
	}
	switch c := s[i]; {
	case c == '"':
		return stringEnd(s, i)
	case c == '{' || c == '[':
		return containerEnd(s, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return numberEnd(s, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(s[i:], word) {
			return i + len(word), true
		}
	}
	return i, false
}

func stringEnd(s string, i int) (int, bool) {
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

func numberEnd(s string, i int) (int, bool) {
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

func containerEnd(s string, i, depth int) (int, bool) {
	end := -1
	ok := Members(s, i, depth, func(string, int, int) bool { return true }, &end) && end >= 0
	return end, ok
}

// Key returns the raw key of the member of an object that begins at or after i, and where its value
// begins.
func Key(s string, i int) (key string, value int, ok bool) {
	if i = Space(s, i); i >= len(s) || s[i] != '"' {
		return "", i, false
	}
	stop, ok := stringEnd(s, i)
	if !ok {
		return "", i, false
	}
	key = s[i:stop]
	if i = Space(s, stop); i >= len(s) || s[i] != ':' {
		return "", i, false
	}
	return key, Space(s, i+1), true
}

// Next looks behind a value that ends at i, in a container that closing ends: for where the next
// one begins or, if there is no more, where the container ends.
func Next(s string, i int, closing byte) (next int, more, ok bool) {
	i = Space(s, i)
	switch {
	case i >= len(s):
		return i, false, false
	case s[i] == ',':
		return i + 1, true, true
	}
	return i + 1, false, s[i] == closing
}

// Members calls f with each member of the object or array that starts at i: its key, a raw string
// with quotes or empty in an array, and the bounds of its value. It stops when f reports false. It
// reports whether what it read is well formed; at the end of the container it sets *end.
func Members(s string, i, depth int, f func(key string, from, to int) bool, end *int) bool {
	object, closing := s[i] == '{', byte(']')
	if object {
		closing = '}'
	}
	i = Space(s, i+1)
	if i < len(s) && s[i] == closing {
		*end = i + 1
		return true
	}
	for {
		key := ""
		if object {
			var ok bool
			if key, i, ok = Key(s, i); !ok {
				return false
			}
		}
		i = Space(s, i)
		stop, ok := End(s, i, depth+1)
		if !ok {
			return false
		}
		if !f(key, i, stop) {
			return true
		}
		next, more, ok := Next(s, stop, closing)
		if !ok {
			return false
		}
		if !more {
			*end = next
			return true
		}
		i = next
	}
}

// Valid reports whether s is one JSON value, and returns it without the white space around.
func Valid(s string) (string, bool) {
	i := Space(s, 0)
	end, ok := End(s, i, 0)
	if !ok || Space(s, end) != len(s) {
		return "", false
	}
	return s[i:end], true
}

// First returns the JSON value that s begins with, without the white space around; what follows it
// counts as far only as it could belong to it: behind a number there must be white space, behind
// true, false and null no letter, digit or underscore.
func First(s string) (string, bool) {
	i := Space(s, 0)
	end, ok := End(s, i, 0)
	if !ok {
		return "", false
	}
	if end < len(s) {
		next := s[end]
		switch s[i] {
		case '"', '{', '[':
		case 't', 'f', 'n':
			letter := next >= '0' && next <= '9' || next >= 'A' && next <= 'Z' || next >= 'a' && next <= 'z' || next == '_' || next >= 0x80
			ok = !letter
		default:
			ok = Space(s, end) > end
		}
	}
	return s[i:end], ok
}

// Text returns the text of a raw string.
func Text(raw string) string {
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

// Number returns a raw number: whole if it is written without fraction and exponent and fits 64
// bits, which long then is; what it is about otherwise.
func Number(raw string) (long int64, double float64, whole bool) {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) > 19 {
		digits = ""
	}
	n := uint64(0)
	for i := 0; i < len(digits); i++ {
		d := digits[i] - '0'
		if d > 9 {
			digits = ""
			break
		}
		n = n*10 + uint64(d)
	}
	switch {
	case digits == "":
	case raw[0] == '-' && n <= 1<<63:
		return -int64(n), 0, true
	case raw[0] != '-' && n < 1<<63:
		return int64(n), 0, true
	}
	double, _ = strconv.ParseFloat(raw, 64) // beyond the range of doubles it is infinite
	return 0, double, false
}

// AppendEscape appends c, which a JSON string can't hold as it is, the way it is written there.
func AppendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Escaped reports whether a JSON string can't hold c as it is.
func Escaped(c byte) bool { return c < ' ' || c == '"' || c == '\\' }
