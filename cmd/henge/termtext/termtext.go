// Package termtext prepares text for terminals: it escapes control characters and computes the
// width of text in columns.
package termtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Harmless writes what terminals take as commands, or show in another order than it stands in, as
// escapes: \x1b begins a command, \u202e turns the direction of text.
func Harmless(text string) string {
	if strings.IndexFunc(text, harms) < 0 && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && text[i] != "\uFFFD"[0]:
			fmt.Fprintf(&out, `\x%02x`, text[i]) // a byte that is no text
		case !harms(r):
			out.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func harms(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// HarmlessLines is Harmless that keeps the ends of lines.
func HarmlessLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Harmless(strings.ReplaceAll(line, "\t", " "))
	}
	return strings.Join(lines, "\n")
}

// Width is how many columns of a terminal a text takes: two for each letter of East Asian
// scripts and each emoji, none for marks on the letter before.
func Width(text string) int {
	columns := 0
	for _, r := range text {
		switch {
		case r < 0x300:
			columns++
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1f3fb && r <= 0x1f3ff:
		default:
			columns++
			if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
				columns++
			}
		}
	}
	return columns
}
