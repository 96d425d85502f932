package chrono

import "github.com/hengedb/henge/internal/fault"

// Pattern is a compiled format of Joda-Time's DateTimeFormat, in English. It prints and parses; it
// is immutable.
//
//	G era   C century   y year   Y year of era   x week-year   w week
//	e E day of week (number, text)   D day of year   M month (MMM and MMMM: text)   d day of month
//	a AM/PM   h 1-12   K 0-11   H 0-23   k 1-24   m minute   s second   S fraction
//	z zone name   Z offset (Z +0530, ZZ +05:30, ZZZ zone id)
//	'' quote   'text'   any character that is not a letter
//
// A number prints with at least as many digits as it has letters and parses with fewer. Two letters
// of a year stand for 1946 to 2045 (Druid lets that window move along with the current year). See
// quirk Q016.
type Pattern struct {
	text     string
	elements []element
	names    *names // nil: English
}

// element is one letter run or literal of a pattern.
type element struct {
	letter    byte // 0: a literal
	literal   string
	width     int  // digits to print
	most      int  // digits to parse
	signed    bool // may be parsed with a sign
	twoDigits bool // of a year: the last two digits
	lenient   bool // of twoDigits: other numbers of digits are a whole year
}

// maxPatternLength bounds patterns, which come from users and are printed per row.
const maxPatternLength = 512

// numberDigits is how many digits the letters of numbers parse at most.
var numberDigits = map[byte]int{'M': 2, 'd': 2, 'h': 2, 'H': 2, 'k': 2, 'K': 2, 'm': 2, 's': 2, 'e': 1, 'D': 3, 'w': 2}

// CompilePattern compiles a pattern. The error is an InvalidInput fault that names it.
func CompilePattern(text string) (*Pattern, error) {
	if text == "" {
		return nil, fault.InvalidInput("Invalid time pattern []: it is empty")
	}
	if len(text) > maxPatternLength {
		return nil, fault.InvalidInput("Invalid time pattern [%s]: it is longer than [%d] bytes", shorten(text), maxPatternLength)
	}
	p := &Pattern{text: text}
	for i := 0; i < len(text); {
		if !isLetter(text[i]) {
			literal, end := scanLiteral(text, i)
			p.elements = append(p.elements, element{literal: literal})
			i = end
			continue
		}
		run := letterRun(text, i)
		e, ok := compileLetters(text[i], run, numberFollows(text, i+run))
		if !ok {
			return nil, fault.InvalidInput("Invalid time pattern [%s]: illegal pattern component [%s]", shorten(text), text[i:i+run])
		}
		p.elements = append(p.elements, e)
		i += run
	}
	return p, nil
}

func compileLetters(letter byte, run int, numberNext bool) (element, bool) {
	e := element{letter: letter, width: run, most: run}
	switch letter {
	case 'G', 'a', 'E', 'z', 'Z':
	case 'S':
	case 'C':
		e.signed = true
	case 'x', 'y', 'Y':
		e.signed = letter != 'Y'
		switch {
		case run == 2:
			e.twoDigits, e.lenient = true, !numberNext
		case !numberNext:
			e.most = max(9, run)
		}
	default:
		most, ok := numberDigits[letter]
		if !ok {
			return e, false
		}
		e.most = max(most, run)
	}
	return e, true
}

// scanLiteral reads text up to the next letter outside quotes.
func scanLiteral(text string, i int) (literal string, end int) {
	var out []byte
	quoted := false
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'' && i+1 < len(text) && text[i+1] == '\'':
			out = append(out, c)
			i++
		case c == '\'':
			quoted = !quoted
		case !quoted && isLetter(c):
			return string(out), i
		default:
			out = append(out, c)
		}
	}
	return string(out), i
}

func isLetter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }

func letterRun(text string, i int) int {
	n := 1
	for i+n < len(text) && text[i+n] == text[i] {
		n++
	}
	return n
}

// numberFollows reports whether the element at i parses digits, so that the one before must not
// take them.
func numberFollows(text string, i int) bool {
	if i >= len(text) {
		return false
	}
	switch text[i] {
	case 'C', 'x', 'y', 'Y', 'd', 'h', 'H', 'm', 's', 'S', 'e', 'D', 'w', 'k', 'K':
		return true
	case 'M':
		return letterRun(text, i) <= 2
	}
	return false
}

// String returns the text it was compiled from.
func (p *Pattern) String() string { return p.text }

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
	"December"}

var dayNames = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
