package pg

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the lexical class of a token.
type kind uint8

const (
	tEOF kind = iota
	tWord
	tQuoted // "x"
	tInt
	tNum
	tString
	tBits
	tParam
	tOp   // made of operator characters
	tPunc // one of ( ) [ ] , ; . : and ::, :=
)

type token struct {
	kind       kind
	start, end int
	// text is a folded word, the name in quotes, the value of a string, an operator.
	text string
}

// Error is a syntax error. At is the byte offset in the text, from 0.
type Error struct {
	At      int
	Message string
	// Code is the SQLSTATE.
	Code string
}

func (e *Error) Error() string { return e.Message }

func syntaxError(at int, message string) *Error {
	return &Error{At: at, Message: message, Code: "42601"}
}

// maxTokens bounds the tokens of one text; a token takes some 56 bytes.
const maxTokens = 2_000_000

type lexer struct {
	text string
	pos  int
	toks []token
}

func lex(text string) ([]token, error) {
	l := &lexer{text: text, toks: make([]token, 0, min(len(text)/4+8, 4096))}
	for {
		if err := l.blank(); err != nil {
			return nil, err
		}
		if l.pos >= len(l.text) {
			l.toks = append(l.toks, token{kind: tEOF, start: len(l.text), end: len(l.text)})
			return l.toks, nil
		}
		if len(l.toks) >= maxTokens {
			return nil, &Error{At: l.pos, Message: "statement has more than " + strconv.Itoa(maxTokens) + " words and signs", Code: "54001"}
		}
		if err := l.next(); err != nil {
			return nil, err
		}
	}
}

// blank skips blanks and comments, which nest.
func (l *lexer) blank() error {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			l.pos++
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexAny(rest, "\r\n")
			if n < 0 {
				n = len(rest)
			}
			l.pos += n
		case strings.HasPrefix(rest, "/*"):
			at, depth := l.pos, 0
			for {
				switch rest = l.text[l.pos:]; {
				case rest == "":
					return syntaxError(at, "unterminated /* comment")
				case strings.HasPrefix(rest, "/*"):
					depth++
					l.pos += 2
				case strings.HasPrefix(rest, "*/"):
					depth--
					l.pos += 2
				default:
					l.pos++
				}
				if depth == 0 {
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
}

const operatorBytes = "+-*/<>=~!@#%^&|`?"

func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return 0
}

func (l *lexer) add(k kind, start int, text string) {
	l.toks = append(l.toks, token{kind: k, start: start, end: l.pos, text: text})
}

func (l *lexer) next() error {
	start, c, d := l.pos, l.text[l.pos], l.peek(1)
	switch {
	case (c == 'E' || c == 'e') && d == '\'':
		l.pos++
		return l.escaped(start)
	case (c == 'B' || c == 'b' || c == 'X' || c == 'x') && d == '\'':
		l.pos++
		s, err := l.quoted('\'')
		if err != nil {
			return err
		}
		l.add(tBits, start, strings.ToLower(string(c))+s)
		return nil
	case (c == 'N' || c == 'n') && d == '\'':
		l.pos++
		return l.plain(start)
	case (c == 'U' || c == 'u') && d == '&' && (l.peek(2) == '\'' || l.peek(2) == '"'):
		return l.unicode(start)
	case isLetter(c):
		for l.pos < len(l.text) && (isLetter(l.text[l.pos]) || isDigit(l.text[l.pos]) || l.text[l.pos] == '$') {
			l.pos++
		}
		l.add(tWord, start, lower(l.text[start:l.pos]))
		return nil
	case isDigit(c), c == '.' && isDigit(d):
		return l.number(start)
	case c == '\'':
		return l.plain(start)
	case c == '"':
		s, err := l.quoted('"')
		if err != nil {
			return err
		}
		if s == "" {
			return syntaxError(start, "zero-length delimited identifier")
		}
		l.add(tQuoted, start, s)
		return nil
	case c == '$':
		return l.dollar(start)
	case c == ':' && (d == ':' || d == '='):
		l.pos += 2
		l.add(tPunc, start, l.text[start:l.pos])
		return nil
	case strings.IndexByte("()[],;.:", c) >= 0:
		l.pos++
		l.add(tPunc, start, l.text[start:l.pos])
		return nil
	case strings.IndexByte(operatorBytes, c) >= 0:
		l.operator(start)
		return nil
	}
	return syntaxError(start, "syntax error at or near "+quoteNear(string(c)))
}

// operator reads an operator. It ends before a comment; one of several characters ends in + or -
// only if it has one of ~ ! @ # % ^ & | ` ? in it.
func (l *lexer) operator(start int) {
	end := start
	for end < len(l.text) && strings.IndexByte(operatorBytes, l.text[end]) >= 0 {
		if rest := l.text[end:]; strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
			break
		}
		end++
	}
	text := l.text[start:end]
	for len(text) > 1 && (text[len(text)-1] == '+' || text[len(text)-1] == '-') && !strings.ContainsAny(text, "~!@#%^&|`?") {
		text = text[:len(text)-1]
	}
	l.pos = start + len(text)
	if text == "!=" {
		text = "<>"
	}
	l.add(tOp, start, text)
}

func (l *lexer) number(start int) error {
	k := tInt
	digits := func() {
		for isDigit(l.peek(0)) {
			l.pos++
		}
	}
	digits()
	if l.peek(0) == '.' && l.peek(1) != '.' {
		k = tNum
		l.pos++
		digits()
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		n := 1
		if s := l.peek(1); s == '+' || s == '-' {
			n = 2
		}
		if isDigit(l.peek(n)) {
			k = tNum
			l.pos += n
			digits()
		}
	}
	if isLetter(l.peek(0)) {
		return syntaxError(start, "trailing junk after numeric literal at or near "+quoteNear(l.text[start:l.pos+1]))
	}
	l.add(k, start, l.text[start:l.pos])
	return nil
}

// quoted reads what stands in quotes at pos; two quotes are one.
func (l *lexer) quoted(quote byte) (string, error) {
	start := l.pos
	l.pos++
	var b strings.Builder
	for {
		n := strings.IndexByte(l.text[l.pos:], quote)
		if n < 0 {
			word := "quoted string"
			if quote == '"' {
				word = "quoted identifier"
			}
			return "", syntaxError(start, "unterminated "+word+" at or near "+quoteNear(cut(l.text[start:])))
		}
		b.WriteString(l.text[l.pos : l.pos+n])
		l.pos += n + 1
		if l.peek(0) != quote {
			return b.String(), nil
		}
		b.WriteByte(quote)
		l.pos++
	}
}

// plain reads '..', and what follows it in further quotes on other lines.
func (l *lexer) plain(start int) error {
	s, err := l.quoted('\'')
	if err != nil {
		return err
	}
	for {
		at := l.pos
		if err := l.blank(); err != nil {
			return err
		}
		if l.peek(0) != '\'' || !strings.ContainsAny(l.text[at:l.pos], "\r\n") {
			l.pos = at
			break
		}
		more, err := l.quoted('\'')
		if err != nil {
			return err
		}
		s += more
	}
	l.add(tString, start, s)
	return nil
}

// escaped reads E'..', from the quote on.
func (l *lexer) escaped(start int) error {
	l.pos++
	var b strings.Builder
	for {
		c := l.peek(0)
		switch {
		case l.pos >= len(l.text):
			return syntaxError(start, "unterminated quoted string at or near "+quoteNear(cut(l.text[start:])))
		case c == '\'' && l.peek(1) == '\'':
			b.WriteByte('\'')
			l.pos += 2
		case c == '\'':
			l.pos++
			l.add(tString, start, b.String())
			return nil
		case c == '\\' && l.pos+1 < len(l.text):
			l.escape(&b)
		default:
			b.WriteByte(c)
			l.pos++
		}
	}
}

// escape reads what a backslash begins.
func (l *lexer) escape(b *strings.Builder) {
	c := l.peek(1)
	l.pos += 2
	digits := func(most, base int) (uint64, bool) {
		end := l.pos
		for end < len(l.text) && end-l.pos < most {
			if _, err := strconv.ParseUint(l.text[end:end+1], base, 8); err != nil {
				break
			}
			end++
		}
		v, err := strconv.ParseUint(l.text[l.pos:end], base, 32)
		if err == nil {
			l.pos = end
		}
		return v, err == nil
	}
	switch c {
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'x':
		if v, ok := digits(2, 16); ok {
			b.WriteByte(byte(v))
			return
		}
		b.WriteByte(c)
	case 'u', 'U':
		if v, ok := digits(map[byte]int{'u': 4, 'U': 8}[c], 16); ok {
			b.WriteRune(rune(v))
			return
		}
		b.WriteByte(c)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		l.pos--
		v, _ := digits(3, 8)
		b.WriteByte(byte(v))
	default:
		b.WriteByte(c)
	}
}

// unicode reads U&'..' and U&"..".
func (l *lexer) unicode(start int) error {
	l.pos += 2
	quote := l.peek(0)
	s, err := l.quoted(quote)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		n, from := 4, i+1
		if strings.HasPrefix(s[from:], "\\") {
			b.WriteByte('\\')
			i++
			continue
		}
		if strings.HasPrefix(s[from:], "+") {
			n, from = 6, i+2
		}
		if from+n > len(s) {
			return syntaxError(start, "invalid Unicode escape")
		}
		v, err := strconv.ParseUint(s[from:from+n], 16, 32)
		if err != nil {
			return syntaxError(start, "invalid Unicode escape")
		}
		b.WriteRune(rune(v))
		i = from + n - 1
	}
	k := tString
	if quote == '"' {
		k = tQuoted
	}
	l.add(k, start, b.String())
	return nil
}

// dollar reads $1 and $tag$..$tag$.
func (l *lexer) dollar(start int) error {
	if isDigit(l.peek(1)) {
		l.pos++
		for isDigit(l.peek(0)) {
			l.pos++
		}
		l.add(tParam, start, l.text[start+1:l.pos])
		return nil
	}
	end := start + 1
	for end < len(l.text) && (isLetter(l.text[end]) || isDigit(l.text[end])) {
		end++
	}
	if end >= len(l.text) || l.text[end] != '$' {
		return syntaxError(start, "syntax error at or near \"$\"")
	}
	tag := l.text[start : end+1]
	n := strings.Index(l.text[end+1:], tag)
	if n < 0 {
		return syntaxError(start, "unterminated dollar-quoted string at or near "+quoteNear(cut(l.text[start:])))
	}
	l.pos = end + 1 + n + len(tag)
	l.add(tString, start, l.text[end+1:end+1+n])
	return nil
}

// lower folds ASCII letters; others keep their case, as they do in a database of UTF-8.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

func quoteNear(s string) string { return `"` + s + `"` }

func cut(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "")
	}
	return s
}
