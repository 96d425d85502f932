package chrono

import (
	_ "embed" // for the names
	"strings"
)

// names are the words that a pattern may show, in a language.
type names struct {
	months, shortMonths []string
	days, shortDays     []string
	halves, eras        []string
}

//go:embed locales.txt
var localeNames string

var english = func() *names {
	n := &names{months: monthNames[:], days: dayNames[:], halves: halfDayNames[:], eras: []string{"BC", "AD"}}
	for _, name := range n.months {
		n.shortMonths = append(n.shortMonths, name[:3])
	}
	for _, name := range n.days {
		n.shortDays = append(n.shortDays, name[:3])
	}
	return n
}()

// In returns p with the names of a language, by its tag, such as fr or pt-PT; with neutral ones if
// nobody knows it. Names of zones stay English.
func (p *Pattern) In(locale string) *Pattern {
	out := *p
	out.names = namesIn(locale)
	return &out
}

func namesIn(locale string) *names {
	language, _, _ := strings.Cut(locale, "-")
	if strings.EqualFold(locale, "en-US") || strings.EqualFold(locale, "en") {
		return english
	}
	var best []string
	for line := range strings.Lines(localeNames) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		switch tag := fields[0]; {
		case strings.EqualFold(tag, locale):
			return newNames(fields[1:])
		case strings.EqualFold(tag, language), tag == "*" && best == nil:
			best = fields[1:]
		}
	}
	if strings.EqualFold(language, "en") {
		return english
	}
	return newNames(best)
}

func newNames(fields []string) *names {
	take := func(n int) []string {
		out := fields[:n]
		fields = fields[n:]
		return out
	}
	return &names{months: take(12), shortMonths: take(12), days: take(7), shortDays: take(7), halves: take(2), eras: take(2)}
}
