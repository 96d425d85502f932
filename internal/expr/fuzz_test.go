package expr_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/javaregex"
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
		normal := string(expr.AppendNormalJSON(nil, text))
		if again, ok := jsontext.Valid(normal); !ok || again != normal && utf8.ValidString(s) {
			t.Fatalf("%q in normal form is %q", s, normal)
		}
		expr.JSONPaths(text)
		expr.MergeJSON(text, normal)
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
		p, err := javaregex.Compile(pattern, "F", 20*time.Millisecond)
		if err != nil {
			return
		}
		matches, err := p.Matches(s)
		if _, _, findErr := p.Find(s, p.Groups); findErr == nil && err == nil {
			p.Split(s)
		}
		if r, bad := p.ParseReplacement(with); bad == nil {
			p.Replace(s, r)
		}
		if plain.MatchString(pattern) && err == nil {
			if std, stdErr := regexp.Compile(pattern); stdErr == nil && std.MatchString(s) != matches {
				t.Fatalf("%q on %q: %t", pattern, s, matches)
			}
		}
	})
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"42", "-1.5e3", "NaN", "+Infinity", "true", "1f", "%d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		expr.ParseLong(s)
		expr.ParseDouble(s)
	})
}
