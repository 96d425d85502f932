package stringfn

import (
	"testing"
	"unicode/utf8"
)

func FuzzLike(f *testing.F) {
	f.Add("a%b_", "axxbc")
	f.Add("%%", "")
	f.Add("!%", "%")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(s) || len(pattern) > 50 {
			return
		}
		if got, want := compileLike(pattern, '!', false).match(s), likeSlowly([]rune(pattern), []rune(s)); got != want {
			t.Fatalf("%q LIKE %q ESCAPE '!' is %t", s, pattern, got)
		}
	})
}

// likeSlowly is the definition of LIKE with the escape character "!".
func likeSlowly(pattern, s []rune) bool {
	if len(pattern) == 0 {
		return len(s) == 0
	}
	switch pattern[0] {
	case '%':
		for i := range len(s) + 1 {
			if likeSlowly(pattern[1:], s[i:]) {
				return true
			}
		}
		return false
	case '!':
		if len(pattern) == 1 {
			return len(s) == 0
		}
		pattern = pattern[1:]
	case '_':
		return len(s) > 0 && likeSlowly(pattern[1:], s[1:])
	}
	return len(s) > 0 && s[0] == pattern[0] && likeSlowly(pattern[1:], s[1:])
}
