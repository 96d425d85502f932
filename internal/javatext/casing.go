package javatext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ToLower and ToUpper follow the full case mappings of Unicode without a language, as Java does:
// one character may become several ("ß" in upper case is "SS"), and a sigma at the end of a word
// has a lower case of its own. The standard library maps single characters only.

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ToUpper returns s in upper case.
func ToUpper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for _, r := range s {
		if several, ok := severalUpper[r]; ok {
			b.WriteString(several)
		} else {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// ToLower returns s in lower case.
func ToLower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i, r := range s {
		switch {
		case r == '\u0130': // I with a dot
			b.WriteString("i\u0307")
		case r == '\u03a3' && endsWord(s, i):
			b.WriteRune('\u03c2')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// endsWord reports whether the character at i comes after a letter and not before one. Marks and
// apostrophes don't count.
func endsWord(s string, i int) bool {
	before := false
	for at := i; at > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
		if !caseIgnorable(r) {
			before = isCased(r)
			break
		}
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	for _, r := range s[i+size:] {
		if !caseIgnorable(r) {
			return before && !isCased(r)
		}
	}
	return before
}

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:\u00b7\u2019", r)
}

// severalUpper are the characters whose upper case is several characters (SpecialCasing.txt of
// Unicode, the unconditional part).
var severalUpper = map[rune]string{
	'\u00df': "\u0053\u0053", '\u0149': "\u02bc\u004e", '\u01f0': "\u004a\u030c", '\u0390': "\u0399\u0308\u0301",
	'\u03b0': "\u03a5\u0308\u0301", '\u0587': "\u0535\u0552", '\u1e96': "\u0048\u0331", '\u1e97': "\u0054\u0308",
	'\u1e98': "\u0057\u030a", '\u1e99': "\u0059\u030a", '\u1e9a': "\u0041\u02be", '\u1f50': "\u03a5\u0313",
	'\u1f52': "\u03a5\u0313\u0300", '\u1f54': "\u03a5\u0313\u0301", '\u1f56': "\u03a5\u0313\u0342", '\u1f80': "\u1f08\u0399",
	'\u1f81': "\u1f09\u0399", '\u1f82': "\u1f0a\u0399", '\u1f83': "\u1f0b\u0399", '\u1f84': "\u1f0c\u0399", '\u1f85': "\u1f0d\u0399",
	'\u1f86': "\u1f0e\u0399", '\u1f87': "\u1f0f\u0399", '\u1f88': "\u1f08\u0399", '\u1f89': "\u1f09\u0399", '\u1f8a': "\u1f0a\u0399",
	'\u1f8b': "\u1f0b\u0399", '\u1f8c': "\u1f0c\u0399", '\u1f8d': "\u1f0d\u0399", '\u1f8e': "\u1f0e\u0399", '\u1f8f': "\u1f0f\u0399",
	'\u1f90': "\u1f28\u0399", '\u1f91': "\u1f29\u0399", '\u1f92': "\u1f2a\u0399", '\u1f93': "\u1f2b\u0399", '\u1f94': "\u1f2c\u0399",
	'\u1f95': "\u1f2d\u0399", '\u1f96': "\u1f2e\u0399", '\u1f97': "\u1f2f\u0399", '\u1f98': "\u1f28\u0399", '\u1f99': "\u1f29\u0399",
	'\u1f9a': "\u1f2a\u0399", '\u1f9b': "\u1f2b\u0399", '\u1f9c': "\u1f2c\u0399", '\u1f9d': "\u1f2d\u0399", '\u1f9e': "\u1f2e\u0399",
	'\u1f9f': "\u1f2f\u0399", '\u1fa0': "\u1f68\u0399", '\u1fa1': "\u1f69\u0399", '\u1fa2': "\u1f6a\u0399", '\u1fa3': "\u1f6b\u0399",
	'\u1fa4': "\u1f6c\u0399", '\u1fa5': "\u1f6d\u0399", '\u1fa6': "\u1f6e\u0399", '\u1fa7': "\u1f6f\u0399", '\u1fa8': "\u1f68\u0399",
	'\u1fa9': "\u1f69\u0399", '\u1faa': "\u1f6a\u0399", '\u1fab': "\u1f6b\u0399", '\u1fac': "\u1f6c\u0399", '\u1fad': "\u1f6d\u0399",
	'\u1fae': "\u1f6e\u0399", '\u1faf': "\u1f6f\u0399", '\u1fb2': "\u1fba\u0399", '\u1fb3': "\u0391\u0399", '\u1fb4': "\u0386\u0399",
	'\u1fb6': "\u0391\u0342", '\u1fb7': "\u0391\u0342\u0399", '\u1fbc': "\u0391\u0399", '\u1fc2': "\u1fca\u0399",
	'\u1fc3': "\u0397\u0399", '\u1fc4': "\u0389\u0399", '\u1fc6': "\u0397\u0342", '\u1fc7': "\u0397\u0342\u0399",
	'\u1fcc': "\u0397\u0399", '\u1fd2': "\u0399\u0308\u0300", '\u1fd3': "\u0399\u0308\u0301", '\u1fd6': "\u0399\u0342",
	'\u1fd7': "\u0399\u0308\u0342", '\u1fe2': "\u03a5\u0308\u0300", '\u1fe3': "\u03a5\u0308\u0301", '\u1fe4': "\u03a1\u0313",
	'\u1fe6': "\u03a5\u0342", '\u1fe7': "\u03a5\u0308\u0342", '\u1ff2': "\u1ffa\u0399", '\u1ff3': "\u03a9\u0399",
	'\u1ff4': "\u038f\u0399", '\u1ff6': "\u03a9\u0342", '\u1ff7': "\u03a9\u0342\u0399", '\u1ffc': "\u03a9\u0399",
	'\ufb00': "\u0046\u0046", '\ufb01': "\u0046\u0049", '\ufb02': "\u0046\u004c", '\ufb03': "\u0046\u0046\u0049",
	'\ufb04': "\u0046\u0046\u004c", '\ufb05': "\u0053\u0054", '\ufb06': "\u0053\u0054", '\ufb13': "\u0544\u0546",
	'\ufb14': "\u0544\u0535", '\ufb15': "\u0544\u053b", '\ufb16': "\u054e\u0546", '\ufb17': "\u0544\u053d",
}
