package javaregex

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// directPatterns says which patterns have a direct form.
var directPatterns = []struct {
	pattern string
	direct  bool
}{
	{`^https?://(?:www\.)?([^/]+)/.*$`, true},
	{`id=(\d+)`, true},
	{`^(a)?(b)?(ab)?c*$`, true},
	{`^[a-z]+[0-9]*é?$`, true},
	{`^(?:x([^y]*)y)?x.*`, true},
	{`^$`, true},
	{`^a+é[^\x00-\x7f]+`, true},
	{`/([^/?]+)\?`, true},
	{`^[^/]+/?`, true},
	{`^a*ab`, false},   // the repetition has to give one back
	{`^.*x`, false},    // likewise
	{`^a*?b`, false},   // as few as possible
	{`^(?i)ab`, false}, // any case
	{`^(a|bc)d`, false},
	{`(\d+)`, false}, // begins with no text
	{`\bx`, false},
	{`(?m)^x$`, false},
	{`^a{2,3}b`, false},
}

func TestDirectPatterns(t *testing.T) {
	for _, c := range directPatterns {
		d := compileDirect(c.pattern)
		if (d != nil) != c.direct {
			t.Errorf("%s: direct is %v", c.pattern, d != nil)
		}
	}
}

// checkDirect holds a direct form against package regexp.
func checkDirect(t *testing.T, pattern, s string) {
	d := compileDirect(pattern)
	if d == nil {
		return
	}
	std := regexp.MustCompile(pattern)
	for from := 0; from <= len(s); {
		want := std.FindStringSubmatchIndex(s[from:])
		var m directMatch
		found := d.find(s, from, &m)
		if d.anchored && from > 0 {
			break
		}
		if found != (want != nil) {
			t.Fatalf("%q in %q from %d: found is %v", pattern, s, from, found)
		}
		if !found {
			break
		}
		for i := range want {
			if want[i] >= 0 {
				want[i] += from
			}
		}
		if diff := cmp.Diff(want, m[:len(want)]); diff != "" {
			t.Fatalf("%q in %q from %d (-want +got):\n%s", pattern, s, from, diff)
		}
		if m[1] == from {
			break
		}
		from = m[1]
	}
}

func TestDirectPatternsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"http", "s", "://", "www.", "a", "b", "ab", "c", "/", "x", "y", "id=", "12", "é", "\n", "?", "\xff", "z"}
	for range 20_000 {
		s := ""
		for range r.IntN(8) {
			s += pieces[r.IntN(len(pieces))]
		}
		checkDirect(t, directPatterns[r.IntN(len(directPatterns))].pattern, s)
	}
}

func FuzzDirectPattern(f *testing.F) {
	for _, c := range directPatterns {
		f.Add(c.pattern, "https://www.a.b/c?id=12")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if _, err := regexp.Compile(pattern); err == nil {
			checkDirect(t, pattern, s)
		}
	})
}
