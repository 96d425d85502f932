package result

import (
	"bytes"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/jsontext"
)

const upperHex = "0123456789ABCDEF"

// appendString appends s as a JSON string the way Druid's encoder does: only what JSON demands is
// escaped, control characters with upper-case digits, and characters beyond U+FFFF as a pair of
// escapes. Bytes that are no UTF-8 become U+FFFD. See quirk Q014.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if !jsontext.Escaped(c) {
				i++
				continue
			}
			dst = jsontext.AppendEscape(append(dst, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			start = i + 1
		case r > 0xFFFF:
			dst = append(dst, s[start:i]...)
			r -= 0x10000
			dst = appendEscape(dst, 0xD800+uint16(r>>10))
			dst = appendEscape(dst, 0xDC00+uint16(r&0x3FF))
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// hideFinalBackslash writes the last character of the JSON value at the end of dst, if it is a
// backslash, by its number: clients that look for the ends of strings themselves take a quote
// behind a backslash for an escaped one.
func hideFinalBackslash(dst []byte) []byte {
	if end := `\\"`; bytes.HasSuffix(dst, []byte(end)) {
		return append(dst[:len(dst)-len(end)], `\u005c"`...)
	}
	return dst
}

func appendEscape(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', upperHex[u>>12], upperHex[u>>8&15], upperHex[u>>4&15], upperHex[u&15])
}

// appendCSV appends a field, quoted if it has to be.
func appendCSV(dst []byte, field string) []byte {
	quote := false
	for i := 0; i < len(field); i++ {
		if c := field[i]; c == '"' || c == ',' || c == '\n' || c == '\r' {
			quote = true
			break
		}
	}
	if !quote {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	for i := 0; i < len(field); i++ {
		if field[i] == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, field[i])
	}
	return append(dst, '"')
}
