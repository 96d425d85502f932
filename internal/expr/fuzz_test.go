package expr

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/jsontext"
)

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x",null,{"k":true}]}`, `"\ud83d\ude00\n"`, `[`, `{"a":1,"a":2}`, ` 1e400 `, `-0`, `"\u00zz"`,
		`[[]]`, `{"":{}}`} {
		f.Add(s, "$.a[1]")
	}
	f.Fuzz(func(t *testing.T, s, path string) {
		text, ok := jsontext.Valid(s)
		if ok != json.Valid([]byte(s)) && !strings.ContainsRune(s, '\x7f') {
			t.Fatalf("%q: valid is %t", s, ok)
		}
		if p, err := jsontext.ParsePath(path); err == nil {
			p.Find(s)
			p.Find(text)
		}
		if !ok {
			return
		}
		normal := string(appendNormalJSON(nil, text))
		if again, ok := jsontext.Valid(normal); !ok || again != normal && utf8.ValidString(s) {
			t.Fatalf("%q in normal form is %q", s, normal)
		}
		jsonPaths(text)
		mergeJSON(text, normal)
	})
}

// FuzzPattern also compares with package regexp on patterns that mean the same in both languages.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{`(a)(b)?`, `[a-z&&[^o]]+`, `a++b`, `(?<n>x)\k<n>`, `\Qa.b\E$`, `(?i)é`,
		`[[:alpha:]]`, `\p{L}{2,3}`, `x*`, `(?=a)`, `\u0061`, `{`, `[`, `(?`} {
		f.Add(s, "abc aab xx é", "$1-${n}")
	}
	plain := regexp.MustCompile(`^[a-z0-9]*(\([a-z0-9|]*\))?[*+?]?$`)
	f.Fuzz(func(t *testing.T, pattern, s, with string) {
		p, err := compilePattern(pattern, "F", 20*time.Millisecond)
		if err != nil {
			return
		}
		matches, err := p.matches(s)
		if _, _, findErr := p.find(s, p.groups); findErr == nil && err == nil {
			p.split(s)
		}
		if r, bad := p.parseReplacement(with); bad == nil {
			p.replace(s, r)
		}
		if plain.MatchString(pattern) && err == nil {
			if std, stdErr := regexp.Compile(pattern); stdErr == nil && std.MatchString(s) != matches {
				t.Fatalf("%q on %q: %t", pattern, s, matches)
			}
		}
	})
}

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

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%d %s", "%,.2f", "%-5s|", "%05d", "%2$s", "%tY", "%%", "%", "%e%g%a", "%10000s"} {
		f.Add(s, int64(-42), 2.5)
	}
	f.Fuzz(func(t *testing.T, format string, n int64, x float64) {
		javaFormat(format, []any{n, x, "text", nil})
		ParseLong(format)
		ParseDouble(format)
	})
}
