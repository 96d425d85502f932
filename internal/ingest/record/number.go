package record

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Number is a parsed number: an integer if it fits in 64 bits, otherwise a double.
type Number struct {
	Integer bool
	Long    int64
	Double  float64
}

// AsLong converts like Number.longValue of Java: fractions are truncated, out-of-range numbers
// saturate, NaN is 0.
func (n Number) AsLong() int64 {
	if n.Integer {
		return n.Long
	}
	switch {
	case n.Double >= math.MaxInt64:
		return math.MaxInt64
	case n.Double <= math.MinInt64:
		return math.MinInt64
	case math.IsNaN(n.Double):
		return 0
	}
	return int64(n.Double)
}

func (n Number) AsDouble() float64 {
	if n.Integer {
		return float64(n.Long)
	}
	return n.Double
}

// ParseInteger parses an optional minus sign and digits.
func ParseInteger(b []byte) (int64, bool) {
	i, negative := 0, false
	if len(b) > 0 && b[0] == '-' {
		i, negative = 1, true
	}
	if i == len(b) || len(b)-i > 19 {
		return 0, false
	}
	var u uint64
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	if negative {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u < 1<<63
}

// ParseJSONNumber strictly parses the text of a JSON number. fastjson accepts "1-2", "+1" and
// "nan", which the JSON grammar does not.
func ParseJSONNumber(raw []byte) (Number, bool) {
	if !IsJSONNumber(raw) {
		return Number{}, false
	}
	if v, ok := ParseInteger(raw); ok {
		return Number{Integer: true, Long: v}, true
	}
	// A range error comes with the infinity or zero that Java gives too.
	f, _ := strconv.ParseFloat(string(raw), 64)
	return Number{Double: f}, true
}

// IsJSONNumber reports whether b matches -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func IsJSONNumber(b []byte) bool {
	digits := func(i int) int {
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i = digits(i); i == start || b[start] == '0' && i > start+1 {
		return false
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digits(start); i == start {
			return false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digits(start); i == start {
			return false
		}
	}
	return i == len(b)
}

// ParseNumber parses a number in a string, like Rows.objectToNumber of Druid: surrounding blanks,
// all commas and a leading plus are dropped, integers are exact, and anything else must be accepted
// by Double.valueOf of Java. See quirk Q004.
func ParseNumber(b []byte) (Number, bool) {
	var plain Number
	if ScanNumber(b, 0, &plain) == len(b) {
		return plain, true
	}
	if v, ok := ParseInteger(b); ok {
		return Number{Integer: true, Long: v}, true
	}
	s := strings.TrimSpace(string(b))
	if strings.Contains(s, ",") {
		s = strings.ReplaceAll(s, ",", "")
	}
	if v, err := strconv.ParseInt(strings.TrimPrefix(s, "+"), 10, 64); err == nil && !strings.HasPrefix(s, "+-") {
		return Number{Integer: true, Long: v}, true
	}
	f, ok := JavaDouble(s)
	return Number{Double: f}, ok
}

// JavaDouble parses what Double.valueOf of Java accepts. Go accepts more spellings (underscores,
// "inf"), but no type suffix.
func JavaDouble(s string) (float64, bool) {
	switch strings.TrimLeft(s, "+-") {
	case "":
		return 0, false
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		if s[0] == '-' {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	}
	if last := s[len(s)-1] | 0x20; (last == 'd' || last == 'f') && !strings.ContainsAny(s, "xX") {
		s = s[:len(s)-1]
	}
	if strings.ContainsAny(s, "_iInN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// exactPowers are the powers of ten that doubles hold exactly, as far as whole numbers of 64 bits
// go.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

var wholePowers = [len(exactPowers)]uint64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// scaled returns the double that is nearest to v / 10^scale; of two the one whose last bit is 0.
// The scale is a place of exactPowers.
func scaled(v uint64, scale int) float64 {
	if v <= 1<<53 {
		// A double holds both exactly, and their quotient is rounded once (Clinger, 1990).
		return float64(v) / exactPowers[scale]
	}
	// Both with the highest bit set, the quotient v/d is that of their bits, between 1/2 and 2: as a
	// whole number of 63 or 64 bits after 63 places, with a remainder that says whether anything
	// follows.
	d := wholePowers[scale]
	up, down := bits.LeadingZeros64(v), bits.LeadingZeros64(d)
	v, d = v<<up, d<<down
	q, rest := bits.Div64(v>>1, v<<63, d)
	exponent := down - up - 63
	extra := 11 - bits.LeadingZeros64(q) // bits beyond the 53 of a double
	m, below := q>>extra, q&(1<<extra-1)
	if half := uint64(1) << (extra - 1); below > half || below == half && (rest != 0 || m&1 != 0) {
		m++
	}
	return float64(m) * math.Float64frombits(uint64(exponent+extra+1023)<<52)
}

// digits reads the decimal digits at i behind v, whose number may be any, and returns where they
// end: v has overflowed if there are more than 19.
func digits(text []byte, i int, v uint64) (uint64, int) {
	for i+8 <= len(text) {
		w := binary.LittleEndian.Uint64(text[i:])
		// A digit is 3 in its high half, and stays so when 6 is added. Above a byte that is none, the sum
		// may be wrong.
		others := (w&0xf0f0f0f0f0f0f0f0 | (w+0x0606060606060606)&0xf0f0f0f0f0f0f0f0>>4) ^ 0x3333333333333333
		n := 8
		if others != 0 {
			n = bits.TrailingZeros64(others) / 8
			w <<= 64 - 8*uint(n) // zeros lead
		}
		// Neighbours become numbers of two digits, then of four, then of eight.
		w = (w & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8
		w = (w & 0x00ff00ff00ff00ff) * 6553601 >> 16
		w = (w & 0x0000ffff0000ffff) * 42949672960001 >> 32
		v = v*wholePowers[n] + w
		if i += n; n < 8 {
			return v, i
		}
	}
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		v = v*10 + uint64(text[i]-'0')
	}
	return v, i
}

// ScanNumber parses the number at i into n and returns its end, or -1.
func ScanNumber(text []byte, i int, n *Number) int {
	from := i
	negative := i < len(text) && text[i] == '-'
	if negative {
		i++
	}
	start := i
	v, i := digits(text, i, 0)
	places := i - start
	if places == 0 || text[start] == '0' && places > 1 {
		return -1
	}
	scale, exponent := 0, false
	if i < len(text) && text[i] == '.' {
		i++
		point := i
		v, i = digits(text, i, v)
		if scale = i - point; scale == 0 {
			return -1
		}
		places += scale
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		exponent = true
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		first := i
		for i < len(text) && text[i]-'0' <= 9 {
			i++
		}
		if i == first {
			return -1
		}
	}
	switch {
	case exponent || places > 19 || scale == 0 && places > 18: // 19 digits may be more than 64 bits with a sign
		var ok bool
		if *n, ok = ParseJSONNumber(text[from:i]); !ok {
			return -1
		}
	case scale > 0:
		*n = Number{Double: scaled(v, scale)}
		if negative {
			n.Double = -n.Double
		}
	default:
		*n = Number{Integer: true, Long: int64(v)}
		if negative {
			n.Long = -n.Long
		}
	}
	return i
}
