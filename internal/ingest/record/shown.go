package record

import (
	"fmt"
	"strings"
)

const (
	// MaxRow is the maximum length of a record in a parse error. It keeps reports of bad rows small.
	MaxRow = 1024
)

// Printable returns text in a form that is safe for a terminal: one line, without control
// characters.
func Printable(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > maxPrinted {
			b.WriteString("...")
			break
		}
		switch {
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxPrinted is how many characters of a value are shown.
const maxPrinted = 200

// Short truncates the text of a record for an error.
func Short(b []byte) string {
	if len(b) <= MaxRow {
		return string(b)
	}
	return string(ValidText(b[:MaxRow])) + "..."
}
