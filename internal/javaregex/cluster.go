package javaregex

import (
	"sync"
	"time"
	"unicode"
)

// clusterGoesOn is a place within a grapheme cluster, what a reader takes for one character, by the
// rules of Unicode: not between "\r" and "\n", before marks, after signs that precede numbers,
// within syllables of Hangul, within pairs of regional indicators (flags), and after a joiner
// between pictures.
var clusterGoesOn = sync.OnceValue(func() string {
	extend := fromTable(unicode.Mn, unicode.Me, unicode.Other_Grapheme_Extend).union(setOf(0x1f3fb, 0x1f3ff))
	joined := extend.union(fromTable(unicode.Mc)).union(setOf(zeroWidthJoiner, zeroWidthJoiner, 0xe33, 0xe33, 0xeb3, 0xeb3))
	prepend := fromTable(unicode.Prepended_Concatenation_Mark)
	control := fromTable(unicode.Cc, unicode.Zl, unicode.Zp, unicode.Cf).intersection(joined.union(prepend).negated())
	regional := classText(setOf(0x1f1e6, 0x1f1ff))
	picture := classText(pictureSet)
	lead, tail := classText(setOf(0x1100, 0x115f, 0xa960, 0xa97c)), classText(setOf(0x11a8, 0x11ff, 0xd7cb, 0xd7fb))
	vowel, open, syllables := setOf(0x1160, 0x11a7, 0xd7b0, 0xd7c6), openSyllables(), setOf(0xac00, 0xd7a3)
	return "(?:(?<=\r)(?=\n)" +
		"|(?<=" + classText(control.negated()) + ")(?=" + classText(joined) + ")" +
		"|(?<=" + classText(prepend) + ")(?=" + classText(control.negated()) + ")" +
		"|(?<=" + lead + ")(?=[\u1100-\u115f\ua960-\ua97c\u1160-\u11a7\ud7b0-\ud7c6\uac00-\ud7a3])" +
		"|(?<=" + classText(vowel.union(open)) + ")(?=" + classText(vowel) + ")" +
		"|(?<=" + classText(vowel.union(syllables)) + "|" + tail + ")(?=" + tail + ")" +
		"|(?<=(?<!" + regional + ")(?:" + regional + regional + ")*" + regional + ")(?=" + regional + ")" +
		"|(?<=" + picture + classText(extend) + "*\u200d)(?=" + picture + "))"
})

const zeroWidthJoiner = 0x200d

// openSyllables are the syllables of Hangul without a tail: one in 28.
func openSyllables() runeSet {
	var out runeSet
	for r := rune(0xac00); r <= 0xd7a3; r += 28 {
		out = append(out, r, r)
	}
	return out
}

// pictureSet are the characters that are shown as pictures, and those that are set aside for more
// of them.
var pictureSet = setOf(0xa9, 0xa9, 0xae, 0xae, 0x203c, 0x203c, 0x2049, 0x2049, 0x2122, 0x2122, 0x2139, 0x2139, 0x2194, 0x2199, 0x21a9, 0x21aa,
	0x231a, 0x231b, 0x2328, 0x2328, 0x2388, 0x2388, 0x23cf, 0x23cf, 0x23e9, 0x23f3, 0x23f8, 0x23fa, 0x24c2, 0x24c2, 0x25aa, 0x25ab,
	0x25b6, 0x25b6, 0x25c0, 0x25c0, 0x25fb, 0x25fe, 0x2600, 0x2605, 0x2607, 0x2612, 0x2614, 0x2685, 0x2690, 0x2705, 0x2708, 0x2712,
	0x2714, 0x2714, 0x2716, 0x2716, 0x271d, 0x271d, 0x2721, 0x2721, 0x2728, 0x2728, 0x2733, 0x2734, 0x2744, 0x2744, 0x2747, 0x2747,
	0x274c, 0x274c, 0x274e, 0x274e, 0x2753, 0x2755, 0x2757, 0x2757, 0x2763, 0x2767, 0x2795, 0x2797, 0x27a1, 0x27a1, 0x27b0, 0x27b0,
	0x27bf, 0x27bf, 0x2934, 0x2935, 0x2b05, 0x2b07, 0x2b1b, 0x2b1c, 0x2b50, 0x2b50, 0x2b55, 0x2b55, 0x3030, 0x3030, 0x303d, 0x303d,
	0x3297, 0x3297, 0x3299, 0x3299, 0x1f000, 0x1f0ff, 0x1f10d, 0x1f10f, 0x1f12f, 0x1f12f, 0x1f16c, 0x1f171, 0x1f17e, 0x1f17f,
	0x1f18e, 0x1f18e, 0x1f191, 0x1f19a, 0x1f1ad, 0x1f1e5, 0x1f201, 0x1f20f, 0x1f21a, 0x1f21a, 0x1f22f, 0x1f22f, 0x1f232, 0x1f23a,
	0x1f23c, 0x1f23f, 0x1f249, 0x1f3fa, 0x1f400, 0x1f53d, 0x1f546, 0x1f64f, 0x1f680, 0x1f6ff, 0x1f774, 0x1f77f, 0x1f7d5, 0x1f7ff,
	0x1f80c, 0x1f80f, 0x1f848, 0x1f84f, 0x1f85a, 0x1f85f, 0x1f888, 0x1f88f, 0x1f8ae, 0x1f8ff, 0x1f90c, 0x1f93a, 0x1f93c, 0x1f945,
	0x1f947, 0x1faff, 0x1fc00, 0x1fffd)

// LinePattern is a pattern of java.util.regex that is held against whole texts, for input whose
// rows it takes apart. It is used by one goroutine at a time.
type LinePattern struct {
	p *Pattern
	// Groups is how many groups the pattern has.
	Groups int
}

// CompileLines compiles a pattern; user names who gave it, in faults. A match that takes longer
// than timeout fails.
func CompileLines(pattern, user string, timeout time.Duration) (*LinePattern, error) {
	p, err := compileAs(pattern, user, timeout, func(n *node) *node {
		return &node{kind: regexSequence, parts: []*node{{kind: regexBegin}, n, {kind: regexEnd}}}
	})
	if err != nil {
		return nil, err
	}
	if p.needsSlow("") {
		if err := p.compileSlow(); err != nil {
			return nil, err
		}
	}
	return &LinePattern{p, p.Groups}, nil
}

// Match returns the groups of a text that the pattern matches wholly, nil for those that took no
// part, and nil for any other text.
func (l *LinePattern) Match(text string) ([]*string, error) {
	out := make([]*string, l.Groups)
	if !l.p.needsSlow(text) {
		at := l.p.std.FindStringSubmatchIndex(text)
		if at == nil {
			return nil, nil
		}
		for g := range out {
			if from, to := at[2*g+2], at[2*g+3]; from >= 0 {
				s := text[from:to]
				out[g] = &s
			}
		}
		return out, nil
	}
	if err := l.p.compileSlow(); err != nil {
		return nil, err
	}
	m, err := l.p.slow.FindStringMatch(text)
	if err != nil || m == nil {
		return nil, l.p.late(err)
	}
	for g := range out {
		if group := m.GroupByNumber(g + 1); group != nil && len(group.Captures) > 0 {
			s := group.String()
			out[g] = &s
		}
	}
	return out, nil
}
