package syntax

import (
	"fmt"
	"strings"
	"testing"
)

// A text is read alike however many tokens are cut at a time: also where it ends too early, and
// where a token is missing.
func TestTokensCutAtATime(t *testing.T) {
	reading := func(text string, block int) string {
		l := newLexer(text)
		l.block = block
		s := new(Script)
		if err := read(l, func(p *parser) { *s = p.script() }); err != nil {
			return fmt.Sprintf("%v", err)
		}
		return dump(s)
	}
	for _, seed := range fuzzSeeds {
		whole := newLexer(seed)
		whole.whole = true
		whole.cut(0, len(seed))
		texts := []string{seed, "SELECT a.b.c.* FROM t WHERE " + seed}
		for _, tok := range whole.tokens {
			texts = append(texts, seed[:tok.start], seed[:tok.end], seed[:tok.start]+seed[tok.end:], seed[:tok.start]+"? "+seed[tok.start:])
		}
		for _, text := range texts {
			want := reading(text, len(text)+1)
			for _, block := range []int{1, 7, 20} {
				if got := reading(text, block); got != want {
					t.Fatalf("%q, %d tokens at a time\n%s", text, block, difference(want, got))
				}
			}
		}
	}
}

// Of a long text that is refused where it begins the rest is not cut.
func TestRestOfARefusedTextIsNotCut(t *testing.T) {
	l := newLexer("SELECT SELECT " + strings.Repeat("1 + ", 1_000_000))
	if err := read(l, func(p *parser) { p.script() }); err == nil || len(l.tokens) > 2*lexBlock || l.pos > 10_000 {
		t.Errorf("%v, %d tokens, %d bytes", err, len(l.tokens), l.pos)
	}
}
