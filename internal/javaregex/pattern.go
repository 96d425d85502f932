package javaregex

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/hengedb/henge/internal/fault"
)

// MaxPattern bounds the bytes of a regular expression, which compiling makes a program of: a few
// microseconds and some hundred bytes each.
const MaxPattern = 1 << 16

// Pattern is a compiled pattern of java.util.regex. Package regexp runs it in linear time if it
// can; the rest is left to an engine that backtracks, with a bound on the time of one match. Simple
// patterns are matched directly.
type Pattern struct {
	std     *regexp.Regexp  // nil: only slow can run it
	direct  *directPattern  // nil: it is not simple enough
	slow    *regexp2.Regexp // nil until needed
	tree    *node
	timeout time.Duration
	// Stopped says why the query that it is for has to end, nil: it goes on. Nil: none asks.
	Stopped func() error
	Groups  int
	names   map[string]int
	// empty says that the pattern matches nothing at all, too. Java then finds such a match right
	// after another match, and package regexp does not.
	empty bool
	// words, final and lines say that it has ends of words, of the text, or of lines, which package
	// regexp finds differently in some texts.
	words, final, lines bool
}

// Compile compiles a pattern for the function called name, which errors mention.
func Compile(pattern, name string, timeout time.Duration) (*Pattern, error) {
	return compileAs(pattern, name, timeout, func(n *node) *node { return n })
}

// compileAs compiles what becomes of a pattern.
func compileAs(pattern, name string, timeout time.Duration, become func(*node) *node) (*Pattern, error) {
	refuse := func(err error) error {
		return fault.InvalidInput("An invalid pattern [%s] was provided for the [%s] function, error: [%v]", pattern, strings.ToLower(name), err)
	}
	if len(pattern) > MaxPattern {
		return nil, fault.InvalidInput("The pattern for the [%s] function has [%d] bytes, more than the "+
			"limit of [%d]", strings.ToLower(name), len(pattern), MaxPattern)
	}
	read, tree, err := parse(pattern)
	if err != nil {
		return nil, refuse(err)
	}
	tree = become(tree)
	p := &Pattern{
		tree: tree, timeout: timeout, Groups: read.groups, names: read.names, empty: tree.empty(),
		words: tree.has(regexWord, regexNoWord),
		final: tree.has(regexFinal, regexFinalUnix),
		lines: tree.has(regexLine, regexLineUnix, regexLineEnd, regexLineEndUnix),
	}
	if !tree.backtracks() {
		text := tree.text(false, p.Groups)
		if std, err := regexp.Compile(text); err == nil { // else it repeats more than package regexp takes
			p.std, p.direct = std, compileDirect(text)
			return p, nil
		}
	}
	if err := p.compileSlow(); err != nil {
		return nil, refuse(err)
	}
	return p, nil
}

// compileSlow makes the backtracking engine ready for a text, unless the query has to end: it may
// take long for each.
func (p *Pattern) compileSlow() error {
	if p.Stopped != nil {
		if err := p.Stopped(); err != nil {
			return err
		}
	}
	if p.slow != nil {
		return nil
	}
	slow, err := regexp2.Compile(p.tree.text(true, p.Groups), regexp2.None)
	if err != nil {
		return err
	}
	slow.MatchTimeout = p.timeout
	p.slow = slow
	return nil
}

// needsSlow reports whether s needs the backtracking engine: where the pattern does, and where s
// has other words or lines than package regexp knows.
func (p *Pattern) needsSlow(s string) bool {
	switch {
	case p.std == nil:
		return true
	case p.words && strings.ContainsFunc(s, isForeignWord):
		return true
	case p.lines && (s == "" || strings.ContainsAny(s, "\r\u0085\u2028\u2029")):
		return true
	case p.lines || p.final:
		last, _ := utf8.DecodeLastRuneInString(s)
		return last == '\n' || last == '\r' || last == 0x85 || last|1 == 0x2029
	}
	return false
}

// isForeignWord reports whether Java takes r for a part of a word, and package regexp doesn't.
func isForeignWord(r rune) bool {
	return r > unicode.MaxASCII && unicode.In(r, unicode.L, unicode.Nd, unicode.Mn)
}

func (p *Pattern) Matches(s string) (bool, error) {
	if !p.needsSlow(s) {
		if p.direct != nil {
			return p.direct.find(s, 0, &directMatch{}), nil
		}
		return p.std.MatchString(s), nil
	}
	if err := p.compileSlow(); err != nil {
		return false, err
	}
	ok, err := p.slow.MatchString(s)
	return ok, p.late(err)
}

func (p *Pattern) late(err error) error {
	if err == nil {
		return nil
	}
	return fault.InvalidInput("A regular expression took longer than [%v] for one string; rewrite it so that it needs less "+
		"backtracking",
		p.timeout).WithCause(err)
}

// Find returns the text of a group of the first match.
func (p *Pattern) Find(s string, group int) (string, bool, error) {
	if !p.needsSlow(s) {
		if p.direct != nil {
			var m directMatch
			if !p.direct.find(s, 0, &m) || m[2*group] < 0 {
				return "", false, nil
			}
			return s[m[2*group]:m[2*group+1]], true, nil
		}
		if group == 0 {
			at := p.std.FindStringIndex(s)
			if at == nil {
				return "", false, nil
			}
			return s[at[0]:at[1]], true, nil
		}
		at := p.std.FindStringSubmatchIndex(s)
		if at == nil || at[2*group] < 0 {
			return "", false, nil
		}
		return s[at[2*group]:at[2*group+1]], true, nil
	}
	if err := p.compileSlow(); err != nil {
		return "", false, err
	}
	m, err := p.slow.FindStringMatch(s)
	if err != nil || m == nil {
		return "", false, p.late(err)
	}
	g := m.GroupByNumber(group)
	if g == nil || len(g.Captures) == 0 {
		return "", false, nil
	}
	return g.String(), true, nil
}

// Replacement is the text of REGEXP_REPLACE: pieces of literal text, and groups where number is not
// negative.
type Replacement []struct {
	text   string
	number int
}

// ParseReplacement reads Java's replacement syntax: $1, ${name}, and a backslash before a literal
// character.
func (p *Pattern) ParseReplacement(s string) (Replacement, error) {
	var out Replacement
	var literal strings.Builder
	add := func(text string, number int) {
		out = append(out, struct {
			text   string
			number int
		}{text, number})
	}
	flush := func() {
		if literal.Len() > 0 {
			add(literal.String(), -1)
			literal.Reset()
		}
	}
	refuse := func(why string) error {
		return fault.InvalidInput("An invalid replacement [%s] was provided for the [regexp_replace] function, error: [%s]", s, why)
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i >= len(s) {
				return nil, refuse("character to be escaped is missing")
			}
			literal.WriteByte(s[i])
		case '$':
			flush()
			number, next, why := p.groupReference(s, i+1)
			if why != "" {
				return nil, refuse(why)
			}
			add("", number)
			i = next - 1
		default:
			literal.WriteByte(s[i])
		}
	}
	flush()
	return out, nil
}

// groupReference reads what follows a "$": a number, with as many digits as there are groups for,
// or a name in braces.
func (p *Pattern) groupReference(s string, at int) (number, next int, why string) {
	if strings.HasPrefix(s[at:], "{") {
		end := strings.IndexByte(s[at:], '}')
		if end < 0 {
			return 0, 0, "named capturing group is missing trailing '}'"
		}
		name := s[at+1 : at+end]
		n, ok := p.names[name]
		if !ok {
			return 0, 0, "No group with name {" + name + "}"
		}
		return n, at + end + 1, ""
	}
	if at >= len(s) || s[at] < '0' || s[at] > '9' {
		return 0, 0, "Illegal group reference"
	}
	number = int(s[at] - '0')
	if number > p.Groups {
		return 0, 0, "No group " + strconv.Itoa(number)
	}
	for at++; at < len(s) && s[at] >= '0' && s[at] <= '9'; at++ {
		longer := number*10 + int(s[at]-'0')
		if longer > p.Groups {
			break
		}
		number = longer
	}
	return number, at, ""
}

// Replace replaces all matches.
func (p *Pattern) Replace(s string, r Replacement) (string, error) {
	var out strings.Builder
	end := 0
	if !p.empty && p.direct != nil && !p.needsSlow(s) {
		return p.direct.replace(s, r), nil
	}
	if !p.empty && !p.needsSlow(s) {
		for _, m := range p.std.FindAllStringSubmatchIndex(s, -1) {
			out.WriteString(s[end:m[0]])
			for i := range r {
				out.WriteString(r.piece(i, s, m))
			}
			end = m[1]
		}
		out.WriteString(s[end:])
		return out.String(), nil
	}
	if err := p.compileSlow(); err != nil {
		return "", err
	}
	runes := []rune(s)
	m, err := p.slow.FindRunesMatch(runes)
	for ; m != nil && err == nil; m, err = p.slow.FindNextMatch(m) {
		out.WriteString(string(runes[end:m.Index]))
		for _, piece := range r {
			if piece.number < 0 {
				out.WriteString(piece.text)
			} else if g := m.GroupByNumber(piece.number); g != nil && len(g.Captures) > 0 {
				out.WriteString(g.String())
			}
		}
		end = m.Index + m.Length
	}
	if err != nil {
		return "", p.late(err)
	}
	out.WriteString(string(runes[end:]))
	return out.String(), nil
}

// Split is Java's String.split: trailing empty parts are dropped, and a match of nothing at the
// start makes no part.
func (p *Pattern) Split(s string) ([]string, error) {
	var parts []string
	start := 0
	err := p.each(s, func(from, to int) {
		if to > 0 && (from < len(s) || to > from) {
			parts = append(parts, s[start:from])
			start = to
		}
	})
	if err != nil {
		return nil, err
	}
	if start == 0 && len(parts) == 0 {
		return []string{s}, nil
	}
	parts = append(parts, s[start:])
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts, nil
}

// each calls f with the bytes of each match in s.
func (p *Pattern) each(s string, f func(from, to int)) error {
	if p.empty || p.needsSlow(s) {
		return p.eachSlow(s, f)
	}
	if literal, whole := p.std.LiteralPrefix(); whole && literal != "" {
		for at := 0; ; at += len(literal) {
			next := strings.Index(s[at:], literal)
			if next < 0 {
				return nil
			}
			at += next
			f(at, at+len(literal))
		}
	}
	for _, m := range p.std.FindAllStringIndex(s, -1) {
		f(m[0], m[1])
	}
	return nil
}

func (p *Pattern) eachSlow(s string, f func(from, to int)) error {
	if err := p.compileSlow(); err != nil {
		return err
	}
	offsets := runeOffsets(s)
	m, err := p.slow.FindStringMatch(s)
	for ; m != nil && err == nil; m, err = p.slow.FindNextMatch(m) {
		f(offsets[m.Index], offsets[m.Index+m.Length])
	}
	if err != nil {
		return p.late(err)
	}
	return nil
}

// runeOffsets returns the byte offset of each character of s, and its length.
func runeOffsets(s string) []int {
	out := make([]int, 0, len(s)+1)
	for i := range s {
		out = append(out, i)
	}
	return append(out, len(s))
}
