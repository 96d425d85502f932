package expr

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// runeSet is a set of characters as ascending, disjoint ranges: lo, hi, lo, hi, ...
type runeSet []rune

func setOf(ranges ...rune) runeSet { return runeSet(ranges).normal() }

var (
	digitSet = setOf('0', '9')
	wordSet  = setOf('0', '9', 'A', 'Z', '_', '_', 'a', 'z')
	spaceSet = setOf('\t', '\r', ' ', ' ')
	blankSet = setOf('\t', '\t', ' ', ' ', 0xa0, 0xa0, 0x1680, 0x1680, 0x180e, 0x180e, 0x2000, 0x200a, 0x202f, 0x202f, 0x205f, 0x205f,
		0x3000, 0x3000)
	verticalSet = setOf('\n', '\r', 0x85, 0x85, 0x2028, 0x2029)
)

// normal sorts and joins ranges.
func (s runeSet) normal() runeSet {
	type pair struct{ lo, hi rune }
	pairs := make([]pair, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		pairs = append(pairs, pair{s[i], s[i+1]})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return int(a.lo) - int(b.lo) })
	var out runeSet
	for _, p := range pairs {
		if n := len(out); n > 0 && p.lo <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p.hi)
		} else {
			out = append(out, p.lo, p.hi)
		}
	}
	return out
}

func (s runeSet) union(o runeSet) runeSet { return append(slices.Clone(s), o...).normal() }

func (s runeSet) negated() runeSet {
	var out runeSet
	next := rune(0)
	for i := 0; i < len(s); i += 2 {
		if s[i] > next {
			out = append(out, next, s[i]-1)
		}
		next = s[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

func (s runeSet) negatedIf(not bool) runeSet {
	if not {
		return s.negated()
	}
	return s
}

func (s runeSet) intersection(o runeSet) runeSet {
	return s.negated().union(o.negated()).negated()
}

// write appends the set as a class without escapes that engines disagree about. Surrogates, which no string here holds, are left out.
func (s runeSet) write(out *strings.Builder) {
	s = s.intersection(setOf(0, 0xd7ff, 0xe000, unicode.MaxRune))
	if len(s) == 0 {
		out.WriteString("[^\x00-\U0010ffff]")
		return
	}
	out.WriteByte('[')
	for i := 0; i < len(s); i += 2 {
		writeClassRune(out, s[i])
		if s[i+1] > s[i] {
			out.WriteByte('-')
			writeClassRune(out, s[i+1])
		}
	}
	out.WriteByte(']')
}

func writeClassRune(out *strings.Builder, r rune) {
	if strings.ContainsRune(`\]^[-`, r) {
		out.WriteByte('\\')
	}
	out.WriteRune(r)
}

// class reads a bracketed class: ranges, escapes, nested classes, and intersections after "&&".
func (t *translator) class(depth int) runeSet {
	if depth > maxPatternDepth {
		t.fail("Classes are nested too deep")
		return nil
	}
	t.pos++
	not := strings.HasPrefix(t.in[t.pos:], "^")
	if not {
		t.pos++
	}
	var set, whole runeSet
	intersecting, first := false, true
	for t.err == nil {
		if t.pos >= len(t.in) {
			t.fail("Unclosed character class")
			return nil
		}
		switch {
		case t.in[t.pos] == ']' && !first:
			t.pos++
			if intersecting {
				set = whole.intersection(set)
			}
			return set.negatedIf(not)
		case strings.HasPrefix(t.in[t.pos:], "&&"):
			t.pos += 2
			if intersecting {
				set = whole.intersection(set)
			}
			whole, set, intersecting = set, nil, true
		case t.in[t.pos] == '[':
			set = set.union(t.class(depth + 1))
		case strings.HasPrefix(t.in[t.pos:], `\Q`):
			text, after, _ := strings.Cut(t.in[t.pos+2:], `\E`)
			for _, r := range text {
				set = set.union(setOf(r, r))
			}
			t.pos = len(t.in) - len(after)
		default:
			set = set.union(t.classRange())
		}
		first = false
	}
	return nil
}

// classRange reads a character, an escape or a range of characters.
func (t *translator) classRange() runeSet {
	set, lo, single := t.classRune()
	if !single || t.err != nil {
		return set
	}
	rest := t.in[t.pos:]
	if len(rest) < 2 || rest[0] != '-' || rest[1] == ']' || rest[1] == '[' || strings.HasPrefix(rest, "-&&") {
		return setOf(lo, lo)
	}
	t.pos++
	upper, hi, single := t.classRune()
	if !single {
		return upper.union(setOf(lo, lo, '-', '-'))
	}
	if hi < lo {
		t.fail("Illegal character range")
	}
	return setOf(lo, hi)
}

func (t *translator) classRune() (runeSet, rune, bool) {
	if t.in[t.pos] == '\\' {
		return t.escaped()
	}
	r, size := utf8.DecodeRuneInString(t.in[t.pos:])
	t.pos += size
	return nil, r, true
}

// posixSets are the classes of \p{...} that are about ASCII.
var posixSets = map[string]runeSet{
	"Lower": setOf('a', 'z'), "Upper": setOf('A', 'Z'), "ASCII": setOf(0, 127), "Alpha": setOf('A', 'Z', 'a', 'z'), "Digit": digitSet,
	"Alnum": setOf('0', '9', 'A', 'Z', 'a', 'z'), "Punct": setOf('!', '/', ':', '@', '[', '`', '{', '~'), "Graph": setOf('!', '~'),
	"Print": setOf(' ', '~'), "Blank": setOf('\t', '\t', ' ', ' '), "Cntrl": setOf(0, 31, 127, 127),
	"XDigit": setOf('0', '9', 'A', 'F', 'a', 'f'), "Space": spaceSet,
}

var unicodeSets = map[string]*unicode.RangeTable{
	"ISALPHABETIC": unicode.Letter, "ISLETTER": unicode.Letter, "ISDIGIT": unicode.Digit, "ISUPPERCASE": unicode.Upper,
	"ISLOWERCASE": unicode.Lower, "ISTITLECASE": unicode.Title, "ISWHITE_SPACE": unicode.White_Space, "ISPUNCTUATION": unicode.Punct,
	"ISCONTROL": unicode.Cc, "ISIDEOGRAPHIC": unicode.Ideographic, "ISHEX_DIGIT": unicode.Hex_Digit,
	"JAVALOWERCASE": unicode.Lower, "JAVAUPPERCASE": unicode.Upper, "JAVAWHITESPACE": unicode.White_Space, "JAVALETTER": unicode.Letter,
	"JAVADIGIT": unicode.Digit,
}

// property reads what follows \p: one letter or {name}.
func (t *translator) property() runeSet {
	if t.pos >= len(t.in) {
		t.fail("Unknown character property")
		return nil
	}
	name := t.in[t.pos : t.pos+1]
	if name == "{" {
		end := strings.IndexByte(t.in[t.pos:], '}')
		if end < 0 {
			t.fail("Unclosed character family")
			return nil
		}
		name = t.in[t.pos+1 : t.pos+end]
		t.pos += end
	}
	t.pos++
	if s, ok := posixSets[name]; ok {
		return s
	}
	if i := strings.IndexByte(name, '='); i >= 0 {
		name = name[i+1:]
	}
	if table := unicodeSets[strings.ToUpper(name)]; table != nil {
		return fromTable(table)
	}
	for _, candidate := range []string{name, strings.TrimPrefix(name, "Is")} {
		if table := unicode.Categories[candidate]; table != nil {
			return fromTable(table)
		}
		for script, table := range unicode.Scripts {
			if strings.EqualFold(script, candidate) {
				return fromTable(table)
			}
		}
	}
	if name == "L1" {
		return setOf(0, 255)
	}
	t.fail("Unknown character property name {%s}", name)
	return nil
}

func fromTable(table *unicode.RangeTable) runeSet {
	var out runeSet
	for _, r := range table.R16 {
		out = appendStrided(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		out = appendStrided(out, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return out.normal()
}

func appendStrided(out runeSet, lo, hi, stride rune) runeSet {
	if stride == 1 {
		return append(out, lo, hi)
	}
	for r := lo; r <= hi; r += stride {
		out = append(out, r, r)
	}
	return out
}
