package record

import (
	"unicode/utf8"
)

// ValidText returns b with every maximal invalid UTF-8 sequence replaced by U+FFFD. Like Java's
// decoder, and unlike package unicode/utf8, which counts bytes, it replaces E2 82 by one character,
// not two. Valid input is returned unchanged.
func ValidText(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out, _, _ := ReplaceMalformed(b)
	return out
}

// ReplaceMalformed does the same as ValidText, and returns the number of replaced sequences and the
// position of the first.
func ReplaceMalformed(b []byte) (out []byte, count int64, first int) {
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

// WellFormed converts strings from a file to valid UTF-8, and counts the sequences that it
// replaces. Text formats are made well-formed before they are split into records (chunker).
type WellFormed struct {
	Count int64
	// column is the column of the first replaced sequence.
	Column string
}

func (w *WellFormed) Text(column string, b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out, count, _ := ReplaceMalformed(b)
	w.add(column, count)
	return out
}

func (w *WellFormed) add(column string, count int64) {
	if w.Count == 0 {
		w.Column = column
	}
	w.Count += count
}

// Value returns v with all strings well-formed. It changes lists and objects in place.
func (w *WellFormed) Value(column string, v any) any {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return string(w.Text(column, []byte(v)))
		}
	case []any:
		for i, e := range v {
			if s, ok := e.(string); !ok || !utf8.ValidString(s) {
				v[i] = w.Value(column, e)
			}
		}
	case *Object:
		w.members(column, v)
	}
	return v
}

// Object makes the names and strings of a record well-formed. The record may be nil.
func (w *WellFormed) Object(o *Object) {
	if o != nil {
		w.members("", o)
	}
}

// members does so with an object in a column; "": its members are the columns.
func (w *WellFormed) members(column string, o *Object) {
	for i, name := range o.Names {
		if !utf8.ValidString(name) {
			name = string(w.Text(column, []byte(name)))
			o.Names[i] = name
		}
		in := column
		if in == "" {
			in = name
		}
		o.Values[i] = w.Value(in, o.Values[i])
	}
}

// Take adds the counts of other, and resets other.
func (w *WellFormed) Take(other *WellFormed) {
	if other.Count > 0 {
		w.add(other.Column, other.Count)
		*other = WellFormed{}
	}
}
