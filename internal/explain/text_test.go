package explain

import (
	_ "embed"
	"regexp"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/sql"
)

//go:embed testdata/text.txt
var explainedAsText string

// unread are the parts of queries that say nothing here: intervals without an end, and the context.
var unread = regexp.MustCompile(`"intervals":\{"type":"intervals","intervals":\["-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"\]\},|,"context":\{[^}]*\}`)

// Plans as text are the trees that Druid gave.
func TestExplainsAsText(t *testing.T) {
	for block := range strings.SplitSeq(strings.TrimSpace(explainedAsText), "\n\n") {
		text, want, _ := strings.Cut(block, "\n----\n")
		s, err := prepare("EXPLAIN PLAN FOR "+text, func(r *sql.Request) {
			r.Context = map[string]any{"useNativeQueryExplain": false, "enableUnnest": true}
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Of(s, s.Context, nil)
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.TrimSpace(unread.ReplaceAllString(got.Plan, "")); plan != want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", text, plan, want)
		}
	}
}
