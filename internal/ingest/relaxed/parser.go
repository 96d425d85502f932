package relaxed

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/ingest/record"
)

// Parser parses JSON values in the grammar that features allow. It reports errors precisely.
// Without features, it is therefore used to explain why a record is not valid JSON. It is used by
// one goroutine.
type Parser struct {
	Features Features
	text     []byte
	at       int
	fields   int
}

// Problem is a syntax error and its position.
type Problem struct {
	at   int
	what string
}

// At returns the position in the text.
func (p *Problem) At() int { return p.at }

// Error returns the error with its position in the record.
func (p *Problem) Error() string { return p.what + " at byte " + strconv.Itoa(p.at+1) }

// Record parses the object at the beginning of text and returns the position after it.
func (p *Parser) Record(text []byte) (o *record.Object, end int, problem *Problem) {
	p.text, p.at, p.fields = text, 0, 0
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case *Problem:
			o, problem = nil, caught
		default:
			panic(caught)
		}
	}()
	if p.peek() != '{' {
		p.fail("it is not a JSON object")
	}
	return p.object(0), p.at, nil
}

// Literal parses the value of any kind at the beginning of text and returns the position after it.
func (p *Parser) Literal(text []byte) (v any, end int, problem *Problem) {
	p.text, p.at, p.fields = text, 0, 0
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case *Problem:
			v, problem = nil, caught
		default:
			panic(caught)
		}
	}()
	return p.value(0), p.at, nil
}

// StrictReason returns the reason why text does not begin with a valid JSON object.
func StrictReason(text []byte) string {
	var p Parser
	if _, _, problem := p.Record(text); problem != nil {
		return problem.Error()
	}
	return "it is not a JSON object"
}

func (p *Parser) fail(format string, args ...any) {
	panic(&Problem{p.at, fmt.Sprintf(format, args...)})
}

// peek returns the byte at hand, 0 at the end of the text.
func (p *Parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *Parser) ended() bool { return p.at >= len(p.text) }

// shown is the byte at hand for an error.
func (p *Parser) shown() string {
	if p.ended() {
		return "the text ends"
	}
	r, _ := utf8.DecodeRune(p.text[p.at:])
	if r < ' ' {
		return fmt.Sprintf("there is a control character U+%04X", r)
	}
	return "there is [" + string(r) + "]"
}

// blanks skips white space and comments.
func (p *Parser) blanks() {
	for !p.ended() {
		switch c := p.text[p.at]; {
		case record.IsJSONSpace(c):
			p.at++
		case c == '/' && p.Features.comments:
			p.comment()
		case c == '#' && p.Features.yamlComments:
			p.restOfLine()
		default:
			return
		}
	}
}

func (p *Parser) restOfLine() {
	if n := bytes.IndexAny(p.text[p.at:], "\r\n"); n >= 0 {
		p.at += n
		return
	}
	p.at = len(p.text)
}

func (p *Parser) comment() {
	switch rest := p.text[p.at:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		p.restOfLine()
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			p.at = len(p.text)
			p.fail("a comment is not closed")
		}
		p.at += n + 4
	default:
		p.at++
		p.fail("a comment is expected and %s", p.shown())
	}
}

// value parses the value at hand.
func (p *Parser) value(depth int) any {
	if depth > record.MaxDepth {
		p.fail("it is nested deeper than %d levels", record.MaxDepth)
	}
	p.blanks()
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"', c == '\'' && p.Features.SingleQuotes:
		return p.str(c)
	case c == '-', c == '+', c == '.', c >= '0' && c <= '9':
		return p.number()
	case c == '\'':
		p.fail("a string is in single quotes (ALLOW_SINGLE_QUOTES of a featureSpec allows it)")
	}
	for _, w := range words {
		if p.peek() != w.word[0] || !bytes.HasPrefix(p.text[p.at:], []byte(w.word)) || isNameByte(p.text[p.at+len(w.word):]) {
			continue
		}
		if v, ok := w.value.(float64); ok {
			return p.nonNumber(w.word, v)
		}
		p.at += len(w.word)
		return w.value
	}
	p.fail("a value is expected and %s", p.shown())
	return nil
}

// words are the values that are words.
var words = []struct {
	word  string
	value any
}{{"null", nil}, {"true", true}, {"false", false}, {"NaN", math.NaN()}, {"Infinity", math.Inf(1)}, {"INF", math.Inf(1)}}

func (p *Parser) nonNumber(word string, v float64) any {
	if !p.Features.NonNumbers {
		p.fail("%s is not a JSON number (ALLOW_NON_NUMERIC_NUMBERS of a featureSpec allows it)", word)
	}
	p.at += len(word)
	return v
}

// isNameByte reports whether text goes on with a character of a name.
func isNameByte(text []byte) bool {
	r, n := utf8.DecodeRune(text)
	return n > 0 && (r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

func (p *Parser) object(depth int) *record.Object {
	p.at++
	o := &record.Object{}
	for p.blanks(); ; p.blanks() {
		if p.peek() == '}' && (len(o.Names) == 0 || p.Features.trailingComma) {
			p.at++
			return o
		}
		if p.fields++; p.fields > record.MaxFields {
			p.fail("it has too many fields")
		}
		name := p.name()
		if p.Features.noDuplicates {
			if _, twice := o.Get(name); twice {
				p.fail("the name [%s] occurs twice in an object", name)
			}
		}
		if p.blanks(); p.peek() != ':' {
			p.fail("a colon is expected behind the name [%s] and %s", name, p.shown())
		}
		p.at++
		p.blanks()
		if c := p.peek(); p.Features.missingValues && c == ',' {
			o.Add(name, nil)
		} else {
			o.Add(name, p.value(depth+1))
		}
		switch p.blanks(); p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return o
		default:
			p.fail("a comma or } is expected behind a member of an object and %s", p.shown())
		}
	}
}

func (p *Parser) name() string {
	switch c := p.peek(); {
	case c == '"', c == '\'' && p.Features.SingleQuotes:
		return p.str(c)
	case !p.Features.UnquotedNames:
		p.fail("a name in quotes is expected and %s", p.shown())
	}
	start := p.at
	for !p.ended() && (isNameByte(p.text[p.at:]) || bytes.IndexByte([]byte("@#*-+"), p.text[p.at]) >= 0) {
		_, n := utf8.DecodeRune(p.text[p.at:])
		p.at += n
	}
	if p.at == start {
		p.fail("a name is expected and %s", p.shown())
	}
	return string(p.text[start:p.at])
}

func (p *Parser) array(depth int) any {
	p.at++
	out := []any{}
	for p.blanks(); ; p.blanks() {
		switch c := p.peek(); {
		case c == ']' && (len(out) == 0 || p.Features.trailingComma):
			p.at++
			return out
		case p.Features.missingValues && (c == ',' || c == ']'):
			out = append(out, nil)
		default:
			out = append(out, p.value(depth+1))
		}
		switch p.blanks(); p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return out
		default:
			p.fail("a comma or ] is expected behind an element of an array and %s", p.shown())
		}
	}
}

// str parses the string whose opening quote is at hand.
func (p *Parser) str(quote byte) string {
	p.at++
	var out []byte
	for {
		start := p.at
		for !p.ended() && p.text[p.at] != quote && p.text[p.at] != '\\' && p.text[p.at] >= ' ' {
			p.at++
		}
		out = append(out, p.text[start:p.at]...)
		switch c := p.peek(); {
		case p.ended():
			p.fail("a string is not closed")
		case c == quote:
			p.at++
			return string(out)
		case c == '\\':
			out = p.escape(out)
		case p.Features.ControlCharacters:
			out = append(out, c)
			p.at++
		case c == '\n' || c == '\r':
			p.fail("a string is not closed")
		default:
			p.fail("a string contains the control character U+%04X (ALLOW_UNQUOTED_CONTROL_CHARS of a featureSpec allows it)", c)
		}
	}
}

func (p *Parser) escape(out []byte) []byte {
	p.at++
	if p.ended() {
		p.fail("a string is not closed")
	}
	c := p.text[p.at]
	switch c {
	case '"', '\\', '/':
		out = append(out, c)
	case 'b':
		out = append(out, '\b')
	case 'f':
		out = append(out, '\f')
	case 'n':
		out = append(out, '\n')
	case 'r':
		out = append(out, '\r')
	case 't':
		out = append(out, '\t')
	case 'u':
		return p.unicode(out)
	default:
		if !p.Features.AnyEscape && !(c == '\'' && p.Features.SingleQuotes) {
			p.fail("a string has the unknown escape [\\%s]", p.text[p.at:p.at+1])
		}
		_, n := utf8.DecodeRune(p.text[p.at:])
		out = append(out, p.text[p.at:p.at+n]...)
		p.at += n
		return out
	}
	p.at++
	return out
}

// unicode parses what follows the backslash of \uXXXX. A half of a pair alone is U+FFFD.
func (p *Parser) unicode(out []byte) []byte {
	unit := func(at int) (rune, bool) {
		if at+5 > len(p.text) || p.text[at] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(p.text[at+1:at+5]), 16, 16)
		return rune(v), err == nil
	}
	r, ok := unit(p.at)
	if !ok {
		p.fail("a string has \\u without four hexadecimal digits")
	}
	p.at += 5
	if utf16.IsSurrogate(r) {
		pair := rune(utf8.RuneError)
		if low, ok := unit(p.at + 1); ok && p.text[p.at] == '\\' {
			if pair = utf16.DecodeRune(r, low); pair != utf8.RuneError {
				p.at += 6
			}
		}
		r = pair
	}
	return utf8.AppendRune(out, r)
}

// number parses a number, which features may let begin with a plus sign, a point or zeros, or end
// with a point.
func (p *Parser) number() any {
	start := p.at
	for !p.ended() && (isNameByte(p.text[p.at:]) || bytes.IndexByte([]byte("+-."), p.text[p.at]) >= 0) {
		_, n := utf8.DecodeRune(p.text[p.at:])
		p.at += n
	}
	raw := string(p.text[start:p.at])
	sign, body := "", raw
	if body[0] == '-' || body[0] == '+' {
		sign, body = body[:1], body[1:]
	}
	if body == "Infinity" || body == "INF" || body == "NaN" {
		p.at = start
		v := map[string]float64{"-": math.Inf(-1), "+": math.Inf(1)}[sign]
		if body == "NaN" {
			v = math.NaN()
		}
		return p.nonNumber(raw, v)
	}
	if sign == "+" && p.Features.leadingPlus {
		sign = ""
	}
	if len(body) > 1 && body[0] == '.' && p.Features.leadingPoint {
		body = "0" + body
	}
	if p.Features.leadingZeros {
		for len(body) > 1 && body[0] == '0' && body[1] >= '0' && body[1] <= '9' {
			body = body[1:]
		}
	}
	if p.Features.trailingPoint {
		for i := 1; i < len(body); i++ {
			if body[i] == '.' && (i+1 == len(body) || body[i+1]|0x20 == 'e') {
				body = body[:i] + ".0" + body[i+1:]
				break
			}
		}
	}
	n, ok := record.ParseJSONNumber([]byte(sign + body))
	switch {
	case !ok:
		p.at = start
		p.fail("a number is malformed")
	case n.Integer:
		return n.Long
	case record.IsWhole([]byte(body)) && sign+body != "-0":
		return record.Digits(sign + body)
	}
	return n.Double
}

// Between returns the number of bytes at the beginning of text that do not start a record: blanks,
// comments, and the brackets and commas of an array.
func (p *Parser) Between(text []byte) (n int) {
	p.text, p.at = text, 0
	defer func() {
		if problem, ok := recover().(*Problem); ok {
			n = problem.at // of a comment that has no end
		}
	}()
	for {
		p.blanks()
		if p.ended() {
			return p.at
		}
		start := p.at
		switch p.peek() {
		case ',', ']':
			p.at++
		case '[':
			p.at++
			if p.blanks(); p.ended() || p.peek() == '{' || p.peek() == ']' {
				continue
			}
			return start
		default:
			return start
		}
	}
}
