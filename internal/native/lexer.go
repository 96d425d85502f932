package native

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"strconv"
)

// token is a word of an expression. kind is one of the letters below, or 0 at the end.
type token struct {
	kind byte // 'i' identifier, 'q' quoted identifier, 's' text, 'l' whole number, 'd' number with a fraction, 'o' operator or bracket
	text string
	at   int // byte offset
}

type lexer struct {
	src string
	pos int
}

var twoByteOperators = []string{"&&", "||", "==", "!=", "<=", ">=", "->"}

// next reads a token.
func (l *lexer) next() (token, error) {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
		l.pos++
	}
	at := l.pos
	if at >= len(l.src) {
		return token{at: at}, nil
	}
	rest := l.src[at:]
	c := rest[0]
	switch {
	case c == '\'' || c == '"':
		text, err := l.quoted(c)
		kind := byte('s')
		if c == '"' {
			kind = 'q'
		}
		return token{kind, text, at}, err
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number(), nil
	}
	for _, op := range twoByteOperators {
		if strings.HasPrefix(rest, op) {
			l.pos += 2
			return token{'o', op, at}, nil
		}
	}
	if strings.IndexByte("+-*/%^<>!(),[]", c) >= 0 {
		l.pos++
		return token{'o', rest[:1], at}, nil
	}
	for l.pos < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if r != '_' && r != '$' && !unicode.IsLetter(r) && (l.pos == at || !unicode.IsDigit(r)) {
			break
		}
		l.pos += n
	}
	if l.pos == at {
		return token{}, l.fail(at, "unexpected character [%.4s]", rest)
	}
	return token{'i', l.src[at:l.pos], at}, nil
}

func (l *lexer) fail(at int, format string, args ...any) error {
	return invalid("Expression [%.200s] is not valid at character [%d]: "+format, append([]any{l.src, utf8.RuneCountInString(l.src[:at]) + 1}, args...)...)
}

// number reads digits with an optional fraction and exponent, or a hexadecimal or binary whole
// number.
func (l *lexer) number() token {
	at, kind := l.pos, byte('l')
	digits := func(ok func(byte) bool) {
		for l.pos < len(l.src) && ok(l.src[l.pos]) {
			l.pos++
		}
	}
	if rest := lower(l.src[at:min(at+2, len(l.src))]); rest == "0x" || rest == "0b" {
		l.pos += 2
		digits(func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' })
		return token{kind, l.src[at:l.pos], at}
	}
	digits(isDigit)
	if l.pos < len(l.src) && l.src[l.pos] == '.' {
		kind = 'd'
		l.pos++
		digits(isDigit)
	}
	if l.pos < len(l.src) && l.src[l.pos]|0x20 == 'e' {
		mark := l.pos
		l.pos++
		if l.pos < len(l.src) && (l.src[l.pos] == '+' || l.src[l.pos] == '-') {
			l.pos++
		}
		if l.pos < len(l.src) && isDigit(l.src[l.pos]) {
			kind = 'd'
			digits(isDigit)
		} else {
			l.pos = mark
		}
	}
	return token{kind, l.src[at:l.pos], at}
}

// quoted reads text in quotes, with the escapes of Java.
func (l *lexer) quoted(quote byte) (string, error) {
	at := l.pos
	var b strings.Builder
	for l.pos++; l.pos < len(l.src); l.pos++ {
		c := l.src[l.pos]
		switch {
		case c == quote:
			l.pos++
			return b.String(), nil
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if l.pos++; l.pos >= len(l.src) {
			break
		}
		switch e := l.src[l.pos]; e {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, ok := l.unit()
			if !ok {
				return "", l.fail(l.pos, "want four hexadecimal digits behind \\u")
			}
			if utf16.IsSurrogate(r) && strings.HasPrefix(l.src[l.pos+1:], `\u`) {
				l.pos += 2
				low, ok := l.unit()
				if !ok {
					return "", l.fail(l.pos, "want four hexadecimal digits behind \\u")
				}
				r = utf16.DecodeRune(r, low)
			}
			b.WriteRune(r)
		default:
			b.WriteByte(e)
		}
	}
	return "", l.fail(at, "a quote is not closed")
}

// unit reads the four digits behind \u and leaves the position at the last of them.
func (l *lexer) unit() (rune, bool) {
	if l.pos+5 > len(l.src) {
		return 0, false
	}
	n, err := strconv.ParseUint(l.src[l.pos+1:l.pos+5], 16, 16)
	l.pos += 4
	return rune(n), err == nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
