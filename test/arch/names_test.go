package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// byName matches code that compares the name of an aggregate, or looks it up in a map.
var byName = regexp.MustCompile(`\bAgg\.Name *[!=]= *"|switch .*\bAgg\.Name \{|\[[a-z.]*\bAgg\.Name\]`)

// TestAggregatesAreAskedForProperties keeps a new aggregate one file and one line: no other package
// than agg knows aggregates by their names. The oracle of the tests has aggregates of its own.
func TestAggregatesAreAskedForProperties(t *testing.T) {
	for _, path := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/testkit/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if byName.MatchString(line) {
				t.Errorf("%s:%d: give agg.Function a property and ask for that, not for the name of an aggregate", path, n+1)
			}
		}
	}
}
