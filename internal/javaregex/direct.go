package javaregex

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// directPattern runs the simple patterns that most queries have - texts, classes repeated as long
// as they go, groups, optional parts - without the automata of package regexp, several times as
// fast. What it says is what package regexp says: a repetition may only be followed by what none of
// its characters begins, so it never has to give one back, and optional parts are few and tried in
// order.
type directPattern struct {
	ops      []directOp
	anchored bool
	// first is the text that a match begins with, if the pattern is not anchored.
	first string
}

// directOp is one step of a directPattern.
type directOp struct {
	kind  directKind
	text  string       // directText
	class *directClass // directOne, directMany
	least int          // directMany: 0 or 1
	slot  int          // directMark: where to note the place
	skip  int          // directMaybe: the step after the optional part
}

type directKind uint8

const (
	directText  directKind = iota // a text
	directOne                     // a character of a class
	directMany                    // as many characters of a class as there are
	directMark                    // the beginning or the end of a group
	directMaybe                   // the steps up to skip, or none of them
	directEnd                     // the end of the string
)

const (
	// maxDirectMaybes bounds optional parts: each may double the work.
	maxDirectMaybes = 4
	// maxDirectGroups bounds groups, whose places are copied for each optional part.
	maxDirectGroups = 8
)

// directClass is a set of characters.
type directClass struct {
	ascii [2]uint64
	set   runeSet
}

func newDirectClass(set runeSet) *directClass {
	c := &directClass{set: set}
	for r := range rune(utf8.RuneSelf) {
		if set.has(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return c
}

// has reports whether r is in the set.
func (s runeSet) has(r rune) bool {
	at, found := slices.BinarySearch(s, r)
	return found || at%2 == 1
}

// length returns how many bytes the character at the start of s takes if it is of the class, and
// else 0.
func (c *directClass) length(s string) int {
	if s == "" {
		return 0
	}
	if b := s[0]; b < utf8.RuneSelf {
		return int(c.ascii[b>>6] >> (b & 63) & 1)
	}
	r, size := utf8.DecodeRuneInString(s)
	if c.set.has(r) {
		return size
	}
	return 0
}

// run returns the place after the characters of the class from at on.
func (c *directClass) run(s string, at int) int {
	for at < len(s) {
		if b := s[at]; b < utf8.RuneSelf {
			if c.ascii[b>>6]>>(b&63)&1 == 0 {
				return at
			}
			at++
			continue
		}
		n := c.length(s[at:])
		if n == 0 {
			return at
		}
		at += n
	}
	return at
}

// compileDirect returns the direct form of a pattern of package regexp, nil if it has none.
func compileDirect(pattern string) *directPattern {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || tree.MaxCap() > maxDirectGroups {
		return nil
	}
	d := &directPattern{}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	if parts[0].Op == syntax.OpBeginText {
		d.anchored, parts = true, parts[1:]
	}
	for _, p := range parts {
		if !d.add(p) {
			return nil
		}
	}
	if !d.decided() {
		return nil
	}
	if !d.anchored {
		if len(d.ops) == 0 || d.ops[0].kind != directText {
			return nil
		}
		d.first = d.ops[0].text
	}
	return d
}

// add appends the steps of a part; false: there are none for it.
func (d *directPattern) add(p *syntax.Regexp) bool {
	if p.Flags&syntax.NonGreedy != 0 && (p.Op == syntax.OpStar || p.Op == syntax.OpPlus || p.Op == syntax.OpQuest) {
		return false
	}
	switch p.Op {
	case syntax.OpEmptyMatch:
	case syntax.OpLiteral:
		if p.Flags&syntax.FoldCase != 0 {
			return false
		}
		d.ops = append(d.ops, directOp{kind: directText, text: string(p.Rune)})
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		d.ops = append(d.ops, directOp{kind: directOne, class: newDirectClass(classOf(p))})
	case syntax.OpStar, syntax.OpPlus:
		set := classOf(p.Sub[0])
		if set == nil {
			return false
		}
		least := 0
		if p.Op == syntax.OpPlus {
			least = 1
		}
		d.ops = append(d.ops, directOp{kind: directMany, class: newDirectClass(set), least: least})
	case syntax.OpConcat:
		for _, s := range p.Sub {
			if !d.add(s) {
				return false
			}
		}
	case syntax.OpCapture:
		d.ops = append(d.ops, directOp{kind: directMark, slot: 2 * p.Cap})
		if !d.add(p.Sub[0]) {
			return false
		}
		d.ops = append(d.ops, directOp{kind: directMark, slot: 2*p.Cap + 1})
	case syntax.OpQuest:
		at := len(d.ops)
		d.ops = append(d.ops, directOp{kind: directMaybe})
		if !d.add(p.Sub[0]) {
			return false
		}
		d.ops[at].skip = len(d.ops)
	case syntax.OpEndText:
		if p.Flags&syntax.WasDollar != 0 && p.Flags&syntax.OneLine == 0 {
			return false
		}
		d.ops = append(d.ops, directOp{kind: directEnd})
	default:
		return false
	}
	return true
}

// classOf returns the characters that a part of one character matches, nil if it is none.
func classOf(p *syntax.Regexp) runeSet {
	switch p.Op {
	case syntax.OpCharClass:
		return runeSet(p.Rune)
	case syntax.OpAnyChar:
		return setOf(0, utf8.MaxRune)
	case syntax.OpAnyCharNotNL:
		return setOf('\n', '\n').negated()
	case syntax.OpLiteral:
		if len(p.Rune) == 1 && p.Flags&syntax.FoldCase == 0 {
			return setOf(p.Rune[0], p.Rune[0])
		}
	}
	return nil
}

// decided reports whether no repetition can be followed by a character of its own, and optional
// parts are few.
func (d *directPattern) decided() bool {
	maybes := 0
	for i, op := range d.ops {
		switch op.kind {
		case directMany:
			if len(op.class.set.intersection(d.follows(i+1))) > 0 {
				return false
			}
		case directMaybe:
			maybes++
		}
	}
	return maybes <= maxDirectMaybes
}

// follows returns the characters that the steps from i on can begin with.
func (d *directPattern) follows(i int) runeSet {
	var out runeSet
	for ; i < len(d.ops); i++ {
		switch op := d.ops[i]; op.kind {
		case directText:
			r, _ := utf8.DecodeRuneInString(op.text)
			return out.union(setOf(r, r))
		case directOne:
			return out.union(op.class.set)
		case directMany:
			if out = out.union(op.class.set); op.least > 0 {
				return out
			}
		case directMaybe:
			out = out.union(d.follows(op.skip)) // and what comes in between
		case directEnd:
			return out
		}
	}
	return out
}

// directMatch holds the places of the groups: those of group g are 2g and 2g+1, -1 for a group that
// took no part.
type directMatch [2 * (maxDirectGroups + 1)]int

// find looks for the first match from place from on.
func (d *directPattern) find(s string, from int, m *directMatch) bool {
	if d.anchored {
		return from == 0 && d.matchAt(s, 0, m)
	}
	for {
		at := strings.Index(s[from:], d.first)
		if at < 0 {
			return false
		}
		if d.matchAt(s, from+at, m) {
			return true
		}
		from += at + 1
	}
}

func (d *directPattern) matchAt(s string, at int, m *directMatch) bool {
	for i := range m {
		m[i] = -1
	}
	m[0] = at
	return d.run(s, 0, at, m)
}

// run matches the steps from i on at a place of s.
func (d *directPattern) run(s string, i, at int, m *directMatch) bool {
	for i < len(d.ops) {
		op := &d.ops[i]
		i++
		switch op.kind {
		case directText:
			if !strings.HasPrefix(s[at:], op.text) {
				return false
			}
			at += len(op.text)
		case directOne:
			n := op.class.length(s[at:])
			if n == 0 {
				return false
			}
			at += n
		case directMany:
			end := op.class.run(s, at)
			if end-at < op.least {
				return false
			}
			at = end
		case directMark:
			m[op.slot] = at
		case directMaybe:
			before := *m
			if d.run(s, i, at, m) {
				return true
			}
			*m, i = before, op.skip
		case directEnd:
			if at != len(s) {
				return false
			}
		}
	}
	m[1] = at
	return true
}

// replace replaces all matches, of a pattern that matches something. The result may share the
// memory of s.
func (d *directPattern) replace(s string, r Replacement) string {
	var m directMatch
	if !d.find(s, 0, &m) {
		return s
	}
	if len(r) == 1 && m[0] == 0 && m[1] == len(s) {
		return r.piece(0, s, m[:])
	}
	var out strings.Builder
	end := 0
	for ok := true; ok; ok = d.find(s, end, &m) {
		out.WriteString(s[end:m[0]])
		for i := range r {
			out.WriteString(r.piece(i, s, m[:]))
		}
		end = m[1]
	}
	out.WriteString(s[end:])
	return out.String()
}

// piece returns the text of piece i for a match with groups at the given places.
func (r Replacement) piece(i int, s string, groups []int) string {
	n := r[i].number
	switch {
	case n < 0:
		return r[i].text
	case groups[2*n] < 0:
		return ""
	}
	return s[groups[2*n]:groups[2*n+1]]
}
