package stringfn

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
)

// versionFunction gives a text whose order by bytes is that of its argument as a version, by which
// native queries may sort and bound: that of Maven's versions, as in Druid. Numbers compare as such
// and come after words, `alpha` < `beta` < `milestone` < `rc` < `snapshot` < nothing < `sp` < other
// words, and what `-` or a change between digits and letters begins is a list of its own, between
// words and numbers. See quirk Q021.
//
// Maven's order is no order where a list begins with a word before nothing (`1-alpha`): it is below
// `1`, which is below `1.sp`, which is below `1-alpha`. Here it is below both.
var versionFunction = &expr.Function{
	Name: "$VERSION", Min: 1, Max: 1,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Unary(versionKey)),
}

// versionPart is one of a version: a list, a number (its digits without leading zeros) or a word.
type versionPart struct {
	kind versionKind
	text string
	list []*versionPart
}

type versionKind uint8

const (
	versionWord versionKind = iota
	versionList
	versionNumber
)

// Tokens of a key, in the order of the parts that they represent. versionEnd ends a list, and sorts
// where insignificant parts would be.
const (
	tokenKnownWord   = 0x10 // the first of knownWords
	tokenNoWordLow   = 0x30
	tokenListLow     = 0x38
	tokenZeroLow     = 0x3f
	tokenEnd         = 0x40
	tokenNoWord      = 0x41
	tokenKnownAfter  = 0x50 // sp
	tokenWord        = 0x51
	tokenList        = 0x60
	tokenNumber      = 0x70
	releasedVersions = 5 // the place of "" among knownWords
)

var (
	knownWords   = []string{"alpha", "beta", "milestone", "rc", "snapshot", "", "sp"}
	versionAlias = map[string]string{"ga": "", "final": "", "release": "", "cr": "rc"}
	shortWords   = map[string]string{"a": "alpha", "b": "beta", "m": "milestone"} // before digits
)

func versionKey(s string) string {
	var b strings.Builder
	b.Grow(2*len(s) + 10)
	appendVersion(&b, versionParts(s))
	return b.String()
}

// versionParts divides a version.
func versionParts(s string) []*versionPart {
	root := &versionPart{kind: versionList}
	lists := []*versionPart{root}
	add := func(p *versionPart) {
		last := lists[len(lists)-1]
		last.list = append(last.list, p)
	}
	open := func() {
		p := &versionPart{kind: versionList}
		add(p)
		lists = append(lists, p)
	}
	digits, start := false, 0
	s = strings.ToLower(s)
	for i, r := range s {
		switch is := unicode.IsDigit(r); {
		case r == '.' || r == '-':
			if i == start {
				add(&versionPart{kind: versionNumber})
			} else {
				add(versionItem(s[start:i], digits, false))
			}
			start = i + 1
			if r == '-' {
				open()
			}
		case is != digits:
			if i > start {
				add(versionItem(s[start:i], digits, is))
				start = i
				open()
			}
			digits = is
		}
	}
	if start < len(s) {
		add(versionItem(s[start:], digits, false))
	}
	for _, p := range slices.Backward(lists) {
		p.trim()
	}
	return root.list
}

// versionItem is a number or a word.
func versionItem(s string, digits, beforeDigits bool) *versionPart {
	if digits {
		significant := make([]byte, 0, len(s))
		for _, r := range s {
			if d := digitOf(r); d != 0 || len(significant) > 0 {
				significant = append(significant, '0'+d)
			}
		}
		return &versionPart{kind: versionNumber, text: string(significant)}
	}
	if long, ok := shortWords[s]; ok && beforeDigits {
		s = long
	}
	if other, ok := versionAlias[s]; ok {
		s = other
	}
	return &versionPart{kind: versionWord, text: s}
}

// trim drops parts that say nothing from the end of a list, also from before lists at its end.
func (p *versionPart) trim() {
	for i, q := range slices.Backward(p.list) { // what is dropped moves only what was passed
		switch {
		case q.empty():
			p.list = append(p.list[:i], p.list[i+1:]...)
		case q.kind != versionList:
			return
		}
	}
}

func (p *versionPart) empty() bool { return p.text == "" && len(p.list) == 0 }

// sign says whether a part is before (-1) or after (1) nothing.
func (p *versionPart) sign() int {
	switch {
	case p.empty():
		return 0
	case p.kind == versionList:
		return p.list[0].sign()
	case p.kind == versionWord && knownWord(p.text) < releasedVersions:
		return -1
	}
	return 1
}

// knownWord is the place of a word among knownWords, their number for others.
func knownWord(s string) int {
	if i := slices.Index(knownWords, s); i >= 0 {
		return i
	}
	return len(knownWords)
}

// appendVersion writes the tokens of a list. A part that is as good as nothing is before or after
// the end of another list as the first part behind it that is not.
func appendVersion(b *strings.Builder, list []*versionPart) {
	for i, p := range list {
		sign := 0
		for j := i; j < len(list) && sign == 0; j++ {
			sign = list[j].sign()
		}
		if sign == 0 {
			break
		}
		token := func(low, high byte) {
			if sign < 0 {
				high = low
			}
			b.WriteByte(high)
		}
		switch p.kind {
		case versionNumber:
			token(tokenZeroLow, tokenNumber)
			b.Write(appendCount(nil, uint32(len(p.text))))
			b.WriteString(p.text)
		case versionList:
			token(tokenListLow, tokenList)
			appendVersion(b, p.list)
		case versionWord:
			switch n := knownWord(p.text); {
			case n < releasedVersions:
				b.WriteByte(tokenKnownWord + byte(n))
			case n == releasedVersions:
				token(tokenNoWordLow, tokenNoWord)
			case n < len(knownWords):
				b.WriteByte(tokenKnownAfter)
			default:
				b.WriteByte(tokenWord)
				b.WriteString(p.text)
				b.WriteByte(0) // before every character
			}
		}
	}
	b.WriteByte(tokenEnd)
}
