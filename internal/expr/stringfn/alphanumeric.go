package stringfn

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
)

// alphanumericFunction gives a text whose order by bytes is the alphanumeric order of its argument,
// by which native queries may sort and bound: runs of digits compare as numbers, whatever their
// length, and come before other characters, which compare without regard to case.
var alphanumericFunction = &expr.Function{
	Name: "$ALPHANUMERIC", Min: 1, Max: 1,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Unary(alphanumericKey)),
}

// Each run of a key begins with its kind. The end of a key sorts before both kinds.
const (
	digitRun = 1
	otherRun = 2
)

func alphanumericKey(s string) string {
	var b strings.Builder
	b.Grow(2*len(s) + 10)
	for s != "" {
		digits, size := run(s)
		if digits {
			b.WriteByte(digitRun)
			b.WriteString(numberKey(s[:size]))
		} else {
			b.WriteByte(otherRun)
			for _, r := range s[:size] {
				b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
			}
			b.WriteByte(0) // before every character, so that a run comes before its continuations
		}
		s = s[size:]
	}
	return b.String()
}

// run returns the bytes of the first run of s, and whether it is one of digits.
func run(s string) (digits bool, size int) {
	for i, r := range s {
		switch is := unicode.IsDigit(r); {
		case i == 0:
			digits = is
		case is != digits:
			return digits, i
		}
	}
	return digits, len(s)
}

// numberKey orders digits as numbers: by their count without leading zeros, then one by one, then
// by the count of the zeros.
func numberKey(digits string) string {
	significant, zeros := []byte(nil), uint32(0)
	for _, r := range digits {
		d := digitOf(r)
		if d == 0 && significant == nil {
			zeros++
			continue
		}
		significant = append(significant, '0'+d)
	}
	key := appendCount(nil, uint32(len(significant)))
	return string(appendCount(append(key, significant...), zeros))
}

// appendCount appends a number so that bytes compare as it does.
func appendCount(dst []byte, n uint32) []byte {
	return append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// digitOf returns the value of a digit of any script: those of a script follow each other from zero
// on.
func digitOf(r rune) byte {
	if r < utf8.RuneSelf {
		return byte(r - '0')
	}
	zero := r
	for r-zero < 9 && unicode.IsDigit(zero-1) {
		zero--
	}
	return byte(r - zero)
}
