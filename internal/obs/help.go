package obs

import (
	_ "embed"
	"iter"
	"maps"
	"strings"
	"sync"
)

// helpText says of each metric, one a line, what it measures, in which unit, and
// what to do about it. A star stands for one part of a name, such as the kind of a stream or of a
// chore. Durations are in seconds for scrapers, whatever events of the same name carry.
//
//go:embed helps.txt
var helpText string

var helps = sync.OnceValue(func() map[string]string {
	return maps.Collect(Helps())
})

// Helps iterates over the known metrics with their descriptions.
func Helps() iter.Seq2[string, string] {
	return func(yield func(name, text string) bool) {
		for line := range strings.Lines(helpText) {
			if name, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !yield(name, text) {
				return
			}
		}
	}
}

// Help returns the description of a metric.
func Help(metric string) string {
	text, _ := HelpOf(metric)
	return text
}

// noHelp is the help of a metric without an entry; a test looks for it.
const noHelp = "Nothing is said about metric "

// HelpOf returns the description of a metric, or false if the table does not contain it.
func HelpOf(metric string) (string, bool) {
	if text, ok := helps()[metric]; ok {
		return text, true
	}
	parts := strings.Split(metric, "/")
	for i, part := range parts {
		parts[i] = "*"
		if text, ok := helps()[strings.Join(parts, "/")]; ok {
			return text, true
		}
		parts[i] = part
	}
	return noHelp + metric + ".", false
}
