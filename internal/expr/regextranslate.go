package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// translation is a pattern of java.util.regex rewritten for both engines in use here: package regexp, and regexp2 where a pattern needs
// backtracking. Classes become explicit ranges, so that neither engine's own idea of \w or of nested brackets matters.
type translation struct {
	text string
	// backtracking says that package regexp can't run it: look-around, back-references, atomic groups, possessive quantifiers.
	backtracking bool
	// lineEnd says that it has a "$", which in Java also matches before a line terminator at the end of the text.
	lineEnd bool
}

// translator walks over a pattern once.
type translator struct {
	in  string
	pos int
	out strings.Builder
	// atom is where the last atom starts in out, -1 when there is nothing to repeat. groups holds where the open groups start.
	atom         int
	groups       []int
	dotAll       bool
	multiLine    bool
	backtracking bool
	lineEnd      bool
	err          error
}

// maxPatternDepth bounds the nesting of groups and classes.
const maxPatternDepth = 250

func translatePattern(pattern string) (translation, error) {
	t := &translator{in: pattern, atom: -1}
	// A flag that is set anywhere is taken to hold everywhere: where exactly "." may not match a line terminator then differs only for
	// terminators other than "\n".
	t.dotAll = strings.Contains(pattern, "(?") && flagSet(pattern, 's')
	t.multiLine = strings.Contains(pattern, "(?") && flagSet(pattern, 'm')
	for t.pos < len(t.in) && t.err == nil {
		t.element()
	}
	if t.err == nil && len(t.groups) > 0 {
		t.fail("Unclosed group")
	}
	return translation{text: t.out.String(), backtracking: t.backtracking, lineEnd: t.lineEnd && !t.multiLine}, t.err
}

// flagSet reports whether some group of flags in the pattern sets a flag.
func flagSet(pattern string, flag byte) bool {
	for rest := pattern; ; {
		i := strings.Index(rest, "(?")
		if i < 0 {
			return false
		}
		rest = rest[i+2:]
		for k := 0; k < len(rest) && (rest[k] >= 'a' && rest[k] <= 'z' || rest[k] == 'U'); k++ {
			if rest[k] == flag {
				return true
			}
		}
	}
}

func (t *translator) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format+" near index %d", append(args, t.pos)...)
	}
}

func (t *translator) element() {
	c := t.in[t.pos]
	switch c {
	case '(':
		t.group()
	case ')':
		if len(t.groups) == 0 {
			t.fail("Unmatched closing ')'")
			return
		}
		t.pos++
		t.out.WriteByte(')')
		t.atom = t.groups[len(t.groups)-1]
		t.groups = t.groups[:len(t.groups)-1]
	case '[':
		t.begin()
		set := t.class(0)
		set.write(&t.out)
	case '*', '+', '?', '{':
		t.quantifier()
	case '|':
		t.pos++
		t.out.WriteByte('|')
		t.atom = -1
	case '.':
		t.begin()
		t.pos++
		if t.dotAll {
			t.out.WriteByte('.')
		} else {
			t.out.WriteString("[^\n\r\u0085\u2028\u2029]")
		}
	case '^':
		t.pos++
		t.out.WriteByte('^')
		t.atom = -1
	case '$':
		t.pos++
		t.lineEnd = true
		t.out.WriteByte('$')
		t.atom = -1
	case '\\':
		t.escape()
	default:
		t.begin()
		r, size := utf8.DecodeRuneInString(t.in[t.pos:])
		t.pos += size
		writeLiteral(&t.out, r)
	}
}

func (t *translator) begin() { t.atom = t.out.Len() }

// group opens a group, or reads one that only sets flags.
func (t *translator) group() {
	start := t.out.Len()
	if len(t.groups) >= maxPatternDepth {
		t.fail("Groups are nested too deep")
		return
	}
	rest := t.in[t.pos:]
	for _, open := range []string{"(?=", "(?!", "(?<=", "(?<!", "(?>"} {
		if strings.HasPrefix(rest, open) {
			t.backtracking = true
			t.open(open, start)
			return
		}
	}
	switch {
	case strings.HasPrefix(rest, "(?:"):
		t.open("(?:", start)
	case strings.HasPrefix(rest, "(?<"):
		end := strings.IndexByte(rest, '>')
		if end < 4 {
			t.fail("named capturing group is missing trailing '>'")
			return
		}
		t.open(rest[:end+1], start)
	case strings.HasPrefix(rest, "(?"):
		t.flags(rest, start)
	default:
		t.open("(", start)
	}
}

func (t *translator) open(text string, start int) {
	t.pos += len(text)
	t.out.WriteString(text)
	t.groups = append(t.groups, start)
	t.atom = -1
}

// flags reads (?flags) or (?flags:. Flags that are about Unicode case folding are on here anyway.
func (t *translator) flags(rest string, start int) {
	kept := []byte("(?")
	for i := 2; i < len(rest); i++ {
		switch c := rest[i]; c {
		case 'i', 's', 'm', '-':
			kept = append(kept, c)
		case 'x':
			t.backtracking = true
			kept = append(kept, c)
		case 'd', 'u', 'U':
		case ':', ')':
			if text := string(kept); c == ')' {
				t.pos += i + 1
				if text != "(?" && text != "(?-" {
					t.out.WriteString(strings.TrimSuffix(text, "-") + ")")
				}
				t.atom = -1
			} else {
				t.pos += i + 1
				t.out.WriteString(strings.TrimSuffix(text, "-") + ":")
				t.groups = append(t.groups, start)
				t.atom = -1
			}
			return
		default:
			t.pos += i
			t.fail("Unknown inline modifier")
			return
		}
	}
	t.pos = len(t.in)
	t.fail("Unclosed group")
}

// quantifier reads *, +, ? or {n,m}, and what makes it lazy or possessive.
func (t *translator) quantifier() {
	c := t.in[t.pos]
	if t.atom < 0 {
		if c == '{' {
			t.fail("Illegal repetition")
		} else {
			t.fail("Dangling meta character '%c'", c)
		}
		return
	}
	quantifier := string(c)
	if c == '{' {
		end := strings.IndexByte(t.in[t.pos:], '}')
		if end < 0 || !isRepetition(t.in[t.pos+1:t.pos+end]) {
			t.fail("Illegal repetition")
			return
		}
		quantifier = t.in[t.pos : t.pos+end+1]
	}
	t.pos += len(quantifier)
	switch {
	case strings.HasPrefix(t.in[t.pos:], "?"):
		t.pos++
		t.out.WriteString(quantifier + "?")
	case strings.HasPrefix(t.in[t.pos:], "+"):
		t.pos++
		t.backtracking = true
		all := t.out.String()
		t.out.Reset()
		t.out.WriteString(all[:t.atom] + "(?>" + all[t.atom:] + quantifier + ")")
	default:
		t.out.WriteString(quantifier)
	}
	// Java repeats a repetition (a{2}{3}); package regexp refuses it.
	all := t.out.String()
	if t.pos < len(t.in) && strings.IndexByte("*+?{", t.in[t.pos]) >= 0 {
		t.out.Reset()
		t.out.WriteString(all[:t.atom] + "(?:" + all[t.atom:] + ")")
	}
}

func isRepetition(s string) bool {
	low, high, bounded := strings.Cut(s, ",")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(low) && (!bounded || high == "" || digits(high))
}

// escape reads a backslash sequence outside of a class.
func (t *translator) escape() {
	if t.pos+1 >= len(t.in) {
		t.fail("Unexpected end after backslash")
		return
	}
	c := t.in[t.pos+1]
	switch c {
	case 'Q':
		t.quoted()
		return
	case 'E':
		t.pos += 2
		return
	case 'A', 'b', 'B', 'z':
		t.pos += 2
		t.out.WriteByte('\\')
		t.out.WriteByte(c)
		t.atom = -1
		return
	case 'Z', 'G':
		t.pos += 2
		t.backtracking = true
		t.out.WriteByte('\\')
		t.out.WriteByte(c)
		t.atom = -1
		return
	case 'R':
		t.begin()
		t.pos += 2
		t.out.WriteString("(?:\r\n|[\n\u000b\f\r\u0085\u2028\u2029])")
		return
	case 'k':
		end := strings.IndexByte(t.in[t.pos:], '>')
		if !strings.HasPrefix(t.in[t.pos+2:], "<") || end < 0 {
			t.fail("\\k is not followed by '<' for named capturing group")
			return
		}
		t.begin()
		t.backtracking = true
		t.out.WriteString(t.in[t.pos : t.pos+end+1])
		t.pos += end + 1
		return
	}
	t.begin()
	if c >= '1' && c <= '9' {
		t.backtracking = true
		t.out.WriteString("(?:\\" + string(c) + ")")
		t.pos += 2
		return
	}
	set, r, single := t.escaped()
	if t.err != nil {
		return
	}
	if single {
		writeLiteral(&t.out, r)
	} else {
		set.write(&t.out)
	}
}

// quoted reads \Q...\E.
func (t *translator) quoted() {
	rest := t.in[t.pos+2:]
	text, after, closed := strings.Cut(rest, `\E`)
	for _, r := range text {
		t.begin()
		writeLiteral(&t.out, r)
	}
	t.pos = len(t.in) - len(after)
	if !closed {
		t.pos = len(t.in)
	}
}

func writeLiteral(out *strings.Builder, r rune) {
	if r < utf8.RuneSelf && strings.IndexByte(`\.+*?()|[]{}^$#- `, byte(r)) >= 0 && r != ' ' && r != '#' && r != '-' {
		out.WriteByte('\\')
	}
	out.WriteRune(r)
}

// escaped reads a backslash sequence that stands for a character or a set of them.
func (t *translator) escaped() (set runeSet, r rune, single bool) {
	t.pos++
	if t.pos >= len(t.in) {
		t.fail("Unexpected end after backslash")
		return nil, 0, true
	}
	c, size := utf8.DecodeRuneInString(t.in[t.pos:])
	t.pos += size
	switch c {
	case 'd', 'D':
		return digitSet.negatedIf(c == 'D'), 0, false
	case 'w', 'W':
		return wordSet.negatedIf(c == 'W'), 0, false
	case 's', 'S':
		return spaceSet.negatedIf(c == 'S'), 0, false
	case 'h', 'H':
		return blankSet.negatedIf(c == 'H'), 0, false
	case 'v', 'V':
		return verticalSet.negatedIf(c == 'V'), 0, false
	case 'p', 'P':
		return t.property().negatedIf(c == 'P'), 0, false
	case 't':
		return nil, '\t', true
	case 'n':
		return nil, '\n', true
	case 'r':
		return nil, '\r', true
	case 'f':
		return nil, '\f', true
	case 'a':
		return nil, 7, true
	case 'e':
		return nil, 27, true
	case '0':
		return nil, t.digits(8, 1, 3), true
	case 'x':
		if strings.HasPrefix(t.in[t.pos:], "{") {
			t.pos++
			r := t.digits(16, 1, 6)
			if !strings.HasPrefix(t.in[t.pos:], "}") {
				t.fail("Unclosed hexadecimal escape sequence")
			}
			t.pos++
			return nil, r, true
		}
		return nil, t.digits(16, 2, 2), true
	case 'u':
		return nil, t.digits(16, 4, 4), true
	case 'c':
		if t.pos >= len(t.in) {
			t.fail("Illegal control escape sequence")
			return nil, 0, true
		}
		t.pos++
		return nil, rune(t.in[t.pos-1]) ^ 64, true
	}
	if c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
		t.fail("Illegal/unsupported escape sequence")
	}
	return nil, c, true
}

func (t *translator) digits(base, least, most int) rune {
	n, count := rune(0), 0
	for ; count < most && t.pos < len(t.in); count++ {
		d := strings.IndexByte("0123456789abcdef", t.in[t.pos]|0x20)
		if t.in[t.pos] <= '9' {
			d = strings.IndexByte("0123456789", t.in[t.pos])
		}
		if d < 0 || d >= base {
			break
		}
		n = n*rune(base) + rune(d)
		t.pos++
	}
	if count < least || n > unicode.MaxRune {
		t.fail("Illegal escape sequence")
	}
	return n
}
