package ingest

import (
	"fmt"
	"unicode/utf8"
)

// validUTF8 returns b with every maximal part that is no UTF-8 replaced by U+FFFD, as Java's
// decoder does and package unicode/utf8, which counts bytes, does not: E2 82 is one replacement,
// not two. Valid input is returned as it is.
func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out, _, _ := replaceMalformed(b)
	return out
}

// replaceMalformed does that, and returns how many parts it has replaced, and the place of the
// first.
func replaceMalformed(b []byte) (out []byte, count int64, first int) {
	out = make([]byte, 0, len(b)+len(b)/8)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			if count++; count == 1 {
				first = i
			}
			out = append(out, "\uFFFD"...)
			i += malformedLen(b[i:])
			continue
		}
		out = append(out, b[i:i+n]...)
		i += n
	}
	return out, count, first
}

// malformedLen returns the length of the longest start of a well-formed sequence at the head of b,
// at least 1 (Unicode 3.9, U+FFFD substitution of maximal subparts).
func malformedLen(b []byte) int {
	lo, hi, need := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		switch c {
		case 0xE0:
			lo = 0xA0
		case 0xED:
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		switch c {
		case 0xF0:
			lo = 0x90
		case 0xF4:
			hi = 0x8F
		}
	}
	n := 1
	for n <= need && n < len(b) && b[n] >= lo && b[n] <= hi {
		n++
		lo, hi = 0x80, 0xBF
	}
	return n
}

// ValidText returns text with what is no UTF-8 replaced by U+FFFD.
func ValidText(text []byte) []byte { return validUTF8(text) }

// wellFormed makes texts of values that came from a file UTF-8, and counts the sequences that it
// replaces. Text formats are made well-formed before they are cut into records (chunker).
type wellFormed struct {
	count int64
	// column is where the first one was.
	column string
}

func (w *wellFormed) text(column string, b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out, count, _ := replaceMalformed(b)
	w.add(column, count)
	return out
}

func (w *wellFormed) add(column string, count int64) {
	if w.count == 0 {
		w.column = column
	}
	w.count += count
}

// value returns v with all texts well-formed. Lists and objects are changed in place.
func (w *wellFormed) value(column string, v any) any {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return string(w.text(column, []byte(v)))
		}
	case []any:
		for i, e := range v {
			if s, ok := e.(string); !ok || !utf8.ValidString(s) {
				v[i] = w.value(column, e)
			}
		}
	case *Object:
		w.members(column, v)
	}
	return v
}

// object makes a record's names and texts well-formed. It may be nil.
func (w *wellFormed) object(o *Object) {
	if o != nil {
		w.members("", o)
	}
}

// members does so with an object in a column; "": its members are the columns.
func (w *wellFormed) members(column string, o *Object) {
	for i, name := range o.Names {
		if !utf8.ValidString(name) {
			name = string(w.text(column, []byte(name)))
			o.Names[i] = name
		}
		in := column
		if in == "" {
			in = name
		}
		o.Values[i] = w.value(in, o.Values[i])
	}
}

// take adds what another one has counted, which begins anew.
func (w *wellFormed) take(other *wellFormed) {
	if other.count > 0 {
		w.add(other.column, other.count)
		*other = wellFormed{}
	}
}

// tell tells of what was replaced, if anything was, and begins anew.
func (w *wellFormed) tell(path string, opts *Options) {
	if w.count > 0 && opts.OnNotice != nil {
		opts.OnNotice(&Notice{Path: path, Count: w.count,
			Text: fmt.Sprintf("[%d] sequences of bytes are no UTF-8 and were replaced by U+FFFD, the first in column [%s]", w.count, w.column)})
	}
	*w = wellFormed{}
}
