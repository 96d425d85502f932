package javaregex

import (
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf16"
)

// regexFlags are the flags of (?idmsuxU) that are set at a place of a pattern.
type regexFlags uint8

const (
	flagIgnoreCase regexFlags = 1 << iota
	flagUnixLines
	flagMultiLine
	flagDotAll
	flagUnicodeCase
	flagComments
	flagUnicodeClasses
	flagCanonical
)

// regexFlagLetters are the flags by their letters. That for canonical equivalence is taken and has
// no effect, as all it changes is which characters are the same that are written differently.
var regexFlagLetters = map[rune]regexFlags{
	'i': flagIgnoreCase, 'd': flagUnixLines, 'm': flagMultiLine, 's': flagDotAll, 'u': flagUnicodeCase, 'x': flagComments,
	'U': flagUnicodeClasses | flagUnicodeCase, 'c': flagCanonical,
}

const (
	// maxPatternDepth bounds the nesting of groups and classes.
	maxPatternDepth = 250
	// quotedRune marks characters between \Q and \E, which stand for themselves.
	quotedRune = 1 << 22
	// noRune stands for the end of the pattern.
	noRune = -1
)

// parser reads a pattern of java.util.regex.
type parser struct {
	in    []rune
	pos   int
	flags regexFlags
	depth int
	// groups is how many numbered groups have begun, names the numbers of those with a name.
	groups int
	names  map[string]int
	err    error
}

func parse(pattern string) (*parser, *node, error) {
	t := &parser{in: unquoteRegex([]rune(pattern)), names: map[string]int{}}
	n := t.choice()
	if t.err == nil && t.pos < len(t.in) {
		t.fail("Unmatched closing ')'")
	}
	return t, n, t.err
}

// unquoteRegex resolves \Q...\E.
func unquoteRegex(in []rune) []rune {
	out := make([]rune, 0, len(in))
	quoted := false
	for i := 0; i < len(in); i++ {
		escape := noRune
		if in[i] == '\\' && i+1 < len(in) {
			escape = int(in[i+1])
		}
		switch {
		case quoted && escape == 'E', !quoted && escape == 'Q':
			quoted = !quoted
			i++
		case quoted:
			out = append(out, in[i]|quotedRune)
		case escape != noRune:
			out = append(out, in[i], in[i+1])
			i++
		default:
			out = append(out, in[i])
		}
	}
	return out
}

func (t *parser) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format+" near index %d", append(args, t.pos)...)
	}
}

func (t *parser) has(f regexFlags) bool { return t.flags&f != 0 }

// at returns the character so many places on.
func (t *parser) at(ahead int) rune {
	if t.pos+ahead >= len(t.in) {
		return noRune
	}
	return t.in[t.pos+ahead]
}

// take reads a character.
func (t *parser) take() rune {
	r := t.at(0)
	t.pos = min(t.pos+1, len(t.in))
	return r
}

// peek returns the next character, past white space and comments where flags allow these.
func (t *parser) peek() rune {
	for t.has(flagComments) {
		switch r := t.at(0); {
		case r == '#':
			for r != noRune && !t.endsLine(r) {
				t.pos++
				r = t.at(0)
			}
		case r != noRune && spaceSet.has(r):
			t.pos++
		default:
			return r
		}
	}
	return t.at(0)
}

func (t *parser) endsLine(r rune) bool {
	return r == '\n' || !t.has(flagUnixLines) && (r == '\r' || r == 0x85 || r|1 == 0x2029)
}

func (t *parser) choice() *node {
	first := t.sequence()
	if t.peek() != '|' {
		return first
	}
	n := &node{kind: regexChoice, parts: []*node{first}}
	for t.err == nil && t.peek() == '|' {
		t.pos++
		n.parts = append(n.parts, t.sequence())
	}
	return n
}

func (t *parser) sequence() *node {
	n := &node{kind: regexSequence}
	for t.err == nil {
		switch c := t.peek(); c {
		case noRune, '|', ')':
			return n
		case '*', '+', '?':
			t.fail("Dangling meta character '%c'", c)
		default:
			if part := t.piece(c); part != nil && t.err == nil {
				n.parts = append(n.parts, t.repeated(part))
			}
		}
	}
	return n
}

// piece reads one that may be repeated, nil for flags.
func (t *parser) piece(c rune) *node {
	switch c {
	case '(':
		return t.group()
	case '[':
		return &node{kind: regexSet, set: t.class(0)}
	case '\\':
		return t.escape()
	case '{': // a repetition of nothing
		return &node{kind: regexSequence}
	}
	t.pos++
	switch c {
	case '.':
		return &node{kind: regexSet, set: t.dot()}
	case '^':
		return &node{kind: t.byLines(regexBegin, regexBegin, regexLine, regexLineUnix)}
	case '$':
		return &node{kind: t.byLines(regexFinal, regexFinalUnix, regexLineEnd, regexLineEndUnix)}
	}
	return t.literal(c &^ quotedRune)
}

func (t *parser) literal(r rune) *node {
	return &node{kind: regexSet, set: t.flags.fold(r)}
}

func (t *parser) dot() runeSet {
	switch {
	case t.has(flagDotAll):
		return anySet
	case t.has(flagUnixLines):
		return setOf('\n', '\n').negated()
	}
	return setOf('\n', '\n', '\r', '\r', 0x85, 0x85, 0x2028, 0x2029).negated()
}

// byLines chooses by the flags that are about lines.
func (t *parser) byLines(whole, wholeUnix, lines, linesUnix regexKind) regexKind {
	if t.has(flagMultiLine) {
		whole, wholeUnix = lines, linesUnix
	}
	if t.has(flagUnixLines) {
		return wholeUnix
	}
	return whole
}

// group reads a group, or one that only sets flags.
func (t *parser) group() *node {
	if t.depth >= maxPatternDepth {
		t.fail("Groups are nested too deep")
		return nil
	}
	t.depth++
	defer func() { t.depth-- }()
	t.pos++
	flags := t.flags
	n := t.groupHead()
	if n == nil || t.err != nil {
		return nil
	}
	n.parts = []*node{t.choice()}
	if t.err == nil && t.peek() != ')' {
		t.fail("Unclosed group")
	}
	if t.err == nil && n.kind == regexLook && n.open[2] == '<' && !n.parts[0].limited() {
		t.fail("Look-behind group does not have an obvious maximum length")
	}
	t.pos++
	t.flags = flags
	return n
}

// groupHead reads what says of which kind a group is.
func (t *parser) groupHead() *node {
	if t.peek() != '?' {
		t.groups++
		return &node{kind: regexGroup, number: t.groups}
	}
	t.pos++
	switch c := t.at(0); c {
	case ':':
		t.pos++
		return &node{kind: regexPlain}
	case '>':
		t.pos++
		return &node{kind: regexAtomic}
	case '=', '!':
		t.pos++
		return &node{kind: regexLook, open: "(?" + string(c)}
	case '<':
		t.pos++
		if behind := t.at(0); behind == '=' || behind == '!' {
			t.pos++
			return &node{kind: regexLook, open: "(?<" + string(behind)}
		}
		return t.named()
	}
	return t.setFlags()
}

func (t *parser) named() *node {
	name := t.groupName()
	if _, ok := t.names[name]; ok {
		t.fail("Named capturing group <%s> is already defined", name)
	}
	t.groups++
	t.names[name] = t.groups
	return &node{kind: regexGroup, number: t.groups}
}

// groupName reads a name and the '>' after it.
func (t *parser) groupName() string {
	start := t.pos
	for r := t.at(0); r < unicode.MaxASCII && r > 0 && (unicode.IsLetter(r) || t.pos > start && unicode.IsDigit(r)); r = t.at(0) {
		t.pos++
	}
	switch {
	case t.pos == start && t.pos < len(t.in):
		t.fail("capturing group name does not start with a Latin letter")
	case t.at(0) != '>':
		t.fail("named capturing group is missing trailing '>'")
	}
	name := string(t.in[start:t.pos])
	t.take()
	return name
}

// setFlags reads the rest of (?flags) or (?flags:.
func (t *parser) setFlags() *node {
	off := false
	for {
		switch c := t.take(); c {
		case ')':
			return nil
		case ':':
			return &node{kind: regexPlain}
		default:
			flag, ok := regexFlagLetters[c]
			switch {
			case c == '-' && !off:
				off = true
			case !ok:
				t.fail("Unknown inline modifier")
				return nil
			case off:
				t.flags &^= flag
			default:
				t.flags |= flag
			}
		}
	}
}

// repeated reads *, +, ? or {n,m} after a piece, and what makes it lazy or possessive.
func (t *parser) repeated(part *node) *node {
	n := &node{kind: regexRepeat, parts: []*node{part}, most: unlimited}
	switch t.peek() {
	case '*':
	case '+':
		n.least = 1
	case '?':
		n.most = 1
	case '{':
		t.pos++
		n.least, n.most = t.counts()
	default:
		return part
	}
	t.pos++
	if c := t.peek(); c == '?' || c == '+' {
		n.mode = c
		t.pos++
	}
	return n
}

// counts reads the bounds of {n,m}, up to the closing brace.
func (t *parser) counts() (least, most int) {
	if !isDigit(t.at(0)) {
		t.fail("Illegal repetition")
		return 0, 0
	}
	least = t.count()
	most = least
	if t.at(0) == ',' {
		t.pos++
		most = unlimited
		if isDigit(t.at(0)) {
			most = t.count()
		}
	}
	switch {
	case t.at(0) != '}':
		t.fail("Unclosed counted closure")
	case most != unlimited && most < least:
		t.fail("Illegal repetition range")
	case most == math.MaxInt32:
		most = unlimited
	}
	return least, most
}

func (t *parser) count() int {
	n := 0
	for ; isDigit(t.at(0)); t.pos++ {
		if n = n*10 + int(t.at(0)-'0'); n > math.MaxInt32 {
			t.fail("Illegal repetition range")
			return 0
		}
	}
	return n
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// escape reads a backslash sequence outside of a class.
func (t *parser) escape() *node {
	c := t.at(1)
	kind, ok := regexSet, true
	switch {
	case c == 'A':
		kind = regexBegin
	case c == 'z':
		kind = regexEnd
	case c == 'Z':
		kind = t.byLines(regexFinal, regexFinalUnix, regexFinal, regexFinalUnix)
	case c == 'b' && slices.Equal(t.in[min(t.pos+2, len(t.in)):min(t.pos+5, len(t.in))], []rune("{g}")):
		kind = regexBetween
		t.pos += 3
	case c == 'b':
		kind = t.byClasses(regexWord, regexWordUnicode)
	case c == 'B':
		kind = t.byClasses(regexNoWord, regexNoWordUnicode)
	case c == 'G':
		kind = regexLast
	case c == 'R':
		kind = regexBreak
	case c == 'X':
		kind = regexCluster
	default:
		ok = false
	}
	switch {
	case ok:
		t.pos += 2
		return &node{kind: kind}
	case c == 'k':
		return t.namedReference()
	case '1' <= c && c <= '9':
		return t.reference()
	}
	set, r, single := t.escaped()
	if single && t.err == nil {
		return t.literal(r)
	}
	return &node{kind: regexSet, set: set}
}

func (t *parser) byClasses(plain, unicode regexKind) regexKind {
	if t.has(flagUnicodeClasses) {
		return unicode
	}
	return plain
}

// reference reads the number of a group, with as many digits as there are groups for up to here.
func (t *parser) reference() *node {
	t.pos++
	number := int(t.take() - '0')
	for isDigit(t.at(0)) && number*10+int(t.at(0)-'0') <= t.groups {
		number = number*10 + int(t.take()-'0')
	}
	return &node{kind: regexReference, number: number, fold: t.has(flagIgnoreCase)}
}

func (t *parser) namedReference() *node {
	t.pos += 2
	if t.at(0) != '<' {
		t.fail("\\k is not followed by '<' for named capturing group")
		return nil
	}
	t.pos++
	name := t.groupName()
	number, ok := t.names[name]
	if !ok {
		t.fail("named capturing group <%s> does not exist", name)
	}
	return &node{kind: regexReference, number: number, fold: t.has(flagIgnoreCase)}
}

// regexControls are the escapes of one letter for one character.
var regexControls = map[rune]rune{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f', 'a': 7, 'e': 27}

// escaped reads a backslash sequence that stands for a character or a set of them.
func (t *parser) escaped() (set runeSet, r rune, single bool) {
	t.pos++
	c := t.take()
	if set := t.predefined(c); set != nil {
		return set, 0, false
	}
	if r, ok := regexControls[c]; ok {
		return nil, r, true
	}
	switch c {
	case noRune:
		t.fail("Unexpected end after backslash")
	case 'p', 'P':
		return t.property().negatedIf(c == 'P'), 0, false
	case '0':
		most := 2
		if '0' <= t.at(0) && t.at(0) <= '3' {
			most = 3
		}
		return nil, t.digits("octal", 8, 1, most), true
	case 'x':
		return nil, t.hexadecimal(), true
	case 'u':
		return nil, t.codeUnits(), true
	case 'N':
		return nil, t.charByName(), true
	case 'c':
		if t.at(0) == noRune {
			t.fail("Illegal control escape sequence")
		}
		return nil, t.take()&^quotedRune ^ 64, true
	}
	if c <= unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
		t.fail("Illegal/unsupported escape sequence")
	}
	return nil, c &^ quotedRune, true
}

// predefined returns the set of \d and its like, nil for other letters.
func (t *parser) predefined(c rune) runeSet {
	digits, words, spaces := digitSet, wordSet, spaceSet
	if t.has(flagUnicodeClasses) {
		digits, words, spaces = fromTable(unicode.Nd), unicodeWords(), fromTable(unicode.White_Space)
	}
	for _, p := range []struct {
		letter rune
		set    runeSet
	}{{'d', digits}, {'w', words}, {'s', spaces}, {'h', blankSet}, {'v', verticalSet}} {
		if c|0x20 == p.letter {
			return p.set.negatedIf(c != p.letter)
		}
	}
	return nil
}

// hexadecimal reads what follows \x.
func (t *parser) hexadecimal() rune {
	if t.at(0) != '{' {
		return t.digits("hexadecimal", 16, 2, 2)
	}
	t.pos++
	r := t.digits("hexadecimal", 16, 1, len(t.in))
	if t.err == nil && t.at(0) != '}' {
		t.fail("Unclosed hexadecimal escape sequence")
	}
	t.pos++
	return r
}

// codeUnits reads what follows \u: a unit of UTF-16, or two of them that belong together.
func (t *parser) codeUnits() rune {
	r := t.digits("Unicode", 16, 4, 4)
	if !utf16.IsSurrogate(r) || t.at(0) != '\\' || t.at(1) != 'u' {
		return r
	}
	before := t.pos
	t.pos += 2
	if whole := utf16.DecodeRune(r, t.digits("Unicode", 16, 4, 4)); whole != unicode.ReplacementChar {
		return whole
	}
	t.pos = before
	return r
}

func (t *parser) digits(kind string, base rune, least, most int) rune {
	n, count := rune(0), 0
	for ; count < most; count++ {
		d := rune(digitValue(t.at(0)))
		if d >= base {
			break
		}
		if n = n*base + d; n > unicode.MaxRune {
			t.fail("Hexadecimal codepoint is too big")
			return 0
		}
		t.pos++
	}
	if count < least {
		t.fail("Illegal %s escape sequence", kind)
	}
	return n
}

// digitValue is the value of a digit or letter, and 99 of anything else.
func digitValue(c rune) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'z':
		return uint64(c|0x20-'a') + 10
	}
	return 99
}
