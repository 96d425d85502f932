package expr

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/hengedb/henge/internal/fault"
)

// javaPattern is a compiled pattern of java.util.regex. Package regexp runs it in linear time if it
// can; the rest is left to an engine that backtracks, with a bound on the time of one match. Simple
// patterns are matched directly.
type javaPattern struct {
	std     *regexp.Regexp  // nil: only slow can run it
	direct  *directPattern  // nil: it is not simple enough
	slow    *regexp2.Regexp // nil until needed
	tree    *regexNode
	timeout time.Duration
	ctx     *Context // of the query it is for; nil: none
	groups  int
	names   map[string]int
	// empty says that the pattern matches nothing at all, too. Java then finds such a match right
	// after another match, and package regexp does not.
	empty bool
	// words, final and lines say that it has ends of words, of the text, or of lines, which package
	// regexp finds differently in some texts.
	words, final, lines bool
}

// compilePattern compiles a pattern for the function called name, which errors mention.
func compilePattern(pattern, name string, timeout time.Duration) (*javaPattern, error) {
	return compileRegex(pattern, name, timeout, func(n *regexNode) *regexNode { return n })
}

// compileRegex compiles what becomes of a pattern.
func compileRegex(pattern, name string, timeout time.Duration, become func(*regexNode) *regexNode) (*javaPattern, error) {
	refuse := func(err error) error {
		return fault.InvalidInput("An invalid pattern [%s] was provided for the [%s] function, error: [%v]", pattern, lower(name), err)
	}
	if len(pattern) > maxPattern {
		return nil, fault.InvalidInput("The pattern for the [%s] function has [%d] bytes, more than the limit of [%d]", lower(name), len(pattern), maxPattern)
	}
	read, tree, err := parseRegex(pattern)
	if err != nil {
		return nil, refuse(err)
	}
	tree = become(tree)
	p := &javaPattern{
		tree: tree, timeout: timeout, groups: read.groups, names: read.names, empty: tree.empty(),
		words: tree.has(regexWord, regexNoWord),
		final: tree.has(regexFinal, regexFinalUnix),
		lines: tree.has(regexLine, regexLineUnix, regexLineEnd, regexLineEndUnix),
	}
	if !tree.backtracks() {
		text := tree.text(false, p.groups)
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
func (p *javaPattern) compileSlow() error {
	if err := p.ctx.Stopped(); err != nil || p.slow != nil {
		return err
	}
	slow, err := regexp2.Compile(p.tree.text(true, p.groups), regexp2.None)
	if err != nil {
		return err
	}
	slow.MatchTimeout = p.timeout
	p.slow = slow
	return nil
}

// needsSlow reports whether s needs the backtracking engine: where the pattern does, and where s
// has other words or lines than package regexp knows.
func (p *javaPattern) needsSlow(s string) bool {
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

func (p *javaPattern) matches(s string) (bool, error) {
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

func (p *javaPattern) late(err error) error {
	if err == nil {
		return nil
	}
	return fault.InvalidInput("A regular expression took longer than [%v] for one string; rewrite it so that it needs less backtracking",
		p.timeout).WithCause(err)
}

// find returns the text of a group of the first match.
func (p *javaPattern) find(s string, group int) (string, bool, error) {
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

// replacement is the text of REGEXP_REPLACE: pieces of literal text, and groups where number is not
// negative.
type replacement []struct {
	text   string
	number int
}

// parseReplacement reads Java's replacement syntax: $1, ${name}, and a backslash before a literal
// character.
func (p *javaPattern) parseReplacement(s string) (replacement, error) {
	var out replacement
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
func (p *javaPattern) groupReference(s string, at int) (number, next int, why string) {
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
	if number > p.groups {
		return 0, 0, "No group " + strconv.Itoa(number)
	}
	for at++; at < len(s) && s[at] >= '0' && s[at] <= '9'; at++ {
		longer := number*10 + int(s[at]-'0')
		if longer > p.groups {
			break
		}
		number = longer
	}
	return number, at, ""
}

// replace replaces all matches.
func (p *javaPattern) replace(s string, r replacement) (string, error) {
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

// regex wants a constant pattern as argument i.
func (b *binding) regex(i int) {
	text := b.constantText(i, "pattern")
	if b.err == nil {
		_, b.err = compilePattern(text, b.fn.Name, time.Second)
	}
}

// checkPattern refuses a literal that is no pattern; others are checked when they are met.
func (b *binding) checkPattern(i int) {
	if b.err != nil {
		return
	}
	if x, ok := literalValue(b.args[i]); ok {
		_, b.err = compilePattern(x.(string), b.fn.Name, time.Second)
	}
}

// lastPattern keeps the pattern that was met last: it is the same for all rows nearly always.
type lastPattern struct {
	function string
	ctx      *Context
	text     string
	compiled *javaPattern
}

// of returns the pattern of a text.
func (l *lastPattern) of(text string) (*javaPattern, error) {
	if l.compiled != nil && text == l.text {
		return l.compiled, nil
	}
	text = strings.Clone(text) // the next batch may come from another segment
	compiled, err := compilePattern(text, l.function, l.ctx.patternTime())
	if err == nil {
		compiled.ctx = l.ctx
		l.text, l.compiled = text, compiled
	}
	return compiled, err
}

func regexArg(c *Call, i int, ctx *Context) (*javaPattern, error) {
	x, _ := literalValue(c.Args[i])
	s, _ := x.(string)
	p, err := compilePattern(s, c.Fn.Name, ctx.patternTime())
	if err == nil {
		p.ctx = ctx
	}
	return p, err
}

var regexpLikeFunction = &Function{
	Name: "REGEXP_LIKE", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Returns whether a regular expression, in Java's syntax, matches somewhere in a string.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.regex(1)
		return b.strict(Of(Boolean))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		p, err := regexArg(c, 1, ctx)
		if err != nil {
			return nil, err
		}
		return onFirst(failing1(func(s string) (int64, bool, error) {
			ok, err := p.matches(s)
			return b2i(ok), true, err
		})), nil
	},
}

var regexpExtractFunction = &Function{
	Name: "REGEXP_EXTRACT", Min: 2, Max: 3, RefusesNull: true,
	Summary: "Returns the text that a regular expression, or a group of it, matches first in a string; NULL if there is none.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>, [<INTEGER>])"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.regex(1)
		if b.has(2) {
			b.whole(2)
			if _, ok := b.constant(2, "group").(int64); b.err == nil && !ok {
				b.fail("Function[regexp_extract] index must be a numeric literal")
			}
		}
		return b.call(Of(Varchar))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		p, err := regexArg(c, 1, ctx)
		if err != nil {
			return nil, err
		}
		group := 0
		if len(c.Args) == 3 {
			x, _ := literalValue(c.Args[2])
			n, _ := x.(int64)
			group = int(n)
		}
		if group < 0 || group > p.groups { // an error of the rows that match
			return onFirst(failing1(func(s string) (string, bool, error) {
				_, ok, err := p.find(s, 0)
				if ok {
					err = fault.InvalidSQL(fault.Span{}, "No group %d", group)
				}
				return "", false, err
			})), nil
		}
		return onFirst(failing1(func(s string) (string, bool, error) { return p.find(s, group) })), nil
	},
}

var regexpReplaceFunction = &Function{
	Name: "REGEXP_REPLACE", Min: 3, Max: 3, RefusesNull: true,
	Summary: "Replaces all matches of a regular expression in a string. In the replacement, $1 stands for the first group.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>, <CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		for i := range b.args {
			b.text(i)
		}
		b.checkPattern(1)
		return b.strict(Of(Varchar))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		r := &replacer{last: lastPattern{function: c.Fn.Name, ctx: ctx}}
		return growing3(r.replace)(c, ctx)
	},
}

// replacer keeps the replacement it saw last, too.
type replacer struct {
	last     lastPattern
	compiled *javaPattern // that parsed is of
	text     string
	parsed   replacement
	invalid  error // why the replacement can't be used, which only matters where something is replaced
}

func (r *replacer) replace(s, pattern, with string) (string, bool, error) {
	p, err := r.last.of(pattern)
	if err != nil {
		return "", false, err
	}
	if p != r.compiled || with != r.text {
		r.compiled, r.text = p, strings.Clone(with)
		r.parsed, r.invalid = p.parseReplacement(with)
	}
	if r.invalid != nil {
		if matches, err := p.matches(s); matches || err != nil {
			return "", false, cmp.Or(err, r.invalid)
		}
		return s, true, nil
	}
	out, err := p.replace(s, r.parsed)
	return out, true, err
}

// split is Java's String.split: trailing empty parts are dropped, and a match of nothing at the
// start makes no part.
func (p *javaPattern) split(s string) ([]string, error) {
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
func (p *javaPattern) each(s string, f func(from, to int)) error {
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

func (p *javaPattern) eachSlow(s string, f func(from, to int)) error {
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
