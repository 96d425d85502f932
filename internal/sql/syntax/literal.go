package syntax

import (
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/fault"
)

// unquote returns what a string or name in quotes, its first and last byte, stands for.
func unquote(s string) string {
	quote, body := s[:1], s[1:len(s)-1]
	if !strings.Contains(body, quote) {
		return body
	}
	return strings.ReplaceAll(body, quote+quote, quote)
}

// stringToken returns the value of a token that is a string of any form but a binary one.
func (p *parser) stringToken(t *token) string {
	s := p.source(t)
	return unquote(s[strings.IndexByte(s, '\''):])
}

// atString reports whether the current token is a string, of any form but a binary one.
func (p *parser) atString() bool {
	if p.notes != nil {
		p.notes.addAll(p.pos, []string{tokenImage[tokPrefixedString], tokenImage[tokString], tokenImage[tokUnicodeString]})
	}
	k := p.toks[p.pos].kind
	return k == tokString || k == tokPrefixedString || k == tokUnicodeString
}

// stringValue reads a string and those that continue it, each on a later line.
func (p *parser) stringValue() string {
	if !p.atString() {
		p.fail()
		return ""
	}
	t := &p.toks[p.pos]
	var value string
	if t.kind == tokUnicodeString {
		value = p.unicode()
	} else {
		value = p.stringToken(t)
		p.advance()
	}
	if p.toks[p.pos].kind != tokString || p.toks[p.pos].line == t.endLine {
		return value
	}
	var b strings.Builder
	b.WriteString(value)
	for last := t; p.toks[p.pos].kind == tokString && p.toks[p.pos].line > last.endLine; {
		last = &p.toks[p.pos]
		b.WriteString(p.stringToken(last))
		p.advance()
	}
	return b.String()
}

func (p *parser) stringLiteral() *String {
	start := p.mark()
	s := p.strings.one()
	s.Value = p.stringValue()
	s.Pos = p.from(start)
	return s
}

// unicode reads a token U&'..' or U&".." and the UESCAPE behind it, and returns its value.
func (p *parser) unicode() string {
	t := &p.toks[p.pos]
	body := unquote(p.source(t)[2:])
	p.advance()
	escape := byte('\\')
	if p.acceptWord(kwUescape) {
		if !p.at(tokString) {
			p.fail()
			return ""
		}
		e := p.stringToken(&p.toks[p.pos])
		if len(e) != 1 || strings.ContainsAny(e, "+'\" \t\n\r\f") || isHex(e[0]) {
			p.stop(fault.SQLParse(p.toks[p.pos].span(), "UESCAPE must be one character other than a hexadecimal digit, blank, plus or quote, "+
				"but is [%s] (line [%d], column [%d])", e, p.toks[p.pos].line, p.toks[p.pos].col))
			return ""
		}
		escape = e[0]
		p.advance()
	}
	value, ok := decodeUnicode(body, escape)
	if !ok {
		p.stop(fault.SQLParse(t.span(), "Unicode escape [%s] must be followed by four hexadecimal digits or by itself "+
			"(line [%d], column [%d])", string(escape), t.line, t.col))
	}
	return value
}

// decodeUnicode replaces escape and four digits by the UTF-16 unit they give (two of them may make
// a character), and escape twice by itself.
func decodeUnicode(s string, escape byte) (string, bool) {
	if strings.IndexByte(s, escape) < 0 {
		return s, true
	}
	var b strings.Builder
	high := rune(-1) // a high surrogate that waits for its other half
	flush := func() {
		if high >= 0 {
			b.WriteRune(utf8.RuneError)
			high = -1
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] != escape {
			flush()
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == escape {
			flush()
			b.WriteByte(escape)
			i++
			continue
		}
		if i+4 >= len(s) {
			return "", false
		}
		unit := rune(0)
		for _, c := range []byte(s[i+1 : i+5]) {
			if !isHex(c) {
				return "", false
			}
			unit = unit<<4 | hexValue(c)
		}
		i += 4
		switch {
		case 0xdc00 <= unit && unit < 0xe000 && high >= 0:
			b.WriteRune((high-0xd800)<<10 + (unit - 0xdc00) + 0x10000)
			high = -1
		case 0xd800 <= unit && unit < 0xdc00:
			flush()
			high = unit
		default:
			flush()
			b.WriteRune(unit)
		}
	}
	flush()
	return b.String(), true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hexValue(c byte) rune {
	switch {
	case c <= '9':
		return rune(c - '0')
	case c <= 'F':
		return rune(c-'A') + 10
	}
	return rune(c-'a') + 10
}

// number reads an unsigned number of any form.
func (p *parser) number() *Number {
	t := &p.toks[p.pos]
	n := p.numbers.one()
	n.Pos = Pos{At: t.span()}
	n.Text = p.source(t)
	switch t.kind {
	case tokDecimal:
		n.Kind = Decimal
	case tokApprox:
		n.Kind = Approx
	}
	p.advance()
	return n
}

// atNumber reports whether the current token is a number of any form.
func (p *parser) atNumber() bool {
	// All three are asked for, so that an error lists all three.
	integer, decimal, approx := p.at(tokInteger), p.at(tokDecimal), p.at(tokApprox)
	return integer || decimal || approx
}

// bytes reads X'0A'.
func (p *parser) bytes() Expr {
	t := &p.toks[p.pos]
	hex := unquote(p.source(t)[1:])
	p.advance()
	for i := range len(hex) {
		if !isHex(hex[i]) || len(hex)%2 != 0 {
			p.stop(fault.SQLParse(t.span(), "Binary literal must hold an even number of hexadecimal digits, but is [%s] "+
				"(line [%d], column [%d])", hex, t.line, t.col))
			break
		}
	}
	return &Bytes{Pos: Pos{At: t.span()}, Hex: hex}
}

// temporal reads the string of a date or time whose type word has been read, and checks its form.
func (p *parser) temporal(start mark, kind TemporalKind) Expr {
	text := p.stringValue()
	if kind != Time {
		text = strings.TrimLeft(text, " ")
	}
	if !p.failed && !validTemporal(kind, text) {
		at := p.from(start).At
		p.stop(fault.SQLParse(at, "Illegal %s literal '%s': not in format '%s' (line [%d], column [%d])",
			kind, text, temporalFormat[kind], at.Line, at.Column))
	}
	return &Temporal{Pos: p.from(start), Kind: kind, Text: text}
}

// intervalUnits are the units of an interval, from the longest.
var intervalUnits = []keyword{kwYear, kwQuarter, kwMonth, kwWeek, kwDay, kwHour, kwMinute, kwSecond}

// lastUnits are the units that an interval may end with, by the one it begins with.
var lastUnits = map[string][]keyword{
	"YEAR": {kwMonth}, "DAY": {kwHour, kwMinute, kwSecond}, "HOUR": {kwMinute, kwSecond}, "MINUTE": {kwSecond},
}

// interval reads what follows the word INTERVAL.
func (p *parser) interval(start mark) Expr {
	v := &Interval{Precision: -1, Fraction: -1}
	if p.accept(tokMinus) {
		v.Negative = true
	} else {
		p.accept(tokPlus)
	}
	v.Text = p.stringValue()
	v.From = p.intervalUnit()
	if p.accept(tokLeftParen) {
		v.Precision = p.smallInteger()
		if v.From == "SECOND" && p.accept(tokComma) {
			v.Fraction = p.smallInteger()
		}
		p.expect(tokRightParen)
	}
	if v.To = p.lastUnit(v.From); v.To == "SECOND" && p.accept(tokLeftParen) {
		v.Fraction = p.smallInteger()
		p.expect(tokRightParen)
	}
	v.Pos = p.from(start)
	return v
}

func (p *parser) intervalUnit() string {
	for _, k := range intervalUnits {
		if p.acceptWord(k) {
			return keywordText[k]
		}
	}
	p.fail()
	return ""
}

// lastUnit reads TO and the last unit of an interval, if it has one. A TO before any other unit
// belongs to what is around: FLOOR(t - INTERVAL '3' MONTH TO YEAR).
func (p *parser) lastUnit(first string) string {
	for _, last := range lastUnits[first] {
		if p.acceptWords(kwTo, last) {
			return keywordText[last]
		}
	}
	return ""
}

// smallInteger reads a number that is a precision, scale, length or the like.
func (p *parser) smallInteger() int {
	if !p.at(tokInteger) {
		p.fail()
		return 0
	}
	t := &p.toks[p.pos]
	v := 0
	for _, c := range []byte(p.source(t)) {
		if v = v*10 + int(c-'0'); v > 1<<31-1 {
			p.stop(fault.SQLParse(t.span(), "Number [%s] is out of range (line [%d], column [%d])", p.source(t), t.line, t.col))
			return 0
		}
	}
	p.advance()
	return v
}
