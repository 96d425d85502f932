package expr

import (
	"math"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// AppendDouble appends the text of a DOUBLE; see vector.AppendDouble.
func AppendDouble(dst []byte, x float64) []byte { return vector.AppendDouble(dst, x) }

// AppendFloat appends the text of a FLOAT; see vector.AppendFloat.
func AppendFloat(dst []byte, x float32) []byte { return vector.AppendFloat(dst, x) }

// ParseLong parses an integer like CAST: digits with an optional sign, else the text of a DOUBLE
// truncated toward zero, else true or false, ignoring case, for 1 or 0. It does not skip blanks.
func ParseLong(s string) (int64, bool) {
	if n, ok := ParseDigits(s); ok {
		return n, true
	}
	if x, ok := ParseDecimal(s); ok {
		return truncate(x), true
	}
	return parseTruth(s)
}

// ParseDouble parses a number like CAST: a decimal with optional exponent and sign, NaN, Infinity,
// or true or false.
func ParseDouble(s string) (float64, bool) {
	if n, ok := ParseDigits(s); ok {
		return float64(n), true // quirk Q004: so that "-0" is 0.0, as in Druid
	}
	if x, ok := ParseDecimal(s); ok {
		return x, true
	}
	n, ok := parseTruth(s)
	return float64(n), ok
}

// ParseDigits parses decimal digits with an optional sign, and returns false if they do not fit in
// 64 bits.
func ParseDigits(s string) (int64, bool) {
	digits := s
	if s != "" && (s[0] == '+' || s[0] == '-') {
		digits = s[1:]
	}
	if digits == "" || len(digits) > 40 {
		return 0, false
	}
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// ParseDecimal parses the numbers of Java's Double.valueOf, without blanks and hexadecimal numbers.
func ParseDecimal(s string) (float64, bool) {
	body := s
	if body != "" && (body[0] == '+' || body[0] == '-') {
		body = body[1:]
	}
	switch body {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1 - 2*int(kernel.Bool(s[0] == '-'))), true
	}
	if !isDecimal(body) {
		return 0, false
	}
	if c := s[len(s)-1] | 0x20; c == 'f' || c == 'd' {
		s = s[:len(s)-1]
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return x, true
}

func isDecimal(s string) bool {
	i, digits := 0, 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			digits++
		}
	}
	if digits == 0 {
		return false
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		start := i
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		}
		if i == start {
			return false
		}
	}
	if i < len(s) && (s[i]|0x20 == 'f' || s[i]|0x20 == 'd') {
		i++
	}
	return i == len(s)
}

func parseTruth(s string) (int64, bool) {
	switch {
	case len(s) == 4 && strings.EqualFold(s, "true"):
		return 1, true
	case len(s) == 5 && strings.EqualFold(s, "false"):
		return 0, true
	}
	return 0, false
}

// truncate cuts toward zero as Java casts a double to a long: beyond the range it gives the end of
// the range, and NaN gives 0.
func truncate(x float64) int64 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}
