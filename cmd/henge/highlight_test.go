package main

import (
	"strings"
	"testing"
)

func TestHighlighting(t *testing.T) {
	marks := strings.NewReplacer(colourKeyword, "<k>", colourText, "<t>", colourNumber, "<n>", colourComment, "<c>", colourCommand, "<m>",
		colourCall, "<f>", colourOff, "</>")
	for _, tc := range []struct{ before, line, want string }{
		{"", "SELECT a, 'it''s' FROM t", "<k>SELECT</> a, <t>'it'</><t>'s'</> <k>FROM</> t"},
		{"", `select "from", 12.5e3`, `<k>select</> "from", <n>12.5e3</>`},
		{"", "count(x) -- rest 'y'", "<f>count</>(x) <c>-- rest 'y'</>"},
		{"", "a / b // c", "a / b <c>// c</>"},
		{"", "/* SELECT", "<c>/* SELECT</>"},
		{"/* a\n", "b */ SELECT", "<c>b */</> <k>SELECT</>"},
		{"SELECT 'a\n", "b' FROM", "<t>b'</> <k>FROM</>"},
		{"SELECT \"a\n", "b\" FROM", "b\" <k>FROM</>"},
		{"SELECT -- it's\n", "FROM", "<k>FROM</>"},
		{"", `\timing on`, `<m>\timing on</>`},
		{"SELECT '\n", `\d`, `<t>\d</>`},
		{"", "größe_1 ü", "größe_1 ü"},
		{"", "", ""},
		{"", "'open", "<t>'open</>"},
		{"", "/*/ x */ 1", "<c>/*/ x */</> <n>1</>"},
	} {
		got := string(highlighted([]rune(tc.line), stateAfter(tc.before)))
		if marks.Replace(got) != tc.want {
			t.Errorf("%q | %q: %s, want %s", tc.before, tc.line, marks.Replace(got), tc.want)
		}
	}
	for _, env := range [][2]string{{"NO_COLOR", "1"}, {"TERM", "dumb"}, {"TERM", ""}} {
		t.Setenv("NO_COLOR", "")
		t.Setenv("TERM", "xterm")
		if !wantsColour() {
			t.Error("xterm has colours")
		}
		t.Setenv(env[0], env[1])
		if wantsColour() {
			t.Errorf("%s=%s still has colours", env[0], env[1])
		}
	}
}

func FuzzHighlighting(f *testing.F) {
	f.Add("SELECT 'a' /* b */ -- c\n\"d\"")
	f.Fuzz(func(t *testing.T, text string) {
		state := stateAfter(text[:len(text)/2])
		got := string(highlighted([]rune(text), state))
		for _, colour := range []string{colourKeyword, colourText, colourNumber, colourComment, colourCommand, colourCall, colourOff} {
			text = strings.ReplaceAll(text, colour, "")
			got = strings.ReplaceAll(got, colour, "")
		}
		if want := string([]rune(text)); got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}
