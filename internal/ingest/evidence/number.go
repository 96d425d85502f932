package evidence

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/ingest/record"
)

// Class is the kind of a scalar value. It determines which types represent the value unchanged.
type Class uint8

const (
	Int    Class = iota // a whole number that BIGINT and DOUBLE hold
	Long                // a whole number that only BIGINT holds
	Whole               // a whole number written with a fraction or exponent: 2.0
	Double              // a fraction that DOUBLE holds: a double is written like that
	Single              // a number of 32 bits in the input
	Huge                // a whole number beyond BIGINT that DOUBLE does not hold
	Fine                // a fraction that DOUBLE does not hold: too many digits, too large, too small
	Bool
	Text
	classes
)

// ExactDouble is the limit below which a double represents every integer.
const ExactDouble = 1 << 53

func ClassOfLong(n int64) Class {
	if n >= -ExactDouble && n <= ExactDouble || float64(n) < math.MaxInt64 && int64(float64(n)) == n {
		return Int
	}
	return Long
}

// ClassOfNumber returns the class of a JSON number.
func ClassOfNumber(raw []byte) Class {
	if n, ok := record.ParseInteger(raw); ok {
		if n == 0 && raw[0] == '-' {
			return Whole
		}
		return ClassOfLong(n)
	}
	whole := !bytes.ContainsAny(raw, ".eE")
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || !printsAs(f, raw):
		if whole {
			return Huge
		}
		return Fine
	case whole:
		return Huge // as text it keeps all digits
	case f == math.Trunc(f) && math.Abs(f) <= ExactDouble:
		return Whole
	}
	return Double
}

// printsAs reports whether f, written with as many digits as raw has, is raw: then raw says no more
// than f does.
func printsAs(f float64, raw []byte) bool {
	var room [64]byte
	want, exponent := significant(room[:0], raw)
	if len(want) == 0 {
		return f == 0
	}
	if len(want) <= 15 && exponent > -300 && exponent < 300 {
		return true
	}
	if f == 0 || math.IsInf(f, 0) {
		return false
	}
	var out [128]byte
	text := strconv.AppendFloat(out[:0], math.Abs(f), 'e', min(len(want), 100)-1, 64)
	var found [128]byte
	got, at := significant(found[:0], text)
	return len(want) <= 100 && bytes.Equal(got, want) && at == exponent
}

// significant returns the digits of a number from the first to the last that is not 0, and the
// power of ten of the first.
func significant(dst, raw []byte) (digits []byte, exponent int) {
	point, seen, zeros, power := -1, 0, 0, 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c >= '0' && c <= '9':
			if len(dst) == 0 && c == '0' {
				zeros++
			} else {
				dst = append(dst, c)
			}
			seen++
		case c == '.':
			point = seen
		case c == 'e' || c == 'E':
			power, _ = strconv.Atoi(string(raw[i+1:])) // out of range: the exponent of no double
			if power == 0 && len(raw)-i > 6 {
				power = math.MaxInt32
			}
			i = len(raw)
		}
	}
	if point < 0 {
		point = seen
	}
	exponent = point - zeros - 1 + power
	return bytes.TrimRight(dst, "0"), exponent
}

// FieldNumber is a number in a delimited file.
type FieldNumber struct {
	Class    Class
	long     int64
	decimals int  // digits behind the point of a number without exponent; -1: it has an exponent
	padded   bool // the last of several decimals is 0
}

// NumberOfField parses a field as a number if it is written as programs and people write numbers,
// and not like a code that happens to consist of digits: no leading zeros, no plus, no grouping, no
// suffix, and an exponent only after a fraction or with a sign.
func NumberOfField(f []byte) (n FieldNumber, ok bool) {
	f = bytes.Trim(f, " \t")
	i := 0
	if len(f) > 0 && f[0] == '-' {
		i = 1
	}
	start := i
	for i < len(f) && f[i] >= '0' && f[i] <= '9' {
		i++
	}
	whole := i - start
	if whole > 1 && f[start] == '0' {
		return n, false
	}
	if i == len(f) {
		if whole == 0 {
			return n, false
		}
		n.Class = ClassOfNumber(f)
		n.long, _ = record.ParseInteger(f)
		return n, true
	}
	fraction := 0
	if f[i] == '.' {
		from := i + 1
		for i = from; i < len(f) && f[i] >= '0' && f[i] <= '9'; {
			i++
		}
		if fraction = i - from; fraction == 0 {
			return n, false
		}
	} else if whole == 0 {
		return n, false
	}
	n.decimals = fraction
	n.padded = fraction > 1 && f[i-1] == '0'
	if i < len(f) {
		if f[i] != 'e' && f[i] != 'E' {
			return n, false
		}
		n.decimals = -1
		i++
		signed := i < len(f) && (f[i] == '-' || f[i] == '+')
		if signed {
			i++
		}
		from := i
		for i < len(f) && f[i] >= '0' && f[i] <= '9' {
			i++
		}
		if i == from || i < len(f) || whole == 0 || fraction == 0 && !signed {
			return n, false
		}
	}
	n.Class = ClassOfNumber(f)
	return n, true
}

// StatedNumber returns the class of a field of a column that the user declared numeric. A field
// that looks like a code is a number in such a column.
func StatedNumber(f []byte) Class {
	f = bytes.TrimPrefix(bytes.Trim(f, " \t"), []byte("+"))
	sign := 0
	if len(f) > 0 && f[0] == '-' {
		sign = 1
	}
	if len(f) == sign || len(bytes.Trim(f[sign:], "0123456789.eE+-")) > 0 {
		return Text
	}
	if _, err := strconv.ParseFloat(string(f), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return Text
	}
	plain := bytes.TrimLeft(f[sign:], "0")
	if len(plain) == 0 || plain[0] < '0' || plain[0] > '9' {
		plain = append([]byte("0"), plain...)
	}
	return ClassOfNumber(append(f[:sign:sign], plain...))
}
