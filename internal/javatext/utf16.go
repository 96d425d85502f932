package javatext

import (
	"strings"
	"unicode/utf8"
)

// Druid counts positions and lengths of strings in UTF-16 code units, and so do these functions: a
// character beyond U+FFFF counts twice. Strings are UTF-8; most are ASCII, where all counts agree.
// See quirk Q005.

// UnitCount returns the length of s in UTF-16 code units.
func UnitCount(s string) int {
	ascii := asciiPrefix(s)
	if ascii == len(s) {
		return ascii
	}
	n := ascii
	for i := ascii; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// asciiPrefix returns how many bytes at the start of s are ASCII, in whole words but for the last
// ones.
func asciiPrefix(s string) int {
	const high = 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 | uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 |
			uint64(w[7])<<56
		if x&high != 0 {
			return i
		}
	}
	for ; i < len(s) && s[i] < utf8.RuneSelf; i++ {
	}
	return i
}

// UnitSlice returns the code units of s from lo up to, not including, hi; bounds beyond the string
// are cut. A character of two units of which only one is asked for becomes a question mark, as an
// unpaired surrogate does when it is encoded.
func UnitSlice(s string, lo, hi int) string {
	lo = max(lo, 0)
	if hi <= lo {
		return ""
	}
	start, startHalf := UnitOffset(s, lo)
	end, endHalf := UnitOffset(s, hi)
	if !startHalf && !endHalf {
		return s[start:end]
	}
	var b strings.Builder
	if startHalf {
		b.WriteByte('?')
		_, size := utf8.DecodeRuneInString(s[start:])
		start += size
	}
	if start < end {
		b.WriteString(s[start:end])
	}
	if endHalf && start <= end {
		b.WriteByte('?')
	}
	return b.String()
}

// UnitOffset returns the byte offset of code unit n, and whether it is the second of a character
// that starts there.
func UnitOffset(s string, n int) (offset int, half bool) {
	for offset < len(s) && n > 0 {
		if s[offset] < utf8.RuneSelf {
			offset++
			n--
			continue
		}
		r, size := utf8.DecodeRuneInString(s[offset:])
		if r > 0xFFFF {
			if n == 1 {
				return offset, true
			}
			n--
		}
		n--
		offset += size
	}
	return offset, false
}
