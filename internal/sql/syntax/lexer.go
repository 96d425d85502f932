package syntax

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
)

// lexer cuts a text into tokens. It never fails: at the first place that is no token it leaves a
// tokBad or tokOpenQuote and ends there, so that an error of grammar before that place is the one
// reported.
type lexer struct {
	text string
	pos  int
	// line and col (counted in characters) are the place of pos, both from 1.
	line, col int32
	// tokens are the block of the last ones; before is how many there are before them, and spare the
	// block that is written next. whole keeps all in one.
	tokens []token
	before int
	spare  []token
	whole  bool
	block  int // how many tokens a block has, if not more are looked at at once
	hints  []hint
	bad    lexicalError
	ended  bool // the last of tokens is an EOF
}

// hint is a comment of the form /*+ ... */. It stands behind the token with index after, -1 for
// none.
type hint struct {
	after int
	text  string
}

// lexicalError describes the character behind a tokBad.
type lexicalError struct {
	line, col   int32
	char        rune   // 0 where the text ends
	encountered string // escaped, in quotes, with its code, or <EOF>
	after       string // escaped: what was read of the token before it
}

func (e *lexicalError) fault() error {
	at := fault.Span{Line: e.line, Column: e.col, EndLine: e.line, EndColumn: e.col}
	err := fault.SQLParse(at, `Lexical error at line %d, column %d.  Encountered: %s after : "%s"`, e.line, e.col, e.encountered, e.after)
	return advise(err, e.habit())
}

// charClass of a byte tells what a token that starts with it can be.
type charClass uint8

const (
	classOther charClass = iota
	classSpace
	classLetter // and _
	classDigit
)

var classOf = func() (t [utf8.RuneSelf]charClass) {
	for _, c := range " \t\n\r\f" {
		t[c] = classSpace
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = classLetter, classLetter
	}
	t['_'] = classLetter
	for c := '0'; c <= '9'; c++ {
		t[c] = classDigit
	}
	return t
}()

// lexBlock is how many tokens are cut at a time: most statements have fewer, of a long text that is
// refused where it begins the rest is never looked at, and of one that is read to its end no more
// are kept than the parser looks at.
const lexBlock = 1 << 10

// newLexer returns a lexer before the first token of text.
func newLexer(text string) *lexer {
	return &lexer{text: text, line: 1, col: 1, block: lexBlock}
}

// lexers are those with blocks to be written again.
var lexers = sync.Pool{New: func() any { return new(lexer) }}

// borrow returns a lexer before the first token of text, which release must get back when nobody
// looks at its tokens any more.
func borrow(text string) *lexer {
	l := lexers.Get().(*lexer)
	tokens, spare := l.tokens, l.spare
	*l = *newLexer(text)
	l.tokens, l.spare = tokens[:0], spare
	return l
}

func (l *lexer) release() {
	if cap(l.tokens) > 2*lexBlock || cap(l.spare) > 2*lexBlock {
		return // it looked far ahead
	}
	poison(l.tokens)
	poison(l.spare)
	l.text, l.hints, l.bad = "", nil, lexicalError{}
	lexers.Put(l)
}

// poison marks tokens as released in checked builds.
func poison(tokens []token) {
	if invariant.Enabled {
		tokens = tokens[:cap(tokens)]
		at, line := invariant.Poisoned[uint32](), invariant.Poisoned[int32]()
		for i := range tokens {
			tokens[i] = token{start: at, end: at, line: line, col: line, endLine: line, endCol: line}
		}
	}
}

// cut adds tokens until there are n behind that with index pos, or the EOF, and returns the index
// that one has then: a new block begins with the token before it. Two blocks take turns, so that a
// pointer to a token is good while the parser reads no more than a few others. An EOF is the last
// token of a text; it stands at the last character.
func (l *lexer) cut(pos, n int) int {
	if l.ended {
		return pos
	}
	if !l.whole && pos+n >= cap(l.tokens) {
		pos -= l.turn(max(pos-1, 0), n)
	}
	enough := pos + n + 1
	if !l.whole {
		enough = max(enough, cap(l.tokens))
	}
	for !l.ended && len(l.tokens) < enough {
		if !l.skipBlank() || !l.next() {
			l.end()
		}
	}
	return pos
}

// turn begins a block for n tokens more, with those from index first on, and returns how many are
// not in it any more.
func (l *lexer) turn(first, n int) int {
	first = min(first, len(l.tokens))
	poison(l.spare)
	next := l.spare[:0]
	if size := max(l.block, 2*(n+2)); cap(next) < size {
		next = make([]token, 0, size)
	}
	next = append(next, l.tokens[first:]...)
	l.tokens, l.spare = next, l.tokens
	l.before += first
	return first
}

// end leaves the rest of the text alone.
func (l *lexer) end() {
	if !l.ended {
		l.tokens, l.ended = append(l.tokens, l.eof()), true
	}
}

// eof returns the final token, placed where the last character of the text is.
func (l *lexer) eof() token {
	n := uint32(len(l.text))
	t := token{kind: tokEOF, start: n, end: n, line: l.line, col: l.col}
	switch {
	case n == 0:
		t.line, t.col = 0, 0
	case t.col > 1:
		t.col--
	}
	t.endLine, t.endCol = t.line, t.col
	return t
}

// peekByte returns the byte n after the current one, 0 beyond the end.
func (l *lexer) peekByte(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return 0
}

// advance moves over n bytes that hold no line break and only ASCII.
func (l *lexer) advance(n int) {
	l.pos += n
	l.col += int32(n)
}

// step moves over the one character at pos.
func (l *lexer) step() {
	c := l.text[l.pos]
	switch {
	case c == '\n' || c == '\r' && l.peekByte(1) != '\n':
		l.pos++
		l.line++
		l.col = 1
	case c == '\r': // the line feed behind it breaks the line
		l.pos++
	case c < utf8.RuneSelf:
		l.advance(1)
	default:
		_, n := utf8.DecodeRuneInString(l.text[l.pos:])
		l.pos += n
		l.col++
	}
}

// skipBlank moves to the next token, over blanks and comments, and reports whether there is one.
func (l *lexer) skipBlank() bool {
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		switch {
		case c == ' ' || c == '\t' || c == '\f':
			l.advance(1)
		case c == '\n' || c == '\r':
			l.step()
		case c == '-' && l.peekByte(1) == '-', c == '/' && l.peekByte(1) == '/':
			for l.pos < len(l.text) && l.text[l.pos] != '\n' && l.text[l.pos] != '\r' {
				l.step()
			}
		case c == '/' && l.peekByte(1) == '*':
			if !l.comment() {
				return true // an unclosed comment: next() reports it
			}
		default:
			return true
		}
	}
	return false
}

// comment moves over the comment at pos and keeps it if it is a hint. Without an end it stays where
// it is and returns false.
func (l *lexer) comment() bool {
	length := strings.Index(l.text[l.pos+2:], "*/")
	if length < 0 {
		return false
	}
	body := l.text[l.pos+2 : l.pos+2+length]
	if strings.HasPrefix(body, "+") {
		l.hints = append(l.hints, hint{after: l.before + len(l.tokens) - 1, text: strings.TrimSpace(body[1:])})
	}
	for end := l.pos + length + 4; l.pos < end; {
		l.step()
	}
	return true
}

// next appends the token at pos. It returns false when there is none and lexing ends.
func (l *lexer) next() bool {
	c := l.text[l.pos]
	if c >= utf8.RuneSelf {
		if r, _ := utf8.DecodeRuneInString(l.text[l.pos:]); unicode.IsLetter(r) {
			l.word()
			return true
		}
		return l.fail("")
	}
	switch classOf[c] {
	case classLetter:
		return l.wordOrPrefixed(c)
	case classDigit:
		l.number()
		return true
	}
	switch c {
	case '\'':
		return l.quoted(tokString, l.pos)
	case '"':
		return l.quoted(tokQuotedName, l.pos)
	case '.':
		if d := l.peekByte(1); '0' <= d && d <= '9' {
			l.number()
			return true
		}
	}
	return l.symbol(c)
}

func (l *lexer) symbol(c byte) bool {
	d := l.peekByte(1)
	switch c {
	case '(':
		return l.emit(tokLeftParen, 1)
	case ')':
		return l.emit(tokRightParen, 1)
	case '[':
		return l.emit(tokLeftBracket, 1)
	case ']':
		return l.emit(tokRightBracket, 1)
	case '{':
		return l.emit(tokLeftBrace, 1)
	case '}':
		return l.emit(tokRightBrace, 1)
	case ',':
		return l.emit(tokComma, 1)
	case '.':
		return l.emit(tokDot, 1)
	case ';':
		return l.emit(tokSemicolon, 1)
	case '?':
		return l.emit(tokQuestion, 1)
	case '+':
		return l.emit(tokPlus, 1)
	case '-':
		return l.emit(tokMinus, 1)
	case '*':
		return l.emit(tokStar, 1)
	case '%':
		return l.emit(tokPercent, 1)
	case '^':
		return l.emit(tokCaret, 1)
	case '/':
		if d == '*' { // a comment without an end
			for l.pos < len(l.text) {
				l.step()
			}
			return l.fail("")
		}
		return l.emit(tokSlash, 1)
	case ':':
		if d == ':' {
			return l.emit(tokDoubleColon, 2)
		}
		return l.emit(tokColon, 1)
	case '|':
		if d == '|' {
			return l.emit(tokConcat, 2)
		}
		return l.emit(tokPipe, 1)
	case '=':
		if d == '>' {
			return l.emit(tokArrow, 2)
		}
		return l.emit(tokEqual, 1)
	case '<':
		switch d {
		case '>':
			return l.emit(tokNotEqual, 2)
		case '=':
			return l.emit(tokLessEqual, 2)
		}
		return l.emit(tokLess, 1)
	case '>':
		if d == '=' {
			return l.emit(tokGreaterEqual, 2)
		}
		return l.emit(tokGreater, 1)
	case '!':
		if d == '=' {
			return l.emit(tokBangEqual, 2)
		}
		l.advance(1)
		return l.fail("!")
	}
	return l.fail("")
}

// emit appends a token of n bytes that holds no line break and only ASCII.
func (l *lexer) emit(kind tokenKind, n int) bool {
	l.tokens = append(l.tokens, token{
		kind: kind, start: uint32(l.pos), end: uint32(l.pos + n),
		line: l.line, col: l.col, endLine: l.line, endCol: l.col + int32(n) - 1,
	})
	l.advance(n)
	return true
}

// fail appends a tokBad for the character at pos, read behind the text in after.
func (l *lexer) fail(after string) bool {
	l.bad = lexicalError{line: l.line, col: l.col, encountered: "<EOF>", after: after}
	if l.pos < len(l.text) {
		r, _ := utf8.DecodeRuneInString(l.text[l.pos:])
		l.bad.char = r
		l.bad.encountered = `"` + escapeToken(string(r)) + `" (` + strconv.Itoa(int(r)) + "),"
	}
	l.tokens = append(l.tokens, token{
		kind: tokBad, start: uint32(l.pos), end: uint32(l.pos),
		line: l.line, col: l.col, endLine: l.line, endCol: l.col,
	})
	return false
}

// wordOrPrefixed reads a word, or the literal that the letter c begins: U&'..', U&"..", X'..',
// N'..', _charset'..'.
func (l *lexer) wordOrPrefixed(c byte) bool {
	start, col, d := l.pos, l.col, l.peekByte(1)
	kind, prefix := tokEOF, 0
	switch {
	case (c == 'U' || c == 'u') && d == '&' && l.peekByte(2) == '\'':
		kind, prefix = tokUnicodeString, 2
	case (c == 'U' || c == 'u') && d == '&' && l.peekByte(2) == '"':
		kind, prefix = tokUnicodeQuotedName, 2
	case (c == 'X' || c == 'x') && d == '\'':
		kind, prefix = tokBinaryString, 1
	case (c == 'N' || c == 'n') && d == '\'':
		kind, prefix = tokPrefixedString, 1
	case c == '_':
		for prefix = 1; charsetByte(l.peekByte(prefix)); prefix++ {
		}
		if prefix > 1 && l.peekByte(prefix) == '\'' {
			kind = tokPrefixedString
		}
	}
	if kind == tokEOF {
		l.word()
		return true
	}
	l.advance(prefix)
	if !l.quoted(kind, start) {
		return false
	}
	l.tokens[len(l.tokens)-1].col = col
	return true
}

func charsetByte(c byte) bool {
	return c < utf8.RuneSelf && (classOf[c] == classLetter || classOf[c] == classDigit) || c == '-' || c == ':' || c == '.'
}

func (l *lexer) word() {
	start, col := l.pos, l.col
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		if c < utf8.RuneSelf {
			if class := classOf[c]; class != classLetter && class != classDigit && c != '$' {
				break
			}
			l.pos++
		} else {
			r, n := utf8.DecodeRuneInString(l.text[l.pos:])
			if !unicode.In(r, unicode.L, unicode.M, unicode.Nd) {
				break
			}
			l.pos += n
		}
		l.col++
	}
	l.tokens = append(l.tokens, token{
		kind: tokWord, keyword: lookupKeyword(l.text[start:l.pos]), start: uint32(start), end: uint32(l.pos),
		line: l.line, col: col, endLine: l.line, endCol: l.col - 1,
	})
}

// number reads 12, 1.2, 1., .5 and all of them with an exponent.
func (l *lexer) number() {
	n := 0
	digits := func() {
		for c := l.peekByte(n); '0' <= c && c <= '9'; c = l.peekByte(n) {
			n++
		}
	}
	kind := tokInteger
	digits()
	if l.peekByte(n) == '.' {
		kind = tokDecimal
		n++
		digits()
	}
	if e := l.peekByte(n); e == 'e' || e == 'E' {
		mantissa := n
		n++
		if sign := l.peekByte(n); sign == '+' || sign == '-' {
			n++
		}
		exponent := n
		digits()
		if n > exponent {
			kind = tokApprox
		} else {
			n = mantissa
		}
	}
	l.emit(kind, n)
}

// quoted reads a string or quoted name whose quote is at pos and whose token began at start. A
// quote in it is doubled. An empty name is no name: its first quote counts as never closed.
func (l *lexer) quoted(kind tokenKind, start int) bool {
	quote := l.text[l.pos]
	open := token{kind: tokOpenQuote, start: uint32(l.pos), end: uint32(l.pos + 1), line: l.line, col: l.col}
	open.endLine, open.endCol = open.line, open.col
	l.advance(1)
	body := l.pos
	for l.pos < len(l.text) {
		if l.text[l.pos] != quote {
			l.step()
			continue
		}
		if l.peekByte(1) == quote && !(quote == '"' && l.pos == body) {
			l.advance(2)
			continue
		}
		if quote == '"' && l.pos == body {
			break
		}
		l.advance(1)
		l.tokens = append(l.tokens, token{
			kind: kind, start: uint32(start), end: uint32(l.pos),
			line: open.line, col: open.col, endLine: l.line, endCol: l.col - 1,
		})
		return true
	}
	l.tokens = append(l.tokens, open)
	return false
}
