package ingest

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// relaxedJSON parses JSON values in the grammar that features allow. It is exact about what is
// wrong with a text, and so is what is asked, without features, why a record does not parse. It is
// used by one goroutine.
type relaxedJSON struct {
	features jsonFeatures
	text     []byte
	at       int
	fields   int
}

// jsonProblem is what is wrong with a text, and where.
type jsonProblem struct {
	at   int
	what string
}

// Error returns what is wrong, with the place in the record.
func (p *jsonProblem) Error() string { return p.what + " at byte " + strconv.Itoa(p.at+1) }

// record parses the object at the head of text and returns the place behind it.
func (p *relaxedJSON) record(text []byte) (o *Object, end int, problem *jsonProblem) {
	p.text, p.at, p.fields = text, 0, 0
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case *jsonProblem:
			o, problem = nil, caught
		default:
			panic(caught)
		}
	}()
	if p.peek() != '{' {
		p.fail("it is no JSON object")
	}
	return p.object(0), p.at, nil
}

// strictReason says why there is no JSON object at the head of text.
func strictReason(text []byte) string {
	var p relaxedJSON
	if _, _, problem := p.record(text); problem != nil {
		return problem.Error()
	}
	return "it is no JSON object"
}

func (p *relaxedJSON) fail(format string, args ...any) {
	panic(&jsonProblem{p.at, fmt.Sprintf(format, args...)})
}

// peek returns the byte at hand, 0 at the end of the text.
func (p *relaxedJSON) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *relaxedJSON) ended() bool { return p.at >= len(p.text) }

// shown is the byte at hand for an error.
func (p *relaxedJSON) shown() string {
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
func (p *relaxedJSON) blanks() {
	for !p.ended() {
		switch c := p.text[p.at]; {
		case isJSONSpace(c):
			p.at++
		case c == '/' && p.features.comments:
			p.comment()
		case c == '#' && p.features.yamlComments:
			p.restOfLine()
		default:
			return
		}
	}
}

func (p *relaxedJSON) restOfLine() {
	if n := bytes.IndexAny(p.text[p.at:], "\r\n"); n >= 0 {
		p.at += n
		return
	}
	p.at = len(p.text)
}

func (p *relaxedJSON) comment() {
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
func (p *relaxedJSON) value(depth int) any {
	if depth > maxJSONDepth {
		p.fail("it is nested deeper than %d levels", maxJSONDepth)
	}
	p.blanks()
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"', c == '\'' && p.features.singleQuotes:
		return p.str(c)
	case c == '-', c == '+', c == '.', c >= '0' && c <= '9':
		return p.number()
	case c == '\'':
		p.fail("a string is in single quotes (ALLOW_SINGLE_QUOTES of a featureSpec allows it)")
	}
	for _, w := range jsonWords {
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

// jsonWords are the values that are words.
var jsonWords = []struct {
	word  string
	value any
}{{"null", nil}, {"true", true}, {"false", false}, {"NaN", math.NaN()}, {"Infinity", math.Inf(1)}, {"INF", math.Inf(1)}}

func (p *relaxedJSON) nonNumber(word string, v float64) any {
	if !p.features.nonNumbers {
		p.fail("%s is no JSON number (ALLOW_NON_NUMERIC_NUMBERS of a featureSpec allows it)", word)
	}
	p.at += len(word)
	return v
}

// isNameByte reports whether text goes on with a character of a name.
func isNameByte(text []byte) bool {
	r, n := utf8.DecodeRune(text)
	return n > 0 && (r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

func (p *relaxedJSON) object(depth int) *Object {
	p.at++
	o := &Object{}
	for p.blanks(); ; p.blanks() {
		if p.peek() == '}' && (len(o.Names) == 0 || p.features.trailingComma) {
			p.at++
			return o
		}
		if p.fields++; p.fields > maxFields {
			p.fail("it has too many fields")
		}
		name := p.name()
		if p.features.noDuplicates {
			if _, twice := o.Get(name); twice {
				p.fail("the name [%s] occurs twice in an object", name)
			}
		}
		if p.blanks(); p.peek() != ':' {
			p.fail("a colon is expected behind the name [%s] and %s", name, p.shown())
		}
		p.at++
		p.blanks()
		if c := p.peek(); p.features.missingValues && c == ',' {
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

func (p *relaxedJSON) name() string {
	switch c := p.peek(); {
	case c == '"', c == '\'' && p.features.singleQuotes:
		return p.str(c)
	case !p.features.unquotedNames:
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

func (p *relaxedJSON) array(depth int) any {
	p.at++
	out := []any{}
	for p.blanks(); ; p.blanks() {
		switch c := p.peek(); {
		case c == ']' && (len(out) == 0 || p.features.trailingComma):
			p.at++
			return out
		case p.features.missingValues && (c == ',' || c == ']'):
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
func (p *relaxedJSON) str(quote byte) string {
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
		case p.features.controlCharacters:
			out = append(out, c)
			p.at++
		case c == '\n' || c == '\r':
			p.fail("a string is not closed")
		default:
			p.fail("a control character U+%04X stands in a string (ALLOW_UNQUOTED_CONTROL_CHARS of a featureSpec allows it)", c)
		}
	}
}

func (p *relaxedJSON) escape(out []byte) []byte {
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
		if !p.features.anyEscape && !(c == '\'' && p.features.singleQuotes) {
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
func (p *relaxedJSON) unicode(out []byte) []byte {
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
func (p *relaxedJSON) number() any {
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
	if sign == "+" && p.features.leadingPlus {
		sign = ""
	}
	if len(body) > 1 && body[0] == '.' && p.features.leadingPoint {
		body = "0" + body
	}
	if p.features.leadingZeros {
		for len(body) > 1 && body[0] == '0' && body[1] >= '0' && body[1] <= '9' {
			body = body[1:]
		}
	}
	if p.features.trailingPoint {
		for i := 1; i < len(body); i++ {
			if body[i] == '.' && (i+1 == len(body) || body[i+1]|0x20 == 'e') {
				body = body[:i] + ".0" + body[i+1:]
				break
			}
		}
	}
	n, ok := parseJSONNumber([]byte(sign + body))
	switch {
	case !ok:
		p.at = start
		p.fail("a number is malformed")
	case n.integer:
		return n.long
	case isWhole([]byte(body)) && sign+body != "-0":
		return Digits(sign + body)
	}
	return n.double
}

// relaxedCutter cuts between the values of a text in relaxed grammar. Text begins between values.
type relaxedCutter struct{ features jsonFeatures }

func (c relaxedCutter) last(text []byte) int {
	p, end := &relaxedJSON{features: c.features}, 0
	for {
		from := end + p.between(text[end:])
		if from >= len(text) {
			return end
		}
		_, n, problem := p.record(text[from:])
		if problem != nil {
			if from+p.at >= len(text) { // more of it may come
				return end
			}
			if n = lineEnd(text[from:]); n == 0 {
				return end
			}
		}
		end = from + n
	}
}

func (relaxedCutter) first([]byte) (key, end int) { return -1, -1 }

func (c relaxedCutter) unify(text []byte) {
	if !c.features.controlCharacters { // with it they may be data
		unifyLines(text)
	}
}

// between returns how many bytes at the head of text are not the start of a record: blanks,
// comments, and an array's brackets and commas.
func (p *relaxedJSON) between(text []byte) (n int) {
	p.text, p.at = text, 0
	defer func() {
		if problem, ok := recover().(*jsonProblem); ok {
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

// relaxedObjects makes objects of chunks of JSON values in relaxed grammar.
type relaxedObjects struct{ parser relaxedJSON }

func (d *relaxedObjects) objects(c chunk, emit func(Record)) {
	if c.broken {
		emit(Record{Text: bytes.TrimRight(c.data, "\r\n"), Line: 1, Reason: recordTooLarge})
		return
	}
	text, line := c.data, int64(1)
	skip := func(n int) {
		line += int64(bytes.Count(text[:n], newline))
		text = text[n:]
	}
	for {
		skip(d.parser.between(text))
		if len(text) == 0 {
			return
		}
		r := Record{Line: line}
		o, n, problem := d.parser.record(text)
		if problem != nil {
			if n = bytes.IndexByte(text, '\n'); n < 0 {
				n = len(text)
			}
			r.Reason = problem.Error()
		} else {
			r.Object = o
		}
		r.Text = bytes.TrimRight(text[:n], "\r")
		skip(n)
		emit(r)
	}
}
