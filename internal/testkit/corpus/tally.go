package corpus

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// Tally counts what became of statements, by topic and by kind of difference. The zero value is
// ready.
type Tally struct {
	topics map[string]*count
	kinds  map[string]*kind
	lines  strings.Builder
}

type count struct{ passed, all int }

type kind struct {
	n       int
	topics  map[string]int
	example *Record
	// difference is that of the example.
	difference string
}

// Add counts a statement; difference is "" if it passed.
func (t *Tally) Add(r *Record, difference string) {
	if t.topics == nil {
		t.topics, t.kinds = map[string]*count{}, map[string]*kind{}
	}
	c := t.topics[r.Topic]
	if c == nil {
		c = &count{}
		t.topics[r.Topic] = c
	}
	c.all++
	if difference == "" {
		c.passed++
		return
	}
	fmt.Fprintf(&t.lines, "%s\t%s\n", r.ID, strings.ReplaceAll(difference, "\n", "\\n"))
	name := kindOf(difference)
	k := t.kinds[name]
	if k == nil {
		k = &kind{topics: map[string]int{}}
		t.kinds[name] = k
	}
	k.n++
	k.topics[r.Topic]++
	if k.example == nil || len(r.SQL) < len(k.example.SQL) { // the shortest statement shows the matter best
		k.example, k.difference = r, difference
	}
}

// Lines returns each difference in the order of Add: id, tab, text.
func (t *Tally) Lines() string { return t.lines.String() }

// Counts prints how many statements of each topic passed.
func (t *Tally) Counts() string {
	names := make([]string, 0, len(t.topics))
	var all count
	for name, c := range t.topics {
		names = append(names, name)
		all.passed += c.passed
		all.all += c.all
	}
	sort.Strings(names)
	var b strings.Builder
	line := func(name string, c count) {
		fmt.Fprintf(&b, "%-16s %6d of %6d  %5.1f %%\n", name, c.passed, c.all, 100*float64(c.passed)/float64(max(c.all, 1)))
	}
	for _, name := range names {
		line(name, *t.topics[name])
	}
	line("all", all)
	return b.String()
}

// Summary prints the n most common kinds of difference, each with the shortest statement that shows
// it.
func (t *Tally) Summary(n int) string {
	names := make([]string, 0, len(t.kinds))
	for name := range t.kinds {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := t.kinds[names[i]], t.kinds[names[j]]
		return a.n > b.n || a.n == b.n && names[i] < names[j]
	})
	var b strings.Builder
	for _, name := range names[:min(n, len(names))] {
		k := t.kinds[name]
		var topics []string
		for topic, n := range k.topics {
			topics = append(topics, fmt.Sprintf("%s %d", topic, n))
		}
		sort.Strings(topics)
		fmt.Fprintf(&b, "%5d  %s\n       in %s\n       %s: %s\n", k.n, name, strings.Join(topics, ", "), k.example.ID, k.example.SQL)
		if len(k.example.Context) > 0 || len(k.example.Parameters) > 0 {
			fmt.Fprintf(&b, "       context %v parameters %s\n", k.example.Context, k.example.Parameters)
		}
		fmt.Fprintf(&b, "       %s\n", k.difference)
	}
	return b.String()
}

// variable are the parts of a difference that differ between statements with the same fault.
var variable = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`(?s), acceptable options:.*|Supported form\(s\).*|\n.*`), ""},
	{regexp.MustCompile(`'[^']*'`), "'..'"},
	{regexp.MustCompile(`\[[^\[\]]*\]`), "[..]"},
	{regexp.MustCompile(`<[^<>]*>`), "<..>"},
	{regexp.MustCompile(`-?\d+(\.\d+)?(E-?\d+)?`), "n"},
}

// kindOf takes the values out of a difference, so that those with the same cause are counted
// together.
func kindOf(difference string) string {
	// The numbers of HTTP statuses are no values.
	statuses := statusPattern.FindString(difference)
	difference = difference[len(statuses):]
	if strings.HasPrefix(difference, "row ") {
		place, values, _ := strings.Cut(difference, ": ")
		got, want, ok := strings.Cut(values, ", want ")
		if ok && strings.Contains(place, "column") {
			return fmt.Sprintf("a value is %s, want %s", shape(got), shape(want))
		}
	}
	for _, v := range variable {
		difference = v.pattern.ReplaceAllString(difference, v.by)
	}
	return statuses + difference
}

var statusPattern = regexp.MustCompile(`^(status \d+, want )?(status \d+)?`)

// shape names what kind of JSON value a text is.
func shape(v string) string {
	switch {
	case v == "null", v == "true", v == "false", v == `""`:
		return v
	case strings.HasPrefix(v, `"[`), strings.HasPrefix(v, `"{`):
		return "JSON text"
	case strings.HasPrefix(v, `"NaN`), strings.HasPrefix(v, `"Inf`), strings.HasPrefix(v, `"-Inf`):
		return v
	case regexp.MustCompile(`^"-?\d{4,}-\d\d-\d\dT`).MatchString(v):
		return "a time"
	case strings.HasPrefix(v, `"`):
		return "text"
	case strings.HasPrefix(v, "["):
		return "a list"
	case strings.ContainsAny(v, ".E"):
		return "a double"
	}
	return "an integer"
}
