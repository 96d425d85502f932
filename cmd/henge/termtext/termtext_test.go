package termtext

import (
	"testing"
)

// Values reach a terminal without its commands, and nothing of them is lost.
func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"plain, ä, 東京, 👩‍👧":           "plain, ä, 東京, 👩‍👧",
		"\x1b[31mred\x1b[0m":          `\x1b[31mred\x1b[0m`,
		"\x1b]0;title\x07":            `\x1b]0;title\x07`,
		"a\x00b\x7f":                  `a\x00b\x7f`,
		"\u009b31m":                   `\x9b31m`,
		"PAR1\xff\xfe":                `PAR1\xff\xfe`,
		"\ufffd":                      "\ufffd",
		"access\u202e\u2066// \u2069": `access\u202e\u2066// \u2069`,
		"a\r\nb":                      `a\x0d\x0ab`,
	} {
		if got := Harmless(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := HarmlessLines("a\tb\n\x1bc\n"); got != "a b\n\\x1bc\n" {
		t.Errorf("lines: %q", got)
	}
}

// Wide letters take two columns, marks none.
func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "äöü": 3, "e\u0301": 1, "東京": 4, "ｱ": 1, "Ａ": 2, "👍": 2, "👍🏽": 2, "한글": 4} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}
