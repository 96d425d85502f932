package javaregex

import (
	"strconv"
	"strings"
	"sync"
)

// regexWriter writes a pattern for one of the engines: package regexp or, where slow is set, the
// one that backtracks.
type regexWriter struct {
	out    strings.Builder
	slow   bool
	groups int // how many there are
}

func (n *node) text(slow bool, groups int) string {
	w := regexWriter{slow: slow, groups: groups}
	w.write(n)
	return w.out.String()
}

func (w *regexWriter) write(n *node) {
	switch n.kind {
	case regexSet:
		n.set.write(&w.out)
	case regexSequence:
		for _, p := range n.parts {
			if p.kind == regexChoice || p.kind == regexSequence {
				w.enclosed("(?:", p)
			} else {
				w.write(p)
			}
		}
	case regexChoice:
		for i, p := range n.parts {
			if i > 0 {
				w.out.WriteByte('|')
			}
			w.write(p)
		}
	case regexPlain:
		w.enclosed("(?:", n.parts[0])
	case regexGroup:
		w.enclosed("(", n.parts[0])
	case regexAtomic:
		w.enclosed("(?>", n.parts[0])
	case regexLook:
		w.enclosed(n.open, n.parts[0])
	case regexRepeat:
		w.repeat(n)
	case regexReference:
		w.reference(n)
	case regexCluster:
		w.out.WriteString("(?>(?s:.)(?:" + clusterGoesOn() + "(?s:.))*)")
	case regexBetween:
		w.out.WriteString("(?!" + clusterGoesOn() + ")")
	case regexWordUnicode, regexNoWordUnicode:
		w.border(n.kind == regexNoWordUnicode, unicodeBorder())
	case regexWord, regexNoWord:
		if w.slow {
			w.border(n.kind == regexNoWord, javaBorder)
			return
		}
		fallthrough
	default:
		if w.slow {
			w.out.WriteString(slowEnds[n.kind])
		} else {
			w.out.WriteString(fastEnds[n.kind])
		}
	}
}

func (w *regexWriter) enclosed(open string, n *node) {
	w.out.WriteString(open)
	w.write(n)
	w.out.WriteByte(')')
}

func (w *regexWriter) border(not bool, text string) {
	if not {
		text = "(?!" + text + ")"
	}
	w.out.WriteString(text)
}

// repeat writes a repetition. What Java repeats without trying it differently is atomic each time.
func (w *regexWriter) repeat(n *node) {
	part := n.parts[0]
	if n.mode == '+' {
		w.out.WriteString("(?>")
	}
	switch {
	case part.kind == regexSet:
		w.write(part)
	case n.mode == '+' || part.has(regexBreak):
		w.enclosed("(?>", part)
	default:
		w.enclosed("(?:", part)
	}
	w.out.WriteString(n.counts())
	switch n.mode {
	case '?':
		w.out.WriteByte('?')
	case '+':
		w.out.WriteByte(')')
	}
}

// counts returns how often a repetition repeats, as it is written.
func (n *node) counts() string {
	switch {
	case n.least == 0 && n.most == 1:
		return "?"
	case n.least == 0 && n.most == unlimited:
		return "*"
	case n.least == 1 && n.most == unlimited:
		return "+"
	case n.most == unlimited:
		return "{" + strconv.Itoa(n.least) + ",}"
	case n.least == n.most:
		return "{" + strconv.Itoa(n.least) + "}"
	}
	return "{" + strconv.Itoa(n.least) + "," + strconv.Itoa(n.most) + "}"
}

// reference writes a reference to a group. One to a group that there isn't never matches.
func (w *regexWriter) reference(n *node) {
	switch {
	case n.number > w.groups:
		runeSet{}.write(&w.out)
	case n.fold:
		w.out.WriteString(`(?i:\k<` + strconv.Itoa(n.number) + `>)`)
	default:
		w.out.WriteString(`\k<` + strconv.Itoa(n.number) + `>`)
	}
}

// fastEnds are the ends that package regexp knows, for texts that needsSlow says are right for
// them.
var fastEnds = map[regexKind]string{
	regexBreak: "(?:\r\n|[\n\v\f\r\u0085\u2028\u2029])",
	regexBegin: `\A`, regexEnd: `\z`, regexFinal: `\z`, regexFinalUnix: `\z`,
	regexLine: "(?m:^)", regexLineUnix: "(?m:^)", regexLineEnd: "(?m:$)", regexLineEndUnix: "(?m:$)",
	regexWord: `\b`, regexNoWord: `\B`,
}

// slowEnds are what ends mean in Java. A line ends before "\r\n", not within.
var slowEnds = map[regexKind]string{
	regexBreak: "(?:\r\n|[\n\v\f\r\u0085\u2028\u2029])",
	regexBegin: `\A`, regexEnd: `\z`, regexLast: `\G`,
	regexFinal:       "(?:\\z|(?=(?:\r\n|[\r\u0085\u2028\u2029])\\z)|(?<!\r)(?=\n\\z))",
	regexFinalUnix:   "(?=\n?\\z)",
	regexLine:        "(?:\\A|(?<=[\n\u0085\u2028\u2029])|(?<=\r)(?!\n))(?!\\z)",
	regexLineUnix:    "(?:\\A|(?<=\n))(?!\\z)",
	regexLineEnd:     "(?:\\z|(?=[\r\u0085\u2028\u2029])|(?<!\r)(?=\n))",
	regexLineEndUnix: "(?=\n|\\z)",
}

// javaBorder is a place between a letter, a digit or a "_" and something else. Marks on a letter or
// a digit belong to it.
const javaBorder = `(?:(?=[_\p{L}\p{Nd}])(?<!_|[\p{L}\p{Nd}]\p{Mn}*)|(?![_\p{L}\p{Nd}])(?:(?<=_)|(?!\p{Mn})(?<=[\p{L}\p{Nd}]\p{Mn}*)))`

// unicodeBorder is a place between a character of a word, by the rules of Unicode, and another.
var unicodeBorder = sync.OnceValue(func() string {
	word := classText(unicodeWords())
	return "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))"
})

func classText(s runeSet) string {
	var out strings.Builder
	s.write(&out)
	return out.String()
}
