package vector

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// AppendDouble appends the text of a DOUBLE in results and casts. It is the text of Java's
// Double.toString since release 19: the shortest digits that read back as x, at least one after the
// point, plain from 1e-3 up to 1e7 and otherwise as d.dddE±n.
func AppendDouble(dst []byte, x float64) []byte { return appendFloating(dst, x, 64) }

// DoubleText returns the text of a DOUBLE; see AppendDouble.
func DoubleText(x float64) string {
	var buf [32]byte
	return string(AppendDouble(buf[:0], x))
}

// AppendFloat appends the text of a FLOAT: the shortest digits that read back as the same 32-bit
// number, in the form of AppendDouble. Integers of more than 24 bits have only the significant
// digits, as in Java's Float.toString before release 19.
func AppendFloat(dst []byte, x float32) []byte {
	if abs := math.Abs(float64(x)); abs >= 1<<24 && abs < 1<<63 {
		_, exponent := math.Frexp(abs)
		power := 1.0
		for range int(float64(exponent-1-25) * math.Log10(2)) {
			power *= 10
		}
		if power > 1 {
			whole := float64(int64(abs)/int64(power)) * power
			if int64(abs)%int64(power) >= int64(power)/2 {
				whole += power
			}
			return appendFloating(dst, math.Copysign(whole, float64(x)), 64)
		}
		return appendFloating(dst, float64(x), 64)
	}
	return appendFloating(dst, float64(x), 32)
}

func appendFloating(dst []byte, x float64, bits int) []byte {
	switch {
	case x != x:
		return append(dst, "NaN"...)
	case math.IsInf(x, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(x, -1):
		return append(dst, "-Infinity"...)
	}
	abs := math.Abs(x)
	if abs == 0 || abs >= 1e-3 && abs < 1e7 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, x, 'f', -1, bits)
		if slices.Contains(dst[start:], '.') {
			return dst
		}
		return append(dst, ".0"...)
	}
	var buf [32]byte
	digits := strconv.AppendFloat(buf[:0], x, 'e', -1, bits)
	mark := strings.IndexByte(string(digits), 'e')
	if i := strings.IndexByte(string(digits[:mark]), '.'); i < 0 {
		// One digit would do, but two are shown, and they are chosen to be nearest: 4.9E-324, not
		// 5.0E-324.
		digits = strconv.AppendFloat(buf[:0], x, 'e', 1, bits)
		mark = strings.IndexByte(string(digits), 'e')
	}
	dst = append(dst, digits[:mark]...)
	dst = append(dst, 'E')
	exponent := digits[mark+1:]
	if exponent[0] == '-' {
		dst = append(dst, '-')
	}
	exponent = exponent[1:]
	for len(exponent) > 1 && exponent[0] == '0' {
		exponent = exponent[1:]
	}
	return append(dst, exponent...)
}
