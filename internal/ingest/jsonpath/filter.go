package jsonpath

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/relaxed"
	"github.com/hengedb/henge/internal/javaregex"
)

// The conditions of [?(..)], as Jayway's JsonPath defines them:
//
//	@.a  !@.a            it is there, if only as null
//	== != === !==        equality; for == the text '5' and the number 5 are equal, for === not
//	< <= > >=            of two numbers or two texts
//	=~ /pattern/flags    a text, number, boolean or any element matches wholly; flags dimsuxU
//	in nin               the left value is an element of the list on the right
//	subsetof             all elements of the left list are in the right one
//	anyof noneof         some or none of them are
//	all contains         the left list holds all elements of the right one; the right value
//	size empty           the length of a list or text; whether it, or an object, has none
//	&& || ! ( )
//
// A value is a path from the element (@) or the root ($), a number, a text, true, false, null, or
// a list or object in JSON, with quotes of either kind. A path that leads nowhere equals nothing,
// not null either.

// nowhere is the value of a path that does not exist, and matcher the value of a regular
// expression.
type (
	nowhere struct{}
	matcher struct{ lines *javaregex.LinePattern }
)

// pathCondition says whether an element matches.
type pathCondition func(root, element any) bool

func (p *parser) anyOf() (pathCondition, bool) {
	if p.depth++; p.depth > maxPathDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	left, ok := p.allOf()
	for ok {
		if p.blanks(); !p.eat("||") {
			return left, true
		}
		var right pathCondition
		before := left
		right, ok = p.allOf()
		left = func(root, e any) bool { return before(root, e) || right(root, e) }
	}
	return nil, false
}

func (p *parser) allOf() (pathCondition, bool) {
	left, ok := p.condition()
	for ok {
		if p.blanks(); !p.eat("&&") {
			return left, true
		}
		var right pathCondition
		before := left
		right, ok = p.condition()
		left = func(root, e any) bool { return before(root, e) && right(root, e) }
	}
	return nil, false
}

func (p *parser) condition() (pathCondition, bool) {
	p.blanks()
	if p.at+1 < len(p.text) && p.text[p.at] == '!' && p.text[p.at+1] != '=' {
		p.at++
		if p.depth++; p.depth > maxPathDepth {
			return nil, false
		}
		defer func() { p.depth-- }()
		c, ok := p.condition()
		return func(root, e any) bool { return !c(root, e) }, ok
	}
	if p.eat("(") {
		c, ok := p.anyOf()
		return c, ok && p.eat(")")
	}
	left, isPath, ok := p.operand()
	if !ok {
		return nil, false
	}
	p.blanks()
	if compare := p.operator(); compare != nil {
		p.blanks()
		right, _, ok := p.operand()
		return func(root, e any) bool { return compare(left(root, e), right(root, e)) }, ok
	}
	return func(root, e any) bool {
		_, none := left(root, e).(nowhere)
		return !none
	}, isPath
}

// pathOperators are in an order in which none is the beginning of a later one.
var pathOperators = []struct {
	name    string
	matches func(a, b any) bool
}{
	{"===", samePathValues}, {"!==", func(a, b any) bool { return !samePathValues(a, b) }},
	{"==", equalPathValues}, {"!=", func(a, b any) bool { return !equalPathValues(a, b) }},
	{"=~", matchesPattern},
	{"<=", ordered(func(c int) bool { return c <= 0 })}, {">=", ordered(func(c int) bool { return c >= 0 })},
	{"<", ordered(func(c int) bool { return c < 0 })}, {">", ordered(func(c int) bool { return c > 0 })},
	{"in", inList}, {"nin", func(a, b any) bool { return !inList(a, b) }},
	{"subsetof", ofLists(func(a, b []any) bool { return !slices.ContainsFunc(a, func(v any) bool { return !holds(b, v) }) })},
	{"anyof", ofLists(func(a, b []any) bool { return slices.ContainsFunc(a, func(v any) bool { return holds(b, v) }) })},
	{"noneof", ofLists(func(a, b []any) bool { return !slices.ContainsFunc(a, func(v any) bool { return holds(b, v) }) })},
	{"all", ofLists(func(a, b []any) bool { return !slices.ContainsFunc(b, func(v any) bool { return !holds(a, v) }) })},
	{"contains", containsValue}, {"size", hasSize}, {"empty", isEmpty},
}

// operator reads an operator, in any case. A word is one if no other letter follows it. It returns
// nil if there is none.
func (p *parser) operator() func(a, b any) bool {
	for _, o := range pathOperators {
		end := p.at + len(o.name)
		if end > len(p.text) || !strings.EqualFold(p.text[p.at:end], o.name) {
			continue
		}
		if isLetter(o.name[0]) && end < len(p.text) && isLetter(p.text[end]) {
			continue
		}
		p.at = end
		return o.matches
	}
	return nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// operand reads a path from the element or the root, or a literal.
func (p *parser) operand() (value func(root, element any) any, isPath, ok bool) {
	if p.at >= len(p.text) {
		return nil, false, false
	}
	constant := func(v any) func(root, e any) any { return func(any, any) any { return v } }
	switch c := p.text[p.at]; c {
	case '@', '$':
		path, ok := p.path(c)
		return func(root, e any) any {
			if c == '$' {
				e = root
			}
			found, there := path.find(root, e)
			if !there {
				return nowhere{}
			}
			return found
		}, true, ok
	case '\'', '"':
		s, ok := p.quoted()
		return constant(s), false, ok
	case '[', '{':
		v, ok := p.json()
		return constant(v), false, ok
	case '/':
		v, ok := p.pattern()
		return constant(v), false, ok
	}
	for word, literal := range map[string]any{"true": true, "false": false, "null": nil} {
		if p.eat(word) {
			return constant(literal), false, true
		}
	}
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.eE0123456789", p.text[p.at]) >= 0 {
		p.at++
	}
	n, ok := record.ParseJSONNumber([]byte(p.text[start:p.at]))
	if n.Integer {
		return constant(n.Long), false, ok
	}
	return constant(n.Double), false, ok
}

// json reads a list or an object.
func (p *parser) json() (v any, ok bool) {
	literal := relaxed.Parser{Features: relaxed.Features{SingleQuotes: true, UnquotedNames: true, AnyEscape: true}}
	v, end, problem := literal.Literal([]byte(p.text[p.at:]))
	if problem != nil {
		return nil, false
	}
	p.at += end
	return v, true
}

// pattern reads /pattern/flags. A slash within the pattern has a backslash before it.
func (p *parser) pattern() (matcher, bool) {
	var pattern strings.Builder
	p.at++
	for ; p.at < len(p.text) && p.text[p.at] != '/'; p.at++ {
		if p.text[p.at] == '\\' && p.at+1 < len(p.text) {
			if p.at++; p.text[p.at] != '/' {
				pattern.WriteByte('\\')
			}
		}
		pattern.WriteByte(p.text[p.at])
	}
	if !p.eat("/") {
		return matcher{}, false
	}
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("dimsuxU", p.text[p.at]) >= 0 {
		p.at++
	}
	text := pattern.String()
	if flags := p.text[start:p.at]; flags != "" {
		text = "(?" + flags + ")" + text
	}
	lines, err := javaregex.CompileLines(text, "flattenSpec", patternTime)
	if err != nil {
		p.problem = err
	}
	return matcher{lines}, err == nil
}

// matchesPattern says that a pattern, on either side, matches a value or an element of a list. A
// match that takes longer than patternTime is none.
func matchesPattern(a, b any) bool {
	pattern, left := a.(matcher)
	if right, ok := b.(matcher); ok == left {
		return false
	} else if ok {
		pattern, b = right, a
	}
	if list, ok := b.([]any); ok {
		return slices.ContainsFunc(list, pattern.matches)
	}
	return pattern.matches(b)
}

func (p matcher) matches(v any) bool {
	text := ""
	switch v := v.(type) {
	case string:
		text = v
	case bool:
		text = strconv.FormatBool(v)
	default:
		text, _ = numberText(v)
	}
	groups, err := p.lines.Match(text)
	return err == nil && groups != nil
}

// equalPathValues is ==. A text and a number are compared as what the left one is.
func equalPathValues(a, b any) bool {
	switch x := a.(type) {
	case nowhere, matcher:
		return false
	case nil:
		return b == nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case string:
		if y, ok := b.(string); ok {
			return x == y
		}
		y, ok := numberText(b)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalPathValues)
	case *record.Object:
		y, ok := b.(*record.Object)
		return ok && equalObjects(x, y)
	}
	if s, ok := b.(string); ok {
		b = record.Digits(s)
	}
	c, ok := compareNumbers(a, b)
	return ok && c == 0
}

// samePathValues is ===.
func samePathValues(a, b any) bool {
	_, leftText := a.(string)
	_, rightText := b.(string)
	return leftText == rightText && equalPathValues(a, b)
}

func equalObjects(a, b *record.Object) bool {
	if len(a.Names) != len(b.Names) {
		return false
	}
	for i, name := range a.Names {
		if v, ok := b.Get(name); !ok || !equalPathValues(a.Values[i], v) {
			return false
		}
	}
	return true
}

// compareNumbers compares two numbers exactly. NaN and infinities are no numbers.
func compareNumbers(a, b any) (c int, ok bool) {
	x, whole := a.(int64)
	if y, both := b.(int64); whole && both {
		return cmp.Compare(x, y), true
	}
	left, right := pathNumber(a), pathNumber(b)
	if left == nil || right == nil {
		return 0, false
	}
	return left.Cmp(right), true
}

func pathNumber(v any) *big.Rat {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	case float32:
		return new(big.Rat).SetFloat64(float64(v))
	case record.Digits:
		return decimalRat(string(v))
	}
	return nil
}

// patternTime bounds the match of one value.
const patternTime = time.Second

// maxExponent bounds the exponents of numbers that are texts: their digits take memory.
const maxExponent = 1000

// decimalRat reads a decimal number, nil if text is none.
func decimalRat(text string) *big.Rat {
	if strings.Trim(text, "+-.eE0123456789") != "" {
		return nil
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if e, err := strconv.Atoi(text[at+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return nil
		}
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return n
}

// numberText returns a number as the text that a text is compared with.
func numberText(v any) (string, bool) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return jsonDouble(v), true
	case float32:
		return jsonDouble(float64(v)), true
	case record.Digits:
		return string(v), true
	}
	return "", false
}

// jsonDouble returns a double with its fraction, as 2.0.
func jsonDouble(v float64) string { return string(record.AppendJSON(nil, v)) }

// ordered returns the comparison of two numbers or two texts.
func ordered(holds func(c int) bool) func(a, b any) bool {
	return func(a, b any) bool {
		if s, ok := a.(string); ok {
			t, ok := b.(string)
			return ok && holds(strings.Compare(s, t))
		}
		c, ok := compareNumbers(a, b)
		return ok && holds(c)
	}
}

func holds(list []any, v any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return equalPathValues(v, e) })
}

func inList(a, b any) bool {
	list, ok := b.([]any)
	return ok && holds(list, a)
}

func ofLists(holds func(a, b []any) bool) func(a, b any) bool {
	return func(a, b any) bool {
		x, left := a.([]any)
		y, right := b.([]any)
		return left && right && holds(x, y)
	}
}

func containsValue(a, b any) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && strings.Contains(x, y)
	case []any:
		return holds(x, b)
	}
	return false
}

func hasSize(a, b any) bool {
	want, ok := b.(int64)
	switch x := a.(type) {
	case string:
		return ok && int64(len(utf16.Encode([]rune(x)))) == want
	case []any:
		return ok && int64(len(x)) == want
	}
	return false
}

func isEmpty(a, b any) bool {
	want, ok := b.(bool)
	if !ok {
		return false
	}
	switch x := a.(type) {
	case string:
		return (x == "") == want
	case []any:
		return (len(x) == 0) == want
	case *record.Object:
		return (len(x.Names) == 0) == want
	}
	return false
}
