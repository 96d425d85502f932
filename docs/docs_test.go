package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryPageHasATitleAndStandsInTheIndex(t *testing.T) {
	if len(Pages()) < 15 {
		t.Errorf("there are only [%d] pages", len(Pages()))
	}
	for _, p := range Pages() {
		if p.Title == "" || !strings.HasPrefix(p.Text, "# "+p.Title) {
			t.Errorf("page [%s] does not begin with a title", p.Name)
		}
		if !strings.Contains(Index("x://"), "]("+"x://"+p.Name+"): ") {
			t.Errorf("page [%s] is not in the index", p.Name)
		}
	}
}

// oddities are turns of phrase that readers stumble over, and what to write instead.
var oddities = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)(?:\S+ )?\b(?:is|are) no [a-z]+`), "is not a ..., are not ..."},
	{regexp.MustCompile(`(?i)\bnone is\b`), "no ... is"},
	{regexp.MustCompile(`(?i)\b(?:is|are) (?:told|asked)\b`), "is notified, is queried"},
	{regexp.MustCompile(`(?i)\breference system\b|\b(in|as) the reference\b|\bthe reference('s| does)\b`), "Apache Druid, Druid"},
	{regexp.MustCompile(`(?i)\bpassed over\b|\btakes back\b|\btold by\b`), "ignored, returns, recognised by"},
	{regexp.MustCompile(`(?i)\bhow many [a-z ]+ at most\b`), "maximum number of"},
	{regexp.MustCompile(`(?i)\b(?:goes|go|went) on\b`), "continues"},
	{regexp.MustCompile(`(?i)\b(?:begins?|made|makes?|starts?|written|reads?) anew\b`), "restarts, recreated"},
	{regexp.MustCompile(`(?i)\btells? (?:of|what|which|who|whether|how)\b`), "shows, returns, lists"},
	{regexp.MustCompile(`(?i)\bstands? (?:in|before|behind|there|still)\b`), "is in, precedes, follows"},
	{regexp.MustCompile(`(?i)\b(?:is|are) (?:there already|kept of|taken for)\b`), "exists already"},
	{regexp.MustCompile(`(?i)(?:^|\. )(?:whoever|who) [a-z]+s\b`), "a user who"},
}

// TestSentencesArePlain rejects turns of phrase that manuals do not use, on all pages, in the
// decision records and in the descriptions of formats.
func TestSentencesArePlain(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := append(slices.Clone(Pages()), Page{Name: "../README.md", Text: string(readme)})
	for _, pattern := range []string{"adr/*.md", "format/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("there are no files [%s]: [%v]", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, Page{Name: name, Text: string(text)})
		}
	}
	for _, p := range pages {
		for i, line := range strings.Split(p.Text, "\n") {
			for _, o := range oddities {
				for _, found := range o.pattern.FindAllString(line, -1) {
					words := strings.Fields(strings.ToLower(found))
					if last := words[len(words)-1]; words[0] == "there" || last == "longer" || last == "more" {
						continue // "there is no ..", "is no longer"
					}
					t.Errorf("%s, line %d: [%s]: write %s", p.Name, i+1, found, o.instead)
				}
			}
		}
	}
}
