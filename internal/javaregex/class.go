package javaregex

import (
	"slices"
	"strings"
	"unicode"
)

// runeSet is a set of characters as ascending, disjoint ranges: lo, hi, lo, hi, ...
type runeSet []rune

func setOf(ranges ...rune) runeSet { return runeSet(ranges).normal() }

var (
	anySet   = setOf(0, unicode.MaxRune)
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

// write appends the set in a form that engines agree about. Surrogates, which no string here holds,
// are left out.
func (s runeSet) write(out *strings.Builder) {
	if slices.Equal(s, anySet) {
		out.WriteString("(?s:.)")
		return
	}
	s = s.intersection(setOf(0, 0xd7ff, 0xe000, unicode.MaxRune))
	if len(s) == 0 {
		out.WriteString("[^\x00-\U0010ffff]")
		return
	}
	if len(s) == 2 && s[0] == s[1] {
		writeEscaped(out, s[0], `\.+*?()|[]{}^$`)
		return
	}
	out.WriteByte('[')
	for i := 0; i < len(s); i += 2 {
		writeEscaped(out, s[i], `\]^[-`)
		if s[i+1] > s[i] {
			out.WriteByte('-')
			writeEscaped(out, s[i+1], `\]^[-`)
		}
	}
	out.WriteByte(']')
}

func writeEscaped(out *strings.Builder, r rune, special string) {
	if strings.ContainsRune(special, r) {
		out.WriteByte('\\')
	}
	out.WriteRune(r)
}

// class reads a bracketed class.
func (t *parser) class(depth int) runeSet {
	if depth > maxPatternDepth {
		t.fail("Classes are nested too deep")
		return nil
	}
	t.pos++
	not := t.peek() == '^'
	if not {
		t.pos++
	}
	set := t.classItems(depth)
	t.pos++
	return set.negatedIf(not)
}

// classItems reads what a class unites, up to its end: characters, ranges, escapes, nested classes,
// and what "&&" intersects all that comes before it with, which is all that follows it. A "]" ends
// only a class that has something.
func (t *parser) classItems(depth int) runeSet {
	var set, last runeSet
	for some := false; t.err == nil; some = true {
		switch c := t.peek(); {
		case c == noRune:
			t.fail("Unclosed character class")
		case c == ']' && some:
			return set
		case c == '[':
			last = t.class(depth + 1)
			set = set.union(last)
		case c == '&' && t.at(1) == '&':
			t.pos += 2
			right, ok := t.classRight(depth)
			switch {
			case !ok && !some:
				t.fail("Bad class syntax")
			case !some:
				set = right
			case ok:
				set, last = set.intersection(right), right
			case last != nil: // Java takes the item before "&&" for what is missing after it
				set = set.intersection(last)
			}
		default:
			var item runeSet
			item, last = t.classRange()
			set = set.union(item)
		}
	}
	return nil
}

// classRight reads the right side of "&&"; false: there is none.
func (t *parser) classRight(depth int) (set runeSet, ok bool) {
	for c := t.peek(); t.err == nil && c != ']' && c != '&' && c != noRune; c = t.peek() {
		if c == '[' {
			set = set.union(t.class(depth + 1))
		} else {
			set = set.union(t.classItems(depth))
		}
		ok = true
	}
	return set, ok
}

// classRange reads a character, an escape or a range of characters. What it returns twice is no
// single character.
func (t *parser) classRange() (set, group runeSet) {
	set, lo, single := t.classRune()
	if !single || t.err != nil {
		return set, set
	}
	if next := t.at(1); t.peek() != '-' || next == ']' || next == '[' {
		return t.flags.fold(lo), nil
	}
	t.pos++
	_, hi, single := t.classRune()
	if !single || hi < lo {
		t.fail("Illegal character range")
		return nil, nil
	}
	set = t.flags.foldRange(lo, hi)
	return set, set
}

func (t *parser) classRune() (runeSet, rune, bool) {
	switch t.peek() {
	case '\\':
		return t.escaped()
	case noRune:
		t.fail("Unclosed character class")
	}
	return nil, t.take() &^ quotedRune, true
}
